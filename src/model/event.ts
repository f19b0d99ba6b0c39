import type { Geofence } from './geofence.ts'

/** Kinds that the engine generates itself; a conversion carries any other name. */
export type GeofenceEventType = 'user.entered_geofence' | 'user.exited_geofence' | 'user.dwelled_in_geofence'

/** A transition that an update caused, before it has an id: what the pure step returns. */
export interface Transition {
  readonly type: GeofenceEventType
  readonly geofence: Geofence
  /** 1 low, 2 medium, 3 high. */
  readonly confidence: 1 | 2 | 3
  /** Present on geofences with operating hours: whether t lies within them. */
  readonly currentlyOperating?: boolean
  /** Minutes since entry; on exits. */
  readonly duration?: number
}
