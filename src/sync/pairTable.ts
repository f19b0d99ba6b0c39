/**
 * The pairs of tag and externalId that sources name, by their hash: open addressing with linear probing, in arrays of
 * numbers.
 *
 * The obvious way is a `Map`, which takes a hundred bytes for each of a million pairs, and is copied by the garbage collector.
 *
 * Owns: places, growth. Does not own: hashes, what a row is.
 */
const FIRST_SLOTS = 1024
/** The largest share of the slots that is used. */
const LOAD = 0.75
const EMPTY = -1

export class PairTable {
  #hashes = new Float64Array(FIRST_SLOTS).fill(EMPTY)
  #rows = new Uint32Array(FIRST_SLOTS)
  /** A bit for each file. */
  #files = new Uint32Array(FIRST_SLOTS)
  #size = 0

  get size(): number {
    return this.#size
  }

  /**
   * A file names the pair in a row, which replaces an earlier one.
   * @param hash not negative
   * @param files bits of the files that name it, which are added to those that are known
   */
  put(hash: number, row: number, files: number): void {
    if (this.#size >= this.#hashes.length * LOAD) this.#grow()
    const slot = this.#slotOf(hash)
    if (this.#hashes[slot] === EMPTY) this.#size++
    this.#hashes[slot] = hash
    this.#rows[slot] = row
    this.#files[slot] = this.#files[slot]! | files
  }

  has(hash: number): boolean {
    return this.#hashes[this.#slotOf(hash)] !== EMPTY
  }

  /** The row that was put last; of a pair that is not there, 0. */
  rowOf(hash: number): number {
    return this.#rows[this.#slotOf(hash)]!
  }

  /** The bits of the files that name a pair; 0 if none does. */
  filesOf(hash: number): number {
    return this.#files[this.#slotOf(hash)]!
  }

  /** Puts all pairs of another table, as if they came now. */
  putAll(others: PairTable): void {
    for (const [slot, hash] of others.#hashes.entries())
      if (hash !== EMPTY) this.put(hash, others.#rows[slot]!, others.#files[slot]!)
  }

  /** Where the pair is, or where it would be. */
  #slotOf(hash: number): number {
    const hashes = this.#hashes
    // The low bits of a hash are as good as all of them.
    const mask = hashes.length - 1
    let slot = (hash % 2 ** 32) & mask
    while (hashes[slot] !== EMPTY && hashes[slot] !== hash) slot = (slot + 1) & mask
    return slot
  }

  #grow(): void {
    const [hashes, rows, files] = [this.#hashes, this.#rows, this.#files]
    this.#hashes = new Float64Array(2 * hashes.length).fill(EMPTY)
    this.#rows = new Uint32Array(2 * hashes.length)
    this.#files = new Uint32Array(2 * hashes.length)
    for (const [slot, hash] of hashes.entries()) {
      if (hash === EMPTY) continue
      const to = this.#slotOf(hash)
      this.#hashes[to] = hash
      this.#rows[to] = rows[slot]!
      this.#files[to] = files[slot]!
    }
  }
}
