import type { ShapeBatch } from '../geometry/shapeBatch.ts'
import type { GeofenceIndex, Measurer } from '../spatial/port.ts'

/**
 * Updates amid so many geofences that measuring them takes milliseconds.
 *
 * The naive way measures them where the update is evaluated, and everybody waits: 10,000 polygons of 2,000 corners over each
 * other take 200 ms. So an update that needs much is put aside, its shapes are measured by another thread, and then it is
 * evaluated with what that found. No other update goes to another thread, so the rest pays nothing for it.
 *
 * Invariants
 * - MEASURED-1: A measurement belongs to one registry revision of the scope and is valid for that revision only (G10).
 */

/**
 * Estimated microseconds from which on shapes are measured elsewhere. Handing them over takes one to three milliseconds of
 * the main thread's CPU, its wake-ups included: see docs/adr/0032-geometry-in-a-pool.md.
 */
const MUCH_MICROSECONDS = 5000
/**
 * Estimated microseconds, fitted to the bench `measuring` at the git tag benches-2026-11: of a circle; of a polygon, with the square root of its
 * corners; and for each corner under an accuracy disc of {@link WIDE_METERS}, in proportion under a smaller one.
 */
const CIRCLE_MICROSECONDS = 0.05
const POLYGON_MICROSECONDS = 0.1
const ROOT_MICROSECONDS = 0.1
const CORNER_MICROSECONDS = 0.0085
const WIDE_METERS = 2000
/** So few geofences are never much, whatever their corners. */
export const FEW = 220

/** What is to be measured of the geofences in some slots. */
export class Unmeasured {
  /** Of the scope. */
  readonly revision: number
  readonly slots: readonly number[]
  readonly batch: ShapeBatch

  constructor(revision: number, slots: readonly number[], batch: ShapeBatch) {
    this.revision = revision
    this.slots = slots
    this.batch = batch
  }
}

/** What was measured, by slot; undefined where that slot was not. */
export class Measured {
  /** Of the scope: what was measured is of these shapes. */
  readonly revision: number
  readonly #places = new Map<number, number>()
  readonly #measures: Float64Array

  /** @param measures see `measureShapes` */
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

/** Whether measuring these geofences takes long enough for another thread to do it. */
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

/** Has it measured; nothing of it, where that cannot be done: then it is measured where it is needed. */
export async function measureElsewhere(
  measurer: Measurer,
  { revision, slots, batch }: Unmeasured,
): Promise<Measured> {
  const measures = await measurer.measure(batch)
  return new Measured(revision, measures === undefined ? [] : slots, measures ?? new Float64Array())
}
