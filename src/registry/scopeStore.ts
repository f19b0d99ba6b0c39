import type { Beacon } from '../model/beacon.ts'
import type { Geofence, GeofenceProperties } from '../model/geofence.ts'
import type { Settings } from '../model/settings.ts'
import { DEFAULT_SETTINGS } from '../model/settings.ts'
import type { Clock } from '../runtime/clock.ts'
import type { GeofenceIndex } from '../spatial/port.ts'
import { BeaconStore } from './beacons/beaconStore.ts'
import { asOf, dueAt } from '../model/geofence.ts'
import type { ScopeDirectory } from './port.ts'
import type { RecordPage, RecordQuery, RecordShelf } from './records/recordList.ts'
import { RecordList } from './records/recordList.ts'

/**
 * One scope in memory, the image of its rows. Owns no durability: the registry changes it after SQLite has.
 *
 * Invariants
 * - SCOPE-1: `records` and `index` hold the same geofences in the same slots. `#dated` holds those for which {@link
 *   dueAt} is defined, and `#isochrones` holds the isochrones.
 */
export class ScopeStore implements ScopeDirectory {
  settings: Settings = DEFAULT_SETTINGS
  revision: number
  readonly index: GeofenceIndex
  readonly beacons = new BeaconStore()
  /** The geofences as they are written down; {@link geofence} and {@link list} say how they stand now. */
  readonly records: RecordList<GeofenceProperties>
  readonly #clock: Clock
  readonly #dated = new Set<number>()
  readonly #isochrones = new Set<number>()

  constructor(index: GeofenceIndex, clock: Clock, revision: number) {
    this.index = index
    this.records = new RecordList(shelfOf(index))
    this.#clock = clock
    this.revision = revision
  }

  /** How many geofences there are. */
  get size(): number {
    return this.records.size
  }

  geofence(id: string): GeofenceProperties | undefined {
    const geofence = this.records.get(id)
    return geofence === undefined ? undefined : asOf(geofence, this.#clock.now())
  }

  geofenceByPair(tag: string, externalId: string): GeofenceProperties | undefined {
    const geofence = this.records.byPair(tag, externalId)
    return geofence === undefined ? undefined : asOf(geofence, this.#clock.now())
  }

  withShape(geofence: GeofenceProperties): Geofence {
    return { ...geofence, shape: this.index.shape(this.index.slotOf(geofence.id)) }
  }

  beaconByPair(tag: string, externalId: string): Beacon | undefined {
    return this.beacons.records.byPair(tag, externalId)
  }

  /** Newest first by createdAt, some a step. */
  listSteps(query: RecordQuery<GeofenceProperties>): Generator<void, RecordPage<GeofenceProperties>> {
    const now = this.#clock.now()
    return this.records.listSteps(query, (geofence) => asOf(geofence, now))
  }

  /** All that are there when they are reached, oldest first, as they are written down. */
  *wholeInOrder(): Generator<Geofence> {
    for (const geofence of this.records.inOrder()) yield this.withShape(geofence)
  }

  /** Those with a date, due or not. */
  *dated(): Generator<GeofenceProperties> {
    for (const slot of this.#dated) yield this.index.geofence(slot)
  }

  /** The isochrones, as they are written down. */
  *isochrones(): Generator<GeofenceProperties> {
    for (const slot of this.#isochrones) yield this.index.geofence(slot)
  }

  /** Makes room for so many geofences. */
  expect(count: number): void {
    this.records.expect(count)
    this.index.expect(count)
  }

  /** Adds it or replaces the one with its id. New ones come in the order of createdAt. */
  put(geofence: Geofence): void {
    const known = this.index.slotOf(geofence.id)
    if (known >= 0) this.records.unpair(known)
    const slot = this.index.put(geofence)
    this.records.added(slot, geofence)
    if (dueAt(geofence) === undefined) this.#dated.delete(slot)
    else this.#dated.add(slot)
    if (geofence.isochrone === undefined) this.#isochrones.delete(slot)
    else this.#isochrones.add(slot)
  }

  /** Unknown ids are ignored. */
  remove({ id }: Pick<GeofenceProperties, 'id'>): void {
    const slot = this.index.slotOf(id)
    if (slot < 0) return
    this.records.unpair(slot)
    this.index.remove(id)
    this.records.removed(slot)
    this.#dated.delete(slot)
    this.#isochrones.delete(slot)
  }
}

function shelfOf(index: GeofenceIndex): RecordShelf<GeofenceProperties> {
  return {
    get size() {
      return index.size
    },
    slotOf: (id) => index.slotOf(id),
    get: (slot) => index.geofence(slot),
    createdAt: (slot) => index.createdAt(slot),
    updatedAt: (slot) => index.updatedAt(slot),
    hasTag: (slot, tag) => index.hasTag(slot, tag),
    hasExternalId: (slot, externalId) => index.hasExternalId(slot, externalId),
  }
}
