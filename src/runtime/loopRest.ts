/**
 * Lets the event loop sleep during a time in which nobody waits for an answer.
 *
 * The obvious way wakes up for each socket that has something to read: with a steady stream from many connections,
 * the loop falls asleep and wakes up thousands of times a second, which is a fifth of the cost of an update over
 * HTTP. While a batch gathers, nothing of what arrives is answered before the batch's turn; so it is read together,
 * shortly before.
 *
 * Invariants
 * - REST-1: The loop sleeps no longer than it would have been idle anyway, judged by the previous period. A busy loop
 *   does not sleep.
 */
export class LoopRest {
  readonly #parts: LoopParts
  #idleBefore = 0
  /** How many milliseconds the loop has slept since {@link begin}. */
  #rested = 0
  /** How many milliseconds the loop had nothing to do in the last such period. */
  #spare = 0

  constructor(parts: LoopParts = ownLoop) {
    this.#parts = parts
  }

  /**
   * Begins a period in which nothing is answered. It sleeps if the last one was mostly idle.
   * @param milliseconds the planned length; the last one may have been far longer if the process was suspended
   */
  begin(milliseconds: number): void {
    const { idleMs, sleep } = this.#parts
    this.#idleBefore = idleMs()
    this.#rested = this.#spare < LEAST_SPARE_MS ? 0 : Math.min(this.#spare, milliseconds) * SHARE
    if (this.#rested > 0) sleep(this.#rested)
  }

  /** Ends the period that began last. */
  end(): void {
    this.#spare = this.#parts.idleMs() - this.#idleBefore + this.#rested
  }
}

/** The required parts of an event loop. */
export interface LoopParts {
  /** How long the loop has waited for work in total. */
  idleMs(): number
  /** Blocks the thread. */
  sleep(milliseconds: number): void
}

/** With less idle time than this, data that arrive in the meantime would not be read in time. */
const LEAST_SPARE_MS = 1
/** The share of the idle time that is slept. The rest is for reading what has arrived. */
const SHARE = 0.7

/** A thread that waits for this is never woken. */
const never = new Int32Array(new SharedArrayBuffer(4))

const ownLoop: LoopParts = {
  idleMs: () => performance.eventLoopUtilization().idle,
  sleep: (milliseconds) => void Atomics.wait(never, 0, 0, milliseconds),
}
