/** Entry layout: row and kind, column, where the list starts in the pool, its length. Four words share a cache line. */
const WORDS = 4
/** Above the row (17 bits) and the level (5 bits). */
const REGION_BIT = 1 << 22
/** In place of the first word of an entry that has moved to the larger table. */
const MOVED = -1
/** Entries of the smaller table that each insertion moves: two would do for it to be empty before the next growth. */
const MOVED_PER_INSERTION = 16

/**
 * Cell → list of slots, and region → how many geofences' cells it holds: one open-addressed hash table whose lists
 * live in one pool, so that a look-up is one or two cache misses and allocates nothing.
 *
 * A list of n slots has room for the next power of two ≥ n; room that is given back is kept by size and used again.
 *
 * Growing by moving all entries at once would stop everything for 50 ms at 100,000 geofences, and longer with more. So
 * the smaller table stays beside the larger one, and is emptied little by little: by insertions, and by look-ups of what
 * is still there.
 */
export class CellTable {
  /** Slots of all lists. Replaced when it grows: read it anew after an insertion. */
  pool = new Int32Array(1024)
  /** Entries of {@link WORDS} words; the first word is 0 where there is none. Replaced when it grows. */
  entries = new Int32Array(1024 * WORDS)
  #mask = 1023
  /** The table before the last growth, while something is left in it, and how far it is emptied. */
  #old: Int32Array | undefined
  #oldMask = 0
  #emptied = 0
  #used = 0
  #poolEnd = 0
  /** By log2 of the room: starts of unused lists. */
  readonly #free: number[][] = Array.from({ length: 32 }, () => [])

  /** Index into `entries` of a cell's entry, or −1: slots are at `pool[entries[i + 2]]`, `entries[i + 3]` of them. */
  findCell(level: number, row: number, column: number): number {
    return this.#find((level << 17) | row, column)
  }

  /** Whether any cell in the region holds a geofence. */
  hasRegion(level: number, row: number, column: number): boolean {
    return this.#find(REGION_BIT | (level << 17) | row, column) >= 0
  }

  addToCell(level: number, row: number, column: number, slot: number): void {
    const at = this.#findOrInsert((level << 17) | row, column)
    const entries = this.entries
    const length = entries[at + 3]!
    if ((length & (length - 1)) === 0) {
      const start = this.#take(length === 0 ? 0 : 32 - Math.clz32(length))
      if (length > 0) this.#moveList(entries[at + 2]!, start, length, length)
      entries[at + 2] = start
    }
    this.pool[entries[at + 2]! + length] = slot
    entries[at + 3] = length + 1
  }

  removeFromCell(level: number, row: number, column: number, slot: number): void {
    const at = this.findCell(level, row, column)
    if (at < 0) return
    const entries = this.entries
    const start = entries[at + 2]!
    const left = entries[at + 3]! - 1
    const pool = this.pool
    for (let i = start; i <= start + left; i++) {
      if (pool[i] !== slot) continue
      pool[i] = pool[start + left]!
      break
    }
    entries[at + 3] = left
    if (left === 0) {
      this.#free[0]!.push(start)
      this.#erase(at)
    } else if ((left & (left - 1)) === 0) {
      const log = 31 - Math.clz32(left)
      entries[at + 2] = this.#take(log)
      this.#moveList(start, entries[at + 2]!, left, left * 2)
    }
  }

  addToRegion(level: number, row: number, column: number): void {
    const at = this.#findOrInsert(REGION_BIT | (level << 17) | row, column)
    this.entries[at + 3]!++
  }

  removeFromRegion(level: number, row: number, column: number): void {
    const at = this.#find(REGION_BIT | (level << 17) | row, column)
    if (at >= 0 && --this.entries[at + 3]! === 0) this.#erase(at)
  }

  #find(key: number, column: number): number {
    const entries = this.entries
    const mask = this.#mask
    for (let i = hash(key, column) & mask; ; i = (i + 1) & mask) {
      const at = i * WORDS
      const found = entries[at]!
      if (found === key && entries[at + 1] === column) return at
      if (found === 0) return this.#old === undefined ? -1 : this.#findInOld(this.#old, key, column)
    }
  }

  /** Moves what it finds, so that every index is one into `entries`. */
  #findInOld(old: Int32Array, key: number, column: number): number {
    const mask = this.#oldMask
    for (let i = hash(key, column) & mask; ; i = (i + 1) & mask) {
      const from = i * WORDS
      const found = old[from]!
      if (found === key && old[from + 1] === column) return this.#move(old, from)
      if (found === 0) return -1
    }
  }

  #findOrInsert(key: number, column: number): number {
    const found = this.#find(key, column)
    if (found >= 0) return found
    if (this.#used * 2 > this.#mask) this.#grow()
    if (this.#old !== undefined) this.#empty(this.#old)
    this.#used++
    return insert(this.entries, this.#mask, key, column)
  }

  #grow(): void {
    // Nothing is left in it as a rule: it was emptied by fewer insertions than it takes to grow again.
    while (this.#old !== undefined) this.#empty(this.#old)
    this.#old = this.entries
    this.#oldMask = this.#mask
    this.#emptied = 0
    this.#mask = this.#mask * 2 + 1
    this.entries = new Int32Array((this.#mask + 1) * WORDS)
  }

  /** Moves some entries to the larger table. */
  #empty(old: Int32Array): void {
    const end = Math.min(old.length, this.#emptied + MOVED_PER_INSERTION * WORDS)
    for (let from = this.#emptied; from < end; from += WORDS) {
      if (old[from] !== 0 && old[from] !== MOVED) this.#move(old, from)
    }
    this.#emptied = end
    if (end === old.length) this.#old = undefined
  }

  #move(old: Int32Array, from: number): number {
    const at = insert(this.entries, this.#mask, old[from]!, old[from + 1]!)
    this.entries[at + 2] = old[from + 2]!
    this.entries[at + 3] = old[from + 3]!
    old[from] = MOVED
    return at
  }

  /** Closes the gap by moving back what would no longer be found behind it (linear probing without tombstones). */
  #erase(at: number): void {
    const entries = this.entries
    const mask = this.#mask
    let gap = at / WORDS
    for (let i = (gap + 1) & mask; entries[i * WORDS] !== 0; i = (i + 1) & mask) {
      const home = hash(entries[i * WORDS]!, entries[i * WORDS + 1]!) & mask
      if (((i - home) & mask) < ((i - gap) & mask)) continue
      entries.copyWithin(gap * WORDS, i * WORDS, (i + 1) * WORDS)
      gap = i
    }
    entries.fill(0, gap * WORDS, (gap + 1) * WORDS)
    this.#used--
  }

  /** Room for 2^log slots. */
  #take(log: number): number {
    const reused = this.#free[log]!.pop()
    if (reused !== undefined) return reused
    const start = this.#poolEnd
    this.#poolEnd += 1 << log
    if (this.#poolEnd > this.pool.length) {
      const pool = new Int32Array(Math.max(this.#poolEnd, this.pool.length * 2))
      pool.set(this.pool)
      this.pool = pool
    }
    return start
  }

  #moveList(from: number, to: number, length: number, room: number): void {
    this.pool.copyWithin(to, from, from + length)
    this.#free[31 - Math.clz32(room)]!.push(from)
  }
}

function insert(entries: Int32Array, mask: number, key: number, column: number): number {
  let i = hash(key, column) & mask
  while (entries[i * WORDS] !== 0) i = (i + 1) & mask
  entries[i * WORDS] = key
  entries[i * WORDS + 1] = column
  return i * WORDS
}

/** Two odd multipliers (golden ratio, murmur3) and a shift that brings the high bits down to the mask. */
function hash(key: number, column: number): number {
  const mixed = Math.imul(key, 0x9e3779b1) ^ Math.imul(column, 0x85ebca6b)
  return mixed ^ (mixed >>> 15)
}
