/**
 * Bad input to places, regions, segments and fraud, all of them on: what is refused is named, and what is taken changes
 * nothing that it should not. A place database that is lost or damaged is in placesLost.slow.test.ts.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { KEYS, Server, startServer } from '../kit/server.ts'
import { Stream } from '../kit/stream.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- answers of every shape
type Json = any

const HOUR = 3_600_000
const SEA = { latitude: -36.5, longitude: -52 }
const server = await startServer(t, { sample: true })

const { good } = server

const set = (settings: object) => good('PATCH', '/v1/settings', settings)
const track = (deviceId: string, body: object): Promise<Json> =>
  good('POST', '/v1/track', { deviceId, accuracy: 5, ...body })
const types = ({ events }: Json): string[] => events.map(({ type }: Json) => type.replace('user.', ''))

const near = '/v1/search/places?near=-34.9061,-56.1934&radius=10000&limit=1&chains=mcdonalds'
const [burger] = (await good('GET', near)).places
const [longitude, latitude] = burger.location.coordinates
const BURGER = { latitude, longitude, stopped: true }
const EVERYTHING = {
  places: true,
  regions: true,
  nearbyPlaceChains: ['mcdonalds'],
  fraud: { enabled: true },
  segments: [{ description: 'd', externalId: 'eaters', rule: { chain: 'mcdonalds' } }],
}
await set(EVERYTHING)

const slugs = (count: number) => Array.from({ length: count }, (_, i) => `chain-${i}-`.padEnd(60, 'x'))

t.test('10,000 chains in a filter are refused everywhere, and the most that are taken work', async (t) => {
  const many = slugs(10_000)
  const named = async (param: string, call: ReturnType<typeof server.api>) =>
    t.match(await call, { status: 400, body: { meta: { param } } }, param)
  await named(
    'placeFilters',
    server.api('PATCH', '/v1/settings', { placeFilters: { chain: many, category: [] } }),
  )
  await named('nearbyPlaceChains', server.api('PATCH', '/v1/settings', { nearbyPlaceChains: many }))
  const url = 'https://receiver.example/'
  await named('chains', server.api('POST', '/v1/webhooks', { url, chains: many }))
  await named('chains', server.api('GET', `/v1/events/stream?chains=${slugs(100).join()}`))
  await named('chain', server.api('GET', `/v1/events?chain=${'x'.repeat(257)}`))
  const stream = await Stream.open(server)
  t.teardown(() => stream.close())
  stream.send({ type: 'subscribe', id: 's', filter: { chains: many } })
  t.match(await stream.next(), { type: 'error', subscription: 's', code: 400, param: /chains/ })
  const search = (chains: readonly string[]) =>
    server.api('GET', `/v1/search/places?near=-34.9061,-56.1934&radius=10000&chains=${chains.join()}`)
  const [found] = (await search([...slugs(60), 'mcdonalds'])).body.places
  t.match(found, { chain: { slug: 'mcdonalds' } }, 'a search takes lists of up to 4,096 characters')
  await named('chains', search(slugs(100)))
  const long = await fetch(`${server.url}/v1/search/places?near=-34.9,-56.2&chains=${many.join()}`, {
    headers: { authorization: KEYS.testSecret },
  })
  t.equal(long.status, 431, 'an address that is too long')
  t.match((await good('GET', '/v1/settings')).settings, { placeFilters: { chain: [], category: [] } })
  await set({ placeFilters: { chain: [...slugs(999), 'mcdonalds'], category: [] } })
  t.strictSame(types(await track('most', BURGER)).includes('entered_place'), true)
  await set({ placeFilters: null, nearbyPlaceChains: [...slugs(99), 'mcdonalds'] })
  t.match((await track('most', BURGER)).user.nearbyPlaceChains, [{ slug: 'mcdonalds' }])
  await set(EVERYTHING)
})

t.test(
  'segments: depth 5 and 21 conditions are refused; depth 4, 20 conditions and unknown names are taken',
  async (t) => {
    const nested = (levels: number): object =>
      levels === 1 ? { chain: 'mcdonalds' } : { not: nested(levels - 1) }
    const many = (count: number) => ({ any: Array.from({ length: count }, () => ({ chain: 'mcdonalds' })) })
    const segments = (...rules: object[]) =>
      rules.map((rule, i) => ({ description: 'd', externalId: `s${i}`, rule }))
    for (const rule of [nested(5), many(21)])
      t.match(await server.api('PATCH', '/v1/settings', { segments: segments(rule) }), {
        status: 400,
        body: { meta: { param: /^segments/ } },
      })
    const unknown = [
      { chain: 'no-such-chain' },
      { category: 'no-such-category' },
      { country: 'QQ' },
      { state: 'QQ' },
      { geofence: { tag: 'nowhere', externalId: 'x' } },
      { metadata: { nothing: true } },
      { event: { type: 'never happened' } },
    ]
    const answer = await server.api('PATCH', '/v1/settings', {
      segments: segments(...unknown, nested(4), many(20)),
    })
    t.equal(answer.status, 200, JSON.stringify(answer.body))
    const { user } = await track('unknown', BURGER)
    // Three times not: false inside. One of twenty: true.
    t.strictSame(
      user.segments.map(({ externalId }: Json) => externalId),
      [`s${unknown.length + 1}`],
    )
    await set(EVERYTHING)
  },
)

t.test(
  'clocks that jump: no negative duration, no second entry, and dates of fraud that can be',
  async (t) => {
    const now = Date.now()
    const at = (hours: number) => new Date(now + hours * HOUR).toISOString()
    const durations: number[] = []
    let entries = 0
    const sent: [hours: number, place: object][] = [
      [0, BURGER],
      [23, BURGER],
      [-1, BURGER],
      [-400_000, BURGER],
      [0.5, SEA],
      [-8760, BURGER],
      [23.5, SEA],
      [0, BURGER],
    ]
    for (const [hours, place] of sent) {
      const { events, user } = await track('jumps', { ...place, updatedAt: at(hours) })
      for (const event of events) {
        if (event.duration !== undefined) durations.push(event.duration)
        if (event.type === 'user.entered_place') entries++
      }
      t.ok(Math.abs(Date.parse(user.updatedAt) - now) < 24 * HOUR + 60_000, user.updatedAt)
      t.equal(user.place?._id, place === SEA ? undefined : burger._id)
    }
    t.ok(durations.length > 0)
    t.strictSame(
      durations.filter((minutes) => !(minutes >= 0 && minutes < 48 * 60)),
      [],
    )
    t.equal(entries, 3, 'once for each time that it came')
    const tooFar = await server.api('POST', '/v1/track', {
      deviceId: 'jumps',
      accuracy: 5,
      ...SEA,
      updatedAt: at(25),
    })
    t.match(tooFar, { status: 400, body: { meta: { param: 'updatedAt' } } })
  },
)

t.test('on a border, at a pole, in the sea, at the ends of the map', async (t) => {
  const spots = [
    [47.6603, 9.1758],
    [90, 0],
    [-90, 0],
    [90, 180],
    [0, 180],
    [0, -180],
    [65.78, -168.99],
    [31.7838, -106.4825],
    [-36.5, -52],
    [0, 0],
    [-34.9061, -56.1934],
  ]
  for (const [lat, lng] of spots) {
    const name = `${lat},${lng}`
    const { user } = await track(name, { latitude: lat, longitude: lng, stopped: true })
    const again = await track(name, { latitude: lat, longitude: lng, stopped: true })
    t.strictSame(types(again), [], `${name}: nothing changes where nobody moves`)
    const { context } = await good('GET', `/v1/context?coordinates=${name}`)
    t.strictSame(user.country, context.country, name)
    t.equal((await server.api('GET', `/v1/users/${name}/explain`)).status, 200, name)
    t.equal((await server.api('POST', '/v1/sync/region', { latitude: lat, longitude: lng })).status, 200)
  }
})

t.test(
  'with an accuracy of 50 km nobody enters a place or another region, and it is inaccurate',
  async (t) => {
    const before = await track('vague', BURGER)
    t.match(before.user, { place: { _id: burger._id }, country: { code: 'UY' } })
    const vague = await track('vague', { ...SEA, accuracy: 50_000, stopped: true })
    t.match(vague.user, { country: { code: 'UY' }, fraud: { inaccurate: true, passed: false } })
    t.strictSame(
      types(vague).filter((type) => !['exited_place', 'failed_fraud'].includes(type)),
      [],
    )
    const first = await track('vague at first', { ...BURGER, accuracy: 50_000 })
    t.notHas(first.user, 'place')
    t.notHas(first.user, 'country')
  },
)

t.test('blocked lists at their bound block their last entry, and over it are refused', async (t) => {
  const most = Array.from({ length: 10_000 }, (_, i) => `user-${i}`)
  const fraud = { enabled: true, blocked: most, bypassed: most.toReversed() }
  t.equal((await set({ fraud })).settings.fraud.blocked.length, 10_000)
  t.match((await track('d', { ...SEA, userId: 'user-9999' })).user.fraud, { blocked: true, bypassed: true })
  t.match((await track('d', { ...SEA, userId: 'user-10000' })).user.fraud, { blocked: false })
  for (const list of ['blocked', 'bypassed'])
    t.match(
      await server.api('PATCH', '/v1/settings', { fraud: { enabled: true, [list]: [...most, 'one'] } }),
      { status: 400, body: { meta: { param: 'fraud', message: /at most 10000 items/ } } },
    )
  await set(EVERYTHING)
})

t.test('a proxy list that is no list: the server says which line, and does not start', async (t) => {
  const folder = t.testdir({})
  const file = join(folder, 'proxies.txt')
  for (const [content, line] of [
    ['<!doctype html>\n<html>', 1],
    ['8.8.4.0/24\n8.8.8.8/99\n', 2],
    [Buffer.from([0x1f, 0x8b, 8, 0, 255, 254, 10, 1]), 1],
  ] as const) {
    writeFileSync(file, content)
    const start = Server.start({ env: { RINGFENCE_IP_PROXY_FILES: file } })
    await t.rejects(start, { message: new RegExp(`proxies\\.txt, line ${line}: `) }, String(content))
  }
})

t.test('countries that are none are named', async (t) => {
  for (const list of ['blockedCountries', 'allowedCountries'])
    for (const bad of [['USA'], ['u'], [5], 'Germany', { a: 1 }])
      t.match(
        await server.api('PATCH', '/v1/settings', { [list]: bad }),
        { status: 400, body: { meta: { param: list } } },
        `${list} ${JSON.stringify(bad)}`,
      )
  t.equal((await server.api('GET', '/v1/settings', undefined, KEYS.testSecret)).status, 200)
})
