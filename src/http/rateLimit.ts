import { ApiError } from '../runtime/errors.ts'

/** How many callers one limiter remembers; 100,000 entries are about 10 MB. */
const REMEMBERED_CALLERS = 100_000

/**
 * A token bucket per caller that holds `perSecond` tokens and refills at that rate, kept as one number: the time at
 * which the bucket will be full again (the generic cell rate algorithm, ITU-T I.371). A full bucket needs no entry,
 * so memory is only used by callers of the last second, and is bounded.
 */
export class RateLimiter {
  readonly #intervalMs: number
  /** The times in epoch milliseconds by caller, in the order of first insertion. */
  readonly #fullAt = new Map<string, number>()
  readonly #capacity: number

  constructor(perSecond: number, capacity = REMEMBERED_CALLERS) {
    this.#intervalMs = 1000 / perSecond
    this.#capacity = capacity
  }

  /**
   * Takes one of the caller's tokens.
   * @param now epoch milliseconds
   * @throws ApiError 429 with `type: 'second'` if there is none
   */
  take(caller: string, now: number): void {
    const known = this.#fullAt.get(caller)
    // A clock that was set back must not lock callers out: an entry is at most one second ahead.
    const stale = known === undefined || known < now || known > now + 1000 + this.#intervalMs
    const fullAt = stale ? now : known
    // There is a twentieth of a token of slack, because sums of intervals are inexact.
    if (fullAt - now > 1000 - this.#intervalMs * 0.95) {
      // A token becomes available within a second, because no interval is longer.
      throw new ApiError(429, 'Rate limit exceeded.', { type: 'second', retryAfter: 1 })
    }
    if (known === undefined && this.#fullAt.size >= this.#capacity) this.#forget(now)
    this.#fullAt.set(caller, fullAt + this.#intervalMs)
  }

  /** How many callers are remembered. */
  get size(): number {
    return this.#fullAt.size
  }

  /**
   * Drops full buckets, and so many of the oldest that a tenth is free in the end: with less, the next new callers would
   * go through all of them again.
   */
  #forget(now: number): void {
    for (const [caller, fullAt] of this.#fullAt) if (fullAt <= now) this.#fullAt.delete(caller)
    let excess = this.#fullAt.size - Math.floor(this.#capacity * 0.9)
    for (const caller of this.#fullAt.keys()) {
      if (excess-- <= 0) return
      this.#fullAt.delete(caller)
    }
  }
}
