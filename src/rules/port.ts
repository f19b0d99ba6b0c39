import type { CandidateCache } from './candidateCache.ts'
import type { GeofenceProperties } from '../model/geofence.ts'
import type { ScopeId } from '../model/scope.ts'
import type { Settings } from '../model/settings.ts'
import type { BeaconDirectory, GeofenceIndex } from '../spatial/port.ts'

/** What the engine reads of one scope. The objects are replaced, never changed, by an edit. */
export interface ScopeView {
  readonly settings: Settings
  /** Rises with every change of this scope's geofences, beacons or settings. */
  readonly revision: number
  readonly beacons: BeaconDirectory
  readonly index: GeofenceIndex
  /** By `_id`; undefined when absent or past `deleteAfter`. */
  geofence(id: string): GeofenceProperties | undefined
}

/** The read side of the registry, as the actors use it. A batch reads one revision: changes happen between batches. */
export interface RegistryView {
  /** Rises with every change of any scope; commits carry it (G10). */
  readonly revision: number
  scope(scope: ScopeId): ScopeView
}

/** What is kept of the devices of a partition from one update to the next beside their state, by row. */
export interface DeviceRows {
  readonly candidateCache: CandidateCache
  /** Of the scope, when the device was evaluated last; what is kept in `candidateCache` is of that revision. */
  zoneRevision(row: number): number
  /** Whether the last update was too inaccurate to touch any geofence. */
  isIgnored(row: number): boolean
  /** Time t of the last update, epoch milliseconds. */
  updatedAt(row: number): number
  latitude(row: number): number
  longitude(row: number): number
}
