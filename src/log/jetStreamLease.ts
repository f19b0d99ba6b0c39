import { setTimeout as sleep } from 'node:timers/promises'
import { Kvm, type KV } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'

/**
 * The right to do what one process at a time may do, in the bucket `ringfence-leases`: an entry that its holder renews, and that goes by
 * itself when nobody does.
 *
 * A holder that stands still may wake up when another has it, and go on for a moment. So it suits what may be done twice, and must
 * not be by habit.
 */
export interface LeaseOptions {
  readonly connection: NatsConnection
  readonly name: string
  /** This process; no other has the same. */
  readonly holder: string
  readonly replicas: number
  /** After which a holder that says nothing has lost it. */
  readonly ttlMs: number
  /** Told once, when it is lost. */
  readonly lost: () => void
  /** Told of each failure; what failed is tried again. */
  readonly troubled: (error: Error) => void
}

const BUCKET = 'ringfence-leases'
const RENEWALS_PER_TTL = 3

export class Lease {
  readonly #options: LeaseOptions
  readonly #bucket: KV
  readonly #ended = new AbortController()
  #revision = 0
  #isHeld = false
  #renewing: Promise<void> = Promise.resolve()

  private constructor(options: LeaseOptions, bucket: KV) {
    this.#options = options
    this.#bucket = bucket
  }

  static async open(options: LeaseOptions): Promise<Lease> {
    const { connection, replicas, ttlMs } = options
    return new Lease(options, await new Kvm(connection).create(BUCKET, { replicas, history: 1, ttl: ttlMs }))
  }

  get isHeld(): boolean {
    return this.#isHeld
  }

  /** Waits until nobody else has it; false where it is given up before. */
  async take(): Promise<boolean> {
    const { name, holder, troubled } = this.#options
    const { signal } = this.#ended
    while (!signal.aborted) {
      try {
        if ((await this.#bucket.get(name))?.operation !== 'PUT') {
          this.#revision = await this.#bucket.create(name, holder)
          this.#isHeld = true
          this.#renewing = this.#renew()
          return true
        }
      } catch (error) {
        // Somebody was faster, or the servers are out of reach.
        troubled(error as Error)
      }
      await this.#pause()
    }
    return false
  }

  /** Lets go of it; others may have it at once. */
  async end(): Promise<void> {
    this.#ended.abort()
    await this.#renewing
    if (!this.#isHeld) return
    this.#isHeld = false
    const { name, troubled } = this.#options
    await this.#bucket.delete(name, { previousSeq: this.#revision }).catch(troubled)
  }

  async #renew(): Promise<void> {
    const { name, holder, ttlMs, lost, troubled } = this.#options
    const { signal } = this.#ended
    let renewedAt = performance.now()
    for (;;) {
      await this.#pause()
      if (signal.aborted) return
      const at = performance.now()
      try {
        this.#revision = await this.#bucket.update(name, holder, this.#revision)
        renewedAt = at
      } catch (error) {
        troubled(error as Error)
      }
      if (performance.now() - renewedAt < ttlMs) continue
      this.#isHeld = false
      lost()
      return
    }
  }

  async #pause(): Promise<void> {
    const { ttlMs } = this.#options
    await sleep(ttlMs / RENEWALS_PER_TTL, undefined, { signal: this.#ended.signal }).catch(() => {})
  }
}
