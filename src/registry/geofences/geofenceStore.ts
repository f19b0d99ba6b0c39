import { asOf, dueAt, type Geofence, type GeofenceProperties } from '../../model/geofence.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { GeofenceIndex } from '../../spatial/port.ts'
import {
  RecordList,
  type RecordFilter,
  type RecordPage,
  type RecordQuery,
  type RecordSlots,
} from '../records/recordList.ts'
import type { RecordStore } from '../records/recordStore.ts'

/**
 * The geofences of one scope in memory. Their records and shapes are in the index.
 *
 * Invariants
 * - SCOPE-1: `records` and `index` hold the same geofences in the same slots. `#dated` holds those for which {@link
 *   dueAt} is defined, and `#isochrones` holds the isochrones.
 */
export class GeofenceStore implements RecordStore<Geofence, GeofenceProperties> {
  /** The geofences as stored; {@link get} and {@link listSteps} return their present state. */
  readonly records: RecordList<GeofenceProperties>
  readonly index: GeofenceIndex
  readonly #clock: Clock
  readonly #dated = new Set<number>()
  readonly #isochrones = new Set<number>()

  constructor(index: GeofenceIndex, clock: Clock) {
    this.index = index
    this.records = new RecordList(slotsOf(index))
    this.#clock = clock
  }

  get(id: string): GeofenceProperties | undefined {
    const geofence = this.records.get(id)
    return geofence === undefined ? undefined : asOf(geofence, this.#clock.now())
  }

  byPair(tag: string, externalId: string): GeofenceProperties | undefined {
    const geofence = this.records.byPair(tag, externalId)
    return geofence === undefined ? undefined : asOf(geofence, this.#clock.now())
  }

  /** The whole geofence of a pair, for who looks at many of them once: the caches stay as they are. */
  glimpse(tag: string, externalId: string): Geofence | undefined {
    const slot = this.records.slotOfPair(tag, externalId)
    const geofence = slot < 0 ? undefined : asOf(this.index.glimpse(slot), this.#clock.now())
    return geofence && { ...geofence, shape: this.index.shape(slot) }
  }

  whole(geofence: GeofenceProperties): Geofence {
    return { ...geofence, shape: this.index.shape(this.index.slotOf(geofence.id)) }
  }

  listSteps(query: RecordQuery<GeofenceProperties>): Generator<void, RecordPage<GeofenceProperties>> {
    const now = this.#clock.now()
    return this.records.listSteps(query, (geofence) => asOf(geofence, now))
  }

  matching(query: RecordFilter<GeofenceProperties>): Generator<GeofenceProperties | undefined, void> {
    const now = this.#clock.now()
    return this.records.matching(query, (geofence) => asOf(geofence, now))
  }

  *inOrder(): Generator<Geofence> {
    for (const geofence of this.records.inOrder()) yield this.whole(geofence)
  }

  /** The geofences with a date, whether it has passed or not. */
  *dated(): Generator<GeofenceProperties> {
    for (const slot of this.#dated) yield this.index.geofence(slot)
  }

  /** The isochrones, as stored. */
  *isochrones(): Generator<GeofenceProperties> {
    for (const slot of this.#isochrones) yield this.index.geofence(slot)
  }

  expect(count: number): void {
    this.records.expect(count)
    this.index.expect(count)
  }

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

  remove(id: string): void {
    const slot = this.index.slotOf(id)
    if (slot < 0) return
    this.records.unpair(slot)
    this.index.remove(id)
    this.records.removed(slot)
    this.#dated.delete(slot)
    this.#isochrones.delete(slot)
  }
}

function slotsOf(index: GeofenceIndex): RecordSlots<GeofenceProperties> {
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
