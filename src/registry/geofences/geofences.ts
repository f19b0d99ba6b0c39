import tzLookup from '@photostructure/tz-lookup'
import { shapeCenter } from '../../geometry/shape.ts'
import { asOf, dueAt, type Geofence, type GeofenceProperties, type Shape } from '../../model/geofence.ts'
import type { ScopeId } from '../../model/scope.ts'
import type { SharedTexts } from '../../spatial/sharedTexts.ts'
import { Collection, type CollectionParts } from '../records/collection.ts'
import { MAX_CHANGES, type Change } from '../store/editLog.ts'
import { GEOFENCES } from './geofenceEntity.ts'
import { geofenceOfRow, type GeofenceDefinition } from './geofenceRows.ts'
import type { GeofenceStore } from './geofenceStore.ts'
import { isSameIsochrone, settled, withKnownArea, type IsochroneOutcome } from './isochrone.ts'

/** How many changes that are due are stored in one turn of the event loop. */
const MAX_DUE_CHANGES = 100

/** The dependencies of the collection of geofences. */
export interface GeofenceParts extends Omit<CollectionParts<Geofence, GeofenceProperties>, 'store'> {
  readonly store: (scope: ScopeId) => GeofenceStore
  /** The existing scopes. */
  readonly scopes: () => Iterable<ScopeId>
  /** Those of the indexes. */
  readonly texts: SharedTexts
}

/**
 * The geofences of all scopes. Besides what every collection does: the time zone of a geofence, the areas of
 * isochrones, and dates, which act by themselves: reads follow the clock, and the sweep stores the effects.
 */
export class Geofences extends Collection<GeofenceDefinition, Geofence, GeofenceProperties> {
  readonly #parts: GeofenceParts
  #nextDue = 0
  /** The end of storing what is due, while that goes on. */
  #storing: Promise<void> | undefined
  #onDate = () => {}
  /** Returns the changes that come with a geofence that its `disableAfter` disables, within the same edit. */
  alongsideDate: (before: GeofenceProperties, updatedAt: number) => readonly Change[] = () => []
  #onIsochrone: (geofence: GeofenceProperties) => void = () => {}

  constructor(parts: GeofenceParts) {
    super({ ...GEOFENCES, fromRow: (row) => geofenceOfRow(row, parts.texts) }, parts)
    this.#parts = parts
  }

  override store(scope: ScopeId): GeofenceStore {
    return this.#parts.store(scope)
  }

  /** Called with each isochrone that is put, from now on. */
  set onIsochrone(told: (geofence: GeofenceProperties) => void) {
    this.#onIsochrone = told
  }

  /** When a date is next due, in epoch milliseconds. It is 0 until the first sweep. */
  get nextDue(): number {
    return this.#nextDue
  }

  /** Called when {@link nextDue} has become earlier, from now on. */
  set onDate(told: () => void) {
    this.#onDate = told
  }

  /** The isochrones of all scopes, as stored. */
  *isochrones(): Generator<GeofenceProperties> {
    for (const scope of this.#parts.scopes()) yield* this.store(scope).isochrones()
  }

  /**
   * Stores the results of computing isochrones: an area, or the reason why there is none, in which case the geofence
   * keeps its area. Geofences that were edited or deleted in the meantime are left out.
   * @param outcomes of different geofences, at most {@link MAX_CHANGES}
   */
  settleIsochrones(
    outcomes: readonly (readonly [before: GeofenceProperties, outcome: IsochroneOutcome])[],
  ): void {
    const changes: Change[] = []
    for (const [before, outcome] of outcomes) {
      const store = this.store(before.scope)
      const geofence = store.records.get(before.id)
      if (geofence === undefined || !isSameIsochrone(geofence, before)) continue
      changes.push(this.putOf(settled(store.whole(geofence), outcome, this.clock.now())))
    }
    // They are committed together, because an edit that commits twice would run again and find the first part
    // unchanged.
    if (changes.length > 0) this.edits.commit(changes)
  }

  /** Makes an edit. It waits until what is due is stored, so that it need not store thousands of changes itself. */
  override async edit<T>(work: () => T): Promise<T> {
    await this.storeDue()
    return super.edit(work)
  }

  /** Stores the effects of `disableAfter` and `deleteAfter` up to now, in turns: thousands may be due at once. */
  storeDue(): Promise<void> {
    if (this.#storing === undefined && this.clock.now() < this.#nextDue) return Promise.resolve()
    this.#storing ??= this.#storeInTurns().finally(() => (this.#storing = undefined))
    return this.#storing
  }

  async #storeInTurns(): Promise<void> {
    while (this.clock.now() >= this.#nextDue)
      await super.edit(() => {
        const { changes, next } = this.#dueChanges(MAX_DUE_CHANGES)
        if (changes.length === 0) this.#nextDue = next
        else this.edits.commit(changes)
      })
  }

  /** Stores the effects of `disableAfter` and `deleteAfter` up to now, at once. */
  sweep(): void {
    if (this.clock.now() < this.#nextDue) return
    for (;;) {
      const { changes, next } = this.#dueChanges(MAX_CHANGES)
      if (changes.length === 0) {
        this.#nextDue = next
        return
      }
      const { revision } = this.#parts.replica
      this.edits.commit(changes)
      // If the edit is not made yet, the dates are still due, and it runs again.
      if (this.#parts.replica.revision === revision) return
    }
  }

  protected override beforeEdit(): void {
    this.sweep()
  }

  protected override afterPut(geofence: Geofence): void {
    const due = dueAt(geofence)
    if (due !== undefined && due < this.#nextDue) {
      this.#nextDue = due
      this.#onDate()
    }
    if (geofence.isochrone !== undefined) this.#onIsochrone(geofence)
  }

  protected override build(
    scope: ScopeId,
    wanted: GeofenceDefinition,
    id: string,
    createdAt: number,
  ): Geofence {
    const store = this.store(scope)
    const before = store.records.get(id)
    const definition = before?.isochrone === undefined ? wanted : withKnownArea(wanted, store.whole(before))
    const timeZone = timeZoneOf(definition.shape)
    const now = this.clock.now()
    const geofence = { ...definition, id, scope, timeZone, createdAt, updatedAt: Math.max(now, createdAt) }
    // A geofence whose disableAfter has passed already starts disabled. deleteAfter is left to the sweep.
    return geofence.enabled && geofence.disableAfter !== undefined && now >= geofence.disableAfter
      ? { ...geofence, enabled: false }
      : geofence
  }

  /**
   * The effects of dates that are not stored yet, or only the first of them, and when there will be more.
   * @param most how many there may be
   */
  #dueChanges(most: number): { changes: Change[]; next: number } {
    const now = this.clock.now()
    const changes: Change[] = []
    let next = Infinity
    for (const scope of this.#parts.scopes()) {
      const store = this.store(scope)
      for (const before of store.dated()) {
        const date = dueAt(before) ?? Infinity
        if (date > now) {
          next = Math.min(next, date)
          continue
        }
        const after = asOf(before, now)
        const stored =
          after === undefined
            ? [this.removalOf(scope, before.id)]
            : [this.putOf(store.whole({ ...after, updatedAt: now })), ...this.alongsideDate(before, now)]
        if (changes.length > 0 && changes.length + stored.length > most) return { changes, next: now }
        changes.push(...stored)
      }
    }
    return { changes, next }
  }
}

/** The IANA name of the time zone of a shape's centre. */
function timeZoneOf(shape: Shape): string {
  const [longitude, latitude] = shapeCenter(shape)
  return tzLookup(latitude, longitude)
}
