import { Probe } from './probe.ts'
import { shapeCoverage, shapeDistance } from './shapeArena.ts'
import type { ShapeOffsets } from './shapeArena.ts'
import { wordsIn } from './shapeLayout.ts'

/** Shapes to be measured from one point. This is a message between threads. */
export interface ShapeBatch extends ShapeOffsets {
  /** In degrees. */
  readonly latitude: number
  readonly longitude: number
  /** In metres, 0 to 50,000. */
  readonly accuracyMeters: number
  /** For this many shapes, from the first on, `reachMeters` does not matter. */
  readonly whole: number
  /** The other shapes need no coverage if they are farther away than this, in metres. */
  readonly reachMeters: number
}

const probe = new Probe()

/**
 * Two numbers for each shape: its signed distance in metres, and the share of the accuracy disc that it covers. The
 * share is NaN if it is not needed, because the disc does not meet the boundary or the shape is out of reach.
 */
export function measureShapes(batch: ShapeBatch): Float64Array<ArrayBuffer> {
  const { offsets, accuracyMeters, whole, reachMeters } = batch
  const chunks = batch.chunks.map(wordsIn)
  probe.set(batch.latitude, batch.longitude)
  const measures = new Float64Array(offsets.length)
  for (let i = 0; i < offsets.length; i += 2) {
    const words = chunks[offsets[i]!]!
    const at = offsets[i + 1]!
    const distance = shapeDistance(words, at, probe)
    const isAsked = accuracyMeters > Math.abs(distance) && (i < 2 * whole || distance <= reachMeters)
    measures[i] = distance
    measures[i + 1] = isAsked ? shapeCoverage(words, at, probe, accuracyMeters) : NaN
  }
  return measures
}
