import type { Clock } from './clock.ts'

/** The same is said again after so long. */
const AGAIN_MS = 10_000
/** Different ones that are remembered. */
const MOST = 100

/**
 * Tells the log of failures that are overcome by trying again, each of them now and then: when servers are gone, many parts fail
 * many times a second, all for one reason.
 */
export class Troubles {
  readonly #log: (error: Error) => void
  readonly #clock: Clock
  readonly #toldAt = new Map<string, number>()

  constructor(clock: Clock, log: (error: Error) => void) {
    this.#log = log
    this.#clock = clock
  }

  readonly tell = (error: Error): void => {
    const { message } = error
    const now = this.#clock.now()
    if (now - (this.#toldAt.get(message) ?? -Infinity) < AGAIN_MS) return
    if (this.#toldAt.size >= MOST) this.#toldAt.clear()
    this.#toldAt.set(message, now)
    this.#log(error)
  }
}

/** Tells the log why something does not work once, not at each attempt, until there is another reason. */
export class TroubleOnce {
  readonly #log: (error: Error) => void
  #reason: string | undefined

  constructor(log: (error: Error) => void) {
    this.#log = log
  }

  tell(error: Error): void {
    const isNew = error.message !== this.#reason
    this.#reason = error.message
    if (isNew) this.#log(error)
  }

  /** It works again. */
  clear(): void {
    this.#reason = undefined
  }
}
