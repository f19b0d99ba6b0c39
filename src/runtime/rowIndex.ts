/**
 * Rows by hash: open addressing with linear probing, in one array of numbers.
 *
 * The obvious way is a `Map` from names to rows: a string and an entry per record, a hundred bytes for the garbage
 * collector. Here the names stay in the records, and the caller compares them with those of the rows that are found.
 *
 * Owns: places, growth. Does not own: hashes, what a row stands for.
 */
const FIRST_SLOTS = 64
const EMPTY = -1

export class RowIndex {
  /** Each row and its hash, in turn. */
  #pairs = new Int32Array(2 * FIRST_SLOTS).fill(EMPTY)
  #mask = FIRST_SLOTS - 1
  #count = 0

  /** The first slot with this hash; −1 if there is none. Valid until something is added or removed. */
  find(hash: number): number {
    return this.#search(hash & this.#mask, hash)
  }

  /** The next slot with this hash; −1 if there is none. */
  findAfter(slot: number, hash: number): number {
    return this.#search((slot + 1) & this.#mask, hash)
  }

  row(slot: number): number {
    return this.#pairs[2 * slot]!
  }

  setRow(slot: number, row: number): void {
    this.#pairs[2 * slot] = row
  }

  add(row: number, hash: number): void {
    this.expect(++this.#count)
    this.#place(row, hash)
  }

  /** Makes room for this many rows. */
  expect(rows: number): void {
    // It is at most half full. An unsuccessful search then reads two and a half slots on average.
    if (2 * rows > this.#mask + 1) this.#resize(2 ** Math.ceil(Math.log2(2 * rows)))
  }

  /** Removes an entry and closes the gap, so that no search ends there too early. */
  remove(slot: number): void {
    const pairs = this.#pairs
    const mask = this.#mask
    this.#count--
    let gap = slot
    for (let at = (gap + 1) & mask; pairs[2 * at] !== EMPTY; at = (at + 1) & mask) {
      const home = pairs[2 * at + 1]! & mask
      if (((at - home) & mask) < ((at - gap) & mask)) continue
      pairs[2 * gap] = pairs[2 * at]!
      pairs[2 * gap + 1] = pairs[2 * at + 1]!
      gap = at
    }
    pairs[2 * gap] = EMPTY
  }

  #search(from: number, hash: number): number {
    const pairs = this.#pairs
    const mask = this.#mask
    for (let slot = from; pairs[2 * slot] !== EMPTY; slot = (slot + 1) & mask)
      if (pairs[2 * slot + 1] === hash) return slot
    return -1
  }

  #place(row: number, hash: number): void {
    const pairs = this.#pairs
    const mask = this.#mask
    let slot = hash & mask
    while (pairs[2 * slot] !== EMPTY) slot = (slot + 1) & mask
    pairs[2 * slot] = row
    pairs[2 * slot + 1] = hash
  }

  #resize(slots: number): void {
    const pairs = this.#pairs
    this.#pairs = new Int32Array(2 * slots).fill(EMPTY)
    this.#mask = slots - 1
    for (let at = 0; at < pairs.length; at += 2)
      if (pairs[at] !== EMPTY) this.#place(pairs[at]!, pairs[at + 1]!)
  }
}
