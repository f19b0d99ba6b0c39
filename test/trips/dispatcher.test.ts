/** The way of updates to trips: rows of a feed, and who carries them. */
import t from 'tap'
import { FEED_ACK } from '../../src/actor/feedAck.ts'
import type { FeedRow } from '../../src/actor/feedTable.ts'
import type { Partition } from '../../src/actor/partition.ts'
import { ApiError } from '../../src/runtime/errors.ts'
import type { FeedOutcome } from '../../src/trips/feedOutcome.ts'
import { TripDispatcher } from '../../src/trips/tripDispatcher.ts'
import { applied, Engine } from '../actor/kit.ts'
import { until } from '../kit/waiting.ts'

const OPTIONS = { tripOptions: { externalId: 'order' } }
const NOTHING: FeedOutcome = { trip: null, events: [] }

/** An update that tells its trip. */
const tell = (engine: Engine, deviceId = 'phone') =>
  engine.track(engine.update({ deviceId, latitude: 0, longitude: 0, ...OPTIONS }))
const waiting = (engine: Engine) => engine.partitions.reduce((sum, { feed }) => sum + feed.size, 0)

function courierOf(
  engine: Engine,
  told: (row: FeedRow) => Promise<FeedOutcome>,
  more: { seenBytes?: number; outcomeMs?: number } = {},
) {
  return new TripDispatcher({
    delivery: { tell: told },
    acknowledge: (partition: Partition, numbers) =>
      engine.host.executeIn(partition, FEED_ACK, { partition: partition.number, numbers }, 0),
    seenBytes: 100_000,
    troubled: () => {},
    ...more,
  })
}

t.test('rows are numbered in order, also after a kill and from a snapshot', async (t) => {
  const engine = new Engine({ partitions: 1 })
  t.equal(applied(await tell(engine)).feed, 1)
  t.equal(applied(await tell(engine)).feed, 2)
  const [partition] = engine.partitions
  await engine.host.executeIn(partition!, FEED_ACK, { partition: 0, numbers: [1, 2] }, 0)
  t.equal(waiting(engine), 0)
  await engine.snapshot()
  const again = engine.restarted({ log: engine.log.killed() })
  t.equal(waiting(again), 0)
  t.equal(applied(await tell(again)).feed, 3)
  const third = again.restarted({ log: again.log.killed() })
  t.equal(waiting(third), 1, 'what was not acknowledged is there')
  t.equal(third.partitions[0]!.feed.takeFresh()[0]!.number, 3)
})

t.test('beyond a thousand rows of a device its updates are refused with 503, others are not', async (t) => {
  const engine = new Engine({ partitions: 1 })
  for (let i = 0; i < 1000; i++) applied(await tell(engine))
  const refused = await tell(engine)
  t.match(refused, { code: 503, retryAfter: 1 })
  t.ok(refused instanceof ApiError)
  t.equal(applied(await tell(engine, 'other')).feed, 1001)
  t.equal(
    applied(await engine.track(engine.update({ deviceId: 'phone', latitude: 0, longitude: 0 }))).feed,
    undefined,
    'an update that moves no trip does not wait',
  )
})

t.test(
  'a row is told until that succeeds, before the next of its device, and acknowledged then',
  async (t) => {
    const engine = new Engine({ partitions: 1 })
    const tried: number[] = []
    const dispatcher = courierOf(engine, (row) => {
      tried.push(row.number)
      if (tried.length < 3) return Promise.reject(new ApiError(503, 'Not now.'))
      return Promise.resolve(NOTHING)
    })
    t.teardown(() => dispatcher.stop())
    await tell(engine)
    await tell(engine)
    dispatcher.committed(engine.partitions)
    await until(async () => waiting(engine) === 0)
    t.strictSame(tried, [1, 1, 1, 2])
  },
)

t.test('a new owner tells what the one before has not', async (t) => {
  const engine = new Engine({ partitions: 1 })
  const dead = courierOf(engine, () => new Promise(() => {}))
  await tell(engine)
  dead.committed(engine.partitions)
  dead.stop()
  const next = engine.restarted({ log: engine.log.killed() })
  const told: number[] = []
  const dispatcher = courierOf(next, async ({ number }) => {
    told.push(number)
    return NOTHING
  })
  t.teardown(() => dispatcher.stop())
  dispatcher.committed(next.partitions)
  await until(async () => waiting(next) === 0)
  t.strictSame(told, [1])
})

t.test('an answer waits for its trips, not long, and then gets what the device saw last', async (t) => {
  const engine = new Engine({ partitions: 1 })
  let isSilent = true
  const answer = () =>
    isSilent ? new Promise<FeedOutcome>(() => {}) : Promise.resolve({ trip: '{}', events: ['1'] })
  const question = (deviceId: string, number: number) => ({ scope: 0, deviceId, number })
  const dispatcher = courierOf(engine, answer, { outcomeMs: 50, seenBytes: 1000 })
  t.teardown(() => dispatcher.stop())
  await tell(engine)
  dispatcher.committed(engine.partitions)
  await t.rejects(dispatcher.of(question('phone', 1)), { code: 503, retryAfter: 1 })
  isSilent = false
  await tell(engine, 'other')
  dispatcher.committed(engine.partitions)
  t.strictSame(await dispatcher.of(question('other', 2)), { trip: '{}', events: ['1'] })
  t.strictSame(await dispatcher.of(question('other', 2)), { trip: '{}', events: ['1'] }, 'again')
  isSilent = true
  await tell(engine, 'other')
  dispatcher.committed(engine.partitions)
  t.strictSame(await dispatcher.of(question('other', 3)), { trip: '{}', events: [] })
  isSilent = false
  for (let i = 0; i < 20; i++) {
    await tell(engine, `many-${i}`)
    dispatcher.committed(engine.partitions)
    await dispatcher.of(question(`many-${i}`, 4 + i))
  }
  t.equal(await dispatcher.of(question('many-0', 4)), undefined, 'what was seen longest ago is forgotten')
})

t.test('the events of a row are there although the next one was told before anybody asked', async (t) => {
  const engine = new Engine({ partitions: 1 })
  const dispatcher = courierOf(engine, async ({ number }) => ({
    trip: `{"n":${number}}`,
    events: [`${number}`],
  }))
  t.teardown(() => dispatcher.stop())
  for (let i = 0; i < 3; i++) await tell(engine)
  dispatcher.committed(engine.partitions)
  await until(() => dispatcher.waiting === 0)
  for (const number of [1, 2, 3, 1]) {
    const question = { scope: 0, deviceId: 'phone', number }
    t.strictSame(await dispatcher.of(question), { trip: '{"n":3}', events: [`${number}`] })
  }
})

t.test('a row that no trip remembers is acknowledged before it is answered', async (t) => {
  const engine = new Engine({ partitions: 1 })
  const told: number[] = []
  let fails = 1
  const dispatcher = new TripDispatcher({
    delivery: {
      tell: async ({ number }) => {
        told.push(number)
        return { ...NOTHING, isInVain: number === 1 }
      },
    },
    acknowledge: async (partition, numbers) => {
      if (fails-- > 0) throw new ApiError(503, 'Not now.')
      await engine.host.executeIn(partition, FEED_ACK, { partition: partition.number, numbers }, 0)
    },
    seenBytes: 100_000,
    // The others wait longer than the test takes.
    gatherMs: 60_000,
    troubled: () => {},
  })
  t.teardown(() => dispatcher.stop())
  await tell(engine)
  await tell(engine)
  dispatcher.committed(engine.partitions)
  t.strictSame(await dispatcher.of({ scope: 0, deviceId: 'phone', number: 1 }), NOTHING)
  t.equal(engine.partitions[0]!.feed.get(1), undefined, 'it will not be told again')
  t.strictSame(await dispatcher.of({ scope: 0, deviceId: 'phone', number: 2 }), NOTHING)
  t.strictSame(told, [1, 1, 2], 'until it is acknowledged, it is told again')
  t.equal(waiting(engine), 1)
})

t.test('many rows of one frame are told in turns, with everything else in between', async (t) => {
  const engine = new Engine({ partitions: 1 })
  const devices = Array.from({ length: 200 }, (_, i) => `phone-${i}`)
  await Promise.all(devices.map((deviceId) => tell(engine, deviceId)))
  const told: number[] = []
  const dispatcher = courierOf(engine, async ({ number }) => {
    told.push(number)
    return NOTHING
  })
  t.teardown(() => dispatcher.stop())
  dispatcher.committed(engine.partitions)
  t.strictSame([told.length, dispatcher.waiting], [0, 200], 'the answers of the frame are sent first')
  const turns: number[] = []
  while (told.length < 200) {
    const before = told.length
    await new Promise((resolve) => setImmediate(resolve))
    if (told.length > before) turns.push(told.length - before)
  }
  t.ok(Math.max(...turns) <= 64, turns.join())
  await until(async () => waiting(engine) === 0)
})
