import type { StoreSalt } from '../events/ids.ts'
import { strangerId } from '../events/ids.ts'
import type { StoredEvent } from '../events/port.ts'
import { geofenceContext } from '../events/record.ts'
import type { Confidence } from '../geometry/confidence.ts'
import type { GeofenceProperties, Outline } from '../model/geofence.ts'
import { isoDate } from '../model/isoDate.ts'
import type { Metadata } from '../model/metadata.ts'
import { isLive } from '../model/scope.ts'
import type { Settings } from '../model/settings.ts'
import { destinationOf, type Trip, type TripPlace, type TripUser } from '../model/trip.ts'
import { TRIP_EVENTS, type Letter } from './machine/table.ts'
import { tripJson } from './tripRecord.ts'

/** The confidence of events that do not depend on a location. */
const CERTAIN = 3

/** What caused the events of a step. */
export interface Cause {
  /** The user; undefined if no record of the trip's user is known. */
  readonly user: (TripUser & { readonly metadata?: Metadata | undefined }) | undefined
  readonly place: TripPlace | undefined
  /** The `createdAt` of the events, in epoch milliseconds: the time t of an update, or else the present time. */
  readonly time: number
  /** The server time, in epoch milliseconds. */
  readonly receivedAt: number
  /** The flags of an update. */
  readonly flags?: {
    readonly replayed: boolean
    readonly foreground: boolean
    readonly stopped: boolean
  }
}

/** What distinguishes one event from the others of the step. */
export interface TripHappening {
  readonly letter: Letter
  readonly confidence?: Confidence | undefined
  readonly wrong?: { readonly geofence: GeofenceProperties; readonly outline: Outline } | undefined
}

/** The event of a trip. The trip is shown as it is after the whole step. */
export function tripEvent(
  id: string,
  happening: TripHappening,
  trip: Trip,
  cause: Cause,
  settings: Settings,
  salt: StoreSalt,
): StoredEvent {
  return tripEventWith(id, happening, trip, tripJson(trip, settings), cause, salt)
}

/**
 * The same, with the trip's JSON.
 * @param trip its course may be an earlier one
 */
export function tripEventWith(
  id: string,
  { letter, confidence = CERTAIN, wrong }: TripHappening,
  trip: Trip,
  shown: string,
  { user, place, time, receivedAt, flags }: Cause,
  salt: StoreSalt,
): StoredEvent {
  const { scope } = trip
  const type = TRIP_EVENTS[letter]
  const userId = user?.userId ?? trip.userId
  const recordId = user?.id ?? strangerId(salt, scope, '', userId)
  const destination = destinationOf(trip)
  const head = JSON.stringify({
    _id: id,
    type,
    createdAt: isoDate(time),
    actualCreatedAt: isoDate(receivedAt),
    live: isLive(scope),
    user: { _id: recordId, userId, deviceId: user?.deviceId, metadata: user?.metadata },
  })
  const tail = JSON.stringify({
    geofence: wrong && geofenceContext(wrong.geofence, wrong.outline),
    location: place && { type: 'Point', coordinates: [place.longitude, place.latitude] },
    locationAccuracy: place?.accuracy,
    confidence,
    ...flags,
  })
  const json = `${head.slice(0, -1)},"trip":${shown},${tail.slice(1)}`
  return {
    scope,
    id,
    type,
    deviceId: user?.deviceId ?? '',
    userId,
    userRecordId: recordId,
    createdAt: time,
    actualCreatedAt: receivedAt,
    tag: destination?.tag,
    externalId: destination?.externalId,
    json,
  }
}
