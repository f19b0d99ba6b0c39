/**
 * The differential test (G6) with bad connections: the same input gives the same events and users through a single
 * host, or through gateways and owners. Between these, messages are lost, doubled and late, while partitions are
 * handed over or taken by force.
 */
import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { HostUsers } from '../../src/users/hostUsers.ts'
import type { FencedOut } from '../../src/log/errors.ts'
import { ApiError } from '../../src/runtime/errors.ts'
import { aGeofence, Engine, HERE, MINUTE, runs, SALT, type World } from '../actor/kit.ts'
import { RandomAtlas } from '../actor/randomAtlas.ts'
import { randomFullSettings, Visitor } from '../actor/randomContext.ts'
import { Track } from '../actor/track.ts'
import { Random, randomBeacon, randomEdit, randomGeofence, randomPlace } from '../actor/world.ts'
import fc from '../kit/fastCheck.ts'
import {
  allUsers,
  byDevice,
  FAIR,
  fixedWorld,
  gatewayOf,
  Hosts,
  outcome,
  PARTITIONS,
  plain,
  serverOf,
  SharedLogs,
  SharedMemorySnapshots,
  SimulatedCalls,
  track,
} from './kit.ts'

const DEVICES = 12
const ROUNDS = 12

t.test('property: both engines give the same results for the same input', async (t) => {
  const counts = {
    updates: 0,
    events: 0,
    place: 0,
    region: 0,
    failed_fraud: 0,
    beacon: 0,
    inSegments: 0,
    barred: 0,
    repeats: 0,
    given: 0,
    taken: 0,
  }
  await fc.assert(
    fc.asyncProperty(fc.integer(), async (seed) => {
      const random = new Random(seed)
      const place = randomPlace(random)
      const spread = random.magnitude(60, 20_000)
      const atlas = new RandomAtlas(random, place, spread)
      atlas.fetches = random.chance(0.5)
      const engine = new Engine({ partitions: PARTITIONS, atlas })
      const { world, clock } = engine
      const settingsOf = () => ({
        ...randomFullSettings(random, []),
        blockedCountries: random.chance(0.3) ? ['V'] : [],
      })
      world.set(0, settingsOf())
      for (let id = 1; id <= 12; id++) world.put(randomGeofence(random, id, place, spread, clock.now()))
      for (let id = 1; id <= 3; id++) world.putBeacon(randomBeacon(random, id, place, spread))
      const style = { spread, jumps: 0.5, changes: 0.4 }
      const tracks = Array.from({ length: DEVICES }, (_, i) => new Track(random, `device-${i}`, place, style))
      const visitors = tracks.map(() => new Visitor(random, atlas.places.all))

      const weather = {
        lost: random.pick([0, 0.1]),
        doubled: random.pick([0, 0.2]),
        late: random.pick([0, 0.3]),
      }
      const calls = new SimulatedCalls(new Random(seed + 1), weather)
      const hosts = new Hosts(random, calls, engine)
      await hosts.start()
      const pause = () => nextTurn()
      const gateways = [gatewayOf(calls, world, { pause }), gatewayOf(calls, world, { pause })]

      const answered: string[] = []
      let sequence = 0
      for (let round = 0; round < ROUNDS; round++) {
        clock.advance(Math.round(random.magnitude(1000, 10 * MINUTE)))
        if (random.chance(0.4)) randomEdit(random, engine, place, spread, settingsOf)
        if (random.chance(0.2)) atlas.places.change(random, atlas)
        const geofences = [...world.geofences(0).values()]
        const updates = tracks
          .flatMap((one, i) => [one, one].map((each) => visitors[i]!.next(each.next(engine, geofences))))
          .map((update, i) => (i % 4 < 2 ? update : { ...update, stream: 'own', sequence: ++sequence }))
        const chaos = random.chance(0.7) ? hosts.disturb() : undefined
        const embedded = updates.map((update) => track(engine.host, update))
        // All updates of one device go through one gateway, because updates that come by two ways have no order.
        const distributed = updates.map((update, i) => track(gateways[(i >> 1) % 2]!, update))
        // Some clients get no answer from a gateway and send the update again to another one. They do not send later
        // updates there, which would overtake it.
        const resent = updates.map(async (update, i) => {
          if (update.stream !== undefined && i % 2 === 0 && random.chance(0.3))
            await track(gateways[((i >> 1) + 1) % 2]!, update)
        })
        for (const [i, promise] of distributed.entries()) {
          const told = (await embedded[i])!
          counts.updates++
          if (told instanceof ApiError) {
            assert.equal(told.code, 451)
            const there = await promise
            // The refusal was lost, and when it was asked for again, a later update of the device had been applied.
            if (there instanceof ApiError) assert.deepEqual(there, told)
            else assert.ok(there.repeated, `it was applied: ${JSON.stringify(there)}`)
            counts.barred++
            continue
          }
          const here = outcome(told)
          const there = outcome(await promise)
          if (there.repeated) {
            // The first answer was lost, and the user may have moved since.
            counts.repeats++
            continue
          }
          assert.deepEqual(plain(there.user), plain(here.user))
          assert.deepEqual(there.events.map(plain), here.events.map(plain))
          for (const json of there.events) answered.push(JSON.parse(json)._id)
          if (JSON.parse(here.user!).segments.length > 0) counts.inSegments++
        }
        await Promise.all([chaos, ...resent])
      }

      const events = hosts.logs.events
      assert.deepEqual(byDevice(events), byDevice(engine.events.all))
      const ids = events.map(({ id }) => id)
      assert.equal(new Set(ids).size, ids.length, 'G2: each event once')
      const known = new Set(ids)
      for (const id of answered) assert.ok(known.has(id), 'G5: what was told is in the log')
      counts.events += events.length
      for (const { json } of events) {
        const [, kind] =
          /^user\.(?:entered_|exited_|nearby_)?(place|region|failed_fraud|beacon)/.exec(
            JSON.parse(json).type,
          ) ?? []
        if (kind !== undefined) counts[kind as 'place' | 'region' | 'failed_fraud' | 'beacon']++
      }
      counts.given += hosts.given
      counts.taken += hosts.taken

      calls.weather = FAIR
      await hosts.settle()
      const parts = { salt: SALT, registry: world, clock }
      assert.deepEqual(
        await allUsers(gateways[0]!),
        await allUsers(new HostUsers(() => [engine.host], parts)),
      )
    }),
    { ...runs(12), endOnFailure: true },
  )
  t.comment(JSON.stringify(counts))
  t.ok(counts.events > counts.updates / 20, 'worlds in which something happens')
  const { place, region, failed_fraud, beacon, inSegments, barred } = counts
  for (const [what, count] of Object.entries({ place, region, failed_fraud, beacon, inSegments, barred }))
    t.ok(count > 20, `${count} ${what}: every evaluator has something to do`)
  t.ok(counts.repeats > 0 && counts.given > 0 && counts.taken > 0)
})

t.test('G10: an owner evaluates with the registry revision of the gateway, or a later one', async (t) => {
  const calls = new SimulatedCalls(new Random(1), FAIR)
  const world = fixedWorld()
  const { clock } = new Engine()
  const logs = new SharedLogs()
  const server = serverOf(
    calls,
    { world, clock },
    {
      snapshots: new SharedMemorySnapshots(),
      openLog: async (n, fencedOut) => logs.open(n, fencedOut),
    },
  )
  for (let n = 0; n < PARTITIONS; n++) await server.acquire(n)
  // The gateway has seen an edit that has not reached the owner yet.
  const gateway = gatewayOf(calls, { ...world, revision: world.revision + 1 } as World)
  const update = { ...HERE, scope: 0, deviceId: 'd', foreground: false, stopped: false, replayed: false }
  let told = false
  const promise = track(gateway, { ...update, accuracy: 5, receivedAt: clock.now(), ip: '192.0.2.1' })
  void promise.then(() => (told = true))
  for (let i = 0; i < 200; i++) await nextTurn()
  t.equal(told, false)
  world.remove(aGeofence(1))
  t.same(outcome(await promise).events, [], 'the geofence was gone when it was evaluated')
})

t.test('a request that was refused because the owner is busy is accepted once there is room', async (t) => {
  const calls = new SimulatedCalls(new Random(1), FAIR)
  const engine = new Engine({ partitions: PARTITIONS })
  const logs = new SharedLogs()
  const asked = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const server = serverOf(calls, engine, {
    mailboxBytes: 1000,
    snapshots: new SharedMemorySnapshots(),
    async openLog(n, fencedOut) {
      const log = logs.open(n, fencedOut)
      const append = log.append.bind(log)
      log.append = (...frame) => {
        asked.resolve()
        void gate.promise.then(() => append(...frame))
      }
      return log
    },
  })
  for (let n = 0; n < PARTITIONS; n++) await server.acquire(n)
  const [a, b] = [gatewayOf(calls, engine.world), gatewayOf(calls, engine.world, { giveUpMs: 3000 })]
  const first = track(a, engine.update({ ...HERE, deviceId: 'd' }))
  await asked.promise
  let isTold = false
  const second = track(b, engine.update({ ...HERE, deviceId: 'd' })).finally(() => (isTold = true))
  for (let i = 0; i < 200; i++) await nextTurn()
  t.equal(isTold, false)
  gate.resolve()
  outcome(await first)
  outcome(await second)
})

t.test(
  'a host that hands a partition over writes a snapshot if the next host would have much to read',
  async (t) => {
    const calls = new SimulatedCalls(new Random(1), FAIR)
    const engine = new Engine()
    const logs = new SharedLogs()
    const snapshots = new SharedMemorySnapshots()
    const openLog = async (n: number, fencedOut: (error: FencedOut) => void) => logs.open(n, fencedOut)
    const [a, b] = [1, 2].map(() => serverOf(calls, engine, { snapshots, openLog }))
    const gateway = gatewayOf(calls, engine.world)
    const n = engine.host.partitionOf('d').number
    await a!.acquire(n)
    const send = async (description: string) => {
      outcome(await track(gateway, engine.update({ ...HERE, deviceId: 'd', description })))
    }
    await send('short')
    await a!.release(n)
    t.equal(await snapshots.newest(n), undefined)
    await b!.acquire(n)
    for (let i = 0; i < 6; i++) await send(`${i}`.repeat(1_000_000))
    await b!.release(n)
    t.equal((await snapshots.newest(n))?.offset, logs.frames[n]!.length)
    await a!.acquire(n)
    const [found] = (
      await new HostUsers(() => a!.hosts, { salt: SALT, registry: engine.world, clock: engine.clock }).ask({
        scope: 0,
        ask: 'user',
        id: 'd',
      })
    ).users
    t.equal(JSON.parse(found!.user.join('')).description, '5'.repeat(1_000_000))
  },
)
