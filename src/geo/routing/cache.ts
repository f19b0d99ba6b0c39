import type { Clock } from '../../runtime/clock.ts'

/** Beside its texts an entry costs about that much. */
const ENTRY_BYTES = 200
/** One answer may take this share of the bound, so that one path does not drive out all routes. */
const MAX_SHARE = 1 / 8

interface Entry {
  readonly json: Buffer
  readonly bytes: number
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
  readonly #maxBytes: number
  readonly #clock: Clock
  /** In the order of use, latest last. */
  readonly #entries = new Map<string, Entry>()
  readonly #underWay = new Map<string, Promise<Buffer>>()
  #bytes = 0
  #hits = 0
  #misses = 0

  /** @param maxBytes 0 keeps nothing */
  constructor(maxBytes: number, clock: Clock) {
    this.#maxBytes = maxBytes
    this.#clock = clock
  }

  get bytes(): number {
    return this.#bytes
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
    const kept = this.#entries.get(key)
    if (kept !== undefined) {
      this.#forget(key, kept)
      if (this.#clock.now() - kept.keptAt <= maxAgeMilliseconds) {
        this.#hits++
        this.#keep(key, kept)
        return Promise.resolve(kept.json)
      }
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
    const kept = this.#entries.get(key)
    if (kept !== undefined) this.#forget(key, kept)
  }

  async #ask(key: string, ask: () => Promise<Buffer>): Promise<Buffer> {
    try {
      const json = await ask()
      const bytes = json.length + key.length + ENTRY_BYTES
      if (bytes <= this.#maxBytes * MAX_SHARE) this.#keep(key, { json, bytes, keptAt: this.#clock.now() })
      return json
    } finally {
      this.#underWay.delete(key)
    }
  }

  #keep(key: string, entry: Entry): void {
    this.#entries.set(key, entry)
    this.#bytes += entry.bytes
    for (const [oldest, { bytes }] of this.#entries) {
      if (this.#bytes <= this.#maxBytes) return
      this.#entries.delete(oldest)
      this.#bytes -= bytes
    }
  }

  #forget(key: string, { bytes }: Entry): void {
    this.#entries.delete(key)
    this.#bytes -= bytes
  }
}
