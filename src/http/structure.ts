import { randomBytes } from 'node:crypto'

/** Deeper nesting is refused. Nothing in the interface needs more than a few levels. */
export const MAX_DEPTH = 64
/**
 * How many objects and lists there may be together. A thousand updates have about ten thousand, a ring with the most
 * positions two thousand.
 */
const MAX_CONTAINERS = 20_000
/**
 * How many values of any kind there may be. They are not counted in JSON, in which a million bytes of values take five
 * milliseconds.
 */
const MAX_VALUES = 200_000
/**
 * How many names of members there may be. A thousand updates with all fields and metadata have about fifty thousand.
 */
const MAX_NAMES = 100_000
/**
 * How many different names there may be. Each is created and remembered, which costs many times as much as a known
 * name.
 */
const MAX_DIFFERENT_NAMES = 5_000

const BITS = 16

/**
 * Counts the contents of a text or bytes as they are read. Different names are counted by their hashes, so some are
 * missed. The object is reused, and {@link begin} must be called first.
 */
export class Structure {
  /** What is too much, as a sentence; undefined if nothing is. */
  excess: string | undefined
  /** The value with which hashes begin, so that nobody can choose names with the same hash. */
  readonly seed = randomBytes(4).readInt32LE()
  #depth = 0
  #containers = 0
  #values = 0
  #names = 0
  #differentNames = 0
  readonly #seen = new Uint8Array(1 << BITS)

  begin(): void {
    this.excess = undefined
    this.#depth = this.#containers = this.#values = this.#names = 0
    if (this.#differentNames > 0) this.#seen.fill(0)
    this.#differentNames = 0
  }

  /** Begins another text of the same form or query. */
  beginText(): void {
    this.#depth = 0
  }

  /** Counts an object or list that begins. */
  open(): void {
    if (++this.#depth > MAX_DEPTH) this.excess = `Must not be nested deeper than ${MAX_DEPTH} levels.`
    else this.container()
  }

  close(): void {
    this.#depth--
  }

  /** Counts an object or list whose depth is counted elsewhere. */
  container(): void {
    if (++this.#containers <= MAX_CONTAINERS) return
    this.excess = `Must have at most ${MAX_CONTAINERS} objects and lists in all. Send less at a time.`
  }

  /** Counts a value of any kind. */
  value(): void {
    if (++this.#values > MAX_VALUES)
      this.excess = `Must have at most ${MAX_VALUES} values in all. Send less at a time.`
  }

  /** Counts the name of a member by its hash. */
  name(hash: number): void {
    if (++this.#names > MAX_NAMES)
      this.excess = `Must have at most ${MAX_NAMES} keys in all. Send less at a time.`
    const slot = (hash ^ (hash >>> BITS)) & ((1 << BITS) - 1)
    if (this.#seen[slot] === 1) return
    this.#seen[slot] = 1
    if (++this.#differentNames > MAX_DIFFERENT_NAMES)
      this.excess = `Must have at most ${MAX_DIFFERENT_NAMES} different keys in all. Send less at a time.`
  }
}
