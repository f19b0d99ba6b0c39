/** Fraud and refused countries on a real server, over every way in. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { writeMmdb } from '../ip/mmdb.ts'
import { EventSource } from '../kit/eventSource.ts'
import { KEYS, startServer } from '../kit/server.ts'
import { ENCODINGS, Stream } from '../kit/stream.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
type Json = any

const PROXY = '203.0.113.9'
const lists = t.testdir({})
writeFileSync(join(lists, 'proxies.txt'), `${PROXY}\n8.8.4.0/24\n`)
writeMmdb(join(lists, 'cities.mmdb'), 'GeoLite2-City', {
  '8.8.10.0/24': { country: { iso_code: 'US' }, location: { latitude: 40.7, longitude: -74 } },
  '8.8.11.0/24': { country: { iso_code: 'DE' }, location: { latitude: 52.5, longitude: 13.4 } },
})
const server = await startServer(t, {
  env: {
    RINGFENCE_IP_PROXY_FILES: join(lists, 'proxies.txt'),
    RINGFENCE_IP_CITY_FILE: join(lists, 'cities.mmdb'),
    RINGFENCE_TRUSTED_PROXIES: '127.0.0.1',
  },
})
const BERLIN = { latitude: 52.52, longitude: 13.405 }
const PARIS = { latitude: 48.8566, longitude: 2.3522 }
const AT_SEA = { latitude: 45, longitude: -30 }

const { testSecret, testPublishable } = KEYS

const { good } = server

const set = (settings: object) => good('PATCH', '/v1/settings', settings)
const judge = (fraud: object = {}) => set({ fraud: { enabled: true, ...fraud } })
let clock = Date.now() - 7_200_000
const next = (seconds = 60) => new Date((clock += seconds * 1000)).toISOString()

function track(deviceId: string, place: object, more: object = {}): Promise<Json> {
  return good(
    'POST',
    '/v1/track',
    { deviceId, ...place, accuracy: 10, updatedAt: next(), ...more },
    testPublishable,
  )
}

const fromAddress = async (ip: string, body: object): Promise<Json> => {
  const sent = { accuracy: 10, updatedAt: next(), ...body }
  return (await server.api('POST', '/v1/track', sent, testPublishable, { 'x-forwarded-for': ip })).body
}

const types = ({ events }: Json) => events.map(({ type }: Json) => type)

t.test('off: no fraud on the user; the default settings', async (t) => {
  const { user, events } = await track('off', BERLIN, { mocked: true, verified: true })
  t.notHas(user, 'fraud')
  t.strictSame(events, [])
  t.strictSame((await good('GET', '/v1/settings')).settings.fraud, {
    enabled: false,
    jumpSpeed: 1000,
    jumpMeters: 10_000,
    maxAccuracy: 1000,
    ipCountry: false,
    bypassed: [],
    blocked: [],
  })
})

t.test('every field of the fraud of a user; failing is an event, passing again is none', async (t) => {
  await judge()
  const clean = await track('flags', BERLIN)
  t.strictSame(clean.user.fraud, {
    passed: true,
    bypassed: false,
    verified: false,
    blocked: false,
    mocked: false,
    jumped: false,
    compromised: false,
    inaccurate: false,
    proxy: false,
    sharing: false,
    lastMockedAt: null,
    lastJumpedAt: null,
    lastCompromisedAt: null,
    lastInaccurateAt: null,
    lastProxyAt: null,
    lastSharingAt: null,
  })
  const mocked = await track('flags', BERLIN, { mocked: true })
  t.match(mocked.user.fraud, { passed: false, mocked: true, lastMockedAt: mocked.user.updatedAt })
  t.match(mocked.events, [
    {
      type: 'user.failed_fraud',
      confidence: 3,
      failureReasons: ['fraud_mocked_from_mock_provider'],
      fraud: mocked.user.fraud,
    },
  ])
  const again = await track('flags', BERLIN, { compromised: true, sharing: true })
  t.strictSame(again.events, [], 'it failed before')
  t.match(again.user.fraud, {
    mocked: false,
    compromised: true,
    sharing: true,
    lastMockedAt: mocked.user.updatedAt,
    lastSharingAt: again.user.updatedAt,
  })
  const passed = await track('flags', BERLIN)
  t.match(passed, { events: [], user: { fraud: { passed: true, lastSharingAt: again.user.updatedAt } } })
  t.strictSame(types(await track('flags', BERLIN, { accuracy: 2000 })), ['user.failed_fraud'], 'again')
  const { events } = await good('GET', '/v1/events?type=user.failed_fraud&deviceId=flags')
  t.equal(events.length, 2)
})

t.test('a jump from Berlin to Paris in a minute, and none in an hour', async (t) => {
  await track('jumper', BERLIN)
  t.match(await track('jumper', PARIS), {
    user: { fraud: { jumped: true } },
    events: [{ failureReasons: ['fraud_jumped_single_device'] }],
  })
  await track('flyer', BERLIN)
  next(3600)
  t.match(await track('flyer', PARIS), { user: { fraud: { passed: true, jumped: false } } })
})

t.test('verified tracks say at the root whether they passed', async (t) => {
  t.match(await track('checked', BERLIN, { verified: true }), {
    passed: true,
    failureReasons: [],
    user: { fraud: { verified: true } },
  })
  t.match(await track('checked', BERLIN, { verified: true, mocked: true, sharing: true }), {
    passed: false,
    failureReasons: ['fraud_mocked_from_mock_provider', 'fraud_sharing_reported'],
  })
  t.notHas(await track('checked', BERLIN), 'passed')
  t.match(await track('anonymous', BERLIN, { verified: true, mocked: true }), {
    passed: false,
    events: [],
    user: { fraud: { mocked: true } },
  })
})

t.test('proxies, by the lists of the operator', async (t) => {
  t.match(await fromAddress('8.8.4.4', { deviceId: 'hidden', ...BERLIN }), {
    user: { fraud: { proxy: true } },
    events: [{ failureReasons: ['fraud_proxy_known_proxy_ip'] }],
  })
  t.match(await fromAddress('192.168.1.1', { deviceId: 'home', ...BERLIN }), {
    user: { fraud: { proxy: false } },
  })
})

t.test('an address in another country, more than 1,000 km away, only with ipCountry', async (t) => {
  const from = async (ip: string, deviceId: string, place: object): Promise<Json> => {
    const { user, events } = await fromAddress(ip, { deviceId, ...place })
    return [user.fraud.mocked, user.fraud.proxy, ...events.map(({ failureReasons }: Json) => failureReasons)]
  }
  t.strictSame(await from('8.8.10.1', 'not asked', BERLIN), [false, false])
  await judge({ ipCountry: true })
  const abroad = [true, false, ['fraud_mocked_inconsistent_ip_country']]
  t.strictSame(await from('8.8.10.1', 'far', BERLIN), abroad)
  t.strictSame(await from('8.8.11.1', 'here', BERLIN), [false, false])
  t.strictSame(await from('8.8.11.1', 'next door', PARIS), [false, false], 'Paris is 880 km from Berlin')
  t.strictSame(await from('8.8.11.1', 'at sea', AT_SEA), [false, false], 'in no country')
  await judge()
})

t.test('blocked and bypassed, until they are taken from the list', async (t) => {
  const { user } = await track('rogue', BERLIN, { userId: 'ann' })
  await judge({ blocked: [user._id, '10.0.0.0/8'], bypassed: ['tester'] })
  const failed = await track('rogue', BERLIN, { userId: 'ann' })
  t.match(failed, {
    user: { fraud: { blocked: true, passed: false } },
    events: [{ failureReasons: ['fraud_blocked_user_id'] }],
  })
  t.match(await fromAddress('10.1.2.3', { deviceId: 'inside', ...BERLIN }), {
    events: [{ failureReasons: ['fraud_blocked_ip'] }],
  })
  const tester = await track('tester', BERLIN, { mocked: true, verified: true })
  t.match(tester, { passed: true, failureReasons: [], events: [] })
  t.match(tester.user.fraud, { bypassed: true, passed: true, mocked: true })
  await judge({ blocked: ['rogue'] })
  t.match(await track('rogue', BERLIN, { userId: 'ann' }), { events: [], user: { fraud: { blocked: true } } })
  await judge()
  t.match(await track('rogue', BERLIN, { userId: 'ann' }), {
    user: { fraud: { blocked: false, passed: true } },
  })
})

t.test('settings: what is absent gets its default, and every rule', async (t) => {
  await judge({ jumpSpeed: 500, blocked: ['a'] })
  const { fraud } = (await set({ fraud: JSON.stringify({ enabled: true, jumpMeters: 5 }) })).settings
  t.match(fraud, { enabled: true, jumpSpeed: 1000, jumpMeters: 5, blocked: [] }, 'replaced as a whole')
  const form = `fraud=${encodeURIComponent(JSON.stringify({ enabled: true, blocked: ['b'] }))}`
  const formed = await server.api('PATCH', '/v1/settings', form, testSecret, {
    'content-type': 'application/x-www-form-urlencoded',
  })
  t.match(formed.body.settings.fraud, { enabled: true, jumpMeters: 10_000, blocked: ['b'] }, 'of a form, too')
  const many = Array.from({ length: 10_000 }, (_, i) => `user-${i}`)
  t.equal((await judge({ blocked: many })).settings.fraud.blocked.length, 10_000)
  for (const [bad, message] of [
    [{ blocked: [...many, 'one more'] }, /^fraud: .*at most 10000 items/],
    [{ blocked: ['x'.repeat(257)] }, /^fraud: /],
    [{ blocked: many.map((id) => id.padEnd(60, 'x')) }, /^fraud: .*at most 512 kB/],
    [{ jumpSpeed: 0 }, /^fraud: .*jumpSpeed/],
    [{ jumpMeters: -1 }, /^fraud: .*jumpMeters/],
    [{ maxAccuracy: 'far' }, /^fraud: .*maxAccuracy/],
    [{ enabled: 'perhaps' }, /^fraud: .*enabled/],
    [{ enable: true }, /^fraud: .*Its members are/],
    [[], /^fraud: /],
  ] as const)
    t.match(
      await server.api('PATCH', '/v1/settings', { fraud: bad }),
      { status: 400, body: { meta: { param: 'fraud', message } } },
      JSON.stringify(bad).slice(0, 60),
    )
  t.equal((await good('GET', '/v1/settings')).settings.fraud.blocked.length, 10_000, 'nothing has changed')
  await judge()
})

t.test('a kill keeps flags and dates', async (t) => {
  const before = await track('kept', BERLIN, { mocked: true })
  await server.kill9()
  await server.restart()
  const { users } = await good('GET', '/v1/users?deviceId=kept')
  t.strictSame(users[0].fraud, before.user.fraud)
  t.strictSame(types(await track('kept', BERLIN, { mocked: true })), [], 'it has failed already')
})

t.test('countries: 451 for tracks and contexts, and nothing is stored', async (t) => {
  await set({ blockedCountries: 'fr, us', fraud: null })
  const refused = await server.api(
    'POST',
    '/v1/track',
    { deviceId: 'barred', ...PARIS, accuracy: 5 },
    testPublishable,
  )
  t.match(refused, { status: 451, body: { meta: { code: 451 } } })
  t.equal((await server.api('GET', '/v1/users/barred')).status, 404)
  t.equal(
    (await server.api('GET', '/v1/context?coordinates=48.8566,2.3522', undefined, testPublishable)).status,
    451,
  )
  t.equal(
    (await server.api('GET', '/v1/context?coordinates=52.52,13.405', undefined, testPublishable)).status,
    200,
  )
  const known = await track('traveller', BERLIN)
  const away = { deviceId: 'traveller', ...PARIS, accuracy: 5, updatedAt: next() }
  t.equal((await server.api('POST', '/v1/track', away, testPublishable)).status, 451)
  const { users } = await good('GET', '/v1/users?deviceId=traveller')
  t.strictSame(users[0].location, known.user.location, 'it stays where it was')
  await set({ blockedCountries: [], allowedCountries: ['DE'] })
  t.equal((await server.api('POST', '/v1/track', away, testPublishable)).status, 451)
  const sea = { deviceId: 'sailor', ...AT_SEA, accuracy: 5 }
  t.equal((await server.api('POST', '/v1/track', sea, testPublishable)).status, 451, 'outside of all')
  t.equal(
    (await server.api('POST', '/v1/track', { ...sea, deviceId: 'anonymous' }, testPublishable)).status,
    451,
  )
  for (const bad of ['Germany', 'D1', ['DE', 7]])
    t.match(await server.api('PATCH', '/v1/settings', { allowedCountries: bad }), {
      status: 400,
      body: { meta: { param: 'allowedCountries' } },
    })
})

t.test('in replays and streams only the update in that country is refused', async (t) => {
  const at = (place: object, i: number) => ({
    deviceId: 'replayed',
    ...place,
    accuracy: 5,
    replayed: true,
    updatedAtMs: Date.now() - 600_000 + i * 60_000,
  })
  const replays = [at(BERLIN, 0), at(PARIS, 1), at({ ...BERLIN, latitude: 52.53 }, 2), at(PARIS, 3)]
  const replayed = await good('POST', '/v1/track/replay', { replays }, testPublishable)
  t.equal(replayed.meta.refusedUpdates, 2)
  t.equal(replayed.user.location.coordinates[1], 52.53)
  const none = await good('POST', '/v1/track/replay', { replays: [at(PARIS, 4)] }, testPublishable)
  t.match(none, { meta: { code: 200, refusedUpdates: 1 }, events: [] })
  const nameless = replays.map((one) => ({ ...one, deviceId: 'anonymous' }))
  t.equal(
    (await good('POST', '/v1/track/replay', { replays: nameless }, testPublishable)).meta.refusedUpdates,
    2,
  )
  for (const encoding of ENCODINGS) {
    const stream = await Stream.open(server, { encoding })
    const updates = [BERLIN, PARIS].map((place, i) => ({
      deviceId: `${encoding}-${i}`,
      ...place,
      accuracy: 5,
    }))
    stream.send({ type: 'track', id: 1, updates })
    t.match(await stream.next(), { type: 'error', id: 1, index: 1, code: 451 }, encoding)
    t.match(await stream.next(), { type: 'ack', id: 1 }, encoding)
    await stream.close()
  }
  await set({ allowedCountries: [] })
})

t.test('claims in every encoding of a stream, and the event to its readers', async (t) => {
  await judge()
  const source = await EventSource.open(server, { query: '?types=user.failed_fraud' })
  t.teardown(() => source.hangUp())
  for (const encoding of ENCODINGS) {
    const stream = await Stream.open(server, { encoding })
    const update = { deviceId: `mock-${encoding}`, ...BERLIN, accuracy: 5, mocked: true, compromised: true }
    stream.send({ type: 'track', id: 1, events: true, updates: [update] })
    const reasons = ['fraud_mocked_from_mock_provider', 'fraud_compromised_reported']
    t.match(await stream.next(), { events: [{ failureReasons: reasons }] }, encoding)
    t.match(await source.next(), { event: 'user.failed_fraud', data: { failureReasons: reasons } }, encoding)
    await stream.close()
  }
})
