import { randomBytes } from 'node:crypto'

/** Deeper nesting than this is refused: nothing in the interface needs more than a few levels. */
export const MAX_DEPTH = 64
/**
 * All objects and lists together: a thousand updates have about ten thousand, a ring with the most positions two
 * thousand.
 */
const MAX_CONTAINERS = 20_000
/** Values of any kind. They are not counted in JSON, in which a million bytes of values take five milliseconds. */
const MAX_VALUES = 200_000
/** Names of all members: a thousand updates with all fields and metadata have about fifty thousand. */
const MAX_NAMES = 100_000
/** Different names in all: each is created and remembered, which costs many times what a known name costs. */
const MAX_DIFFERENT_NAMES = 5_000

const BITS = 16

/**
 * Counts the contents of a text or bytes as they are read. Different names are counted by their hashes, so some are
 * missed. Reused: call {@link begin} first.
 */
export class Structure {
  /** What is too much, in a sentence; undefined if nothing is yet. */
  excess: string | undefined
  /** To begin hashes with, so that nobody knows names of one hash. */
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

  /** Another text of the same begins. */
  beginText(): void {
    this.#depth = 0
  }

  /** An object or list begins. */
  open(): void {
    if (++this.#depth > MAX_DEPTH) this.excess = `Must not be nested deeper than ${MAX_DEPTH} levels.`
    else this.container()
  }

  close(): void {
    this.#depth--
  }

  /** There is an object or list; its depth is counted elsewhere. */
  container(): void {
    if (++this.#containers <= MAX_CONTAINERS) return
    this.excess = `Must have at most ${MAX_CONTAINERS} objects and lists in all. Send less at a time.`
  }

  /** There is a value of any kind. */
  value(): void {
    if (++this.#values > MAX_VALUES)
      this.excess = `Must have at most ${MAX_VALUES} values in all. Send less at a time.`
  }

  /** A member has a name of that hash. */
  name(hash: number): void {
    if (++this.#names > MAX_NAMES)
      this.excess = `Must have at most ${MAX_NAMES} keys in all. Send less at a time.`
    const place = (hash ^ (hash >>> BITS)) & ((1 << BITS) - 1)
    if (this.#seen[place] === 1) return
    this.#seen[place] = 1
    if (++this.#differentNames > MAX_DIFFERENT_NAMES)
      this.excess = `Must have at most ${MAX_DIFFERENT_NAMES} different keys in all. Send less at a time.`
  }
}
