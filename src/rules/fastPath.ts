import { dwellMs } from './geofenceRules.ts'
import { type Circumstances } from './circumstances.ts'
import type { Visit } from '../model/device.ts'
import type { GeofenceIndex } from '../spatial/port.ts'
import type { ZoneLimits } from './safeZone.ts'

/**
 * The fast path. Most updates that have left their safe zone still change nothing: the device is inside its current
 * geofences, and no other geofence is within reach. Slots and distances are enough to know that, without reading a
 * geofence or creating an object for each. The step and `geofenceLimits` give the same result in the usual way.
 *
 * @param slots the slots of the stays, index by index; −1 if one is gone from the registry
 * @param distances the distances to their boundaries in metres
 * @param clearance the distance in metres to the nearest other geofence that may concern the device; none is within
 * reach
 * @returns the limits of its safe zone; undefined if something may happen, or if a geofence has its own rules
 */
export function unchangedLimits(
  visits: readonly Visit[],
  slots: readonly number[],
  distances: readonly number[],
  index: GeofenceIndex,
  clearance: number,
  now: Circumstances,
): ZoneLimits | undefined {
  const { dwellEvents, dwellThreshold } = now.settings
  const thresholdMs = dwellEvents && dwellThreshold !== null ? dwellMs(dwellThreshold) : Infinity
  let meters = clearance
  let until = Infinity
  for (let i = 0; i < visits.length; i++) {
    const visit = visits[i]!
    const distance = distances[i]!
    if (slots[i]! < 0 || !index.isPlain(slots[i]!)) return undefined
    if (distance > 0 || visit.leavingSince !== undefined) return undefined
    meters = Math.min(meters, -distance)
    if (visit.dwelled) continue
    if (now.time - visit.enteredAt > thresholdMs) return undefined
    until = Math.min(until, visit.enteredAt + thresholdMs)
  }
  return { meters, until, untilReceived: Infinity }
}
