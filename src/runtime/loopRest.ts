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
  /** Milliseconds of sleep since {@link begin}. */
  #rested = 0
  /** Milliseconds of the last such time in which the loop had nothing to do. */
  #spare = 0

  constructor(parts: LoopParts = ownLoop) {
    this.#parts = parts
  }

  /**
   * A time begins in which nothing is answered: sleeps if the last one was mostly idle.
   * @param milliseconds its planned length; the last one may have been far longer if the process was suspended
   */
  begin(milliseconds: number): void {
    const { idleMs, sleep } = this.#parts
    this.#idleBefore = idleMs()
    this.#rested = this.#spare < LEAST_SPARE_MS ? 0 : Math.min(this.#spare, milliseconds) * SHARE
    if (this.#rested > 0) sleep(this.#rested)
  }

  /** The time that began last is over. */
  end(): void {
    this.#spare = this.#parts.idleMs() - this.#idleBefore + this.#rested
  }
}

/** The required parts of an event loop. */
export interface LoopParts {
  /** How long the loop has waited for work in all. */
  idleMs(): number
  /** Blocks the thread. */
  sleep(milliseconds: number): void
}

/** With less, data that arrived in the meantime would not be read in time. */
const LEAST_SPARE_MS = 1
/** The rest is for reading what has arrived. */
const SHARE = 0.7

/** Nothing ever wakes a thread that waits for it. */
const never = new Int32Array(new SharedArrayBuffer(4))

const ownLoop: LoopParts = {
  idleMs: () => performance.eventLoopUtilization().idle,
  sleep: (milliseconds) => void Atomics.wait(never, 0, 0, milliseconds),
}
