import { parseIpAddress } from '../model/ipAddress.ts'
import type { Clock } from '../runtime/clock.ts'
import { ApiError } from '../runtime/errors.ts'

const WINDOW_MS = 15 * 60_000
const PER_EMAIL = 5
const PER_ADDRESS = 20
/** Senders that are remembered; an entry takes about 150 bytes. */
const MOST_ENTRIES = 100_000

interface Entry {
  failures: number
  /** Epoch milliseconds. */
  endsAt: number
}

/**
 * Failed attempts to sign in, by e-mail and by address: after some failures, all attempts are refused for a while.
 * An address counts as the network that one customer has: of IPv6, the first 64 bits.
 *
 * An attempt counts from its beginning, and is forgiven if it succeeds: otherwise, many at the same time would not see
 * each other's failures.
 */
export class Attempts {
  readonly #clock: Clock
  readonly #entries = new Map<string, Entry>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * @param email as it was typed, in lower case; '' if none was
   * @throws ApiError 429
   */
  begin(email: string, ip: string): SignInAttempt {
    const bounds: [name: string, most: number][] = [[`ip ${networkOf(ip)}`, PER_ADDRESS]]
    if (email !== '') bounds.push([`email ${email}`, PER_EMAIL])
    const now = this.#clock.now()
    const entries = bounds.map(([name, most]) => {
      const entry = this.#entry(name, now)
      if (entry.failures >= most)
        throw new ApiError(429, 'Too many failed attempts. Try again later.', {
          retryAfter: Math.ceil((entry.endsAt - now) / 1000),
        })
      return entry
    })
    for (const entry of entries) entry.failures++
    return {
      succeeded: () => {
        for (const entry of entries) entry.failures--
      },
    }
  }

  #entry(name: string, now: number): Entry {
    const known = this.#entries.get(name)
    if (known !== undefined && known.endsAt > now && known.endsAt <= now + WINDOW_MS) return known
    if (this.#entries.size >= MOST_ENTRIES) this.#forget(now)
    const entry = { failures: 0, endsAt: now + WINDOW_MS }
    // At the end of the order, which is that of the windows.
    this.#entries.delete(name)
    this.#entries.set(name, entry)
    return entry
  }

  /** Drops what is over, and at least the oldest tenth. */
  #forget(now: number): void {
    let excess = MOST_ENTRIES / 10
    for (const [name, { endsAt }] of this.#entries) {
      if (endsAt > now && excess <= 0) break
      this.#entries.delete(name)
      excess--
    }
  }
}

export interface SignInAttempt {
  /** It is not a failure. Called at most once. */
  succeeded(): void
}

function networkOf(ip: string): string {
  const address = parseIpAddress(ip)
  return address !== undefined && 'parts' in address ? address.parts.slice(0, 4).join(':') : ip
}
