import { pointDistance } from '../geometry/distance.ts'

/**
 * The locations of a trip, thinned. The first is kept, and then each that is enough seconds or metres after the last
 * one that was kept. Only the additions decide what is kept, so the same additions always give the same trail.
 */

const KEEP_MS = 30_000
const KEEP_METERS = 30
/** When a trail has this many locations, every other one of the older half is removed. */
const MOST_LOCATIONS = 5000

const FIELDS = 3
const FIRST_ROOM = 8
/** How many bytes a location has in {@link Trail.bytes}. */
export const LOCATION_BYTES = FIELDS * 8

export interface TrailPoint {
  /** The time t, in epoch milliseconds. */
  readonly time: number
  readonly latitude: number
  readonly longitude: number
}

export class Trail {
  length = 0
  #numbers = new Float64Array(FIRST_ROOM * FIELDS)

  /** The approximate memory in bytes. */
  get memory(): number {
    return this.#numbers.byteLength
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
  wants({ time, latitude, longitude }: TrailPoint): boolean {
    if (this.length === 0) return true
    const last = this.at(this.length - 1)
    return (
      time - last.time >= KEEP_MS ||
      pointDistance(latitude, longitude, last.latitude, last.longitude) >= KEEP_METERS
    )
  }

  /** Adds a location that {@link wants} has accepted. */
  add({ time, latitude, longitude }: TrailPoint): void {
    if (this.length * FIELDS === this.#numbers.length) {
      const larger = new Float64Array(this.#numbers.length * 2)
      larger.set(this.#numbers)
      this.#numbers = larger
    }
    this.#numbers.set([time, latitude, longitude], this.length * FIELDS)
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
