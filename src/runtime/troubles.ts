import type { Clock } from './clock.ts'
import type { Logger } from './logger.ts'

/** The same is said again after so long. */
const AGAIN_MS = 10_000
/** Different ones that are remembered. */
const MOST = 100

/**
 * Tells the log of failures that are overcome by trying again, each of them now and then: when servers are gone, many parts fail
 * many times a second, all for one reason.
 */
export class Troubles {
  readonly #logger: Logger
  readonly #clock: Clock
  readonly #toldAt = new Map<string, number>()

  constructor(logger: Logger, clock: Clock) {
    this.#logger = logger
    this.#clock = clock
  }

  readonly tell = (error: Error): void => {
    const { message } = error
    const now = this.#clock.now()
    if (now - (this.#toldAt.get(message) ?? -Infinity) < AGAIN_MS) return
    if (this.#toldAt.size >= MOST) this.#toldAt.clear()
    this.#toldAt.set(message, now)
    this.#logger.warn({ err: error }, 'failed; it is tried again')
  }
}
