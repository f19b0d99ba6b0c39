import tzLookup from '@photostructure/tz-lookup'
import { LRUCache } from 'lru-cache'
import type { Position } from '../../model/geofence.ts'

/** The time zone of a position, and what its clocks show. */
export interface TimeZone {
  /** The IANA name, e.g. `America/New_York`. */
  readonly id: string
  /** The name, such as `Eastern Daylight Time`. */
  readonly name: string
  /** The abbreviation, such as `EDT`, or `GMT-3` if English has none. */
  readonly code: string
  /** The time with the zone's offset: `2024-04-09T10:12:00-04:00`. */
  readonly currentTime: string
  /** The offset in seconds, including summer time. */
  readonly utcOffset: number
  /** The seconds of summer time in it; 0 in winter. */
  readonly dstOffset: number
}

/**
 * The locales that are tried, because English has abbreviations for the zones of the countries in which it is spoken.
 */
const LOCALES = ['en-US', 'en-GB', 'en-AU', 'en-IN', 'en-ZA', 'en-NZ']
const UNABBREVIATED = /^GMT[+-]/
/** Clocks only change at a quarter of an hour of UTC, wherever they are. */
const QUARTER_MS = 900_000
/** How many zones are kept. The world has 420. */
const KEPT_ZONES = 500

/** What a zone shows for a quarter of an hour. Finding out takes a millisecond. */
interface Quarter extends Omit<TimeZone, 'currentTime'> {
  readonly number: number
}

const quarters = new LRUCache<string, Quarter>({ max: KEPT_ZONES })

/**
 * The time zone of a position.
 * @param now in epoch milliseconds
 */
export function timeZoneOf([longitude, latitude]: Position, now: number): TimeZone {
  const id = tzLookup(latitude, longitude)
  let quarter = quarters.get(id)
  if (quarter?.number !== Math.floor(now / QUARTER_MS)) {
    quarter = readClock(id, now)
    quarters.set(id, quarter)
  }
  const { name, code, utcOffset, dstOffset } = quarter
  return { id, name, code, currentTime: localTime(now, utcOffset), utcOffset, dstOffset }
}

function readClock(id: string, now: number): Quarter {
  const format = (locale: string, timeZoneName: 'long' | 'short' | 'longOffset'): Intl.DateTimeFormat =>
    new Intl.DateTimeFormat(locale, { timeZone: id, timeZoneName })
  const offset = format('en-US', 'longOffset')
  const utcOffset = offsetAt(offset, now)
  const year = new Date(now).getUTCFullYear()
  const standard = Math.min(offsetAt(offset, Date.UTC(year, 0, 1)), offsetAt(offset, Date.UTC(year, 6, 1)))
  const texts = LOCALES.map((locale) => partOf(format(locale, 'short'), now))
  return {
    number: Math.floor(now / QUARTER_MS),
    id,
    name: partOf(format('en-US', 'long'), now),
    code: texts.find((text) => !UNABBREVIATED.test(text)) ?? texts[0]!,
    utcOffset,
    dstOffset: Math.max(0, utcOffset - standard),
  }
}

function partOf(format: Intl.DateTimeFormat, time: number): string {
  return format.formatToParts(time).find(({ type }) => type === 'timeZoneName')!.value
}

/** The offset in seconds, from a text like `GMT-03:30`. `GMT` alone is 0. */
function offsetAt(format: Intl.DateTimeFormat, time: number): number {
  const [, sign, hours, minutes, seconds = 0] =
    /^GMT([+-])(\d\d):(\d\d)(?::(\d\d))?$/.exec(partOf(format, time)) ?? []
  if (sign === undefined) return 0
  return (sign === '-' ? -1 : 1) * (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds))
}

function localTime(now: number, offset: number): string {
  const local = new Date(now + offset * 1000).toISOString().slice(0, 19)
  const minutes = Math.abs(offset) / 60
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0')
  return `${local}${offset < 0 ? '-' : '+'}${two(minutes / 60)}:${two(minutes % 60)}`
}
