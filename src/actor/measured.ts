import type { ShapeBatch } from '../geometry/shapeBatch.ts'
import type { GeofenceIndex, Measurer } from '../spatial/port.ts'

/**
 * Updates amid so many geofences that measuring them takes milliseconds.
 *
 * The naive way measures them where the update is evaluated, and everybody waits: 10,000 polygons of 2,000 corners over each
 * other take 200 ms. So an update that needs much is put aside, its shapes are measured by another thread, and then it is
 * evaluated with what that found. No other update goes to another thread, so the rest pays nothing for it.
 *
 * Invariant (G10): what was measured is of one registry revision of the scope, and counts at that revision only.
 */

/**
 * From so many microseconds on, roughly, shapes are measured elsewhere; see docs/adr/0032-geometry-in-a-pool.md for how
 * that was found.
 */
const MUCH_MICROSECONDS = 2000
/** Of a polygon, and of each of its corners where the accuracy disc is wide; of a circle. */
const POLYGON_MICROSECONDS = 1
const CORNER_MICROSECONDS = 0.009
const CIRCLE_MICROSECONDS = 0.05

/** What is to be measured of the geofences in some slots. */
export interface Unmeasured {
  /** Of the scope. */
  readonly revision: number
  readonly slots: readonly number[]
  readonly batch: ShapeBatch
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

/**
 * Undefined where it is not much.
 * @param visited slots that are measured whole
 * @param near slots that are measured whole within reach
 */
export function unmeasured(
  index: GeofenceIndex,
  visited: readonly number[],
  near: readonly number[],
  point: Omit<ShapeBatch, 'chunks' | 'places' | 'whole'>,
  revision: number,
): Unmeasured | undefined {
  const slots = [...visited, ...near]
  let microseconds = 0
  for (const slot of slots) {
    const corners = index.corners(slot)
    if (corners === 0) microseconds += CIRCLE_MICROSECONDS
    else microseconds += POLYGON_MICROSECONDS + corners * CORNER_MICROSECONDS
  }
  if (microseconds < MUCH_MICROSECONDS) return undefined
  return { revision, slots, batch: { ...point, ...index.places(slots), whole: visited.length } }
}

/** Has it measured; nothing of it, where that cannot be done: then it is measured where it is needed. */
export async function measureElsewhere(
  measurer: Measurer,
  { revision, slots, batch }: Unmeasured,
): Promise<Measured> {
  const measures = await measurer.measure(batch)
  return new Measured(revision, measures === undefined ? [] : slots, measures ?? new Float64Array())
}
