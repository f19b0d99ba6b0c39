import { useState } from 'preact/hooks'
import { addressOf, call } from '../../api/call.ts'
import { usePages } from '../../api/usePages.ts'
import { useQuery } from '../../api/useQuery.ts'
import { go, pagePath } from '../../router.ts'
import type { PageProps } from '../../routes.ts'
import { may } from '../../session/session.ts'
import { CallButton } from '../../ui/code.tsx'
import { Later } from '../../ui/later.tsx'
import { RecordList } from '../../ui/list.tsx'
import { Ago, Badge, Button, Dialog, Empty, Failure, Loading } from '../../ui/parts.tsx'
import { say } from '../../ui/toast.tsx'
import { countText } from '../../ui/words.ts'
import { SyncForm } from './syncForm.tsx'
import { isUnderWay, RUN_TONES, type Run } from './runWords.ts'

const EVERY_MS = 3000

export default function SyncPage({ parts: [id] }: PageProps) {
  if (id === undefined) return <SyncHome />
  return <Later key={id} load={async () => (await import('./runPage.tsx')).RunPage} props={{ id }} />
}

/** Geofences that follow files elsewhere: settings, runs by hand, and what became of earlier ones. */
function SyncHome() {
  const { data, failure, reload } = useQuery('sync', (signal) => call('get', '/v1/geofence-sync', { signal }))
  const runs = usePages(
    'sync runs',
    async (before, signal) => {
      const query = { limit: 50, ...(before && { before }) }
      const { runs: rows, meta } = await call('get', '/v1/geofence-sync/runs', { query, signal })
      return { rows, hasMore: meta.hasMore }
    },
    { everyMs: EVERY_MS },
  )
  const [isForcing, setForcing] = useState(false)
  if (failure)
    return (
      <div class="page">
        <Failure failure={failure} retry={reload} />
      </div>
    )
  if (data === undefined) return <Loading />
  const { sync } = data
  const isSetUp = sync.protocol !== undefined
  const run = async (options: { readonly dryRun?: boolean; readonly force?: boolean }) => {
    try {
      const answer = await call('post', '/v1/geofence-sync/runs', { body: options })
      go(pagePath(`sync/${answer.run._id}`))
    } catch (error) {
      say((error as Error).message, 'bad')
      runs.reload()
    }
  }
  return (
    <div class="page">
      <header>
        <h1>Geofence sync</h1>
        <CallButton call={{ method: 'GET', path: addressOf('/v1/geofence-sync', {}) }} />
        {isSetUp && may('POST /v1/geofence-sync/runs') && (
          <>
            <Button onClick={() => void run({ dryRun: true })}>Dry run</Button>
            <Button onClick={() => setForcing(true)}>Run with force</Button>
            <Button kind="primary" icon="play" onClick={() => void run({})}>
              Run now
            </Button>
          </>
        )}
      </header>
      <p class="quiet">
        {isSetUp
          ? nextText(sync)
          : 'Geofences can follow CSV files on web servers or in object storage: each night they are fetched and compared.'}{' '}
        The <a href="/docs/guides/syncing">guide</a> has the columns.
      </p>
      <div class="split">
        <SyncForm
          sync={sync}
          onSaved={(begun) => (begun === undefined ? reload() : go(pagePath(`sync/${begun}`)))}
        />
        <RecordList
          caption="Runs, the newest first"
          list={runs}
          columns={[
            {
              title: 'Run',
              cell: (one: Run) => (
                <a href={pagePath(`sync/${one._id}`)}>{one.dryRun ? 'dry run' : one.trigger}</a>
              ),
            },
            { title: 'Is', cell: ({ status }) => <Badge tone={RUN_TONES[status]}>{status}</Badge> },
            { title: 'New', kind: 'number', roomy: true, cell: ({ created }) => countText(created) },
            { title: 'Changed', kind: 'number', roomy: true, cell: ({ updated }) => countText(updated) },
            { title: 'Deleted', kind: 'number', wide: true, cell: ({ deleted }) => countText(deleted) },
            { title: 'Refused', kind: 'number', cell: ({ refused }) => countText(refused) },
            { title: 'When', cell: (one) => (isUnderWay(one) ? 'now' : <Ago at={one.createdAt} />) },
          ]}
          empty={
            <Empty title="No run yet">
              <p>
                {isSetUp
                  ? 'Begin with a dry run: it fetches the files, compares them and writes nothing.'
                  : 'Say where the files are, test that, and save.'}
              </p>
            </Empty>
          }
        />
      </div>
      {isForcing && (
        <Dialog title="Run with force?" onClose={() => setForcing(false)}>
          <p>
            Files that did not change are read too. Geofences that no file names any more are deleted, however
            many they are.
          </p>
          <div class="actions">
            <Button onClick={() => setForcing(false)}>Do not</Button>
            <Button kind="danger" onClick={() => void run({ force: true })}>
              Run with force
            </Button>
          </div>
        </Dialog>
      )}
    </div>
  )
}

function nextText(sync: {
  readonly enabled: boolean
  readonly nextRunAt?: string
  readonly timeZone: string
}) {
  if (!sync.enabled) return 'No nightly run: it is off. Running by hand still works.'
  if (sync.nextRunAt === undefined) return ''
  return `The next run is at ${new Date(sync.nextRunAt).toLocaleString()} of your clock.`
}
