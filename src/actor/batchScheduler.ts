import type { LoopRest } from '../runtime/loopRest.ts'

/**
 * How long a batch gathers under load. A flush costs some 60 µs of CPU, however little is in it: see
 * docs/adr/0012-gather-under-load.md for what that is worth.
 */
const GATHER_MS = 2

/** For fewer updates the loop is not kept from what else there is to do. */
const MANY = 16

/**
 * When hosts begin their batches and answer. Those that share a scheduler do so together: what all of them append or say leaves
 * in one write to the socket, and the server reads it at once.
 */
export class BatchScheduler {
  readonly #rest: LoopRest | undefined
  #soon: (() => void)[] = []
  #gathered: (() => void)[] = []
  #rests = false

  /** @param rest while much gathers; not for hosts that have answers of their log to read meanwhile */
  constructor(rest?: LoopRest) {
    this.#rest = rest
  }

  /** After the sockets of this turn of the event loop have been read. */
  soon(batch: () => void): void {
    if (this.#soon.push(batch) === 1) setImmediate(this.#runSoon)
  }

  /**
   * Once what comes meanwhile has gathered.
   * @param expected updates, by the batch before
   */
  gathered(batch: () => void, expected: number): void {
    if (this.#gathered.push(batch) > 1) return
    setTimeout(this.#runGathered, GATHER_MS)
    this.#rests = this.#rest !== undefined && expected >= MANY
    // Behind the answers of the batch before.
    if (this.#rests) setImmediate(this.#beginRest)
  }

  readonly #beginRest = (): void => this.#rest!.begin(GATHER_MS)

  readonly #runSoon = (): void => {
    const batches = this.#soon
    this.#soon = []
    for (const batch of batches) batch()
  }

  readonly #runGathered = (): void => {
    if (this.#rests) this.#rest!.end()
    const batches = this.#gathered
    this.#gathered = []
    for (const batch of batches) batch()
  }
}
