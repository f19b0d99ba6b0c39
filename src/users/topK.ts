/** Keeps the offered items with the lowest keys, for the page of a scan. */
export class TopK<T> {
  readonly #limit: number
  readonly #keys: number[] = []
  readonly #held: T[] = []

  /**
   * Keeps nothing yet.
   * @param limit how many items are kept, at least 1
   */
  constructor(limit: number) {
    this.#limit = limit
  }

  /** Whether an item with this key would be kept. */
  wants(key: number): boolean {
    return this.#keys.length < this.#limit || key < this.#keys.at(-1)!
  }

  offer(key: number, item: T): void {
    if (!this.wants(key)) return
    // This is a binary search for the position after equal keys. Pages have at most a thousand items.
    let low = 0
    let high = this.#keys.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#keys[middle]! <= key) low = middle + 1
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
