/** Where the index stores its items, by slot and by id. An item keeps its slot until it is removed. */
export interface SlotStore<T> {
  readonly size: number
  /** The number after the highest slot that was ever used. */
  readonly end: number
  /** Makes room for this many items at once, because growing in steps leaves as much garbage. */
  expect(count: number): void
  /** The slot of an id; −1 if it is unknown. */
  slotOf(id: string): number
  has(slot: number): boolean
  /** The item in a slot that is in use. */
  get(slot: number): T
  /** Like the call above, for callers that look at each item once: it does not count as being used. */
  glimpse(slot: number): T
  /** Adds an item, or replaces the one with its id. Returns its slot. */
  put(item: T): number
  /** Frees a slot that is in use. */
  remove(slot: number): void
}

/** A slot store that keeps the objects themselves. */
export class ObjectSlotStore<T extends { readonly id: string }> implements SlotStore<T> {
  readonly #slots = new Map<string, number>()
  readonly #items: (T | undefined)[] = []
  readonly #freeSlots: number[] = []

  get size(): number {
    return this.#slots.size
  }

  get end(): number {
    return this.#items.length
  }

  /** Objects need no preparation. */
  expect(): void {}

  slotOf(id: string): number {
    return this.#slots.get(id) ?? -1
  }

  has(slot: number): boolean {
    return this.#items[slot] !== undefined
  }

  get(slot: number): T {
    return this.#items[slot]!
  }

  glimpse(slot: number): T {
    return this.#items[slot]!
  }

  put(item: T): number {
    const slot = this.#slots.get(item.id) ?? this.#freeSlots.pop() ?? this.#items.length
    this.#slots.set(item.id, slot)
    this.#items[slot] = item
    return slot
  }

  remove(slot: number): void {
    this.#slots.delete(this.#items[slot]!.id)
    this.#items[slot] = undefined
    this.#freeSlots.push(slot)
  }
}
