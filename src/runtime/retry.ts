/** Repeats work that has failed. */
import { setTimeout as sleep } from 'node:timers/promises'

/** Waits this many milliseconds, or until the signal is aborted. Simulations pass their own. */
export type Pause = (milliseconds: number, signal?: AbortSignal) => Promise<unknown>

/** The pauses between consecutive failures. Each is twice as long as the previous one, up to the longest. */
export interface RetryPauses {
  readonly firstMs: number
  readonly lastMs: number
  /**
   * Whether each pause lasts between half and one and a half times its length, so that the clients of a server that
   * was lost do not all return at the same moment.
   */
  readonly isSpread?: boolean
}

export class Backoff {
  readonly #pauses: RetryPauses
  #ms: number

  constructor(pauses: RetryPauses) {
    this.#pauses = pauses
    this.#ms = pauses.firstMs
  }

  /** The milliseconds of the pause after one more failure. */
  next(): number {
    const ms = this.#ms
    this.#ms = Math.min(2 * ms, this.#pauses.lastMs)
    return this.#pauses.isSpread ? ms * (0.5 + Math.random()) : ms
  }

  /** Begins again with the first pause, because an attempt has succeeded. */
  reset(): void {
    this.#ms = this.#pauses.firstMs
  }

  /** Waits as long as {@link next} says, or until the signal is aborted. */
  async pause(signal?: AbortSignal): Promise<void> {
    await waitFor(this.next(), signal)
  }
}

export interface RetryOptions {
  readonly pauses: RetryPauses
  /** After this many attempts, the last failure is thrown. If absent, the number of attempts is unlimited. */
  readonly attempts?: number
  /** Called for each failed attempt that is repeated; an error that it throws ends the attempts. */
  readonly failed?: (error: Error) => void
  readonly signal?: AbortSignal | undefined
  readonly pause?: Pause
}

/**
 * Repeats work until it succeeds.
 * @throws the last failure, the error of `failed`, or the reason of the signal
 */
export async function retry<T>(work: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { attempts = Infinity, failed, signal, pause = waitFor } = options
  const backoff = new Backoff(options.pauses)
  for (let attempt = 1; ; attempt++) {
    signal?.throwIfAborted()
    try {
      return await work()
    } catch (error) {
      if (attempt >= attempts) throw error
      failed?.(error as Error)
    }
    await pause(backoff.next(), signal)
  }
}

export interface RestartOptions {
  readonly pauses: RetryPauses
  /** Until this signal is aborted, the work is started again after each end. */
  readonly signal: AbortSignal
  /** Called with the reason when the work ended with a failure. */
  readonly failed: (error: Error) => void
  readonly pause?: Pause
}

/**
 * Restarts work that should never end, such as following a stream, after each end. It never rejects.
 * @param work calls `worked` whenever the pauses should begin again with the first
 */
export async function keepRunning(
  work: (worked: () => void) => Promise<void>,
  options: RestartOptions,
): Promise<void> {
  const { signal, failed, pause = waitFor } = options
  const backoff = new Backoff(options.pauses)
  const worked = (): void => backoff.reset()
  while (!signal.aborted) {
    try {
      await work(worked)
    } catch (error) {
      failed(error as Error)
    }
    if (!signal.aborted) await pause(backoff.next(), signal)
  }
}

/** Resolves after this time, or when the signal is aborted. */
async function waitFor(milliseconds: number, signal?: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal }).catch(() => {})
}
