/**
 * An actor type that consists of a file and a line in the list of types works in the distributed engine. Messages are
 * lost, doubled and late, partitions are handed over and taken by force, and each addition is made exactly once.
 */
import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { Partition } from '../../src/actor/partition.ts'
import { ApiError } from '../../src/runtime/errors.ts'
import { ADD, COUNTERS, WITH_COUNTERS } from '../actor/counters.ts'
import { Engine, HERE, runs, SALT } from '../actor/kit.ts'
import { Random } from '../actor/world.ts'
import fc from '../kit/fastCheck.ts'
import {
  FAIR,
  gatewayOf,
  Hosts,
  outcome,
  PARTITIONS,
  serverOf,
  SharedLogs,
  SharedMemorySnapshots,
  SimulatedCalls,
  track,
} from './kit.ts'

const createPartition = (number: number) => new Partition(number, SALT, 1, WITH_COUNTERS)

t.test('property: each addition is there once, whatever happens to messages and hosts', async (t) => {
  const counts = { given: 0, taken: 0, again: 0, events: 0 }
  await fc.assert(
    fc.asyncProperty(fc.integer(), async (seed) => {
      const random = new Random(seed)
      const engine = new Engine()
      const weather = {
        lost: random.pick([0, 0.1]),
        doubled: random.pick([0, 0.2]),
        late: random.pick([0, 0.3]),
      }
      const calls = new SimulatedCalls(new Random(seed + 1), weather)
      const hosts = new Hosts(random, calls, engine, { createPartition })
      await hosts.start()
      const pause = () => nextTurn()
      const gateways = [gatewayOf(calls, engine.world, { pause }), gatewayOf(calls, engine.world, { pause })]
      const totals = new Map<string, number>()
      /** By counter, the totals that must become events. */
      const reached = new Map<string, number[]>()
      for (let number = 1; number <= 12; number++) {
        const chaos = random.chance(0.7) ? hosts.disturb() : undefined
        const additions = ['a', 'b', 'c', 'd', 'e', 'f'].map((counter) => ({
          counter,
          amount: random.below(15),
          sender: 's',
          number,
        }))
        await Promise.all(
          additions.map(async (addition) => {
            const { counter, amount } = addition
            const before = totals.get(counter) ?? 0
            const total = before + amount
            totals.set(counter, total)
            if (Math.floor(total / 10) > Math.floor(before / 10))
              reached.set(counter, [...(reached.get(counter) ?? []), total])
            assert.equal(await random.pick(gateways).execute(ADD, addition, 10), total)
            // Some senders get no answer, and send again through another gateway.
            if (!random.chance(0.3)) return
            counts.again++
            assert.equal(await random.pick(gateways).execute(ADD, addition, 10), total)
          }),
        )
        outcome(await track(gateways[0]!, engine.update({ ...HERE, deviceId: 'd' })))
        await chaos
      }
      calls.weather = FAIR
      for (const [counter, total] of totals) {
        const nothing = { counter, amount: 0, sender: 'reader', number: 1 }
        assert.equal(await gateways[0]!.execute(ADD, nothing, 10), total)
        const events = hosts.logs.events.filter(({ deviceId }) => deviceId === counter)
        assert.deepEqual(
          events.map(({ json }) => JSON.parse(json).total),
          reached.get(counter) ?? [],
        )
        counts.events += events.length
      }
      counts.given += hosts.given
      counts.taken += hosts.taken
    }),
    { ...runs(8), endOnFailure: true },
  )
  t.comment(JSON.stringify(counts))
  t.ok(counts.given > 0 && counts.taken > 0 && counts.again > 0 && counts.events > 0)
})

t.test(
  'an owner that does not know a kind of command refuses only that command, and names the rows of the type that it has',
  async (t) => {
    const calls = new SimulatedCalls(new Random(1), FAIR)
    const engine = new Engine()
    const logs = new SharedLogs()
    const parts = {
      snapshots: new SharedMemorySnapshots(),
      openLog: async (n: number, fencedOut: (error: Error) => void) => logs.open(n, fencedOut),
    }
    const old = serverOf(calls, engine, parts)
    const gateway = gatewayOf(calls, engine.world)
    for (let n = 0; n < PARTITIONS; n++) await old.acquire(n)
    const counter = 'd'
    const refused = gateway.execute(ADD, { counter, amount: 1, sender: 's', number: 1 }, 10)
    const tracked = track(gateway, engine.update({ ...HERE, deviceId: counter }))
    await t.rejects(
      refused,
      new ApiError(
        503,
        'The process that has this partition does not know "counter.add". It may be of an older release.',
        { retryAfter: 1 },
      ),
    )
    outcome(await tracked)

    const n = engine.host.partitionOf(counter).number
    await old.release(n)
    const fresh = serverOf(calls, engine, { ...parts, createPartition })
    await fresh.acquire(n)
    t.equal(await gateway.execute(ADD, { counter, amount: 1, sender: 's', number: 1 }, 10), 1)
    t.equal(fresh.hosts[0]!.partitions[0]!.tableOf(COUNTERS).counters.get(counter)!.total, 1)
    await fresh.release(n)
    await t.rejects(old.acquire(n), /actor type 200, which is not known/)
  },
)
