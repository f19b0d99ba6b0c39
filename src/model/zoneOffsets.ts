/** What the clocks of time zones show. */
export interface ZoneOffsets {
  /** The local time of an IANA time zone minus UTC at `timeMs` (epoch milliseconds), in milliseconds. */
  offsetMs(timeZone: string, timeMs: number): number
}

/** Asks Intl each time, which takes a twentieth of a millisecond. It keeps nothing. */
export const PLAIN_OFFSETS: ZoneOffsets = {
  offsetMs: (timeZone, timeMs) => exactOffsetMs(formatOf(timeZone), timeMs),
}

/**
 * A zone's offset changes at most once in a quarter of an hour, and in our century only at its edges. So if it is the
 * same at both edges, it holds between them, and Intl, which takes microseconds, is asked once per quarter and zone.
 */
const QUARTER_MS = 15 * 60_000
const MAX_CACHED_QUARTERS = 4096
const MAX_ZONES = 1024

interface ZoneClock {
  readonly format: Intl.DateTimeFormat
  /** The offset in milliseconds by the number of the quarter; NaN if it changes within the quarter. */
  readonly offsets: Map<number, number>
}

/** Remembers the offsets of the quarters of an hour that were asked about, in a bounded memory. */
export class CachedOffsets implements ZoneOffsets {
  /**
   * The clocks by the zone's name, which may be spelled in upper and lower case. When there are too many, it starts
   * again.
   */
  readonly #zones = new Map<string, ZoneClock>()

  offsetMs(timeZone: string, timeMs: number): number {
    let zone = this.#zones.get(timeZone)
    if (zone === undefined) {
      zone = { format: formatOf(timeZone), offsets: new Map() }
      if (this.#zones.size === MAX_ZONES) this.#zones.clear()
      this.#zones.set(timeZone, zone)
    }
    const quarter = Math.floor(timeMs / QUARTER_MS)
    let offset = zone.offsets.get(quarter)
    if (offset === undefined) {
      offset = exactOffsetMs(zone.format, quarter * QUARTER_MS)
      if (exactOffsetMs(zone.format, (quarter + 1) * QUARTER_MS - 1) !== offset) offset = Number.NaN
      if (zone.offsets.size >= MAX_CACHED_QUARTERS) zone.offsets.clear()
      zone.offsets.set(quarter, offset)
    }
    return Number.isNaN(offset) ? exactOffsetMs(zone.format, timeMs) : offset
  }
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    weekday: 'short',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
}

const SHORT_DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
const SECONDS_PER_WEEK = 7 * 86_400
/** 1970-01-01 was a Thursday. */
const EPOCH_WEEK_SECOND = 4 * 86_400

/**
 * The local time minus UTC, computed from weekday and time alone. It needs no calendar, because offsets are less than
 * half a week.
 */
function exactOffsetMs(format: Intl.DateTimeFormat, timeMs: number): number {
  const second = Math.floor(timeMs / 1000)
  let local = 0
  for (const { type, value } of format.formatToParts(second * 1000)) {
    if (type === 'weekday') local += SHORT_DAYS.indexOf(value) * 86_400
    else if (type === 'hour') local += Number(value) * 3600
    else if (type === 'minute') local += Number(value) * 60
    else if (type === 'second') local += Number(value)
  }
  const difference =
    (((local - second - EPOCH_WEEK_SECOND) % SECONDS_PER_WEEK) + SECONDS_PER_WEEK) % SECONDS_PER_WEEK
  return (difference > SECONDS_PER_WEEK / 2 ? difference - SECONDS_PER_WEEK : difference) * 1000
}
