import type { ZoneOffsets } from './zoneOffsets.ts'

/** Minutes of the day, 0 ≤ open < 1440, open < close ≤ open + 1440: a pair that crosses midnight closes past 1440. */
export type OpenPair = readonly [open: number, close: number]

/** Opening hours in the geofence's local time; index 0 is Sunday. A day without pairs is closed. */
export interface OperatingHours {
  readonly week: readonly (readonly OpenPair[])[]
  /** The definition as given, for answers. */
  readonly source: Readonly<Record<string, readonly (readonly [string, string])[]>>
}

/** Opening hours that break a rule; the message is one sentence about which and where. */
export class OperatingHoursError extends Error {
  override name = 'OperatingHoursError'
}

/** How many pairs a day may have. More are a mistake. */
const MAX_PAIRS_PER_DAY = 48

const DAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday']
const MINUTES_PER_DAY = 1440
const MINUTES_PER_WEEK = 7 * MINUTES_PER_DAY

/**
 * Reads a dictionary from day names (full or three letters, any case) to lists of [open, close] pairs, with times as
 * `h:mm aa` (`9:00 AM`) or `HH:mm` (`17:30`).
 *
 * - The open minute belongs to the pair, the close minute does not; `24:00` is a valid close.
 * - A close at or before its open is on the next day; so equal times are open for 24 hours.
 * - Pairs may overlap. A day that is not listed, or has an empty list, is closed while another key is there.
 *
 * @returns undefined for a dictionary without days: no hours, always open
 * @throws {OperatingHoursError}
 */
export function parseOperatingHours(value: unknown): OperatingHours | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new OperatingHoursError('must be a dictionary from day names to lists of [open, close] pairs.')
  }
  return readDays(value)
}

function readDays(value: object): OperatingHours | undefined {
  const week: OpenPair[][] = [[], [], [], [], [], [], []]
  const source: Record<string, [string, string][]> = {}
  const nameOf = new Map<number, string>()
  for (const [name, pairs] of Object.entries(value)) {
    if (pairs === null) continue
    const day = dayOf(name)
    const before = nameOf.get(day)
    if (before !== undefined) throw new OperatingHoursError(`${before} and ${name} are the same day.`)
    nameOf.set(day, name)
    if (!Array.isArray(pairs)) throw new OperatingHoursError(`${name} must be a list of [open, close] pairs.`)
    if (pairs.length > MAX_PAIRS_PER_DAY) {
      throw new OperatingHoursError(`${name} has ${pairs.length} pairs; at most ${MAX_PAIRS_PER_DAY}.`)
    }
    const given: [string, string][] = pairs.map((pair) => textPair(name, pair))
    week[day] = given.map(([open, close]) => minutesOf(name, open, close))
    source[name] = given
  }
  return nameOf.size === 0 ? undefined : { week, source }
}

/** Whether a location with these hours in this IANA time zone is open at `timeMs` (epoch milliseconds). */
export function isOpen(hours: OperatingHours, timeZone: string, timeMs: number, zones: ZoneOffsets): boolean {
  const weekMinute = localWeekMinute(timeZone, timeMs, zones)
  const day = Math.floor(weekMinute / MINUTES_PER_DAY)
  const minute = weekMinute - day * MINUTES_PER_DAY
  for (const pair of hours.week[day] ?? []) {
    if (pair[0] <= minute && minute < pair[1]) return true
  }
  for (const pair of hours.week[(day + 6) % 7] ?? []) {
    if (minute + MINUTES_PER_DAY < pair[1]) return true
  }
  return false
}

function dayOf(name: string): number {
  const lower = name.toLowerCase()
  const day = DAYS.findIndex((full) => lower === full || lower === full.slice(0, 3))
  if (day === -1) {
    throw new OperatingHoursError(
      `${JSON.stringify(name.slice(0, 40))} is not a day; use names such as Sunday or Sun.`,
    )
  }
  return day
}

function textPair(name: string, pair: unknown): [string, string] {
  if (!Array.isArray(pair) || pair.length !== 2) {
    throw new OperatingHoursError(`${name} must be a list of [open, close] pairs.`)
  }
  const [open, close]: unknown[] = pair
  if (typeof open !== 'string' || typeof close !== 'string') {
    throw new OperatingHoursError(`${name} must give its times as text such as 9:00 AM or 17:30.`)
  }
  return [open, close]
}

function minutesOf(name: string, openText: string, closeText: string): OpenPair {
  const open = minuteOf(name, openText)
  const close = minuteOf(name, closeText)
  if (open === MINUTES_PER_DAY) throw new OperatingHoursError(`${name} cannot open at 24:00; use 00:00.`)
  return [open, close <= open ? close + MINUTES_PER_DAY : close]
}

const TIME = /^(\d{1,2}):([0-5]\d)(?: ?([ap])m)?$/i

/** The minutes after midnight, 0 to 1440. */
function minuteOf(name: string, text: string): number {
  const match = TIME.exec(text.trim())
  const hour = Number(match?.[1])
  const minute = Number(match?.[2])
  const half = match?.[3]?.toLowerCase()
  const valid = half === undefined ? hour < 24 || (hour === 24 && minute === 0) : hour >= 1 && hour <= 12
  if (match === null || !valid) {
    const shown = JSON.stringify(text.slice(0, 40))
    throw new OperatingHoursError(`${name} has ${shown}, which is not a time such as 9:00 AM or 17:30.`)
  }
  if (half === undefined) return hour * 60 + minute
  return ((hour % 12) + (half === 'p' ? 12 : 0)) * 60 + minute
}

/** Whole minutes since Sunday 00:00 on the zone's wall clock, 0 to 10079. */
function localWeekMinute(timeZone: string, timeMs: number, zones: ZoneOffsets): number {
  const minute = Math.floor((timeMs + zones.offsetMs(timeZone, timeMs)) / 60_000)
  return mod(minute + EPOCH_WEEK_MINUTE, MINUTES_PER_WEEK)
}

/** 1970-01-01 was a Thursday. */
const EPOCH_WEEK_MINUTE = 4 * MINUTES_PER_DAY

function mod(value: number, modulus: number): number {
  return ((value % modulus) + modulus) % modulus
}
