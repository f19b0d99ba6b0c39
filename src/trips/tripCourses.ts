import type { Trip } from '../model/trip.ts'
import type { CourseBefore } from './machine/plainMove.ts'

/**
 * What most updates change of a trip: when and where it was moved, and how far it still is. These are a few numbers, and
 * everything else of the trip stays.
 *
 * The obvious way writes the whole trip again with each update, to the log and to memory: several times as many bytes,
 * and objects that live until the next update, which the garbage collector has to copy. Here the numbers are written
 * alone, and kept in columns beside the trip as it was last written whole.
 *
 * Owns: which changes are only numbers, and what they do to a trip. Does not own: rows (tripRows.ts), trips (tripTable.ts).
 *
 * Invariants
 * - COURSE-1: A trip is the one that was last written whole, with the course since.
 */
export interface Course {
  /** In epoch milliseconds, like all times. */
  readonly updatedAt: number
  readonly movedAt: number
  readonly latitude: number
  readonly longitude: number
  /** In metres; NaN if it is not known. */
  readonly accuracy: number
  /** The duration of the ETA in minutes. */
  readonly minutes: number
  /** The distance of the ETA in metres. */
  readonly meters: number
  /** The number of the update; see `Heard`. */
  readonly number: number
  /** The trip's `toldAt`; NaN if there is none. */
  readonly toldAt: number
}

/** The members of a course in their order in columns and rows. */
export const COURSE_MEMBERS = [
  'updatedAt',
  'movedAt',
  'latitude',
  'longitude',
  'accuracy',
  'minutes',
  'meters',
  'number',
  'toldAt',
] as const satisfies readonly (keyof Course)[]

const FIELDS = COURSE_MEMBERS.length
const FIRST_ROWS = 64

/** The members of a trip that follow from its course. The user is compared by value. */
const MOVING: ReadonlySet<string> = new Set<keyof Trip>([
  'updatedAt',
  'movedAt',
  'place',
  'eta',
  'heard',
  'toldAt',
  'user',
])

/**
 * The course of a trip, if that is all by which it differs from an earlier form of it.
 * @returns undefined if more is different
 */
export function courseOf(base: Trip, trip: Trip): Course | undefined {
  const { eta, place, movedAt, user, updatedAt, toldAt } = trip
  const [last, ...others] = trip.heard
  const [first, ...othersBefore] = base.heard
  if (eta === undefined || place === undefined || movedAt === undefined) return undefined
  if (last === undefined || others.length > 0 || first === undefined || othersBefore.length > 0)
    return undefined
  if (last.deviceId !== first.deviceId || last.time !== movedAt || base.eta?.source !== eta.source)
    return undefined
  const isSameUser =
    user?.id === base.user?.id && user?.userId === base.user?.userId && user?.deviceId === base.user?.deviceId
  if (!isSameUser || !isSameBesides(base, trip) || !isSameBesides(trip, base)) return undefined
  return {
    updatedAt,
    movedAt,
    latitude: place.latitude,
    longitude: place.longitude,
    accuracy: place.accuracy ?? NaN,
    minutes: eta.duration,
    meters: eta.distance,
    number: last.number,
    toldAt: toldAt ?? NaN,
  }
}

function isSameBesides(a: Trip, b: Trip): boolean {
  for (const name of Object.keys(a) as (keyof Trip)[])
    if (a[name] !== b[name] && !MOVING.has(name)) return false
  return true
}

/** A trip with a course that it has had since. */
export function onCourse(base: Trip, course: Course): Trip {
  const { updatedAt, movedAt, latitude, longitude, accuracy, minutes, meters, number, toldAt } = course
  return {
    ...base,
    updatedAt,
    movedAt,
    place: { latitude, longitude, accuracy: Number.isNaN(accuracy) ? undefined : accuracy },
    eta: { duration: minutes, distance: meters, source: base.eta!.source },
    heard: [{ deviceId: base.heard[0]!.deviceId, number, time: movedAt }],
    toldAt: Number.isNaN(toldAt) ? undefined : toldAt,
  }
}

/** The courses of a table's trips, in columns. */
export class TripCourses {
  #numbers = new Float64Array(FIRST_ROWS * FIELDS).fill(NaN)

  has(row: number): boolean {
    return !Number.isNaN(this.#numbers[row * FIELDS]!)
  }

  get(row: number): Course | undefined {
    if (!this.has(row)) return undefined
    const at = row * FIELDS
    const numbers = this.#numbers
    return {
      updatedAt: numbers[at]!,
      movedAt: numbers[at + 1]!,
      latitude: numbers[at + 2]!,
      longitude: numbers[at + 3]!,
      accuracy: numbers[at + 4]!,
      minutes: numbers[at + 5]!,
      meters: numbers[at + 6]!,
      number: numbers[at + 7]!,
      toldAt: numbers[at + 8]!,
    }
  }

  /** The part that the next update depends on. Most updates need no more. */
  before(row: number): CourseBefore | undefined {
    if (!this.has(row)) return undefined
    const at = row * FIELDS
    const numbers = this.#numbers
    const toldAt = numbers[at + 8]!
    return {
      movedAt: numbers[at + 1]!,
      number: numbers[at + 7]!,
      toldAt: Number.isNaN(toldAt) ? undefined : toldAt,
    }
  }

  set(row: number, course: Course): void {
    const at = row * FIELDS
    const numbers = this.#numbers
    numbers[at] = course.updatedAt
    numbers[at + 1] = course.movedAt
    numbers[at + 2] = course.latitude
    numbers[at + 3] = course.longitude
    numbers[at + 4] = course.accuracy
    numbers[at + 5] = course.minutes
    numbers[at + 6] = course.meters
    numbers[at + 7] = course.number
    numbers[at + 8] = course.toldAt
  }

  /** The trip was written whole. */
  clear(row: number): void {
    this.#numbers[row * FIELDS] = NaN
  }

  /** Makes room for this many rows. */
  expect(rows: number): void {
    if (rows * FIELDS <= this.#numbers.length) return
    const numbers = new Float64Array(rows * FIELDS).fill(NaN)
    numbers.set(this.#numbers)
    this.#numbers = numbers
  }
}
