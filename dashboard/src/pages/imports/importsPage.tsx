import { useState } from 'preact/hooks'
import { call } from '../../api/call.ts'
import { download } from '../../api/download.ts'
import { usePages } from '../../api/usePages.ts'
import { useQuery } from '../../api/useQuery.ts'
import { pagePath, place, setQuery } from '../../router.ts'
import type { PageProps } from '../../routes.ts'
import { may } from '../../session/session.ts'
import { CallButton } from '../../ui/code.tsx'
import { RecordList } from '../../ui/list.tsx'
import {
  Ago,
  Badge,
  Button,
  Empty,
  Failure,
  LinkButton,
  Loading,
  Segments,
  type Tone,
} from '../../ui/parts.tsx'
import { Stat, Stats } from '../../ui/stats.tsx'
import { Table, type Column } from '../../ui/table.tsx'
import { say } from '../../ui/toast.tsx'
import { countText } from '../../ui/words.ts'
import { CancelImport } from './cancelImport.tsx'
import { ImportDialog, readsGeoJson } from './importDialog.tsx'
import type { Import, ImportedKind } from './runImport.ts'

const EVERY_MS = 3000
const TONES: Readonly<Record<string, Tone>> = {
  running: 'accent',
  completed: 'ok',
  interrupted: 'bad',
  canceled: 'warn',
}

/** What was imported, when, and which rows were refused. A file can be dropped anywhere on the page. */
export default function ImportsPage({ parts: [id] }: PageProps) {
  const kind: ImportedKind = place.value.query.get('kind') === 'beacons' ? 'beacons' : 'geofences'
  return id === undefined ? <ImportList key={kind} kind={kind} /> : <ImportPage kind={kind} id={id} />
}

const COLUMNS: readonly Column<Import>[] = [
  {
    title: 'File',
    kind: 'cut',
    cell: ({ _id, kind, fileName }) => (
      <a href={pagePath(`imports/${_id}`, { kind })}>{fileName ?? 'without a name'}</a>
    ),
  },
  { title: 'Is', cell: ({ status }) => <Badge tone={TONES[status]}>{status}</Badge> },
  { title: 'Rows', kind: 'number', roomy: true, cell: ({ rows }) => countText(rows) },
  { title: 'New', kind: 'number', roomy: true, cell: ({ created }) => countText(created) },
  { title: 'Changed', kind: 'number', wide: true, cell: ({ updated }) => countText(updated) },
  { title: 'Refused', kind: 'number', cell: ({ refused }) => countText(refused) },
  { title: 'When', cell: ({ createdAt }) => <Ago at={createdAt} /> },
]

function ImportList({ kind }: { readonly kind: ImportedKind }) {
  const [dropped, setDropped] = useState<File | undefined>()
  const [isOpen, setOpen] = useState(false)
  const list = usePages(
    `imports ${kind}`,
    async (before, signal) => {
      const options = { query: { limit: 50, ...(before && { before }) }, signal }
      const { imports, meta } =
        kind === 'geofences'
          ? await call('get', '/v1/imports/geofences', options)
          : await call('get', '/v1/imports/beacons', options)
      return { rows: imports as Import[], hasMore: meta.hasMore }
    },
    { everyMs: EVERY_MS },
  )
  const canImport = may(`POST /v1/imports/${kind}`)
  const save = (format: 'csv' | 'geojson') =>
    void download(`/v1/exports/${kind}?format=${format}`, `${kind}.${format}`).catch((error: Error) =>
      say(error.message, 'bad'),
    )
  return (
    <div
      class="page"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault()
        const file = event.dataTransfer?.files[0]
        if (file === undefined || !canImport || isOpen) return
        setDropped(file)
        setOpen(true)
      }}
    >
      <header>
        <h1>Imports</h1>
        <CallButton call={{ method: 'GET', path: `/v1/imports/${kind}` }} />
        <Button onClick={() => save('csv')}>Export CSV</Button>
        <Button onClick={() => save('geojson')}>Export GeoJSON</Button>
        {canImport && (
          <Button kind="primary" icon="imports" onClick={() => setOpen(true)}>
            Import a file
          </Button>
        )}
      </header>
      <Segments
        label="Of what"
        value={kind}
        options={[
          ['geofences', 'Geofences'],
          ['beacons', 'Beacons'],
        ]}
        onChange={(next) => setQuery({ kind: next === 'geofences' ? undefined : next })}
      />
      <RecordList
        caption="Imports, the newest first"
        list={list}
        columns={COLUMNS}
        empty={
          <Empty title="Nothing was imported yet">
            <p>
              Drop a {readsGeoJson(kind) ? 'CSV or GeoJSON' : 'CSV'} file here. It is checked first, and shows
              every row that would be refused.
            </p>
          </Empty>
        }
      />
      {isOpen && (
        <ImportDialog
          kind={kind}
          dropped={dropped}
          onClose={() => {
            setOpen(false)
            setDropped(undefined)
          }}
          onDone={() => list.reload()}
        />
      )}
    </div>
  )
}

function ImportPage({ kind, id }: { readonly kind: ImportedKind; readonly id: string }) {
  const params = { id }
  const { data, failure, reload } = useQuery(
    `import ${kind} ${id}`,
    async (signal) =>
      kind === 'geofences'
        ? (await call('get', '/v1/imports/geofences/{id}', { params, signal })).import
        : (await call('get', '/v1/imports/beacons/{id}', { params, signal })).import,
    { everyMs: EVERY_MS },
  )
  if (failure && data === undefined)
    return (
      <div class="page">
        <Failure failure={failure} retry={reload} />
      </div>
    )
  if (data === undefined) return <Loading />
  const { errors = [], moreErrors = 0 } = data
  return (
    <div class="page">
      <header>
        <LinkButton href={pagePath('imports', { kind })} kind="plain" icon="back">
          Imports
        </LinkButton>
        <h1>{data.fileName ?? 'Import'}</h1>
        <CallButton call={{ method: 'GET', path: `/v1/imports/${kind}/${id}` }} />
        <Badge tone={TONES[data.status]}>{data.status}</Badge>
        {data.status === 'running' && <CancelImport kind={kind} id={id} />}
        {data.refused > 0 && (
          <Button
            icon="imports"
            onClick={() =>
              void download(`/v1/imports/${kind}/${id}/refused`, `refused-${data.fileName ?? id}.csv`).catch(
                (error: Error) => say(error.message, 'bad'),
              )
            }
          >
            Refused rows as CSV
          </Button>
        )}
      </header>
      {data.interruption && <p class="notice bad">{data.interruption.message}</p>}
      <Stats>
        <Stat name="rows" value={countText(data.rows)} />
        <Stat name="new" value={countText(data.created)} />
        <Stat name="changed" value={countText(data.updated)} />
        <Stat name="refused" value={countText(data.refused)} />
      </Stats>
      <section class="card" aria-label="Refused rows">
        <header>
          <h2>Refused rows</h2>
          {moreErrors > 0 && <span class="quiet">{countText(moreErrors)} more are in no list</span>}
        </header>
        {errors.length === 0 && (
          <Empty title="None">
            <p>Every row could be taken.</p>
          </Empty>
        )}
        {errors.length > 0 && (
          <Table
            caption="Refused rows"
            rows={errors}
            keyOf={({ line, column }) => `${line} ${column}`}
            columns={[
              { title: 'Line', kind: 'number', cell: ({ line }) => line },
              { title: 'Column', cell: ({ column }) => column ?? '' },
              { title: 'What is wrong', cell: ({ message }) => message },
              { title: 'Value', kind: 'cut', cell: ({ value }) => value ?? '' },
            ]}
          />
        )}
      </section>
    </div>
  )
}
