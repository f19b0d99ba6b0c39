import { dwellMilliseconds } from './geofenceRules.ts'
import { type Circumstances } from './circumstances.ts'
import type { Visit } from '../model/device.ts'
import type { GeofenceIndex } from '../spatial/port.ts'
import type { ZoneLimits } from './safeZone.ts'

/**
 * Most updates that have left their zone change nothing either: the device is inside where it stays, and no other
 * geofence is within reach. That is told from slots and distances alone, without looking at a geofence or making an
 * object for each: the second tier's short way, of which the step and `geofenceLimits` are the obvious twin.
 *
 * @param slots of the stays, index by index; −1: gone from the registry
 * @param distances of their boundaries, metres
 * @param clearance metres to what may concern the device beside them; nothing is within reach
 * @returns the limits of its safe zone; undefined where something may happen, or a geofence has rules of its own
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
  const dwellMs = dwellEvents && dwellThreshold !== null ? dwellMilliseconds(dwellThreshold) : Infinity
  let meters = clearance
  let until = Infinity
  for (let i = 0; i < visits.length; i++) {
    const visit = visits[i]!
    const distance = distances[i]!
    if (slots[i]! < 0 || !index.isPlain(slots[i]!)) return undefined
    if (distance > 0 || visit.leavingSince !== undefined) return undefined
    meters = Math.min(meters, -distance)
    if (visit.dwelled) continue
    if (now.time - visit.enteredAt > dwellMs) return undefined
    until = Math.min(until, visit.enteredAt + dwellMs)
  }
  return { meters, until, untilReceived: Infinity }
}
