import type { LoopRest } from '../runtime/loopRest.ts'

/**
 * How long a batch gathers under load. A flush costs about 60 µs of CPU, however little it contains:
 * docs/adr/0012-gather-under-load.md shows the gain.
 */
const GATHER_MS = 2

/** How long the batches and answers of one turn may take. Those that are left have the next turn. */
const TURN_MS = 4

/** With fewer updates than this, the event loop is not kept from its other work. */
const MANY = 16

/**
 * Decides when hosts begin their batches and answer. Hosts that share a scheduler do so together: all their appends
 * or answers go into one write to the socket, and the server reads them at once. Only if that takes long, some of them
 * wait for the next turn of the event loop (G7).
 */
export class BatchScheduler {
  readonly #rest: LoopRest | undefined
  #soon: (() => void)[] = []
  #gathered: (() => void)[] = []
  #rests = false

  /**
   * Creates a scheduler.
   * @param rest used while many updates gather; absent for hosts that must read answers of their log in the meantime
   */
  constructor(rest?: LoopRest) {
    this.#rest = rest
  }

  /** Runs the batch after the sockets of this turn of the event loop have been read. */
  soon(batch: () => void): void {
    if (this.#soon.push(batch) === 1) setImmediate(this.#runSoon)
  }

  /**
   * Runs the batch after updates have gathered for a moment.
   * @param expected the number of updates in the previous batch
   */
  gathered(batch: () => void, expected: number): void {
    if (this.#gathered.push(batch) > 1) return
    setTimeout(this.#runGathered, GATHER_MS)
    this.#rests = this.#rest !== undefined && expected >= MANY
    // The answers of the previous batch are sent first.
    if (this.#rests) setImmediate(this.#beginRest)
  }

  readonly #beginRest = (): void => this.#rest!.begin(GATHER_MS)

  readonly #runSoon = (): void => {
    const batches = this.#soon
    this.#soon = []
    this.#runAll(batches)
  }

  readonly #runGathered = (): void => {
    if (this.#rests) this.#rest!.end()
    const batches = this.#gathered
    this.#gathered = []
    this.#runAll(batches)
  }

  #runAll(batches: readonly (() => void)[]): void {
    const until = performance.now() + TURN_MS
    for (const [i, batch] of batches.entries()) {
      if (i > 0 && performance.now() >= until) {
        setImmediate(() => this.#runAll(batches.slice(i)))
        return
      }
      batch()
    }
  }
}
