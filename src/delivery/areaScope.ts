import type { LivePosition } from '../actor/port.ts'
import { LiveAreas } from '../spatial/liveAreas.ts'
import type { AreaWatch } from './areaWatch.ts'
import type { HookEntry } from './hookLog.ts'

/** The areas of hooks of one scope. */
export class AreaScope {
  readonly #areas = new LiveAreas<AreaWatch>()
  /** The areas in which devices must be known because they may cross an area. */
  readonly #reaches = new LiveAreas<AreaWatch>()
  readonly #watches = new Set<AreaWatch>()
  readonly #found: AreaWatch[] = []

  get size(): number {
    return this.#watches.size
  }

  /** Adds a watch; returns the area to look at. */
  add(watch: AreaWatch) {
    this.#areas.put(watch, watch.area)
    this.#watches.add(watch)
    const reach = watch.reach(this.#areas)
    if (watch.tellsCrossings) this.#reaches.put(watch, reach)
    return reach
  }

  remove(watch: AreaWatch): void {
    this.#areas.remove(watch)
    this.#reaches.remove(watch)
    this.#watches.delete(watch)
  }

  /**
   * Judges a position: a device has moved, or the look of the watch `only` has found it. Between two steps, other work
   * may run.
   * @param told receives the messages and stays to be stored
   */
  *moved(
    position: LivePosition,
    now: number,
    told: (watch: AreaWatch, entry: HookEntry | undefined) => void,
    only?: AreaWatch,
  ): Generator<void, void> {
    const { deviceId } = position
    const inside = this.#holding(this.#areas, position)
    const near = this.#holding(this.#reaches, position)
    for (const watch of only === undefined ? [...this.#watches] : [only]) {
      if (!this.#watches.has(watch)) continue
      const isInside = inside.has(watch)
      const isNear = near.has(watch)
      if (!isInside && !isNear && !watch.stays.has(deviceId)) continue
      told(watch, watch.moved(position, isInside, isNear, this.#areas, now))
      yield
    }
  }

  /** Judges the removal of a record. */
  *removed(
    deviceId: string,
    recordId: string,
    told: (watch: AreaWatch, entry: HookEntry | undefined) => void,
  ): Generator<void, void> {
    for (const watch of this.#watches) told(watch, watch.removed(deviceId, recordId))
    yield
  }

  #holding(areas: LiveAreas<AreaWatch>, { latitude, longitude }: LivePosition): ReadonlySet<AreaWatch> {
    this.#found.length = 0
    areas.holding(latitude, longitude, this.#found)
    return new Set(this.#found)
  }
}
