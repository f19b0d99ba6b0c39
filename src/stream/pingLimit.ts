/**
 * How many pings a client may send in a second. uWebSockets.js answers each, and reads half a megabyte of a connection at a
 * time, which may be 80,000 of them.
 */
export const MAX_PINGS = 100
const SECOND_MS = 1000

/** Counts the pings of one stream. */
export class PingLimit {
  #count = 0
  #since = 0

  /**
   * Counts one. Returns whether there were too many in this second.
   * @param now in milliseconds; the clock may be set back
   */
  isExceeded(now: number): boolean {
    if (Math.abs(now - this.#since) >= SECOND_MS) {
      this.#since = now
      this.#count = 0
    }
    return ++this.#count > MAX_PINGS
  }
}
