import { evaluatedAccuracy } from '../geometry/confidence.ts'
import type { Update } from '../model/update.ts'
import {
  passingRadius,
  ZONE,
  ZONE_KINDS,
  zoneRadius,
  type ZoneLimits,
  type ZonesLeft,
} from '../rules/safeZone.ts'

/**
 * The zones by kind (see `ZONE` of safeZone.ts) of the records of one partition, and their passing zones (`passingMeters` there): 88
 * bytes a row, all around the point of the device's zone. They are not durable.
 *
 * Owns: where a number is stored, growth. Does not own: the point, and how long the zones are valid besides their limits
 * (deviceColumns.ts, partition.ts).
 */

/** The cells of 8 bytes in a row. The last two are the four radii, in single precision. */
const CELLS = 11
const MIDDLE = 5
/** For each kind: until when, until when by the server's time, and the accuracy. */
const KIND_CELLS = 3
const UNTIL = 0
const UNTIL_RECEIVED = 1
const ACCURACY = 2
/** The words of 4 bytes in a row, and the first of the radii among them. */
const WORDS = 2 * CELLS
const RADII = 2 * ZONE_KINDS * KIND_CELLS
const PASSING_RADIUS = RADII + ZONE_KINDS

const NOTHING_LEFT: ZonesLeft = Array.from({ length: ZONE_KINDS }, () => undefined)
/** A radius in single precision is smaller by this share, so that it is not larger than the exact one. */
const SINGLE_SHARE = 1 - 2 ** -23

export class KindZones {
  #cells = new Float64Array()
  /** The same memory as {@link #cells}. */
  #floats = new Float32Array()

  /** Whether any device has zones by kind. */
  get areUsed(): boolean {
    return this.#cells.length > 0
  }

  /** The sum of a number of each of the row's cache lines, which has no meaning. */
  anyOf(row: number): number {
    const cells = this.#cells
    const at = row * CELLS
    return at < cells.length ? cells[at]! + cells[at + MIDDLE]! + cells[at + CELLS - 1]! : 0
  }

  end(row: number): void {
    if (row * CELLS < this.#cells.length)
      this.#floats.fill(0, row * WORDS + RADII, row * WORDS + PASSING_RADIUS + 1)
  }

  /** Ends the zone of places, but not the passing zone. Its {@link placesRadius} stays. */
  endPlaces(row: number): void {
    this.#floats[row * WORDS + RADII + ZONE.places] = -this.placesRadius(row)
  }

  /** The radius that the zone of places had in metres, before it was ended. */
  placesRadius(row: number): number {
    return Math.abs(this.#floats[row * WORDS + RADII + ZONE.places]!)
  }

  /**
   * Stores the zones of a device.
   * @param limits by `ZONE`
   * @param latitude that of the evaluated point
   * @param time the time t of its update
   * @param capacity how many rows there may be
   */
  set(row: number, limits: readonly ZoneLimits[], latitude: number, time: number, capacity: number): void {
    if (row * CELLS >= this.#cells.length) this.#grow(capacity)
    const cells = this.#cells
    const floats = this.#floats
    let at = row * CELLS
    let radius = row * WORDS + RADII
    for (const one of limits) {
      const { until, untilReceived, accuracy = Infinity, onlyMoving } = one
      floats[radius++] = zoneRadius(one, latitude, time) * SINGLE_SHARE
      cells[at + UNTIL] = until
      cells[at + UNTIL_RECEIVED] = untilReceived
      cells[at + ACCURACY] = onlyMoving === true ? -accuracy : accuracy
      at += KIND_CELLS
    }
    floats[radius] = passingRadius(limits[ZONE.places]!, latitude) * SINGLE_SHARE
  }

  #grow(capacity: number): void {
    const cells = new Float64Array(capacity * CELLS)
    cells.set(this.#cells)
    this.#cells = cells
    this.#floats = new Float32Array(cells.buffer)
  }

  /**
   * What is left of the zones; undefined if nothing is left of any. If only the passing zone is left of those of places, their
   * limits have no metres.
   * @param moved the distance from the point of the device's zone in metres
   * @param time the time t of the update
   * @param mayPass whether the passing zone counts
   */
  left(row: number, moved: number, time: number, update: Update, mayPass: boolean): ZonesLeft | undefined {
    if (row * CELLS >= this.#cells.length) return undefined
    let left: (ZoneLimits | undefined)[] | undefined
    for (let kind = 0; kind < ZONE_KINDS; kind++) {
      if (!this.#isLeft(row, kind, moved, time, update)) continue
      left ??= NOTHING_LEFT.slice()
      left[kind] = this.#limits(row, kind, moved)
    }
    const passingMeters = this.#passingMeters(row, moved)
    const places = left?.[ZONE.places]
    if (passingMeters <= 0 || (places === undefined && !mayPass)) return left
    left ??= NOTHING_LEFT.slice()
    left[ZONE.places] = { ...(places ?? NO_METERS), passingMeters }
    return left
  }

  /** Whether an update changes nothing except perhaps which place is the first candidate. */
  isPassing(row: number, moved: number, time: number, update: Update): boolean {
    return (
      row * CELLS < this.#cells.length &&
      this.#passingMeters(row, moved) > 0 &&
      this.#isLeft(row, ZONE.geofences, moved, time, update) &&
      this.#isLeft(row, ZONE.regions, moved, time, update)
    )
  }

  #isLeft(row: number, kind: number, moved: number, time: number, update: Update): boolean {
    if (this.#floats[row * WORDS + RADII + kind]! <= moved) return false
    const cells = this.#cells
    const at = row * CELLS + kind * KIND_CELLS
    if (time > cells[at + UNTIL]! || update.receivedAt >= cells[at + UNTIL_RECEIVED]!) return false
    const worst = cells[at + ACCURACY]!
    if (evaluatedAccuracy(update.accuracy) > Math.abs(worst)) return false
    return !(isNegative(worst) && (update.stopped || update.foreground))
  }

  #limits(row: number, kind: number, moved: number): ZoneLimits {
    const cells = this.#cells
    const at = row * CELLS + kind * KIND_CELLS
    const worst = cells[at + ACCURACY]!
    return {
      meters: this.#floats[row * WORDS + RADII + kind]! - moved,
      until: cells[at + UNTIL]!,
      untilReceived: cells[at + UNTIL_RECEIVED]!,
      accuracy: Math.abs(worst),
      onlyMoving: isNegative(worst),
    }
  }

  /** What is left of the passing zone in metres; 0 or less if nothing is. */
  #passingMeters(row: number, moved: number): number {
    return this.#floats[row * WORDS + PASSING_RADIUS]! - moved
  }
}

const NO_METERS: ZoneLimits = { meters: 0, until: 0, untilReceived: 0 }

/** Whether a number has the sign of negative ones, as −0 does. */
export function isNegative(value: number): boolean {
  return value < 0 || Object.is(value, -0)
}
