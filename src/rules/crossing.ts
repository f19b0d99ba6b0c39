import type { GeofenceTransition, Waypoint } from '../model/event.ts'
import type { GeofenceProperties } from '../model/geofence.ts'
import { delayMs, ineligibility, needsStop, operatingAt } from './geofenceRules.ts'
import { type Circumstances } from './circumstances.ts'

/** A geofence that lies between two updates, both of which are outside it. */
export interface CrossedGeofence {
  readonly geofence: GeofenceProperties
  /** The points at which the path first touches it and last leaves it. */
  readonly entered: Waypoint
  readonly exited: Waypoint
}

/**
 * The entry and exit of a geofence that was crossed between two updates (docs/guides/events.md, "Crossings"), or
 * undefined if its rules do not allow the entry. The time inside must be at least the entry delay. The confidence is
 * 1, because no update was inside.
 *
 * The entry's rules are checked at the time of entry, except for dates, which depend on server time. As with every
 * stay, an exit after closing time causes no event.
 */
export function crossingOf(
  crossing: CrossedGeofence,
  now: Circumstances,
): readonly [entered: GeofenceTransition, ...exited: GeofenceTransition[]] | undefined {
  const { geofence, entered, exited } = crossing
  const { settings } = now
  if (settings.minimumConfidence > 1 || needsStop(geofence, settings)) return undefined
  const insideMs = exited.time - entered.time
  if (insideMs < delayMs(settings.entryDelaySeconds)) return undefined
  if (ineligibility(geofence, { ...now, time: entered.time }) !== undefined) return undefined
  const entry: GeofenceTransition = {
    type: 'user.entered_geofence',
    geofence,
    confidence: 1,
    at: entered,
    ...operating(geofence, entered.time, now),
  }
  if (ineligibility(geofence, { ...now, time: exited.time }) !== undefined) return [entry]
  const exit: GeofenceTransition = {
    type: 'user.exited_geofence',
    geofence,
    confidence: 1,
    at: exited,
    duration: insideMs / 60_000,
    ...operating(geofence, exited.time, now),
  }
  return [entry, exit]
}

function operating(geofence: GeofenceProperties, time: number, { zones }: Circumstances) {
  const currentlyOperating = operatingAt(geofence, time, zones)
  return currentlyOperating === undefined ? {} : { currentlyOperating }
}
