import type { ScopeView } from '../rules/port.ts'
import type { Beacon } from '../model/beacon.ts'
import type { Geofence, GeofenceProperties } from '../model/geofence.ts'

/** A scope as the user endpoints read it. */
export interface ScopeDirectory extends ScopeView {
  /** Undefined when absent or past `deleteAfter`. */
  geofenceByPair(tag: string, externalId: string): GeofenceProperties | undefined
  /** The whole of a geofence that is there. */
  withShape(geofence: GeofenceProperties): Geofence
  beaconByPair(tag: string, externalId: string): Beacon | undefined
}
