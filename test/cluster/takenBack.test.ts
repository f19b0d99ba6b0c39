/**
 * An update that would wait in the owner's backlog goes back to its gateway, which sends it again beside the updates of
 * others (G7). Otherwise every update in its request, and in all later requests of its partition, would wait for it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Packr } from 'msgpackr'
import t from 'tap'
import { AnswerOverdue, type Calls } from '../../src/cluster/nats/calls.ts'
import { ownerSubject } from '../../src/cluster/nats/subjects.ts'
import {
  decodeReply,
  decodeRequest,
  encodeReply,
  encodeRequest,
  encodeStillWaiting,
  STILL_WAITING,
  TAKEN_BACK,
} from '../../src/cluster/protocol/partitionProtocol.ts'
import { wantedOf } from '../../src/cluster/protocol/updateRows.ts'
import { deviceHash } from '../../src/model/deviceHash.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { ApiError } from '../../src/runtime/errors.ts'
import type { Measurer } from '../../src/spatial/port.ts'
import { measureShapes } from '../../src/geometry/shapeBatch.ts'
import { Senders } from '../../src/wire/senders.ts'
import { star } from '../../bench/load/hostileWorld.ts'
import { aGeofence, AWAY, Engine, HERE, NOON, World } from '../actor/kit.ts'
import { Random } from '../actor/world.ts'
import { until } from '../kit/waiting.ts'
import { update } from './contract.ts'
import { FAIR, fixedWorld, gatewayOf, Hosts, outcome, PARTITIONS, SimulatedCalls, track } from './kit.ts'

/** So many that an update into all of them waits behind the updates of others. */
const GEOFENCES = 320
/** So many that another thread measures them, and few enough that their events need not wait. */
const POLYGONS = 290
const SENDERS = new Senders()
const nothingWanted = { wantsUser: false, wantsEvents: false }
const pause = (milliseconds: number) => sleep(Math.min(milliseconds, 1))

function crowdedWorld(): World {
  const world = new World(new ManualClock(NOON))
  for (let i = 1; i <= GEOFENCES; i++) world.put(aGeofence(i))
  return world
}

async function cluster(eventBacklog: () => number, weather = FAIR) {
  const random = new Random(3)
  const calls = new SimulatedCalls(random, weather)
  const world = crowdedWorld()
  const clock = new ManualClock(NOON)
  const hosts = new Hosts(random, calls, { world, clock }, { eventBacklog })
  await hosts.start()
  return { calls, hosts, clock, gateway: gatewayOf(calls, world, { pause, giveUpMs: 20_000 }) }
}

t.test('while an update with many events waits, the others of its partition do not', async (t) => {
  let unpublished = 10 * 1024 * 1024
  const { gateway, clock } = await cluster(() => unpublished)
  let isTold = false
  const expensive = track(gateway, update({ clock }, 'crowded', HERE)).then((told) => {
    isTold = true
    return outcome(told)
  })
  const home = deviceHash('crowded') % PARTITIONS
  const neighbours = Array.from({ length: 200 }, (_, i) => `other-${i}`)
    .filter((id) => deviceHash(id) % PARTITIONS === home)
    .slice(0, 20)
  for (const id of neighbours) outcome(await track(gateway, update({ clock }, id, AWAY), nothingWanted))
  t.notOk(isTold, 'twenty requests later it still waits')
  // Those of the same device wait behind it.
  const after = track(gateway, update({ clock }, 'crowded', AWAY))
  unpublished = 0
  t.match((await expensive).events[0], /user.entered_geofence/)
  t.equal((await expensive).events.length, GEOFENCES)
  t.match(outcome(await after).events[0], /user.exited_geofence/)
  await gateway.drained()
})

t.test(
  'the updates of a device stay in order, whatever gets lost and whoever owns its partition',
  async (t) => {
    const { gateway, clock, hosts, calls } = await cluster(() => 0, { lost: 0.05, doubled: 0.05, late: 0.1 })
    let behind = 0
    const ask = calls.ask.bind(calls)
    calls.ask = (subject, question, ...more) => {
      if (subject.startsWith('ringfence.partition.') && decoded(question).isBehind) behind++
      return ask(subject, question, ...more)
    }
    const devices = ['crowded-1', 'crowded-2', 'crowded-3']
    const told: Promise<unknown>[] = []
    for (let n = 0; n < 12; n++) {
      for (const id of devices) told.push(track(gateway, update({ clock }, id, n % 2 === 0 ? HERE : AWAY)))
      for (let i = 0; i < 10; i++) told.push(track(gateway, update({ clock }, `other-${i}`, AWAY)))
      await hosts.disturb()
    }
    for (const one of await Promise.all(told)) t.notOk(one instanceof ApiError)
    await gateway.drained()
    await hosts.settle()
    t.ok(behind > 0)
    for (const id of devices) {
      const types = hosts.logs.events
        .map(({ json }) => JSON.parse(json))
        .filter(({ user }) => user.deviceId === id)
        .map(({ type }) => type)
      const wanted = Array.from({ length: 12 * GEOFENCES }, (_, i) =>
        Math.floor(i / GEOFENCES) % 2 === 0 ? 'user.entered_geofence' : 'user.exited_geofence',
      )
      t.strictSame(types, wanted, id)
    }
  },
)

t.test('with an update, the later ones of its device come back', async (t) => {
  const { gateway, clock } = await cluster(() => 0)
  // An update that takes long makes the later ones of its device come back as well. Here no update takes long.
  t.intercept(performance, 'now', { value: () => 0 })
  // They are in the same request.
  const told = await Promise.all(
    [HERE, AWAY, HERE, AWAY].map((place) => track(gateway, update({ clock }, 'crowded', place))),
  )
  const types = told.map((one) => new Set(outcome(one).events.map((event) => JSON.parse(event).type)))
  const [entered, exited] = [new Set(['user.entered_geofence']), new Set(['user.exited_geofence'])]
  t.strictSame(types, [entered, exited, entered, exited])
})

t.test('an owner says that an update still waits, and answers who asked first', async (t) => {
  let unpublished = 10 * 1024 * 1024
  const { calls, clock } = await cluster(() => unpublished)
  const wanted = { rateLimited: false, wantsUser: false, wantsEvents: true, isBehind: true }
  const one = { update: update({ clock }, 'crowded', HERE), wanted, stream: 's', sequence: 1 }
  const request = { gateway: 'g', number: 1, retried: false, revision: 0, updates: [one], commands: [] }
  const bytes = encodeRequest({ ...request, isBehind: true })
  const subject = ownerSubject(deviceHash('crowded') % PARTITIONS)
  const answers: unknown[] = []
  const call = calls.askAll(subject, (answer) => answers.push(decodeReply(answer)))
  call.send(bytes)
  await sleep(20)
  t.strictSame(answers, [])
  for (let i = 0; i < 2; i++) call.send(bytes)
  await until(() => answers.length >= 2)
  t.strictSame(answers, [STILL_WAITING, STILL_WAITING])
  unpublished = 0
  await until(() => answers.length >= 3)
  t.match(answers[2], { updates: [{ repeated: false }] })
  call.end()
})

t.test('an update that was measured does not keep others waiting until events are published', async (t) => {
  const unpublished = { bytes: 10 * 1024 * 1024 }
  const measured = Promise.withResolvers<void>()
  let batches = 0
  const measurer: Measurer = {
    async measure(batch) {
      batches++
      await measured.promise
      return measureShapes(structuredClone(batch))
    },
  }
  const world = new World(new ManualClock(NOON))
  for (let i = 1; i <= POLYGONS; i++) {
    const ring = star([HERE.longitude, HERE.latitude], 0.01 + i * 1e-6) as [number, number][]
    world.put(aGeofence(i, { type: 'polygon', shape: { kind: 'polygon', ring } }))
  }
  const random = new Random(3)
  const calls = new SimulatedCalls(random, FAIR)
  const clock = new ManualClock(NOON)
  const hosts = new Hosts(
    random,
    calls,
    { world, clock },
    { eventBacklog: () => unpublished.bytes, measurer },
  )
  await hosts.start()
  const gateway = gatewayOf(calls, world, { pause, giveUpMs: 20_000 })
  let isTold = false
  const beside = Array.from({ length: 100 }, (_, i) => `other-${i}`).find(
    (id) => deviceHash(id) % PARTITIONS === deviceHash('measured') % PARTITIONS,
  )!
  const first = track(gateway, { ...update({ clock }, 'measured', HERE), accuracy: 5000 }).then((told) => {
    isTold = true
    return outcome(told)
  })
  // It is in the same request.
  const other = track(gateway, update({ clock }, beside, AWAY), nothingWanted)
  await until(() => batches >= 1)
  measured.resolve()
  outcome(await other)
  t.notOk(isTold)
  unpublished.bytes = 0
  t.notOk((await first).repeated)
  await gateway.drained()
})

t.test('a gateway of an older release gets nothing back', async (t) => {
  const { calls, clock } = await cluster(() => 0)
  const wanted = { rateLimited: false, wantsUser: false, wantsEvents: true, isBehind: false }
  const one = { update: update({ clock }, 'crowded', HERE), wanted, stream: 's', sequence: 1 }
  const request = { gateway: 'old', number: 1, retried: false, revision: 0, updates: [one], commands: [] }
  const packr = new Packr({ useRecords: false })
  const members = packr.unpack(encodeRequest({ ...request, isBehind: false })) as unknown[]
  const subject = ownerSubject(deviceHash('crowded') % PARTITIONS)
  const ask = (length: number) => calls.ask(subject, packr.pack(members.slice(0, length)), 1000)
  const old = decodeReply(await ask(6))
  t.match(old, { updates: [{ repeated: false }] })
  const { events } = (old as unknown as { updates: [{ events: string[] }] }).updates[0]
  t.equal(events.length, GEOFENCES)
})

t.test(
  'what comes back goes in front of the later updates of its device, in requests of its own',
  async (t) => {
    const engine = new Engine()
    const sent: string[] = []
    const waiting: ((reply: Uint8Array) => void)[] = []
    const calls: Calls = {
      ask(_subject, question) {
        const { updates, isBehind, takesBack } = decoded(question)
        t.ok(takesBack)
        for (const { flags } of updates) t.equal(wantedOf(flags).isBehind, isBehind)
        sent.push(
          `${isBehind ? 'behind ' : ''}${updates.map(({ deviceId, latitude }) => `${deviceId}${latitude}`).join()}`,
        )
        return new Promise((resolve) => waiting.push(resolve))
      },
      askAll: () => ({ send() {}, end() {} }),
      serve: () => ({ async stop() {} }),
    }
    const gateway = gatewayOf(calls, fixedWorld(), { partitions: 1, pause })
    const answered: string[] = []
    const all: Promise<unknown>[] = []
    const send = (deviceId: string, latitude: number, isBehind = false) => {
      const one = engine.update({ deviceId, latitude, longitude: 0 })
      const told = track(gateway, one, { ...nothingWanted, isBehind })
      all.push(told.then(() => answered.push(`${deviceId}${latitude}`)))
    }
    const turns = () => sleep(30)
    send('a', 1)
    send('b', 1)
    await turns()
    send('a', 2)
    send('b', 2)
    send('a', 3, true)
    send('a', 4)
    await turns()
    t.strictSame(sent, ['a1,b1'])
    waiting.shift()!(encodeReply({ updates: [TAKEN_BACK, 0], commands: [] }))
    await turns()
    t.strictSame(sent.slice(1).toSorted(), ['b2', 'behind a1'])
    t.strictSame(answered, ['b1'])
    while (answered.length < 6) {
      const reply = waiting.shift()
      const updates = sent[sent.length - 1 - waiting.length]!.split(',').map(() => 0 as const)
      reply?.(encodeReply({ updates, commands: [] }))
      await turns()
    }
    await Promise.all(all)
    t.strictSame(
      answered.filter((one) => one.startsWith('a')),
      ['a1', 'a2', 'a3', 'a4'],
    )
    t.strictSame(
      sent.slice(3).filter((one) => !one.startsWith('behind')),
      [],
    )
  },
)

t.test('an owner that says that an update still waits is heard for half a minute', async (t) => {
  let now = 0
  t.intercept(performance, 'now', { value: () => now })
  const engine = new Engine()
  /** Until when the owner says that an update waits. */
  let waitsUntil = 25_000
  const calls: Calls = {
    async ask(subject, question, timeoutMs) {
      await new Promise((resolve) => setImmediate(resolve))
      const { updates, isBehind } = decoded(question)
      if (!isBehind || now >= waitsUntil) return encodeReply({ updates: updates.map(() => 0), commands: [] })
      if (now === 0) {
        now += timeoutMs
        throw new AnswerOverdue(subject)
      }
      return encodeStillWaiting()
    },
    askAll: () => ({ send() {}, end() {} }),
    serve: () => ({ async stop() {} }),
  }
  const longPause = (milliseconds: number) => {
    now += milliseconds
    return new Promise((resolve) => setImmediate(resolve))
  }
  const gateway = gatewayOf(calls, fixedWorld(), { partitions: 1, pause: longPause })
  const send = (deviceId: string, isBehind: boolean) =>
    track(gateway, engine.update({ deviceId, ...HERE }), { ...nothingWanted, isBehind })
  t.notOk((await send('a', true)) instanceof ApiError, 'answered after 25 s')
  t.ok(now >= 25_000 && now < 30_000, `${now} ms`)
  now = 0
  waitsUntil = Infinity
  const first = send('b', true)
  const second = send('c', true)
  t.match(await first, { code: 503 })
  t.ok(now >= 30_000 && now < 45_000, `refused after ${now} ms`)
  t.match(await second, { code: 503 }, 'the rest of the backlog as well')
  t.notOk((await send('d', false)) instanceof ApiError, 'not the others, because the owner answers')
  await gateway.drained()
})

function decoded(request: Uint8Array) {
  return decodeRequest(request, () => undefined, SENDERS)
}
