import { setTimeout as sleep } from 'node:timers/promises'
import { Kvm, type KV } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import type { Owner, Ownership, OwnershipHandlers } from '../../log/port.ts'
import { keepRunning } from '../../runtime/retry.ts'
import { unlessLost } from '../nats/connectionLoss.ts'
import { StreamFollower } from '../nats/streamFollower.ts'
import { ownerAmong } from './rendezvous.ts'
import { VisibleHosts, type Membership } from './visibleHosts.ts'

/**
 * Ownership by two buckets: `ringfence-hosts`, in which each host renews its entry, and `ringfence-partitions`, with
 * the owner of each partition. All hosts watch both.
 *
 * A host wants the partitions that rendezvous hashing over the visible hosts gives it. It waits until another live
 * host has released a partition, so nothing has to time out when hosts join and leave normally. Whether a host lives
 * is measured by its silence while this host was on time itself ({@link VisibleHosts}), never by comparing clocks.
 *
 * Invariants
 * - OWNERSHIP-1: At most one acquire or release of a partition is in progress at a time.
 * - OWNERSHIP-2: A host that has not been able to renew its entry for a whole TTL releases everything before it
 *   acquires anything again.
 * - OWNERSHIP-3: No partition is taken from a live owner, unless the owner has kept it for {@link STUCK_TTLS} TTLs
 *   after it should have released it. Time in which this host was late itself does not count.
 * - OWNERSHIP-4: A host takes nothing before it has read which hosts there are and who owns what.
 */
export interface OwnershipOptions {
  readonly connection: NatsConnection
  /** Identifies this process. It consists of letters, digits, `-` and `_`. */
  readonly host: string
  readonly partitions: number
  readonly replicas: number
  /**
   * A host that has not renewed its entry for this long is gone. Hosts renew their entries three times as often. It is
   * at least 300.
   */
  readonly ttlMs: number
  readonly handlers: OwnershipHandlers
  /** Called for each failure that is tried again. */
  readonly troubled: (error: Error) => void
}

const HOSTS = 'ringfence-hosts'
const PARTITIONS = 'ringfence-partitions'
const RENEWALS_PER_TTL = 3
const STUCK_TTLS = 2
/**
 * How many partitions a host takes at a time. If it took all at once, the first would only be served when the last is
 * ready. On a busy machine, the host might also not renew its entry in time while it reads them all.
 */
const TAKEN_AT_A_TIME = 8
const NOBODY = ''
/** How long the servers may take to make a consumer. */
const ANSWER_MS = 3000

/** Joins the hosts. When it resolves, the other hosts know this one, and partitions come and go from then on. */
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
  readonly #connection: NatsConnection
  readonly #follower: StreamFollower
  readonly #hostsBucket: KV
  readonly #ownersBucket: KV
  readonly #visible: VisibleHosts
  readonly #owners = new Map<number, Owner>()
  /** The partitions of this host, with the epochs of their logs. */
  readonly #mine = new Map<number, number>()
  /** Running acquires and releases. */
  readonly #busy = new Map<number, Promise<void>>()
  /** The number of running acquires. */
  #acquiring = 0
  /** When each partition that another host has was first wanted, in attended time. */
  readonly #wantedSince = new Map<number, number>()
  readonly #stopped = new AbortController()
  /** When each partition was lost to another host, in attended time. */
  readonly #lostAt = new Map<number, number>()
  #renewedAt = -Infinity
  /** Whether it has read its own entry, and so the entries of the hosts that were there before. */
  #knowsHosts = false
  /** Whether it has read the owners that were recorded when it began to read. */
  #knowsOwners = false
  #leaving = false
  #planned = false
  #running: Promise<void> = Promise.resolve()

  constructor(options: OwnershipOptions, hosts: KV, owners: KV) {
    this.#host = options.host
    this.#partitions = options.partitions
    this.#ttlMs = options.ttlMs
    this.#visible = new VisibleHosts(options.host, options.ttlMs, options.ttlMs / RENEWALS_PER_TTL)
    this.#handlers = options.handlers
    this.#troubled = options.troubled
    this.#connection = options.connection
    this.#follower = new StreamFollower(options.connection, ANSWER_MS)
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
    // The faster host will announce itself soon. If this one took the partition back at once, two hosts would take it
    // from each other in turn.
    this.#lostAt.set(partition, this.#visible.attendedMs)
  }

  async join(): Promise<void> {
    void this.#watch(HOSTS, this.#hostsBucket, (key, text) => this.#sawHost(key, text))
    void this.#watch(
      PARTITIONS,
      this.#ownersBucket,
      (key, text) => this.#sawOwner(key, text),
      (isKnown) => (this.#knowsOwners = isKnown),
    )
    await this.#renew()
    this.#running = this.#run()
  }

  async leave(): Promise<void> {
    this.#leaving = true
    await this.#renew().catch(this.#troubled)
    // This includes partitions that are being acquired now.
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
      // At first, the host gets time to see the other hosts.
      await sleep(renewMs, undefined, { signal }).catch(() => {})
      if (signal.aborted) return
      if (!this.isLive) {
        this.#releaseAll()
        // A visible host is given partitions at once, so it should be free for them. But one that hangs must not keep
        // it away.
        const late = sleep(this.#ttlMs, undefined, { signal, ref: false }).catch(() => {})
        await Promise.race([Promise.all(this.#busy.values()), late])
      }
      await this.#renew().catch(this.#troubled)
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

  /**
   * Follows a bucket for ever, beginning with its present state. The library's own `watch` would notice only after more
   * than a minute that the server with its consumer is gone, and its consumer would stay for five minutes when this
   * process is killed.
   *
   * After an interruption it continues behind the last entry that was read: the old entry of a dead host must not count
   * as a sign of life.
   * @param known called when that state has been read. With it, the whole state is read again after an interruption,
   * because the servers may have lost some of it
   */
  #watch(
    name: string,
    bucket: KV,
    saw: (key: string, text: string | undefined) => void,
    known?: (isKnown: boolean) => void,
  ): Promise<void> {
    const { signal } = this.#stopped
    const pauseMs = this.#ttlMs / RENEWALS_PER_TTL
    const prefix = `$KV.${name}.`
    let read = 0
    const follow = async (): Promise<void> => {
      known?.(false)
      const { streamInfo } = await unlessLost(this.#connection, bucket.status())
      const { last_seq: last, messages } = streamInfo.state
      known?.(messages === 0)
      // A bucket that was made anew counts from 1 again.
      if (known !== undefined || last < read) read = 0
      const followed = await this.#follower.follow(`KV_${name}`, read, signal)
      try {
        for await (const message of followed.messages) {
          const isRemoved = (message.headers?.get('KV-Operation') ?? '') !== ''
          saw(message.subject.slice(prefix.length), isRemoved ? undefined : message.string())
          read = message.seq
          if (read >= last) known?.(true)
          this.#planSoon()
        }
      } finally {
        followed.end()
      }
      followed.checkWhole()
    }
    const pauses = { firstMs: pauseMs, lastMs: pauseMs }
    return keepRunning(follow, { pauses, signal, failed: this.#troubled })
  }

  #sawHost(host: string, text: string | undefined): void {
    if (host === this.#host && text !== undefined) this.#knowsHosts = true
    if (text === undefined) this.#visible.left(host)
    else this.#visible.saw(host, JSON.parse(text) as Membership, performance.now())
  }

  #sawOwner(key: string, text: string | undefined): void {
    const partition = Number(key)
    const owner = text === undefined ? undefined : (JSON.parse(text) as Owner)
    const known = this.#owners.get(partition)
    if (owner === undefined || known === undefined || !isSame(owner, known))
      this.#wantedSince.delete(partition)
    if (owner === undefined || owner.host === NOBODY) this.#owners.delete(partition)
    // A former owner may announce itself late.
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

  /** Starts the necessary work for each partition that has none in progress. */
  #plan(): void {
    if (!this.isLive || this.#leaving || this.#stopped.signal.aborted) return
    // Otherwise, partitions whose owners it has not read yet would seem to be free.
    if (!this.#knowsHosts || !this.#knowsOwners) return
    const alive = this.#visible.alive()
    const takers = [this.#host, ...alive.filter(([, { leaving }]) => !leaving).map(([host]) => host)]
    const living = new Set(alive.map(([host]) => host))
    for (let partition = 0; partition < this.#partitions; partition++) {
      if (this.#busy.has(partition)) continue
      const isWanted = ownerAmong(takers, partition) === this.#host
      // The host that gets the partition in the meantime may need time to release it.
      if (!isWanted) this.#wantedSince.delete(partition)
      const epoch = this.#mine.get(partition)
      if (epoch !== undefined) {
        const said = this.#owners.get(partition)
        const owner = { host: this.#host, epoch }
        if (!isWanted) this.#begin(partition, () => this.#release(partition, epoch))
        else if (said === undefined || !isSame(said, owner)) {
          this.#begin(partition, () => this.#say(partition, owner))
        }
      } else if (isWanted && this.#isFree(partition, living) && this.#acquiring < TAKEN_AT_A_TIME) {
        this.#acquiring++
        this.#begin(partition, () => this.#acquire(partition))
      }
    }
  }

  #isFree(partition: number, living: ReadonlySet<string>): boolean {
    const now = this.#visible.attendedMs
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
    // The next partition may begin, but not at once after a failure.
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

  /** Writes the owner of the partition, unless a later owner is recorded already. */
  async #say(partition: number, owner: Owner): Promise<void> {
    const key = String(partition)
    const entry = await this.#ownersBucket.get(key)
    const known = entry?.operation === 'PUT' ? entry.json<Owner>() : undefined
    if (known !== undefined && (known.epoch > owner.epoch || isSame(known, owner))) return
    await this.#ownersBucket.put(key, JSON.stringify(owner), { previousSeq: entry?.revision ?? 0 })
  }

  /** Begins to release partitions that have no work in progress. */
  #releaseAll(): void {
    for (const [partition, epoch] of this.#mine) {
      if (!this.#busy.has(partition)) this.#begin(partition, () => this.#release(partition, epoch))
    }
  }
}

function isSame(a: Owner, b: Owner): boolean {
  return a.host === b.host && a.epoch === b.epoch
}
