import { useEffect, useRef, useState } from 'preact/hooks'
import type { AnswerOf } from '../../../../sdk/src/types.ts'
import { call } from '../../api/call.ts'
import { environment } from '../../api/environment.ts'
import { useQuery } from '../../api/useQuery.ts'
import { isDark } from '../../theme/theme.ts'
import { Chart } from '../../ui/chart.tsx'
import { CallButton } from '../../ui/code.tsx'
import { Ago, Badge, Failure, Loading } from '../../ui/parts.tsx'
import { Stat, Stats } from '../../ui/stats.tsx'
import { Table } from '../../ui/table.tsx'
import { countText } from '../../ui/words.ts'
import { Regions } from './regions.tsx'
import { bytesText, metricText } from './systemWords.ts'

type System = AnswerOf<'/v1/system', 'get'>['system']

const EVERY_MS = 5000
const STATS_EVERY_MS = 20_000
/** Ten minutes of the charts that the page itself keeps. */
const MAX_SAMPLES = 120

/** The state of the server: is it well, how busy is it, and what has it. */
export default function SystemPage() {
  const { data, failure, reload } = useQuery(
    'system',
    async (signal) => (await call('get', '/v1/system', { signal })).system,
    { everyMs: EVERY_MS },
  )
  return (
    <div class="page">
      <header>
        <h1>System</h1>
        <CallButton call={{ method: 'GET', path: '/v1/system' }} />
      </header>
      {failure && <Failure failure={failure} retry={reload} />}
      <Traffic />
      {data === undefined && !failure && <Loading />}
      {data && <Server system={data} />}
      <Regions />
    </div>
  )
}

/** Updates and events of the environment in the last hour. */
function Traffic() {
  const { data, failure } = useQuery(
    'stats',
    async (signal) => (await call('get', '/v1/stats', { query: {}, signal })).stats,
    { everyMs: STATS_EVERY_MS },
  )
  if (failure) return <Failure failure={failure} />
  if (data === undefined) return <Loading lines={3} />
  const times = data.intervals.map(({ from }) => Date.parse(from) / 1000)
  const updates = data.intervals.map((one) => one.updates)
  const events = data.intervals.map((one) => one.events)
  const sum = (values: readonly (number | null)[]) =>
    values.reduce<number>((all, value) => all + (value ?? 0), 0)
  return (
    <section class="card" aria-label={`Traffic of ${environment.value} in the last hour`}>
      <header>
        <h2>The last hour in {environment.value}</h2>
        <span class="quiet">
          {countText(data.totals.geofences)} geofences · {countText(data.totals.beacons)} beacons
        </span>
      </header>
      <div class="body charts">
        <Chart
          title="Updates per minute"
          summary={`${countText(sum(updates))} in all, at most ${countText(Math.max(0, ...updates))} a minute`}
          times={times}
          series={[{ name: 'updates', color: 'device', values: updates }]}
          kind="bars"
          format={countText}
          theme={isDark.value}
        />
        <Chart
          title="Events per minute"
          summary={`${countText(sum(events))} in all`}
          times={times}
          series={[{ name: 'events', color: 'fence', values: events }]}
          kind="bars"
          format={countText}
          theme={isDark.value}
        />
      </div>
    </section>
  )
}

interface Sample {
  readonly at: number
  readonly memory: number
  readonly delay: number
}

function Server({ system }: { readonly system: System }) {
  const samples = useSamples(system)
  const { checks, memory, disk, metrics } = system
  const isWell = checks.every(({ ok }) => ok)
  return (
    <>
      <Stats>
        <Stat
          name="State"
          value={<Badge tone={isWell ? 'ok' : 'bad'}>{isWell ? 'all is well' : 'something is wrong'}</Badge>}
          detail={`${checks.length} checks`}
        />
        <Stat
          name="Version"
          value={system.version}
          detail={`Node ${system.node.slice(1)}, ${system.engine}`}
        />
        <Stat name="Running since" value={<Ago at={system.startedAt} />} />
        <Stat name="Memory" value={bytesText(memory.used)} detail={`of ${bytesText(memory.total)}`} />
        <Stat name="Free disk" value={bytesText(disk.free)} detail={`of ${bytesText(disk.total)}`} />
        <Stat name="Users" value={countText(metrics.ringfence_users ?? 0)} />
      </Stats>
      <section class="card" aria-label="Load of this process">
        <header>
          <h2>Load of this process</h2>
          <span class="quiet">since this page was opened</span>
        </header>
        <div class="body charts">
          <Chart
            title="Delay of the event loop"
            summary={`99th percentile, now ${samples.at(-1)?.delay.toFixed(1)} ms`}
            times={samples.map(({ at }) => at)}
            series={[{ name: 'ms', color: 'accent', values: samples.map(({ delay }) => delay) }]}
            format={(value) => `${Math.round(value)} ms`}
            theme={isDark.value}
          />
          <Chart
            title="Memory"
            summary={`now ${bytesText(memory.used)}`}
            times={samples.map(({ at }) => at)}
            series={[{ name: 'memory', color: 'ok', values: samples.map((one) => one.memory) }]}
            format={bytesText}
            theme={isDark.value}
          />
        </div>
      </section>
      <div class="split">
        <section class="card" aria-label="Checks">
          <header>
            <h2>Checks</h2>
          </header>
          <ul class="steps">
            {checks.map(({ name, ok, detail }) => (
              <li key={name}>
                <Badge tone={ok ? 'ok' : 'bad'}>{ok ? 'ok' : 'fails'}</Badge>
                <span>
                  <strong>{name}</strong> <span class="quiet">{detail}</span>
                </span>
                <span />
              </li>
            ))}
          </ul>
        </section>
        <Metrics metrics={metrics} />
      </div>
    </>
  )
}

/** What was seen since the page was opened. */
function useSamples({ memory, metrics }: System): readonly Sample[] {
  const kept = useRef<Sample[]>([])
  const [, tick] = useState(0)
  useEffect(() => {
    const delay = (metrics.ringfence_event_loop_delay_p99_seconds ?? 0) * 1000
    kept.current = [...kept.current, { at: Date.now() / 1000, memory: memory.used, delay }].slice(
      -MAX_SAMPLES,
    )
    tick((n) => n + 1)
  }, [metrics])
  return kept.current
}

/** All numbers that the server counts, to search in. */
function Metrics({ metrics }: Pick<System, 'metrics'>) {
  const [text, setText] = useState('')
  const rows = Object.entries(metrics)
    .map(([name, value]) => ({ name: name.replace(/^ringfence_/, ''), value }))
    .filter(({ name }) => name.includes(text.trim().toLowerCase().replaceAll(' ', '_')))
  return (
    <section class="card" aria-label="Numbers">
      <header>
        <h2>Numbers</h2>
        <input
          class="input"
          type="search"
          aria-label="Search in the numbers"
          placeholder="queue, log, geofences …"
          style={{ maxWidth: '220px' }}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </header>
      <div class="limited">
        <Table
          caption="Numbers of this process"
          rows={rows}
          keyOf={({ name }) => name}
          columns={[
            { title: 'What', cell: ({ name }) => <span class="mono">{name}</span> },
            { title: 'Now', kind: 'number', cell: ({ name, value }) => metricText(name, value) },
          ]}
        />
      </div>
    </section>
  )
}
