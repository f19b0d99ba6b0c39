import type { Beacon } from './beacon.ts'
import type { Geofence } from './geofence.ts'

/** Kinds that the engine generates itself; a conversion carries any other name. */
export type GeofenceEventType = 'user.entered_geofence' | 'user.exited_geofence' | 'user.dwelled_in_geofence'
export type BeaconEventType = 'user.entered_beacon' | 'user.exited_beacon'

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
  readonly geofence: Geofence
  readonly beacon?: undefined
  /** Present on geofences with operating hours: whether t lies within them. */
  readonly currentlyOperating?: boolean
  /** Where and when it happened; absent: at the update. */
  readonly at?: Waypoint
}

export interface BeaconTransition extends Happening {
  readonly type: BeaconEventType
  readonly beacon: Beacon
  readonly geofence?: undefined
}

/** A transition that an update caused, before it has an id: what the pure step returns. */
export type Transition = GeofenceTransition | BeaconTransition
