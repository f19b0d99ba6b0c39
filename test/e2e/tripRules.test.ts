/**
 * Rules of trips on a real server that other files ask of the machine or of two engines alike: which trips an update
 * moves and in which order, legs on the way, late trips, wrong destinations, and what is left of an erased user.
 */
import t from 'tap'
import { KEYS, startServer } from '../kit/server.ts'
import { until } from '../kit/waiting.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- answers of every shape
type Json = any

const LATITUDE = -34.9
const HOME = -56.19
const METERS_PER_DEGREE = 91_290
const METERS = 1 / METERS_PER_DEGREE
const START = Date.now() - 7_200_000
const server = await startServer(t)

const { good } = server

/** Geofences of one tag, by their metres west of home. */
const FENCES = { home: 0, work: 10_000, school: 30_000 }
for (const [externalId, meters] of Object.entries(FENCES))
  await good('PUT', `/v1/geofences/store/${externalId}`, {
    description: externalId,
    type: 'circle',
    coordinates: [HOME - meters * METERS, LATITUDE],
    radius: 100,
  })
const to = (externalId: keyof typeof FENCES) => ({
  destinationGeofenceTag: 'store',
  destinationGeofenceExternalId: externalId,
})
const SETTINGS = { tripUpdateSeconds: 0, tripWrongDestinationEvents: true, tripDelayThreshold: 10 }
await good('PATCH', '/v1/settings', SETTINGS)

const post = (body: object) => good('POST', '/v1/trips', body)
const patch = (id: string, body: object) => good('PATCH', `/v1/trips/${id}/update`, body)
const tripOf = async (id: string) => (await good('GET', `/v1/trips/${id}`)).trip

/** An update so many metres west of home, so many seconds after the start. */
const track = (deviceId: string, meters: number, seconds: number, more: object = {}): Promise<Json> =>
  good(
    'POST',
    '/v1/track',
    {
      deviceId,
      latitude: LATITUDE,
      longitude: HOME - meters * METERS,
      accuracy: 5,
      stopped: true,
      updatedAt: new Date(START + seconds * 1000).toISOString(),
      ...more,
    },
    KEYS.testPublishable,
  )
/** The events of trips, as `type of externalId`. */
const told = ({ events }: Json): string[] =>
  events
    .filter(({ trip }: Json) => trip !== undefined)
    .map(({ type, trip }: Json) => `${type.replace('user.', '')} of ${trip.externalId}`)

t.test('an update moves all trips of its user: events by trip, the first created first', async (t) => {
  const userId = 'ann'
  for (const [externalId, fence] of [
    ['z', 'home'],
    ['a', 'work'],
    ['m', 'home'],
  ] as const)
    await post({ externalId, userId, ...to(fence) })
  const first = await track('ann', 20_000, 0, { userId })
  t.strictSame(told(first), ['started_trip of z', 'started_trip of a', 'started_trip of m'])
  await patch('a', { status: 'pending' })
  const second = await track('ann', 0, 600, { userId })
  t.strictSame(
    second.events.map(({ type }: Json) => type),
    [
      'user.entered_geofence',
      'user.arrived_at_trip_destination',
      'user.started_trip',
      'user.arrived_at_wrong_trip_destination',
      'user.arrived_at_trip_destination',
    ],
  )
  t.strictSame(told(second).slice(1, 3), ['started_trip of a', 'arrived_at_wrong_trip_destination of a'])
  t.match(second.events[3], { confidence: 3, geofence: { tag: 'store', externalId: 'home' } })
  t.notHas(second.events[1], 'geofence')
  t.equal(second.user.trip.externalId, 'a', 'the latest started')
  t.equal((await good('GET', '/v1/users/ann')).user.trip.externalId, 'a')
  await patch('a', { status: 'canceled' })
  t.match((await good('GET', '/v1/users/ann')).user.trip, { status: 'arrived' }, 'one that is under way')
  const named = await track('ann', 0, 660, { userId, tripOptions: { externalId: 'z' } })
  t.equal(named.user.trip.externalId, 'z', 'with tripOptions that one')
  const over = await track('ann', 0, 720, { userId, tripOptions: { externalId: 'a' } })
  t.notHas(over.user, 'trip', 'and not another one, if it has ended')
})

t.test('tripOptions bind a trip without a userId to the device, and to its userId', async (t) => {
  await post({ externalId: 'free', ...to('home') })
  const tripOptions = { externalId: 'free', mode: 'bike', metadata: { a: 1 }, ...to('work') }
  t.strictSame(told(await track('phone', 20_000, 0)), [], 'an update that does not name it')
  const nameless = await track('phone', 20_000, 60, { tripOptions })
  t.strictSame(told(nameless), ['started_trip of free'])
  t.match(await tripOf('free'), { mode: 'car', ...to('home'), user: { deviceId: 'phone' } })
  t.notHas(await tripOf('free'), 'userId')
  t.notHas((await track('other', 20_000, 70, { tripOptions })).user, 'trip', 'it has a device')
  await track('phone', 19_000, 120, { userId: 'kim', tripOptions })
  t.equal((await tripOf('free')).userId, 'kim')
  const strange = await track('thief', 100, 130, { userId: 'thief', tripOptions })
  t.notHas(strange.user, 'trip')
  t.match(await tripOf('free'), { status: 'started', user: { deviceId: 'phone' } }, 'another user’s')
  const watch = await track('watch', 18_000, 180, { userId: 'kim' })
  t.strictSame(told(watch), ['updated_trip of free'], 'any device of the user moves it')
})

t.test('an inaccurate update only starts a trip; one from before leaves it', async (t) => {
  await good('PATCH', '/v1/settings', { maxAccuracyMeters: 100 })
  const userId = 'vague'
  await post({ externalId: 'vague', userId, ...to('home') })
  const vague = await track('vague', 0, 100, { userId, accuracy: 101 })
  t.strictSame(told(vague), ['started_trip of vague'])
  const started = await tripOf('vague')
  t.match(started, { status: 'started', locations: [] })
  t.notHas(started, 'eta')
  t.strictSame(told(await track('vague', 0, 110, { userId, accuracy: 101 })), [])
  t.strictSame(told(await track('vague', 20_000, 200, { userId })), ['updated_trip of vague'])
  const before = await tripOf('vague')
  t.strictSame(told(await track('second', 0, 199, { userId })), [])
  t.strictSame(await tripOf('vague'), before)
  await good('PATCH', '/v1/settings', { maxAccuracyMeters: null })
})

t.test('a trip that will be late: one event, when that is known', async (t) => {
  const userId = 'late'
  const scheduledArrivalAt = new Date(START + 45 * 60_000).toISOString()
  await post({ externalId: 'late', userId, scheduledArrivalAt, ...to('home') })
  // 20 km as the crow flies take 39 minutes.
  const inTime = await track('late', 20_000, 0, { userId })
  t.match(inTime.user.trip.delay, { delayed: false, scheduledArrivalTimeDelay: 0 })
  const little = await track('late', 20_000, 600, { userId })
  t.strictSame(told(little), ['updated_trip of late'])
  t.match(little.user.trip.delay, { delayed: false, scheduledArrivalTimeDelay: 4 })
  const late = await track('late', 20_000, 1200, { userId })
  t.strictSame(told(late), ['delayed_during_trip of late', 'updated_trip of late'])
  t.match(late.user.trip.delay, { delayed: true, scheduledArrivalTimeDelay: 14 })
  t.strictSame(late.events[0].trip, late.user.trip, 'an event and its answer show the same trip')
  const shown = (await tripOf('late')).delay.scheduledArrivalTimeDelay
  t.ok(shown >= 75 && shown < 80, `${shown}: read two hours later, it cannot be before now`)
  t.strictSame(told(await track('late', 20_000, 1800, { userId })), ['updated_trip of late'], 'once')
  t.match((await good('GET', '/v1/trips?delayed=true&userId=late')).trips, [{ externalId: 'late' }])
  const there = await track('late', 0, 3600, { userId })
  t.match(there.user.trip, { status: 'arrived', delay: { delayed: true, scheduledArrivalTimeDelay: 15 } })
  t.match((await tripOf('late')).delay, { scheduledArrivalTimeDelay: 15 }, 'it counts to the arrival')
})

t.test('legs on the way: each arrives, the departure starts the next, the last one stays', async (t) => {
  const userId = 'leo'
  const made = await post({
    externalId: 'round',
    userId,
    legs: [
      { destination: to('school'), stopDuration: 10 },
      { destination: { coordinates: [HOME - 20_000 * METERS, LATITUDE], arrivalRadius: 50 } },
      { destination: to('home') },
    ],
  })
  const [a, b, c] = made.trip.legs.map(({ _id }: Json) => _id)
  const legs = ({ legs: all }: Json) => all.map(({ status }: Json) => status)
  const go = async (meters: number, seconds: number) => {
    const answer = await track('van', meters, seconds, { userId })
    return { told: told(answer).map((one) => one.split(' ')[0]), trip: answer.user.trip }
  }
  let now = await go(40_000, 0)
  t.strictSame([now.told, legs(now.trip)], [['started_trip'], ['started', 'pending', 'pending']])
  t.match(now.trip, { currentLeg: a, currentLegId: a, ...to('school') })
  const [one, two, three] = now.trip.legs.map(({ eta }: Json) => eta.duration)
  // 10, 20 and 40 km as the crow flies, and a stop of 10 minutes.
  t.ok(
    Math.abs(one - 19.5) < 0.3 && Math.abs(two - 49) < 0.3 && Math.abs(three - 88) < 0.5,
    `${one} ${two} ${three}`,
  )
  t.equal(now.trip.eta.duration, three, 'the ETA of the trip is that of its last leg')
  now = await go(30_000, 1200)
  t.strictSame(
    [now.told, legs(now.trip)],
    [['arrived_at_trip_destination'], ['arrived', 'pending', 'pending']],
  )
  t.equal(now.trip.status, 'arrived')
  t.match(now.trip.legs[0], { arrivedAt: new Date(START + 1_200_000).toISOString(), eta: { duration: 0 } })
  now = await go(28_000, 1800)
  t.strictSame([now.told, legs(now.trip)], [['updated_trip'], ['completed', 'started', 'pending']])
  t.match(now.trip, { status: 'started', currentLeg: b, destinationLocation: { type: 'Point' } })
  t.match(now.trip.legs[0], { completedAt: new Date(START + 1_800_000).toISOString() })
  for (const gone of ['arrivedAt', 'destinationGeofenceTag']) t.notHas(now.trip, gone)
  now = await go(20_000, 2400)
  t.strictSame(now.told, ['arrived_at_trip_destination'], 'each leg has its own arrival')
  now = await go(1000, 3600)
  t.strictSame([now.told, legs(now.trip)], [['updated_trip'], ['completed', 'completed', 'started']])
  now = await go(900, 3660)
  t.strictSame(now.told, ['approaching_trip_destination'])
  now = await go(0, 3720)
  t.strictSame([now.told, now.trip.eta.duration], [['arrived_at_trip_destination'], 0])
  now = await go(5000, 4200)
  t.strictSame([now.told, legs(now.trip)], [['updated_trip'], ['completed', 'completed', 'arrived']])
  t.match(now.trip, { status: 'arrived', currentLeg: c })
  const ended = await patch('round', { status: 'canceled' })
  t.strictSame(told(ended), ['stopped_trip of round'])
  t.strictSame(legs(ended.trip), ['completed', 'completed', 'canceled'], 'open legs get the same end')
})

t.test('a status that no leg can be given is refused', async (t) => {
  const { trip } = await post({
    externalId: 'refused',
    legs: [{ coordinates: [1, 1] }, { coordinates: [2, 2] }],
  })
  const [{ _id: leg }] = trip.legs
  const path = `/v1/trips/refused/legs/${leg}`
  for (const body of [{ status: 'expired' }, { status: 'STARTED' }, { status: '' }, { status: 7 }, {}])
    t.match(await server.api('PATCH', path, body), { status: 400, body: { meta: { param: 'status' } } })
  t.strictSame((await tripOf('refused')).legs, trip.legs, 'nothing changes')
  t.strictSame(told(await good('PATCH', path, { status: 'started' })), ['started_trip of refused'])
  t.strictSame(told(await good('PATCH', path, { status: 'started' })), [], 'the same status')
})

t.test('approaching: by the trip’s own minutes, else its destination’s, else the project’s', async (t) => {
  await good('PUT', '/v1/geofences/store/near', {
    description: 'near',
    type: 'circle',
    coordinates: [HOME, LATITUDE],
    radius: 100,
    tripApproachingThreshold: 12,
  })
  // 10 km west of home are 19.5 minutes as the crow flies, 5 km are 9.75, and 2 km are 3.9.
  const statusAt = async (userId: string, meters: number, body: object) => {
    const near = { ...to('home'), destinationGeofenceExternalId: 'near' }
    await post({ externalId: userId, userId, ...near, ...body })
    return (await track(userId, meters, 0, { userId })).user.trip.status
  }
  t.equal(await statusAt('own', 10_000 + 200, { approachingThreshold: 20 }), 'approaching')
  t.equal(await statusAt('own, less', 5000, { approachingThreshold: 9 }), 'started')
  t.equal(await statusAt('its destination', 5000, {}), 'approaching')
  t.equal(await statusAt('its destination, far', 10_000 + 200, {}), 'started')
  t.equal(await statusAt('the project', 5000, to('home')), 'started')
  t.equal(await statusAt('the project, near', 2000, to('home')), 'approaching')
  await good('PATCH', '/v1/settings', { tripApproachingThreshold: null })
  t.equal(await statusAt('none', 2000, to('home')), 'started')
})

t.test('25 legs are the most; an address counts before coordinates, a geofence before both', async (t) => {
  const legs = Array.from({ length: 25 }, (_, i) => ({ coordinates: [i, 1], arrivalRadius: '10' }))
  t.equal((await post({ externalId: 'many', legs })).trip.legs.length, 25)
  const all = { ...to('work'), address: 'Nowhere 1', coordinates: [1, 1] }
  t.match((await post({ externalId: 'several', legs: [all] })).trip.legs, [
    { destination: { type: 'geofence' }, ...to('work') },
  ])
  const { destinationGeofenceTag: _, destinationGeofenceExternalId: __, ...rest } = all
  const refused = await server.api('POST', '/v1/trips', { externalId: 'address', legs: [rest] })
  t.match(
    refused.body.meta,
    { code: 400, param: 'legs.0.destination.address' },
    'it is looked up, and not found',
  )
})

t.test('an erased user is in no trip any more, however little the trip knew of them', async (t) => {
  const left = async (externalId: string) => {
    const { trip } = await good('GET', `/v1/trips/${externalId}`)
    return { user: trip.user, userId: trip.userId, locations: trip.locations.length, status: trip.status }
  }
  const cases: Readonly<Record<string, (userId: string) => Promise<unknown>>> = {
    'pending, made after the record': async (userId) => {
      await track(userId, 20_000, 0, { userId })
      await post({ externalId: userId, userId })
    },
    'driven and completed': async (userId) => {
      await post({ externalId: userId, userId })
      await track(userId, 20_000, 0, { userId })
      await patch(userId, { status: 'completed' })
    },
    'ended before there was a record': async (userId) => {
      await post({ externalId: userId, userId })
      await patch(userId, { status: 'completed' })
      await track(userId, 20_000, 0, { userId })
    },
    'its userId came by a call': async (userId) => {
      await track(userId, 20_000, 0, { userId })
      await post({ externalId: userId })
      await patch(userId, { userId })
    },
    'driven by two devices': async (userId) => {
      await post({ externalId: userId, userId })
      await track(`${userId} 1`, 20_000, 0, { userId })
      await track(`${userId} 2`, 19_000, 60, { userId })
    },
  }
  for (const [what, make] of Object.entries(cases)) {
    const userId = what.replaceAll(',', '')
    await make(userId)
    const isActive = !/completed|ended/.test(what)
    t.equal((await tripOf(encodeURIComponent(userId))).userId, userId, what)
    t.equal((await server.api('DELETE', `/v1/users/${encodeURIComponent(userId)}`)).status, 200)
    const name = encodeURIComponent(userId)
    await until(async () => (await left(name)).userId === undefined)
    t.strictSame(
      await left(name),
      { user: undefined, userId: undefined, locations: 0, status: isActive ? 'canceled' : 'completed' },
      what,
    )
  }
  t.strictSame((await good('GET', '/v1/trips?userId=driven%20and%20completed')).trips, [])
})
