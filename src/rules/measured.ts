import type { ShapeBatch } from '../geometry/shapeBatch.ts'
import type { GeofenceIndex, Measurer } from '../spatial/port.ts'
import { Unready } from './unready.ts'

/**
 * Updates that are near so many geofences that measuring them takes milliseconds.
 *
 * The naive way measures them on the main thread, and everybody waits: 10,000 overlapping polygons of 2,000 corners
 * take 200 ms. So an update with much to measure is deferred, another thread measures its shapes, and then it is
 * evaluated with the result. All other updates stay on the main thread and pay nothing for this.
 *
 * Invariants
 * - MEASURED-1: A measurement belongs to one registry revision of the scope and is valid for that revision only
 *   (G10).
 */

/**
 * Estimated microseconds from which another thread measures the shapes. Handing them over costs the main thread one
 * to three milliseconds of CPU, including wake-ups: see docs/adr/0032-geometry-in-a-pool.md.
 */
const MUCH_MICROSECONDS = 5000
/**
 * Estimated microseconds, fitted to the bench `measuring` at commit b214cb7: for each circle; for each polygon, times
 * the square root of its corners; and for each corner under an accuracy disc of {@link WIDE_METERS}, proportionally
 * less under a smaller one.
 */
const CIRCLE_MICROSECONDS = 0.05
const POLYGON_MICROSECONDS = 0.1
const ROOT_MICROSECONDS = 0.1
const CORNER_MICROSECONDS = 0.0085
const WIDE_METERS = 2000
/** So few geofences never take long to measure, however many corners they have. */
export const FEW = 220

/** The slots of geofences that must be measured. */
export class Unmeasured extends Unready {
  /** The revision of the scope. */
  readonly revision: number
  readonly slots: readonly number[]
  readonly batch: ShapeBatch

  constructor(revision: number, slots: readonly number[], batch: ShapeBatch) {
    super()
    this.revision = revision
    this.slots = slots
    this.batch = batch
  }
}

/** Measurements by slot; undefined for slots that were not measured. */
export class Measured {
  /** The revision of the scope, when the shapes were measured. */
  readonly revision: number
  readonly #places = new Map<number, number>()
  readonly #measures: Float64Array

  /**
   * Keeps measurements.
   * @param measures as `measureShapes` returns them
   */
  constructor(revision: number, slots: readonly number[], measures: Float64Array) {
    this.revision = revision
    this.#measures = measures
    for (let i = 0; i < slots.length; i++) this.#places.set(slots[i]!, 2 * i)
  }

  distance(slot: number): number | undefined {
    const place = this.#places.get(slot)
    return place === undefined ? undefined : this.#measures[place]
  }

  coverage(slot: number): number | undefined {
    const place = this.#places.get(slot)
    if (place === undefined) return undefined
    const coverage = this.#measures[place + 1]!
    return Number.isNaN(coverage) ? undefined : coverage
  }
}

/** Whether measuring these geofences takes long enough to hand them to another thread. */
export function isMuch(index: GeofenceIndex, slots: readonly number[], accuracyMeters: number): boolean {
  if (slots.length < FEW) return false
  const perCorner = CORNER_MICROSECONDS * Math.min(1, accuracyMeters / WIDE_METERS)
  let microseconds = 0
  for (const slot of slots) {
    const corners = index.corners(slot)
    if (corners === 0) microseconds += CIRCLE_MICROSECONDS
    else microseconds += POLYGON_MICROSECONDS + ROOT_MICROSECONDS * Math.sqrt(corners) + perCorner * corners
    if (microseconds >= MUCH_MICROSECONDS) return true
  }
  return false
}

/**
 * Lets another thread measure them. If that is not possible, the result is empty, and the main thread measures what
 * it needs.
 */
export async function measureElsewhere(
  measurer: Measurer,
  { revision, slots, batch }: Unmeasured,
): Promise<Measured> {
  const measures = await measurer.measure(batch)
  return new Measured(revision, measures === undefined ? [] : slots, measures ?? new Float64Array())
}
