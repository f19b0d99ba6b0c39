import { useState } from 'preact/hooks'
import { addressOf, call } from '../../api/call.ts'
import { usePages } from '../../api/usePages.ts'
import type { LngLat } from '../../map/geometry.ts'
import { go, pagePath, place, setQuery } from '../../router.ts'
import type { PageProps } from '../../routes.ts'
import { may } from '../../session/session.ts'
import { usePageKey } from '../../shell/keys.tsx'
import { CallButton } from '../../ui/code.tsx'
import { TextField } from '../../ui/fields.tsx'
import { RecordList } from '../../ui/list.tsx'
import { Badge, Button, Empty, LinkButton } from '../../ui/parts.tsx'
import type { Column } from '../../ui/table.tsx'
import { recordName } from '../../ui/words.ts'
import { BulkDialog } from '../bulk/bulkDialog.tsx'
import { ImportDialog } from '../imports/importDialog.tsx'
import { MarkMap } from '../maps/markMap.tsx'
import { BeaconEditor, type Beacon } from './beaconEditor.tsx'

const LIMIT = 100

export default function BeaconsPage({ parts: [id] }: PageProps) {
  return id === undefined ? <BeaconList /> : <BeaconEditor key={id} id={id === 'new' ? undefined : id} />
}

const COLUMNS: readonly Column<Beacon>[] = [
  {
    title: 'Beacon',
    kind: 'cut',
    cell: (beacon) => <a href={pagePath(`beacons/${beacon._id}`)}>{recordName(beacon)}</a>,
  },
  { title: 'Tag', cell: ({ tag }) => tag && <Badge>{tag}</Badge> },
  { title: 'Kind', cell: ({ type }) => type },
  {
    title: 'Sends',
    kind: 'cut',
    wide: true,
    cell: ({ type, uuid, major, minor, uid, instance }) => (
      <span class="mono">
        {type === 'ibeacon' ? `${uuid?.slice(0, 8)}… ${major}/${minor}` : `${uid}/${instance}`}
      </span>
    ),
  },
  {
    title: 'Is',
    cell: ({ enabled }) => <Badge tone={enabled ? 'ok' : undefined}>{enabled ? 'on' : 'off'}</Badge>,
  },
]

function BeaconList() {
  const query = place.value.query
  const [text, tag] = [query.get('text') ?? '', query.get('tag') ?? '']
  const filter = { ...(text && { text }), ...(tag && { tag }) }
  const asked = { limit: LIMIT, ...filter }
  const [pointed, setPointed] = useState<string | undefined>()
  const [isImporting, setImporting] = useState(false)
  const [isChangingAll, setChangingAll] = useState(false)
  const list = usePages(`beacons ${JSON.stringify(asked)}`, async (before, signal) => {
    const { beacons, meta } = await call('get', '/v1/beacons', {
      query: { ...asked, ...(before && { before }) },
      signal,
    })
    return { rows: beacons, hasMore: meta.hasMore }
  })
  const canWrite = may('POST /v1/beacons')
  usePageKey('n', () => canWrite && go(pagePath('beacons/new')))
  const isFiltered = text !== '' || tag !== ''
  return (
    <div class="page">
      <header>
        <h1>Beacons</h1>
        <CallButton call={{ method: 'GET', path: addressOf('/v1/beacons', { query: asked }) }} />
        {may('POST /v1/imports/beacons') && (
          <Button icon="imports" onClick={() => setImporting(true)}>
            Import
          </Button>
        )}
        {may('PATCH /v1/beacons') && (
          <Button onClick={() => setChangingAll(true)}>Change all that match</Button>
        )}
        {canWrite && (
          <LinkButton kind="primary" icon="plus" href={pagePath('beacons/new')}>
            New beacon
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
          caption="Beacons, the newest first"
          list={list}
          columns={COLUMNS}
          selected={pointed}
          onPoint={(beacon) => setPointed(beacon?._id)}
          empty={
            <Empty title={isFiltered ? 'No beacon matches' : 'No beacon yet'}>
              <p>
                {isFiltered
                  ? 'Take away a filter.'
                  : 'A beacon is a Bluetooth transmitter: phones within some metres of it enter it. Place the first one on the map, or import a CSV file.'}
              </p>
            </Empty>
          }
        />
        <MarkMap
          label="Map of the beacons in the list"
          height={620}
          fitKey={(list.data ?? []).map(({ _id }) => _id).join()}
          marks={(list.data ?? []).map((beacon) => ({
            shape: 'point',
            color: beacon.enabled ? 'fence' : 'line-2',
            at: beacon.geometry.coordinates as unknown as LngLat,
            name: recordName(beacon),
            id: beacon._id,
            isStrong: beacon._id === pointed,
          }))}
          onChoose={(id) => go(pagePath(`beacons/${id}`))}
        />
      </div>
      {isChangingAll && (
        <BulkDialog
          kind="beacons"
          filter={filter}
          onClose={() => setChangingAll(false)}
          onDone={() => list.reload()}
        />
      )}
      {isImporting && (
        <ImportDialog kind="beacons" onClose={() => setImporting(false)} onDone={() => list.reload()} />
      )}
    </div>
  )
}
