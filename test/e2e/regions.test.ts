/** Regions of users on a real server: across the border between El Paso and Ciudad Juárez, at sea, after a kill. */
import { createHash } from 'node:crypto'
import t from 'tap'
import { EventSource } from '../kit/eventSource.ts'
import { KEYS, startServer } from '../kit/server.ts'
import { Stream } from '../kit/stream.ts'
import { worldFile } from '../geocoding/kit.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
type Json = any

worldFile()
const server = await startServer(t)
const EL_PASO = { latitude: 31.7619, longitude: -106.485 }
const JUAREZ = { latitude: 31.72, longitude: -106.485 }
const MONTEVIDEO = { latitude: -34.9059, longitude: -56.1913 }
const AT_SEA = { latitude: -36.5, longitude: -52 }

const { good } = server

const set = (settings: object) => good('PATCH', '/v1/settings', settings)
let clock = Date.now() - 3_600_000

/** A minute after the last one. */
function track(deviceId: string, place: object, more: object = {}): Promise<Json> {
  clock += 60_000
  const updatedAt = new Date(clock).toISOString()
  return good(
    'POST',
    '/v1/track',
    { deviceId, ...place, accuracy: 10, updatedAt, ...more },
    KEYS.testPublishable,
  )
}

const types = ({ events }: Json) => events.map(({ type }: Json) => type.replace('user.', ''))
const codes = (user: Json) => [user.country?.code, user.state?.code, user.dma?.code, user.postalCode?.code]

t.test('off: nothing of it on the user, and no events', async (t) => {
  const { user, events } = await track('off', EL_PASO)
  t.strictSame(codes(user), [undefined, undefined, undefined, undefined])
  t.strictSame(events, [])
})

t.test('across a border: the user, the events and their order', async (t) => {
  await set({ regions: true })
  const entered = await track('walker', EL_PASO)
  t.strictSame(types(entered), [
    'entered_region_state',
    'entered_region_dma',
    'entered_region_postal_code',
    'entered_region_country',
  ])
  t.match(entered.user, {
    country: { _id: /^[0-9a-f]{24}$/, type: 'country', code: 'US', name: 'United States', flag: '🇺🇸' },
    state: { _id: /^[0-9a-f]{24}$/, type: 'state', code: 'TX', name: 'Texas' },
    dma: { type: 'dma', code: '765', name: /El Paso/ },
    postalCode: { type: 'postalCode', code: /^799\d\d$/ },
  })
  t.match(entered.events[3], { region: entered.user.country, confidence: 3, locationAccuracy: 10 })
  t.notHas(entered.events[3], 'duration')
  t.strictSame(types(await track('walker', EL_PASO)), [], 'staying is no event')

  const crossed = await track('walker', JUAREZ)
  t.strictSame(types(crossed), [
    'exited_region_state',
    'exited_region_dma',
    'exited_region_postal_code',
    'exited_region_country',
    'entered_region_country',
  ])
  t.strictSame(codes(crossed.user), ['MX', undefined, undefined, undefined])
  t.match(crossed.events[0], { region: entered.user.state, duration: 2 }, 'minutes since the entry')
  const list = await good('GET', '/v1/events?deviceId=walker&type=user.entered_region_country')
  t.strictSame(
    list.events.map(({ region }: Json) => region.code),
    ['MX', 'US'],
  )
})

t.test('the `_id` of a region is made of its type and code; only countries have a flag', async (t) => {
  const { user } = await track('named', EL_PASO)
  for (const type of ['country', 'state', 'dma', 'postalCode']) {
    const region = user[type]
    const name = type === 'state' ? `state/US-${region.code}` : `${type}/${region.code}`
    t.equal(region._id, createHash('sha256').update(name).digest('hex').slice(0, 24), name)
    const members = ['_id', 'code', 'name', 'type']
    t.strictSame(
      Object.keys(region).sort(),
      type === 'country' ? ['_id', 'code', 'flag', 'name', 'type'] : members,
    )
  }
})

t.test('the regions of the user are those of the context', async (t) => {
  for (const place of [EL_PASO, JUAREZ, MONTEVIDEO, AT_SEA]) {
    const { user } = await track('somewhere', place)
    const { context } = await good('GET', `/v1/context?coordinates=${place.latitude},${place.longitude}`)
    for (const kind of ['country', 'state', 'dma', 'postalCode']) t.strictSame(user[kind], context[kind])
  }
  t.strictSame(types(await track('somewhere', MONTEVIDEO)), ['entered_region_country'], 'from the sea')
  t.strictSame(types(await track('somewhere', AT_SEA)), ['exited_region_country'])
})

t.test('poles, the antimeridian and updates of 50 km', async (t) => {
  for (const [latitude, longitude] of [
    [90, 0],
    [-90, 180],
    [0, 180],
    [52, -180],
    [71, 180],
  ]) {
    const { user } = await track('ends', { latitude, longitude })
    t.ok(user, `${latitude},${longitude}`)
  }
  const far = await track('ends', EL_PASO, { accuracy: 50_000 })
  t.strictSame(types(far), [], 'it changes nothing')
  t.strictSame(types(await track('ends', EL_PASO, { accuracy: 3000 })).at(-1), 'entered_region_country')
})

t.test('regionEvents, minimumConfidence', async (t) => {
  await set({ regionEvents: ['country'] })
  t.strictSame(types(await track('kinds', EL_PASO)), ['entered_region_country'])
  await set({ regionEvents: 'state, dma' })
  t.strictSame(types(await track('kinds', MONTEVIDEO)), ['exited_region_state', 'exited_region_dma'])
  await set({ regionEvents: ['country', 'state', 'dma', 'postalCode'], minimumConfidence: 3 })
  const held = await track('kinds', EL_PASO, { accuracy: 9000 })
  t.notOk(types(held).includes('entered_region_postal_code'), 'not sure enough')
  t.equal(held.user.country.code, 'UY', 'the border is within the accuracy')
  const why = (await good('GET', '/v1/users/kinds/explain')).explanation.regions
  t.match(why[0], { type: 'country', was: 'UY', is: 'US', outcome: 'withheld', confidence: 2 })
  await set({ minimumConfidence: 1 })
  for (const [body, message] of [
    [
      { regionEvents: ['county'] },
      'regionEvents: Invalid regionEvents. Each item must be one of country, state, dma, postalCode.',
    ],
    [{ regions: 'perhaps' }, /^regions: /],
  ] as const)
    t.match(await server.api('PATCH', '/v1/settings', body), { status: 400, body: { meta: { message } } })
})

t.test('anonymous: the regions of the location, no events', async (t) => {
  const { user, events } = await track('anonymous', EL_PASO)
  t.strictSame(codes(user).slice(0, 2), ['US', 'TX'])
  t.strictSame(events, [])
})

t.test('by stream and replay, and to server-sent events', async (t) => {
  const source = await EventSource.open(server, {
    query: '?types=user.entered_region_country&deviceIds=streamed,replayed',
  })
  t.teardown(() => source.hangUp())
  const stream = await Stream.open(server)
  t.teardown(() => stream.close())
  stream.send({
    type: 'track',
    id: 1,
    events: true,
    updates: [{ deviceId: 'streamed', ...EL_PASO, accuracy: 5 }],
  })
  t.strictSame(types(await stream.next()).at(-1), 'entered_region_country')
  const minutes = (i: number) => ({
    replayed: true,
    updatedAtMs: Date.now() - 600_000 + 60_000 * i,
    accuracy: 5,
  })
  const replays = [EL_PASO, JUAREZ, MONTEVIDEO].map((place, i) => ({
    deviceId: 'replayed',
    ...place,
    ...minutes(i),
  }))
  const replayed = await good('POST', '/v1/track/replay', { replays }, KEYS.testPublishable)
  t.equal(replayed.user.country.code, 'UY')
  t.strictSame(
    types(replayed).filter((type: string) => type.endsWith('country')),
    [
      'entered_region_country',
      'exited_region_country',
      'entered_region_country',
      'exited_region_country',
      'entered_region_country',
    ],
  )
  const seen = [await source.next(), await source.next(), await source.next(), await source.next()]
  t.strictSame(
    seen.map((event) => event!.data.region.code),
    ['US', 'US', 'MX', 'UY'],
  )
})

t.test('a kill keeps them: no second entry, and the time of the first', async (t) => {
  const first = await track('kept', EL_PASO)
  await server.kill9()
  await server.restart()
  const { users } = await good('GET', '/v1/users?deviceId=kept')
  t.strictSame(users[0].country, first.user.country)
  t.strictSame(types(await track('kept', EL_PASO)), [])
  const left = await track('kept', JUAREZ)
  t.match(left.events.at(-2), { type: 'user.exited_region_country', duration: 2 })
})

t.test('turned off: gone silently, at once and for good', async (t) => {
  await set({ regions: false })
  const { users } = await good('GET', '/v1/users?deviceId=kept')
  t.notHas(users[0], 'country')
  t.strictSame(types(await track('kept', MONTEVIDEO)), [])
  await set({ regions: true })
  t.strictSame(types(await track('kept', MONTEVIDEO)), ['entered_region_country'], 'as if for the first time')
})
