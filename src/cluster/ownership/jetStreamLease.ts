import { setTimeout as sleep } from 'node:timers/promises'
import { Kvm, type KV } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import type { LeaseHolder } from '../../jobs/port.ts'

export interface LeaseOptions {
  readonly connection: NatsConnection
  readonly name: string
  /** Identifies this process. */
  readonly holderId: string
  /** A holder that is silent for this long has lost the lease. It must be the time that {@link makeLeases} got. */
  readonly ttlMs: number
  /**
   * Whether this process could do the work now. While it could not, it leaves the lease to others. If absent, it
   * always can.
   */
  readonly isAble?: (() => boolean) | undefined
  /** Called for each failure that is tried again. */
  readonly troubled: (error: Error) => void
}

const BUCKET = 'ringfence-leases'
const RENEWALS_PER_TTL = 3

/** Creates the bucket of leases if it does not exist. */
export async function makeLeases(connection: NatsConnection, replicas: number, ttlMs: number): Promise<void> {
  await new Kvm(connection).create(BUCKET, { replicas, history: 1, ttl: ttlMs })
}

/**
 * The right to do work that one process at a time may do, in the bucket `ringfence-leases`: an entry that its holder
 * renews, and that expires if nobody does. A process that loses it, because the servers were unreachable for too
 * long, waits for it again.
 *
 * A holder that was suspended may wake up when another has the lease, and continue for a moment. So it suits work
 * that may occasionally be done twice.
 */
export class Lease {
  readonly #options: LeaseOptions
  readonly #bucket: KV
  readonly #holder: LeaseHolder
  readonly #ended = new AbortController()
  readonly #pauseMs: number
  #running: Promise<void> = Promise.resolve()
  #isHeld = false
  #holderId: string | undefined
  #revision = 0
  #renewedAt = 0

  private constructor(options: LeaseOptions, bucket: KV, holder: LeaseHolder) {
    this.#options = options
    this.#bucket = bucket
    this.#holder = holder
    this.#pauseMs = options.ttlMs / RENEWALS_PER_TTL
  }

  /**
   * Waits for the lease from now on, and does the work whenever it has it. Fails if nobody has created the bucket
   * yet.
   */
  static async open(options: LeaseOptions, holder: LeaseHolder): Promise<Lease> {
    const bucket = await new Kvm(options.connection).open(BUCKET)
    await bucket.status()
    const lease = new Lease(options, bucket, holder)
    lease.#running = lease.#run()
    return lease
  }

  get isHeld(): boolean {
    return this.#isHeld
  }

  /** The holder when it was last checked; undefined before that. */
  get holderId(): string | undefined {
    return this.#holderId
  }

  /** Ends the work and releases the lease; others may have it at once. */
  async end(): Promise<void> {
    this.#ended.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    const { name, troubled } = this.#options
    const { signal } = this.#ended
    while (!signal.aborted) {
      const isTaken = await this.#take().catch((error: Error) => {
        // Another process was faster, or the servers are unreachable.
        troubled(error)
        return false
      })
      if (isTaken) {
        await this.#serve()
        if (this.#isHeld) {
          this.#isHeld = false
          await this.#bucket.delete(name, { previousSeq: this.#revision }).catch(troubled)
        }
      }
      await this.#pause()
    }
  }

  #isAble(): boolean {
    return this.#options.isAble?.() ?? true
  }

  async #take(): Promise<boolean> {
    if (!this.#isAble()) return false
    const { name, holderId } = this.#options
    const at = performance.now()
    const entry = await this.#bucket.get(name)
    // If the answer to its creation was lost, the process's own entry is there.
    if (entry?.operation !== 'PUT') this.#revision = await this.#bucket.create(name, holderId)
    else if (entry.string() === holderId) this.#revision = entry.revision
    else {
      this.#holderId = entry.string()
      return false
    }
    this.#holderId = holderId
    this.#renewedAt = at
    this.#isHeld = true
    return true
  }

  /** Runs the work from beginning to end, while the lease is renewed. */
  async #serve(): Promise<void> {
    const failed = new AbortController()
    const begun = this.#holder.begin().catch((error: Error) => {
      failed.abort()
      this.#options.troubled(error)
    })
    while (!failed.signal.aborted && this.#isAble() && this.#isHeld && !this.#ended.signal.aborted) {
      await this.#pause()
      if (!this.#ended.signal.aborted) await this.#renew()
    }
    await begun
    await this.#holder.end()
  }

  async #renew(): Promise<void> {
    const { name, holderId, ttlMs, troubled } = this.#options
    const at = performance.now()
    try {
      this.#revision = await this.#bucket.update(name, holderId, this.#revision, this.#pauseMs)
      this.#renewedAt = at
    } catch (error) {
      troubled(error as Error)
      // The renewal may have been written, and only the answer lost. Then the next renewal continues from there.
      const entry = await this.#bucket.get(name).catch(() => undefined)
      if (entry?.operation === 'PUT' && entry.string() === holderId) this.#revision = entry.revision
    }
    if (performance.now() - this.#renewedAt >= ttlMs) this.#isHeld = false
  }

  async #pause(): Promise<void> {
    await sleep(this.#pauseMs, undefined, { signal: this.#ended.signal }).catch(() => {})
  }
}
