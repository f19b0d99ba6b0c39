/** Confidence of an event: 3 high, 2 medium, 1 low. */
export type Confidence = 1 | 2 | 3

/** A worse accuracy, in metres, is stored as sent but evaluated as this one. */
const MAX_EVALUATED_ACCURACY_METERS = 50_000

/**
 * The accuracy that an evaluation uses.
 * @param accuracy metres as sent; undefined if the client left it out
 * @returns metres, 0 to 50,000; 0 for undefined
 */
export function evaluatedAccuracy(accuracy: number | undefined): number {
  if (accuracy === undefined || !(accuracy > 0)) return 0
  return Math.min(accuracy, MAX_EVALUATED_ACCURACY_METERS)
}

/**
 * Confidence that a device is inside, for entries and dwell (docs/spec.md): 3 when the accuracy disc lies completely
 * inside, 2 when at least half of it does, else 1.
 * @param distance signed metres from the point to the boundary, negative inside
 * @param coverage share of the accuracy disc that the geofence covers, 0 to 1
 * @param accuracy metres as evaluated, 0 to 50,000; an update without one has confidence 1 and never gets here
 */
export function entryConfidence(distance: number, coverage: number, accuracy: number): Confidence {
  if (distance <= -accuracy) return 3
  return coverage >= 0.5 ? 2 : 1
}

/**
 * Confidence that a device has left (docs/spec.md): 3 when the accuracy disc lies completely outside, 2 when the
 * point is at least half its accuracy away, else 1.
 * @param distance signed metres from the point to the boundary, negative inside
 * @param accuracy metres as evaluated, 0 to 50,000; an update without one has confidence 1 and never gets here
 */
export function exitConfidence(distance: number, accuracy: number): Confidence {
  if (distance >= accuracy) return 3
  return distance >= accuracy / 2 ? 2 : 1
}
