/** Draws time series as an SVG picture of panels one below the other, without a library: only lines and words. */

export interface Series {
  readonly name: string
  /** One value for each time; NaN leaves a gap. */
  readonly values: readonly number[]
  readonly color: string
}

export interface Panel {
  /** The title, including the unit. */
  readonly title: string
  readonly series: readonly Series[]
}

export interface PlotOptions {
  readonly title: string
  /** One sentence, which is shown below the title. */
  readonly verdict: string
  /** Seconds from the start, ascending. */
  readonly seconds: readonly number[]
  /** Where measuring began; earlier values are drawn pale. */
  readonly warmUpSeconds: number
  readonly panels: readonly Panel[]
}

const WIDTH = 960
const PANEL_HEIGHT = 150
const GAP = 50
const LEFT = 70
const RIGHT = 150
const TOP = 96
const FONT = 'font-family="system-ui, sans-serif"'

/** @returns the text of an SVG file */
export function plot({ title, verdict, seconds, warmUpSeconds, panels }: PlotOptions): string {
  const height = TOP + panels.length * (PANEL_HEIGHT + GAP) + 20
  const end = seconds.at(-1) ?? 1
  const x = (second: number) => LEFT + (second / end) * (WIDTH - LEFT - RIGHT)
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" ${FONT}>`,
    `<rect width="100%" height="100%" fill="#fff"/>`,
    `<text x="${LEFT}" y="30" font-size="18" fill="#111">${escaped(title)}</text>`,
    `<text x="${LEFT}" y="52" font-size="13" fill="#444">${escaped(verdict)}</text>`,
  ]
  for (const [i, panel] of panels.entries()) {
    const top = TOP + i * (PANEL_HEIGHT + GAP)
    parts.push(...panelParts(panel, seconds, top, x))
    const width = x(Math.min(warmUpSeconds, end)) - LEFT
    parts.push(
      `<rect x="${LEFT}" y="${top}" width="${round(width)}" height="${PANEL_HEIGHT}" fill="#fff" opacity="0.6"/>`,
    )
  }
  const bottom = TOP + panels.length * (PANEL_HEIGHT + GAP) - GAP
  const unit = end > 180 ? { size: 60, name: 'min' } : { size: 1, name: 's' }
  for (const tick of ticks(0, end / unit.size, 8)) {
    const at = round(x(tick * unit.size))
    parts.push(
      `<text x="${at}" y="${bottom + 18}" font-size="11" fill="#444" text-anchor="middle">${tick} ${unit.name}</text>`,
    )
  }
  return `${[...parts, '</svg>'].join('\n')}\n`
}

function panelParts(
  { title, series }: Panel,
  seconds: readonly number[],
  top: number,
  x: (second: number) => number,
): string[] {
  const values = series.flatMap((one) => one.values.filter(Number.isFinite))
  const marks = ticks(0, Math.max(...values, 1e-9) * 1.05, 4)
  const high = Math.max(marks.at(-1)!, Math.max(...values) * 1.02)
  const y = (value: number) => top + PANEL_HEIGHT - (value / high) * PANEL_HEIGHT
  const parts = [`<text x="${LEFT}" y="${top - 8}" font-size="13" fill="#111">${escaped(title)}</text>`]
  for (const mark of marks) {
    const at = round(y(mark))
    parts.push(
      `<line x1="${LEFT}" y1="${at}" x2="${WIDTH - RIGHT}" y2="${at}" stroke="#ddd"/>`,
      `<text x="${LEFT - 8}" y="${at + 4}" font-size="11" fill="#444" text-anchor="end">${mark.toLocaleString('en-US')}</text>`,
    )
  }
  for (const [i, { name, values: line, color }] of series.entries()) {
    const legend = top + 14 + i * 18
    parts.push(
      `<path d="${path(line, seconds, x, y)}" fill="none" stroke="${color}" stroke-width="1.5"/>`,
      `<line x1="${WIDTH - RIGHT + 12}" y1="${legend - 4}" x2="${WIDTH - RIGHT + 32}" y2="${legend - 4}" stroke="${color}" stroke-width="3"/>`,
      `<text x="${WIDTH - RIGHT + 38}" y="${legend}" font-size="12" fill="#111">${escaped(name)}</text>`,
    )
  }
  return parts
}

function path(
  values: readonly number[],
  seconds: readonly number[],
  x: (second: number) => number,
  y: (value: number) => number,
): string {
  let text = ''
  let isDown = false
  for (const [i, value] of values.entries()) {
    if (Number.isFinite(value)) text += `${isDown ? 'L' : 'M'}${round(x(seconds[i]!))} ${round(y(value))}`
    isDown = Number.isFinite(value)
  }
  return text
}

/** About this many round numbers between low and high. */
function ticks(low: number, high: number, count: number): number[] {
  const rough = (high - low) / count
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough)!
  const marks: number[] = []
  for (let i = Math.ceil(low / step); i * step <= high; i++) marks.push(Number((i * step).toPrecision(12)))
  return marks
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
