/** Opening hours of a day as the form has them, `08:00-12:00, 13:00-18:00`, and as hours of a grid. */

/** A span in minutes of the day; the first minute belongs to it, the second does not. */
type Span = readonly [open: number, close: number]

export type HourState = 'open' | 'part' | 'closed'

const HOURS = 24
const HOUR = 60

/**
 * Reads the text of a day.
 * @returns undefined for what the grid cannot show: a text that is not finished, or a span past midnight
 */
function spansOf(text: string): Span[] | undefined {
  const spans: Span[] = []
  for (const part of text.split(',').map((one) => one.trim())) {
    if (part === '') continue
    const found = /^(\d{1,2}):(\d\d)\s*[-–]\s*(\d{1,2}):(\d\d)$/.exec(part)
    if (found === null) return undefined
    const [fromHour, fromMinute, toHour, toMinute] = found.slice(1).map(Number) as [
      number,
      number,
      number,
      number,
    ]
    const [open, close] = [fromHour * HOUR + fromMinute, toHour * HOUR + toMinute]
    if (open >= close || close > HOURS * HOUR) return undefined
    spans.push([open, close])
  }
  return merged(spans)
}

/** The state of each of the 24 hours; undefined if the grid cannot show the text. */
export function hourStates(text: string): HourState[] | undefined {
  const spans = spansOf(text)
  if (spans === undefined) return undefined
  return Array.from({ length: HOURS }, (_, hour) => {
    const [from, to] = [hour * HOUR, (hour + 1) * HOUR]
    if (spans.some(([open, close]) => open <= from && close >= to)) return 'open'
    return spans.some(([open, close]) => open < to && close > from) ? 'part' : 'closed'
  })
}

/** The text after an hour has been opened or closed. The rest of the day stays as it is, to the minute. */
export function withHour(text: string, hour: number, isOpen: boolean): string {
  const spans = spansOf(text)
  if (spans === undefined) return text
  const [from, to] = [hour * HOUR, (hour + 1) * HOUR]
  const changed = isOpen
    ? merged([...spans, [from, to]])
    : spans
        .flatMap(([open, close]): Span[] => [
          [open, Math.min(close, from)],
          [Math.max(open, to), close],
        ])
        .filter(([open, close]) => open < close)
  return changed.map(([open, close]) => `${timeText(open)}-${timeText(close)}`).join(', ')
}

/** Sorts the spans, and joins those that touch. */
function merged(spans: readonly Span[]): Span[] {
  const result: Span[] = []
  for (const [open, close] of spans.toSorted(([a], [b]) => a - b)) {
    const last = result.at(-1)
    if (last !== undefined && open <= last[1]) result[result.length - 1] = [last[0], Math.max(last[1], close)]
    else result.push([open, close])
  }
  return result
}

function timeText(minutes: number): string {
  return `${hourText(Math.floor(minutes / HOUR))}:${String(minutes % HOUR).padStart(2, '0')}`
}

/** The hour in two digits, such as `08`. */
export function hourText(hour: number): string {
  return String(hour).padStart(2, '0')
}
