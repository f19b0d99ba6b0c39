/** What happens by itself: old trips go, and before them their locations; names without a trip are free again. */
import t from 'tap'
import { DeviceMemory } from '../../src/actor/deviceMemory.ts'
import type { TripChange } from '../../src/trips/machine/change.ts'
import { TRIP_CALL } from '../../src/trips/tripCall.ts'
import { ALL_ACTOR_TYPES } from '../../src/trips/tripTypes.ts'
import { MINUTE, NOON } from '../actor/kit.ts'
import { until } from '../kit/waiting.ts'
import { jobsOf, NAME, scene } from './deliveryKit.ts'
import { call, newTripId, tripsOf } from './tripKit.ts'

const DAY = 24 * 60 * MINUTE

/** One of the jobs over the trips of an engine. */
function jobOf(one: ReturnType<typeof scene>, name: string, aheadMs?: number): () => Promise<void> {
  const run = jobsOf(one, aheadMs)
  return () => run(name)
}

/** Two trips with a location each, of which one is completed, and the job of retention. */
async function retained() {
  const one = scene()
  const { clock, world, directory, engine, delivery, update } = one
  world.set(0, { tripExpirationMinutes: null })
  for (const name of [NAME, 'active']) await delivery.tell(await update(name), false)
  const { id } = directory.of(0).named(NAME)!
  await call(engine, id, NAME, { change: { status: 'completed' } })
  await directory.edit(() => directory.release(0, id))
  const run = jobOf(one, 'trip-retention')
  const began = clock.now()
  /** What is there so long after the last change, also after a restart. */
  const after = async (milliseconds: number) => {
    clock.advance(began + milliseconds - clock.now())
    await run()
    const again = engine.restarted({ types: ALL_ACTOR_TYPES, log: engine.log.killed() })
    t.strictSame(tripsOf(again.partitions), tripsOf(engine.partitions), 'it is durable')
    return Object.fromEntries(
      tripsOf(engine.partitions).map(({ externalId, locations }) => [externalId, locations.length]),
    )
  }
  return { after, update: async () => delivery.tell(await update('active'), false) }
}

t.test(
  'locations go tripLocationsDays after the last change of their trip, of active ones too',
  async (t) => {
    const { after, update } = await retained()
    t.strictSame(await after(7 * DAY - MINUTE), { order: 1, active: 1 })
    await update()
    t.strictSame(await after(7 * DAY + MINUTE), { order: 0, active: 2 }, 'an update is a change')
    t.strictSame(await after(15 * DAY), { order: 0, active: 0 })
  },
)

t.test('trips that have ended go tripsDays after their last change, active ones stay', async (t) => {
  const { after } = await retained()
  t.strictSame(await after(90 * DAY - MINUTE), { order: 0, active: 0 })
  t.strictSame(await after(90 * DAY + MINUTE), { active: 0 })
  t.strictSame(await after(400 * DAY), { active: 0 })
})

t.test('an old trip that begins again while the job runs stays, and so do locations of then', async (t) => {
  const one = scene()
  const { clock, world, directory, engine, delivery, update } = one
  world.set(0, { tripExpirationMinutes: null })
  for (const name of [NAME, 'active']) await delivery.tell(await update(name), false)
  const { id } = directory.of(0).named(NAME)!
  await call(engine, id, NAME, { change: { status: 'completed' } })
  const run = jobOf(one, 'trip-retention')
  clock.advance(91 * DAY)
  const row = await update('active')
  // While a frame is flushed, the call and the move wait for the next batch, and what the job finds comes behind them.
  engine.log.holding = true
  const flushed = call(engine, newTripId(engine, 'another'), 'another')
  await until(() => engine.log.isFlushing)
  const begun = call(engine, id, NAME, { change: { status: 'started' } })
  const moved = delivery.tell(row, false)
  await new Promise(setImmediate)
  const done = run()
  engine.log.holding = false
  engine.log.release()
  await Promise.all([flushed, begun, moved, done])
  const again = engine.restarted({ types: ALL_ACTOR_TYPES, log: engine.log.killed() })
  const trips = tripsOf(again.partitions).map(({ externalId, status, locations }) => [
    externalId,
    status,
    locations.length,
  ])
  t.strictSame(trips.toSorted(), [
    ['active', 'arrived', 2],
    ['another', 'pending', 0],
    [NAME, 'started', 0],
  ])
})

t.test(
  'the name of a trip that was not made is free after ten minutes by the clock of its owner',
  async (t) => {
    const one = scene()
    const { clock, world, directory, engine, reserve } = one
    // Half an hour ahead of the process that reserves names.
    const sweep = jobOf(one, 'trip-names', 30 * MINUTE)
    const { id } = await reserve()
    await sweep()
    clock.advance(10 * MINUTE - 1)
    await sweep()
    t.equal(directory.of(0).named(NAME)?.id, id)
    await directory.edit(() => directory.renew(0, id))
    clock.advance(1)
    await sweep()
    t.equal(directory.of(0).named(NAME)?.id, id, 'somebody is about to make it after all')
    clock.advance(10 * MINUTE)
    await sweep()
    t.equal(directory.of(0).named(NAME), undefined)
    // Whoever was about to make it is too late.
    const create = { externalId: NAME, revision: world.revision }
    await t.rejects(engine.host.execute(TRIP_CALL, { scope: 0, id, create }, 10), { code: 503 })
    t.strictSame(tripsOf(engine.partitions), [])
  },
)

t.test('the names of deleted trips are forgotten a day after their deletion', async (t) => {
  const one = scene()
  const { clock, directory, engine } = one
  const sweep = jobOf(one, 'trip-names')
  const began = clock.now()
  const id = newTripId(engine, NAME)
  await directory.edit(() => directory.bury(0, id, NAME))
  clock.advance(DAY - 1)
  await sweep()
  t.equal(directory.of(0).deletedAt(NAME), began)
  clock.advance(1)
  await sweep()
  t.equal(directory.of(0).deletedAt(NAME), undefined)
})

t.test('events that could be told again are forgotten a minute after the last change', async (t) => {
  const one = scene()
  const { clock, engine, delivery, update } = one
  const memory = new DeviceMemory(1e9)
  engine.partitions[0]!.countIn(memory)
  const run = jobOf(one, 'trip-answers')
  const row = await update()
  const told = await delivery.tell(row, false)
  t.ok(told.events.length > 0)
  const before = tripsOf(engine.partitions)
  const bytes = memory.bytes
  clock.advance(MINUTE)
  await run()
  t.strictSame(tripsOf(engine.partitions), before)
  t.same(await delivery.tell(row, true), told, 'told again')
  clock.advance(1)
  await run()
  t.strictSame(
    tripsOf(engine.partitions),
    before.map((trip) => ({ ...trip, told: [] })),
    'all else stays',
  )
  t.ok(bytes - memory.bytes > 500, `${bytes - memory.bytes} bytes are free`)
  t.same(await delivery.tell(row, true), { ...told, events: [] }, 'it still moves the trip once')
  const next = await delivery.tell(await update(), false)
  t.ok(next.events.length > 0)
  t.strictSame(tripsOf(engine.partitions)[0]!.told, next.events)
  clock.advance(2 * MINUTE)
  await call(engine, tripsOf(engine.partitions)[0]!.id, NAME, { change: { status: 'completed' } })
  clock.advance(2 * MINUTE)
  await run()
  t.match(tripsOf(engine.partitions), [{ status: 'completed', told: [] }], 'those of an ended one, too')
})

t.test('each trip expires at its deadline, whatever moves that between two runs of the job', async (t) => {
  const one = scene()
  const { clock, world, engine } = one
  world.set(0, { tripExpirationMinutes: 60 })
  const run = jobOf(one, 'trip-expiry')
  const ids = new Map<string, string>()
  const change = (name: string, fields: TripChange) => {
    const id = ids.get(name) ?? newTripId(engine, name)
    ids.set(name, id)
    return call(engine, id, name, { change: fields })
  }
  /** The names of those that have expired so far. */
  const expired = async () => {
    await run()
    const trips = tripsOf(engine.partitions).filter(({ status }) => status === 'expired')
    return trips.map(({ externalId }) => externalId).toSorted()
  }
  await change('ends', {})
  await change('first', {})
  await change('scheduled', { scheduledArrivalAt: NOON + 600 * MINUTE })
  clock.advance(10 * MINUTE)
  await change('second', {})
  await change('ends', { status: 'completed' })
  clock.advance(50 * MINUTE - 1)
  t.strictSame(await expired(), [])
  clock.advance(1)
  t.strictSame(await expired(), ['first'])
  clock.advance(10 * MINUTE - 1)
  t.strictSame(await expired(), ['first'])
  clock.advance(1)
  t.strictSame(await expired(), ['first', 'second'])
  await change('third', {})
  t.strictSame(await expired(), ['first', 'second'])
  clock.advance(5 * MINUTE)
  world.set(0, { tripExpirationMinutes: 5 })
  t.strictSame(await expired(), ['first', 'second', 'third'], 'a shorter time counts at once')
  t.strictSame(await expired(), ['first', 'second', 'third'])
  await change('scheduled', { scheduledArrivalAt: NOON + 71 * MINUTE })
  t.strictSame(await expired(), ['first', 'second', 'third'])
  clock.advance(MINUTE)
  t.strictSame(await expired(), ['first', 'scheduled', 'second', 'third'], 'so does an earlier schedule')
  await change('first', { status: 'started' })
  clock.advance(5 * MINUTE - 1)
  t.strictSame(await expired(), ['scheduled', 'second', 'third'], 'one that was restarted')
  clock.advance(1)
  world.set(0, { tripExpirationMinutes: null })
  t.strictSame(await expired(), ['scheduled', 'second', 'third'], 'never')
  world.set(0, { tripExpirationMinutes: 5 })
  t.strictSame(await expired(), ['first', 'scheduled', 'second', 'third'])
})
