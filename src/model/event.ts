import type { Beacon } from './beacon.ts'
import type { GeofenceProperties } from './geofence.ts'
import type { FailureReason, FraudRecord } from './fraud.ts'
import type { Metadata } from './metadata.ts'
import type { ShownPlace } from './place.ts'
import type { Region } from './region.ts'
import type { ScopeId } from './scope.ts'

/** Kinds that the engine generates itself; a conversion carries any other name. */
export type GeofenceEventType = 'user.entered_geofence' | 'user.exited_geofence' | 'user.dwelled_in_geofence'
export type BeaconEventType = 'user.entered_beacon' | 'user.exited_beacon'
export type PlaceEventType = 'user.entered_place' | 'user.exited_place' | 'user.nearby_place_chain'
type RegionEventKind = 'country' | 'state' | 'dma' | 'postal_code'
export type RegionEventType =
  | `user.entered_region_${RegionEventKind}`
  | `user.exited_region_${RegionEventKind}`

/** A point on the way between two updates at which something happened. */
export interface Waypoint {
  /** Epoch milliseconds, interpolated. */
  readonly time: number
  readonly latitude: number
  readonly longitude: number
}

interface Happening {
  /** 1 low, 2 medium, 3 high. */
  readonly confidence: 1 | 2 | 3
  /** Minutes since entry; on exits. */
  readonly duration?: number
}

export interface GeofenceTransition extends Happening {
  readonly type: GeofenceEventType
  readonly geofence: GeofenceProperties
  readonly beacon?: undefined
  readonly region?: undefined
  readonly place?: undefined
  readonly fraud?: undefined
  /** Present on geofences with operating hours: whether t lies within them. */
  readonly currentlyOperating?: boolean
  /** Where and when it happened; absent: at the update. */
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
  /** For an entry: the next candidates. */
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
  /** Its type. */
  readonly name: string
  readonly metadata?: Metadata | undefined
  /** Epoch milliseconds, from the app. */
  readonly createdAt: number
  /** Epoch milliseconds, the server's clock. */
  readonly receivedAt: number
}
