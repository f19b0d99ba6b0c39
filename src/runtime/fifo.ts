/** So many taken items are not moved out of the way, because moving few would cost more than it saves. */
const FEW_TAKEN = 32

/**
 * A queue: first in, first out. Taking one takes the same time however many wait. `Array.shift` moves all others once they
 * are some 20,000: half a millisecond each among a million.
 */
export class Fifo<T> {
  #items: (T | undefined)[] = []
  /** How many items at the front have been taken already. */
  #taken = 0

  get length(): number {
    return this.#items.length - this.#taken
  }

  /** The oldest item; undefined if there is none. */
  get first(): T | undefined {
    return this.#items[this.#taken]
  }

  push(item: T): void {
    this.#items.push(item)
  }

  /** Removes and returns the oldest item; undefined if there is none. */
  shift(): T | undefined {
    if (this.length === 0) return undefined
    const item = this.#items[this.#taken]
    // It must not be kept in memory until the others move.
    this.#items[this.#taken++] = undefined
    if (this.#taken > FEW_TAKEN && this.#taken * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#taken)
      this.#taken = 0
    }
    return item
  }

  clear(): void {
    this.#items = []
    this.#taken = 0
  }

  /** From the oldest to the newest. */
  *[Symbol.iterator](): IterableIterator<T> {
    for (let i = this.#taken; i < this.#items.length; i++) yield this.#items[i]!
  }
}
