/**
 * Which host owns which partition as hosts join and leave, with a real nats-server and a separate connection for each
 * host.
 */
import { equal } from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { jetstreamManager } from '@nats-io/jetstream'
import t from 'tap'
import type { Test } from 'tap'
import { joinHosts } from '../../src/cluster/ownership/jetStreamOwnership.ts'
import type { Ownership } from '../../src/log/port.ts'
import { ownerAmong } from '../../src/cluster/ownership/rendezvous.ts'
import fc from '../kit/fastCheck.ts'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { natsCluster, natsServer, type NatsServer } from '../kit/nats.ts'
import { until } from '../kit/waiting.ts'
import { persistently } from '../../src/cluster/nats/jetStreamConnection.ts'
import { again, consumersOf, reconnecting } from './jetStreamKit.ts'

const skip = await skipWithout(NATS_SERVER)
const PARTITIONS = 32
const TTL_MS = 600
/** Three servers that share a busy machine need longer for an entry. */
const CLUSTER_TTL_MS = 3000
const RELEASE_TURNS = 6
/** The library's own watches take more than a minute. Servers elect a leader in some ten seconds. */
const FOLLOWS_AGAIN_MS = 40_000

t.test('rendezvous: all hosts agree, and only the share of a joining or leaving host moves', async (t) => {
  const names = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(names, fc.nat(1023), fc.nat(7), (hosts, partition, index) => {
      const owner = ownerAmong(hosts, partition)!
      equal(ownerAmong(hosts.toReversed(), partition), owner)
      const gone = hosts[index % hosts.length]
      const others = hosts.filter((host) => host !== gone)
      if (gone !== owner) equal(ownerAmong(others, partition), owner)
    }),
  )
  equal(ownerAmong([], 1), undefined)
  const counts = new Map<string, number>()
  for (let n = 0; n < 1024; n++) {
    const owner = ownerAmong(['host-1', 'host-2', 'host-3', 'host-4'], n)!
    counts.set(owner, (counts.get(owner) ?? 0) + 1)
  }
  for (const [host, count] of counts) t.ok(count > 190 && count < 320, `${host} has ${count} of 1024`)
})

interface Host {
  readonly name: string
  readonly ownership: Ownership
  readonly has: Set<number>
  /** As if the process were stopped: it sends and receives nothing. */
  cut(): Promise<void>
}

/** Partition → the host that has it. Two hosts at a time are an error. */
const holders = new Map<number, string>()
/** The number of releases that each host has begun. */
const releases = new Map<string, number>()
/** Attempts to take a partition that another host has. */
const robberies: string[] = []
let epochs = 0
/** Cases in which a host began to acquire or release a partition before its previous operation on it was over. */
const overlaps: string[] = []

async function join(
  t: Test,
  server: NatsServer | readonly NatsServer[],
  name: string,
  releaseMs = 0,
): Promise<Host> {
  const servers = [server].flat()
  const connection = await reconnecting(t, servers)
  const has = new Set<number>()
  const changing = new Set<number>()
  const alone = async <T>(partition: number, change: () => Promise<T>): Promise<T> => {
    if (changing.has(partition)) overlaps.push(`${name}: ${partition}`)
    changing.add(partition)
    try {
      return await change()
    } finally {
      changing.delete(partition)
    }
  }
  const ownership = await joinHosts({
    connection,
    host: name,
    partitions: PARTITIONS,
    replicas: servers.length,
    ttlMs: servers.length > 1 ? CLUSTER_TTL_MS : TTL_MS,
    handlers: {
      acquire: (partition) =>
        alone(partition, async () => {
          if (holders.has(partition))
            robberies.push(`${name} takes ${partition} of ${holders.get(partition)}`)
          equal(holders.get(partition), undefined, `${name} takes ${partition}`)
          holders.set(partition, name)
          has.add(partition)
          await sleep(5)
          return ++epochs
        }),
      release: (partition) =>
        alone(partition, async () => {
          releases.set(name, (releases.get(name) ?? 0) + 1)
          // In several turns: a process that was starved still has most of its work before it.
          for (let n = 0; n < RELEASE_TURNS; n++) await sleep(releaseMs / RELEASE_TURNS)
          equal(holders.get(partition), name)
          holders.delete(partition)
          has.delete(partition)
        }),
    },
    troubled: () => {},
  })
  // For a host that a failed test has left running.
  t.teardown(() => ownership.leave())
  return { name, ownership, has, cut: () => connection.close() }
}

/** Keeps the event loop from running anything. */
function starve(milliseconds: number): void {
  for (const end = performance.now() + milliseconds; performance.now() < end;);
}

/** Waits until all partitions are where the rendezvous hashing of these hosts puts them, and all hosts know it. */
async function settled(hosts: readonly Host[]): Promise<void> {
  const names = hosts.map(({ name }) => name)
  const expected = Array.from({ length: PARTITIONS }, (_, n) => ownerAmong(names, n))
  const isSettled = () =>
    expected.every(
      (owner, n) =>
        holders.get(n) === owner && hosts.every(({ ownership }) => ownership.ownerOf(n)?.host === owner),
    )
  await until(isSettled)
  for (const { name, has } of hosts) t.ok([...has].every((n) => holders.get(n) === name))
}

t.test('no partition is taken from a leaving host because of an outdated request', { skip }, async (t) => {
  holders.clear()
  const server = await natsServer(t)
  const a = await join(t, server, 'a', 700)
  await settled([a])
  // Before the first host has released anything, what the second should get is assigned to the third.
  const b = await join(t, server, 'b')
  await sleep(TTL_MS / 2)
  const c = await join(t, server, 'c', 300)
  await settled([a, b, c])
  await sleep(3 * TTL_MS)
  robberies.length = 0
  await c.ownership.leave()
  await settled([a, b])
  t.strictSame(robberies, [])
})

t.test(
  'a host whose consumers are lost with their server follows again within seconds',
  { skip },
  async (t) => {
    holders.clear()
    const server = await natsServer(t)
    const manager = await jetstreamManager(await reconnecting(t, [server]))
    const a = await join(t, server, 'a')
    await settled([a])
    const lost = await consumersOf(manager)
    t.equal(lost.length, 2)
    for (const { stream_name: stream, name } of lost) await manager.consumers.delete(stream, name)
    const lostAt = performance.now()
    const b = await join(t, server, 'b')
    await settled([a, b])
    t.ok(performance.now() - lostAt < FOLLOWS_AGAIN_MS, `${performance.now() - lostAt} ms`)
    // The client may have made others in the meantime, which go a moment later.
    await until(async () => (await consumersOf(manager)).length === 4)
    await b.ownership.leave()
    await a.ownership.leave()
    await until(async () => (await consumersOf(manager)).length === 0)
  },
)

t.test(
  'a host whose consumers are lost with a NATS server soon takes over from a host that dies with that server',
  { skip },
  async (t) => {
    holders.clear()
    const { names, servers } = await natsCluster(t)
    // At first, the servers have no leader.
    const a = await persistently(() => join(t, servers, 'a'), again)
    await settled([a])
    const manager = await jetstreamManager(await reconnecting(t, servers))
    const mine = new Set((await consumersOf(manager)).map(({ name }) => name))
    const b = await join(t, servers, 'b')
    await settled([a, b])
    t.ok(b.has.size > 0)
    const led = (await consumersOf(manager)).filter(({ name }) => mine.has(name))
    t.equal(led.length, 2)
    const lost = servers[names.indexOf(led[0]!.cluster!.leader!)]!
    const diedAt = performance.now()
    await Promise.all([lost.kill9(), b.cut()])
    await settled([a])
    const tookMs = performance.now() - diedAt
    t.comment(`all partitions are taken over after ${Math.round(tookMs)} ms`)
    t.ok(tookMs < FOLLOWS_AGAIN_MS, `${tookMs} ms`)
    await a.ownership.leave()
  },
)

t.test('a host that joins first reads who has what', { skip }, async (t) => {
  holders.clear()
  const server = await natsServer(t)
  const a = await join(t, server, 'a')
  await settled([a])
  robberies.length = 0
  const b = await join(t, server, 'b')
  await settled([a, b])
  t.strictSame(robberies, [])
})

t.test('a starved host does not take partitions from one that is as starved', { skip }, async (t) => {
  holders.clear()
  releases.clear()
  const server = await natsServer(t)
  // Its releases take far less than what a live owner is given.
  const a = await join(t, server, 'a', TTL_MS / 2)
  await settled([a])
  robberies.length = 0
  const b = await join(t, server, 'b')
  await until(() => releases.has('a'))
  // The other one has come to know that it has to wait.
  await sleep(TTL_MS / 4)
  // Nothing in this process runs: both hosts are starved for longer than an owner may keep a partition.
  starve(4 * TTL_MS)
  await settled([a, b])
  t.strictSame(robberies, [])
})

t.test('hosts join, leave and die', { skip }, async (t) => {
  holders.clear()
  const server = await natsServer(t)
  const a = await join(t, server, 'a')
  await settled([a])
  const b = await join(t, server, 'b', 30)
  const c = await join(t, server, 'c', 30)
  await settled([a, b, c])
  t.ok([a, b, c].every(({ has }) => has.size > 0))
  t.ok([a, b, c].every(({ ownership }) => ownership.isLive))

  await b.ownership.leave()
  t.equal(b.has.size, 0, 'released before it resolves')
  await settled([a, c])

  const d = await join(t, server, 'd')
  await settled([a, c, d])
  await c.cut()
  // The host notices by itself that it is alone, and drops its partitions before another host takes them.
  await until(() => c.has.size === 0)
  t.notOk(c.ownership.isLive)
  await settled([a, d])

  const taken = [...a.has][0]!
  holders.delete(taken)
  a.has.delete(taken)
  a.ownership.lost(taken)
  await until(() => a.has.has(taken))
  t.pass('a partition that was lost to nobody comes back')

  await server.kill9()
  await until(() => !a.ownership.isLive && a.has.size + d.has.size === 0)
  await server.start()
  await settled([a, d])
  await Promise.all([a, c, d].map(({ ownership }) => ownership.leave()))
  t.equal(holders.size, 0)
})

t.test('a host never runs two acquires or releases of a partition at a time', async (t) => {
  t.strictSame(overlaps, [])
  t.ok(epochs > PARTITIONS, 'in the tests above')
})
