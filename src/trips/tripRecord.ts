import type { MovingTexts } from '../actor/feedShortcut.ts'
import { isoDate } from '../model/isoDate.ts'
import { isLive } from '../model/scope.ts'
import type { Settings } from '../model/settings.ts'
import { destinationOf, type Destination, type Leg, type Trip, type TripUser } from '../model/trip.ts'
import { delayOf } from './machine/delay.ts'
import type { Trail } from './trail.ts'
import type { Course } from './tripCourses.ts'

/** The time to which records refer, and what decides about delays. */
export interface RecordContext {
  /** No prediction is before this time, in epoch milliseconds; −Infinity for the moment of an update or a call. */
  readonly now: number
  readonly settings: Settings
}

/** A trip as events and users contain it. Undefined members are left out of the JSON. */
export function tripContext(trip: Trip, { now, settings }: RecordContext) {
  const { eta, legs, currentLegId } = trip
  return {
    ...beforeUpdatedAt(trip),
    updatedAt: isoDate(trip.updatedAt),
    ...beforeEta(trip),
    eta,
    delay: delayOf(trip, now, settings.tripDelayThreshold),
    legs: legs?.map(legRecord),
    currentLeg: currentLegId,
    currentLegId,
  }
}

function beforeUpdatedAt(trip: Trip) {
  return {
    _id: trip.id,
    live: isLive(trip.scope),
    externalId: trip.externalId,
    userId: trip.userId,
    metadata: trip.metadata,
    mode: trip.mode,
    status: trip.status,
    createdAt: isoDate(trip.createdAt),
  }
}

function beforeEta(trip: Trip) {
  const destination = destinationOf(trip)
  return {
    startedAt: dateOf(trip.startedAt),
    arrivedAt: dateOf(trip.arrivedAt),
    completedAt: dateOf(trip.completedAt),
    endedAt: dateOf(trip.endedAt),
    scheduledArrivalAt: dateOf(trip.scheduledArrivalAt),
    approachingThreshold: trip.approachingThreshold,
    destinationGeofenceTag: destination?.tag,
    destinationGeofenceExternalId: destination?.externalId,
    destinationLocation: destination && pointOf(destination),
  }
}

/** The texts around the members that its course changes (tripCourses.ts), of a trip with an ETA, and without legs and a schedule. */
export function movingTexts(trip: Trip): MovingTexts {
  const middle = JSON.stringify(beforeEta(trip)).slice(1, -1)
  return {
    beforeDate: `${JSON.stringify(beforeUpdatedAt(trip)).slice(0, -1)},"updatedAt":"`,
    beforeDuration: `",${middle}${middle === '' ? '' : ','}"eta":{"duration":`,
    end: `,"source":"${trip.eta!.source}"}}`,
  }
}

/** The JSON of the trip with these texts on a course: what {@link tripJson} writes of it. */
export function movingJson(
  { beforeDate, beforeDuration, end }: MovingTexts,
  { updatedAt, minutes, meters }: Pick<Course, 'updatedAt' | 'minutes' | 'meters'>,
): string {
  return `${beforeDate}${isoDate(updatedAt)}${beforeDuration}${minutes},"distance":${meters}${end}`
}

/**
 * {@link tripContext} of the moment of a step, as JSON. The events of a step and the answer to it show the same trip, so
 * its text is written once.
 */
export function tripJson(trip: Trip, settings: Settings): string {
  if (trip !== lastTrip || settings !== lastSettings) {
    lastJson = JSON.stringify(tripContext(trip, { now: -Infinity, settings }))
    lastTrip = trip
    lastSettings = settings
  }
  return lastJson
}

let lastTrip: Trip | undefined
let lastSettings: Settings | undefined
let lastJson = ''

/** A leg as the API returns it. */
export function legRecord(leg: Leg) {
  const { destination: to } = leg
  return {
    _id: leg.id,
    status: leg.status,
    createdAt: isoDate(leg.createdAt),
    updatedAt: isoDate(leg.updatedAt),
    arrivedAt: dateOf(leg.arrivedAt),
    completedAt: dateOf(leg.completedAt),
    eta: leg.eta,
    stopDuration: leg.stopDuration,
    metadata: leg.metadata,
    destination: {
      type: to.type,
      source: sourceOf(to),
      location: pointOf(to),
      arrivalRadius: to.radius,
    },
    destinationGeofenceTag: to.tag,
    destinationGeofenceExternalId: to.externalId,
    destinationGeofenceId: to.geofenceId,
    address: to.address,
  }
}

/** The form in which the destination was given. */
function sourceOf({ type, tag, externalId, geofenceId, address, location }: Destination) {
  if (type === 'geofence') return { geofence: geofenceId, data: { tag, externalId } }
  return { data: type === 'address' ? address : [location![1], location![0]] }
}

function pointOf({ location }: Destination) {
  return location && { type: 'Point', coordinates: location }
}

export function userRecord({ id, userId, deviceId }: TripUser) {
  return { _id: id, userId, deviceId }
}

/** The latest locations of a trip, oldest first, up to a number of them. */
export function locationRecords(trail: Trail | undefined, most = Infinity) {
  const { length = 0 } = trail ?? {}
  const first = Math.max(0, length - most)
  return Array.from({ length: length - first }, (_, i) => {
    const { time, latitude, longitude } = trail!.at(first + i)
    return { type: 'Point', coordinates: [longitude, latitude], updatedAt: isoDate(time) }
  })
}

function dateOf(time: number | undefined): string | undefined {
  return time === undefined ? undefined : isoDate(time)
}
