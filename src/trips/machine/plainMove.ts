import type { GeofenceProperties } from '../../model/geofence.ts'
import type { Settings } from '../../model/settings.ts'
import type { Trip } from '../../model/trip.ts'
import { factorOf, isOutdated, oneDecimal } from './eta.ts'
import { counts, mayTell, type TripMove } from './move.ts'

/**
 * The move of a trip by an update of which only its course is different afterwards (tripCourses.ts).
 *
 * Most updates on a trip are of this kind: the device is under way, has not reached its destination, and its ETA is the
 * last one, scaled. The obvious way is `moved` in move.ts, which is right for all updates, and makes a dozen objects
 * for each. This does the same for the plain ones, or says that the update is not plain; a test compares the two.
 */

/** A plain update. */
export type PlainUpdate = Pick<
  TripMove,
  'deviceId' | 'number' | 'time' | 'receivedAt' | 'latitude' | 'longitude' | 'user' | 'isInaccurate'
> & {
  /** Whether it has made the device enter a geofence, or leave one. */
  readonly hasTransitions: boolean
  /** The geofences that the device is in after it. */
  readonly visits: readonly { readonly geofenceId: string }[]
}

/** What the last update on the trip has left. */
export interface CourseBefore {
  readonly movedAt: number | undefined
  readonly number: number
  readonly toldAt: number | undefined
}

/** What an update has found out. */
export interface PlainMove {
  /** The ETA's duration in minutes, and its distance in metres. */
  readonly minutes: number
  readonly meters: number
  /** Whether it makes `user.updated_trip`. */
  readonly isTold: boolean
}

/**
 * Moves a trip.
 * @param trip with any course
 * @param before its present course
 * @param geofence that of its destination, in which nothing has changed since the trip's last update
 * @returns undefined if the update is not plain
 */
export function plainMove(
  trip: Trip,
  before: CourseBefore,
  move: PlainUpdate,
  geofence: GeofenceProperties,
  settings: Settings,
): PlainMove | undefined {
  const { status, estimate, user, destination } = trip
  if (status !== 'started' && status !== 'approaching') return undefined
  if (trip.legs !== undefined || trip.scheduledArrivalAt !== undefined || trip.eta === undefined)
    return undefined
  if (trip.isThere || trip.told.length > 0 || move.isInaccurate) return undefined
  if (move.hasTransitions && settings.tripWrongDestinationEvents) return undefined
  if (before.movedAt === undefined || move.time < before.movedAt || move.number <= before.number)
    return undefined
  const isSameUser =
    user?.id === move.user.id && user.userId === move.user.userId && user.deviceId === move.user.deviceId
  const { heard } = trip
  if (!isSameUser || heard.length !== 1 || heard[0]!.deviceId !== move.deviceId) return undefined

  if (!counts(geofence, move) || move.visits.some(({ geofenceId }) => geofenceId === geofence.id))
    return undefined

  const section = estimate?.sections[0]
  const location = destination?.location
  if (estimate === undefined || trip.isEstimateStale || estimate.source !== trip.eta.source) return undefined
  if (section?.legId !== '' || location === undefined) return undefined
  const factor = factorOf(section, estimate, location, move.latitude, move.longitude)
  const minutes = oneDecimal(section.minutes * factor)
  const threshold =
    status === 'started'
      ? (trip.approachingThreshold ??
        geofence.tripApproachingThreshold ??
        settings.tripApproachingThreshold ??
        -Infinity)
      : -Infinity
  if (minutes <= threshold || isOutdated(estimate, move, settings.tripEtaSeconds, minutes, undefined))
    return undefined
  const isTold = mayTell(before, move.time, settings.tripUpdateSeconds)
  return { minutes, meters: Math.round(section.meters * factor), isTold }
}
