// oxlint-disable-next-line import/no-unassigned-import
import 'uplot/dist/uPlot.min.css'
// oxlint-disable-next-line import/no-unassigned-import
import './chart.css'
import { useEffect, useRef, useState } from 'preact/hooks'
import UPlot, { type AlignedData, type Options, type Series } from 'uplot'

export interface ChartSeries {
  readonly name: string
  /** The name of a colour of the theme. */
  readonly color: string
  /** One value for each time; null where nothing is known. */
  readonly values: readonly (number | null)[]
}

/**
 * Values over time. Several series of bars stand on each other. The text below says what a picture cannot say to everybody.
 * @param times epoch seconds, ascending
 */
export function Chart(props: {
  readonly title: string
  readonly times: readonly number[]
  readonly series: readonly ChartSeries[]
  readonly kind?: 'line' | 'bars'
  readonly summary: string
  readonly format?: (value: number) => string
  readonly height?: number
  /** Changes with the theme. */
  readonly theme: boolean
}) {
  const { title, times, series, kind = 'line', summary, format = String, height = 170, theme } = props
  const container = useRef<HTMLDivElement>(null)
  const plot = useRef<UPlot | undefined>(undefined)
  const [width, setWidth] = useState(0)
  const names = series.map(({ name, color }) => `${name} ${color}`).join()
  const data = dataOf(times, series, kind)
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry!.contentRect.width)))
    observer.observe(container.current!)
    return () => observer.disconnect()
  }, [])
  useEffect(() => {
    if (width === 0) return undefined
    const options = optionsOf(container.current!, { series, kind, format, width, height })
    const made = (plot.current = new UPlot(options, data, container.current!))
    return () => {
      made.destroy()
      plot.current = undefined
    }
  }, [width, names, theme, kind, height])
  useEffect(() => plot.current?.setData(data), [JSON.stringify(data)])
  return (
    <figure class="chart">
      <figcaption>
        <strong>{title}</strong> <span class="quiet">{summary}</span>
      </figcaption>
      <div ref={container} style={{ minHeight: `${height}px` }} aria-hidden="true" />
    </figure>
  )
}

function optionsOf(
  within: HTMLElement,
  shape: {
    readonly series: readonly ChartSeries[]
    readonly kind: 'line' | 'bars'
    readonly format: (value: number) => string
    readonly width: number
    readonly height: number
  },
): Options {
  const { series, kind, format, width, height } = shape
  const style = getComputedStyle(within)
  const color = (token: string) => resolved(within, token)
  const axis = {
    stroke: color('ink-2'),
    grid: { stroke: color('line'), width: 1 },
    ticks: { show: false },
    font: `11px ${style.fontFamily}`,
  }
  const bars = UPlot.paths.bars?.({ size: [0.8, 40], gap: 0 })
  // The sum of all is drawn first, and the shorter ones above it.
  const drawn = kind === 'bars' ? series.toReversed() : series
  return {
    width,
    height,
    padding: [8, 8, 0, 0],
    cursor: { drag: { x: false, y: false }, points: { size: 6 } },
    legend: { show: series.length > 1 },
    scales: {
      // A single point has a minute on each side. The library would give it a day.
      x: {
        range: ({ data: [times] }, low, high) => (times.length === 1 ? [low - 60, low + 60] : [low, high]),
      },
      y: { range: (_, _low, high) => [0, high > 0 ? high * 1.1 : 1] },
    },
    axes: [
      { ...axis, size: 28, values: timeTexts },
      { ...axis, size: 54, values: (_, ticks) => ticks.map((tick) => format(tick)) },
    ],
    series: [
      {},
      ...drawn.map(({ name, color: token, values }): Series => ({
        label: name,
        stroke: color(token),
        width: kind === 'bars' ? 0 : 2,
        points: { show: kind === 'line' && values.length < 40 },
        spanGaps: false,
        ...(kind === 'bars'
          ? { fill: color(token), ...(bars && { paths: bars }) }
          : { fill: faint(color(token)) }),
        // In a stack, the legend shows the value of the series and not the sum that is drawn.
        value: (_, _value, _index, at) => {
          const value = at === null ? undefined : values[at]
          return value === null || value === undefined ? '' : format(value)
        },
      })),
    ],
  }
}

function dataOf(
  times: readonly number[],
  series: readonly ChartSeries[],
  kind: 'line' | 'bars',
): AlignedData {
  if (kind === 'line') return [[...times], ...series.map(({ values }) => [...values])] as AlignedData
  const sums = times.map(() => 0)
  const stacked = series.map(({ values }) =>
    times.map((_, i) => {
      sums[i] = sums[i]! + (values[i] ?? 0)
      return sums[i]!
    }),
  )
  return [[...times], ...stacked.toReversed()] as AlignedData
}

function resolved(within: HTMLElement, token: string): string {
  const probe = document.createElement('span')
  probe.style.color = `var(--${token})`
  within.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

function faint(color: string): string {
  return color.startsWith('rgb(') ? color.replace('rgb(', 'rgba(').replace(')', ', 0.12)') : color
}

const DAY_SECONDS = 86_400
const SHORT_SECONDS = 300

/** Times of day, with seconds where the chart is shorter than five minutes; dates where it is longer than two days. */
function timeTexts(_: unknown, ticks: readonly number[]): string[] {
  const span = (ticks.at(-1) ?? 0) - (ticks[0] ?? 0)
  const isLong = span > 2 * DAY_SECONDS
  const second = span < SHORT_SECONDS && ticks.length > 1 ? '2-digit' : undefined
  return ticks.map((tick) => {
    const date = new Date(tick * 1000)
    if (isLong) return date.toLocaleDateString([], { month: 'short', day: 'numeric' })
    return date.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second, hourCycle: 'h23' })
  })
}
