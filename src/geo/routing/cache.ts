import { LRUCache } from 'lru-cache'
import type { Clock } from '../../runtime/clock.ts'

/** Beside its texts an entry costs about that much. */
const ENTRY_BYTES = 200
/** One answer may take this share of the bound, so that one path does not drive out all routes. */
const MAX_SHARE = 1 / 8

interface Entry {
  readonly json: Buffer
  /** Epoch milliseconds. */
  readonly keptAt: number
}

/**
 * Answers of the routing engines by the very text of the question. Those used last are kept, within a bound in bytes; who asks what
 * is being asked shares its answer.
 *
 * Keys begin with what says which network was asked, so that another build of a region has other keys and the old ones are
 * driven out by use.
 */
export class AnswerCache {
  /** Undefined: it keeps nothing. */
  readonly #entries: LRUCache<string, Entry> | undefined
  readonly #clock: Clock
  readonly #underWay = new Map<string, Promise<Buffer>>()
  #hits = 0
  #misses = 0

  /** @param maxBytes an integer; 0 keeps nothing */
  constructor(maxBytes: number, clock: Clock) {
    this.#clock = clock
    const maxEntrySize = Math.floor(maxBytes * MAX_SHARE)
    // The library takes 0 as no bound.
    if (maxEntrySize === 0) return
    this.#entries = new LRUCache({
      maxSize: maxBytes,
      maxEntrySize,
      sizeCalculation: ({ json }, key) => json.length + key.length + ENTRY_BYTES,
    })
  }

  get bytes(): number {
    return this.#entries?.calculatedSize ?? 0
  }

  /** Questions answered out of the cache or together with the same one under way. */
  get hits(): number {
    return this.#hits
  }

  get misses(): number {
    return this.#misses
  }

  /**
   * The answer to a question.
   * @param ask where it is not known; a failure is everybody's who asked meanwhile, and not kept
   * @param maxAgeMilliseconds of an answer that is as good as a new one
   */
  answer(key: string, maxAgeMilliseconds: number, ask: () => Promise<Buffer>): Promise<Buffer> {
    const kept = this.#entries?.get(key)
    if (kept !== undefined) {
      if (this.#clock.now() - kept.keptAt <= maxAgeMilliseconds) {
        this.#hits++
        return Promise.resolve(kept.json)
      }
      this.drop(key)
    }
    const underWay = this.#underWay.get(key)
    if (underWay !== undefined) {
      this.#hits++
      return underWay
    }
    this.#misses++
    const asked = this.#ask(key, ask)
    this.#underWay.set(key, asked)
    return asked
  }

  /** Keeps the answer no longer. */
  drop(key: string): void {
    this.#entries?.delete(key)
  }

  async #ask(key: string, ask: () => Promise<Buffer>): Promise<Buffer> {
    try {
      const json = await ask()
      this.#entries?.set(key, { json, keptAt: this.#clock.now() })
      return json
    } finally {
      this.#underWay.delete(key)
    }
  }
}
