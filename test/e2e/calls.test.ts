/**
 * The calls besides tracking that apps and SDKs make, against a real server: context, conversions, verdicts on
 * events, anonymous tracking, and what is nearby. How SDKs write and read them is tested in native.test.ts and
 * sdk.test.ts.
 */
import { createHash } from 'node:crypto'
import t from 'tap'
import fc, { draws } from '../kit/fastCheck.ts'
import { KEYS } from '../kit/server.ts'
import { until } from '../kit/waiting.ts'
import { briefly, north, startApi, type Json } from './contract.ts'
import { all as eachOf, metric } from './strict.ts'

const { testPublishable, livePublishable, liveSecret } = KEYS
const RUNS = draws(15)
const api = await startApi(t)

/** Each test has its own place, so that it never meets another test's geofences. */
let places = 0
function place(): [longitude: number, latitude: number] {
  return [10 + places++, 50]
}

const at = ([longitude, latitude]: readonly number[], metersNorth = 0) => ({
  latitude: north(latitude!, metersNorth),
  longitude,
  accuracy: 5,
})
const ids = (list: Json[]): string[] => list.map(({ _id }) => _id)
const pairs = (list: Json[]): string[] => list.map(({ tag, externalId }) => `${tag}/${externalId}`)

/** A call that must be answered with 200. Resolves to the body. */
async function good(method: string, path: string, body?: Json, key: string = testPublishable): Promise<Json> {
  const answer = await api.call(method, path, body, key)
  if (answer.status !== 200) throw new Error(`${method} ${path} → ${JSON.stringify(answer.body)}`)
  return answer.body
}

/** Status and message of a refused call. */
async function refusal(...request: Parameters<typeof api.call>): Promise<string> {
  const { status, body } = await api.call(...request)
  return `${status} ${body.meta.message}`
}

t.test('context: the boundary decides, and so does whom a geofence is for', async (t) => {
  const here = place()
  await api.circle('context/plain', here, 100)
  await api.circle('context/off', here, 100, { enabled: false })
  await api.circle('context/over', here, 100, { disableAfter: '2026-01-01' })
  await api.circle('context/private', here, 100, { userIds: 'anna,bert' })
  await api.circle('context/elsewhere', here, 100, { ip: '203.0.113.9' })
  await api.circle('context/closed', here, 100, { operatingHours: { Sun: [['00:00', '00:01']] } })
  await api.circle('context/stop', here, 100, { stopDetection: true })
  const context = async (metersNorth: number, more = '', key?: string) => {
    const { latitude, longitude } = at(here, metersNorth)
    const body = await good('GET', `/v1/context?coordinates=${latitude},${longitude}${more}`, undefined, key)
    t.strictSame(body.context.geofences, body.geofences, 'under context and at the root')
    return pairs(body.geofences).sort()
  }
  const forAll = ['context/closed', 'context/elsewhere', 'context/plain', 'context/stop']
  const before = [await metric(api, 'log_position'), await metric(api, 'users')]
  t.strictSame(await context(0), forAll)
  t.strictSame(await context(0, '&userId=anna&accuracy=5000&deviceId=x'), [
    ...forAll.slice(0, 3),
    'context/private',
    'context/stop',
  ])
  t.strictSame(await context(0, '&userId=carl'), forAll)
  t.strictSame(await context(98), forAll)
  t.strictSame(await context(102), [])
  t.strictSame(await context(0, '', livePublishable), [], 'another environment')
  t.strictSame([await metric(api, 'log_position'), await metric(api, 'users')], before, 'nothing is stored')
})

t.test('context: the country; in the United States also state, DMA and postal code', async (t) => {
  const regionsAt = async (coordinates: string) => {
    const { context, ...root } = await good('GET', `/v1/context?coordinates=${coordinates}`)
    const { geofences: _, ...regions } = context
    const credit = context.country === undefined ? undefined : '© OpenStreetMap contributors'
    t.equal(root.meta.attribution, credit, 'the licence of the borders')
    for (const [name, region] of Object.entries<Json>(regions)) {
      t.strictSame(root[name], region, 'under context and at the root')
      t.equal(region.type, name)
      const key = `${name}/${name === 'state' ? 'US-' : ''}${region.code}`
      t.equal(region._id, createHash('sha256').update(key).digest('hex').slice(0, 24))
    }
    return Object.fromEntries(
      Object.entries<Json>(regions).map(([name, one]) => [name, [one.code, one.name, one.flag]]),
    )
  }
  // A server that has to make the data of the world answers without them at first.
  await until(async () => 'state' in (await regionsAt('40.6943,-73.9249')))
  t.strictSame(await regionsAt('40.6943,-73.9249'), {
    country: ['US', 'United States', '🇺🇸'],
    state: ['NY', 'New York', undefined],
    dma: ['501', 'New York', undefined],
    postalCode: ['11221', '11221', undefined],
  })
  t.strictSame(await regionsAt('-34.9059,-56.1913'), { country: ['UY', 'Uruguay', '🇺🇾'] })
  t.strictSame(await regionsAt('18.46,-66.1'), { country: ['PR', 'Puerto Rico', '🇵🇷'] }, 'a territory')
  t.strictSame(await regionsAt('-40,-120'), {}, 'in the sea')
  for (const pole of ['90,0', '-90,180']) await regionsAt(pole)
})

t.test('context gives the result that a track of a new device would', async (t) => {
  const here = place()
  for (let i = 0; i < 6; i++) await api.circle(`same/${i}`, [here[0], north(here[1], i * 120)], 100 + 20 * i)
  let devices = 0
  await fc.assert(
    fc.asyncProperty(fc.double({ min: -200, max: 900, noNaN: true }), async (meters) => {
      const update = at(here, meters)
      const { user } = await api.track({ deviceId: `same-${++devices}`, ...update })
      const { geofences } = await good(
        'GET',
        `/v1/context?coordinates=${update.latitude},${update.longitude}`,
      )
      t.strictSame(geofences, user.geofences, `${meters} m`)
    }),
    { numRuns: RUNS },
  )
})

t.test('conversions', async (t) => {
  const here = place()
  const { user } = await api.track({
    deviceId: 'buyer',
    userId: 'anna',
    metadata: { plan: 'gold' },
    ...at(here),
  })
  const send = (body: Json) => good('POST', '/v1/events', body, KEYS.testSecret).then(({ event }) => event)
  const bought = await send({
    name: 'bought',
    deviceId: 'buyer',
    userId: 'anna',
    metadata: { sku: 'a', n: 2, gift: true },
  })
  t.match(bought, {
    _id: /^[0-9a-f]{24}$/,
    type: 'bought',
    live: false,
    user: { _id: user._id, userId: 'anna', deviceId: 'buyer', metadata: { plan: 'gold' } },
    location: user.location,
    locationAccuracy: 5,
    confidence: 3,
    metadata: { sku: 'a', n: 2, gift: true },
  })
  t.equal(bought.createdAt, bought.actualCreatedAt)
  t.equal(
    (await send({ name: 'paid', deviceId: 'buyer', userId: 'anna', revenue: 9.5 })).metadata.revenue,
    9.5,
  )
  const earlier = await send({ type: 'viewed', deviceId: 'buyer', createdAt: '2026-01-02T03:04:05+01:00' })
  t.equal(earlier.type, 'viewed', 'type stands for name')
  t.equal(earlier.createdAt, '2026-01-02T02:04:05.000Z')

  await api.track({ deviceId: 'second', userId: 'anna', ...at(here) })
  t.equal(
    (await send({ name: 'called', userId: 'anna' })).user.deviceId,
    'second',
    'the latest device of the user',
  )
  const stranger = await send({ name: 'installed', deviceId: 'never-tracked', userId: 'new' })
  t.strictSame(stranger.user, { _id: stranger.user._id, userId: 'new', deviceId: 'never-tracked' })
  t.match(stranger.user._id, /^[0-9a-f]{24}$/)
  const strangerAgain = await send({ name: 'opened', deviceId: 'never-tracked', userId: 'new' })
  t.equal(strangerAgain.user._id, stranger.user._id, 'an id of its own, always the same')
  const other = await send({ name: 'opened', deviceId: 'never-tracked-2', userId: 'new' })
  t.not(other.user._id, stranger.user._id)
  t.equal(
    await refusal('GET', `/v1/users/${stranger.user._id}`, undefined, KEYS.testSecret),
    '404 User not found.',
    'which no user has',
  )
  t.notOk('location' in stranger)

  const list = async (query: string) =>
    ids((await good('GET', `/v1/events?${query}`, undefined, KEYS.testSecret)).events)
  t.strictSame(await list('type=bought'), [bought._id])
  t.strictSame((await list('deviceId=never-tracked')).at(-1), stranger._id)
  t.ok((await list('userId=anna')).includes(bought._id))
  t.strictSame((await good('GET', `/v1/events/${bought._id}`, undefined, KEYS.testSecret)).event, bought)
  t.equal(
    (await good('GET', '/v1/users/anna', undefined, KEYS.testSecret)).user.deviceId,
    'second',
    'it moves nobody',
  )

  const viaApp = (body: Json) => good('POST', '/v1/events', body).then(({ event }) => event)
  const asked = await viaApp({ name: 'asked', userId: 'anna', metadata: { n: 1 } })
  const { _id, createdAt, actualCreatedAt } = asked
  t.strictSame(
    asked,
    {
      _id,
      type: 'asked',
      createdAt,
      actualCreatedAt,
      live: false,
      user: { _id: asked.user._id, userId: 'anna' },
      confidence: 3,
      metadata: { n: 1 },
    },
    'an app is told no more of a user than it said, but its id',
  )
  t.match(
    (await good('GET', `/v1/events/${_id}`, undefined, KEYS.testSecret)).event,
    { ...asked, user: { userId: 'anna', deviceId: 'second' }, location: user.location },
    'it is stored whole',
  )
  const named = await viaApp({ name: 'asked', deviceId: 'buyer' })
  t.strictSame(named.user, { _id: named.user._id, deviceId: 'buyer' })
  t.notOk('location' in named)

  const metadata = Object.fromEntries(Array.from({ length: 32 }, (_, i) => [`k${i}`, i]))
  const bad = (body: Json, key: string = testPublishable) => refusal('POST', '/v1/events', body, key)
  t.equal(await bad({ deviceId: 'd' }), '400 name: One of name and type is required.')
  t.equal(await bad({ name: '', deviceId: 'd' }), '400 name: Must not be empty.')
  t.equal(await bad({ name: 'x' }), '400 deviceId: One of deviceId and userId is required.')
  t.equal(await bad({ name: 'x', userId: 'nobody' }), '404 User not found.')
  t.equal(
    await bad({ name: 'x', userId: 'anna' }, livePublishable),
    '404 User not found.',
    'another environment',
  )
  for (const type of ['user.entered_geofence', 'user.exited_region_postal_code', 'user.failed_fraud']) {
    const sentence = 'Must not be the type of an event of the service.'
    t.equal(await bad({ name: type, deviceId: 'd' }), `400 name: ${sentence}`)
    t.equal(await bad({ type, deviceId: 'd' }), `400 type: ${sentence}`)
    for (const alike of [` ${type}`, `${type}\u200b`, type.toUpperCase(), type.replace('.', '\u00ad.')])
      t.equal(await bad({ name: alike, deviceId: 'd' }), `400 name: ${sentence}`, JSON.stringify(alike))
  }
  t.equal(
    await bad({ name: 'x', deviceId: 'd', metadata: { a: { b: 1 } } }),
    '400 metadata.a: Must be a string, a boolean or a number.',
  )
  t.equal(
    await bad({ name: 'x', deviceId: 'd', metadata: { ...metadata, k: 1 } }),
    '400 metadata: Must have at most 32 keys.',
  )
  t.match(
    await bad({ name: 'x', deviceId: 'd', metadata, revenue: 1 }),
    /^400 metadata: Must have at most 32 keys, revenue/,
  )
  t.equal(
    await bad({ name: 'x', deviceId: 'd', metadata: { '': 1 } }),
    '400 metadata: Keys must have 1 to 256 characters.',
  )
  const tomorrow = Date.now() + 25 * 3_600_000
  t.equal(
    await bad({ name: 'x', deviceId: 'd', createdAt: tomorrow }),
    '400 createdAt: Must not be more than 24 hours in the future.',
  )
})

t.test('a verdict and a conversion, once answered, survive kill -9', async (t) => {
  const here = place()
  await api.circle('verdicts/1', here, 100)
  const { events } = await api.track({ deviceId: 'witness', ...at(here) })
  const path = `/v1/events/${events[0]._id}/verification`
  const verdict = (body: Json) => good('PUT', path, body, KEYS.testSecret)
  const verified = await verdict({ verification: 1, verifiedPlaceId: 'place-1' })
  t.strictSame(verified.event, { ...events[0], verification: 1, verifiedPlaceId: 'place-1' })
  t.equal(
    await refusal('PUT', path, { verification: 1 }, livePublishable),
    '404 Event not found.',
    'another environment',
  )
  t.equal(
    await refusal('PUT', `/v1/events/${'0'.repeat(24)}/verification`, { verification: 1 }),
    '404 Event not found.',
  )
  for (const verification of [2, 'maybe', true])
    t.equal(
      await refusal('PUT', path, { verification }),
      '400 verification: Must be one of 1, 0, -1, ACCEPT, UNVERIFY, REJECT.',
    )
  const conversion = { name: 'bought', deviceId: 'witness' }
  const { event } = await good('POST', '/v1/events', conversion, KEYS.testSecret)
  const rejected = await verdict({ verification: -1 })
  t.equal(rejected.event.verification, -1)
  t.strictSame(
    (await api.call('PUT', path, { verification: 'REJECT' }, testPublishable)).body,
    { meta: { code: 200 } },
    'a publishable key reads no events',
  )
  await api.server.kill9()
  await api.server.restart()
  t.strictSame(
    (await good('GET', path.replace('/verification', ''), undefined, KEYS.testSecret)).event,
    rejected.event,
  )
  const list = await good('GET', '/v1/events?deviceId=witness', undefined, KEYS.testSecret)
  t.strictSame(list.events, [event, rejected.event])
})

t.test('anonymous: the same answer as for a separate device, and nothing is stored', async (t) => {
  const here = place()
  for (let i = 0; i < 5; i++)
    await api.circle(`walk/${i}`, [here[0], north(here[1], i * 100)], 80 + 30 * (i % 3))
  const beacon = {
    description: 'b',
    type: 'eddystone',
    uid: 'edd1ebeac04e5defa017',
    instance: '000000000001',
    coordinates: here,
  }
  await api.call('POST', '/v1/beacons', beacon)
  const step = fc.record({
    meters: fc.double({ min: -150, max: 600, noNaN: true }),
    ranges: fc.constantFrom(undefined, [], [{ uid: 'EDD1EBEAC04E5DEFA017', instance: '000000000001' }]),
  })
  const seen = (answer: Json) => ({
    events: answer.events.map(({ type, geofence, beacon: one, confidence, location }: Json) => [
      type,
      (geofence ?? one)._id,
      confidence,
      location,
    ]),
    geofences: ids(answer.user.geofences),
    beacons: ids(answer.user.beacons),
    location: answer.user.location,
    nearbyBeacons: answer.nearbyBeacons,
  })
  let devices = 0
  let events = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 8 }), async (steps) => {
      const deviceId = `walker-${++devices}`
      const updates = steps.map(({ meters, ranges }) => ({ ...at(here, meters), beacons: ranges }))
      const known: Json[] = []
      for (const update of updates) known.push(await api.track({ deviceId, ...update }))
      const before = await metric(api, 'log_position')
      let held = {}
      for (const [i, update] of updates.entries()) {
        const answer = await api.track({ deviceId: 'anonymous', ...update, ...held })
        // Both enter with one update in the same order, so both also leave in the same order.
        t.strictSame(seen(answer), seen(known[i]), JSON.stringify({ ...steps[i], held }))
        held = { geofenceIds: ids(answer.user.geofences), beaconIds: ids(answer.user.beacons) }
        events += answer.events.length
      }
      t.equal(await metric(api, 'log_position'), before, 'nothing is written')
    }),
    { numRuns: RUNS },
  )
  t.ok(events > RUNS, `${events} events`)
  t.equal((await api.call('GET', '/v1/users/anonymous')).status, 404)
  t.strictSame((await api.call('GET', '/v1/events?deviceId=anonymous')).body.events, [])
})

t.test('anonymous: features that need stored state are off', async (t) => {
  const here = place()
  const open = await api.circle('quiet/open', here, 100, { dwellThreshold: 1 })
  await api.circle('quiet/private', here, 100, { userIds: 'anna' })
  await api.settings({ dwellEvents: true, entryDelaySeconds: 60, exitDelaySeconds: 60 })
  const track = (more: Json, path = '/v1/track') => good('POST', path, more)
  const first = await track({
    deviceId: 'anonymous',
    userId: 'anna',
    description: 'd',
    metadata: { a: 1 },
    ...at(here),
  })
  t.strictSame(briefly(first.events), ['entered quiet/open 3'], 'at once, and for nobody in particular')
  t.match(first.user, { _id: 'anonymous', deviceId: 'anonymous', live: false, ip: '127.0.0.1' })
  for (const name of ['userId', 'description', 'metadata']) t.notOk(name in first.user, name)
  t.strictSame(first.events[0].user, { _id: 'anonymous', deviceId: 'anonymous' })

  const held = { deviceId: 'anonymous', geofenceIds: [open._id, open._id, 'gone', ''], beaconIds: ['gone'] }
  const later = Date.now() + 3_600_000
  t.strictSame((await track({ ...held, ...at(here), updatedAt: later })).events, [], 'nobody dwells')
  const out = await track({ ...held, ...at(here, 500) })
  t.strictSame(briefly(out.events), ['exited quiet/open 3'], 'once, at once')
  t.notOk('duration' in out.events[0])
  t.not(out.events[0]._id, first.events[0]._id)

  const replay = (minutes: number, metersNorth: number) => ({
    deviceId: 'anonymous',
    updatedAtMs: Date.now() - minutes * 60_000,
    nearbyGeofences: true,
    ...at(here, metersNorth),
  })
  const { events, user, nearbyGeofences } = await track(
    { replays: [replay(1, 500), { ...replay(5, 500), geofenceIds: [open._id] }, replay(3, 0)] },
    '/v1/track/replay',
  )
  t.strictSame(briefly(events), ['exited quiet/open 3', 'entered quiet/open 3', 'exited quiet/open 3'])
  t.ok(events.every(({ replayed }: Json) => replayed))
  t.strictSame(user.geofences, [])
  t.equal(Math.round(nearbyGeofences.find(({ _id }: Json) => _id === open._id).distance), 400)
  const mixed = { replays: [replay(1, 0), { ...replay(2, 0), deviceId: 'x' }] }
  t.equal(
    await refusal('POST', '/v1/track/replay', mixed),
    '400 replays.1.deviceId: Must be anonymous in all replays or in none.',
  )
  await api.settings({ dwellEvents: false, entryDelaySeconds: 0, exitDelaySeconds: 0, maxAccuracyMeters: 20 })
  const vague = await track({ ...held, ...at(here, 500), accuracy: 30 })
  t.strictSame([vague.events, ids(vague.user.geofences)], [[], [open._id]], 'too inaccurate to leave')
  await api.settings({ maxAccuracyMeters: null })
  const event = (await good('POST', '/v1/events', { name: 'bought', deviceId: 'anonymous', userId: 'anna' }))
    .event
  t.strictSame(event.user, { _id: 'anonymous', deviceId: 'anonymous' })
  t.equal((await api.call('GET', `/v1/events/${event._id}`)).status, 404)
})

t.test('anonymous: answers are bounded, and others get their turn', async (t) => {
  const here = place()
  const names = Array.from({ length: 16 }, (_, i) => `metadata.k${i}`)
  /** Imports circles around the place, all at once; those from 0 to `heavy` have much metadata. */
  const circles = async (tag: string, count: number, heavy: number) => {
    const rows = Array.from({ length: count }, (_, i) => {
      const metadata = names.map(() => (i < heavy ? 'x'.repeat(4096) : ''))
      return `x,${tag},${i},circle,"[${here}]",100,${metadata}`
    })
    const csv = [`description,tag,externalId,type,coordinates,radius,${names}`, ...rows].join('\n')
    const headers = { 'content-type': 'text/csv' }
    t.match(await api.call('POST', '/v1/imports/geofences', csv, KEYS.testSecret, headers), {
      status: 200,
      body: { import: { rows: count, refused: 0 } },
    })
  }
  await circles('heavy', 100, 40)
  const update = (i: number) => ({
    deviceId: 'anonymous',
    updatedAtMs: Date.now() - 2_000_000 + i * 1000,
    ...at(here, i % 2 ? 1000 : 0),
  })
  const replays = Array.from({ length: 1000 }, (_, i) => update(i))
  const replaying = good('POST', '/v1/track/replay', { replays })
  let between = 0
  while (await Promise.race([replaying.then(() => false), api.call('GET', '/healthz').then(() => true)]))
    between += 1
  const { events, meta, user } = await replaying
  t.ok(between > 2, `${between} others were answered meanwhile`)
  t.equal(events.length + meta.omittedEvents, 100_000, 'what is left out is counted')
  t.ok(events.length >= 1000 && JSON.stringify(events).length < 34 * 1024 * 1024, `${events.length} events`)
  t.strictSame(user.geofences, [])

  await circles('heavy', 100, 100)
  await circles('heavier', 420, 420)
  const sentence =
    '400 deviceId: Too many geofences and beacons are near this location for one response to anonymous tracking.'
  t.equal(await refusal('POST', '/v1/track', update(0)), sentence)
  t.equal(await refusal('POST', '/v1/track/replay', { replays: [update(0)] }), sentence)
})

t.test('anonymous updates are limited by address', async (t) => {
  const limited = await startApi(t, { env: { RINGFENCE_RATE_LIMITS: 'on' } })
  const update = { deviceId: 'anonymous', ...at(place()) }
  const answers = await Promise.all(
    Array.from({ length: 40 }, () => limited.call('POST', '/v1/track', update, testPublishable)),
  )
  const refused = answers.filter(({ status }) => status === 429)
  t.ok(refused.length > 0 && refused.length <= 30, `${refused.length} of 40 refused`)
  t.match(refused[0]!.body.meta, { type: 'second' })
  t.ok(refused[0]!.headers.get('retry-after'))
})

t.test('nearbyGeofences of a track', async (t) => {
  const here = place()
  for (let i = 0; i < 12; i++) await api.circle(`row/${i}`, [here[0], north(here[1], i * 500)], 100)
  await api.circle('row/off', here, 100, { enabled: false })
  await api.circle('row/over', here, 100, { disableAfter: '2026-01-01' })
  await api.circle('row/private', here, 50, { userIds: 'anna' })
  const nearby = async (more: Json, userId?: string) => {
    const answer = await api.track({ deviceId: `near-${JSON.stringify(more)}`, userId, ...at(here), ...more })
    return answer.nearbyGeofences
  }
  for (const nearbyGeofences of [undefined, false, '', 'false', '0', 'none', 0])
    t.equal(await nearby({ nearbyGeofences }), undefined, `${nearbyGeofences}`)
  for (const nearbyGeofences of [true, 'true', '1', 'nearest', 1])
    t.equal((await nearby({ nearbyGeofences })).length, 10, `${nearbyGeofences}`)
  for (const [limit, count] of [
    [3, 3],
    [2.7, 2],
    [0, 10],
    [-1, 10],
    [100, 100],
    [5000, 100],
  ] as const) {
    const found = await nearby({ nearbyGeofences: true, nearbyGeofencesLimit: limit })
    t.equal(found.length, Math.min(count, found.length), `limit ${limit}`)
    t.ok(found.length >= Math.min(count, 12))
  }
  const [first, second] = await nearby({ nearbyGeofences: true })
  const search = await good('GET', `/v1/search/geofences?near=${here[1]},${here[0]}&tags=row&limit=20`)
  const { distance } = search.geofences.find(({ externalId }: Json) => externalId === '1')
  t.strictSame(second, { ...search.geofences.find(({ externalId }: Json) => externalId === '1'), distance })
  t.equal(first.distance, 0)
  const all = pairs(await nearby({ nearbyGeofences: true, nearbyGeofencesLimit: 12 }))
  t.strictSame(
    all,
    Array.from({ length: 12 }, (_, i) => `row/${i}`),
    'nearest first, enabled, for everybody',
  )
  const hers = pairs(await nearby({ nearbyGeofences: true, nearbyGeofencesLimit: 2 }, 'anna')).sort()
  t.strictSame(hers, ['row/0', 'row/private'])

  await api.circle('row/0', here, 100, { description: 'renamed' })
  t.equal((await nearby({ nearbyGeofences: true }))[0].description, 'renamed', 'no text is kept over an edit')
})

t.test('beacons of a track: nothing that an SDK sends is an error', async (t) => {
  const here = place()
  const identifiers = {
    type: 'ibeacon',
    uuid: '0badcafe-0a4e-4b6e-9b1f-2f1f7e0d9a01',
    major: '1',
    minor: '2',
  }
  const { beacon } = (
    await api.call('POST', '/v1/beacons', { ...identifiers, description: 'Till', coordinates: here })
  ).body
  let devices = 0
  const entered = async (beacons: Json) => {
    const { events } = await api.track({ deviceId: `ranging-${++devices}`, ...at(here), beacons })
    return ids(events.map((event: Json) => event.beacon))
  }
  const { type: _, ...untyped } = identifiers
  for (const ranged of [
    identifiers,
    { ...identifiers, rssi: -40, geometry: {}, _id: 'x', metadata: null },
    { ...identifiers, uuid: identifiers.uuid.toUpperCase() },
    { ...identifiers, uuid: identifiers.uuid.replaceAll('-', '') },
    { ...identifiers, major: 1, minor: 2 },
    { ...identifiers, type: 'iBeacon' },
    untyped,
  ])
    t.strictSame(await entered([ranged]), [beacon._id], JSON.stringify(ranged))
  t.strictSame(await entered([identifiers, identifiers, untyped]), [beacon._id], 'once')
  const { minor: __, ...partial } = identifiers
  const others = [
    {},
    partial,
    { ...identifiers, type: 'altbeacon' },
    { ...identifiers, type: 'eddystone' },
    { uid: 'a' },
  ]
  t.strictSame(await entered(others), [])
  t.strictSame(await entered(null), [])
  const crowd = Array.from({ length: 1001 }, () => identifiers)
  const update = { deviceId: 'crowd', ...at(here) }
  t.equal(
    await refusal('POST', '/v1/track', { ...update, beacons: crowd }),
    '400 beacons: Must have at most 1000 items.',
  )
  t.equal(
    await refusal('POST', '/v1/track', { ...update, beacons: ['x'] }),
    '400 beacons.0: Must be an object.',
  )
  const form = `deviceId=form&latitude=${here[1]}&longitude=${here[0]}&accuracy=5&beacons=${encodeURIComponent(JSON.stringify([identifiers]))}`
  const type = { 'content-type': 'application/x-www-form-urlencoded' }
  const { body } = await api.call('POST', '/v1/track', form, testPublishable, type)
  t.equal(body.events.length, 1)
})

t.test('the age of a location', async (t) => {
  const here = place()
  await api.circle('ages/1', here, 100)
  let devices = 0
  const age = async (more: Json) => {
    const { events } = await api.track({ deviceId: `aged-${++devices}`, ...at(here), ...more })
    return Date.parse(events[0].actualCreatedAt) - Date.parse(events[0].createdAt)
  }
  t.equal(await age({ updatedAtMsDiff: 60_000 }), 60_000)
  t.equal(await age({ updatedAtMsDiff: 0.4 }), 0)
  t.equal(await age({ updatedAtMsDiff: 86_400_000 }), 86_400_000)
  for (const updatedAtMsDiff of [-5000, 86_400_001, null])
    t.equal(await age({ updatedAtMsDiff }), 0, `${updatedAtMsDiff}`)
  const updatedAt = Date.now() - 7000
  t.ok((await age({ updatedAtMsDiff: 60_000, updatedAt })) < 60_000, 'a time that is told wins')
  const device = { deviceId: 'back-in-time', ...at(here) }
  const first = await api.track(device)
  const second = await api.track({ ...device, updatedAtMsDiff: 3_600_000 })
  t.ok(second.user.updatedAt >= first.user.updatedAt, 'out of order: the server’s time')
})

t.test('sync/region: only the listed geofences are within the region', async (t) => {
  const here = place()
  const sync = (more: Json = {}) =>
    good('POST', '/v1/sync/region', { latitude: here[1], longitude: here[0], ...more })
  t.strictSame(pairs((await sync()).geofences), [])
  await api.circle('sync/near', here, 100)
  await api.circle('sync/far', [here[0], north(here[1], 10_150)], 100)
  await api.circle('sync/beyond', [here[0], north(here[1], 11_050)], 100)
  await api.circle('sync/off', here, 100, { enabled: false })
  await api.circle('sync/private', [here[0], north(here[1], 300)], 100, { userIds: 'anna' })
  const { geofences, region, places: none } = await sync()
  t.strictSame(pairs(geofences), ['sync/near', 'sync/far'])
  t.strictSame([region.radius, none], [10_000, []])
  t.strictSame(pairs((await sync({ userId: 'anna' })).geofences), ['sync/near', 'sync/private', 'sync/far'])
  await api.settings({ bufferEntries: true })
  t.equal((await sync()).geofences.length, 3, 'buffered entries reach farther')
  await api.settings({ bufferEntries: false })

  const many = Array.from({ length: 110 }, (_, i) => i)
  await eachOf(many, (i) => api.circle(`sync/${i}`, [here[0], north(here[1], 200 + 20 * i)], 100))
  const crowded = await sync()
  t.equal(crowded.geofences.length, 100)
  const search = await good(
    'GET',
    `/v1/search/geofences?near=${here[1]},${here[0]}&limit=200&includeGeometry=false`,
  )
  const listed = new Set(ids(crowded.geofences))
  const next = search.geofences.find(({ _id, userIds }: Json) => !listed.has(_id) && userIds === undefined)
  t.ok(
    crowded.region.radius > 0 && crowded.region.radius <= next.distance - 100,
    `${crowded.region.radius} m`,
  )
  await eachOf(many, (i) => api.circle(`sync/${i}`, here, 100))
  t.equal((await sync()).region.radius, 0, 'too many right here')
})

t.test('sync/region: only a part of many others is read, and the region says so', async (t) => {
  const here = place()
  // Some 4 km in each direction; each geofence is for one user.
  const rows = Array.from({ length: 12_000 }, (_, i) => {
    const longitude = here[0] + ((i % 110) - 55) * 0.001
    const latitude = here[1] + (Math.floor(i / 110) - 55) * 0.0007
    return `home,home,${i},circle,"[${longitude},${latitude}]",50,user-${i}`
  })
  const csv = ['description,tag,externalId,type,coordinates,radius,userIds', ...rows].join('\n')
  const imported = await api.call('POST', '/v1/imports/geofences', csv, KEYS.testSecret, {
    'content-type': 'text/csv',
  })
  t.equal(imported.status, 200)
  const near = await api.circle('crowd/near', [here[0], north(here[1], 300)], 100)
  const far = await api.circle('crowd/far', [here[0], north(here[1], 9000)], 100)
  const sync = (userId: string) =>
    good('POST', '/v1/sync/region', { latitude: here[1], longitude: here[0], userId })
  const { geofences, region } = await sync('nobody')
  t.ok(region.radius > 1000 && region.radius < 8800, `looked at what is within ${region.radius} m`)
  t.ok(ids(geofences).includes(near._id) && !ids(geofences).includes(far._id))
  t.same(pairs((await sync(`user-${55 * 110 + 55}`)).geofences), ['home/6105', 'crowd/near'])
})

const UUID = 'e2c56db5-dffb-48d2-b060-d0f5a71096e0'

t.test('config returns the settings that clients use', async (t) => {
  const change = {
    beaconUuids: [UUID],
    beaconUids: ['edd1ebeac04e5defa017'],
    stopDetection: true,
    bufferEntries: true,
  }
  await api.settings({ ...change, dwellEvents: true, dwellThreshold: 2.5 })
  const { meta } = await good('GET', '/v1/config?deviceId=d')
  t.strictSame(meta, {
    code: 200,
    settings: { beacons: { uuids: [UUID], uids: ['edd1ebeac04e5defa017'] } },
    sdkConfiguration: {
      ...meta.sdkConfiguration,
      stopDetection: true,
      bufferGeofenceEntries: true,
      bufferGeofenceExits: true,
      defaultGeofenceDwellThreshold: 3,
      logLevel: 'info',
      maxConcurrentJobs: 1,
      skipForegroundCheck: true,
    },
    featureSettings: meta.featureSettings,
  })
  // Everything else is off, as if an SDK had not asked for it.
  const on = Object.entries(meta.sdkConfiguration).filter(([, value]) => value === true)
  t.strictSame(on.map(([name]) => name).sort(), [
    'bufferGeofenceEntries',
    'bufferGeofenceExits',
    'skipForegroundCheck',
    'stopDetection',
    'useOpenedAppConversion',
  ])
  const ios = await api.call('GET', '/v1/config', undefined, testPublishable, {
    'x-radar-device-type': 'iOS',
  })
  t.equal(ios.body.meta.sdkConfiguration.useOpenedAppConversion, false)
  await api.settings({ stopDetection: false, bufferEntries: false, dwellEvents: false })
  t.match((await good('GET', '/v1/config')).meta.sdkConfiguration, {
    stopDetection: false,
    bufferGeofenceEntries: false,
    bufferGeofenceExits: false,
    defaultGeofenceDwellThreshold: 0,
  })
  const live = (await good('GET', '/v1/config', undefined, livePublishable)).meta
  t.strictSame(live.settings.beacons, { uuids: [], uids: [] })
  t.equal((await api.call('GET', '/v1/settings', undefined, liveSecret)).body.settings.stopDetection, false)
  const logs = { logs: Array.from({ length: 500 }, () => ({ message: 'x'.repeat(200), level: 'DEBUG' })) }
  const before = await metric(api, 'log_position')
  await good('POST', '/v1/logs', logs)
  for (const body of ['', '{', '[]', '"x"', '\0', '{"logs":{"a":"\\ud800"}}', '['.repeat(50_000)]) {
    const { status } = await api.server.api('POST', '/v1/logs', body, testPublishable)
    t.equal(status, 200, `logs: ${body.slice(0, 20)}`)
  }
  const zipped = await fetch(`${api.server.url}/v1/logs`, {
    method: 'POST',
    headers: { authorization: testPublishable, 'content-type': 'text/plain', 'content-encoding': 'gzip' },
    body: Buffer.from([0x1f, 0x8b, 8, 0, 0xff, 0xfe]),
  })
  t.equal(zipped.status, 200)
  await good('POST', '/v1/search/autocomplete/click', { sessionToken: 's', requestId: 'r', idx: 1 })
  t.equal(await metric(api, 'log_position'), before)
})
