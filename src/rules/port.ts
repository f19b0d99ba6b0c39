import type { Atlas } from './atlas.ts'
import type { CandidateCache } from './candidateCache.ts'
import type { GeofenceProperties } from '../model/geofence.ts'
import type { ScopeId } from '../model/scope.ts'
import type { Settings } from '../model/settings.ts'
import type { ZoneOffsets } from '../model/zoneOffsets.ts'
import type { BeaconDirectory, GeofenceIndex } from '../spatial/port.ts'

/** What the engine reads of one scope. An edit replaces its objects and never changes them. */
export interface ScopeView {
  readonly settings: Settings
  /** Increases with every change of this scope's geofences, beacons or settings, or of the atlas. */
  readonly revision: number
  readonly atlas: Atlas
  /** Shared by the scopes of a registry. */
  readonly zones: ZoneOffsets
  readonly beacons: BeaconDirectory
  readonly index: GeofenceIndex
  readonly trips: ActiveTrips
  /** The geofence with that `_id`; undefined if there is none, or it is past `deleteAfter`. */
  geofence(id: string): GeofenceProperties | undefined
  /** The geofence with that tag and externalId, like {@link geofence}. */
  geofenceNamed(tag: string, externalId: string): GeofenceProperties | undefined
}

/**
 * The trips of a scope that may be active. A change of them does not change the scope's {@link ScopeView.revision}.
 */
export interface ActiveTrips {
  readonly isEmpty: boolean
  /** Whether the user may have an active trip. */
  hasUser(userId: string): boolean
  /** The `_id`s of the trips of the user that may be active. */
  idsOfUser(userId: string): readonly string[]
  /** The `_id` of the trip of that name that may be active. */
  idNamed(externalId: string): string | undefined
  /** Whether the trip has its name, because it may be active or is about to be created. */
  hasName(id: string): boolean
}

/**
 * The read side of the registry, as the actors use it. A batch sees one revision, because changes happen between
 * batches.
 */
export interface RegistryView {
  /** Increases with every change of any scope. Commits contain it (G10). */
  readonly revision: number
  scope(scope: ScopeId): ScopeView
}

/** What is kept about the devices of a partition besides their state, by row. */
export interface DeviceRows {
  readonly candidateCache: CandidateCache
  /** The scope's revision at the device's last evaluation. The row's `candidateCache` belongs to that revision. */
  zoneRevision(row: number): number
  /** Whether the last update was too inaccurate to touch any geofence. */
  isIgnored(row: number): boolean
  /** The time t of the last update, in epoch milliseconds. */
  updatedAt(row: number): number
  latitude(row: number): number
  longitude(row: number): number
  /** In metres; NaN if the last update had none. */
  accuracy(row: number): number
  /** The `_id` of the user. */
  recordId(row: number): string
}
