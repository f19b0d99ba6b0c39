import { addressOf, call } from '../../api/call.ts'
import { useQuery } from '../../api/useQuery.ts'
import { circleRing, type LngLat } from '../../map/geometry.ts'
import { go, pagePath } from '../../router.ts'
import { may } from '../../session/session.ts'
import { usePageKey } from '../../shell/keys.tsx'
import { CallButton } from '../../ui/code.tsx'
import { Ago, Badge, Button, Empty, Failure, LinkButton, Loading, type Tone } from '../../ui/parts.tsx'
import { Stat, Stats } from '../../ui/stats.tsx'
import { Table } from '../../ui/table.tsx'
import { say } from '../../ui/toast.tsx'
import { countText } from '../../ui/words.ts'
import { MarkMap } from '../maps/markMap.tsx'
import { isUnderWay, RUN_TONES, type Run } from './runWords.ts'

const EVERY_MS = 1000
const SOURCE_TONES: Readonly<Record<string, Tone>> = { read: 'ok', unchanged: undefined, failed: 'bad' }

/** One run of the sync: what each file gave, and which rows were refused. */
export function RunPage({ id }: { readonly id: string }) {
  const params = { id }
  const { data, failure, reload } = useQuery(
    `sync run ${id}`,
    async (signal) => (await call('get', '/v1/geofence-sync/runs/{id}', { params, signal })).run,
    { everyMs: EVERY_MS },
  )
  usePageKey('Escape', () => go(pagePath('sync')))
  if (failure && data === undefined)
    return (
      <div class="page">
        <Failure failure={failure} retry={reload} />
      </div>
    )
  if (data === undefined) return <Loading />
  const run = data
  const cancel = async () => {
    try {
      await call('post', '/v1/geofence-sync/runs/{id}/cancel', { params })
      say('The run ends after the rows that are under way.')
    } catch (error) {
      say((error as Error).message, 'bad')
    }
    reload()
  }
  return (
    <div class="page">
      <header>
        <LinkButton href={pagePath('sync')} kind="plain" icon="back">
          Geofence sync
        </LinkButton>
        <h1>{run.dryRun ? 'Dry run' : 'Run'}</h1>
        <Badge tone={RUN_TONES[run.status]}>{run.status}</Badge>
        <CallButton call={{ method: 'GET', path: addressOf('/v1/geofence-sync/runs/{id}', { params }) }} />
        {isUnderWay(run) && may('POST /v1/geofence-sync/runs/{id}/cancel') && (
          <Button kind="danger" onClick={() => void cancel()}>
            Stop
          </Button>
        )}
      </header>
      <p class="quiet">
        Begun <Ago at={run.createdAt} />,{' '}
        {run.by ? `by ${run.by.replace(/^.*:secret:/, 'the key …')}` : run.trigger}
        {run.force && ', with force'}
        {run.finishedAt && `, took ${secondsBetween(run.createdAt, run.finishedAt)}`}.{' '}
        {run.dryRun && 'Nothing is written by a dry run.'}
      </p>
      {run.message && <p class="notice bad">{run.message}</p>}
      {run.deletionHeld && (
        <p class="notice warn">
          {countText(run.deletionHeld.count)} of {countText(run.deletionHeld.of)} geofences are in no file any
          more. That is more than the settings allow at once, so none was deleted. A run with force deletes
          them.
        </p>
      )}
      <Stats>
        <Stat name="rows" value={countText(run.rows)} />
        <Stat name={run.dryRun ? 'would be new' : 'new'} value={countText(run.created)} />
        <Stat name={run.dryRun ? 'would change' : 'changed'} value={countText(run.updated)} />
        <Stat name="unchanged" value={countText(run.unchanged)} />
        <Stat name={run.dryRun ? 'would be deleted' : 'deleted'} value={countText(run.deleted)} />
        <Stat name="refused" value={countText(run.refused)} />
      </Stats>
      <section class="card" aria-label="Sources">
        <header>
          <h2>Sources</h2>
        </header>
        <Table
          caption="Sources of the run"
          rows={run.sources}
          keyOf={({ name }) => name}
          columns={[
            { title: 'File', kind: 'cut', cell: ({ name }) => <span class="mono">{name}</span> },
            {
              title: 'Is',
              cell: ({ status }) => (
                <Badge tone={SOURCE_TONES[status ?? '']}>
                  {status ?? (isUnderWay(run) ? 'under way' : 'not read')}
                </Badge>
              ),
            },
            { title: 'Rows', kind: 'number', roomy: true, cell: ({ rows }) => countText(rows) },
            { title: 'Refused', kind: 'number', cell: ({ refused }) => countText(refused) },
            { title: 'Attempts', kind: 'number', wide: true, cell: ({ attempts }) => attempts },
            { title: 'What it said', cell: ({ error, httpStatus }) => error?.message ?? httpStatus ?? '' },
          ]}
        />
      </section>
      {run.changes !== undefined && run.changes.length > 0 && <Difference run={run} />}
      <Refused run={run} />
    </div>
  )
}

const CHANGE_COLORS = { created: 'ok', updated: 'warn', deleted: 'bad' } as const
const CHANGE_WORDS = { created: 'new', updated: 'changed', deleted: 'deleted' } as const

/** What a dry run would do, on the map and as a list. */
function Difference({ run }: { readonly run: Run }) {
  const changes = run.changes ?? []
  const more = run.created + run.updated + run.deleted - changes.length
  return (
    <section class="card" aria-label="Difference">
      <header>
        <h2>What it would do</h2>
        {more > 0 && <span class="quiet">{countText(more)} more are not shown</span>}
        {(['created', 'updated', 'deleted'] as const).map((change) => (
          <Badge key={change} tone={CHANGE_COLORS[change]}>
            {CHANGE_WORDS[change]}
          </Badge>
        ))}
      </header>
      <MarkMap
        label="The difference on the map"
        height={420}
        fitKey={run._id}
        marks={changes.map(({ change, center, radius, description }) => ({
          shape: 'area',
          color: CHANGE_COLORS[change],
          ring: circleRing(center as unknown as LngLat, radius),
          name: description,
          isDashed: change === 'deleted',
        }))}
      />
      <div class="limited">
        <Table
          caption="Geofences that would change"
          rows={changes}
          keyOf={({ tag, externalId }) => `${tag}/${externalId}`}
          columns={[
            { title: 'Geofence', cell: ({ description }) => <strong>{description}</strong> },
            { title: 'Tag and id', kind: 'cut', cell: ({ tag, externalId }) => `${tag}/${externalId}` },
            {
              title: 'Would be',
              cell: ({ change }) => <Badge tone={CHANGE_COLORS[change]}>{CHANGE_WORDS[change]}</Badge>,
            },
          ]}
        />
      </div>
    </section>
  )
}

function Refused({ run: { errors = [], moreErrors = 0, refused } }: { readonly run: Run }) {
  return (
    <section class="card" aria-label="Refused rows">
      <header>
        <h2>Refused rows</h2>
        {moreErrors > 0 && <span class="quiet">{countText(moreErrors)} more are not kept</span>}
      </header>
      {refused === 0 && (
        <Empty title="None">
          <p>Every row that was read could be taken.</p>
        </Empty>
      )}
      {errors.length > 0 && (
        <Table
          caption="Refused rows"
          rows={errors}
          keyOf={({ source, line, column }) => `${source} ${line} ${column}`}
          columns={[
            { title: 'File', kind: 'cut', wide: true, cell: ({ source }) => source },
            { title: 'Line', kind: 'number', cell: ({ line }) => line },
            { title: 'Column', cell: ({ column }) => column ?? '' },
            { title: 'What is wrong', cell: ({ message }) => message },
            { title: 'Value', kind: 'cut', cell: ({ value }) => value ?? '' },
          ]}
        />
      )}
    </section>
  )
}

function secondsBetween(from: string, to: string): string {
  return `${((Date.parse(to) - Date.parse(from)) / 1000).toFixed(1)} s`
}
