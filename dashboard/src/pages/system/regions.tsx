import { useState } from 'preact/hooks'
import type { AnswerOf } from '../../../../sdk/src/types.ts'
import { call } from '../../api/call.ts'
import { hasCall } from '../../api/document.ts'
import { useQuery } from '../../api/useQuery.ts'
import { may } from '../../session/session.ts'
import { Code } from '../../ui/code.tsx'
import { Ago, Badge, Button, Empty, Loading, type Tone } from '../../ui/parts.tsx'
import { Table } from '../../ui/table.tsx'
import { say } from '../../ui/toast.tsx'
import { RegionDialog } from './regionDialog.tsx'
import { bytesText } from './systemWords.ts'

type Import = AnswerOf<'/v1/map-regions/imports', 'get'>['mapRegionImports'][number]

const IMPORT = 'PUT /v1/map-regions/{name}'
const EVERY_MS = 3000
/** How many uploads of the history are shown. */
const SHOWN = 5
const TONES: Readonly<Record<Import['status'], Tone>> = {
  uploading: 'accent',
  importing: 'accent',
  completed: 'ok',
  failed: 'bad',
  canceled: 'warn',
  interrupted: 'bad',
}

/** The map regions of the process, and their import. */
export function Regions() {
  const [isOpen, setOpen] = useState(false)
  const regions = useQuery(
    'map regions',
    async (signal) => (await call('get', '/v1/map-regions', { signal })).mapRegions,
  )
  const canImport = hasCall(IMPORT) && may(IMPORT)
  if (regions.failure) return null
  const { data } = regions
  return (
    <section class="card" aria-label="Map regions">
      <header>
        <h2>Map regions</h2>
        {canImport && (
          <Button icon="imports" onClick={() => setOpen(true)}>
            Import a region
          </Button>
        )}
      </header>
      {data === undefined && <Loading lines={2} />}
      {data?.length === 0 && (
        <Empty title="No region is imported">
          <p>
            Routes, addresses and detailed maps need one. The background shows outlines of the world until
            then.
          </p>
        </Empty>
      )}
      {data !== undefined && data.length > 0 && (
        <Table
          caption="Map regions"
          rows={data}
          keyOf={({ name }) => name}
          columns={[
            { title: 'Region', cell: ({ name }) => <strong>{name}</strong> },
            {
              title: 'For',
              cell: ({ products }) => (
                <span class="chips">
                  {products.map((product) => (
                    <Badge key={product}>{product}</Badge>
                  ))}
                </span>
              ),
            },
            {
              title: 'West, south, east, north',
              wide: true,
              cell: ({ bounds }) => (
                <span class="mono">{bounds.map((one) => one.toFixed(3)).join(', ')}</span>
              ),
            },
            { title: 'Credits', kind: 'cut', cell: ({ attribution }) => attribution },
          ]}
        />
      )}
      {canImport && <RegionImports onDone={() => regions.reload()} />}
      <div class="body">
        <p class="quiet">
          A region is made of an extract of OpenStreetMap; requests go on meanwhile. The{' '}
          <a href="/docs/guides/regions">guide</a> says where to get one. Large ones are imported on the
          server:
        </p>
        <Code text="npm run region -- import berlin-latest.osm.pbf" />
      </div>
      {isOpen && <RegionDialog onClose={() => setOpen(false)} />}
    </section>
  )
}

/** The newest imports. @param props.onDone called when one has completed */
function RegionImports({ onDone }: { readonly onDone: () => void }) {
  const [known, setKnown] = useState<string | undefined>()
  const { data = [] } = useQuery(
    'map region imports',
    async (signal) => (await call('get', '/v1/map-regions/imports', { signal })).mapRegionImports,
    { everyMs: EVERY_MS },
  )
  const completed = data.find(({ status }) => status === 'completed')?._id ?? ''
  if (known !== completed) {
    setKnown(completed)
    if (known !== undefined) onDone()
  }
  if (data.length === 0) return null
  return (
    <Table
      caption="Imports of map regions, the newest first"
      rows={data.slice(0, SHOWN)}
      keyOf={({ _id }) => _id}
      columns={[
        { title: 'Import of', cell: ({ name }) => name },
        { title: 'Is', cell: ({ status }) => <Badge tone={TONES[status]}>{status}</Badge> },
        { title: 'Size', kind: 'number', cell: ({ bytes }) => bytesText(bytes) },
        { title: 'How far', cell: progressText },
        { title: 'When', cell: ({ createdAt }) => <Ago at={createdAt} /> },
        { title: '', cell: (one) => <StopImport of={one} /> },
      ]}
    />
  )
}

function progressText({ stage, progress = 0, message, notes }: Import): string {
  if (stage !== undefined) return `${stage} ${Math.floor(progress * 100)} %`
  return [message, ...notes].filter(Boolean).join(' ')
}

function StopImport({ of: { _id, status } }: { readonly of: Import }) {
  if (status !== 'uploading' && status !== 'importing') return null
  const stop = async () => {
    try {
      await call('post', '/v1/map-regions/imports/{id}/cancel', { params: { id: _id } })
      say('Nothing is left of it. The regions from before stay in use.')
    } catch (error) {
      say((error as Error).message, 'bad')
    }
  }
  return (
    <Button kind="danger" size="small" onClick={() => void stop()}>
      Stop
    </Button>
  )
}
