import type { Atlas } from './atlas.ts'
import type { CandidateCache } from './candidateCache.ts'
import type { GeofenceProperties } from '../model/geofence.ts'
import type { ScopeId } from '../model/scope.ts'
import type { Settings } from '../model/settings.ts'
import type { BeaconDirectory, GeofenceIndex } from '../spatial/port.ts'

/** What the engine reads of one scope. An edit replaces its objects and never changes them. */
export interface ScopeView {
  readonly settings: Settings
  /** Rises with every change of this scope's geofences, beacons or settings, or of the atlas. */
  readonly revision: number
  readonly atlas: Atlas
  readonly beacons: BeaconDirectory
  readonly index: GeofenceIndex
  readonly trips: ActiveTrips
  /** By `_id`; undefined if there is none or it is past `deleteAfter`. */
  geofence(id: string): GeofenceProperties | undefined
  /** By its pair; as {@link geofence}. */
  geofenceNamed(tag: string, externalId: string): GeofenceProperties | undefined
}

/** Which trips of a scope may be active. A change of it does not change the scope's {@link ScopeView.revision}. */
export interface ActiveTrips {
  readonly isEmpty: boolean
  /** Whether the user may have an active trip. */
  hasUser(userId: string): boolean
  /** The `_id`s of the trips of the user that may be active. */
  idsOfUser(userId: string): readonly string[]
  /** The `_id` of the trip of that name that may be active. */
  idNamed(externalId: string): string | undefined
  /** Whether the trip has its name: it may be active, or is about to be made. */
  hasName(id: string): boolean
}

/**
 * The read side of the registry, as the actors use it. A batch sees one revision, because changes happen between
 * batches.
 */
export interface RegistryView {
  /** Rises with every change of any scope; commits carry it (G10). */
  readonly revision: number
  scope(scope: ScopeId): ScopeView
}

/** What is kept of the devices of a partition beside their state, by row. */
export interface DeviceRows {
  readonly candidateCache: CandidateCache
  /** The scope's revision at the device's last evaluation. The row's `candidateCache` belongs to that revision. */
  zoneRevision(row: number): number
  /** Whether the last update was too inaccurate to touch any geofence. */
  isIgnored(row: number): boolean
  /** Time t of the last update, epoch milliseconds. */
  updatedAt(row: number): number
  latitude(row: number): number
  longitude(row: number): number
  /** Metres; NaN if the last update had none. */
  accuracy(row: number): number
  /** `_id` of the user. */
  recordId(row: number): string
}
