/**
 * A set of 32-bit hashes, in 5 to 11 bytes each. A `Set` of texts would take ten times as much, and work of the garbage
 * collector. If there are too many, those that were added long ago are forgotten.
 */

const FIRST_SLOTS = 64
/** Open addressing needs free slots. */
const MOST_FULL = 3 / 4
const EMPTY = 0

export class HashSet {
  readonly #most: number
  #young = new Int32Array(FIRST_SLOTS)
  #count = 0
  #old = new Int32Array(FIRST_SLOTS)

  /**
   * An empty set.
   * @param most how many it may have; at least half of them, the latest, are always there
   */
  constructor(most: number) {
    this.#most = most
  }

  has(hash: number): boolean {
    const wanted = keptAs(hash)
    return (
      this.#young[slotOf(this.#young, wanted)] === wanted || this.#old[slotOf(this.#old, wanted)] === wanted
    )
  }

  add(hash: number): void {
    const added = keptAs(hash)
    const slot = slotOf(this.#young, added)
    if (this.#young[slot] === added) return
    this.#young[slot] = added
    this.#count++
    if (2 * this.#count >= this.#most) {
      this.#old = this.#young
      this.#young = new Int32Array(FIRST_SLOTS)
      this.#count = 0
    } else if (this.#count > MOST_FULL * this.#young.length) this.#grow()
  }

  #grow(): void {
    const before = this.#young
    this.#young = new Int32Array(2 * before.length)
    for (const hash of before) if (hash !== EMPTY) this.#young[slotOf(this.#young, hash)] = hash
  }
}

/** The slot that has the hash, or else the one for it. */
function slotOf(slots: Int32Array, hash: number): number {
  const mask = slots.length - 1
  let slot = hash & mask
  while (slots[slot] !== EMPTY && slots[slot] !== hash) slot = (slot + 1) & mask
  return slot
}

function keptAs(hash: number): number {
  const kept = hash | 0
  return kept === EMPTY ? 1 : kept
}
