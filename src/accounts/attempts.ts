import { parseIpAddress } from '../model/ipAddress.ts'
import type { Clock } from '../runtime/clock.ts'
import { ApiError } from '../runtime/errors.ts'

const WINDOW_MS = 15 * 60_000
const PER_EMAIL = 5
const PER_ADDRESS = 20
/** How many senders are remembered. An entry takes about 150 bytes. */
const MOST_ENTRIES = 100_000

interface Entry {
  failures: number
  /** In epoch milliseconds. */
  endsAt: number
}

/**
 * Counts failed attempts to sign in, by e-mail address and by IP address. After some failures, all attempts are
 * refused for a while. An IP address counts as the network of one customer: for IPv6, the first 64 bits.
 *
 * An attempt counts from its beginning, and is forgiven if it succeeds. Otherwise, many attempts at the same time
 * would not see each other's failures.
 */
export class Attempts {
  readonly #clock: Clock
  readonly #entries = new Map<string, Entry>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Begins an attempt.
   * @param email as it was typed, in lower case; '' if there was none
   * @throws {ApiError} 429
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
    // A new window goes to the end, so that the entries stay in the order in which their windows end.
    this.#entries.delete(name)
    this.#entries.set(name, entry)
    return entry
  }

  /** Drops entries whose window is over, and always at least the oldest tenth. */
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
  /** Forgives the attempt. It must be called at most once. */
  succeeded(): void
}

function networkOf(ip: string): string {
  const address = parseIpAddress(ip)
  return address !== undefined && 'parts' in address ? address.parts.slice(0, 4).join(':') : ip
}
