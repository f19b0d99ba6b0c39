/**
 * When nightly runs are due: a time of day in a time zone, whose clock may skip or repeat it.
 *
 * A time that the clock skips stands for the minute after the gap, a repeated one for its first occurrence. So each
 * local date has one run.
 */

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

/** A nightly run. */
export interface Night {
  /** The local date, `2026-03-29`. */
  readonly date: string
  /** In epoch milliseconds. */
  readonly at: number
}

/** Whether a text names a time zone by its place; offsets are none, because they follow no rules. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]*$/.test(name)) return false
  try {
    return formatOf(name) !== undefined
  } catch {
    return false
  }
}

/**
 * The first run after a time.
 * @param time `HH:mm`
 */
export function nextNight(after: number, time: string, timeZone: string): Night {
  // The local date may be a day before or after that of UTC, and a zone may leave one out.
  for (let days = -2; ; days++) {
    const night = nightOf(after + days * DAY_MS, time, timeZone)
    if (night.at > after) return night
  }
}

/**
 * The last run at or before a time.
 * @param time `HH:mm`
 */
export function lastNight(before: number, time: string, timeZone: string): Night {
  for (let days = 2; ; days--) {
    const night = nightOf(before + days * DAY_MS, time, timeZone)
    if (night.at <= before) return night
  }
}

/** The run of the date that UTC has at a time. */
function nightOf(at: number, time: string, timeZone: string): Night {
  const date = new Date(at).toISOString().slice(0, 10)
  return { date, at: instantOf(date, time, timeZone) }
}

/** The epoch milliseconds of a local date and time. */
function instantOf(date: string, time: string, timeZone: string): number {
  const wanted = Date.parse(`${date}T${time}:00Z`)
  const before = localOf(wanted - DAY_MS, timeZone) - (wanted - DAY_MS)
  const after = localOf(wanted + DAY_MS, timeZone) - (wanted + DAY_MS)
  // With the greater offset, the instant is earlier. If a time is repeated, that is the first one.
  for (const offset of before > after ? [before, after] : [after, before]) {
    if (localOf(wanted - offset, timeZone) === wanted) return wanted - offset
  }
  // The time is skipped: the clock jumps between the two, and the first minute that shows a later time counts.
  let low = wanted - Math.max(before, after) - MINUTE_MS
  let high = wanted - Math.min(before, after) + MINUTE_MS
  while (high - low > MINUTE_MS) {
    const middle = low + Math.floor((high - low) / (2 * MINUTE_MS)) * MINUTE_MS
    if (localOf(middle, timeZone) < wanted) low = middle
    else high = middle
  }
  return high
}

/** What the clock of the zone shows, as if it were UTC. */
function localOf(at: number, timeZone: string): number {
  const parts: Record<string, number> = {}
  for (const { type, value } of formatOf(timeZone).formatToParts(at)) parts[type] = Number(value)
  const { year, month, day, hour, minute } = parts as Record<
    'year' | 'month' | 'day' | 'hour' | 'minute',
    number
  >
  return Date.UTC(year, month - 1, day, hour, minute)
}

const formats = new Map<string, Intl.DateTimeFormat>()
/** How many formats are kept: one for each zone of the world and its other names. */
const MAX_FORMATS = 1000

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone)
  if (known !== undefined) return known
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  })
  if (formats.size === MAX_FORMATS) formats.clear()
  formats.set(timeZone, format)
  return format
}
