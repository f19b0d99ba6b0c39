import type { Profile } from '../model/device.ts'
import type { Transition } from '../model/event.ts'
import type { Update } from '../model/update.ts'
import { isTooInaccurate } from '../rules/circumstances.ts'
import type { ActiveTrips, ScopeView } from '../rules/port.ts'
import type { FeedUpdate } from './feedTable.ts'

/** Whether an update may move trips. While there are none, this costs next to nothing. */
export function movesTrips(update: Update, trips: ActiveTrips): boolean {
  if (update.tripOptions !== undefined) return true
  if (trips.isEmpty) return false
  const { userId } = update
  return userId !== undefined && trips.hasUser(userId)
}

const NOWHERE: ReadonlySet<string> = new Set()

/**
 * What trips learn from an update.
 * @param profile the device's profile after it
 * @param transitions those that it caused
 */
export function feedUpdateOf(
  update: Update,
  { metadata, visits, userId }: Profile,
  view: ScopeView,
  time: number,
  transitions: readonly Transition[],
): FeedUpdate {
  const { receivedAt, latitude, longitude, accuracy, foreground, stopped, replayed } = update
  const inside = visits
    .map(({ geofenceId }) => geofenceId)
    .filter((id) => {
      const geofence = view.geofence(id)
      return geofence?.tag !== undefined && geofence.externalId !== undefined
    })
  const isInside = transitions.length === 0 ? NOWHERE : new Set(inside)
  const entered = transitions.flatMap((transition) => {
    if (transition.type !== 'user.entered_geofence' || !isInside.has(transition.geofence.id)) return []
    return [{ id: transition.geofence.id, confidence: transition.confidence }]
  })
  return {
    metadata,
    time,
    receivedAt,
    // As JSON has it, in which there is no −0, so that a row is the same after a recovery.
    latitude: latitude + 0,
    longitude: longitude + 0,
    accuracy: accuracy === undefined ? undefined : accuracy + 0,
    foreground,
    stopped,
    replayed,
    isInaccurate: isTooInaccurate(update, view.settings),
    inside,
    entered,
    trips: userId === undefined ? [] : view.trips.idsOfUser(userId),
    options: update.tripOptions,
    named: update.tripOptions && view.trips.idNamed(update.tripOptions.externalId),
  }
}
