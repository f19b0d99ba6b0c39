/** The calls of trips on a real server: every parameter, error and shape. */
import t, { type Test } from 'tap'
import { KEYS, startServer, type Server } from '../kit/server.ts'

const { testPublishable, testSecret, livePublishable, liveSecret } = KEYS
const server = await startServer(t)

for (const [externalId, coordinates] of [
  ['home', [-56.19, -34.9]],
  ['work', [-56.15, -34.9]],
] as const)
  await server.api('PUT', `/v1/geofences/store/${externalId}`, {
    description: externalId,
    type: 'circle',
    coordinates,
    radius: 100,
  })

const HOME = { destinationGeofenceTag: 'store', destinationGeofenceExternalId: 'home' }
const WORK = { destinationGeofenceTag: 'store', destinationGeofenceExternalId: 'work' }

type Body = Record<string, unknown>

const post = (body: Body, key: string = testSecret) => server.api('POST', '/v1/trips', body, key)
const patch = (id: string, body: Body, key: string = testSecret) =>
  server.api('PATCH', `/v1/trips/${id}/update`, body, key)
const get = (path: string, key: string = testSecret) => server.api('GET', `/v1/trips${path}`, undefined, key)
const types = (body: { events: { type: string }[] }) => body.events.map(({ type }) => type)

let drawn = 0
const name = () => `order-${++drawn}`

/** A trip of its own, as the answer to POST. */
async function trip(body: Body = {}, status?: string) {
  const externalId = name()
  const created = (await post({ externalId, ...HOME, ...body })).body.trip
  return status === undefined ? created : (await patch(created._id, { status })).body.trip
}

t.test('POST creates a trip, pending, without events', async (t) => {
  const externalId = name()
  const scheduledArrivalAt = '2026-11-20T04:21:00.123Z'
  const { status, body } = await post({
    externalId,
    userId: 'mia',
    ...HOME,
    mode: 'bike',
    approachingThreshold: '7.5',
    scheduledArrivalAt,
    metadata: '{"floor":3,"gate":true,"note":"ring"}',
    status: 'arrived',
  })
  t.equal(status, 200)
  t.strictSame(body.events, [])
  t.match(body.trip, {
    _id: /^[0-9a-f]{24}$/,
    live: false,
    externalId,
    userId: 'mia',
    mode: 'bike',
    status: 'pending',
    approachingThreshold: 7.5,
    scheduledArrivalAt,
    metadata: { floor: 3, gate: true, note: 'ring' },
    ...HOME,
    destinationLocation: { type: 'Point', coordinates: [-56.19, -34.9] },
    createdAt: /Z$/,
    updatedAt: /Z$/,
  })
  t.strictSame(body.trip.locations, [])
  for (const absent of ['startedAt', 'arrivedAt', 'completedAt', 'endedAt', 'eta', 'delay', 'legs', 'user'])
    t.notOk(absent in body.trip, absent)
  t.equal((await post({ externalId: name() })).body.trip.mode, 'car')
})

t.test('POST of an active trip changes its fields; of one that has ended, it makes another', async (t) => {
  const first = await trip({ userId: 'ann' })
  const again = await post({ externalId: first.externalId, userId: 'ann', metadata: { a: 1 } })
  t.match(again.body, { trip: { _id: first._id, metadata: { a: 1 } }, events: [] })
  await patch(first._id, { status: 'started' })
  t.strictSame(types((await post({ externalId: first.externalId, metadata: { a: 2 } })).body), [
    'user.updated_trip',
  ])
  t.strictSame(types((await post({ externalId: first.externalId, metadata: { a: 2 } })).body), [])
  await patch(first._id, { status: 'completed' })
  const second = (await post({ externalId: first.externalId, userId: 'bob' })).body.trip
  t.not(second._id, first._id)
  t.match(second, { status: 'pending', userId: 'bob' })
  t.equal((await get(`/${first._id}`)).body.trip.status, 'completed', 'the old one stays under its _id')
  t.equal((await get(`/${first.externalId}`)).body.trip._id, second._id, 'the active trip')
  await patch(second._id, { status: 'canceled' })
  t.equal((await get(`/${first.externalId}`)).body.trip._id, second._id, 'else the latest created')
})

t.test('PATCH: status, fields, events; both paths', async (t) => {
  const { _id, externalId } = await trip({ userId: 'ann' })
  const started = await patch(externalId, { status: 'started', mode: 'foot' })
  t.match(started.body, { trip: { _id, status: 'started', mode: 'foot', startedAt: /Z$/ } })
  t.match(started.body.events, [
    {
      _id: /^[0-9a-f]{24}$/,
      type: 'user.started_trip',
      live: false,
      createdAt: started.body.trip.startedAt,
      actualCreatedAt: /Z$/,
      confidence: 3,
      user: { userId: 'ann' },
      trip: { _id, status: 'started', mode: 'foot' },
    },
  ])
  t.notOk('locations' in started.body.events[0].trip)
  t.notOk('user' in started.body.events[0].trip)
  const arrived = await server.api('PATCH', `/v1/trips/${externalId}`, { status: 'arrived' })
  t.strictSame(types(arrived.body), ['user.arrived_at_trip_destination'])
  t.match(arrived.body.trip, { status: 'arrived', arrivedAt: /Z$/, eta: { duration: 0, distance: 0 } })
  const completed = await patch(_id, { status: 'completed', externalId: 'ignored' })
  t.match(completed.body.trip, { status: 'completed', externalId, completedAt: /Z$/, endedAt: /Z$/ })
  t.strictSame(types(completed.body), ['user.stopped_trip'])
  const events = (await server.api('GET', '/v1/events?userId=ann')).body.events
  t.strictSame(
    events
      .filter((event: { trip?: { _id: string } }) => event.trip?._id === _id)
      .map(({ type }: { type: string }) => type),
    ['user.stopped_trip', 'user.arrived_at_trip_destination', 'user.started_trip'],
  )
})

t.test('PATCH of a name without a trip: /update is 404, the path of 2021 creates one', async (t) => {
  const externalId = name()
  t.match(await patch(externalId, { status: 'started' }), { status: 404, body: { meta: { code: 404 } } })
  const made = await server.api('PATCH', `/v1/trips/${externalId}`, { status: 'started', userId: 'ann' })
  t.match(made, { status: 200, body: { trip: { externalId, status: 'started', userId: 'ann' } } })
  t.strictSame(types(made.body), ['user.started_trip'])
  t.equal((await get(`/${'0'.repeat(24)}`)).status, 404)
})

t.test('a trip that has ended is restarted under its `_id`', async (t) => {
  const { _id, externalId } = await trip({ userId: 'eve' }, 'started')
  await patch(_id, { status: 'completed' })
  const again = await patch(externalId, { status: 'started' })
  t.match(again.body, { trip: { _id, status: 'started' }, events: [{ type: 'user.started_trip' }] })
  t.notOk('completedAt' in again.body.trip)
  await patch(_id, { status: 'canceled' })
  const other = (await post({ externalId })).body.trip
  t.match((await patch(_id, { status: 'pending' })).body.meta, { code: 400, param: 'status' })
  t.equal((await get(`/${_id}`)).body.trip.status, 'canceled')
  await patch(other._id, { status: 'completed' })
  t.match((await patch(_id, { status: 'pending' })).body.trip, { _id, status: 'pending' })
  t.equal((await get(`/${externalId}`)).body.trip._id, _id, 'the active one, not the latest')
})

t.test('a trip that nobody moves has the latest record of its user, also after its end', async (t) => {
  const track = (deviceId: string, userId: string) =>
    server.api('POST', '/v1/track', { deviceId, userId, latitude: 1, longitude: 2, accuracy: 5 })
  const userOf = async ({ externalId }: Body) => (await get(`/${externalId}`)).body.trip.user
  const first = (await track('first phone', 'walker')).body.user
  const user = { _id: first._id, userId: 'walker', deviceId: 'first phone' }
  const made = await trip({ userId: 'walker' })
  t.strictSame(await userOf(made), user)
  const ended = await patch(made._id, { status: 'canceled' })
  t.strictSame([ended.body.trip.user, ended.body.events[0].user], [user, user])
  await track('second phone', 'walker')
  t.strictSame(await userOf(made), user, 'as it was at the end')
  const unknown = await trip({ userId: 'nobody yet' })
  t.equal(await userOf(unknown), undefined, 'there is no record')
  await patch(unknown._id, { status: 'completed' })
  await track('third phone', 'nobody yet')
  t.equal(await userOf(unknown), undefined, 'there was none at the end')
})

t.test('what a publishable key sees', async (t) => {
  const { _id, externalId } = await trip({ userId: 'zoe' })
  await server.api('POST', '/v1/track', {
    deviceId: 'zoes',
    userId: 'zoe',
    latitude: 1,
    longitude: 1,
    accuracy: 5,
  })
  const strange = (await patch(_id, { status: 'approaching' }, testPublishable)).body
  t.strictSame(strange.trip.locations, [])
  t.notOk('user' in strange.trip)
  t.equal(strange.trip.userId, 'zoe')
  for (const event of strange.events)
    for (const hidden of ['user', 'location']) t.notOk(hidden in event, hidden)
  const own = (await patch(externalId, { status: 'started', userId: 'zoe' }, testPublishable)).body
  t.match(own.trip.user, { _id: /^[0-9a-f]{24}$/, userId: 'zoe', deviceId: 'zoes' })
  t.match(own.events, [
    { user: { userId: 'zoe', deviceId: 'zoes' }, location: { type: 'Point', coordinates: [1, 1] } },
  ])
  t.match((await get(`/${_id}`)).body, {
    trip: { user: { deviceId: 'zoes' } },
    user: { deviceId: 'zoes' },
    _id,
  })
})

t.test('keys and environments', async (t) => {
  const { _id, externalId } = await trip()
  for (const [method, path] of [
    ['GET', ''],
    ['GET', `/${_id}`],
    ['DELETE', `/${_id}`],
  ] as const)
    t.equal((await server.api(method, `/v1/trips${path}`, undefined, testPublishable)).status, 403, path)
  t.equal((await get(`/${_id}`, liveSecret)).status, 404)
  t.equal((await patch(_id, { status: 'started' }, livePublishable)).status, 404)
  const live = (await post({ externalId }, livePublishable)).body.trip
  t.match(live, { live: true, externalId })
  t.not(live._id, _id)
})

t.test('names as clients write them', async (t) => {
  for (const externalId of [
    'a/b/c',
    'x/legs',
    '100%',
    'güñ 7',
    'a//b',
    "it's;(1)",
    'ends/',
    '%41',
    'x/legs/update',
  ]) {
    t.equal((await post({ externalId })).status, 200, externalId)
    // fetch would tidy the path; a raw request leaves it.
    const raw = await server.api(
      'PATCH',
      `/v1/trips/${encodeURI(externalId).replaceAll('%25', '%')}/update`,
      {
        status: 'started',
      },
    )
    if (externalId === '%41') t.equal(raw.status, 404, 'an escape is an escape')
    else t.match(raw.body, { trip: { externalId, status: 'started' } }, externalId)
    const encoded = await server.api('PATCH', `/v1/trips/${encodeURIComponent(externalId)}/update`, {})
    t.match(encoded.body, { trip: { externalId } })
    t.match((await get(`/${encodeURIComponent(externalId)}`)).body, { externalId })
  }
})

t.test('forms, PATCH too', async (t) => {
  const form = (method: string, path: string, body: string) =>
    server.api(method, path, body, testSecret, { 'content-type': 'application/x-www-form-urlencoded' })
  const externalId = name()
  const made = await form(
    'POST',
    '/v1/trips',
    `externalId=${externalId}&destinationGeofenceTag=store&destinationGeofenceExternalId=home&metadata[a]=1&approachingThreshold=3&userId=`,
  )
  t.match(made.body.trip, { externalId, ...HOME, approachingThreshold: 3 })
  t.notOk('userId' in made.body.trip)
  const changed = await form('PATCH', `/v1/trips/${externalId}/update`, 'status=started&mode=truck&metadata=')
  t.match(changed.body, {
    trip: { status: 'started', mode: 'truck' },
    events: [{ type: 'user.started_trip' }],
  })
})

t.test('bad input is 400 and names the parameter; nothing changes', async (t) => {
  const id = (await trip({ userId: 'ann' }, 'started'))._id
  const before = (await get(`/${id}`)).body
  const bad: [Body, string][] = [
    [{ destinationGeofenceTag: 'store' }, 'destinationGeofenceExternalId'],
    [{ destinationGeofenceExternalId: 'home' }, 'destinationGeofenceTag'],
    [{ ...HOME, destinationGeofenceExternalId: 'nowhere' }, 'destinationGeofenceExternalId'],
    [{ userId: 'bob' }, 'userId'],
    [{ mode: 'CAR' }, 'mode'],
    [{ mode: 'boat' }, 'mode'],
    [{ approachingThreshold: 0 }, 'approachingThreshold'],
    [{ approachingThreshold: -1 }, 'approachingThreshold'],
    [{ approachingThreshold: 1e9 }, 'approachingThreshold'],
    [{ approachingThreshold: 1440.1 }, 'approachingThreshold'],
    [{ approachingThreshold: 'soon' }, 'approachingThreshold'],
    [{ approachingThreshold: true }, 'approachingThreshold'],
    [{ scheduledArrivalAt: 'tomorrow' }, 'scheduledArrivalAt'],
    [{ metadata: [1] }, 'metadata'],
    [{ metadata: { a: {} } }, 'metadata'],
    [{ metadata: 'not json' }, 'metadata'],
    [{ metadata: Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`k${i}`, i])) }, 'metadata'],
    [{ status: 'STARTED' }, 'status'],
    [{ status: 'expired' }, 'status'],
    [{ status: 'unknown' }, 'status'],
    [{ status: 7 }, 'status'],
    [{ legs: [] }, 'legs'],
    [{ legs: {} }, 'legs'],
    [{ legs: [{ destination: {} }] }, 'legs.0.destination'],
    [{ legs: ['x'] }, 'legs.0'],
    [{ legs: Array.from({ length: 26 }, () => ({ coordinates: [1, 1] })) }, 'legs'],
    [{ legs: [{ coordinates: [181, 1] }] }, 'legs.0.coordinates'],
    [{ legs: [{ coordinates: [1, 1], arrivalRadius: 9 }] }, 'legs.0.arrivalRadius'],
    [{ legs: [{ coordinates: [1, 1], arrivalRadius: 10_001 }] }, 'legs.0.arrivalRadius'],
    [{ legs: [{ coordinates: [1, 1], stopDuration: -1 }] }, 'legs.0.stopDuration'],
    [{ legs: [{ coordinates: [1, 1], stopDuration: 1441 }] }, 'legs.0.stopDuration'],
    [{ legs: [{ coordinates: [1, 1], metadata: 'x' }] }, 'legs.0.metadata'],
    [
      { legs: [{ destination: { destinationGeofenceTag: 'store' } }] },
      'legs.0.destinationGeofenceExternalId',
    ],
    [
      { legs: [{ destination: { destinationGeofenceId: '0'.repeat(24) } }] },
      'legs.0.destination.destinationGeofenceId',
    ],
    [{ legs: [{ coordinates: [1, 1] }], ...WORK }, 'legs'],
  ]
  for (const [body, param] of bad) {
    const { status, body: answer } = await patch(id, { metadata: { changed: true }, ...body })
    t.match([status, answer.meta], [400, { code: 400, param }], JSON.stringify(body).slice(0, 100))
  }
  t.strictSame((await get(`/${id}`)).body, before)
  t.equal((await get('?before=nothing')).status, 404)
  t.equal((await server.api('POST', '/v1/trips', '[]')).status, 400)
})

t.test('a refused POST leaves its name free', async (t) => {
  const externalId = name()
  t.equal((await post({ externalId, ...HOME, destinationGeofenceExternalId: 'nowhere' })).status, 400)
  t.equal((await get(`/${externalId}`)).status, 404)
  t.match((await post({ externalId, ...WORK })).body.trip, { externalId, ...WORK })
})

t.test('null and empty texts mean absent, as after a restart of an Android app', async (t) => {
  const before = await trip(
    { userId: 'kim', metadata: { a: 1 }, mode: 'foot', approachingThreshold: 3 },
    'started',
  )
  const empty = {
    userId: '',
    destinationGeofenceTag: '',
    destinationGeofenceExternalId: '',
    mode: '',
    metadata: '',
  }
  const { body } = await patch(before._id, {
    ...empty,
    approachingThreshold: null,
    scheduledArrivalAt: '',
    legs: null,
    status: '',
  })
  t.strictSame(body, { ...body, events: [], trip: before })
  t.strictSame(
    (await patch(before._id, { metadata: {} })).body.trip.metadata,
    {},
    'an empty dictionary replaces it',
  )
})

t.test('scheduledArrivalAt: a date or milliseconds, which may be past', async (t) => {
  const past = Date.parse('2020-02-03T04:05:06.789Z')
  for (const given of [past, String(past), '2020-02-03T04:05:06.789Z', '2020-02-03T05:05:06.789+01:00']) {
    const { status, body } = await post({ externalId: name(), scheduledArrivalAt: given })
    t.equal(status, 200, String(given))
    t.equal(body.trip.scheduledArrivalAt, '2020-02-03T04:05:06.789Z', String(given))
  }
  const never = await post({ externalId: name(), scheduledArrivalAt: 1e18 })
  t.match(never.body.meta, { code: 400, param: 'scheduledArrivalAt' })
})

t.test('at most 50 active trips a user', async (t) => {
  const names = Array.from({ length: 50 }, name)
  const made = await Promise.all(names.map((externalId) => post({ externalId, userId: 'busy' })))
  t.ok(made.every(({ status }) => status === 200))
  const last = name()
  const refused = { code: 400, param: 'userId' }
  t.match((await post({ externalId: last, userId: 'busy' })).body.meta, refused)
  t.equal((await get(`/${last}`)).status, 404)
  const free = await trip()
  t.match((await patch(free._id, { userId: 'busy' })).body.meta, refused)
  t.equal(
    (await post({ externalId: names[0], userId: 'busy', mode: 'bike' })).status,
    200,
    'one that the user has',
  )
  await patch(names[0]!, { status: 'canceled' })
  t.match((await patch(free._id, { userId: 'busy' })).body.trip, { userId: 'busy' })
  t.match((await patch(names[0]!, { status: 'started' })).body.meta, refused, 'a restart')
})

t.test('legs: their destinations in four forms, on the leg itself too', async (t) => {
  const { _id: geofence } = (await server.api('GET', '/v1/geofences/store/work')).body.geofence
  const { body } = await post({
    externalId: name(),
    legs: JSON.stringify([
      { destination: { ...HOME }, stopDuration: '12', metadata: { bell: 1 } },
      { destinationGeofenceId: geofence, address: 'not looked up' },
      { destination: { coordinates: [-56.1, -34.8] }, arrivalRadius: 250 },
      { coordinates: '[-56.2,-34.8]' },
    ]),
  })
  t.match(body.trip, {
    status: 'pending',
    ...HOME,
    currentLeg: body.trip.legs[0]._id,
    currentLegId: body.trip.legs[0]._id,
  })
  t.match(body.trip.legs, [
    {
      _id: /^[0-9a-f]{24}$/,
      status: 'pending',
      createdAt: /Z$/,
      updatedAt: /Z$/,
      stopDuration: 12,
      metadata: { bell: 1 },
      ...HOME,
      destinationGeofenceId: /^[0-9a-f]{24}$/,
      destination: {
        type: 'geofence',
        source: { geofence: /^[0-9a-f]{24}$/, data: { tag: 'store', externalId: 'home' } },
        location: { type: 'Point', coordinates: [-56.19, -34.9] },
        arrivalRadius: 100,
      },
    },
    { stopDuration: 0, ...WORK, destination: { source: { geofence } } },
    {
      destination: {
        type: 'coordinates',
        source: { data: [-34.8, -56.1] },
        location: { coordinates: [-56.1, -34.8] },
        arrivalRadius: 250,
      },
    },
    { destination: { type: 'coordinates', arrivalRadius: 100 } },
  ])
  const echoed = await patch(body.trip._id, { legs: body.trip.legs, ...HOME })
  t.strictSame(echoed.body.trip.legs, body.trip.legs, 'clients echo answers')
  const moved = await patch(body.trip._id, { legs: [{ _id: body.trip.legs[2]._id, arrivalRadius: 20 }] })
  t.match(moved.body.trip.legs, [{ _id: body.trip.legs[2]._id, destination: { arrivalRadius: 20 } }])
  t.match((await patch(body.trip._id, WORK)).body.meta, { code: 400, param: 'destinationGeofenceTag' })
})

t.test('PATCH of a leg, PUT of their order', async (t) => {
  const legs = [1, 2, 3].map((n) => ({ coordinates: [n, n] }))
  const { trip: made } = (await post({ externalId: 'a/trip', legs })).body
  const [a, b, c] = made.legs.map(({ _id }: { _id: string }) => _id) as [string, string, string]
  const leg = (id: string, body: Body, key: string = testPublishable) =>
    server.api('PATCH', `/v1/trips/${made._id}/legs/${id}`, body, key)
  const order = (legIds: unknown) =>
    server.api('PUT', `/v1/trips/${made._id}/legs`, { legs: legIds }, testPublishable)
  const started = (await leg(b, { status: 'started' })).body
  t.match(started, { trip: { currentLeg: b, status: 'started' }, leg: { _id: b, status: 'started' } })
  t.strictSame(types(started), ['user.started_trip'])
  const put = (await order([c, b, a])).body
  t.match(put, {
    trip: { currentLeg: c, legs: [{ _id: c, status: 'started' }, { _id: b, status: 'pending' }, { _id: a }] },
  })
  t.strictSame(types(put), ['user.updated_trip'])
  for (const ids of [[a], [a, b, c, c], [a, b, 'x'], [], 'x', [1, 2, 3]])
    t.match((await order(ids)).body.meta, { code: 400, param: /^legs/ }, JSON.stringify(ids))
  t.match((await leg(c, { status: 'pending' })).body.meta, { code: 400, param: 'status' })
  t.equal((await leg('0'.repeat(24), { status: 'started' })).status, 404)
  const other = await trip({
    legs: [{ coordinates: [1, 1] }],
    destinationGeofenceTag: null,
    destinationGeofenceExternalId: null,
  })
  t.equal((await leg(other.legs[0]._id, { status: 'started' })).status, 404, 'a leg of another trip')
  for (const id of [a, b]) await leg(id, { status: 'completed' })
  const closed = (await leg(c, { status: 'canceled' })).body
  t.match(closed, {
    trip: { status: 'completed' },
    leg: { status: 'canceled' },
    events: [{ type: 'user.stopped_trip' }],
  })
  t.match((await leg(a, { status: 'started' })).body.meta, { code: 400, param: 'status' })
  t.match((await order([a, b, c])).body.meta, { code: 400, param: 'legs' })
})

t.test('DELETE: gone, no event; unknown: 404', async (t) => {
  const { _id, externalId } = await trip({ userId: 'del' }, 'started')
  const remove = (id: string) => server.api('DELETE', `/v1/trips/${id}`)
  const { status, body } = await remove(externalId)
  t.strictSame([status, body], [200, { meta: { code: 200 } }])
  for (const id of [_id, externalId]) t.equal((await get(`/${id}`)).status, 404)
  t.equal((await remove(_id)).status, 404)
  const events = (await server.api('GET', '/v1/events?userId=del')).body.events
  t.strictSame(types({ events }), ['user.started_trip'])
  t.equal((await post({ externalId })).body.trip.externalId, externalId, 'the name is free')
})

t.test('list: filters, order, pages', async (t) => {
  const made: string[] = []
  for (let i = 0; i < 6; i++) {
    const { _id } = await trip({ userId: i < 3 ? 'list-a' : 'list-b', ...(i % 2 === 0 ? HOME : WORK) })
    made.push(_id)
  }
  await patch(made[0]!, { status: 'completed' })
  await patch(made[1]!, { status: 'started' })
  const ids = async (query: string) =>
    (await get(`?${query}`)).body.trips.map(({ _id }: { _id: string }) => _id)
  const [a, b, c, d, e, f] = made
  t.strictSame(await ids('userId=list-a'), [b, a, c], 'by updatedAt, the latest first')
  t.strictSame(await ids('userId=list-a&sortBy=createdAt'), [c, b, a])
  t.strictSame(await ids('userId=list-b&status=started,approaching'), [])
  t.strictSame(await ids('userId=list-a&status=started, completed'), [b, a])
  t.strictSame(await ids('userId=list-b&destinationGeofenceTag=store&destinationGeofenceExternalId=work'), [
    f,
    d,
  ])
  const { externalId } = (await get(`/${e}`)).body
  t.strictSame(await ids(`externalId=${externalId},unknown`), [e])
  const page = (await get('?userId=list-b&limit=2')).body
  t.match(page, { meta: { hasMore: true }, trips: [{ _id: f, locations: [] }, { _id: e }] })
  t.match((await get(`?userId=list-b&limit=2&before=${e}`)).body, {
    meta: { hasMore: false },
    trips: [{ _id: d }],
  })
  const { createdAt, updatedAt } = (await get(`/${b}`)).body
  t.strictSame(await ids(`userId=list-a&createdAfter=${createdAt}`), [c])
  t.strictSame(await ids(`userId=list-a&createdBefore=${createdAt}`), [a])
  t.strictSame(await ids(`userId=list-a&updatedAfter=${updatedAt}`), [])
  t.strictSame(await ids('userId=list-a&delayed=true'), [])
  t.equal((await ids('userId=list-a&delayed=false')).length, 3)
  const leg = (await post({ externalId: name(), userId: 'list-c', legs: [{ coordinates: [1, 1] }, WORK] }))
    .body.trip
  t.strictSame(await ids('userId=list-c&destinationGeofenceExternalId=work'), [leg._id], 'of any leg')
  t.ok((await ids('')).length > 6)

  const track = async (who: Body) =>
    (await server.api('POST', '/v1/track', { latitude: 1, longitude: 1, accuracy: 5, ...who })).body.user
  const known = await track({ deviceId: 'list-c', userId: 'list-c' })
  t.strictSame(await ids(`userId=${known._id}`), [leg._id], 'by the `_id` of a user')
  const unknown = await track({ deviceId: 'list-d', tripOptions: { externalId: 'list-d' } })
  t.strictSame(await ids(`userId=${unknown._id}`), [unknown.trip._id], 'of one without a userId')
  t.strictSame(await ids(`userId=${unknown._id}&status=pending`), [])
})

t.test('list: the latest locations of each trip', async (t) => {
  const { externalId } = await trip({ userId: 'list-e' })
  for (const latitude of [1, 2, 3]) {
    const at = { deviceId: 'list-e', userId: 'list-e', latitude, longitude: 1, accuracy: 5 }
    t.equal((await server.api('POST', '/v1/track', at)).status, 200)
  }
  const listed = async (query: string) => {
    const { trips } = (await get(`?externalId=${externalId}&${query}`)).body
    return trips[0].locations.map(({ coordinates }: { coordinates: number[] }) => coordinates[1])
  }
  t.strictSame(await listed('includeLocations=true'), [1, 2, 3])
  t.strictSame(await listed('includeLocations=true&maxLocations=2'), [2, 3])
  t.strictSame(await listed('includeLocations=true&maxLocations=5000'), [1, 2, 3])
  t.strictSame(await listed('maxLocations=2'), [], 'they are asked for by includeLocations')
  for (const bad of ['0', '5001', '1.5', 'x'])
    t.match((await get(`?maxLocations=${bad}`)).body.meta, { code: 400, param: 'maxLocations' }, bad)
})

t.test('list: those that are late', async (t) => {
  await server.api('PATCH', '/v1/settings', { tripDelayThreshold: 10 })
  const planned = (minutes: number) => ({
    ...HOME,
    scheduledArrivalAt: Date.now() + minutes * 60_000,
  })
  const late = await trip({ userId: 'late', ...planned(-30) })
  const inTime = await trip({ userId: 'late', ...planned(600) })
  const free = await trip({ userId: 'late', ...HOME })
  await server.api('POST', '/v1/track', {
    deviceId: 'late',
    userId: 'late',
    latitude: -34.9,
    longitude: -56.3,
    accuracy: 5,
  })
  const ids = async (delayed: boolean) =>
    (await get(`?userId=late&delayed=${delayed}`)).body.trips.map(({ _id }: { _id: string }) => _id).sort()
  t.strictSame(await ids(true), [late._id])
  t.strictSame(await ids(false), [inTime._id, free._id].sort())
  const { delay } = (await get(`/${late._id}`)).body
  t.ok(delay.delayed && delay.scheduledArrivalTimeDelay > 30)
  await server.api('PATCH', '/v1/settings', { tripDelayThreshold: null })
})

t.test('settings of trips', async (t) => {
  const settings = (change: Body) => server.api('PATCH', '/v1/settings', change, liveSecret)
  const standard = {
    tripApproachingThreshold: 5,
    tripExpirationMinutes: 1440,
    tripDelayThreshold: null,
    tripWrongDestinationEvents: false,
    tripUpdateSeconds: 30,
    tripEtaSeconds: 30,
  }
  t.match((await server.api('GET', '/v1/settings', undefined, liveSecret)).body.settings, standard)
  const change = {
    tripApproachingThreshold: null,
    tripExpirationMinutes: 60,
    tripDelayThreshold: 10,
    tripWrongDestinationEvents: true,
    tripUpdateSeconds: 0,
    tripEtaSeconds: 5.5,
  }
  t.match((await settings(change)).body.settings, change)
  t.match((await settings(standard)).body.settings, standard)
})

t.test('trips and names are there after kill -9', async (t: Test) => {
  const { _id, externalId } = await trip({ userId: 'kept', metadata: { a: 1 } }, 'started')
  const ended = await trip({ userId: 'kept' }, 'completed')
  const before = (await get('?userId=kept')).body
  await restart(server)
  t.strictSame((await get('?userId=kept')).body, before)
  t.match((await post({ externalId, metadata: { a: 2 } })).body, {
    trip: { _id },
    events: [{ type: 'user.updated_trip' }],
  })
  t.not((await post({ externalId: ended.externalId })).body.trip._id, ended._id)
})

async function restart(one: Server): Promise<void> {
  await one.kill9()
  await one.restart()
}
