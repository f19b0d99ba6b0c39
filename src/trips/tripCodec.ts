import { Packr } from 'msgpackr'
import type { Position, TravelMode } from '../model/geofence.ts'
import type { Metadata } from '../model/metadata.ts'
import {
  TRIP_STATUSES,
  type Destination,
  type Estimate,
  type Eta,
  type Heard,
  type Leg,
  type Trip,
  type TripStatus,
} from '../model/trip.ts'

/**
 * A trip as bytes: MessagePack of an array in this order, without its locations. Fields are only ever added at the
 * end, so an older, shorter array can still be read. Absent values are null, and those at the end are left out.
 */
const packr = new Packr({ useRecords: false, variableMapSize: true })

type Nil<T> = T | null | undefined

type PackedDestination = readonly [
  type: number,
  tag: Nil<string>,
  externalId: Nil<string>,
  geofenceId: Nil<string>,
  address: Nil<string>,
  location: Nil<Position>,
  radius: Nil<number>,
]
type PackedEta = readonly [duration: number, distance: number, isRoad: boolean]
type PackedLeg = readonly [
  id: string,
  status: number,
  createdAt: number,
  updatedAt: number,
  arrivedAt: Nil<number>,
  completedAt: Nil<number>,
  eta: Nil<PackedEta>,
  stopDuration: number,
  metadata: Nil<Metadata>,
  destination: PackedDestination,
]
type PackedSection = readonly [
  legId: string,
  minutes: number,
  meters: number,
  straightMeters: number,
  ahead?: readonly [longitude: number, latitude: number, share: number],
]
type PackedEstimate = readonly [
  time: number,
  latitude: number,
  longitude: number,
  isRoad: boolean,
  sections: readonly PackedSection[],
]

const DESTINATION_TYPES = ['geofence', 'address', 'coordinates'] as const

const IS_THERE = 1
const IS_DELAY_TOLD = 2
const IS_ESTIMATE_STALE = 4

/** Packs a trip. The bytes are valid until the next call. */
export function packTrip(trip: Trip): Uint8Array {
  const { user, place } = trip
  const fields: unknown[] = [
    trip.id,
    trip.scope,
    trip.externalId,
    trip.userId,
    trip.mode,
    TRIP_STATUSES.indexOf(trip.status),
    trip.createdAt,
    trip.updatedAt,
    (trip.isThere ? IS_THERE : 0) |
      (trip.isDelayTold ? IS_DELAY_TOLD : 0) |
      (trip.isEstimateStale ? IS_ESTIMATE_STALE : 0),
    trip.destination && packDestination(trip.destination),
    trip.metadata,
    trip.scheduledArrivalAt,
    trip.approachingThreshold,
    user && [user.id, user.userId, user.deviceId],
    trip.startedAt,
    trip.movedAt,
    place && [place.latitude, place.longitude, place.accuracy],
    trip.eta && packEta(trip.eta),
    trip.estimate && packEstimate(trip.estimate),
    trip.toldAt,
    trip.heard.length > 0
      ? trip.heard.map(({ deviceId, number, time }) => [deviceId, number, time])
      : undefined,
    trip.arrivedAt,
    trip.endedAt,
    trip.completedAt,
    trip.deviceId,
    trip.restartedAt,
    trip.legs?.map(packLeg),
    trip.currentLegId,
    trip.told.length > 0 ? trip.told : undefined,
    trip.forgottenAt,
    trip.called,
  ]
  while (fields.at(-1) === undefined) fields.pop()
  for (let i = 0; i < fields.length; i++) fields[i] ??= null
  return packr.pack(fields)
}

/** The inverse of {@link packTrip}. */
export function unpackTrip(bytes: Uint8Array): Trip {
  const a = packr.unpack(bytes)
  const flags = a[8] as number
  return {
    id: a[0],
    scope: a[1],
    externalId: a[2],
    userId: a[3] ?? undefined,
    mode: a[4] as TravelMode,
    status: TRIP_STATUSES[a[5]]!,
    createdAt: a[6],
    updatedAt: a[7],
    isThere: (flags & IS_THERE) !== 0,
    isDelayTold: (flags & IS_DELAY_TOLD) !== 0,
    isEstimateStale: (flags & IS_ESTIMATE_STALE) !== 0,
    destination: a[9] ? unpackDestination(a[9]) : undefined,
    metadata: a[10] ?? undefined,
    scheduledArrivalAt: a[11] ?? undefined,
    approachingThreshold: a[12] ?? undefined,
    user: a[13] ? { id: a[13][0], userId: a[13][1] ?? undefined, deviceId: a[13][2] } : undefined,
    startedAt: a[14] ?? undefined,
    movedAt: a[15] ?? undefined,
    place: a[16] ? { latitude: a[16][0], longitude: a[16][1], accuracy: a[16][2] ?? undefined } : undefined,
    eta: unpackEta(a[17]),
    estimate: a[18] ? unpackEstimate(a[18]) : undefined,
    toldAt: a[19] ?? undefined,
    heard: a[20]?.map(unpackHeard) ?? NOBODY,
    arrivedAt: a[21] ?? undefined,
    endedAt: a[22] ?? undefined,
    completedAt: a[23] ?? undefined,
    deviceId: a[24] ?? undefined,
    restartedAt: a[25] ?? undefined,
    legs: a[26]?.map(unpackLeg),
    currentLegId: a[27] ?? undefined,
    told: a[28] ?? NOTHING,
    forgottenAt: a[29] ?? undefined,
    called: a[30] ?? undefined,
  }
}

function unpackHeard([deviceId, number, time]: [string, number, number]): Heard {
  return { deviceId, number, time }
}

const NOBODY: Trip['heard'] = []
const NOTHING: Trip['told'] = []

function packDestination(to: Destination): PackedDestination {
  const type = DESTINATION_TYPES.indexOf(to.type)
  return [type, to.tag, to.externalId, to.geofenceId, to.address, to.location, to.radius]
}

function unpackDestination([
  type,
  tag,
  externalId,
  geofenceId,
  address,
  location,
  radius,
]: PackedDestination) {
  const destination: Destination = {
    type: DESTINATION_TYPES[type]!,
    tag: tag ?? undefined,
    externalId: externalId ?? undefined,
    geofenceId: geofenceId ?? undefined,
    address: address ?? undefined,
    location: location ?? undefined,
    radius: radius ?? undefined,
  }
  return destination
}

function packEta({ duration, distance, source }: Eta): PackedEta {
  return [duration, distance, source === 'road']
}

function unpackEta(packed: Nil<PackedEta>): Eta | undefined {
  if (!packed) return undefined
  const [duration, distance, isRoad] = packed
  return { duration, distance, source: isRoad ? 'road' : 'straight' }
}

function packEstimate({ time, latitude, longitude, source, sections }: Estimate): PackedEstimate {
  const packed = sections.map(({ legId, minutes, meters, straightMeters, ahead }): PackedSection => {
    if (ahead === undefined) return [legId, minutes, meters, straightMeters]
    return [legId, minutes, meters, straightMeters, [...ahead.location, ahead.share]]
  })
  return [time, latitude, longitude, source === 'road', packed]
}

function unpackEstimate([time, latitude, longitude, isRoad, sections]: PackedEstimate): Estimate {
  return {
    time,
    latitude,
    longitude,
    source: isRoad ? 'road' : 'straight',
    sections: sections.map(([legId, minutes, meters, straightMeters, ahead]) => ({
      legId,
      minutes,
      meters,
      straightMeters,
      ...(ahead && { ahead: { location: [ahead[0], ahead[1]] as const, share: ahead[2] } }),
    })),
  }
}

function packLeg(leg: Leg): PackedLeg {
  return [
    leg.id,
    TRIP_STATUSES.indexOf(leg.status),
    leg.createdAt,
    leg.updatedAt,
    leg.arrivedAt,
    leg.completedAt,
    leg.eta && packEta(leg.eta),
    leg.stopDuration,
    leg.metadata,
    packDestination(leg.destination),
  ]
}

function unpackLeg(packed: PackedLeg): Leg {
  const [id, status, createdAt, updatedAt, arrivedAt, completedAt, eta, stopDuration, metadata, destination] =
    packed
  return {
    id,
    status: TRIP_STATUSES[status] as TripStatus,
    createdAt,
    updatedAt,
    arrivedAt: arrivedAt ?? undefined,
    completedAt: completedAt ?? undefined,
    eta: unpackEta(eta),
    stopDuration,
    metadata: metadata ?? undefined,
    destination: unpackDestination(destination),
  }
}
