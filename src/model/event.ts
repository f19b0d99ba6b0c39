import type { Beacon } from './beacon.ts'
import type { GeofenceProperties } from './geofence.ts'
import type { FailureReason, FraudRecord } from './fraud.ts'
import type { Metadata } from './metadata.ts'
import type { ShownPlace } from './place.ts'
import type { Region } from './region.ts'
import type { ScopeId } from './scope.ts'

/** The types of events that the engine generates itself. A conversion may have any other name. */
export type GeofenceEventType = 'user.entered_geofence' | 'user.exited_geofence' | 'user.dwelled_in_geofence'
export type BeaconEventType = 'user.entered_beacon' | 'user.exited_beacon'
export type PlaceEventType = 'user.entered_place' | 'user.exited_place' | 'user.nearby_place_chain'
type RegionEventKind = 'country' | 'state' | 'dma' | 'postal_code'
export type RegionEventType =
  | `user.entered_region_${RegionEventKind}`
  | `user.exited_region_${RegionEventKind}`

/** A point on the way between two updates at which something happened. */
export interface Waypoint {
  /** An interpolated time in epoch milliseconds. */
  readonly time: number
  readonly latitude: number
  readonly longitude: number
}

interface Happening {
  /** 1 is low, 2 is medium, 3 is high. */
  readonly confidence: 1 | 2 | 3
  /** The minutes since the entry; only present on exits. */
  readonly duration?: number
}

export interface GeofenceTransition extends Happening {
  readonly type: GeofenceEventType
  readonly geofence: GeofenceProperties
  readonly beacon?: undefined
  readonly region?: undefined
  readonly place?: undefined
  readonly fraud?: undefined
  /** Whether t is within the operating hours; only present for geofences that have some. */
  readonly currentlyOperating?: boolean
  /** Where and when it happened. If absent, it happened at the update. */
  readonly at?: Waypoint
}

export interface BeaconTransition extends Happening {
  readonly type: BeaconEventType
  readonly beacon: Beacon
  readonly geofence?: undefined
  readonly region?: undefined
  readonly place?: undefined
  readonly fraud?: undefined
}

export interface RegionTransition extends Happening {
  readonly type: RegionEventType
  readonly region: Region
  readonly place?: undefined
  readonly geofence?: undefined
  readonly beacon?: undefined
  readonly fraud?: undefined
}

export interface PlaceTransition extends Happening {
  readonly type: PlaceEventType
  readonly place: ShownPlace
  /** The next candidates; only present on entries. */
  readonly alternatePlaces?: readonly ShownPlace[]
  readonly geofence?: undefined
  readonly beacon?: undefined
  readonly region?: undefined
  readonly fraud?: undefined
}

export interface FraudTransition extends Happening {
  readonly type: 'user.failed_fraud'
  readonly fraud: FraudRecord
  readonly failureReasons: readonly FailureReason[]
  readonly geofence?: undefined
  readonly beacon?: undefined
  readonly region?: undefined
  readonly place?: undefined
}

/** A transition that an update caused, before it has an id: what the pure step returns. */
export type Transition =
  | GeofenceTransition
  | BeaconTransition
  | RegionTransition
  | PlaceTransition
  | FraudTransition

/** Something that the user did, as an app reports it: an event that no update caused. */
export interface Conversion {
  readonly scope: ScopeId
  readonly deviceId: string
  readonly userId?: string | undefined
  readonly installId?: string | undefined
  /** The type of the event. */
  readonly name: string
  readonly metadata?: Metadata | undefined
  /** In epoch milliseconds, according to the app. */
  readonly createdAt: number
  /** In epoch milliseconds, by the server's clock. */
  readonly receivedAt: number
}
