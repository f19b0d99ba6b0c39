/**
 * An entry is two words, so that eight fit a cache line. The first is the column (17 bits) and the lower 15 bits of
 * the row. The second, from the highest bit: half of the level (4 bits), whether it is a region, the upper bit of the
 * row, whether there is a list, and 25 bits of content: the one slot of the cell, where its list is, or how much a
 * region holds.
 */
const WORDS = 2
const LEVEL_SHIFT = 28
const REGION = 1 << 27
const UPPER_ROW_SHIFT = 26
const KEY = -1 << UPPER_ROW_SHIFT
const LIST = 1 << 25
const CONTENT = LIST - 1
/** The second word of an entry that has moved to the larger table. No level is fine enough to produce it. */
const MOVED = -1
/**
 * How many entries of the smaller table each insertion moves. Two would be enough to empty it before the next growth.
 */
const MOVED_PER_INSERTION = 16
/** How many words the shortest list has. Lists are counted in this unit. */
const LEAST_ROOM = 4
const LEAST_ROOM_LOG = 2

/**
 * Cell → slots, and region → how many geofences' cells it holds: one open-addressed hash table, so that a look-up is
 * one or two cache misses and allocates nothing. A cell with one slot, as most have where geofences are sparse, keeps
 * it in its entry; the lists of the others are in one pool.
 *
 * A list is its length and its slots, in a block of a power of two. Freed blocks are kept by size and reused.
 *
 * Moving all entries at once would block everything for 50 ms at 100,000 geofences, and longer with more. So the
 * smaller table stays beside the larger one and is emptied gradually, by insertions and by look-ups of entries that
 * are still there.
 *
 * Levels of one table are all odd or all even, slots below 33 million.
 */
export class CellTable {
  /** The memory of all lists. */
  #pool = new Int32Array(1024)
  #poolEnd = 0
  /** The starts of unused blocks, by the base-2 logarithm of their size. */
  readonly #free: number[][] = Array.from({ length: 32 }, () => [])
  /** The entries. The second word is 0 if there is none. */
  #entries = new Int32Array(1024 * WORDS)
  #mask = 1023
  /** The table before the last growth, until it is empty, and how far it has been emptied. */
  #old: Int32Array | undefined
  #oldMask = 0
  #emptied = 0
  #used = 0

  /**
   * Appends the slots of a cell to `out`.
   * @returns false if the cell has none
   */
  append(level: number, row: number, column: number, out: number[]): boolean {
    const at = this.#find(wordOf(row, column), keyOf(level, row))
    if (at < 0) return false
    const word = this.#entries[at + 1]!
    if ((word & LIST) === 0) {
      out.push(word & CONTENT)
      return true
    }
    const pool = this.#pool
    const start = (word & CONTENT) * LEAST_ROOM
    const end = start + pool[start]!
    for (let i = start + 1; i <= end; i++) out.push(pool[i]!)
    return true
  }

  /** Whether any cell in the region holds a geofence. */
  hasRegion(level: number, row: number, column: number): boolean {
    return this.#find(wordOf(row, column), keyOf(level, row) | REGION) >= 0
  }

  addToCell(level: number, row: number, column: number, slot: number): void {
    const key = keyOf(level, row)
    const found = this.#find(wordOf(row, column), key)
    if (found < 0) {
      this.#insert(wordOf(row, column), key | slot)
      return
    }
    const word = this.#entries[found + 1]!
    if ((word & LIST) === 0) {
      const start = this.#take(LEAST_ROOM_LOG)
      this.#pool[start] = 2
      this.#pool[start + 1] = word & CONTENT
      this.#pool[start + 2] = slot
      this.#entries[found + 1] = key | LIST | (start / LEAST_ROOM)
      return
    }
    const start = this.#roomFor((word & CONTENT) * LEAST_ROOM, 1)
    const length = this.#pool[start]! + 1
    this.#pool[start] = length
    this.#pool[start + length] = slot
    this.#entries[found + 1] = key | LIST | (start / LEAST_ROOM)
  }

  removeFromCell(level: number, row: number, column: number, slot: number): void {
    const key = keyOf(level, row)
    const at = this.#find(wordOf(row, column), key)
    if (at < 0) return
    const word = this.#entries[at + 1]!
    if ((word & LIST) === 0) {
      this.#erase(at)
      return
    }
    const pool = this.#pool
    const start = (word & CONTENT) * LEAST_ROOM
    const length = pool[start]!
    const place = pool.indexOf(slot, start + 1)
    pool[place] = pool[start + length]!
    if (length === 2) {
      this.#entries[at + 1] = key | pool[start + 1]!
      this.#free[LEAST_ROOM_LOG]!.push(start)
      return
    }
    const moved = this.#roomFor(start, -1)
    this.#pool[moved] = length - 1
    this.#entries[at + 1] = key | LIST | (moved / LEAST_ROOM)
  }

  addToRegion(level: number, row: number, column: number): void {
    const key = keyOf(level, row) | REGION
    const at = this.#find(wordOf(row, column), key)
    if (at < 0) this.#insert(wordOf(row, column), key | 1)
    else this.#entries[at + 1]!++
  }

  removeFromRegion(level: number, row: number, column: number): void {
    const at = this.#find(wordOf(row, column), keyOf(level, row) | REGION)
    if (at >= 0 && (--this.#entries[at + 1]! & CONTENT) === 0) this.#erase(at)
  }

  #find(word: number, key: number): number {
    const entries = this.#entries
    const mask = this.#mask
    for (let i = hash(word, key) & mask; ; i = (i + 1) & mask) {
      const at = i * WORDS
      const second = entries[at + 1]!
      if (entries[at] === word && isOf(key, second)) return at
      if (second === 0) return this.#old === undefined ? -1 : this.#findInOld(this.#old, word, key)
    }
  }

  /** Finds an entry in the smaller table and moves it, so that every returned index is one into the larger table. */
  #findInOld(old: Int32Array, word: number, key: number): number {
    const mask = this.#oldMask
    for (let i = hash(word, key) & mask; ; i = (i + 1) & mask) {
      const from = i * WORDS
      const second = old[from + 1]!
      if (old[from] === word && isOf(key, second)) return this.#move(old, from)
      if (second === 0) return -1
    }
  }

  #insert(word: number, second: number): void {
    // The table is at most two thirds full.
    if (this.#used * 3 > this.#mask * 2) this.#grow()
    if (this.#old !== undefined) this.#empty(this.#old)
    this.#used++
    insert(this.#entries, this.#mask, word, second)
  }

  #grow(): void {
    // Usually there is nothing left, because fewer insertions empty it than are needed to grow again.
    while (this.#old !== undefined) this.#empty(this.#old)
    this.#old = this.#entries
    this.#oldMask = this.#mask
    this.#emptied = 0
    this.#mask = this.#mask * 2 + 1
    this.#entries = new Int32Array((this.#mask + 1) * WORDS)
  }

  /** Moves some entries to the larger table. */
  #empty(old: Int32Array): void {
    const end = Math.min(old.length, this.#emptied + MOVED_PER_INSERTION * WORDS)
    for (let from = this.#emptied; from < end; from += WORDS) {
      if (old[from + 1] !== 0 && old[from + 1] !== MOVED) this.#move(old, from)
    }
    this.#emptied = end
    if (end === old.length) this.#old = undefined
  }

  #move(old: Int32Array, from: number): number {
    const at = insert(this.#entries, this.#mask, old[from]!, old[from + 1]!)
    old[from + 1] = MOVED
    return at
  }

  /** Closes the gap by moving entries that would no longer be found behind it (linear probing without tombstones). */
  #erase(at: number): void {
    const entries = this.#entries
    const mask = this.#mask
    let gap = at / WORDS
    for (let i = (gap + 1) & mask; entries[i * WORDS + 1] !== 0; i = (i + 1) & mask) {
      const home = hash(entries[i * WORDS]!, keyIn(entries[i * WORDS + 1]!)) & mask
      if (((i - home) & mask) < ((i - gap) & mask)) continue
      entries.copyWithin(gap * WORDS, i * WORDS, (i + 1) * WORDS)
      gap = i
    }
    entries.fill(0, gap * WORDS, (gap + 1) * WORDS)
    this.#used--
  }

  /** Where a list continues when it grows by `more`: in place, or moved to a block that fits. */
  #roomFor(start: number, more: number): number {
    const length = this.#pool[start]!
    const log = roomLog(length)
    const needed = roomLog(length + more)
    if (needed === log) return start
    const moved = this.#take(needed)
    this.#pool.copyWithin(moved, start, start + 1 + Math.min(length, length + more))
    this.#free[log]!.push(start)
    return moved
  }

  /** A block of 2^log words. */
  #take(log: number): number {
    const reused = this.#free[log]!.pop()
    if (reused !== undefined) return reused
    const start = this.#poolEnd
    this.#poolEnd += 1 << log
    if (this.#poolEnd > this.#pool.length) {
      const pool = new Int32Array(Math.max(this.#poolEnd, this.#pool.length * 2))
      pool.set(this.#pool)
      this.#pool = pool
    }
    return start
  }
}

function wordOf(row: number, column: number): number {
  return (column << 15) | (row & 0x7fff)
}

function keyOf(level: number, row: number): number {
  return ((level >> 1) << LEVEL_SHIFT) | ((row >> 15) << UPPER_ROW_SHIFT)
}

/** The key of an entry's second word. */
function keyIn(second: number): number {
  return second & KEY
}

function isOf(key: number, second: number): boolean {
  return (second & KEY) === key
}

/** The base-2 logarithm of the size of the block for a list with this many slots. */
function roomLog(length: number): number {
  return Math.max(LEAST_ROOM_LOG, 32 - Math.clz32(length))
}

function insert(entries: Int32Array, mask: number, word: number, second: number): number {
  let i = hash(word, keyIn(second)) & mask
  while (entries[i * WORDS + 1] !== 0) i = (i + 1) & mask
  entries[i * WORDS] = word
  entries[i * WORDS + 1] = second
  return i * WORDS
}

/** Two odd multipliers (golden ratio, murmur3), and a shift that brings the high bits down to the mask. */
function hash(word: number, key: number): number {
  const mixed = Math.imul(word, 0x9e3779b1) ^ Math.imul(key >>> UPPER_ROW_SHIFT, 0x85ebca6b)
  return mixed ^ (mixed >>> 15)
}
