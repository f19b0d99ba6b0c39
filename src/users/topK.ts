/** Keeps the offered items with the lowest keys, for the page of a scan. */
export class TopK<T> {
  readonly #limit: number
  readonly #isBefore: ((one: T, other: T) => boolean) | undefined
  readonly #keys: number[] = []
  readonly #held: T[] = []

  /**
   * Keeps nothing yet.
   * @param limit how many items are kept, at least 1
   * @param isBefore the order of items with the same key; without it they are in the order in which they are offered
   */
  constructor(limit: number, isBefore?: (one: T, other: T) => boolean) {
    this.#limit = limit
    this.#isBefore = isBefore
  }

  /** Whether an item with this key would be kept. */
  wants(key: number): boolean {
    if (this.#keys.length < this.#limit) return true
    const last = this.#keys.at(-1)!
    return key < last || (key === last && this.#isBefore !== undefined)
  }

  offer(key: number, item: T): void {
    if (!this.wants(key)) return
    // This is a binary search. Pages have at most a thousand items.
    let low = 0
    let high = this.#keys.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const at = this.#keys[middle]!
      const isBehind = at === key && this.#isBefore?.(item, this.#held[middle]!) !== true
      if (at < key || isBehind) low = middle + 1
      else high = middle
    }
    this.#keys.splice(low, 0, key)
    this.#held.splice(low, 0, item)
    if (this.#keys.length > this.#limit) {
      this.#keys.pop()
      this.#held.pop()
    }
  }

  /** The kept items, lowest key first. */
  items(): T[] {
    return this.#held
  }
}
