/** How what has failed is tried again. */
import { setTimeout as sleep } from 'node:timers/promises'

/** Waits so many milliseconds, or until the signal; a simulation has its own time. */
export type Pause = (milliseconds: number, signal?: AbortSignal) => Promise<unknown>

/** Pauses between attempts that fail one after the other: each is twice the one before. */
export interface RetryPauses {
  readonly firstMs: number
  readonly lastMs: number
  /**
   * Each pause lasts between half and one and a half times its length: of many clients that a server has lost, not all come
   * back at the same moment.
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

  /** Milliseconds of the pause after one more failure. */
  next(): number {
    const ms = this.#ms
    this.#ms = Math.min(2 * ms, this.#pauses.lastMs)
    return this.#pauses.isSpread ? ms * (0.5 + Math.random()) : ms
  }

  /** Something has worked: the pauses begin anew. */
  reset(): void {
    this.#ms = this.#pauses.firstMs
  }

  /** Waits as long as {@link next} says, or until the signal. */
  async pause(signal?: AbortSignal): Promise<void> {
    await waitFor(this.next(), signal)
  }
}

export interface RetryOptions {
  readonly pauses: RetryPauses
  /** After so many the last failure is thrown; without a number there is always another one. */
  readonly attempts?: number
  /** Told of each attempt that failed and is repeated; what it throws ends the attempts. */
  readonly failed?: (error: Error) => void
  readonly signal?: AbortSignal | undefined
  readonly pause?: Pause
}

/**
 * Does it until it works.
 * @throws the last failure, what `failed` throws, and the reason of the signal
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
  /** The work is done once more after each end until then. */
  readonly signal: AbortSignal
  /** Told why it ended, where it was by a failure. */
  readonly failed: (error: Error) => void
  readonly pause?: Pause
}

/**
 * Does what should never end, such as following a stream, again after each end. Never rejects.
 * @param work calls `worked` whenever the pauses are to begin anew
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

/** Resolves after so long, or at the signal. */
async function waitFor(milliseconds: number, signal?: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal }).catch(() => {})
}
