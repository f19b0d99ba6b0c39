/**
 * The differential test (G6) with trips: the same calls and updates give the same trips and events through a single
 * host, or through gateways and owners. Between these, messages are lost, doubled and late, while partitions are
 * handed over or taken by force (T1, T2, T4).
 */
import assert from 'node:assert/strict'
import t from 'tap'
import { FEED_ACK } from '../../src/actor/feedAck.ts'
import { Partition } from '../../src/actor/partition.ts'
import type { Intake } from '../../src/actor/port.ts'
import { REMOVAL } from '../../src/actor/removal.ts'
import { RemoteOutcomes } from '../../src/cluster/gateway/remoteOutcomes.ts'
import { RemoteTrips } from '../../src/cluster/gateway/remoteTrips.ts'
import type { Users } from '../../src/actor/port.ts'
import type { Update } from '../../src/model/update.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { ApiError } from '../../src/runtime/errors.ts'
import type { FeedOutcomes } from '../../src/trips/feedOutcome.ts'
import { HostTrips } from '../../src/trips/hostTrips.ts'
import type { Trips } from '../../src/trips/port.ts'
import { TRIP_EVENTS } from '../../src/trips/machine/table.ts'
import { TripDispatcher } from '../../src/trips/tripDispatcher.ts'
import { TripShortcut } from '../../src/trips/tripShortcut.ts'
import { TripDelivery } from '../../src/trips/tripDelivery.ts'
import { TripService } from '../../src/trips/tripService.ts'
import { ALL_ACTOR_TYPES } from '../../src/trips/tripTypes.ts'
import { UserTrips } from '../../src/trips/userTrips.ts'
import { HostUsers } from '../../src/users/hostUsers.ts'
import { Engine, NOON, runs, SALT, World } from '../actor/kit.ts'
import { Random } from '../actor/world.ts'
import fc from '../kit/fastCheck.ts'
import { until } from '../kit/waiting.ts'
import { directoryOf } from '../trips/crashKit.ts'
import {
  Clients,
  drawStep,
  furnish,
  historyOf,
  typesOf,
  USERS,
  type Step,
  type TripEngine,
} from '../trips/steps.ts'
import { FAIR, gatewayOf, Hosts, outcome, PARTITIONS, SimulatedCalls, track } from './kit.ts'

const STORE = { partitions: PARTITIONS, salt: SALT }

/** What both engines have. */
function fixture() {
  const clock = new ManualClock(NOON)
  const world = new World(clock)
  furnish(world)
  return { clock, world, directory: directoryOf(world, clock) }
}
type Fixture = ReturnType<typeof fixture>

/** The way of an update, a call and a removal through an engine. */
function engineOf(
  { clock, directory }: Fixture,
  parts: {
    readonly intake: Intake
    readonly trips: Trips
    readonly users: Users
    readonly outcomes: FeedOutcomes
  },
): TripEngine {
  const { intake, trips, users } = parts
  const userTrips = new UserTrips(parts.outcomes, trips)
  return {
    service: new TripService({
      intake,
      trips,
      users,
      directory,
      finder: { positionOf: () => Promise.resolve(undefined) },
      store: STORE,
      clock,
    }),
    async track(update: Update) {
      const { feed } = outcome(await track(intake, update))
      return feed === undefined ? { trip: null, events: [] } : userTrips.after(update, feed)
    },
    async removeUser(userId) {
      const found = await users.ask({ scope: 0, ask: 'user', id: userId })
      if (found.users.length > 0) await intake.execute(REMOVAL, { scope: 0, recordId: found.users[0]!.id }, 0)
    },
  }
}

const ways = { measure: () => Promise.resolve(undefined), isHopeless: () => true, gaveUp() {} }
const troubled = (error: Error) => {
  if (!(error instanceof ApiError)) throw error
}

/** Everything in one process. */
function embedded() {
  const own = fixture()
  const { clock, world, directory } = own
  const engine = new Engine({
    types: ALL_ACTOR_TYPES,
    partitions: PARTITIONS,
    clock,
    world,
    dispatcher: {
      committed: (partitions) => dispatcher.committed(partitions),
      moved: (...known) => dispatcher.moved(...known),
    },
    shortcut: (partitions) => new TripShortcut(partitions, SALT, { ways }),
  })
  const { host } = engine
  const trips = new HostTrips(() => [host], { registry: world, clock })
  const dispatcher = new TripDispatcher({
    delivery: new TripDelivery({
      intake: host,
      trips,
      directory,
      registry: world,
      ways,
      store: STORE,
      clock,
    }),
    acknowledge: (partition, numbers) =>
      host.executeIn(partition, FEED_ACK, { partition: partition.number, numbers }, 0),
    seenBytes: 1e6,
    gatherMs: 1,
    troubled,
  })
  const users = new HostUsers(() => [host], { salt: SALT, registry: world, clock })
  const tripEngine = engineOf(own, { intake: host, trips, users, outcomes: dispatcher })
  const calm = () =>
    until(() => dispatcher.waiting === 0 && engine.partitions.every(({ feed }) => feed.size === 0))
  const clients = new Clients({
    clock,
    insist: async (work) => {
      const answer = await work(tripEngine).catch(refusal)
      return { answer, isRepeated: false }
    },
    calm,
  })
  return {
    clock,
    clients,
    calm,
    history: () => historyOf(engine.partitions, engine.events.all, clients.told),
  }
}

function refusal(error: unknown): undefined {
  if (error instanceof ApiError && error.code < 500) return undefined
  throw error
}

/** Gateways and owners. */
async function distributed(random: Random, calls: SimulatedCalls) {
  const own = fixture()
  const { clock, world, directory } = own
  const pause = () => new Promise((resolve) => setImmediate(resolve))
  const dispatchers = new Set<TripDispatcher>()
  const trips = new RemoteTrips({ calls, registry: world, ...STORE, giveUpMs: 3000 })
  const hosts = new Hosts(random, calls, own, {
    createPartition: (number) => new Partition(number, SALT, 1, ALL_ACTOR_TYPES),
    openDispatcher: (acknowledge) => {
      const intake = gatewayOf(calls, world, { pause })
      const dispatcher = new TripDispatcher({
        delivery: new TripDelivery({ intake, trips, directory, registry: world, ways, store: STORE, clock }),
        acknowledge,
        seenBytes: 1e6,
        gatherMs: 1,
        troubled,
      })
      dispatchers.add(dispatcher)
      return dispatcher
    },
  })
  await hosts.start()
  const gateways = [0, 1].map(() => gatewayOf(calls, world, { pause }))
  const engines = gateways.map((gateway) =>
    engineOf(own, {
      intake: gateway,
      trips,
      users: gateway,
      outcomes: new RemoteOutcomes({ calls, partitions: PARTITIONS }),
    }),
  )
  let asked = 0
  let repeats = 0
  // A partition that is being handed over is nobody's for a moment, and its feed may have rows.
  const calm = () =>
    until(
      () => hosts.partitions.length === PARTITIONS && hosts.partitions.every(({ feed }) => feed.size === 0),
    )
  const clients = new Clients({
    clock,
    async insist(work) {
      for (let isRepeated = false; ; isRepeated = true) {
        try {
          return { answer: await work(engines[asked++ % engines.length]!), isRepeated }
        } catch (error) {
          if (!(error instanceof ApiError)) throw error
          if (error.code < 500) return { answer: undefined, isRepeated }
          repeats++
        }
      }
    },
    calm,
  })
  return {
    clock,
    clients,
    calm,
    hosts,
    repeats: () => repeats,
    history: () => historyOf(hosts.partitions, hosts.logs.events, clients.told),
    stop: () => {
      for (const dispatcher of dispatchers) dispatcher.stop()
    },
  }
}

t.test('property: trips are the same in both engines', async (t) => {
  const counts = { steps: 0, events: 0, repeats: 0, given: 0, taken: 0 }
  const types = new Set<string>()
  await fc.assert(
    fc.asyncProperty(fc.integer(), async (seed) => {
      const random = new Random(seed)
      const phases: Step[][] = Array.from({ length: 4 + random.below(10) }, () =>
        USERS.map(() => drawStep(random)),
      )
      const calls = new SimulatedCalls(new Random(seed + 1), {
        lost: random.pick([0, 0.05]),
        doubled: random.pick([0, 0.2]),
        late: random.pick([0, 0.3]),
      })
      const here = embedded()
      const there = await distributed(random, calls)
      for (const [n, steps] of phases.entries()) {
        for (const { clock } of [here, there]) clock.advance(20_000)
        const expected = await Promise.all(steps.map((step, i) => here.clients.do(i, step)))
        const chaos = random.chance(0.7) ? there.hosts.disturb() : undefined
        const actual = await Promise.all(steps.map((step, i) => there.clients.do(i, step)))
        await chaos
        // A call whose first answer was lost has none to compare.
        const compared = actual.map((text, i) => (text === '' ? expected[i] : text))
        assert.deepEqual(compared, expected, `phase ${n}: ${JSON.stringify(steps)}`)
        counts.steps += steps.length
      }
      calls.weather = FAIR
      await here.calm()
      await there.hosts.settle()
      await there.calm()
      const expected = here.history()
      assert.deepEqual(there.history(), expected)
      counts.events += Object.values(expected.events).reduce((sum, list) => sum + list.length, 0)
      for (const type of Object.keys(typesOf(expected.events))) types.add(type)
      counts.repeats += there.repeats()
      counts.given += there.hosts.given
      counts.taken += there.hosts.taken
      there.stop()
    }),
    { ...runs(20), endOnFailure: true },
  )
  t.comment(JSON.stringify(counts))
  t.ok(counts.events > counts.steps / 4, 'trips to which something happens')
  t.strictSame([...types].sort(), Object.values(TRIP_EVENTS).sort(), 'events of every type')
  t.ok(counts.given > 0 && counts.taken > 0)
})
