import type { GeofenceProperties } from '../model/geofence.ts'
import { DEFAULT_SETTINGS, type Settings } from '../model/settings.ts'
import { CachedOffsets, type ZoneOffsets } from '../model/zoneOffsets.ts'
import { NO_ATLAS, type Atlas } from '../rules/atlas.ts'
import type { ScopeView } from '../rules/port.ts'
import type { Clock } from '../runtime/clock.ts'
import type { GeofenceIndex } from '../spatial/port.ts'
import { BeaconStore } from './beacons/beaconStore.ts'
import { GeofenceStore } from './geofences/geofenceStore.ts'
import { ScopeTrips } from './trips/scopeTrips.ts'

/** The configuration of one scope in memory, as the engine reads it. The collections of the registry change it. */
export class ScopeStore implements ScopeView {
  settings: Settings = DEFAULT_SETTINGS
  readonly atlas: Atlas
  readonly zones: ZoneOffsets
  readonly index: GeofenceIndex
  readonly geofences: GeofenceStore
  readonly beacons = new BeaconStore()
  readonly trips = new ScopeTrips()
  #ownRevision: number

  /** @param zones shared with other scopes */
  constructor(
    index: GeofenceIndex,
    clock: Clock,
    revision: number,
    atlas = NO_ATLAS,
    zones: ZoneOffsets = new CachedOffsets(),
  ) {
    this.index = index
    this.geofences = new GeofenceStore(index, clock)
    this.#ownRevision = revision
    this.atlas = atlas
    this.zones = zones
  }

  /** The sum of two revisions. Neither of them ever falls, so the sum is the same only if both are. */
  get revision(): number {
    return this.#ownRevision + this.atlas.revision
  }

  /**
   * Sets a revision.
   * @param revision that of its own geofences, beacons and settings
   */
  set revision(revision: number) {
    this.#ownRevision = revision
  }

  geofence(id: string): GeofenceProperties | undefined {
    return this.geofences.get(id)
  }

  geofenceNamed(tag: string, externalId: string): GeofenceProperties | undefined {
    return this.geofences.byPair(tag, externalId)
  }
}
