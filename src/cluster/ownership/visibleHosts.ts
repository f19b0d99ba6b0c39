export interface Membership {
  /** Whether the host takes no more partitions, although it still has some. */
  readonly leaving: boolean
}

interface Seen extends Membership {
  /** The time of the last renewal, in attended time. */
  readonly at: number
}

/** By this factor, the time between two own renewals may be longer than planned and still count in full. */
const LATE = 1.25

/**
 * The hosts that have renewed their entries, and how long each has been silent.
 *
 * Silence is measured in attended time, which advances only when this host reads its own renewal back. Entries arrive
 * in the order in which they were stored, so by then it has read whatever the others stored before. And it advances by
 * about one interval at most: if this process, its connection or the servers were late, the others may have been late
 * for the same reason, or their renewals may still wait to be read.
 */
export class VisibleHosts {
  readonly #own: string
  readonly #ttlMs: number
  readonly #mostMs: number
  readonly #seen = new Map<string, Seen>()
  #attendedMs = 0
  #readAt: number | undefined

  /**
   * Starts without other hosts.
   * @param own the name of this host
   * @param ttlMs a host that has been silent for this long is gone
   * @param renewMs the planned time between two renewals
   */
  constructor(own: string, ttlMs: number, renewMs: number) {
    this.#own = own
    this.#ttlMs = ttlMs
    this.#mostMs = renewMs * LATE
  }

  /**
   * Processes an entry. Entries must come in the order of the bucket.
   * @param now milliseconds of a clock that never goes back
   */
  saw(host: string, membership: Membership, now: number): void {
    if (host === this.#own) {
      this.#attendedMs += Math.min(now - (this.#readAt ?? now), this.#mostMs)
      this.#readAt = now
    }
    this.#seen.set(host, { leaving: membership.leaving, at: this.#attendedMs })
  }

  /**
   * The attended time so far. Waits for another host are measured with it, so that this host's own delays do not count
   * as the other's silence.
   */
  get attendedMs(): number {
    return this.#attendedMs
  }

  /** Forgets a host that has left. */
  left(host: string): void {
    this.#seen.delete(host)
  }

  /** The hosts that are not gone. */
  alive(): [host: string, membership: Membership][] {
    return [...this.#seen].filter(([, { at }]) => this.#attendedMs - at < this.#ttlMs)
  }
}
