import t from 'tap'
import { FrameWriter } from '../../src/actor/commitCodec.ts'
import type { Outcome, Submitter } from '../../src/actor/port.ts'
import { Backlog } from '../../src/runtime/backlog.ts'
import type { Update } from '../../src/model/update.ts'
import fc from '../kit/fastCheck.ts'
import { runs } from '../geometry/shapes.ts'
import { aGeofence, applied, Engine, MemoryEvents, stateOf } from './kit.ts'

/**
 * Expensive requests and the requests of others (G7): which are processed first, and that every sender's own order is
 * kept (G3).
 */

/** Number of overlapping geofences. An update into them takes one or a few milliseconds. */
const CROWD = 400

function crowdedEngine(events = new MemoryEvents()): Engine {
  // One partition, so that the others must share it.
  const engine = new Engine({ partitions: 1, events })
  for (let i = 0; i < CROWD; i++) engine.world.put(aGeofence(i))
  return engine
}

/** Records which updates are answered, and in which order. */
class Noted implements Submitter {
  readonly rateLimited = false
  readonly wantsUser = true
  readonly wantsEvents = true
  isBehind: boolean
  readonly #order: string[]

  constructor(order: string[], isBehind: boolean) {
    this.#order = order
    this.isBehind = isBehind
  }

  applied(_: Outcome, { deviceId, updatedAt }: Update): void {
    this.#order.push(`${deviceId} ${updatedAt}`)
  }

  refused(error: Error): void {
    throw error
  }
}

/** Alternately into the crowd of geofences and out of it. */
function inAndOut(engine: Engine, deviceId: string, count: number): Update[] {
  return Array.from({ length: count }, (_, i) =>
    engine.update({ deviceId, latitude: i % 2, longitude: 0, updatedAt: engine.clock.now() + i }),
  )
}

t.test('a replay lets all other devices go first', async (t) => {
  const engine = crowdedEngine()
  const order: string[] = []
  const replay = inAndOut(engine, 'replayed', 60)
  engine.host.submit(replay, 1000, new Noted(order, true))
  const late = engine.update({
    deviceId: 'replayed',
    latitude: 0,
    longitude: 0,
    updatedAt: engine.clock.now() + 99,
  })
  engine.host.submitOne(late, 100, new Noted(order, false))
  for (let i = 0; i < 20; i++) {
    const other = engine.update({ deviceId: `other ${i}`, latitude: 5, longitude: 0, updatedAt: 0 })
    engine.host.submitOne(other, 100, new Noted(order, false))
  }
  await engine.host.drained()
  t.equal(order.length, 81)
  const at = (name: string) => order.findIndex((one) => one.startsWith(name))
  for (let i = 0; i < 20; i++) t.ok(at(`other ${i} `) < 55, `other ${i}`)
  t.same(
    order.filter((one) => one.startsWith('replayed')).map((one) => Number(one.split(' ')[1])),
    [...replay, late].map(({ updatedAt }) => updatedAt),
    'in the order of the device, what came after the replay last',
  )
})

t.test('a frame with one expensive update lets others go first, too', async (t) => {
  const engine = crowdedEngine()
  const order: string[] = []
  const frame = new Noted(order, false)
  const updates = Array.from({ length: 300 }, (_, i) =>
    engine.update({ deviceId: `frame ${i}`, latitude: 0, longitude: 0, updatedAt: i }),
  )
  // By this clock, evaluating the first update already takes long, on any machine.
  let now = 0
  t.intercept(performance, 'now', { value: () => (now += 3) })
  engine.host.submit(updates, 1000, frame)
  const other = engine.update({ deviceId: 'other', latitude: 5, longitude: 0, updatedAt: 0 })
  engine.host.submitOne(other, 100, new Noted(order, false))
  await engine.host.drained()
  t.equal(frame.isBehind, true)
  t.equal(order.length, 301)
  t.ok(order.indexOf('other 0') < 150, `${order.indexOf('other 0')}`)
})

t.test('on a slow machine, a frame of usual updates does not count as expensive', async (t) => {
  const engine = crowdedEngine()
  const order: string[] = []
  const frame = new Noted(order, false)
  const updates = Array.from({ length: 50 }, (_, i) =>
    engine.update({ deviceId: `frame ${i}`, latitude: 5, longitude: 0, updatedAt: i }),
  )
  let now = 0
  t.intercept(performance, 'now', { value: () => (now += 3) })
  engine.host.submit(updates, 1000, frame)
  await engine.host.drained()
  t.equal(order.length, 50)
  t.equal(frame.isBehind, false)
})

t.test('an update with megabytes of events', async (t) => {
  const engine = new Engine({ partitions: 1 })
  const metadata = { note: 'é'.repeat(4000) }
  for (let i = 0; i < CROWD; i++) engine.world.put({ ...aGeofence(i), metadata })
  await t.test('writes its events in turns with other work', async (t) => {
    let turns = 0
    const appends: number[] = []
    const append = engine.log.append.bind(engine.log)
    t.intercept(engine.log, 'append', {
      value: (...args: Parameters<typeof append>) => {
        appends.push(turns)
        append(...args)
      },
    })
    const count = () => {
      turns++
      if (appends.length === 0) setImmediate(count)
    }
    setImmediate(count)
    await engine.track(engine.update({ deviceId: 'a', latitude: 0, longitude: 0 }))
    t.equal(appends.length, 1)
    // They have 256 KB each, 1.8 MB in all.
    t.ok(appends[0]! >= 6, `${appends[0]} turns`)
  })
  await t.test('has the same state and events when it is recovered from its frame', async (t) => {
    t.equal(engine.events.all.length, CROWD)
    const restarted = engine.restarted({ events: new MemoryEvents() })
    t.same(stateOf(restarted.partitions), stateOf(engine.partitions))
    t.same(
      restarted.events.all.map(({ json }) => json),
      engine.events.all.map(({ json }) => json),
    )
  })
  await t.test('makes its user on request, in pieces or as a whole', async (t) => {
    const updates = inAndOut(engine, 'b', 3)
    const told: Outcome[] = []
    for (const update of updates) told.push(applied(await engine.track(update)))
    const [inside, outside, again] = told
    t.equal(outside!.userPieces, undefined, 'only who may be long')
    t.equal(inside!.parts, undefined)
    const pieces = await inside!.userPieces!()
    t.ok(pieces.length > CROWD)
    t.equal(pieces.join(''), inside!.user)
    t.equal(pieces.includes(''), false)
    const user = JSON.parse(inside!.user)
    t.equal(user.geofences.length, CROWD)
    t.equal(user.updatedAt, new Date(updates[0]!.updatedAt!).toISOString(), 'as it was after this update')
    for (let i = 0; i < CROWD; i++) engine.world.remove(aGeofence(i))
    t.same(JSON.parse((await again!.userPieces!()).join('')).geofences, [], 'none that is gone by then')
    t.same(JSON.parse(again!.user).geofences, [])
  })
})

t.test('an update into geofences with more texts than are kept writes them in turns', async (t) => {
  const engine = new Engine({ partitions: 1 })
  const geofences = 200
  const metadata = Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`key${i}`, 'x'.repeat(4000)]))
  for (let i = 0; i < geofences; i++) engine.world.put({ ...aGeofence(i), metadata })
  // By this clock, only writing takes time: a millisecond for 64 Ki characters.
  const write = JSON.stringify
  let now = 0
  let ofTurn = 0
  let most = 0
  let isOver = false
  t.intercept(performance, 'now', { value: () => now })
  t.intercept(JSON, 'stringify', {
    value: (...args: Parameters<typeof write>) => {
      const text = write(...args)
      now += text.length / 65_536
      ofTurn += text.length
      return text
    },
  })
  const count = () => {
    most = Math.max(most, ofTurn)
    ofTurn = 0
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  for (const deviceId of ['a', 'b', 'c']) {
    const { events } = applied(await engine.track(engine.update({ deviceId, latitude: 0, longitude: 0 })))
    t.equal(events.length, geofences)
    t.same(JSON.parse(events.at(-1)!).geofence.metadata, metadata)
    t.same(
      events,
      engine.events.all.slice(-geofences).map(({ json }) => json),
    )
  }
  isOver = true
  // Before it waits, half a mebicharacter may be written, and one text more.
  t.ok(most < 640 * 1024, `${most} characters in a turn`)
})

t.test(
  'while the texts of an update into many geofences are written, other updates are answered',
  async (t) => {
    const engine = crowdedEngine()
    const order: string[] = []
    const at = { updatedAt: engine.clock.now() }
    engine.host.submitOne(
      engine.update({ deviceId: 'crowded', latitude: 0, longitude: 0, ...at }),
      100,
      new Noted(order, false),
    )
    engine.host.submitOne(
      engine.update({ deviceId: 'alone', latitude: 9, longitude: 0, ...at }),
      100,
      new Noted(order, false),
    )
    await engine.host.drained()
    t.strictSame(order, [`alone ${at.updatedAt}`, `crowded ${at.updatedAt}`])
    const again = engine.update({ deviceId: 'second', latitude: 0, longitude: 0, ...at })
    engine.host.submitOne(again, 100, new Noted(order, false))
    engine.host.submitOne(
      engine.update({ deviceId: 'other', latitude: 9, longitude: 0, ...at }),
      100,
      new Noted(order, false),
    )
    await engine.host.drained()
    t.strictSame(
      order.slice(2),
      [`other ${at.updatedAt}`, `second ${at.updatedAt}`],
      'also when they are there',
    )

    // An edit while the texts are being written must show in them.
    engine.host.submitOne(
      engine.update({ deviceId: 'third', latitude: 0, longitude: 0, ...at }),
      100,
      new Noted(order, false),
    )
    for (let i = 0; i < CROWD; i++) engine.world.put({ ...aGeofence(i), description: 'edited' })
    await engine.host.drained()
    const told = engine.events.all.filter(({ deviceId }) => deviceId === 'third')
    t.equal(told.length, CROWD)
    t.ok(told.every(({ json }) => JSON.parse(json).geofence.description === 'edited'))
  },
)

t.test('while events wait for the index, the backlog waits before any other update does', async (t) => {
  const events = new MemoryEvents()
  const engine = crowdedEngine(events)
  const order: string[] = []
  events.pendingBytes = 32 * 1024 * 1024
  engine.host.submit(inAndOut(engine, 'replayed', 4), 1000, new Noted(order, true))
  const other = engine.update({ deviceId: 'other', latitude: 5, longitude: 0, updatedAt: 0 })
  await engine.track(other)
  await new Promise((resolve) => setTimeout(resolve, 50))
  t.same(order, [])
  await engine.track(other)
  events.pendingBytes = 0
  await engine.host.drained()
  t.equal(order.length, 4)
})

t.test(
  'many devices that enter a crowd of geofences at once do not fill the index before others',
  async (t) => {
    const events = new MemoryEvents()
    const engine = crowdedEngine(events)
    const order: string[] = []
    const enter = (deviceId: string, latitude: number) =>
      engine.host.submitOne(
        engine.update({ deviceId, latitude, longitude: 0, updatedAt: 0 }),
        100,
        new Noted(order, false),
      )
    // One of them has its texts written for all.
    enter('first', 0)
    await engine.host.drained()
    order.length = 0
    events.pendingBytes = 32 * 1024 * 1024
    for (let i = 0; i < 5; i++) enter(`crowded ${i}`, 0)
    enter('other', 5)
    while (order.length === 0) await new Promise((resolve) => setImmediate(resolve))
    await new Promise((resolve) => setTimeout(resolve, 50))
    t.strictSame(order, ['other 0'], 'and none of the crowd while the index is full')
    events.pendingBytes = 0
    await engine.host.drained()
    t.equal(order.length, 6)
  },
)

t.test('the cost of an update grows in proportion to the geofences that it enters', (t) => {
  const perGeofence = (count: number): number => {
    const engine = new Engine({ partitions: 1 })
    for (let i = 0; i < count; i++) engine.world.put(aGeofence(i))
    const updates = inAndOut(engine, 'a', 6)
    let least = Infinity
    for (const update of updates) {
      const writer = new FrameWriter()
      writer.begin(update.receivedAt)
      const [partition] = engine.partitions
      partition!.begin(writer, update.receivedAt, 1)
      const before = process.cpuUsage()
      partition!.apply(update, engine.world.scope(0), writer, false)
      const { user, system } = process.cpuUsage(before)
      partition!.end(writer, [])
      least = Math.min(least, user + system)
    }
    return least / count
  }
  perGeofence(1000)
  const few = perGeofence(1000)
  const many = perGeofence(20_000)
  t.ok(many < 4 * few, `${many.toFixed(2)} and ${few.toFixed(2)} µs`)
  t.end()
})

t.test('a backlog keeps the order of each device, and devices take turns', (t) => {
  const device = fc.constantFrom('a', 'b', 'c', 'd')
  fc.assert(
    fc.property(fc.array(fc.tuple(device, fc.nat(3))), (script) => {
      const backlog = new Backlog<{ readonly update: Update; readonly number: number }>()
      const waiting: { device: string; number: number }[] = []
      const turns: string[] = []
      let number = 0
      for (const [deviceId, kind] of script) {
        if (kind < 3) {
          backlog.push({ update: { deviceId } as Update, number: ++number })
          waiting.push({ device: deviceId, number })
          if (!turns.includes(deviceId)) turns.push(deviceId)
          continue
        }
        const first = backlog.first()
        if ((first === undefined) !== (turns.length === 0)) throw new Error('nobody, or somebody')
        if (first === undefined) continue
        const turn = turns.shift()!
        const at = waiting.findIndex((one) => one.device === turn)
        if (first.number !== waiting[at]!.number) throw new Error(`${first.number}, not ${turn}'s`)
        waiting.splice(at, 1)
        backlog.taken(turn)
        if (waiting.some((one) => one.device === turn)) turns.push(turn)
      }
      // `next` must list exactly the updates that then come, one after another.
      const next = backlog.next(5).map((one) => one.number)
      for (const expected of next) {
        const first = backlog.first()!
        if (first.number !== expected) throw new Error(`${first.number} comes, not ${expected}`)
        backlog.taken(first.update.deviceId)
      }
      if (backlog.isEmpty !== (waiting.length === next.length)) throw new Error('empty or not')
    }),
    runs(500),
  )
  t.end()
})
