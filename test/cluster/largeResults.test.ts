/**
 * Results that are too large for the reply to a gateway's request: it fetches them in pieces, and the requests behind
 * them do not wait.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Outcome } from '../../src/actor/port.ts'
import { LargeResults } from '../../src/cluster/owner/largeResults.ts'
import { NobodyListens, type Calls } from '../../src/cluster/nats/calls.ts'
import { ApiError } from '../../src/runtime/errors.ts'
import { aGeofence, AWAY, Engine, HERE, World, NOON } from '../actor/kit.ts'
import { Random } from '../actor/world.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { until } from '../kit/waiting.ts'
import { update } from './contract.ts'
import {
  FAIR,
  gatewayOf,
  Hosts,
  outcome,
  PARTITIONS,
  plain,
  SimulatedCalls,
  track,
  type Weather,
} from './kit.ts'

/** So many that a user inside of them is written when it is wanted, and that their events are long. */
const GEOFENCES = 500

function crowdedWorld(): World {
  const world = new World(new ManualClock(NOON))
  for (let i = 1; i <= GEOFENCES; i++) world.put(aGeofence(i, { metadata: { note: 'x'.repeat(300) } }))
  return world
}

async function userOf(told: Outcome): Promise<unknown> {
  return plain(told.userPieces === undefined ? told.user : (await told.userPieces()).join(''))
}

async function cluster(weather: Weather, wrap: (calls: Calls) => Calls = (calls) => calls) {
  const random = new Random(7)
  const calls = new SimulatedCalls(random, weather)
  const world = crowdedWorld()
  const clock = new ManualClock(NOON)
  const hosts = new Hosts(random, calls, { world, clock })
  await hosts.start()
  const pause = (milliseconds: number) => sleep(Math.min(milliseconds, 1))
  return { gateway: gatewayOf(wrap(calls), world, { pause, giveUpMs: 20_000 }), clock, hosts }
}

t.test('a gateway tells the same as the owner', async (t) => {
  const weathers = { fair: FAIR, foul: { lost: 0.1, doubled: 0.1, late: 0.1 } }
  for (const [name, weather] of Object.entries(weathers)) {
    await t.test(name, async (t) => {
      const { gateway, clock, hosts } = await cluster(weather)
      const whole = new Engine({})
      for (let i = 1; i <= GEOFENCES; i++)
        whole.world.put(aGeofence(i, { metadata: { note: 'x'.repeat(300) } }))
      for (const place of [HERE, AWAY, HERE]) {
        const one = update({ clock }, 'crowded', place)
        const far = outcome(await track(gateway, one))
        const near = outcome(await track(whole.host, one))
        // An answer that was lost is repeated, and a repeated update has no events.
        if (!far.repeated) t.strictSame(far.events.map(plain), near.events.map(plain))
        if (weather === FAIR) t.equal(far.events.length, GEOFENCES)
        t.strictSame(await userOf(far), await userOf(near))
      }
      await gateway.drained()
      t.equal(hosts.partitions.length, PARTITIONS)
    })
  }
})

t.test('the requests behind a large result do not wait until it is fetched', async (t) => {
  const fetched = Promise.withResolvers<void>()
  const isResult = (subject: string) => /^ringfence\.outcome\.[^.]{10,}$/.test(subject)
  let asked = 0
  const { gateway, clock } = await cluster(FAIR, (calls) => ({
    ask: async (subject, question, milliseconds) => {
      if (isResult(subject)) {
        asked++
        await fetched.promise
      }
      return calls.ask(subject, question, milliseconds)
    },
    askAll: (...question) => calls.askAll(...question),
    serve: (...server) => calls.serve(...server),
  }))
  let isTold = false
  const large = track(gateway, update({ clock }, 'crowded', HERE)).then((told) => {
    isTold = true
    return outcome(told)
  })
  await until(() => asked > 0)
  // The same device, so certainly the same partition.
  const behind = outcome(
    await track(gateway, update({ clock }, 'crowded', HERE), { wantsUser: false, wantsEvents: false }),
  )
  t.notOk(isTold, 'it is told before the large result')
  t.notOk(behind.repeated)
  fetched.resolve()
  t.equal((await large).events.length, GEOFENCES)
  await gateway.drained()
})

t.test('a reply with the results of many updates is no larger than a full one', async (t) => {
  const devices = 60
  let longest = 0
  const random = new Random(7)
  const calls = new SimulatedCalls(random, FAIR)
  const serve = calls.serve.bind(calls)
  calls.serve = (subject, asked) =>
    serve(subject, (question, answer) =>
      asked(question, (bytes) => {
        longest = Math.max(longest, bytes.length)
        answer(bytes)
      }),
    )
  const world = new World(new ManualClock(NOON))
  for (let i = 1; i <= 60; i++) world.put(aGeofence(i, { metadata: { note: 'x'.repeat(300) } }))
  const clock = new ManualClock(NOON)
  const hosts = new Hosts(random, calls, { world, clock })
  await hosts.start()
  const gateway = gatewayOf(calls, world, { partitions: 1, pause: (ms) => sleep(Math.min(ms, 1)) })
  const told = await Promise.all(
    Array.from({ length: devices }, async (_, i) => {
      const one = outcome(await track(gateway, update({ clock }, `d${i}`, HERE), { wantsUser: false }))
      t.equal(one.events.length, 60)
      return one.events.reduce((sum, event) => sum + event.length, 0)
    }),
  )
  t.ok(Math.max(...told) < 64 * 1024, 'no result is large by itself')
  t.ok(told.reduce((sum, one) => sum + one) > 2_000_000)
  t.ok(longest < 700_000, `${longest} bytes`)
  await gateway.drained()
})

t.test('a process that ends with a result: 503, and the update stands', async (t) => {
  const { gateway, clock } = await cluster(FAIR, (calls) => ({
    ask: (subject, question, milliseconds) => {
      if (/^ringfence\.outcome\.[^.]{10,}$/.test(subject)) throw new NobodyListens(subject)
      return calls.ask(subject, question, milliseconds)
    },
    askAll: (...question) => calls.askAll(...question),
    serve: (...server) => calls.serve(...server),
  }))
  const refused = await track(gateway, update({ clock }, 'crowded', HERE))
  t.ok(refused instanceof ApiError)
  t.match(refused, { code: 503, retryAfter: 1, message: /stored/ })
  const { users } = await gateway.ask({ scope: 0, ask: 'list', list: { deviceId: 'crowded', limit: 1 } })
  t.equal(users.length, 1)
})

t.test('what is kept is bounded, and forgotten', async (t) => {
  const events = Array.from({ length: 300 }, (_, i) => `${i}`.padEnd(1000, 'x'))
  const one: Outcome = { user: '{}', events, repeated: false }
  const results = new LargeResults({ process: 'p', limitBytes: 700_000, keptMs: 50 })
  t.equal(results.keep({ ...one, events: [] }, []), undefined, 'a small result goes into the reply')
  const first = results.keep(one, events)!
  t.match(first, { process: 'p', hasEvents: true, user: '{}', repeated: false })
  const second = results.keep(one, events)!
  t.equal(results.keep(one, events), undefined, 'there is no room for a third')
  t.equal(results.bytes, 600_000)
  const texts: string[] = []
  let pieces = 0
  for (let from = 0; from >= 0; pieces++) {
    const piece = (await results.answer({ id: first.id, what: 0, from }))!
    texts.push(...piece.texts)
    from = piece.next
  }
  t.strictSame(texts, events)
  t.equal(pieces, 3)
  await results.answer({ id: first.id, what: 2, from: 0 })
  t.equal(results.bytes, 300_000, 'its gateway wants no more of the first')
  t.equal(await results.answer({ id: first.id, what: 0, from: 0 }), undefined)
  await sleep(100)
  t.equal(results.bytes, 0, 'nobody has asked for the second')
  t.equal(await results.answer({ id: second.id, what: 0, from: 0 }), undefined)
})

t.test(
  'an update with many events waits for those before it to be published, and others do not',
  async (t) => {
    let unpublished = 10 * 1024 * 1024
    const random = new Random(7)
    const calls = new SimulatedCalls(random, FAIR)
    const world = crowdedWorld()
    const clock = new ManualClock(NOON)
    const hosts = new Hosts(random, calls, { world, clock }, { eventBacklog: () => unpublished })
    await hosts.start()
    const gateway = gatewayOf(calls, world, { pause: (milliseconds) => sleep(Math.min(milliseconds, 1)) })
    let isTold = false
    const expensive = track(gateway, update({ clock }, 'crowded', HERE), { isBehind: true }).then((told) => {
      isTold = true
      return outcome(told)
    })
    for (let i = 0; i < 20; i++) outcome(await track(gateway, update({ clock }, `other-${i}`, AWAY)))
    t.notOk(isTold)
    unpublished = 0
    t.equal((await expensive).events.length, GEOFENCES)
    await gateway.drained()
  },
)
