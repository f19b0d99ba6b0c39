/** What goes wrong around trips on a real server: destinations that change under the device, clocks, long replays. */
import t from 'tap'
import { KEYS, startServer } from '../kit/server.ts'
import { until } from '../kit/waiting.ts'

const { testPublishable } = KEYS
const server = await startServer(t)
await server.api('PATCH', '/v1/settings', { tripUpdateSeconds: 0 })

type Body = Record<string, unknown>
const NOW = Math.floor(Date.now() / 1000) * 1000 - 7_200_000
const LATITUDE = -34.9

let drawn = 0
/** A destination of its own, a user who is on the way there, and the name of the trip. */
async function scene() {
  const name = `one-${++drawn}`
  // Far from those of others.
  const longitude = -56 + drawn
  const put = (more: Body = {}) =>
    server.api('PUT', `/v1/geofences/troubles/${name}`, {
      description: name,
      type: 'circle',
      coordinates: [longitude, LATITUDE],
      radius: 100,
      ...more,
    })
  await put()
  const destination = { destinationGeofenceTag: 'troubles', destinationGeofenceExternalId: name }
  await server.api('POST', '/v1/trips', { externalId: name, userId: name, ...destination })
  const at = (meters: number, seconds: number): Body => ({
    deviceId: name,
    userId: name,
    latitude: LATITUDE,
    longitude: longitude - meters / 91_290,
    accuracy: 5,
    stopped: true,
    updatedAt: new Date(NOW + seconds * 1000).toISOString(),
  })
  const track = async (meters: number, seconds: number) => {
    const { status, body } = await server.api('POST', '/v1/track', at(meters, seconds), testPublishable)
    t.equal(status, 200)
    return body
  }
  const trip = async () => (await server.api('GET', `/v1/trips/${name}`)).body.trip
  return { name, longitude, put, at, track, trip, destination }
}

const ofTrips = ({ events }: { events: { type: string }[] }) =>
  events.map(({ type }) => type).filter((type) => type.includes('trip'))

t.test('a destination that is moved under the device', async (t) => {
  const { longitude, put, track, trip } = await scene()
  await track(20_000, 0)
  // To where the device is.
  await put({ coordinates: [longitude - 20_000 / 91_290, LATITUDE] })
  t.equal((await trip()).status, 'started', 'the next update sees it')
  const there = await track(20_000, 60)
  t.strictSame(ofTrips(there), ['user.arrived_at_trip_destination'])
  t.match(there.user.trip.destinationLocation.coordinates, [longitude - 20_000 / 91_290, LATITUDE])
  // And away again.
  await put()
  const away = await track(20_000, 120)
  t.strictSame(ofTrips(away), ['user.updated_trip'])
  t.equal(away.user.trip.status, 'arrived', 'an arrival is not taken back')
})

t.test('a destination that is made smaller around the device', async (t) => {
  const { put, track } = await scene()
  await put({ radius: 5000 })
  await put({ radius: 50 })
  t.strictSame(ofTrips(await track(1000, 0)), ['user.started_trip', 'user.approaching_trip_destination'])
})

for (const [what, change] of [
  ['disabled', (put: (more: Body) => Promise<unknown>) => put({ enabled: false })],
  ['deleted', (_put: unknown, name: string) => server.api('DELETE', `/v1/geofences/troubles/${name}`)],
  ['meant for others', (put: (more: Body) => Promise<unknown>) => put({ userIds: ['somebody else'] })],
] as const)
  t.test(`a destination that is ${what} becomes a point`, async (t) => {
    const { name, put, track, destination } = await scene()
    await track(20_000, 0)
    await change(put, name)
    const on = await track(10_000, 60)
    t.match(on.user.trip, { status: 'started', ...destination })
    const there = await track(50, 600)
    t.strictSame(ofTrips(there), ['user.arrived_at_trip_destination'], 'its last radius counts')
    t.strictSame(there.user.geofences, [])
  })

t.test('a destination that is disabled and enabled again under the device', async (t) => {
  const { name, put, track, trip } = await scene()
  t.strictSame(ofTrips(await track(0, 0)), ['user.started_trip', 'user.arrived_at_trip_destination'])
  await put({ enabled: false })
  const inside = await track(20, 60)
  t.strictSame(ofTrips(inside), ['user.updated_trip'], 'who has arrived stays so')
  t.equal(inside.user.trip.status, 'arrived')
  const away = await track(5000, 300)
  t.strictSame(ofTrips(away), ['user.updated_trip'])
  t.equal(away.user.trip.status, 'arrived', 'an arrival is not taken back')
  // A call takes it back. The way to the point counts, and then the geofence again.
  await server.api('PATCH', `/v1/trips/${name}/update`, { status: 'started' })
  t.ok(Math.abs((await track(5000, 360)).user.trip.eta.distance - 5000 * 1.3) < 100)
  await put({ enabled: true, radius: 3000 })
  const there = await track(2900, 600)
  t.strictSame(ofTrips(there), ['user.arrived_at_trip_destination'], 'within its new radius')
  t.strictSame(
    there.user.geofences.map(({ externalId }: { externalId: string }) => externalId),
    [name],
  )
  t.equal((await trip()).status, 'arrived')
})

t.test('two devices of one user move the same trip', async (t) => {
  const { name, at, trip } = await scene()
  const track = async (device: string, meters: number, seconds: number) => {
    const update = { ...at(meters, seconds), deviceId: `${name}-${device}` }
    return (await server.api('POST', '/v1/track', update, testPublishable)).body
  }
  t.strictSame(ofTrips(await track('phone', 20_000, 0)), ['user.started_trip'])
  const watch = await track('watch', 15_000, 60)
  t.strictSame(ofTrips(watch), ['user.updated_trip'])
  t.equal((await trip()).user.deviceId, `${name}-watch`, 'the one that moved it last')
  const late = await track('phone', 19_000, 30)
  t.strictSame(ofTrips(late), [], 'an update from before leaves it as it is')
  t.match(late.user.trip, { externalId: name, status: 'started' }, 'and its app goes on')
  t.match(await trip(), { user: { deviceId: `${name}-watch` }, locations: { length: 2 } })
  t.strictSame(ofTrips(await track('phone', 0, 600)), ['user.arrived_at_trip_destination'])
  t.equal((await track('watch', 15_000, 660)).user.trip.status, 'arrived')
  t.equal((await trip()).user.deviceId, `${name}-watch`)
})

t.test('legs of another trip are unknown, and nothing changes', async (t) => {
  const legs = [{ coordinates: [1, 1] }, { coordinates: [2, 2] }]
  const make = async (externalId: string) =>
    (await server.api('POST', '/v1/trips', { externalId, legs })).body.trip
  const [own, other] = [await make('legs-own'), await make('legs-other')]
  const [a, b] = own.legs.map(({ _id }: { _id: string }) => _id)
  const foreign = other.legs[0]._id
  const of = async () => (await server.api('GET', '/v1/trips/legs-own')).body.trip
  const before = await of()
  const status = { status: 'started' }
  t.equal((await server.api('PATCH', `/v1/trips/legs-own/legs/${foreign}`, status)).status, 404)
  t.match((await server.api('PUT', '/v1/trips/legs-own/legs', { legs: [b, a, foreign] })).body.meta, {
    code: 400,
    param: 'legs',
  })
  const patch = (list: readonly Body[]) => server.api('PATCH', '/v1/trips/legs-own/update', { legs: list })
  t.match((await patch([{ _id: a }, { _id: foreign }])).body.meta, { code: 400, param: 'legs.1.destination' })
  t.match((await patch([{ _id: a }, { _id: a }])).body.meta, { code: 400, param: 'legs.1._id' })
  t.strictSame(await of(), before)
  t.match((await patch([{ _id: a }, other.legs[1]])).body.meta, { code: 400, param: 'legs.1.destination' })
  t.strictSame(await of(), before)
  // With a place it is a new leg.
  const { trip } = (await patch([{ _id: a }, { ...other.legs[1], coordinates: [3, 3] }])).body
  t.equal(trip.legs[0]._id, a)
  t.notOk([b, other.legs[1]._id].includes(trip.legs[1]._id))
  t.strictSame(trip.legs[1].destination.location.coordinates, [3, 3])
})

t.test('numbers as texts, as iOS sends them', async (t) => {
  const { name, at, destination } = await scene()
  const scheduledArrivalAt = NOW + 3_600_000
  const texts = { approachingThreshold: '12.5', scheduledArrivalAt: String(scheduledArrivalAt) }
  const read = { approachingThreshold: 12.5, scheduledArrivalAt: new Date(scheduledArrivalAt).toISOString() }
  t.match((await server.api('PATCH', `/v1/trips/${name}/update`, texts)).body.trip, read)
  const tripOptions = { externalId: `${name}-options`, ...destination, ...texts }
  const track = (more: Body) =>
    server.api('POST', '/v1/track', {
      ...at(9000, 0),
      userId: undefined,
      tripOptions: { ...tripOptions, ...more },
    })
  t.match((await track({})).body.user.trip, { ...read, externalId: `${name}-options` })
  for (const approachingThreshold of [
    '0',
    '-1',
    '1e9',
    '1440.5',
    'NaN',
    'Infinity',
    '0x10',
    '7,5',
    '5 min',
    '1e',
  ])
    for (const { body } of [
      await server.api('PATCH', `/v1/trips/${name}/update`, { approachingThreshold }),
      await server.api('POST', '/v1/trips', { externalId: `${name}-bad`, approachingThreshold }),
    ])
      t.match(body.meta, { code: 400, param: 'approachingThreshold' }, approachingThreshold)
  t.match((await track({ approachingThreshold: '1e9' })).body.meta, {
    code: 400,
    param: 'tripOptions.approachingThreshold',
  })
  t.equal((await server.api('GET', `/v1/trips/${name}-bad`)).status, 404)
  t.equal((await server.api('GET', `/v1/trips/${name}`)).body.trip.approachingThreshold, 12.5)
})

t.test('a user who is deleted in the middle', async (t) => {
  const { name, track, trip, at } = await scene()
  await track(20_000, 0)
  t.equal((await server.api('DELETE', `/v1/users/${name}`)).status, 200)
  await until(async () => (await trip()).status === 'canceled')
  const left = await trip()
  for (const gone of ['userId', 'user']) t.notOk(gone in left, gone)
  t.strictSame(left.locations, [])
  const again = await server.api('POST', '/v1/track', at(10_000, 60), testPublishable)
  t.equal(again.status, 200)
  t.notOk('trip' in again.body.user, 'whoever comes back is on no trip')
  t.equal((await trip()).status, 'canceled')
})

t.test('PATCH of a trip that has ended: the same end is harmless, another one is refused', async (t) => {
  const { name, trip } = await scene()
  const patch = (body: Body) => server.api('PATCH', `/v1/trips/${name}/update`, body, testPublishable)
  await patch({ status: 'completed' })
  const ended = await trip()
  t.match((await patch({ status: 'completed' })).body, { events: [], trip: { status: 'completed' } })
  t.match((await patch({ status: 'canceled' })).body.meta, { code: 400, param: 'status' })
  t.match((await patch({ mode: 'bike', metadata: { a: 1 } })).body, {
    events: [],
    trip: { mode: 'car', metadata: { a: 1 } },
  })
  t.equal((await trip()).endedAt, ended.endedAt)
})

t.test('an hour of updates in one body, in the order of their times', async (t) => {
  const { at, trip, name } = await scene()
  // Every 5 s from 36 km away to the middle of the destination.
  const replays = Array.from({ length: 721 }, (_, i) => ({ ...at(36_000 - 50 * i, 5 * i), replayed: true }))
  const { status, body } = await server.api('POST', '/v1/track/replay', { replays }, testPublishable)
  t.equal(status, 200)
  // If the trip does not come to an end in time, the answer has it as it was, and the log its events (T2).
  t.match(body.user.trip, { externalId: name })
  await until(async () => (await trip()).status === 'arrived')
  const arrived = await trip()
  const { events } = (await server.api('GET', `/v1/events?userId=${name}&limit=1000`)).body
  const own = events.filter(({ type }: { type: string }) => type.includes('trip')).toReversed()
  t.equal(own.length, 721, 'one of each update')
  const times = own.map(({ createdAt }: { createdAt: string }) => createdAt)
  t.strictSame(times, times.toSorted())
  t.equal(arrived.locations.length, 721, 'each is 30 m from the one before')
})

t.test('a clock that goes back: the update counts as of its arrival, and the trip goes on', async (t) => {
  const { name, track, trip } = await scene()
  await track(20_000, 600)
  await track(10_000, 1200)
  const sentAt = new Date().toISOString()
  const late = await track(9000, 660)
  t.strictSame(ofTrips(late), ['user.updated_trip'])
  t.equal(late.user.trip.status, 'started', 'the app goes on')
  const { locations, eta } = await trip()
  t.equal(locations.length, 3)
  t.ok(locations.at(-1).updatedAt >= sentAt, 'times of a trip never go back')
  t.ok(Math.abs(eta.distance - 9000 * 1.3) < 100)
  t.equal((await track(0, 1260)).user.trip.status, 'arrived')
  const { events } = (await server.api('GET', `/v1/events?userId=${name}`)).body
  const times = events.map(({ createdAt }: { createdAt: string }) => createdAt)
  t.strictSame(times, times.toSorted().toReversed())
})
