import { setTimeout as sleep } from 'node:timers/promises'
import { Kvm, type KV } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import type { Owner, Ownership, OwnershipHandlers } from '../../log/port.ts'
import { keepRunning } from '../../runtime/retry.ts'
import { ownerAmong } from './rendezvous.ts'

/**
 * Ownership by two buckets: `ringfence-hosts`, in which each host renews its entry, and `ringfence-partitions`, in which
 * the owner of each partition stands. Everybody watches both.
 *
 * A host wants what the rendezvous of the hosts that it sees says. What another live host has, it leaves to it until that
 * one has released it: so nobody waits for a failure when hosts come and go in peace. Whether a host lives is
 * measured by when its renewals arrive here, never by comparing clocks.
 *
 * Invariants
 * - OWNERSHIP-1: At most one acquire or release of a partition is in progress at a time.
 * - OWNERSHIP-2: A host that has not been able to renew its entry for a whole TTL releases everything before it
 *   acquires anything again.
 * - OWNERSHIP-3: No partition is taken from a live owner, unless the owner has kept it for {@link STUCK_TTLS} TTLs
 *   after it should have released it.
 */
export interface OwnershipOptions {
  readonly connection: NatsConnection
  /** This process; no other has the same. Letters, digits, `-` and `_`. */
  readonly host: string
  readonly partitions: number
  readonly replicas: number
  /** A host that has not renewed its entry for so long is gone; it does so three times as often. At least 300. */
  readonly ttlMs: number
  readonly handlers: OwnershipHandlers
  /** Told of each failure; what failed is tried again. */
  readonly troubled: (error: Error) => void
}

const HOSTS = 'ringfence-hosts'
const PARTITIONS = 'ringfence-partitions'
const RENEWALS_PER_TTL = 3
const STUCK_TTLS = 2
/**
 * Partitions that a host takes at a time. All at once, the first would be answered for when the last is there; and while a busy
 * machine reads them all the host may not come to say that it lives.
 */
const TAKEN_AT_A_TIME = 8
const NOBODY = ''

interface Membership {
  /** It takes no partitions any more, and still has some. */
  readonly leaving: boolean
}

interface Seen extends Membership {
  /** Of `performance.now()`. */
  readonly at: number
}

/** Takes part: other hosts know of this one when it resolves, and partitions come and go from then on. */
export async function joinHosts(options: OwnershipOptions): Promise<Ownership> {
  const { connection, replicas, ttlMs } = options
  const kvm = new Kvm(connection)
  const hosts = await kvm.create(HOSTS, { replicas, history: 1, ttl: ttlMs })
  const owners = await kvm.create(PARTITIONS, { replicas, history: 1 })
  const membership = new HostMembership(options, hosts, owners)
  await membership.join()
  return membership
}

class HostMembership implements Ownership {
  readonly #host: string
  readonly #partitions: number
  readonly #ttlMs: number
  readonly #handlers: OwnershipHandlers
  readonly #troubled: (error: Error) => void
  readonly #hostsBucket: KV
  readonly #ownersBucket: KV
  readonly #seen = new Map<string, Seen>()
  readonly #owners = new Map<number, Owner>()
  /** Partitions that this host has, with the epochs of their logs. */
  readonly #mine = new Map<number, number>()
  /** Acquires and releases under way. */
  readonly #busy = new Map<number, Promise<void>>()
  /** Of those, acquires. */
  #acquiring = 0
  /** When each partition was first wanted that another has, and has had since, of `performance.now()`. */
  readonly #wantedSince = new Map<number, number>()
  readonly #stopped = new AbortController()
  /** When each partition was lost to another, of `performance.now()`. */
  readonly #lostAt = new Map<number, number>()
  #renewedAt = -Infinity
  #leaving = false
  #planned = false
  #running: Promise<void> = Promise.resolve()

  constructor(options: OwnershipOptions, hosts: KV, owners: KV) {
    this.#host = options.host
    this.#partitions = options.partitions
    this.#ttlMs = options.ttlMs
    this.#handlers = options.handlers
    this.#troubled = options.troubled
    this.#hostsBucket = hosts
    this.#ownersBucket = owners
  }

  get isLive(): boolean {
    return performance.now() - this.#renewedAt < this.#ttlMs
  }

  ownerOf(partition: number): Owner | undefined {
    return this.#owners.get(partition)
  }

  lost(partition: number): void {
    this.#mine.delete(partition)
    // Whoever was faster says so soon; taking it back at once, two would rob each other in turn.
    this.#lostAt.set(partition, performance.now())
  }

  async join(): Promise<void> {
    void this.#watch(this.#hostsBucket, (key, text) => this.#sawHost(key, text))
    void this.#watch(this.#ownersBucket, (key, text) => this.#sawOwner(key, text))
    await this.#renew()
    this.#running = this.#run()
  }

  async leave(): Promise<void> {
    this.#leaving = true
    await this.#renew().catch(this.#troubled)
    // What is being acquired now, too.
    while (this.#busy.size > 0 || this.#mine.size > 0) {
      this.#releaseAll()
      await Promise.all(this.#busy.values())
    }
    this.#stopped.abort()
    await this.#running
    await this.#hostsBucket.delete(this.#host).catch(this.#troubled)
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped
    const renewMs = this.#ttlMs / RENEWALS_PER_TTL
    for (;;) {
      // First for the others to be seen.
      await sleep(renewMs, undefined, { signal }).catch(() => {})
      if (signal.aborted) return
      const wasLive = this.isLive
      if (!wasLive) {
        this.#releaseAll()
        // Who is seen is given partitions at once, so its hands should be free. But one that hangs must not keep it away.
        const late = sleep(this.#ttlMs, undefined, { signal, ref: false }).catch(() => {})
        await Promise.race([Promise.all(this.#busy.values()), late])
      }
      await this.#renew().catch(this.#troubled)
      // What they sent while this process stood still counts as if they had sent it now.
      if (!wasLive)
        for (const [host, seen] of this.#seen) this.#seen.set(host, { ...seen, at: performance.now() })
      this.#plan()
    }
  }

  async #renew(): Promise<void> {
    const at = performance.now()
    const membership: Membership = { leaving: this.#leaving }
    await this.#hostsBucket.put(this.#host, JSON.stringify(membership), {
      timeout: this.#ttlMs / RENEWALS_PER_TTL,
    })
    this.#renewedAt = at
  }

  /** Follows a bucket for ever, from its state at the beginning on. */
  #watch(bucket: KV, saw: (key: string, text: string | undefined) => void): Promise<void> {
    const { signal } = this.#stopped
    const pauseMs = this.#ttlMs / RENEWALS_PER_TTL
    const follow = async (): Promise<void> => {
      const entries = await bucket.watch()
      const stop = () => entries.stop()
      signal.addEventListener('abort', stop)
      for await (const entry of entries) {
        saw(entry.key, entry.operation === 'PUT' ? entry.string() : undefined)
        this.#planSoon()
      }
      signal.removeEventListener('abort', stop)
    }
    const pauses = { firstMs: pauseMs, lastMs: pauseMs }
    return keepRunning(follow, { pauses, signal, failed: this.#troubled })
  }

  #sawHost(host: string, text: string | undefined): void {
    if (text === undefined) this.#seen.delete(host)
    else this.#seen.set(host, { ...(JSON.parse(text) as Membership), at: performance.now() })
  }

  #sawOwner(key: string, text: string | undefined): void {
    const partition = Number(key)
    const owner = text === undefined ? undefined : (JSON.parse(text) as Owner)
    const known = this.#owners.get(partition)
    if (owner === undefined || known === undefined || !isSame(owner, known))
      this.#wantedSince.delete(partition)
    if (owner === undefined || owner.host === NOBODY) this.#owners.delete(partition)
    // An owner of before may say so late.
    else if (known === undefined || owner.epoch >= known.epoch) this.#owners.set(partition, owner)
  }

  #planSoon(): void {
    if (this.#planned) return
    this.#planned = true
    setImmediate(() => {
      this.#planned = false
      this.#plan()
    })
  }

  /** Starts what has to be done for each partition, where nothing is under way. */
  #plan(): void {
    if (!this.isLive || this.#leaving || this.#stopped.signal.aborted) return
    const now = performance.now()
    const alive = [...this.#seen].filter(([, { at }]) => now - at < this.#ttlMs)
    const takers = [this.#host, ...alive.filter(([, { leaving }]) => !leaving).map(([host]) => host)]
    const living = new Set(alive.map(([host]) => host))
    for (let partition = 0; partition < this.#partitions; partition++) {
      if (this.#busy.has(partition)) continue
      const isWanted = ownerAmong(takers, partition) === this.#host
      // Who is to have it meanwhile need not have released it.
      if (!isWanted) this.#wantedSince.delete(partition)
      const epoch = this.#mine.get(partition)
      if (epoch !== undefined) {
        const said = this.#owners.get(partition)
        const owner = { host: this.#host, epoch }
        if (!isWanted) this.#begin(partition, () => this.#release(partition, epoch))
        else if (said === undefined || !isSame(said, owner)) {
          this.#begin(partition, () => this.#say(partition, owner))
        }
      } else if (isWanted && this.#isFree(partition, living, now) && this.#acquiring < TAKEN_AT_A_TIME) {
        this.#acquiring++
        this.#begin(partition, () => this.#acquire(partition))
      }
    }
  }

  #isFree(partition: number, living: ReadonlySet<string>, now: number): boolean {
    if (now - (this.#lostAt.get(partition) ?? -Infinity) < this.#ttlMs) return false
    const owner = this.#owners.get(partition)
    if (owner === undefined || owner.host === this.#host || !living.has(owner.host)) return true
    const since = this.#wantedSince.get(partition) ?? now
    this.#wantedSince.set(partition, since)
    return now - since > STUCK_TTLS * this.#ttlMs
  }

  #begin(partition: number, work: () => Promise<void>): void {
    const running = work()
      .catch(this.#troubled)
      .finally(() => this.#busy.delete(partition))
    this.#busy.set(partition, running)
  }

  async #acquire(partition: number): Promise<void> {
    const epoch = await this.#handlers.acquire(partition).finally(() => this.#acquiring--)
    // The next may begin; after a failure not at once.
    this.#planSoon()
    this.#wantedSince.delete(partition)
    this.#mine.set(partition, epoch)
    await this.#say(partition, { host: this.#host, epoch })
  }

  async #release(partition: number, epoch: number): Promise<void> {
    this.#mine.delete(partition)
    await this.#handlers.release(partition)
    await this.#say(partition, { host: NOBODY, epoch })
  }

  /** Writes who owns the partition, unless a later owner stands there already. */
  async #say(partition: number, owner: Owner): Promise<void> {
    const key = String(partition)
    const entry = await this.#ownersBucket.get(key)
    const known = entry?.operation === 'PUT' ? entry.json<Owner>() : undefined
    if (known !== undefined && (known.epoch > owner.epoch || isSame(known, owner))) return
    await this.#ownersBucket.put(key, JSON.stringify(owner), { previousSeq: entry?.revision ?? 0 })
  }

  /** Begins to release what is not under way. */
  #releaseAll(): void {
    for (const [partition, epoch] of this.#mine) {
      if (!this.#busy.has(partition)) this.#begin(partition, () => this.#release(partition, epoch))
    }
  }
}

function isSame(a: Owner, b: Owner): boolean {
  return a.host === b.host && a.epoch === b.epoch
}
