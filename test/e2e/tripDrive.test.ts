/** Devices move trips, on a real server: the way from the first update to the end, with what clients see of it. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { KEYS, startServer } from '../kit/server.ts'
import { until } from '../kit/waiting.ts'

const { testPublishable } = KEYS
const server = await startServer(t)

const HOME = { destinationGeofenceTag: 'store', destinationGeofenceExternalId: 'home' }
await server.api('PUT', '/v1/geofences/store/home', {
  description: 'home',
  type: 'circle',
  coordinates: [-56.19, -34.9],
  radius: 100,
})
await server.api('PATCH', '/v1/settings', { tripUpdateSeconds: 0 })

type Body = Record<string, unknown>
const NOW = Date.now() - 3_600_000

/** An update so many metres west of home, so many seconds after the start. */
const at = (deviceId: string, meters: number, seconds: number, more: Body = {}): Body => ({
  deviceId,
  latitude: -34.9,
  longitude: -56.19 - meters / 91_290,
  accuracy: 5,
  stopped: true,
  updatedAt: new Date(NOW + seconds * 1000).toISOString(),
  ...more,
})
const track = (body: Body) => server.api('POST', '/v1/track', body, testPublishable)
const types = (body: { events: { type: string }[] }) => body.events.map(({ type }) => type)
const trip = async (id: string) => (await server.api('GET', `/v1/trips/${id}`)).body.trip

t.test('a user drives a trip: started, approaching, arrived, and the app ends it', async (t) => {
  await server.api('POST', '/v1/trips', { externalId: 'order-1', userId: 'mia', ...HOME })
  const user = { userId: 'mia' }
  const first = await track(at('phone', 20_000, 0, user))
  t.equal(first.status, 200)
  t.strictSame(types(first.body), ['user.started_trip'])
  t.match(first.body.user.trip, { externalId: 'order-1', status: 'started', ...HOME })
  const { eta } = first.body.user.trip
  t.equal(eta.source, 'straight')
  t.ok(Math.abs(eta.distance - 26_000) < 100, 'as the crow flies, and a detour')
  t.ok(Math.abs(eta.duration - 39) < 0.5)
  t.match(first.body.events[0], {
    user: { userId: 'mia', deviceId: 'phone' },
    trip: { status: 'started' },
    location: { type: 'Point' },
    replayed: false,
  })
  t.notOk('locations' in first.body.user.trip)
  t.strictSame(types((await track(at('phone', 10_000, 600, user))).body), ['user.updated_trip'])
  const near = await track(at('phone', 1000, 1200, user))
  t.strictSame(types(near.body), ['user.approaching_trip_destination'])
  t.equal(near.body.user.trip.status, 'approaching')
  const there = await track(at('phone', 0, 1300, user))
  t.strictSame(types(there.body), ['user.entered_geofence', 'user.arrived_at_trip_destination'])
  t.match(there.body.events[1], { confidence: 3 })
  t.match(there.body.user.trip, { status: 'arrived', eta: { duration: 0, distance: 0 } })
  t.equal((await server.api('GET', '/v1/users/mia')).body.user.trip.status, 'arrived')
  t.equal((await server.api('GET', '/v1/users')).body.users[0].trip.status, 'arrived')
  const done = await server.api('PATCH', '/v1/trips/order-1/update', { status: 'completed' })
  t.strictSame(types(done.body), ['user.stopped_trip'])
  t.equal((await trip('order-1')).locations.length, 4)
  t.notOk('trip' in (await track(at('phone', 50, 1400, user))).body.user, 'then it is absent')
  await until(async () => {
    const { events } = (await server.api('GET', '/v1/events?tag=store')).body
    return events.filter(({ type }: { type: string }) => type.includes('trip')).length === 5
  })
})

t.test('tripOptions make the trip, change nothing of it later, and never restart it', async (t) => {
  const tripOptions = { externalId: 'order-2', ...HOME, mode: 'bike', metadata: { a: 1 }, version: '2' }
  const made = await track(at('bike', 5000, 0, { tripOptions }))
  t.strictSame(types(made.body), ['user.started_trip'])
  t.match(made.body.user.trip, { externalId: 'order-2', mode: 'bike', metadata: { a: 1 }, status: 'started' })
  const later = await track(at('bike', 4000, 60, { tripOptions: { ...tripOptions, mode: 'foot' } }))
  t.equal(later.body.user.trip.mode, 'bike')
  t.equal(later.body.user.trip._id, made.body.user.trip._id)
  const other = await track(at('thief', 4000, 70, { tripOptions }))
  t.notOk('trip' in other.body.user, 'it is bound to the other device')
  await server.api('PATCH', '/v1/trips/order-2', { status: 'canceled' })
  const after = await track(at('bike', 3000, 120, { tripOptions }))
  t.notOk('trip' in after.body.user, 'the client ends its trip')
  t.equal((await trip('order-2')).status, 'canceled')
  t.notOk('trip' in (await track(at('bike', 3000, 130, { tripOptions: { mode: 'car' } }))).body.user)
})

t.test('tripOptions of a wrong shape are refused by name', async (t) => {
  for (const [tripOptions, param] of [
    [5, 'tripOptions'],
    [{ externalId: 7 }, 'tripOptions.externalId'],
    [{ externalId: 'x', mode: 'rocket' }, 'tripOptions.mode'],
    [{ externalId: 'x', destinationGeofenceTag: 'store' }, 'tripOptions.destinationGeofenceExternalId'],
    [{ externalId: 'x', approachingThreshold: 0 }, 'tripOptions.approachingThreshold'],
  ] as const) {
    const refused = await track(at('shape', 0, 0, { tripOptions }))
    t.equal(refused.status, 400, param)
    t.equal(refused.body.meta.param, param)
  }
  t.equal((await track(at('shape', 0, 0, { tripOptions: { externalId: '' } }))).status, 200)
})

t.test('a replay moves the trip through all of its updates, in order', async (t) => {
  const tripOptions = { externalId: 'order-3', ...HOME }
  const replays = [0, 1, 2].map((i) => at('replayed', 2000 - 1000 * i, 2000 + 600 * i, { tripOptions }))
  const answer = await server.api('POST', '/v1/track/replay', { replays }, testPublishable)
  t.strictSame(types(answer.body), [
    'user.started_trip',
    'user.approaching_trip_destination',
    'user.updated_trip',
    'user.entered_geofence',
    'user.arrived_at_trip_destination',
  ])
  t.equal(answer.body.user.trip.status, 'arrived')
})

t.test('a deleted trip is not made again, and a deleted user takes the trip along', async (t) => {
  const tripOptions = { externalId: 'order-4', ...HOME }
  await track(at('gone', 9000, 0, { tripOptions }))
  await server.api('DELETE', '/v1/trips/order-4')
  t.notOk('trip' in (await track(at('gone', 9000, 60, { tripOptions }))).body.user)
  await track(
    at('erased', 9000, 0, { userId: 'erased', tripOptions: { ...tripOptions, externalId: 'order-5' } }),
  )
  await server.api('DELETE', '/v1/users/erased')
  await until(async () => (await trip('order-5')).status === 'canceled')
  const left = await trip('order-5')
  t.notOk('userId' in left || 'user' in left)
  t.strictSame(left.locations, [])
})

t.test('a record has every field, and none that is unknown', async (t) => {
  const created = (await server.api('POST', '/v1/trips', { externalId: 'bare' })).body.trip
  const always = ['_id', 'live', 'externalId', 'mode', 'status', 'createdAt', 'updatedAt', 'locations']
  t.strictSame(Object.keys(created).sort(), always.toSorted())
  const scheduledArrivalAt = Date.now() - 7_200_000
  await server.api('POST', '/v1/trips', {
    externalId: 'whole',
    userId: 'all',
    metadata: { a: 1 },
    approachingThreshold: 3,
    scheduledArrivalAt,
    ...HOME,
  })
  await track(at('all', 0, 0, { userId: 'all' }))
  await server.api('PATCH', '/v1/trips/whole', { status: 'completed' })
  const whole = await trip('whole')
  const known = ['userId', 'user', 'metadata', 'approachingThreshold', 'scheduledArrivalAt', 'eta', 'delay']
  known.push('startedAt', 'arrivedAt', 'completedAt', 'endedAt')
  known.push('destinationGeofenceTag', 'destinationGeofenceExternalId', 'destinationLocation')
  t.strictSame(Object.keys(whole).sort(), [...always, ...known].sort())
  t.strictSame(Object.keys(whole.user).sort(), ['_id', 'deviceId', 'userId'])
  t.equal(whole.scheduledArrivalAt, new Date(scheduledArrivalAt).toISOString())
  t.equal(whole.arrivedAt, new Date(NOW).toISOString())
  t.same(whole.delay, { delayed: false, scheduledArrivalTimeDelay: 60 })
})

t.test('updates survive kill -9 between their commit and their trip', async (t) => {
  const own = await startServer(t)
  await own.api('PUT', '/v1/geofences/store/home', {
    description: 'home',
    type: 'circle',
    coordinates: [-56.19, -34.9],
    radius: 100,
  })
  await own.api('PATCH', '/v1/settings', { tripUpdateSeconds: 0 })
  await own.api('POST', '/v1/trips', { externalId: 'killed', userId: 'kim', ...HOME })
  const replays = Array.from({ length: 100 }, (_, i) =>
    at('kim', 50_000 - 100 * i, 60 * i, { userId: 'kim' }),
  )
  const sent = own.api('POST', '/v1/track/replay', { replays }, testPublishable).catch(() => undefined)
  await until(async () => (await own.api('GET', '/v1/users/kim')).status === 200)
  await own.kill9()
  await sent
  await own.restart()
  const ofTrip = async () => {
    const { events } = (await own.api('GET', '/v1/events?limit=1000')).body
    return events.filter(({ type }: { type: string }) => type.includes('trip')).length as number
  }
  // As many updates as were committed: where the user is says which.
  const { coordinates } = (await own.api('GET', '/v1/users/kim')).body.user.location
  const meters = (-56.19 - coordinates[0]) * 91_290
  const committed = 1 + Math.round((50_000 - meters) / 100)
  t.ok(committed >= 1)
  await until(async () => (await ofTrip()) >= committed)
  await sleep(300)
  t.equal(await ofTrip(), committed, 'each once')
  t.equal((await own.api('GET', '/v1/trips/killed')).body.trip.locations.length, committed)
})

t.test('the way of a trip that has ended: without roads the line through its locations', async (t) => {
  const tripOptions = { externalId: 'way', ...HOME }
  await track(at('way', 3000, 0, { tripOptions }))
  const route = (query = '') => server.api('GET', `/v1/trips/way/route${query}`)
  t.match((await route()).body.meta, { code: 400, param: 'id', message: /not ended/ })
  await server.api('PATCH', '/v1/trips/way', { status: 'canceled' })
  t.match((await route()).body.meta, { code: 400, param: 'id', message: /two locations/ })
  await server.api('PATCH', '/v1/trips/way', { status: 'started' })
  for (let i = 0; i < 3; i++) await track(at('way', 3000 - 1000 * i, 600 + 60 * i, { tripOptions }))
  await server.api('PATCH', '/v1/trips/way', { status: 'completed' })
  const { body } = await route()
  t.match(body, { matched: false, geometry: { type: 'polyline6', polyline: /./ } })
  t.match(body.distance, { text: '1.2 mi' })
  const metric = (await route('?units=metric&geometry=linestring')).body
  t.ok(Math.abs(metric.distance.value - 2000) < 10)
  t.equal(metric.geometry.coordinates.length, 3)
  t.equal((await server.api('GET', '/v1/trips/nobody/route')).status, 404)
  t.equal((await server.api('GET', '/v1/trips/way/route', undefined, testPublishable)).status, 403)
})
