import { pointDistance } from '../geometry/distance.ts'

/**
 * The locations of a trip, thinned. The first is kept, and then each that is enough seconds or metres after the last
 * one that was kept. Only the additions decide what is kept, so the same additions always give the same trail.
 */

const KEEP_MS = 30_000
const KEEP_METERS = 30
/** When a trail has this many locations, every other one of the older half is removed. */
export const MOST_LOCATIONS = 5000

const FIELDS = 3
/** Up to this number, locations take less memory in a plain list. More of them would slow the garbage collector down. */
const FEW = 8
/** The approximate bytes of either form besides its numbers. */
const LIST_BYTES = 80
const ARRAY_BYTES = 250
/** How many bytes a location has in the row of a commit. */
export const LOCATION_BYTES = FIELDS * 8

export interface TrailPoint {
  /** The time t, in epoch milliseconds. */
  readonly time: number
  readonly latitude: number
  readonly longitude: number
}

export class Trail {
  length = 0
  #numbers: number[] | Float64Array = []

  /** The approximate memory in bytes. */
  get memory(): number {
    const numbers = this.#numbers
    return (Array.isArray(numbers) ? LIST_BYTES : ARRAY_BYTES) + 8 * numbers.length
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
    if (this.length < FEW) this.#numbers = [...this.#numbers, time, latitude, longitude]
    else {
      const at = this.length * FIELDS
      if (at === this.#numbers.length) {
        const larger = new Float64Array(at * 2)
        larger.set(this.#numbers)
        this.#numbers = larger
      }
      this.#numbers[at] = time
      this.#numbers[at + 1] = latitude
      this.#numbers[at + 2] = longitude
    }
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
