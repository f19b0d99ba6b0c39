import { useState } from 'preact/hooks'
import type { Geofence } from '../../../../sdk/src/types.ts'
import { addressOf, call } from '../../api/call.ts'
import { usePages } from '../../api/usePages.ts'
import { go, pagePath, place, setQuery } from '../../router.ts'
import type { PageProps } from '../../routes.ts'
import { may } from '../../session/session.ts'
import { usePageKey } from '../../shell/keys.tsx'
import { CallButton } from '../../ui/code.tsx'
import { TextField } from '../../ui/fields.tsx'
import { RecordList } from '../../ui/list.tsx'
import { Badge, Button, Empty, LinkButton } from '../../ui/parts.tsx'
import type { Column } from '../../ui/table.tsx'
import { metersText } from '../../ui/words.ts'
import { BulkDialog } from '../bulk/bulkDialog.tsx'
import { FencesMap } from './fencesMap.tsx'
import { GeofenceEditor } from './geofenceEditor.tsx'
import { ImportDialog } from '../imports/importDialog.tsx'

const LIMIT = 100

export default function GeofencesPage({ parts: [id] }: PageProps) {
  return id === undefined ? <GeofenceList /> : <GeofenceEditor key={id} id={id === 'new' ? undefined : id} />
}

const COLUMNS: readonly Column<Geofence>[] = [
  {
    title: 'Geofence',
    kind: 'cut',
    cell: (fence) => <a href={pagePath(`geofences/${fence._id}`)}>{fence.description}</a>,
  },
  { title: 'Tag', cell: ({ tag }) => tag && <Badge>{tag}</Badge> },
  { title: 'Id', kind: 'cut', wide: true, cell: ({ externalId }) => <span class="quiet">{externalId}</span> },
  {
    title: 'Shape',
    cell: ({ type, geometryRadius, isochrone }) => {
      if (type === 'circle') return `circle, ${metersText(geometryRadius)}`
      return isochrone ? `${isochrone.minutes} min` : type
    },
  },
  {
    title: 'Is',
    cell: ({ enabled }) => <Badge tone={enabled ? 'ok' : undefined}>{enabled ? 'on' : 'off'}</Badge>,
  },
]

function GeofenceList() {
  const query = place.value.query
  const [text, tag] = [query.get('text') ?? '', query.get('tag') ?? '']
  const filter = { ...(text && { text }), ...(tag && { tag }) }
  const asked = { limit: LIMIT, ...filter }
  const [pointed, setPointed] = useState<string | undefined>()
  const [isImporting, setImporting] = useState(false)
  const [isChangingAll, setChangingAll] = useState(false)
  const list = usePages(`geofences ${JSON.stringify(asked)}`, async (before, signal) => {
    const { geofences, meta } = await call('get', '/v1/geofences', {
      query: { ...asked, ...(before && { before }) },
      signal,
    })
    return { rows: geofences, hasMore: meta.hasMore }
  })
  const canWrite = may('POST /v1/geofences')
  usePageKey('n', () => canWrite && go(pagePath('geofences/new')))
  const isFiltered = text !== '' || tag !== ''
  return (
    <div class="page">
      <header>
        <h1>Geofences</h1>
        <CallButton call={{ method: 'GET', path: addressOf('/v1/geofences', { query: asked }) }} />
        {may('POST /v1/imports/geofences') && (
          <Button icon="imports" onClick={() => setImporting(true)}>
            Import
          </Button>
        )}
        {may('PATCH /v1/geofences') && (
          <Button onClick={() => setChangingAll(true)}>Change all that match</Button>
        )}
        {canWrite && (
          <LinkButton kind="primary" icon="plus" href={pagePath('geofences/new')}>
            New geofence
          </LinkButton>
        )}
      </header>
      <div class="filters" role="search">
        <TextField
          label="Search"
          type="search"
          placeholder="Name, tag or id"
          value={text}
          onInput={(value) => setQuery({ text: value })}
        />
        <TextField label="Tag" type="search" value={tag} onInput={(value) => setQuery({ tag: value })} />
      </div>
      <div class="split">
        <RecordList
          caption="Geofences, the newest first"
          list={list}
          columns={COLUMNS}
          selected={pointed}
          onPoint={(fence) => setPointed(fence?._id)}
          empty={
            <Empty title={isFiltered ? 'No geofence matches' : 'No geofence yet'}>
              <p>
                {isFiltered ? 'Take away a filter.' : 'Draw the first one on the map, or import a CSV file.'}
              </p>
            </Empty>
          }
        />
        <FencesMap
          fences={list.data ?? []}
          chosen={pointed}
          onChoose={(id) => go(pagePath(`geofences/${id}`))}
        />
      </div>
      {isChangingAll && (
        <BulkDialog
          kind="geofences"
          filter={filter}
          onClose={() => setChangingAll(false)}
          onDone={() => list.reload()}
        />
      )}
      {isImporting && (
        <ImportDialog kind="geofences" onClose={() => setImporting(false)} onDone={() => list.reload()} />
      )}
    </div>
  )
}
