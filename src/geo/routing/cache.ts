import { LRUCache } from 'lru-cache'
import type { Clock } from '../../runtime/clock.ts'

/** Approximate bytes of an entry besides its texts. */
const ENTRY_BYTES = 200
/** One answer may take at most this share of the limit, so that one path does not evict all routes. */
const MAX_SHARE = 1 / 8

interface Entry {
  readonly json: Buffer
  /** In epoch milliseconds. */
  readonly keptAt: number
}

/**
 * The answers of the routing engines, by the exact text of the question. The most recently used ones are kept, within
 * a limit in bytes. Identical requests at the same time share one answer.
 *
 * Keys begin with the identity of the network. Another build of a map region has other keys, and the old ones are
 * evicted as new ones are used.
 */
export class AnswerCache {
  /** The kept answers; undefined if nothing is kept. */
  readonly #entries: LRUCache<string, Entry> | undefined
  readonly #clock: Clock
  readonly #underWay = new Map<string, Promise<Buffer>>()
  #hits = 0
  #misses = 0

  /**
   * An empty cache.
   * @param maxBytes an integer; 0 means that nothing is kept
   */
  constructor(maxBytes: number, clock: Clock) {
    this.#clock = clock
    const maxEntrySize = Math.floor(maxBytes * MAX_SHARE)
    // The library would take 0 for no limit.
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

  /** How many questions were answered from the cache, or together with an identical one. */
  get hits(): number {
    return this.#hits
  }

  get misses(): number {
    return this.#misses
  }

  /**
   * The answer to a question.
   * @param ask called if the answer is not known; a failure goes to all that asked in the meantime, and is not kept
   * @param maxAgeMs the age up to which an answer may be used again
   */
  answer(key: string, maxAgeMs: number, ask: () => Promise<Buffer>): Promise<Buffer> {
    const kept = this.#entries?.get(key)
    if (kept !== undefined) {
      if (this.#clock.now() - kept.keptAt <= maxAgeMs) {
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

  /** Removes the answer. */
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
