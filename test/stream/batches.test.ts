/** Batches of positions: what each encoding writes, and which stays are sent when. */
import assert from 'node:assert/strict'
import { mock } from 'node:test'
import t from 'tap'
import { HostPositions } from '../../src/actor/hostPositions.ts'
import type { LivePosition } from '../../src/actor/port.ts'
import { BatchedStays, DUE, OVER, RESTING } from '../../src/stream/batchedStays.ts'
import type { BatchedWatch } from '../../src/stream/batchedWatch.ts'
import { JsonBatchWriter } from '../../src/stream/jsonBatch.ts'
import { jsonCodec } from '../../src/stream/jsonCodec.ts'
import type { ShownDevice } from '../../src/stream/messages.ts'
import { msgpackCodec } from '../../src/stream/msgpackCodec.ts'
import { protobufCodec } from '../../src/stream/protobufCodec.ts'
import { positionOf } from '../../src/stream/shownDevice.ts'
import { StayQueue } from '../../src/stream/stayQueue.ts'
import { NO_DEVICE, WatchedDevices } from '../../src/stream/watchedDevices.ts'
import { Watches } from '../../src/stream/watches.ts'
import { Engine, removeRecord } from '../actor/kit.ts'
import fc from '../kit/fastCheck.ts'
import { decode } from '../kit/stream.ts'
import { FakeConnection } from './fakeConnection.ts'

// The tests make the ticks themselves. On a busy machine, one would come between two updates.
mock.timers.enable({ apis: ['setInterval'] })

const CODECS = { json: jsonCodec, msgpack: msgpackCodec, protobuf: protobufCodec } as const
const CHANGES = ['enter', 'move', 'leave'] as const

const text = fc.string({ unit: 'binary', maxLength: 20 }).map((drawn) => drawn.toWellFormed())
/** Numbers with few digits, which are usual, and any others. */
const number = fc.oneof(
  fc
    .tuple(fc.integer({ min: -1_800_000_000, max: 1_800_000_000 }), fc.nat(9))
    .map(([digits, places]) => digits / 10 ** places),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(0, -0, 1e-7, 1e-6, 0.1, -0.1, 180, -180, 99_999_999.9999999, 1e8, 1e21, 5e-324),
)
const shown: fc.Arbitrary<ShownDevice> = fc.record({
  deviceId: text,
  recordId: fc.constantFrom('65f0c0ffee0000000000abcd', '65f0c0ffee0000000000abce'),
  userId: fc.option(text, { nil: undefined }),
  latitude: number,
  longitude: number,
  accuracy: fc.oneof(number, fc.constant(NaN)),
  // Also before 1970 and after the year 9999.
  updatedAt: fc.oneof(
    fc.integer({ min: -1e12, max: 2e12 }),
    fc.integer({ min: 2.5e14, max: 2.6e14 }),
    fc.integer({ min: 1.7e12, max: 1.7e12 + 9000 }),
  ),
  head: fc.constant(undefined),
})
const batches = fc.array(fc.tuple(fc.constantFrom(...CHANGES), shown), { minLength: 1, maxLength: 20 })

for (const [encoding, codec] of Object.entries(CODECS)) {
  t.test(`${encoding}: a batch of devices is the message with their positions`, async (t) => {
    fc.assert(
      fc.property(text, batches, (watch, drawn) => {
        const devices = drawn.map(([change, device]) => [change, { ...device }] as const)
        const positions = drawn.map(([change, device]) => positionOf(change, device))
        const expected = Buffer.from(codec.encode({ type: 'positions', watch, positions }))
        // The second time, what was kept of the first is used.
        for (let round = 0; round < 2; round++) {
          codec.batch.begin(watch)
          for (const [change, device] of devices) codec.batch.add(change, device)
          const bytes = Buffer.from(codec.batch.end())
          const name = encoding as keyof typeof CODECS
          assert.deepStrictEqual(decode(name, bytes), decode(name, expected))
        }
      }),
      { numRuns: 300 },
    )
    t.pass('all of them')
  })
}

t.test('numbers in a batch are written as JSON.stringify writes them', async (t) => {
  fc.assert(
    fc.property(number, (value) => {
      const writer = new JsonBatchWriter()
      writer.begin('w')
      const place = { latitude: value, longitude: value, accuracy: value, updatedAt: 0 }
      writer.add('move', { deviceId: 'd', recordId: 'r', userId: undefined, head: undefined, ...place })
      const written = JSON.stringify(value)
      const message = writer.end().toString()
      assert.ok(message.includes(`[${written},${written}]`), message)
      assert.ok(message.includes(`"locationAccuracy":${written},`), message)
    }),
    { numRuns: 3000 },
  )
  t.pass('all of them')
})

t.test('a batch may be larger than the buffer, which is given back afterwards', async (t) => {
  const writer = new JsonBatchWriter()
  const device = (i: number): ShownDevice => ({
    deviceId: `${'ü'.repeat(200)}${i}`,
    recordId: 'r',
    userId: undefined,
    latitude: 1,
    longitude: 2,
    accuracy: 3,
    updatedAt: 4,
    head: undefined,
  })
  writer.begin('w')
  for (let i = 0; i < 10_000; i++) writer.add('move', device(i))
  const large = writer.end()
  const { positions } = JSON.parse(large.toString())
  t.equal(positions.length, 10_000)
  t.equal(positions[9999].user.deviceId, device(9999).deviceId)
  writer.begin('w')
  t.ok(writer.end().buffer.byteLength < large.length / 10)
})

t.test('a device that several watches are sent is written as it is, in every message', async (t) => {
  const devices = new WatchedDevices()
  const writer = new JsonBatchWriter()
  const placeOf = (i: number, updatedAt: number) => ({
    ...liveAt(`device-${i}`),
    latitude: i / 100,
    longitude: updatedAt / 1000,
    updatedAt,
  })
  const places = Array.from({ length: 30 }, (_, i) => placeOf(i, 0))
  const rows = places.map((live) => devices.add(live))
  let bytes = 0
  for (let message = 0; message < 1000; message++) {
    // Each third device moves before each fourth message, so most texts are those of an earlier message.
    if (message % 4 === 0)
      for (const [i, row] of rows.entries()) {
        if ((i + message / 4) % 3 !== 0) continue
        places[i] = placeOf(i, message)
        devices.move(row, places[i]!, false)
      }
    const sent = [...rows.keys()].filter((i) => (i * 7 + message) % 5 !== 0)
    writer.begin('w')
    for (const i of sent) writer.add(CHANGES[i % 3]!, devices.shown(rows[i]!))
    const written = writer.end()
    bytes += written.length
    const { positions } = JSON.parse(Buffer.from(written).toString())
    const expected = sent.map((i) => {
      const { recordId, userId, deviceId, longitude, latitude, accuracy, updatedAt } = places[i]!
      const device = { recordId, userId, deviceId, longitude, latitude, accuracy, updatedAt, head: undefined }
      const { written: _, ...position } = positionOf(CHANGES[i % 3]!, device)
      return JSON.parse(JSON.stringify(position))
    })
    assert.deepStrictEqual(positions, expected)
  }
  t.ok(bytes > 4_000_000, 'the buffer was used from its beginning on some times')
})

/** Stays of one device, without a watch that looks at them. */
function aTable() {
  const devices = new WatchedDevices()
  const table = new BatchedStays(devices)
  const device = devices.add(liveAt('d', 0))
  const queueOf = (mark: number) => new StayQueue(table, mark, DUE | RESTING)
  return { table, queueOf, aStay: () => table.add(device, {} as BatchedWatch) }
}

t.test('property: a queue has stays in their order, without those that are over', async (t) => {
  const steps = fc.array(fc.oneof(fc.constant('take'), fc.nat(40)), { maxLength: 300 })
  fc.assert(
    fc.property(steps, (script) => {
      const { table, queueOf, aStay } = aTable()
      const queue = queueOf(DUE)
      let expected: number[] = []
      for (const step of script) {
        if (step === 'take') assert.equal(queue.take(), expected.shift())
        else if (Number(step) % 3 === 0 && expected.length > 0) {
          const ended = expected[Number(step) % expected.length]!
          table.mark(ended, OVER)
          queue.forget(ended)
          expected = expected.filter((one) => one !== ended)
        } else {
          const stay = aStay()
          queue.put(stay)
          expected.push(stay)
        }
        assert.equal(queue.first, expected[0])
        assert.ok(expected.every((stay) => table.has(stay, DUE)))
      }
    }),
    { numRuns: 300 },
  )
  t.pass('all of them')
})

t.test('a queue does not grow with stays that are over, nor with those that were taken', async (t) => {
  const { table, queueOf, aStay } = aTable()
  const queue = queueOf(RESTING)
  const last = aStay()
  let highest = last
  queue.put(last)
  for (let i = 0; i < 100_000; i++) {
    const stay = aStay()
    highest = Math.max(highest, stay)
    queue.put(stay)
    table.unlink(stay)
    table.mark(stay, OVER)
    queue.forget(stay)
  }
  t.ok(queue.places < 5000, `${queue.places} places with stays that are over`)
  t.ok(highest < 5000, `${highest} numbers`)
  t.equal(queue.take(), last)
  for (let i = 0; i < 100_000; i++) {
    queue.put(aStay())
    queue.take()
  }
  t.ok(queue.places < 5000, `${queue.places} places with stays that were taken`)
  t.equal(queue.take(), undefined)
})

t.test('the number of a stay is used again only when no queue has it', async (t) => {
  const { table, queueOf, aStay } = aTable()
  const due = queueOf(DUE)
  const resting = queueOf(RESTING)
  const stay = aStay()
  due.put(stay)
  resting.put(stay)
  table.unlink(stay)
  table.mark(stay, OVER)
  due.forget(stay)
  resting.forget(stay)
  t.equal(due.take(), undefined)
  t.not(aStay(), stay, 'it still rests')
  t.equal(resting.take(), undefined)
  t.equal(aStay(), stay)
})

function liveAt(deviceId: string, handle?: number): LivePosition {
  const where = { latitude: 1, longitude: 2, accuracy: 3, updatedAt: 4 }
  return { scope: 0, deviceId, recordId: `of ${deviceId}`, userId: undefined, ...where, handle }
}

t.test('property: handles lead to the devices that have them', async (t) => {
  // There are far more handles than the first arrays have room for.
  const handle = fc.option(fc.constantFrom(0, 1, 2, 5000), { nil: undefined })
  const steps = fc.array(
    fc.record({ do: fc.constantFrom('add', 'move', 'leave', 'remove'), which: fc.nat(5), handle }),
    { maxLength: 60 },
  )
  fc.assert(
    fc.property(steps, (script) => {
      const devices = new WatchedDevices()
      /** The handles by device. */
      const model = new Map<number, number | undefined>()
      const give = (device: number, given: number | undefined) => {
        for (const [other, own] of model) if (own === given) model.set(other, undefined)
        model.set(device, given)
      }
      for (const { do: step, which, handle: given } of script) {
        const device = [...model.keys()][which % Math.max(1, model.size)]
        if (step === 'add') give(devices.add(liveAt(`d${which}`, given)), given)
        else if (device === undefined) continue
        else if (step === 'move') {
          devices.move(device, liveAt('d', given), false)
          give(device, given)
        } else if (step === 'leave') {
          devices.leaveRecord(device, undefined)
          model.set(device, undefined)
        } else {
          devices.remove(device)
          model.delete(device)
        }
        assert.equal(devices.count, model.size)
        for (const [known, own] of model) assert.equal(devices.handle(known), own)
        for (const one of [0, 1, 2, 3, 5000, 100_000]) {
          const owner = [...model].find(([, own]) => own === one)?.[0]
          assert.equal(devices.ofHandle(one), owner ?? NO_DEVICE)
        }
      }
    }),
    { numRuns: 300 },
  )
  t.pass('all of them')
})

/** A batched watch of the longitudes from 0 to 9, and a single one beside it if wanted. */
function world(filter?: object) {
  const engine = new Engine({ partitions: 1 })
  const watches = new Watches({
    positions: new HostPositions(engine.host),
    registry: engine.world,
    clock: engine.clock,
  })
  const connection = new FakeConnection()
  const feature = watches.open(connection)
  const area = { type: 'box', box: [0, -1, 9, 1] }
  const watch = (id: string, batch: boolean) =>
    feature.receive({ type: 'watch', id, area, batch, minIntervalMs: 0, ...(filter && { filter }) })
  return {
    engine,
    watches,
    feature,
    watch,
    move: (deviceId: string, longitude: number, userId?: string) => {
      engine.clock.advance(1)
      return engine.track(engine.update({ deviceId, latitude: 0, longitude, userId }))
    },
    /** What the batched watches are sent at the next tick. */
    tick(): string[] {
      const from = connection.sent.length
      watches.tick()
      return connection.sent
        .slice(from)
        .flatMap(({ positions = [] }) => positions)
        .map(({ change, user, location }) => `${change} ${user.deviceId} ${location.coordinates[0]}`)
    },
    sent: () =>
      connection.sent
        .filter(({ type }) => type === 'position')
        .map(({ change, user, location }) => `${change} ${user.deviceId} ${location.coordinates[0]}`),
  }
}

t.test('at a tick, only the latest position of each device counts, in the order of the first', async (t) => {
  const { move, tick, watch, feature } = world()
  watch('w', true)
  await move('a', 1)
  await move('b', 1)
  await move('a', 2)
  t.same(tick(), ['enter a 2', 'enter b 1'])
  for (const longitude of [3, 20, 4]) await move('a', longitude)
  t.same(tick(), ['move a 4'], 'it left and came back')
  for (const longitude of [20, 5, 30]) await move('a', longitude)
  await move('c', 20)
  t.same(tick(), ['leave a 30'])
  for (const longitude of [6, 40]) await move('a', longitude)
  t.same(tick(), [], 'it was inside for a moment')
  feature.closed()
})

t.test('a device whose record is removed after it has moved is gone at the tick', async (t) => {
  const { engine, move, tick, watch, feature } = world()
  watch('w', true)
  const id = async (moved: ReturnType<typeof move>) => {
    await moved
    const [partition] = engine.host.partitions
    return partition!.table.recordId(partition!.row)
  }
  await move('a', 1)
  t.same(tick(), ['enter a 1'])
  const first = await id(move('a', 2))
  await removeRecord(engine.host, first)
  t.same(tick(), ['leave a 2'])
  await move('b', 1)
  t.same(tick(), ['enter b 1'])
  const second = await id(move('b', 20))
  await removeRecord(engine.host, second)
  t.same(tick(), ['leave b 20'])
  await move('b', 3)
  t.same(tick(), ['enter b 3'], 'a new device')
  feature.closed()
})

t.test('a single watch beside a batched one is told at once, and both see the same', async (t) => {
  const { watches, move, tick, sent, watch, feature } = world()
  watch('batched', true)
  watch('single', false)
  await move('a', 1)
  await move('a', 20)
  await new Promise(setImmediate)
  t.same(sent(), ['enter a 1', 'leave a 20'], 'at once')
  t.same(tick(), [], 'who has left before the tick was not there')
  await move('a', 2)
  t.same(tick(), ['enter a 2'])
  await move('a', 3)
  feature.receive({ type: 'unwatch', id: 'batched' })
  await move('a', 20)
  await new Promise(setImmediate)
  t.same(sent().slice(2), ['enter a 2', 'move a 3', 'leave a 20'])
  feature.receive({ type: 'unwatch', id: 'single' })
  t.equal(watches.devicesBytes, 0, 'nothing is kept of what moved since the last tick')
  feature.closed()
})

t.test('a filter of users counts for the latest position', async (t) => {
  const { move, tick, watch, feature } = world({ userIds: ['u'] })
  watch('w', true)
  await move('a', 1, 'u')
  await move('b', 1, 'other')
  t.same(tick(), ['enter a 1'])
  await move('a', 2, 'other')
  await move('b', 2, 'u')
  t.same(tick().toSorted(), ['enter b 2', 'leave a 2'])
  feature.closed()
})
