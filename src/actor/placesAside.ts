import type { PlaceStays } from '../model/place.ts'
import { placesWith } from '../rules/placeStep.ts'

/**
 * The places of the records of one partition whose first candidate is another one than in their profile. A device that drives through
 * a town changes it every few seconds, and each new profile of thirty fields would cost the garbage collector more than finding the
 * place. Even an object for each candidate would live just long enough to be moved, so they are in columns.
 *
 * Owns: the first candidates. Does not own: when they are written into the profile (deviceTable.ts).
 */
export class PlacesAside {
  /** The places with an older first candidate; undefined where the profile says it all. */
  readonly #places: (PlaceStays | undefined)[] = []
  readonly #ids: (string | undefined)[] = []
  #since = new Float64Array()

  /** Whether any record has ever had places here. */
  get areUsed(): boolean {
    return this.#places.length > 0
  }

  /** The places of a record, but with an older first candidate; undefined if the profile says it all. */
  olderOf(row: number): PlaceStays | undefined {
    return row < this.#places.length ? this.#places[row] : undefined
  }

  /** The `_id` of the first candidate of a record that has places here; undefined if it has no candidate. */
  firstOf(row: number): string | undefined {
    return this.#ids[row]
  }

  /** The time since which it is the first, in epoch milliseconds. */
  sinceOf(row: number): number {
    return this.#since[row]!
  }

  /** The places of a record, with its first candidate; undefined if the profile says it all. */
  of(row: number): PlaceStays | undefined {
    const places = this.olderOf(row)
    if (places === undefined) return undefined
    const id = this.#ids[row]
    const since = this.#since[row]!
    const { first } = places
    if (id === first?.id && (first === undefined || since === first.since)) return places
    const joined = placesWith({ ...places, first: id === undefined ? undefined : { id, since } })
    this.#places[row] = joined
    return joined
  }

  /**
   * Stores a first candidate.
   * @param places those of the record, with any first candidate
   * @param id undefined if there is no candidate
   * @param since the time since which it is the first, in epoch milliseconds
   * @param capacity how many rows there may be
   */
  put(row: number, places: PlaceStays, id: string | undefined, since: number, capacity: number): void {
    // Gaps would make V8 keep the arrays as dictionaries.
    while (this.#places.length <= row) {
      this.#places.push(undefined)
      this.#ids.push(undefined)
    }
    if (row >= this.#since.length) {
      const grown = new Float64Array(capacity)
      grown.set(this.#since)
      this.#since = grown
    }
    this.#places[row] = places
    this.#ids[row] = id
    this.#since[row] = since
  }

  forget(row: number): void {
    if (row >= this.#places.length) return
    this.#places[row] = undefined
    this.#ids[row] = undefined
  }

  /** A number that depends on each place in the memory where something of the row is, and has no meaning. */
  anyOf(row: number): number {
    if (row >= this.#places.length) return 0
    const isHere = this.#places[row]?.stay === undefined
    return this.#since[row]! + (this.#ids[row] === undefined ? 1 : 0) + (isHere ? 1 : 0)
  }
}
