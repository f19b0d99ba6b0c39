import { call } from '../../api/call.ts'
import { useQuery } from '../../api/useQuery.ts'
import { isDark } from '../../theme/theme.ts'
import { serverNow } from '../../clock.ts'
import { Chart, type ChartSeries } from '../../ui/chart.tsx'
import { Failure } from '../../ui/parts.tsx'
import { countText, eventKind, eventName } from '../../ui/words.ts'

const EVERY_MS = 15_000
const HOUR_SECONDS = 3600
/** The chart has about this many bars. */
const BARS = 60
/** More types than these are one series. */
const MAX_SERIES = 5
const COLORS: Readonly<Record<string, readonly string[]>> = {
  in: ['ok', 'device'],
  out: ['warn', 'trail'],
  stay: ['accent'],
  bad: ['bad'],
  other: ['fence', 'line-2'],
}

/** How many events of each type there were over time. */
export function EventChart(props: {
  readonly hours: number
  readonly query: { readonly types?: string; readonly tag?: string; readonly externalId?: string }
}) {
  const { hours, query } = props
  // Whole minutes, as the server counts.
  const step = Math.max(60, Math.round((hours * HOUR_SECONDS) / BARS / 60) * 60)
  const { data, failure } = useQuery(
    `event counts ${hours} ${JSON.stringify(query)}`,
    async (signal) => {
      const to = Math.ceil(serverNow() / 1000 / step) * step
      const from = to - step * BARS
      const between = { from: new Date(from * 1000).toISOString(), to: new Date(to * 1000).toISOString() }
      return (await call('get', '/v1/events/counts', { query: { ...query, ...between, step }, signal }))
        .counts
    },
    { everyMs: EVERY_MS },
  )
  if (failure) return <Failure failure={failure} />
  if (data === undefined) return <div class="card" style={{ height: '230px' }} />
  const total = data.reduce((sum, one) => sum + one.total, 0)
  return (
    <section class="card" aria-label="Events over time">
      <div class="body">
        <Chart
          title={`Events per ${spanText(step)}`}
          summary={`${countText(total)} in ${hours === 1 ? 'the last hour' : `the last ${hours} hours`}`}
          times={data.map(({ from }) => Date.parse(from) / 1000)}
          series={seriesOf(data)}
          kind="bars"
          format={countText}
          height={150}
          theme={isDark.value}
        />
      </div>
    </section>
  )
}

/** The most frequent types, and all others together. */
function seriesOf(counts: readonly { readonly types: Readonly<Record<string, unknown>> }[]): ChartSeries[] {
  const sums = new Map<string, number>()
  for (const { types } of counts)
    for (const [type, count] of Object.entries(types)) sums.set(type, (sums.get(type) ?? 0) + Number(count))
  const ranked = [...sums].toSorted(([, a], [, b]) => b - a).map(([type]) => type)
  const shown = ranked.slice(0, MAX_SERIES)
  const used = new Set<string>()
  const series = shown.map((type): ChartSeries => {
    const choice = COLORS[eventKind(type)]!
    const color = choice.find((one) => !used.has(one)) ?? 'line-2'
    used.add(color)
    return { name: eventName(type), color, values: counts.map(({ types }) => Number(types[type] ?? 0)) }
  })
  const rest = ranked.slice(MAX_SERIES)
  if (rest.length > 0)
    series.push({
      name: 'others',
      color: 'line-2',
      values: counts.map(({ types }) => rest.reduce((sum, type) => sum + Number(types[type] ?? 0), 0)),
    })
  return series.length > 0 ? series : [{ name: 'events', color: 'accent', values: counts.map(() => 0) }]
}

function spanText(seconds: number): string {
  if (seconds === 60) return 'minute'
  return seconds < HOUR_SECONDS
    ? `${seconds / 60} minutes`
    : `${Math.round((seconds / HOUR_SECONDS) * 10) / 10} hours`
}
