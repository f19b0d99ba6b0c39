import type { Credentials } from './credentials.ts'
import type { Clock } from '../runtime/clock.ts'
import { ApiError } from '../runtime/errors.ts'
import type { RequestQuotas } from './authenticate.ts'

/** How often the validity of keys is checked. */
const CHECK_MS = 5000

/** Something that was opened with a key, and stays open. */
export interface KeyHolder {
  /**
   * Called when a request with the key would be refused.
   * @param refusal the answer that such a request would get: 401, or 402 if the project may make no more
   */
  keyRefused(refusal: ApiError): void
}

export interface KeyWatchOptions {
  /** Whether the key of these credentials is still valid. */
  readonly isCurrent: (credentials: Credentials) => boolean
  readonly quotas: RequestQuotas
  readonly clock: Clock
}

/**
 * Ends what stays open when a request with its key would be refused: a stream lives long, and its key may have become
 * invalid since.
 *
 * Owns: which holder has which key, and the check every five seconds. Does not own: how a holder ends.
 */
export class KeyWatch {
  readonly name = 'key watch'
  readonly #options: KeyWatchOptions
  readonly #holders = new Map<Credentials, Set<KeyHolder>>()
  #timer: NodeJS.Timeout | undefined

  constructor(options: KeyWatchOptions) {
    this.#options = options
  }

  start(): void {
    this.#timer = setInterval(() => this.#check(), CHECK_MS)
    this.#timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** Adds a holder, who is told at each check if its key is refused. */
  add(credentials: Credentials, holder: KeyHolder): void {
    const holders = this.#holders.get(credentials)
    if (holders === undefined) this.#holders.set(credentials, new Set([holder]))
    else holders.add(holder)
  }

  remove(credentials: Credentials, holder: KeyHolder): void {
    const holders = this.#holders.get(credentials)
    holders?.delete(holder)
    if (holders?.size === 0) this.#holders.delete(credentials)
  }

  #check(): void {
    for (const [credentials, holders] of this.#holders) {
      const refusal = this.#refusal(credentials)
      if (refusal === undefined) continue
      for (const holder of holders) holder.keyRefused(refusal)
    }
  }

  #refusal(credentials: Credentials): ApiError | undefined {
    const { isCurrent, quotas, clock } = this.#options
    if (!isCurrent(credentials)) return new ApiError(401, 'The key is no longer valid.')
    try {
      quotas.take(credentials.scope, clock.now())
      quotas.giveBack(credentials.scope)
      return undefined
    } catch (error) {
      if (error instanceof ApiError) return error
      throw error
    }
  }
}
