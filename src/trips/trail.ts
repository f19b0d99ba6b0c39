import { pointDistance } from '../geometry/distance.ts'
import { roomFor } from '../runtime/growth.ts'

/**
 * The locations of a trip, thinned. The first is kept, and then each that is enough seconds or metres after the last
 * one that was kept. Only the additions decide what is kept, so the same additions always give the same trail.
 */

const KEEP_MS = 30_000
const KEEP_METERS = 30
/** When a trail has this many locations, every other one of the older half is removed. */
export const MOST_LOCATIONS = 5000

const FIELDS = 3
/** For how many locations there is room at first. */
const FIRST_LOCATIONS = 12
/** The approximate bytes besides the numbers. */
const OBJECT_BYTES = 250
/** How many bytes a location has in the row of a commit. */
export const LOCATION_BYTES = FIELDS * 8

export interface TrailPoint {
  /** The time t, in epoch milliseconds. */
  readonly time: number
  readonly latitude: number
  readonly longitude: number
}

/** Whether a location is kept after the last one that was. */
export function isFarEnough(last: TrailPoint, { time, latitude, longitude }: TrailPoint): boolean {
  return (
    time - last.time >= KEEP_MS ||
    pointDistance(latitude, longitude, last.latitude, last.longitude) >= KEEP_METERS
  )
}

export class Trail {
  length = 0
  #numbers = new Float64Array(FIELDS * FIRST_LOCATIONS)

  /** The approximate memory in bytes. */
  get memory(): number {
    return OBJECT_BYTES + this.#numbers.byteLength
  }

  at(index: number): TrailPoint {
    const numbers = this.#numbers
    const at = index * FIELDS
    return { time: numbers[at]!, latitude: numbers[at + 1]!, longitude: numbers[at + 2]! }
  }

  *[Symbol.iterator](): Generator<TrailPoint> {
    for (let i = 0; i < this.length; i++) yield this.at(i)
  }

  /** Whether a location is far enough from the last one, in time or space, to be kept. */
  wants(point: TrailPoint): boolean {
    return this.length === 0 || isFarEnough(this.at(this.length - 1), point)
  }

  /** Adds a location that {@link wants} has accepted. */
  add({ time, latitude, longitude }: TrailPoint): void {
    const at = this.length * FIELDS
    if (at === this.#numbers.length) {
      const larger = new Float64Array(FIELDS * roomFor(this.length + 1, this.length))
      larger.set(this.#numbers)
      this.#numbers = larger
    }
    this.#numbers[at] = time
    this.#numbers[at + 1] = latitude
    this.#numbers[at + 2] = longitude
    if (++this.length === MOST_LOCATIONS) this.#thin()
  }

  #thin(): void {
    const numbers = this.#numbers
    const half = this.length / 2
    let kept = 0
    for (let i = 0; i < this.length; i++) {
      if (i < half && i % 2 === 1) continue
      numbers.copyWithin(kept * FIELDS, i * FIELDS, (i + 1) * FIELDS)
      kept++
    }
    this.length = kept
  }
}
