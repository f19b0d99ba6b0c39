import tzLookup from '@photostructure/tz-lookup'
import { shapeCenter } from '../../geometry/shape.ts'
import { asOf, dueAt, type Geofence, type GeofenceProperties, type Shape } from '../../model/geofence.ts'
import type { ScopeId } from '../../model/scope.ts'
import { Collection, type CollectionParts } from '../records/collection.ts'
import { MAX_CHANGES, type Change } from '../store/editLog.ts'
import { GEOFENCES } from './geofenceEntity.ts'
import type { GeofenceDefinition } from './geofenceRows.ts'
import type { GeofenceStore } from './geofenceStore.ts'
import { isSameIsochrone, settled, withKnownArea, type IsochroneOutcome } from './isochrone.ts'

/** What the collection of geofences needs of the registry. */
export interface GeofenceParts extends Omit<CollectionParts<Geofence, GeofenceProperties>, 'store'> {
  readonly store: (scope: ScopeId) => GeofenceStore
  /** The scopes that there are. */
  readonly scopes: () => Iterable<ScopeId>
  /** Called when due dates could not be written down; it is tried again. Reads follow the dates regardless. */
  readonly onSweepFailure: (error: unknown) => void
}

/** The longest sleep between two looks at the due dates: bounds the effect of a machine clock that jumps. */
const MAX_SLEEP_MS = 60_000

/**
 * The geofences of all scopes. Beside what every collection does: the time zone of a geofence, the areas of isochrones, and
 * dates, which act by themselves: reads follow the clock, and the sweep writes down what they have brought about.
 */
export class Geofences extends Collection<GeofenceDefinition, Geofence, GeofenceProperties> {
  readonly #parts: GeofenceParts
  /** When a date next does something; 0 until the first sweep has looked. */
  #nextDue = 0
  #timer: NodeJS.Timeout | undefined
  #onIsochrone: (geofence: GeofenceProperties) => void = () => {}

  constructor(parts: GeofenceParts) {
    super(GEOFENCES, parts)
    this.#parts = parts
  }

  override store(scope: ScopeId): GeofenceStore {
    return this.#parts.store(scope)
  }

  /** Called with each isochrone that is put, from now on. */
  set onIsochrone(told: (geofence: GeofenceProperties) => void) {
    this.#onIsochrone = told
  }

  /** The isochrones of all scopes, as they are written down. */
  *isochrones(): Generator<GeofenceProperties> {
    for (const scope of this.#parts.scopes()) yield* this.store(scope).isochrones()
  }

  /**
   * Writes down what came of computing isochrones: of each its area, or why there is none, in which case it keeps the area that
   * it has. Those that were edited or deleted meanwhile are left out.
   * @param outcomes of different geofences, of {@link MAX_CHANGES} at most
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
    // Once: an edit that commits twice runs again, and finds the first of them as it was.
    if (changes.length > 0) this.edits.commit(changes)
  }

  /** Writes down what `disableAfter` and `deleteAfter` have brought about by now. It runs by itself when something is due. */
  sweep(): void {
    if (this.clock.now() < this.#nextDue) return
    for (;;) {
      const { changes, next } = this.#dueChanges()
      if (changes.length === 0) {
        this.#nextDue = next
        return this.#arm()
      }
      const { revision } = this.#parts.image
      this.edits.commit(changes)
      // In an edit that is yet to be made the dates are still due; it runs again.
      if (this.#parts.image.revision === revision) return
    }
  }

  /** Sweeps now, and from then on whenever something is due. */
  sweepWhenDue(): void {
    this.edit(() => this.sweep()).then(
      () => this.#arm(),
      (error) => {
        this.#parts.onSweepFailure(error)
        this.#sleep(MAX_SLEEP_MS)
      },
    )
  }

  /** Sweeps no more. */
  close(): void {
    clearTimeout(this.#timer)
  }

  protected override beforeEdit(): void {
    this.sweep()
  }

  protected override afterPut(geofence: Geofence): void {
    const due = dueAt(geofence)
    if (due !== undefined && due < this.#nextDue) {
      this.#nextDue = due
      this.#arm()
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
    // One that comes with its disableAfter behind it starts disabled; deleteAfter is left to the sweep.
    return geofence.enabled && geofence.disableAfter !== undefined && now >= geofence.disableAfter
      ? { ...geofence, enabled: false }
      : geofence
  }

  /** What dates have brought about that is not written down, or the first of it; and when there will be more. */
  #dueChanges(): { changes: Change[]; next: number } {
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
        changes.push(
          after === undefined
            ? this.removalOf(scope, before.id)
            : this.putOf(store.whole({ ...after, updatedAt: now })),
        )
        if (changes.length === MAX_CHANGES) return { changes, next: now }
      }
    }
    return { changes, next }
  }

  #arm(): void {
    clearTimeout(this.#timer)
    if (this.#nextDue !== Infinity) this.#sleep(this.#nextDue - this.clock.now())
  }

  #sleep(milliseconds: number): void {
    this.#timer = setTimeout(() => this.sweepWhenDue(), Math.min(Math.max(milliseconds, 1), MAX_SLEEP_MS))
    this.#timer.unref()
  }
}

/** IANA zone of a shape's centre. */
function timeZoneOf(shape: Shape): string {
  const [longitude, latitude] = shapeCenter(shape)
  return tzLookup(latitude, longitude)
}
