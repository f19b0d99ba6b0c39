import type { Beacon } from '../model/beacon.ts'
import type { Geofence } from '../model/geofence.ts'
import type { Settings } from '../model/settings.ts'
import { DEFAULT_SETTINGS } from '../model/settings.ts'
import type { Clock } from '../runtime/clock.ts'
import type { GeofenceIndex } from '../spatial/port.ts'
import { BeaconStore } from './beaconStore.ts'
import { asOf, dueAt } from './geofenceRow.ts'
import type { ScopeDirectory } from './port.ts'
import type { RecordQuery } from './recordList.ts'
import { RecordList } from './recordList.ts'

/**
 * One scope in memory, the image of its rows. Owns no durability: the registry changes it after SQLite has.
 *
 * Invariants: `records` and `index` hold the same geofences; `#dated` holds those for which {@link dueAt} is set.
 */
export class ScopeStore implements ScopeDirectory {
  settings: Settings = DEFAULT_SETTINGS
  revision: number
  readonly index: GeofenceIndex
  readonly beacons = new BeaconStore()
  /** The geofences as they are written down; {@link geofence} and {@link list} say how they stand now. */
  readonly records = new RecordList<Geofence>()
  readonly #clock: Clock
  readonly #dated = new Map<string, Geofence>()

  constructor(index: GeofenceIndex, clock: Clock, revision: number) {
    this.index = index
    this.#clock = clock
    this.revision = revision
  }

  /** How many geofences there are. */
  get size(): number {
    return this.records.size
  }

  geofence(id: string): Geofence | undefined {
    const geofence = this.records.get(id)
    return geofence === undefined ? undefined : asOf(geofence, this.#clock.now())
  }

  geofenceByPair(tag: string, externalId: string): Geofence | undefined {
    const geofence = this.records.byPair(tag, externalId)
    return geofence === undefined ? undefined : asOf(geofence, this.#clock.now())
  }

  beaconByPair(tag: string, externalId: string): Beacon | undefined {
    return this.beacons.records.byPair(tag, externalId)
  }

  /** Newest first by createdAt. */
  list(query: RecordQuery<Geofence>): { geofences: Geofence[]; hasMore: boolean } {
    const now = this.#clock.now()
    const { records, hasMore } = this.records.list(query, (geofence) => asOf(geofence, now))
    return { geofences: records, hasMore }
  }

  /** Those with a date, due or not. */
  dated(): Iterable<Geofence> {
    return this.#dated.values()
  }

  /** Adds it or replaces the one with its id. New ones come in the order of createdAt. */
  put(geofence: Geofence): void {
    this.records.put(geofence)
    if (dueAt(geofence) === undefined) this.#dated.delete(geofence.id)
    else this.#dated.set(geofence.id, geofence)
    this.index.put(geofence)
  }

  remove(geofence: Geofence): void {
    this.records.remove(geofence.id)
    this.#dated.delete(geofence.id)
    this.index.remove(geofence.id)
  }
}
