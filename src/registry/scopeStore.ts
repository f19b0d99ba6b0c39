import type { Geofence } from '../model/geofence.ts'
import type { Settings } from '../model/settings.ts'
import { DEFAULT_SETTINGS } from '../model/settings.ts'
import type { Clock } from '../runtime/clock.ts'
import type { GeofenceIndex } from '../spatial/port.ts'
import { BeaconStore } from './beaconStore.ts'
import { asOf, dueAt } from './geofenceRow.ts'
import type { ScopeView } from './port.ts'

/** What a list leaves out; bounds are exclusive, epoch milliseconds. */
export interface GeofenceQuery {
  readonly tag?: string | undefined
  readonly externalId?: string | undefined
  readonly createdBefore?: number | undefined
  readonly createdAfter?: number | undefined
  readonly updatedBefore?: number | undefined
  readonly updatedAfter?: number | undefined
  /** Asked last. */
  readonly accept?: ((geofence: Geofence) => boolean) | undefined
  readonly limit: number
}

/** A place in the order of creation, for one `_id`. */
interface Entry {
  /** Undefined once it is deleted. */
  geofence: Geofence | undefined
}

/**
 * One scope in memory, the image of its rows. Owns no durability: the registry changes it after SQLite has.
 *
 * Invariants: `#byId`, `#byPair` and `index` hold the same geofences; `#order` holds their entries by creation, and
 * empty ones until it is packed; `#dated` holds those for which {@link dueAt} is set.
 */
export class ScopeStore implements ScopeView {
  settings: Settings = DEFAULT_SETTINGS
  revision: number
  readonly index: GeofenceIndex
  readonly beacons = new BeaconStore()
  readonly #clock: Clock
  readonly #byId = new Map<string, Entry>()
  readonly #byPair = new Map<string, Geofence>()
  readonly #dated = new Map<string, Geofence>()
  #order: Entry[] = []
  #lastCreatedAt = 0

  constructor(index: GeofenceIndex, clock: Clock, revision: number) {
    this.index = index
    this.#clock = clock
    this.revision = revision
  }

  get size(): number {
    return this.#byId.size
  }

  geofence(id: string): Geofence | undefined {
    const geofence = this.#byId.get(id)?.geofence
    return geofence === undefined ? undefined : asOf(geofence, this.#clock.now())
  }

  geofenceByPair(tag: string, externalId: string): Geofence | undefined {
    const geofence = this.#byPair.get(pairKey(tag, externalId))
    return geofence === undefined ? undefined : asOf(geofence, this.#clock.now())
  }

  /** Newest first by createdAt. */
  list(query: GeofenceQuery): { geofences: Geofence[]; hasMore: boolean } {
    const { createdBefore = Infinity, createdAfter = -Infinity } = query
    const { updatedBefore = Infinity, updatedAfter = -Infinity } = query
    const now = this.#clock.now()
    const geofences: Geofence[] = []
    for (let i = this.#order.length - 1; i >= 0; i--) {
      const stored = this.#order[i]?.geofence
      if (stored === undefined || stored.createdAt >= createdBefore) continue
      if (stored.createdAt <= createdAfter) break
      if (query.tag !== undefined && stored.tag !== query.tag) continue
      if (query.externalId !== undefined && stored.externalId !== query.externalId) continue
      if (stored.updatedAt >= updatedBefore || stored.updatedAt <= updatedAfter) continue
      const geofence = asOf(stored, now)
      if (geofence === undefined || query.accept?.(geofence) === false) continue
      if (geofences.length === query.limit) return { geofences, hasMore: true }
      geofences.push(geofence)
    }
    return { geofences, hasMore: false }
  }

  /** Those with a date, due or not. */
  dated(): Iterable<Geofence> {
    return this.#dated.values()
  }

  /**
   * When `count` new geofences are to have been created: the first of as many successive milliseconds, later than all
   * before. Creation times are distinct within a scope, so that paging by createdBefore loses none; a bulk's reach back
   * rather than into the future.
   */
  creationTimes(now: number, count: number): number {
    return Math.max(this.#lastCreatedAt + 1, now - count + 1)
  }

  /** Adds it or replaces the one with its id. New ones come in the order of createdAt. */
  put(geofence: Geofence): void {
    const entry = this.#byId.get(geofence.id)
    if (entry?.geofence === undefined) {
      const added = { geofence }
      this.#byId.set(geofence.id, added)
      this.#order.push(added)
      this.#lastCreatedAt = Math.max(this.#lastCreatedAt, geofence.createdAt)
    } else {
      this.#byPair.delete(pairKey(entry.geofence.tag, entry.geofence.externalId))
      entry.geofence = geofence
    }
    this.#byPair.set(pairKey(geofence.tag, geofence.externalId), geofence)
    if (dueAt(geofence) === undefined) this.#dated.delete(geofence.id)
    else this.#dated.set(geofence.id, geofence)
    this.index.put(geofence)
  }

  remove(geofence: Geofence): void {
    const entry = this.#byId.get(geofence.id)
    if (entry === undefined) return
    entry.geofence = undefined
    this.#byId.delete(geofence.id)
    this.#byPair.delete(pairKey(geofence.tag, geofence.externalId))
    this.#dated.delete(geofence.id)
    this.index.remove(geofence.id)
    if (this.#order.length > 2 * this.#byId.size + 64) this.#order = this.#order.filter((one) => one.geofence)
  }
}

/** Tags and external ids hold no NUL, so that pairs do not run into each other. */
function pairKey(tag: string, externalId: string): string {
  return `${tag}\0${externalId}`
}
