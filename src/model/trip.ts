import type { Position, TravelMode } from './geofence.ts'
import type { Metadata } from './metadata.ts'
import type { ScopeId } from './scope.ts'

/** The statuses of a trip, and of each of its legs. The last three end it. */
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

/** How many active trips a user may have at a time. */
export const MAX_TRIPS_OF_USER = 50

/** Where a trip, or one of its legs, leads to. */
export interface Destination {
  readonly type: 'geofence' | 'address' | 'coordinates'
  /** For a geofence, its tag and externalId. The destination counts whenever a geofence with this pair exists. */
  readonly tag?: string | undefined
  readonly externalId?: string | undefined
  /** The `_id` of the geofence when it was last seen. */
  readonly geofenceId?: string | undefined
  /** The address as it was given. */
  readonly address?: string | undefined
  /** The point, or the centre of the geofence when it was last seen; absent if there never was such a geofence. */
  readonly location?: Position | undefined
  /** The radius around {@link location} in metres. For a geofence, it is the one when it was last seen. */
  readonly radius?: number | undefined
}

/** How far it is to a destination. */
export interface Eta {
  /** Minutes from the update at which it was made, with one decimal. */
  readonly duration: number
  /** In metres. */
  readonly distance: number
  readonly source: 'road' | 'straight'
}

export interface Leg {
  /** 24 hex digits. */
  readonly id: string
  readonly status: TripStatus
  /** In epoch milliseconds, like all times of a trip. */
  readonly createdAt: number
  readonly updatedAt: number
  readonly arrivedAt?: number | undefined
  readonly completedAt?: number | undefined
  readonly eta?: Eta | undefined
  /** In minutes. */
  readonly stopDuration: number
  readonly metadata?: Metadata | undefined
  readonly destination: Destination
}

/** The user who moved a trip last. Before that, it is the latest record of its user. */
export interface TripUser {
  /** The `_id` of the record. */
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
  /**
   * The sections from the point to the first stop, from there to the second, and so on, as far as the positions of the
   * stops were known.
   */
  readonly sections: readonly Section[]
}

export interface Section {
  /** The `_id` of the leg at its end; empty for a trip without legs. */
  readonly legId: string
  readonly minutes: number
  readonly meters: number
  /** The distance between its ends in a straight line, in metres. */
  readonly straightMeters: number
  /** A point on it near its beginning, and the share of the section that comes before the point. */
  readonly ahead?: { readonly location: Position; readonly share: number } | undefined
}

/** The place of an update. */
export interface TripPlace {
  readonly latitude: number
  readonly longitude: number
  /** In metres, as it was sent. */
  readonly accuracy?: number | undefined
}

/** The last update that a device moved the trip with. */
export interface Heard {
  readonly deviceId: string
  /** A number that ascends with the updates of the device. */
  readonly number: number
  /** The time t of that update, in epoch milliseconds. */
  readonly time: number
}

/** What an update says about a trip. It names the trip, which is created if it does not exist. */
export interface TripOptions {
  readonly externalId: string
  readonly destination?: { readonly tag: string; readonly externalId: string } | undefined
  readonly mode?: TravelMode | undefined
  /** In minutes. */
  readonly approachingThreshold?: number | undefined
  /** In epoch milliseconds. */
  readonly scheduledArrivalAt?: number | undefined
  readonly metadata?: Metadata | undefined
}

/** A trip without its locations. Immutable: a change makes a new one. */
export interface Trip {
  /** 24 hex digits. */
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
  /** The trip's own threshold in minutes. */
  readonly approachingThreshold?: number | undefined
  /** The destination of a trip without legs. */
  readonly destination?: Destination | undefined
  /** The legs. If they are present, there is at least one. */
  readonly legs?: readonly Leg[] | undefined
  /** The leg whose destination is the trip's. */
  readonly currentLegId?: string | undefined
  readonly eta?: Eta | undefined

  /** When the present run began. It is absent in the first run. */
  readonly restartedAt?: number | undefined

  // The following members are the state of the present run. A restart removes them.
  /** Time t of the last update that moved it. */
  readonly movedAt?: number | undefined
  readonly place?: TripPlace | undefined
  /** Whether the device was at the current destination after that update. */
  readonly isThere: boolean
  /** The time t of the last `user.updated_trip` that an update made. */
  readonly toldAt?: number | undefined
  /** Whether `user.delayed_during_trip` was made. */
  readonly isDelayTold: boolean
  readonly estimate?: Estimate | undefined
  /** Whether the destination, mode or legs have changed since the estimate. */
  readonly isEstimateStale: boolean

  /** The devices that moved it last, the latest first. */
  readonly heard: readonly Heard[]
  /** The latest time t of the updates of devices that are no longer in {@link heard}. */
  readonly forgottenAt?: number | undefined
  /** The events of the last update that moved it, as JSON, which are returned again if the answer was lost. */
  readonly told: readonly string[]
  /** The calls that changed it last, the latest first, as far as copies of them may come (tripCall.ts). */
  readonly called?: readonly number[] | undefined
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
