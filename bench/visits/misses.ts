import type { PlaceFootprint } from '../../src/geo/placeDatabase/placeFootprints.ts'
import { candidatesAt, decidedBy } from './bounds.ts'
import type { PlacedCity } from './city.ts'
import type { Day, TrueVisit } from './days.ts'
import type { FoundVisit } from './engine.ts'
import type { Report } from './phone.ts'
import { bestOf, isLong } from './score.ts'

/** Long stays that were not found with the right place first, by cause. */
export interface MissRow {
  /** Whether the order would have been right at the true location. */
  readonly cause: string
  /** What the map knows of the place of the stay, and of the one that was entered. */
  readonly places: string
  /** What put the other place first. */
  readonly because: string
  stays: number
}

/** Counts misses by cause. */
export class Misses {
  readonly #city: PlacedCity
  readonly #places: ReadonlyMap<string, PlaceFootprint>
  readonly #rows = new Map<string, MissRow>()

  constructor(city: PlacedCity) {
    this.#city = city
    this.#places = new Map(city.places.map((place) => [place.key, place]))
  }

  /** Adds what was missed of a day. */
  add({ way, visits }: Day, reports: readonly Report[], found: readonly FoundVisit[]): void {
    for (const visit of visits) {
      const best = bestOf(visit, found)
      if (!isLong(visit) || best?.place === visit.place.key) continue
      const row = best === undefined ? NOT_FOUND : this.#rowOf(visit, best, reports, way)
      const key = JSON.stringify(row)
      const known = this.#rows.get(key)
      if (known === undefined) this.#rows.set(key, { ...row, stays: 1 })
      else known.stays++
    }
  }

  /** The most frequent ones first. */
  get rows(): MissRow[] {
    return [...this.#rows.values()].toSorted((a, b) => b.stays - a.stays)
  }

  #rowOf(visit: TrueVisit, best: FoundVisit, reports: readonly Report[], way: Day['way']) {
    const { key } = visit.place
    const atSeat = candidatesAt(this.#city, way[visit.from]!)
    const isRightAtSeat = atSeat[0]?.place.id === key
    // Where the error of the location is the cause, the order at that location tells more.
    const candidates = isRightAtSeat
      ? candidatesAt(
          this.#city,
          reports.find(({ second }) => second === best.from)!,
        )
      : atSeat
    const of = (id: string) => candidates.find(({ place }) => place.id === id)
    const kind = (id: string) => (this.#places.get(id)!.rings.length > 0 ? 'area' : 'point')
    return {
      cause: isRightAtSeat ? 'error of the location' : 'order, even at the true location',
      places: `${kind(key)}, entered ${kind(best.place)}`,
      because: decidedBy(isRightAtSeat ? of(best.place) : candidates[0], of(key)),
    }
  }
}

const NOT_FOUND = { cause: 'no place entered', places: '', because: '' }
