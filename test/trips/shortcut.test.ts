/** Trips that are moved in the frame of their update, without the feed. */
import t from 'tap'
import { DEVICES } from '../../src/actor/actorTypes.ts'
import type { FeedDispatcher } from '../../src/actor/host.ts'
import { pointDistance } from '../../src/geometry/distance.ts'
import type { Update } from '../../src/model/update.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { asTheCrowFlies } from '../../src/trips/machine/eta.ts'
import { TripShortcut } from '../../src/trips/tripShortcut.ts'
import { ALL_ACTOR_TYPES } from '../../src/trips/tripTypes.ts'
import { aGeofence, applied, Engine, NOON, SALT, World } from '../actor/kit.ts'
import { until } from '../kit/waiting.ts'
import { directoryOf, Life, SHORTCUT_PARTS } from './crashKit.ts'
import { tripsOf } from './tripKit.ts'

const HOME = { tag: 'store', externalId: 'home' }

/** A process with a trip of mia under way, whose way was measured. */
async function underWay() {
  const clock = new ManualClock(NOON)
  const world = new World(clock)
  world.put(aGeofence(1, HOME))
  world.set(0, { tripUpdateSeconds: 0 })
  const holder: { life?: Life } = {}
  const dispatcher: FeedDispatcher = {
    committed: (partitions) => holder.life?.committed(partitions),
    moved: (...known) => holder.life?.moved(...known),
  }
  const options = {
    types: ALL_ACTOR_TYPES,
    shortcut: (partitions: Engine['partitions']) => new TripShortcut(partitions, SALT, SHORTCUT_PARTS),
  }
  const engine = new Engine({ ...options, clock, world, dispatcher })
  const life = new Life(engine, directoryOf(world, clock), new Map(), () => {})
  holder.life = life
  const fields = { userId: 'mia', destination: HOME, metadata: { note: 1 } }
  const wanted = { fields: { ...NOTHING, ...fields }, wantsLocations: false }
  await life.service.post(0, 'order', wanted)
  const update = (kilometers: number, deviceId = 'phone'): Update => ({
    ...engine.update({ deviceId, latitude: 0, longitude: -kilometers / 111.195 }),
    userId: 'mia',
    accuracy: 5,
  })
  const first = applied(await engine.track(update(20)))
  t.ok(first.feed === 1 && first.trips === undefined, 'its way is not known yet, so the feed tells it')
  await until(() => life.isCalm)
  // The acknowledgement may still be in flight.
  await engine.host.drained()
  clock.advance(2000)
  const restarted = () => engine.restarted({ ...options, log: engine.log.killed() })
  return { clock, engine, life, update, restarted }
}

const NOTHING = {
  userId: undefined,
  destination: undefined,
  mode: undefined,
  approachingThreshold: undefined,
  scheduledArrivalAt: undefined,
  metadata: undefined,
  legs: undefined,
}

t.test('one frame has the update, the trip and its events, and nothing waits', async (t) => {
  const { engine, life, update, restarted } = await underWay()
  const frames = engine.log.frames.length
  const { feed, trips } = applied(await engine.track(update(19.9)))
  t.equal(engine.log.frames.length, frames + 1)
  t.ok(life.isCalm)
  const types = trips!.events.map((event) => JSON.parse(event).type)
  t.strictSame(types, ['user.updated_trip'])
  const shown = JSON.parse(trips!.trip!)
  t.match(shown, { status: 'started', externalId: 'order' })
  t.strictSame(JSON.parse(trips!.events[0]!).trip, shown)
  const again = restarted()
  t.strictSame(tripsOf(again.partitions), tripsOf(engine.partitions))
  t.equal(again.events.all.filter(({ type }) => type === 'user.updated_trip').length, 1)
  const next = applied(await again.track(update(19.8)))
  t.ok(next.feed! > feed!, 'numbers ascend, whoever owns the partition')
  t.equal(tripsOf(again.partitions)[0]!.heard[0]!.number, next.feed)
})

t.test('an update that comes again shows the present trip, and makes no event', async (t) => {
  const { life, update } = await underWay()
  const once = { ...update(19.9), stream: 'phone', sequence: 1 }
  const first = await life.track(once)
  t.equal(first.events.length, 1)
  t.strictSame(await life.track(once), { trip: first.trip, events: [], repeated: true })
  const { trip: next } = await life.track({ ...update(19.8), stream: 'phone', sequence: 2 })
  t.not(next, first.trip)
  t.strictSame(await life.track(once), { trip: next, events: [], repeated: true })
})

t.test('without its frame neither the device nor the trip has moved', async (t) => {
  const { engine, update, restarted } = await underWay()
  const before = tripsOf(engine.partitions)
  engine.log.holding = true
  void engine.track(update(19.9))
  await until(() => engine.log.isFlushing)
  const again = restarted()
  t.strictSame(tripsOf(again.partitions), before)
  const tables = again.partitions.map((partition) => partition.tableOf(DEVICES))
  t.equal(
    tables.reduce((sum, { count }) => sum + count, 0),
    1,
  )
})

t.test('the second update of a trip in a frame goes through the feed', async (t) => {
  const { engine, life, update } = await underWay()
  const both = await Promise.all([update(19.9), update(19.8, 'tablet')].map((one) => engine.track(one)))
  const moved = both.map((one) => applied(one).trips !== undefined)
  t.strictSame(moved.toSorted(), [false, true])
  await until(() => life.isCalm)
  const [trip] = tripsOf(engine.partitions)
  t.strictSame(trip!.heard.map(({ deviceId }) => deviceId).toSorted(), ['phone', 'tablet'])
  t.equal(engine.events.all.filter(({ type }) => type === 'user.updated_trip').length, 2)
})

t.test('a row of the device that waits comes first', async (t) => {
  const { clock, engine, life, update } = await underWay()
  // After 30 s its way is measured again.
  clock.advance(30_000)
  const [far, near] = await Promise.all([update(19), update(18.9)].map((one) => engine.track(one)))
  t.strictSame([applied(far!).trips, applied(near!).trips], [undefined, undefined])
  await until(() => life.isCalm)
  const [trip] = tripsOf(engine.partitions)
  t.equal(trip!.heard[0]!.number, applied(near!).feed)
})

t.test(
  'a way that nobody would know is not asked for: the straight line counts, in the same frame',
  async (t) => {
    const { clock, engine, life, update } = await underWay()
    // There the road has ended.
    clock.advance(30_000)
    const frames = engine.log.frames.length
    const { trips } = applied(await engine.track(update(60)))
    t.strictSame([engine.log.frames.length, life.isCalm], [frames + 1, true])
    const { eta } = JSON.parse(trips!.trip!)
    const { meters, minutes } = asTheCrowFlies('car', pointDistance(0, -60 / 111.195, 0, 0))
    const duration = Math.round(10 * minutes) / 10
    t.strictSame(eta, { duration, distance: Math.round(meters), source: 'straight' })
    const [trip] = tripsOf(engine.partitions)
    t.match(trip!.estimate, { source: 'straight', time: clock.now() })
  },
)

t.test('a way that the feed wants is measured before its trip is asked', async (t) => {
  const { clock, engine, life, update } = await underWay()
  clock.advance(30_000)
  const asked: string[] = []
  life.commanded = (name) => asked.push(name)
  const { feed } = applied(await engine.track(update(19)))
  await until(() => life.isCalm)
  t.strictSame(asked, ['trip.move', 'feed.ack'])
  const [trip] = tripsOf(engine.partitions)
  t.match([trip!.heard[0]!.number, trip!.estimate], [feed, { source: 'road', time: clock.now() }])
})

t.test('no more than a thousand trips move in a frame', async (t) => {
  const { clock, engine, life, update } = await underWay()
  const users = Array.from({ length: 1001 }, (_, i) => `user-${i}`)
  for (const userId of users) {
    const fields = { ...NOTHING, userId, destination: HOME }
    await life.service.post(0, userId, { fields, wantsLocations: false })
  }
  await Promise.all(users.map((userId) => engine.track({ ...update(20, userId), userId })))
  await until(() => life.isCalm)
  const { trips } = engine.world.scope(0)
  const { latitude, longitude, receivedAt } = update(19.9)
  const flags = { foreground: true, stopped: false, replayed: false, isInaccurate: false }
  const shortcut = new TripShortcut(engine.partitions, SALT)
  shortcut.begin(clock.now(), engine.world)
  const taken = users.map((userId) => {
    const move = { time: receivedAt, receivedAt, latitude, longitude, inside: [], entered: [], ...flags }
    const user = { id: 'a'.repeat(24), userId, deviceId: userId }
    return shortcut.take({ number: 1e6, scope: 0, user, update: { ...move, trips: trips.idsOfUser(userId) } })
  })
  t.strictSame([taken.filter((one) => one !== undefined).length, taken.at(-1)], [1000, undefined])
})

t.test('where many trips of a frame want another ETA, most of them move in turns after it', async (t) => {
  const { clock, engine, life, update } = await underWay()
  const users = Array.from({ length: 100 }, (_, i) => `user-${i}`)
  for (const userId of users)
    await life.service.post(0, userId, {
      fields: { ...NOTHING, userId, destination: HOME },
      wantsLocations: false,
    })
  await Promise.all(users.map((userId) => engine.track({ ...update(20, userId), userId })))
  await until(() => life.isCalm)
  clock.advance(30_000)
  const { trips } = engine.world.scope(0)
  // There are no roads.
  const { latitude, longitude, receivedAt } = update(60)
  const flags = { foreground: true, stopped: false, replayed: false, isInaccurate: false }
  const shortcut = new TripShortcut(engine.partitions, SALT, SHORTCUT_PARTS)
  shortcut.begin(clock.now(), engine.world)
  const taken = users.map((userId) => {
    const move = { time: receivedAt, receivedAt, latitude, longitude, inside: [], entered: [], ...flags }
    const user = { id: 'a'.repeat(24), userId, deviceId: userId }
    return shortcut.take({ number: 1e6, scope: 0, user, update: { ...move, trips: trips.idsOfUser(userId) } })
  })
  t.equal(taken.filter((one) => one !== undefined).length, 64)
  await Promise.all(users.map((userId) => engine.track({ ...update(60, userId), userId })))
  await until(() => life.isCalm)
  const sources = tripsOf(engine.partitions).map(
    ({ externalId, eta }) => externalId !== 'order' && eta?.source,
  )
  t.equal(sources.filter((source) => source === 'straight').length, 100)
})

t.test('where many want another ETA at once, the updates of others come before most of theirs', async (t) => {
  const { clock, engine, life, update } = await underWay()
  const users = Array.from({ length: 100 }, (_, i) => `user-${i}`)
  const fields = { ...NOTHING, destination: HOME }
  for (const userId of users)
    await life.service.post(0, userId, { fields: { ...fields, userId }, wantsLocations: false })
  const told: string[] = []
  const track = async (kilometers: number, userId: string) => {
    const result = await engine.track({ ...update(kilometers, userId), userId })
    told.push(userId)
    return result
  }
  const all = [...users, 'other', 'another']
  await Promise.all(all.map((userId) => track(20, userId)))
  await until(() => life.isCalm)
  clock.advance(30_000)
  told.length = 0
  // A frame has as many updates as its time allows, which is without end here.
  const now = performance.now()
  const clockwork = t.intercept(performance, 'now', { value: () => now })
  const far = all.map((userId) => track(19, userId))
  const near = all.map((userId) => track(18.9, userId))
  await Promise.all([...far, ...near])
  clockwork.restore()
  const last = Math.max(told.lastIndexOf('other'), told.lastIndexOf('another'))
  t.ok(last < 16 + 4, `${last} come before the last update of the others`)
  await until(() => life.isCalm)
  const places = tripsOf(engine.partitions).flatMap(({ externalId, place }) =>
    externalId === 'order' ? [] : [place!.longitude],
  )
  t.strictSame(places, Array(100).fill(update(18.9).longitude), 'and those of a device stay in order')
  clock.advance(30_000)
  engine.events.pendingBytes = 32 * 1024 * 1024
  t.equal(told.length, 2 * all.length)
  await Promise.all(users.map((userId) => track(18, userId)))
  t.equal(told.length, 2 * all.length + 100, 'nor do they wait while the backlog pauses')
})

t.test(
  'a device under way moves its trip plainly: one short row, with the same answer and events',
  async (t) => {
    const { clock, engine, update, restarted } = await underWay()
    // The first move writes the trip whole, because the feed has kept its events.
    await engine.track(update(19.9))
    const bytes = (frame: Uint8Array | undefined) => frame?.length ?? 0
    clock.advance(2000)
    const { trips } = applied(await engine.track(update(19.8)))
    const shown = JSON.parse(trips!.trip!)
    t.strictSame(
      trips!.events.map((event) => JSON.parse(event).trip),
      [shown],
    )
    t.equal(shown.eta.duration, tripsOf(engine.partitions)[0]!.eta!.duration)
    engine.world.set(0, { tripUpdateSeconds: 3600 })
    clock.advance(2000)
    await engine.track(update(19.7))
    const silent = bytes(engine.log.frames.at(-1))
    t.ok(silent < 400, `${silent} bytes for the device and its trip`)
    t.strictSame(tripsOf(restarted().partitions), tripsOf(engine.partitions))
  },
)
