/**
 * Decides how many bytes of updates may wait for owners. Further streams wait in front of the gateway, where they take
 * turns (stream/admission.ts). What waits here is in the order of its arrival, so it must not be more than the owners
 * process in a moment. But it must be enough to keep all of them busy for the time that a request takes.
 *
 * So it is what was lately processed in {@link TARGET_MS}. If a request takes longer although nothing waits, as with
 * servers that flush slowly, it is what was processed in the time of two round trips. To measure that, the queue is
 * emptied from time to time.
 */

/** An update by HTTP waits for the request before it, and for its own. */
const TARGET_MS = 100
const LEAST_BYTES = 256 * 1024
/** Enough for one or two requests to each of many partitions. */
const MOST_BYTES = 8 * 1024 * 1024
/** How long rates are measured. */
const WINDOW_MS = 100
/** A queue must be emptied in one of this many windows. */
const PROBED_WINDOWS = 100

export class GatewayRoom {
  /** How many bytes may wait. */
  bytes = LEAST_BYTES
  readonly #now: () => number
  #began: number
  /** How many bytes were processed in this window. */
  #processed = 0
  #wasFull = false
  /** The shortest round trips in milliseconds: in this window, and since the queue was empty. */
  #shortestHere = Infinity
  #shortest = Infinity
  /** How many bytes were allowed to wait before the queue was emptied. */
  #bytesBefore = LEAST_BYTES
  /** How many windows have passed with a queue. */
  #fullWindows = 0

  /**
   * Starts with the least room.
   * @param now returns milliseconds of a clock that never goes back
   */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
    this.#began = now()
  }

  /** Whether there is room behind this many waiting bytes. */
  has(waiting: number): boolean {
    if (waiting <= this.bytes) return true
    this.#wasFull = true
    return false
  }

  /** A request was answered. */
  answered(bytes: number, roundTripMs: number): void {
    this.#processed += bytes
    const elapsed = this.#now() - this.#began
    // While the queue is emptied, only requests count that were sent since then.
    if (this.bytes > 0 || roundTripMs < elapsed)
      this.#shortestHere = Math.min(this.#shortestHere, roundTripMs)
    if (elapsed >= WINDOW_MS && this.#shortestHere < Infinity) this.#adapt(elapsed)
  }

  #adapt(elapsedMs: number): void {
    const isProbe = this.bytes === 0
    // Without a queue, the rate says what clients send, not what owners can process.
    const isFresh = isProbe || !this.#wasFull
    this.#shortest = isFresh ? this.#shortestHere : Math.min(this.#shortest, this.#shortestHere)
    if (isProbe) this.bytes = this.#bytesBefore
    else if (this.#wasFull) {
      const wanted = (this.#processed / elapsedMs) * Math.max(TARGET_MS, 2 * this.#shortest)
      this.bytes = Math.min(MOST_BYTES, Math.max(LEAST_BYTES, wanted))
      if (++this.#fullWindows % PROBED_WINDOWS === 0) {
        this.#bytesBefore = this.bytes
        this.bytes = 0
      }
    }
    this.#began += elapsedMs
    this.#processed = 0
    this.#wasFull = false
    this.#shortestHere = Infinity
  }
}
