/** POST /v1/track and /v1/track/replay of a real process, checked against the interface. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { KEYS } from '../kit/server.ts'
import { at, briefly, createOwn, iso, startApi, type Json } from './contract.ts'
import { until } from '../kit/waiting.ts'

const { testPublishable, testSecret, livePublishable, liveSecret } = KEYS
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const HEX = /^[0-9a-f]{24}$/
/** A Monday, for tests that choose their own times. The times of a device must only increase. */
const MONDAY = Date.parse('2026-01-05T00:00:00Z')

const api = await startApi(t)
const { call, server } = api
const { place, device } = createOwn()

t.test('an update with everything: User and Event field by field', async (t) => {
  const here = place()
  const geofence = await api.circle('shops/everything', here, 100, {
    metadata: { floor: 2, open: true, name: 'x' },
  })
  const body = {
    ...at(here),
    accuracy: 12.5,
    deviceId: 'd-1',
    userId: 'u-1',
    installId: 'i-1',
    foreground: true,
    stopped: true,
    description: 'A user',
    metadata: { plan: 'gold', age: 7, beta: false },
    deviceType: 'iOS',
    deviceOS: '17.1',
    deviceMake: 'Apple',
    deviceModel: 'iPhone',
    source: 'GEOFENCE_ENTER',
    replayed: false,
  }
  const before = Date.now()
  const { status, body: answer, headers } = await call('POST', '/v1/track', body, testPublishable)
  const after = Date.now()
  t.equal(status, 200)
  t.equal(headers.get('content-type'), 'application/json; charset=utf-8')
  t.strictSame(Object.keys(answer).sort(), ['events', 'meta', 'nearbyBeacons', 'user'])
  t.strictSame(answer.meta, { code: 200 })

  const { user, events } = answer
  t.match(user._id, HEX)
  t.match(user.createdAt, ISO)
  t.match(user.updatedAt, ISO)
  t.ok(Date.parse(user.updatedAt) >= before - 1 && Date.parse(user.updatedAt) <= after + 1, 'server time')
  const context = {
    _id: geofence._id,
    tag: 'shops',
    externalId: 'everything',
    description: 'shops/everything',
    metadata: { floor: 2, open: true, name: 'x' },
    type: 'circle',
    geometryCenter: { type: 'Point', coordinates: here },
    geometryRadius: 100,
  }
  t.strictSame(user, {
    _id: user._id,
    live: false,
    userId: 'u-1',
    deviceId: 'd-1',
    description: 'A user',
    metadata: { plan: 'gold', age: 7, beta: false },
    location: { type: 'Point', coordinates: here },
    locationAccuracy: 12.5,
    foreground: true,
    stopped: true,
    deviceType: 'iOS',
    deviceOS: '17.1',
    deviceMake: 'Apple',
    deviceModel: 'iPhone',
    source: 'GEOFENCE_ENTER',
    createdAt: user.updatedAt,
    updatedAt: user.updatedAt,
    actualUpdatedAt: user.updatedAt,
    ip: '127.0.0.1',
    geofences: [context],
    beacons: [],
    segments: [],
    topChains: [],
  })

  t.equal(events.length, 1)
  t.match(events[0]._id, HEX)
  t.strictSame(events[0], {
    _id: events[0]._id,
    type: 'user.entered_geofence',
    createdAt: user.updatedAt,
    actualCreatedAt: user.updatedAt,
    live: false,
    user: { _id: user._id, userId: 'u-1', deviceId: 'd-1', metadata: body.metadata },
    geofence: context,
    location: { type: 'Point', coordinates: here },
    locationAccuracy: 12.5,
    confidence: 3,
    replayed: false,
    foreground: true,
    stopped: true,
  })
  t.strictSame((await call('GET', `/v1/events/${events[0]._id}`)).body.event, events[0], 'the stored event')
  t.strictSame((await call('GET', `/v1/users/${user._id}`)).body.user, user, 'the stored user')
})

t.test('only required fields: absent fields are absent, flags are false', async (t) => {
  const { user, events } = await api.track({ deviceId: 'bare', ...at(place()) })
  t.strictSame(events, [])
  t.strictSame(Object.keys(user).sort(), [
    '_id',
    'actualUpdatedAt',
    'beacons',
    'createdAt',
    'deviceId',
    'foreground',
    'geofences',
    'ip',
    'live',
    'location',
    'locationAccuracy',
    'segments',
    'stopped',
    'topChains',
    'updatedAt',
  ])
  t.equal(user.foreground, false)
  t.equal(user.stopped, false)
  t.strictSame(user.geofences, [])
})

t.test('a live key creates live records', async (t) => {
  const here = place()
  await api.circle('shops/live', here, 100, {}, liveSecret)
  const { user, events } = await api.track({ deviceId: 'live', ...at(here) }, livePublishable)
  t.equal(user.live, true)
  t.equal(events[0].live, true)
  t.strictSame((await api.track({ deviceId: 'live', ...at(here) })).events, [], 'not in test')
  t.equal((await api.track({ deviceId: 'sk', ...at(here) }, testSecret)).user.live, false, 'a secret key may')
})

/**
 * Parameter → JSON texts that are refused with it as `meta.param`. Values of another type, too long or out of range are
 * in requiredFields.test.ts.
 */
const BAD: Record<string, string[]> = {
  latitude: ['"50"', '"NaN"', '1e999', '9'.repeat(400), '-1e308'],
  longitude: ['"50"', '""', '-1e999'],
  accuracy: ['-0', '"5"', '1e999'],
  foreground: ['"true"', '1', '0'],
  metadata: ['["a"]', '{"":1}', `{"${'k'.repeat(257)}":1}`],
  'metadata.a': [
    `{"a":"${'x'.repeat(4097)}"}`,
    '{"a":{}}',
    '{"a":[]}',
    '{"a":"\\u0000"}',
    '{"a":"\\udc00"}',
    '{"a":1e999}',
  ],
  deviceType: ['"ios"'],
  updatedAt: ['""', '1e999', '1e300', '"NaN"'],
}

t.test('numbers that are texts or not finite, and metadata that are not flat', async (t) => {
  for (const [param, texts] of Object.entries(BAD)) {
    const name = param.split('.')[0]!
    for (const text of texts) {
      const members = { deviceId: '"bad"', latitude: '50', longitude: '10', accuracy: '5', [name]: text }
      const body = Object.entries(members).map(([key, value]) => `"${key}":${value}`)
      const answer = await call('POST', '/v1/track', `{${body.join()}}`, testPublishable)
      const what = `${param}: ${text.slice(0, 40)}`
      t.equal(answer.status, 400, what)
      t.equal(answer.body.meta.param, param, what)
      t.ok(answer.body.meta.message?.startsWith(`${param}: `), `${what}: ${answer.body.meta.message}`)
    }
  }
  t.equal((await call('GET', '/v1/users/bad')).status, 404, 'nothing was stored')
  const { body } = await call('POST', '/v1/track', { deviceId: 'bad', ...at(place()), latitude: 91 })
  t.strictSame(body, {
    meta: { code: 400, param: 'latitude', message: 'latitude: Invalid latitude. Valid range: [-90, 90].' },
  })
  const west = await call('POST', '/v1/track', { deviceId: 'bad', ...at(place()), longitude: -181 })
  t.equal(west.body.meta.message, 'longitude: Invalid longitude. Valid range: [-180, 180].')
})

t.test('null means absent, and unknown fields are ignored', async (t) => {
  const names = [
    'userId',
    'foreground',
    'stopped',
    'description',
    'metadata',
    'deviceType',
    'updatedAt',
    'replayed',
  ]
  const nulls = Object.fromEntries(
    [...names, 'deviceOS', 'deviceMake', 'deviceModel', 'installId'].map((name) => [name, null]),
  )
  const { user } = await api.track({
    ...nulls,
    ...at(place()),
    deviceId: 'nulls',
    updatedAtMs: null,
    stream: null,
    sequence: null,
    sdkVersion: null,
    tripOptions: { externalId: '1', mode: 'car' },
    beacons: [{ type: 'ibeacon', uuid: 'a', major: '1', minor: '2', rssi: -60 }],
    nearbyGeofences: true,
    mocked: true,
    altitude: 12,
    locationMs: 5,
    source: 'BACKGROUND_LOCATION',
    userTags: ['a'],
    id: 'x',
  })
  for (const name of ['userId', 'description', 'metadata', 'deviceType', 'deviceOS'])
    t.notOk(name in user, name)
  const headers = { 'x-radar-whatever': 'yes', 'x-unknown': '1' }
  t.ok(await api.track({ deviceId: 'nulls', ...at(place()) }, testPublishable, headers))
  t.ok(await api.track({ deviceId: 'nulls', ...at(place()), userId: '' }), 'an empty userId is nobody')
})

t.test('limits of the ranges', async (t) => {
  const id = device()
  for (const latitude of [-90, 90])
    for (const longitude of [-180, 180]) {
      const { user } = await api.track({ deviceId: id, latitude, longitude, accuracy: 1e9 })
      t.strictSame(user.location.coordinates, [longitude, latitude])
      t.equal(user.locationAccuracy, 1e9, 'stored as sent')
    }
  const { user } = await api.track({ deviceId: id, latitude: 1e-7, longitude: -1e-7, accuracy: 1e-9 })
  t.strictSame(user.location.coordinates, [-1e-7, 1e-7])
  t.equal(user.locationAccuracy, 1e-9)
  const emoji = '👍'.repeat(128)
  t.equal((await api.track({ ...at(place()), deviceId: emoji })).user.deviceId, emoji)
})

t.test('form-urlencoded has the same effect as JSON', async (t) => {
  const here = place()
  await api.circle('shops/form', here, 100)
  const form = new URLSearchParams({
    deviceId: 'form 1',
    userId: 'ü&=+ %',
    latitude: '50',
    longitude: String(here[0]),
    accuracy: '7.5',
    foreground: 'true',
    stopped: 'false',
    description: 'é',
    'metadata[plan]': 'gold',
    deviceType: 'Android',
    updatedAt: '2026-01-05T10:00:00Z',
    replayed: 'true',
  })
  const headers = { 'content-type': 'application/x-www-form-urlencoded; charset=UTF-8' }
  const { events, user } = await api.track(form.toString(), testPublishable, headers)
  t.strictSame(briefly(events), ['entered shops/form 3'])
  t.equal(events[0].replayed, true)
  t.match(user, {
    deviceId: 'form 1',
    userId: 'ü&=+ %',
    location: { coordinates: here },
    locationAccuracy: 7.5,
    foreground: true,
    stopped: false,
    description: 'é',
    metadata: { plan: 'gold' },
    deviceType: 'Android',
    updatedAt: '2026-01-05T10:00:00.000Z',
  })
  form.set('latitude', 'abc')
  const bad = await call('POST', '/v1/track', form.toString(), testPublishable, headers)
  t.equal(bad.status, 400)
  t.equal(bad.body.meta.param, 'latitude')
  form.set('latitude', '50')
  form.set('foreground', 'maybe')
  t.equal(
    (await call('POST', '/v1/track', form.toString(), testPublishable, headers)).body.meta.param,
    'foreground',
  )
})

t.test('only an SDK may omit accuracy: confidence 1, locationAccuracy omitted', async (t) => {
  const here = place()
  await api.circle('shops/sdk', here, 1000)
  const { accuracy: _, ...bare } = at(here)
  const refused = await call('POST', '/v1/track', { deviceId: device(), ...bare }, testPublishable)
  t.equal(refused.status, 400)
  t.equal(refused.body.meta.param, 'accuracy')
  const byHeader = await api.track({ deviceId: device(), ...bare }, testPublishable, {
    'X-Radar-SDK-Version': '5.2.0',
  })
  const byBody = await api.track({ deviceId: device(), ...bare, sdkVersion: '3.9.1' })
  for (const { user, events } of [byHeader, byBody]) {
    t.notOk('locationAccuracy' in user)
    t.notOk('locationAccuracy' in events[0])
    t.equal(events[0].confidence, 1)
  }
  const zero = { deviceId: device(), ...bare, sdkVersion: '3.9.1', accuracy: 0 }
  t.equal(
    (await call('POST', '/v1/track', zero, testPublishable)).status,
    400,
    '0 is refused from an SDK too',
  )
})

t.test('metadata and description stay until they are sent again', async (t) => {
  const deviceId = device()
  const here = at(place())
  const metadata = Object.fromEntries(
    Array.from({ length: 32 }, (_, i) => [`key${i}`, i % 3 ? i : i % 2 ? `${i}` : true]),
  )
  t.strictSame((await api.track({ deviceId, ...here, metadata, description: 'one' })).user.metadata, metadata)
  const later = (await api.track({ deviceId, ...here })).user
  t.strictSame(later.metadata, metadata)
  t.equal(later.description, 'one')
  const replaced = (
    await api.track({ deviceId, ...here, metadata: { a: 1, gone: null }, description: 'two' })
  ).user
  t.strictSame(replaced.metadata, { a: 1 }, 'replaced whole, null means absent')
  t.equal(replaced.description, 'two')
  t.strictSame((await api.track({ deviceId, ...here, metadata: null, description: null })).user.metadata, {
    a: 1,
  })
  const types = { text: '', number: -1.5e-3, yes: true, no: false, 'odd key .[]': 'x', é: '😀' }
  t.strictSame((await api.track({ deviceId, ...here, metadata: types })).user.metadata, types)
})

t.test('which user an update belongs to', async (t) => {
  const here = place()
  await api.circle('shops/identity', here, 100)
  const deviceId = device()
  const track = (more: Json = {}) => api.track({ deviceId, ...at(here), ...more })

  const anonymous = await track()
  t.equal(anonymous.events.length, 1)
  const alice = await track({ userId: 'alice' })
  t.equal(alice.user._id, anonymous.user._id, 'the first userId attaches to the anonymous record')
  t.equal(alice.user.createdAt, anonymous.user.createdAt)
  t.strictSame(alice.events, [], 'with its state')

  const bob = await track({ userId: 'bob' })
  t.not(bob.user._id, alice.user._id, 'another userId is another record')
  t.equal(bob.events.length, 1, 'with a state of its own')
  t.equal((await track({ userId: 'alice' })).user._id, alice.user._id)

  const loggedOut = await track()
  t.notOk(
    [alice.user._id, bob.user._id].includes(loggedOut.user._id),
    'logged out again: a new anonymous record',
  )
  t.notOk('userId' in loggedOut.user)
  t.equal((await track({ userId: 'bob' })).user._id, bob.user._id, 'an existing record of the pair wins')
  t.equal((await track()).user._id, loggedOut.user._id)
  t.equal(
    (await track({ userId: 'carol' })).user._id,
    loggedOut.user._id,
    'the next new userId takes the anonymous one',
  )

  const otherDevice = await api.track({ deviceId: device(), ...at(here), userId: 'alice' })
  t.not(otherDevice.user._id, alice.user._id, 'a record per device and user')
  t.equal(
    (await call('GET', '/v1/users/alice')).body.user._id,
    otherDevice.user._id,
    'the latest updated answers',
  )
  await track({ userId: 'alice' })
  t.equal((await call('GET', '/v1/users/alice')).body.user._id, alice.user._id)
})

t.test('installId separates records only if both have one and they differ', async (t) => {
  const deviceId = device()
  const here = at(place())
  const idOf = async (more: Json) => (await api.track({ deviceId, ...here, ...more })).user._id
  const first = await idOf({ userId: 'ines', installId: 'one' })
  t.equal(await idOf({ userId: 'ines' }), first, 'without one')
  const second = await idOf({ userId: 'ines', installId: 'two' })
  t.not(second, first)
  t.equal(await idOf({ userId: 'ines', installId: 'one' }), first)
  t.equal(await idOf({ userId: 'ines', installId: 'two' }), second)
  const later = device()
  const bare = (await api.track({ deviceId: later, ...here, userId: 'ines' })).user._id
  t.equal((await api.track({ deviceId: later, ...here, userId: 'ines', installId: 'x' })).user._id, bare)
})

t.test('the time of an update', async (t) => {
  const here = place()
  await api.circle('shops/time', here, 100)
  const deviceId = device()
  const track = async (more: Json, metersNorth = 0) =>
    api.track({ deviceId, ...at(here, metersNorth), ...more })
  const timeOf = async (more: Json) => Date.parse((await track(more)).user.updatedAt)
  const isNow = (time: number) => Math.abs(time - Date.now()) < 5000

  const { user, events } = await track({ updatedAt: '2026-01-05T10:00:00.250Z' })
  t.equal(user.updatedAt, '2026-01-05T10:00:00.250Z')
  t.ok(isNow(Date.parse(user.createdAt)), 'createdAt of the user is the server’s time')
  t.equal(events[0].createdAt, '2026-01-05T10:00:00.250Z')
  t.ok(isNow(Date.parse(events[0].actualCreatedAt)))
  t.equal(
    await timeOf({ updatedAt: '2026-01-05T10:00:00.250Z' }),
    MONDAY + 10 * HOUR + 250,
    'equal is in order',
  )
  t.equal(await timeOf({ updatedAt: '2026-01-05T12:30:00+02:00' }), MONDAY + 10.5 * HOUR, 'an offset')
  t.equal(await timeOf({ updatedAt: MONDAY + 11 * HOUR }), MONDAY + 11 * HOUR, 'Unix time in milliseconds')
  t.equal(
    await timeOf({ updatedAt: 'Mon Jan 05 2026 13:00:00 GMT+0100 (CET)' }),
    MONDAY + 12 * HOUR,
    'as JavaScript prints',
  )
  t.equal(await timeOf({ updatedAt: '2026-01-06' }), MONDAY + 24 * HOUR, 'a date')
  const out = await track({ updatedAt: iso(MONDAY + 25 * HOUR) }, 300)
  t.equal(out.events[0].duration, 15 * 60 - 0.25 / 60, 'minutes since entry')
  t.ok(isNow(await timeOf({ updatedAt: iso(MONDAY) })), 'backwards: the server’s time')
  t.ok(isNow(await timeOf({})), 'missing: the server’s time')
  t.ok(isNow(await timeOf({ updatedAtMs: MONDAY })), 'updatedAtMs counts only in a replay')

  const ahead = Date.now() + 23 * HOUR
  t.equal(await timeOf({ updatedAt: iso(ahead) }), ahead, 'up to a day ahead')
  t.equal(await timeOf({}), ahead, 'never below the last')
  t.equal(await timeOf({ updatedAt: iso(Date.now()) }), ahead)
  const refused = await call('POST', '/v1/track', {
    deviceId,
    ...at(here),
    updatedAt: iso(Date.now() + 25 * HOUR),
  })
  t.equal(refused.status, 400)
  t.equal(refused.body.meta.param, 'updatedAt')
})

t.test('a resend is applied once (G9)', async (t) => {
  const here = place()
  await api.circle('shops/resend', here, 100)
  const deviceId = device()
  const send = (sequence: number, stream: string, metersNorth: number) =>
    api.track({ deviceId, ...at(here, metersNorth), stream, sequence })
  const inside = await send(7, 'a', 0)
  t.strictSame(briefly(inside.events), ['entered shops/resend 3'])
  const again = await send(7, 'a', 500)
  t.strictSame(again.events, [])
  t.strictSame(again.user, inside.user, 'not evaluated: the device has not moved')
  for (const stream of ['b', 'c', 'd']) await send(1, stream, 0)
  t.strictSame((await send(7, 'a', 500)).events, [], 'the last four senders are known')
  t.strictSame(briefly((await send(8, 'a', 500)).events), ['exited shops/resend 3'])
  const events = (await call('GET', `/v1/events?deviceId=${deviceId}`)).body.events
  t.strictSame(briefly(events), ['exited shops/resend 3', 'entered shops/resend 3'], 'each once')

  const half = await call('POST', '/v1/track', { deviceId, ...at(here), stream: 'a' })
  t.equal(half.status, 400)
  t.equal(half.body.meta.param, 'sequence')
  const other = await call('POST', '/v1/track', { deviceId, ...at(here), sequence: 1 })
  t.equal(other.body.meta.param, 'stream')
  for (const sequence of [-1, 1.5, '1', 2 ** 53])
    t.equal(
      (await call('POST', '/v1/track', { deviceId, ...at(here), stream: 'a', sequence })).body.meta.param,
      'sequence',
    )
})

t.test('Prefer: respond-async is answered before the update is applied', async (t) => {
  const send = (deviceId: string, prefer: string, change: Json = {}) =>
    fetch(`${server.url}/v1/track`, {
      method: 'POST',
      headers: { Authorization: testPublishable, 'Content-Type': 'application/json', Prefer: prefer },
      body: JSON.stringify({ ...at(place()), deviceId, ...change }),
    })
  for (const prefer of ['respond-async', 'wait=10, Respond-Async']) {
    const deviceId = device()
    const answer = await send(deviceId, prefer)
    t.equal(answer.status, 202)
    t.equal(answer.headers.get('preference-applied'), 'respond-async')
    t.strictSame(await answer.json(), { meta: { code: 202 } })
    let status = 404
    await until(async () => {
      ;({ status } = await call('GET', `/v1/users/${deviceId}`))
      return status !== 404
    })
    t.equal(status, 200, 'it is applied')
  }
  t.equal((await send(device(), 'respond-asynchronously, wait=10')).status, 200)
  t.equal(
    (await send(device(), 'respond-async', { latitude: 91 })).status,
    400,
    'what is wrong is told at once',
  )
})

t.test('replay: by time, several devices', async (t) => {
  const here = place()
  await api.circle('replay/1', here, 100)
  const [a, b] = [device(), device()]
  const item = (deviceId: string, minute: number, metersNorth: number, more: Json = {}) => ({
    deviceId,
    ...at(here, metersNorth),
    replayed: true,
    updatedAtMs: MONDAY + minute * MINUTE,
    ...more,
  })
  const { status, body } = await call(
    'POST',
    '/v1/track/replay',
    {
      replays: [
        item(a, 30, 500),
        item(b, 5, 0, { updatedAt: iso(MONDAY + 999 * MINUTE) }),
        item(a, 0, 500),
        item(a, 10, 0),
        { deviceId: b, ...at(here, 500), updatedAt: iso(MONDAY + 20 * MINUTE) },
      ],
    },
    testPublishable,
  )
  t.equal(status, 200)
  t.strictSame(
    body.events.map((e: Json) => [
      e.type,
      e.user.deviceId,
      Date.parse(e.createdAt) - MONDAY,
      e.replayed,
      e.duration,
    ]),
    [
      ['user.entered_geofence', b, 5 * MINUTE, true, undefined],
      ['user.entered_geofence', a, 10 * MINUTE, true, undefined],
      ['user.exited_geofence', b, 20 * MINUTE, true, 15],
      ['user.exited_geofence', a, 30 * MINUTE, true, 20],
    ],
  )
  t.equal(body.user.deviceId, a, 'the user of the latest')
  t.equal(body.user.updatedAt, iso(MONDAY + 30 * MINUTE))
  t.equal((await call('GET', `/v1/users/${b}`)).body.user.updatedAt, iso(MONDAY + 20 * MINUTE))
})

t.test('replay: sequence numbers that contradict the times lose no update (G9)', async (t) => {
  const here = place()
  await api.circle('replay/numbered', here, 100)
  const deviceId = device()
  const outside = at(here, 500)
  const other = { deviceId: device(), ...outside, updatedAtMs: MONDAY }
  // The clock was set back after the first replay.
  const replays = [
    { deviceId, ...at(here), stream: 'a', sequence: 1, updatedAtMs: MONDAY + 2 * MINUTE },
    other,
    { deviceId, ...outside, stream: 'a', sequence: 2, updatedAtMs: MONDAY + MINUTE },
    { deviceId, ...outside, stream: 'b', sequence: 1, updatedAtMs: MONDAY - MINUTE },
  ]
  const send = () => call('POST', '/v1/track/replay', { replays })
  const { body } = await send()
  t.strictSame(briefly(body.events), ['entered replay/numbered 3', 'exited replay/numbered 3'])
  t.equal(Date.parse(body.events[0].createdAt), MONDAY + 2 * MINUTE)
  t.strictSame((await send()).body.events, [], 'each once')
})

t.test('replay: all or none', async (t) => {
  const here = place()
  await api.circle('replay/2', here, 100)
  const deviceId = device()
  const good = { deviceId, ...at(here), updatedAtMs: MONDAY, replayed: true }
  const { accuracy: _, ...withoutAccuracy } = good
  const cases: [Json, string][] = [
    [{ replays: [good, { ...good, latitude: 91 }] }, 'replays.1.latitude'],
    [{ replays: [good, good, { ...good, deviceId: undefined }] }, 'replays.2.deviceId'],
    [{ replays: [withoutAccuracy] }, 'replays.0.accuracy'],
    [{ replays: [good, { ...good, updatedAtMs: Date.now() + 25 * HOUR }] }, 'replays.1.updatedAtMs'],
    [{ replays: [good, { ...good, replayed: false, updatedAt: 'x' }] }, 'replays.1.updatedAt'],
    [{ replays: [good, { ...good, metadata: { a: [] } }] }, 'replays.1.metadata.a'],
    [{ replays: [good, { ...good, stream: 's' }] }, 'replays.1.sequence'],
    [{ replays: [good, 5] }, 'replays.1'],
    [{ replays: [good, null] }, 'replays.1'],
    [{ replays: [] }, 'replays'],
    [{ replays: {} }, 'replays'],
    [{ replays: null }, 'replays'],
    [{}, 'replays'],
    [{ replays: Array.from({ length: 1001 }, () => good) }, 'replays'],
  ]
  for (const [body, param] of cases) {
    const answer = await call('POST', '/v1/track/replay', body, testPublishable)
    t.equal(answer.status, 400, param)
    t.equal(answer.body.meta.param, param)
  }
  t.equal((await call('GET', `/v1/users/${deviceId}`)).status, 404, 'nothing was applied')
  const { body } = await call('POST', '/v1/track/replay', { replays: [good] }, testPublishable)
  t.equal(body.events.length, 1)
  const sdk = { 'x-radar-sdk-version': '3.9.1' }
  t.equal(
    (await call('POST', '/v1/track/replay', { replays: [withoutAccuracy] }, testPublishable, sdk)).status,
    200,
  )
})

t.test('replay: resends are recognised, and 1,000 updates get one answer', async (t) => {
  const here = place()
  await api.circle('replay/3', here, 100)
  const deviceId = device()
  const replays = Array.from({ length: 1000 }, (_, i) => ({
    deviceId,
    ...at(here, i % 2 ? 500 : 0),
    updatedAtMs: MONDAY + i * MINUTE,
    stream: 'phone',
    sequence: i,
  }))
  const { body } = await call('POST', '/v1/track/replay', { replays }, testPublishable)
  t.equal(body.events.length, 1000)
  const again = await call('POST', '/v1/track/replay', { replays }, testPublishable)
  t.strictSame(again.body.events, [])
  t.strictSame(again.body.user, body.user)
})

t.test('rate limits and trusted proxies', async (t) => {
  const limited = await startApi(t, {
    env: { RINGFENCE_RATE_LIMITS: 'on', RINGFENCE_TRUSTED_PROXIES: '127.0.0.1,10.0.0.0/8' },
  })
  const here = place()
  await limited.circle('limit/1', here, 100)
  const send = (deviceId: string, metersNorth = 0, more: Json = {}) =>
    limited.call('POST', '/v1/track', { deviceId, ...at(here, metersNorth), ...more }, testPublishable)

  const first = await send('fast', 500)
  const second = await send('fast')
  const third = await send('fast', 0, { userId: 'other' })
  t.equal(first.status, 200)
  for (const answer of [second, third]) {
    t.equal(answer.status, 429)
    t.equal(answer.body.meta.code, 429)
    t.equal(answer.body.meta.type, 'second')
    t.ok(answer.body.meta.message)
    t.match(answer.headers.get('retry-after'), /^[1-9]\d*$/)
    t.equal(answer.headers.get('access-control-expose-headers')?.includes('Retry-After'), true)
  }
  t.equal((await send('calm')).status, 200, 'another device')
  const replays = [1, 2, 3].map((i) => ({ deviceId: 'fast', ...at(here, 500), updatedAtMs: MONDAY + i }))
  t.equal(
    (await limited.call('POST', '/v1/track/replay', { replays }, testPublishable)).status,
    200,
    'a replay',
  )
  await sleep(1000)
  const fourth = await send('fast')
  t.equal(fourth.status, 200, 'a second later')
  t.equal(fourth.body.events.length, 1, 'the refused update changed nothing')

  let requesters = 0
  const ipOf = async (forwarded?: string) =>
    (
      await limited.track(
        { deviceId: `ip-${requesters++}`, ...at(here) },
        testPublishable,
        forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
      )
    ).user.ip
  t.equal(await ipOf(), '127.0.0.1')
  t.equal(await ipOf('203.0.113.9'), '203.0.113.9')
  t.equal(await ipOf('1.2.3.4, 203.0.113.9, 10.1.2.3'), '203.0.113.9', 'the last that is not a proxy of ours')
  t.equal(await ipOf('2001:DB8::1'), '2001:db8::1')
  t.equal(await ipOf('::ffff:203.0.113.9'), '203.0.113.9')
  t.equal(await ipOf('nonsense'), '127.0.0.1')
  t.equal(
    (await api.track({ deviceId: device(), ...at(here) }, testPublishable, { 'x-forwarded-for': '1.2.3.4' }))
      .user.ip,
    '127.0.0.1',
    'nobody’s by default',
  )

  const ranges = {
    one: '203.0.113.9',
    wild: '203.0.113.*',
    cidr: '198.51.100.0/24, 203.0.113.0/30',
    six: '2001:db8::/32',
  }
  for (const [name, ip] of Object.entries(ranges)) await limited.circle(`ip/${name}`, here, 100, { ip })
  const enters = async (forwarded: string) => {
    const body = { deviceId: `in-${requesters++}`, ...at(here) }
    const { events } = await limited.track(body, testPublishable, { 'x-forwarded-for': forwarded })
    return events
      .map((e: Json) => e.geofence.externalId)
      .filter((id: string) => id !== '1')
      .sort()
      .join()
  }
  t.equal(await enters('203.0.113.9'), 'one,wild')
  t.equal(await enters('203.0.113.2'), 'cidr,wild')
  t.equal(await enters('198.51.100.200'), 'cidr')
  t.equal(await enters('2001:db8:5::1'), 'six')
  t.equal(await enters('192.0.2.1'), '')
})

t.test('both prefixes, and keys without permission', async (t) => {
  const update = { deviceId: device(), ...at(place()) }
  t.equal((await call('POST', '/api/v1/track', update, testPublishable)).status, 200)
  t.equal((await call('POST', '/v1/track', update, `Bearer ${testPublishable}`)).status, 200)
  for (const key of [null, '', 'nonsense', `prj_test_pk_${'a'.repeat(40)}`, `Basic ${testPublishable}`]) {
    const answer = await call('POST', '/v1/track', update, key)
    t.equal(answer.status, 401, String(key))
    t.equal(answer.body.meta.code, 401)
  }
  t.match(await server.api('GET', '/healthz', undefined, null), { status: 200, body: { status: 'ok' } })
})
