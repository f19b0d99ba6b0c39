import type { Position, TravelMode } from './geofence.ts'
import type { Metadata } from './metadata.ts'
import type { ScopeId } from './scope.ts'

/** Statuses of a trip, and of each of its legs. The last three are ends. */
export const TRIP_STATUSES = [
  'pending',
  'started',
  'approaching',
  'arrived',
  'completed',
  'canceled',
  'expired',
] as const

export type TripStatus = (typeof TRIP_STATUSES)[number]
export type ActiveStatus = 'pending' | 'started' | 'approaching' | 'arrived'
export type EndedStatus = Exclude<TripStatus, ActiveStatus>

export const TRAVEL_MODES = [
  'car',
  'truck',
  'foot',
  'bike',
  'motorbike',
] as const satisfies readonly TravelMode[]

/** Active trips that a user may have at a time. */
export const MAX_TRIPS_OF_USER = 50

/** Where a trip, or one of its legs, leads to. */
export interface Destination {
  readonly type: 'geofence' | 'address' | 'coordinates'
  /** For a geofence: its pair. It counts whenever a geofence with this pair exists. */
  readonly tag?: string | undefined
  readonly externalId?: string | undefined
  /** The `_id` of the geofence when it was last seen. */
  readonly geofenceId?: string | undefined
  /** As it was given. */
  readonly address?: string | undefined
  /** The point, or the centre of the geofence when it was last seen; absent if that never existed. */
  readonly location?: Position | undefined
  /** Metres around {@link location}: of a geofence, when it was last seen. */
  readonly radius?: number | undefined
}

/** How far it is to a destination. */
export interface Eta {
  /** Minutes from the update at which it was made, with one decimal. */
  readonly duration: number
  /** Metres. */
  readonly distance: number
  readonly source: 'road' | 'straight'
}

export interface Leg {
  /** 24 hex. */
  readonly id: string
  readonly status: TripStatus
  /** Epoch milliseconds, as all times of a trip. */
  readonly createdAt: number
  readonly updatedAt: number
  readonly arrivedAt?: number | undefined
  readonly completedAt?: number | undefined
  readonly eta?: Eta | undefined
  /** Minutes. */
  readonly stopDuration: number
  readonly metadata?: Metadata | undefined
  readonly destination: Destination
}

/** Who moved a trip last; before that, the latest record of its user. */
export interface TripUser {
  /** `_id` of the record. */
  readonly id: string
  readonly userId?: string | undefined
  readonly deviceId: string
}

/** The way to the stops that were open when it was measured. */
export interface Estimate {
  /** Time t of the update for which it was measured. */
  readonly time: number
  readonly latitude: number
  readonly longitude: number
  readonly source: 'road' | 'straight'
  /** From the point to the first stop, from there to the second, and so on, as far as their places were known. */
  readonly sections: readonly Section[]
}

export interface Section {
  /** `_id` of the leg at its end; empty for a trip without legs. */
  readonly legId: string
  readonly minutes: number
  readonly meters: number
  /** Metres between its ends as the crow flies. */
  readonly straightMeters: number
}

/** The place of an update. */
export interface TripPlace {
  readonly latitude: number
  readonly longitude: number
  /** Metres as sent. */
  readonly accuracy?: number | undefined
}

/** The last update that a device moved the trip with. */
export interface Heard {
  readonly deviceId: string
  /** Ascends with the updates of the device. */
  readonly number: number
  /** Time t of that update, epoch milliseconds. */
  readonly time: number
}

/** What an update says about a trip. It names the trip, and makes it if there was none. */
export interface TripOptions {
  readonly externalId: string
  readonly destination?: { readonly tag: string; readonly externalId: string } | undefined
  readonly mode?: TravelMode | undefined
  /** Minutes. */
  readonly approachingThreshold?: number | undefined
  /** Epoch milliseconds. */
  readonly scheduledArrivalAt?: number | undefined
  readonly metadata?: Metadata | undefined
}

/** A trip without its locations. Immutable: a change makes a new one. */
export interface Trip {
  /** 24 hex. */
  readonly id: string
  readonly scope: ScopeId
  readonly externalId: string
  readonly userId?: string | undefined
  /** The device that the trip was bound to by tripOptions. */
  readonly deviceId?: string | undefined
  readonly user?: TripUser | undefined
  readonly metadata?: Metadata | undefined
  readonly mode: TravelMode
  readonly status: TripStatus
  readonly createdAt: number
  readonly updatedAt: number
  readonly startedAt?: number | undefined
  readonly arrivedAt?: number | undefined
  readonly completedAt?: number | undefined
  readonly endedAt?: number | undefined
  readonly scheduledArrivalAt?: number | undefined
  /** Minutes; its own. */
  readonly approachingThreshold?: number | undefined
  /** For a trip without legs. */
  readonly destination?: Destination | undefined
  /** Absent, or one or more. */
  readonly legs?: readonly Leg[] | undefined
  /** The leg whose destination is the trip's. */
  readonly currentLegId?: string | undefined
  readonly eta?: Eta | undefined

  /** When the present run began, if it is not the first. */
  readonly restartedAt?: number | undefined

  // The state of the present run: a restart clears these.
  /** Time t of the last update that moved it. */
  readonly movedAt?: number | undefined
  readonly place?: TripPlace | undefined
  /** Whether the device was at the current destination after that update. */
  readonly isThere: boolean
  /** Time t of the last `user.updated_trip` that an update made. */
  readonly toldAt?: number | undefined
  /** `user.delayed_during_trip` was made. */
  readonly isDelayTold: boolean
  readonly estimate?: Estimate | undefined
  /** Destination, mode or legs have changed since the estimate. */
  readonly isEstimateStale: boolean

  /** The devices that moved it last, the latest first. */
  readonly heard: readonly Heard[]
  /** The latest time t of the updates of devices that are no longer in {@link heard}. */
  readonly forgottenAt?: number | undefined
  /** The events of the last update that moved it, as JSON, to be told again if the answer was lost. */
  readonly told: readonly string[]
}

export function isEnded(status: TripStatus): status is EndedStatus {
  return status === 'completed' || status === 'canceled' || status === 'expired'
}

/** The leg whose destination is the trip's; undefined for a trip without legs. It stays when the trip ends. */
export function currentLeg({ legs, currentLegId }: Pick<Trip, 'legs' | 'currentLegId'>): Leg | undefined {
  return currentLegId === undefined ? undefined : legs?.find(({ id }) => id === currentLegId)
}

/** The destination of a trip: that of its current leg, if it has legs. */
export function destinationOf(trip: Trip): Destination | undefined {
  return trip.legs === undefined ? trip.destination : currentLeg(trip)?.destination
}
