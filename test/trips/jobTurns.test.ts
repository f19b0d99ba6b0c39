/** Jobs that look at all trips work in turns, so that requests need not wait for them (G7). */
import t from 'tap'
import type { TripDirectory } from '../../src/registry/trips/tripDirectory.ts'
import { MINUTE } from '../actor/kit.ts'
import { slowly, turnsOf } from '../kit/turns.ts'
import { jobsOf, scene } from './deliveryKit.ts'
import { newTripId, tripsOf } from './tripKit.ts'

const DAY = 24 * 60 * MINUTE
/** More than are changed together. */
const COUNT = 240

/** Many trips that an update has just started, and jobs over them. */
async function manyTrips() {
  const one = scene()
  const { world, delivery, update } = one
  world.set(0, { tripExpirationMinutes: null })
  for (let i = 0; i < COUNT; i++) await delivery.tell(await update(`order ${i}`), false)
  return { ...one, run: jobsOf(one) }
}

type Test = Pick<typeof t, 'intercept'>

/** Counts edits of the directory, each of which waits for the disk. */
function editsOf(t: Test, directory: TripDirectory): () => number {
  let edits = 0
  const edit = directory.edit.bind(directory)
  t.intercept(directory, 'edit', {
    value: (work: () => unknown) => {
      edits++
      return edit(work)
    },
  })
  return () => edits
}

t.test('events that are forgotten', async (t) => {
  const { clock, engine, run } = await manyTrips()
  const before = tripsOf(engine.partitions)
  t.ok(before.every(({ told }) => told.length > 0))
  clock.advance(MINUTE + 1)
  slowly(t)
  const turns = await turnsOf(() => run('trip-answers'))
  t.ok(turns >= COUNT / 4, `${turns} turns`)
  t.strictSame(
    tripsOf(engine.partitions),
    before.map((trip) => ({ ...trip, told: [] })),
  )
})

t.test('names that are compared with their trips', async (t) => {
  const { clock, directory, run } = await manyTrips()
  await run('trip-names')
  clock.advance(DAY)
  slowly(t)
  const edits = editsOf(t, directory)
  const turns = await turnsOf(() => run('trip-names'))
  t.ok(turns >= COUNT / 4, `${turns} turns`)
  t.equal(edits(), 0)
  t.equal([...directory.of(0).all()].length, COUNT, 'all of them are right')
})

t.test('names of deleted trips that are forgotten', async (t) => {
  const { clock, directory, engine, run } = await manyTrips()
  for (let i = 0; i < COUNT; i++)
    await directory.edit(() => directory.bury(0, newTripId(engine, `deleted ${i}`), `deleted ${i}`))
  clock.advance(DAY)
  const edits = editsOf(t, directory)
  await run('trip-names')
  t.ok(edits() <= COUNT / 50, `${edits()} edits`)
  t.equal([...directory.of(0).all()].length, COUNT, 'those of the others stay')
})

t.test('trips that expire at once', async (t) => {
  const { clock, world, directory, engine, run } = await manyTrips()
  clock.advance(DAY)
  world.set(0, { tripExpirationMinutes: 60 })
  const edits = editsOf(t, directory)
  const { frames } = engine.host.counters
  slowly(t)
  await run('trip-expiry')
  t.ok(tripsOf(engine.partitions).every(({ status }) => status === 'expired'))
  t.ok(directory.of(0).isEmpty)
  t.ok(edits() <= COUNT / 50, `${edits()} edits`)
  const more = engine.host.counters.frames - frames
  t.ok(more >= COUNT / 100, `${more} frames`)
})

t.test('trips that are removed at once', async (t) => {
  const { clock, engine, run } = await manyTrips()
  clock.advance(8 * DAY)
  await run('trip-retention')
  t.ok(tripsOf(engine.partitions).every(({ locations }) => locations.length === 0))
  const { world } = engine
  world.set(0, { tripExpirationMinutes: 60 })
  await run('trip-expiry')
  clock.advance(91 * DAY)
  const { frames } = engine.host.counters
  slowly(t)
  await run('trip-retention')
  t.strictSame(tripsOf(engine.partitions), [])
  const more = engine.host.counters.frames - frames
  t.ok(more >= COUNT / 100, `${more} frames`)
})
