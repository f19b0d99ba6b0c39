import type { Clock } from './clock.ts'

/** The same failure is logged again after this time. */
const AGAIN_MS = 10_000
/** How many different failures are remembered. */
const MOST = 100

/**
 * Logs failures that are solved by trying again, each of them only from time to time. When servers are down, many
 * parts fail many times a second for the same reason.
 */
export class Troubles {
  readonly #log: (error: Error, times: number) => void
  readonly #clock: Clock
  readonly #told = new Map<string, { at: number; times: number }>()

  /**
   * Starts without failures.
   * @param log gets as `times` how often the failure has happened since it was last logged, at least 1
   */
  constructor(clock: Clock, log: (error: Error, times: number) => void) {
    this.#log = log
    this.#clock = clock
  }

  readonly tell = (error: Error): void => {
    const { message } = error
    const now = this.#clock.now()
    const { at, times } = this.#told.get(message) ?? { at: -Infinity, times: 0 }
    if (this.#told.size >= MOST) this.#told.clear()
    const isQuiet = now - at < AGAIN_MS
    this.#told.set(message, isQuiet ? { at, times: times + 1 } : { at: now, times: 0 })
    if (!isQuiet) this.#log(error, times + 1)
  }
}

/** Logs why something does not work once, not at each attempt, until there is another reason. */
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

  /** Notes that it works again. */
  clear(): void {
    this.#reason = undefined
  }
}
