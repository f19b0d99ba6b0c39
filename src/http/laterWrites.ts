/** How many answers are written in one turn. Each takes about ten microseconds. */
const MOST_OF_TURN = 200
/** In milliseconds. Answers of many kilobytes take longer. */
const TURN_MS = 5

/**
 * Answers that are not written in the turn of the event loop in which their requests came (see {@link Turn}), but in the next
 * ones. If thousands of requests came at once, so would their answers, and would take as long at a stretch.
 */
export class LaterWrites {
  #waiting: (() => void)[] = []
  /** Those before it have been written. */
  #next = 0

  get isEmpty(): boolean {
    return this.#next === this.#waiting.length
  }

  /** Calls `write` in a later turn, after all that were added before. */
  add(write: () => void): void {
    if (this.#waiting.push(write) === 1) setImmediate(this.#run)
  }

  readonly #run = (): void => {
    const until = performance.now() + TURN_MS
    const last = Math.min(this.#waiting.length, this.#next + MOST_OF_TURN)
    try {
      do this.#waiting[this.#next++]!()
      while (this.#next < last && performance.now() < until)
    } finally {
      if (!this.isEmpty) setImmediate(this.#run)
      else {
        this.#waiting = []
        this.#next = 0
      }
    }
  }
}
