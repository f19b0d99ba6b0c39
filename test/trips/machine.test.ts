/** A trip without actors: times, arrival, the wrong destination, delays, what an update leaves. */
import assert from 'node:assert/strict'
import t from 'tap'
import { delayOf } from '../../src/trips/machine/delay.ts'
import { expiresAt } from '../../src/trips/machine/status.ts'
import type { TripMove } from '../../src/trips/machine/move.ts'
import { MINUTE, NOON, runs } from '../actor/kit.ts'
import fc from '../kit/fastCheck.ts'
import { FAR, HOME, inStatus, NEXT_DOOR, TripDriver } from './machineKit.ts'

t.test('times: t of the update, now of a call; going back from arrived clears arrivedAt', async (t) => {
  const driver = new TripDriver()
  const at = NOON + 5000
  t.equal(driver.events(FAR, { time: at }), 'S')
  t.match(driver.trip, { startedAt: at, movedAt: at, updatedAt: driver.now })
  driver.events(HOME, { ...driver.in('home'), time: at + 1000 })
  t.match(driver.trip, { startedAt: at, arrivedAt: at + 1000 })
  driver.call({ status: 'started' })
  t.equal(driver.trip.arrivedAt, undefined)
  t.equal(driver.trip.eta, undefined)
  t.equal(driver.events(HOME, driver.in('home', false)), 'R', 'only so there is another arrival')
  driver.call({ status: 'completed' })
  t.match(driver.trip, { completedAt: driver.now, endedAt: driver.now })
  driver.now += MINUTE
  driver.call({ status: 'started' })
  t.match(driver.trip, {
    startedAt: driver.now,
    completedAt: undefined,
    endedAt: undefined,
    arrivedAt: undefined,
  })
  driver.call({ status: 'canceled' })
  t.match(driver.trip, { completedAt: undefined, endedAt: driver.now })
})

t.test('a restart has the same `_id`, and clears the run', async (t) => {
  const driver = inStatus('started')
  driver.events(FAR)
  const { id, externalId, createdAt } = driver.trip
  driver.call({ status: 'completed' })
  t.equal(driver.call({ status: 'pending' }), '')
  t.match(driver.trip, { id, externalId, createdAt, status: 'pending' })
  for (const field of ['startedAt', 'endedAt', 'eta', 'estimate', 'movedAt', 'place', 'toldAt'] as const)
    t.equal(driver.trip[field], undefined, field)
  t.ok(expiresAt(driver.trip, 60) > driver.now, 'its expiration counts from the restart')
})

t.test('fields change before the status; on a trip that has ended, only metadata', async (t) => {
  const driver = inStatus('started')
  t.equal(driver.call({ status: 'started', metadata: { a: 1 } }), 'U', 'the status makes no event')
  t.equal(driver.call({ status: 'arrived', metadata: { a: 2 } }), 'R')
  t.equal(driver.call({ status: 'completed', metadata: { a: 3 }, mode: 'bike' }), 'X')
  t.match(driver.trip, { metadata: { a: 3 }, mode: 'bike' })
  t.equal(driver.call({ metadata: { b: true }, mode: 'foot', approachingThreshold: 3 }), '')
  t.strictSame(driver.trip.metadata, { b: true }, 'replaces the whole')
  t.match(driver.trip, { mode: 'bike', approachingThreshold: undefined })
})

t.test('userId: set on a trip without one; another than the trip’s is refused', async (t) => {
  const driver = new TripDriver()
  t.throws(() => driver.call({ userId: 'other', metadata: { a: 1 } }), { code: 400, param: 'userId' })
  t.equal(driver.trip.metadata, undefined, 'nothing changes on a 400')
  driver.trip = { ...driver.trip, userId: undefined }
  driver.call({ userId: 'late' })
  t.equal(driver.trip.userId, 'late')
})

t.test('a destination must exist where it changes and the trip does not end', async (t) => {
  const driver = inStatus('started')
  const nowhere = { tag: 'store', externalId: 'nowhere' }
  const refused = { code: 400, param: 'destinationGeofenceExternalId' }
  t.throws(() => driver.call({ destination: nowhere }), refused)
  driver.fences.all.delete('home')
  t.equal(driver.call({ destination: { tag: 'store', externalId: 'home' } }), '', 'it is the one that it has')
  t.equal(driver.call({ destination: nowhere, status: 'completed' }), 'X')
  t.equal(driver.trip.destination?.externalId, 'home')
})

t.test('arrival: among the geofences, also if it was before the trip', async (t) => {
  const driver = new TripDriver()
  const before = driver.move(HOME, driver.in('home', false))!
  t.equal(before.events.join(''), 'SR')
  t.equal(before.confidence, 2, 'as it is in the geofence')
  const other = new TripDriver()
  t.equal(other.move(HOME, other.in('home'))!.confidence, 3, 'of the entry')
  t.strictSame(other.trip.eta, { duration: 0, distance: 0, source: 'straight' })
  const outside = new TripDriver()
  t.equal(outside.events(HOME), 'S', 'a geofence that the device does not stay in is not reached')
})

t.test('a point is entered under stop rule, buffers and minimumConfidence, without delays', async (t) => {
  const point = () => {
    const driver = new TripDriver()
    driver.fences.put('home', HOME, { enabled: false })
    return driver
  }
  const METERS = 1 / 111_320
  t.equal(point().events([99 * METERS, 0], { accuracy: 1 }), 'SR')
  t.equal(point().events([101 * METERS, 0], { accuracy: 5 }), 'S')
  const buffered = point()
  buffered.settings = { ...buffered.settings, bufferEntries: true, entryDelaySeconds: 1000 }
  t.equal(buffered.events([101 * METERS, 0], { accuracy: 5 }), 'SR')
  const stopping = point()
  stopping.settings = { ...stopping.settings, stopDetection: true }
  t.equal(stopping.events(HOME), 'S')
  t.equal(stopping.events(HOME, { stopped: true }), 'R')
  const sure = point()
  sure.settings = { ...sure.settings, minimumConfidence: 3 }
  t.equal(sure.events(HOME, { accuracy: 300 }), 'S')
  t.equal(sure.move(HOME, { accuracy: 10 })!.confidence, 3)
  const foreign = point()
  foreign.fences.put('home', HOME, { enabled: true, userIds: ['somebody else'] })
  t.equal(foreign.events(HOME), 'SR', 'not for this user: it is a point')
})

t.test('a destination that does not exist yet counts once it does', async (t) => {
  const driver = new TripDriver({})
  driver.trip = { ...driver.trip, destination: { type: 'geofence', tag: 'store', externalId: 'new' } }
  t.equal(driver.events(FAR), 'S')
  t.equal(driver.trip.eta, undefined)
  driver.fences.put('new', HOME)
  t.equal(driver.events(FAR), 'U')
  t.match(driver.trip.eta, { duration: 60, source: 'road' })
  t.equal(driver.events(HOME, driver.in('new')), 'R')
})

t.test('the wrong destination: same tag, not beside an arrival, only where the setting is on', async (t) => {
  const driver = inStatus('started')
  const wrong = driver.move(NEXT_DOOR, driver.in('other'))!
  t.match(wrong.wrong, [{ geofence: { externalId: 'other' }, confidence: 3 }])
  t.equal(driver.events(NEXT_DOOR, driver.in('other', false)), 'U', 'it was entered before')
  driver.roads = [1]
  driver.fences.put('third', NEXT_DOOR)
  const both = {
    entered: ['other', 'third'].map((name) => ({ id: driver.fences.id(name), confidence: 1 as const })),
  }
  t.equal(driver.events(FAR, both), 'WWA', 'two wrong ones, while approaching')
  t.equal(driver.events(HOME, { inside: [driver.fences.id('home')], ...both }), 'R')
  const elsewhere = inStatus('started')
  elsewhere.fences.put('other', NEXT_DOOR, { tag: 'depot' })
  t.equal(elsewhere.events(NEXT_DOOR, elsewhere.in('other')), 'U', 'another tag')
  const off = inStatus('started')
  off.settings = { ...off.settings, tripWrongDestinationEvents: false }
  t.equal(off.events(NEXT_DOOR, off.in('other')), 'U')
})

t.test('an update before the last leaves the trip as it is; an inaccurate one only starts it', async (t) => {
  const driver = inStatus('pending')
  t.equal(driver.events(HOME, { ...driver.in('home'), isInaccurate: true }), 'S')
  t.match(driver.trip, { status: 'started', eta: undefined, place: undefined, user: { deviceId: 'd' } })
  const { trip } = driver
  t.equal(driver.events(HOME, { ...driver.in('home'), isInaccurate: true }), '-')
  t.equal(driver.trip, trip)
  driver.events(FAR)
  const later = driver.trip
  t.equal(driver.events(HOME, { ...driver.in('home'), time: later.movedAt! - 1 }), '-')
  t.equal(driver.trip, later)
  t.equal(
    driver.events(HOME, { ...driver.in('home'), time: later.movedAt! }),
    'R',
    'the same time is in order',
  )
})

t.test('updated: not more often than tripUpdateSeconds; a call’s always', async (t) => {
  const driver = inStatus('started')
  driver.settings = { ...driver.settings, tripUpdateSeconds: 30 }
  const told = [0, 10, 19, 1, 29, 1].map((seconds) => driver.events(FAR, {}, seconds))
  t.strictSame(told, ['U', '', '', 'U', '', 'U'])
  t.equal(driver.call({ metadata: { a: 1 } }), 'U')
})

t.test('delay: how late the arrival is predicted, and one event when that is too late', async (t) => {
  const driver = new TripDriver()
  driver.call({ scheduledArrivalAt: NOON + 30 * MINUTE })
  driver.settings = { ...driver.settings, tripDelayThreshold: 10 }
  driver.roads = [35]
  t.equal(driver.events(FAR, {}, 60), 'S')
  t.strictSame(delayOf(driver.trip, -Infinity, 10), { delayed: false, scheduledArrivalTimeDelay: 6 })
  t.strictSame(delayOf(driver.trip, NOON + 50 * MINUTE, 10), { delayed: true, scheduledArrivalTimeDelay: 20 })
  t.strictSame(delayOf(driver.trip, -Infinity, null), { delayed: false, scheduledArrivalTimeDelay: 6 })
  driver.roads = [45]
  t.equal(driver.events([0.9, 0], {}, 60), 'DU')
  driver.roads = [1]
  driver.events([0.8, 0], {}, 60)
  driver.roads = [100]
  t.notMatch(driver.events([0.7, 0], {}, 60), 'D', 'once')
  driver.now = NOON + 41 * MINUTE
  driver.events(HOME, driver.in('home'), 0)
  t.strictSame(delayOf(driver.trip, NOON + 500 * MINUTE, 10), {
    delayed: true,
    scheduledArrivalTimeDelay: 11,
  })
  t.equal(delayOf(new TripDriver().trip, NOON, 10), undefined)
})

t.test('a trip expires after its creation, start and scheduled arrival', async (t) => {
  const driver = new TripDriver()
  t.equal(expiresAt(driver.trip, 60), NOON + 60 * MINUTE)
  driver.events(FAR, { time: NOON + MINUTE })
  t.equal(expiresAt(driver.trip, 60), NOON + 61 * MINUTE)
  driver.call({ scheduledArrivalAt: NOON + 5 * MINUTE })
  t.equal(expiresAt(driver.trip, 60), NOON + 65 * MINUTE)
  t.equal(expiresAt(driver.trip, null), Infinity)
  driver.end('due')
  t.equal(expiresAt(driver.trip, 60), Infinity)
})

t.test('the last updates of some devices are kept, so that each moves the trip once', async (t) => {
  const driver = inStatus('started')
  for (let i = 0; i < 20; i++) driver.events(FAR, { deviceId: `device-${i}`, number: i })
  t.equal(driver.trip.heard.length, 16)
  t.match(driver.trip.heard[0], { deviceId: 'device-19', number: 19 })
  t.match(driver.trip.heard.at(-1), { deviceId: 'device-4', number: 4 })
})

t.test('property: an update moves a trip once, however many devices and runs come between', async () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(60), fc.nat(3), fc.nat(20)), { minLength: 1, maxLength: 300 }),
      (steps) => {
        const driver = inStatus('started')
        const moves: Partial<TripMove>[] = []
        let time = driver.now
        for (const [device, later, chance] of steps) {
          if (chance === 0) driver.call({ status: 'completed' })
          if (chance === 0) driver.call({ status: 'started' })
          time += later > 1 ? 1000 : 0
          const move = { deviceId: `${device}`, number: moves.length, time, receivedAt: time }
          if (driver.events(FAR, move, 0) !== '-') moves.push(move)
          // Told again: any that moved it.
          const again = moves[(device * 31 + later) % (moves.length || 1)]
          if (again === undefined) continue
          const before = driver.trip
          driver.events(FAR, again, 0)
          assert.equal(driver.trip, before)
        }
      },
    ),
    runs(50),
  )
})

t.test('of one moment, all devices are known, up to a bound', async (t) => {
  const driver = inStatus('started')
  const at = (i: number) => ({ deviceId: `device-${i}`, number: i, time: driver.now })
  for (let i = 0; i < 256; i++) t.equal(driver.events(FAR, at(i), 0), 'U')
  for (let i = 0; i < 256; i++) t.equal(driver.events(FAR, at(i), 0), '-', 'told again')
  t.equal(driver.events(FAR, at(256), 0), '-', 'the bound')
  t.equal(driver.events(FAR, { deviceId: 'device-0', number: 300 }), 'U')
  t.equal(driver.trip.heard.length, 16)
})
