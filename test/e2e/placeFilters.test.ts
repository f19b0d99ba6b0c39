/** Filters of events by place, chain, category, region and reason of fraud, in every way out of the server. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { Ringfence, type Event, type User } from '../../sdk/src/index.ts'
import { EventSource } from '../kit/eventSource.ts'
import { KEYS, startServer } from '../kit/server.ts'
import { ENCODINGS, sdkEncoding, Stream } from '../kit/stream.ts'
import { until } from '../kit/waiting.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
type Json = any

const SEA = { latitude: -35.2, longitude: -56.2 }
const server = await startServer(t, { sample: true, args: ['--webhook-private-addresses', '127.0.0.0/8'] })

const { good } = server

const typesOf = (events: readonly Json[]): string[] => events.map(({ type }) => type.replace('user.', ''))

const [burger] = (await good('GET', '/v1/search/places?near=-34.9061,-56.1934&chains=mcdonalds&radius=10000'))
  .places
const [longitude, latitude] = burger.location.coordinates
await good('PATCH', '/v1/settings', { places: true, regions: true, fraud: { enabled: true } })

/** By their members: of streams and webhooks, and of lists. */
const FILTERS: readonly (readonly [plural: Json, singular: string, types: readonly string[]])[] = [
  [{ placeIds: ['other', burger._id] }, `placeId=${burger._id}`, ['entered_place', 'exited_place']],
  [{ chains: ['mcdonalds'] }, 'chain=mcdonalds', ['entered_place', 'exited_place']],
  [
    { categories: ['fast-food-restaurant', 'food-beverage'] },
    'category=food-beverage',
    ['entered_place', 'exited_place'],
  ],
  [{ regions: ['UY', 'US'] }, 'region=UY', ['entered_region_country', 'exited_region_country']],
  [
    { failureReasons: ['fraud_mocked_from_mock_provider'] },
    'failureReason=fraud_mocked_from_mock_provider',
    ['failed_fraud'],
  ],
  [{ chains: ['kfc'] }, 'chain=kfc', []],
  [
    { chains: ['mcdonalds'], types: ['user.exited_place'] },
    'chain=mcdonalds&type=user.exited_place',
    ['exited_place'],
  ],
]

t.test('subscriptions, server-sent events, webhooks and lists', async (t) => {
  const stream = await Stream.open(server)
  t.teardown(() => stream.close())
  const pushed = new Map<string, string[]>()
  const note = (key: string, type: string) =>
    pushed.set(key, [...(pushed.get(key) ?? []), type.replace('user.', '')])
  const receiver = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { event } = JSON.parse(Buffer.concat(chunks).toString())
      note(`webhook${request.url!.slice(1)}`, event.type)
      response.end()
    })
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  t.teardown(() => receiver.close())
  const { port } = receiver.address() as AddressInfo
  const sources: EventSource[] = []
  for (const [i, [filter]] of FILTERS.entries()) {
    stream.send({ type: 'subscribe', id: `${i}`, filter })
    t.match(await stream.next(), { type: 'subscribed' })
    const { webhook } = await good('POST', '/v1/webhooks', {
      url: `http://127.0.0.1:${port}/${i}`,
      ...filter,
    })
    t.match(webhook, filter, 'the record has its filters')
    const query = Object.entries(filter).map(([name, items]) => `${name}=${(items as string[]).join(',')}`)
    const source = await EventSource.open(server, { query: `?${query.join('&')}` })
    t.teardown(() => source.hangUp())
    sources.push(source)
  }
  const now = Date.now() - 3_600_000
  const { events } = await good('POST', '/v1/track/replay', {
    replays: [
      {
        deviceId: 'd',
        latitude,
        longitude,
        accuracy: 5,
        stopped: true,
        updatedAt: new Date(now).toISOString(),
      },
      {
        deviceId: 'd',
        ...SEA,
        latitude: -37,
        accuracy: 5,
        mocked: true,
        updatedAt: new Date(now + 2_400_000).toISOString(),
      },
    ],
  })
  const made = typesOf(events)
  for (const type of ['entered_place', 'exited_place', 'exited_region_country', 'failed_fraud'])
    t.ok(made.includes(type), type)
  const total = FILTERS.reduce((sum, [, , types]) => sum + types.length, 0)
  for (let i = 0; i < total; i++) {
    const { subscription, event } = await stream.next()
    note(`stream${subscription}`, event.type)
  }
  await until(
    () => [...pushed.keys()].filter((key) => key.startsWith('webhook')).length === FILTERS.length - 1,
  )
  for (const [i, [filter, query, types]] of FILTERS.entries()) {
    const what = JSON.stringify(filter)
    t.same(pushed.get(`stream${i}`) ?? [], types, `stream ${what}`)
    await until(() => (pushed.get(`webhook${i}`) ?? []).length >= types.length)
    t.same((pushed.get(`webhook${i}`) ?? []).sort(), [...types].sort(), `webhook ${what}`)
    for (const type of types)
      t.equal((await sources[i]!.next())?.event, `user.${type}`, `server-sent events ${what}`)
    const listed = await good('GET', `/v1/events?${query}`)
    t.same(typesOf(listed.events).sort(), [...types].sort(), `list ${what}`)
    if (query.includes('type=')) continue
    const from = new Date(now - 1000).toISOString()
    const { counts } = await good('GET', `/v1/events/counts?from=${from}&step=86400&${query}`)
    t.equal(
      counts.reduce((sum: number, one: Json) => sum + one.total, 0),
      types.length,
      `counts ${what}`,
    )
  }
  const region = events.find((event: Json) => event.region !== undefined).region._id
  t.equal((await good('GET', `/v1/events?region=${region}`)).events.length, 2, 'by the _id of a region')
})

t.test('an edit of a webhook changes and removes filters', async (t) => {
  const { webhook } = await good('POST', '/v1/webhooks', {
    url: 'http://127.0.0.1:1/',
    chains: ['kfc'],
    regions: ['US'],
  })
  const edit = async (body: object) => (await good('PATCH', `/v1/webhooks/${webhook._id}`, body)).webhook
  t.match(await edit({ chains: ['subway'] }), { chains: ['subway'], regions: ['US'] })
  const fewer = await edit({ chains: null })
  t.notHas(fewer, 'chains')
  t.match(fewer, { regions: ['US'] })
})

t.test('the region of an SDK has places, and ends before there may be others', async (t) => {
  const sync = (at: object) => good('POST', '/v1/sync/region', at)
  const { places, region } = await sync({ latitude, longitude })
  const own = places.find(({ _id }: Json) => _id === burger._id)
  t.match(own, {
    name: burger.name,
    categories: burger.categories,
    location: burger.location,
    chain: { slug: 'mcdonalds' },
  })
  t.ok(own.geometryRadius >= 30)
  t.ok(places.length > 5 && places.length <= 100)
  t.ok(region.radius < 10_000)
  // Somewhere in the region, the context has no place that the client was not told of.
  const ids = new Set(places.map(({ _id }: Json) => _id))
  const there = await good(
    'GET',
    `/v1/context?coordinates=${latitude + (region.radius - 1) / 111_700},${longitude}`,
  )
  t.ok(there.place === undefined || ids.has(there.place._id))
  const far = await sync({ latitude: -36.5, longitude: -52 })
  t.strictSame([far.places, far.region.radius], [[], 10_000], 'none at sea')
  await good('PATCH', '/v1/settings', { placeFilters: { chain: ['mcdonalds'] } })
  const filtered = await sync({ latitude, longitude })
  t.strictSame([...new Set(filtered.places.map(({ chain }: Json) => chain.slug))], ['mcdonalds'])
  await good('PATCH', '/v1/settings', { placeFilters: null, places: false })
  t.strictSame((await sync({ latitude, longitude })).places, [], 'off')
})

t.test('/readyz says whether there are places', async (t) => {
  const detail = async () => {
    const { body } = await server.api('GET', '/readyz')
    return body.checks.find(({ name }: Json) => name === 'places').detail
  }
  t.equal(await detail(), 'visits to places are off in the settings')
  await good('PATCH', '/v1/settings', { places: true })
  t.match(await detail(), /montevideo|sample/i)
})

t.test('the client: types of all members, and filters of subscriptions in every encoding', async (t) => {
  const client = new Ringfence({ url: server.url, key: KEYS.testSecret })
  const { settings } = await client.patch('/v1/settings', {
    body: {
      places: true,
      regions: true,
      regionEvents: ['country'],
      nearbyPlaceChains: ['mcdonalds'],
      fraud: { enabled: true, blocked: ['thief'] },
      segments: [{ description: 'Eaters', externalId: 'eaters', rule: { chain: 'mcdonalds' } }],
    },
  })
  t.strictSame([settings.nearbyPlaceChains, settings.fraud.blocked], [['mcdonalds'], ['thief']])
  for (const name of ENCODINGS) {
    const stream = client.stream({ encoding: sdkEncoding(name) })
    const deviceId = `client-${name}`
    const visits = stream.events({ deviceIds: [deviceId], chains: ['mcdonalds'] })
    const borders = stream.events({ deviceIds: [deviceId], regions: ['UY'] })
    const frauds = stream.events({
      deviceIds: [deviceId],
      failureReasons: ['fraud_mocked_from_mock_provider'],
    })
    await Promise.all([visits.ready, borders.ready, frauds.ready])
    const update = { deviceId, latitude, longitude, accuracy: 5, stopped: true, mocked: true }
    await stream.track(update)
    const next = async (events: AsyncIterator<Event>): Promise<Event> => (await events.next()).value
    const came: Event[] = [await next(visits), await next(visits)]
    const visit = came.find(({ type }) => type === 'user.entered_place')
    t.strictSame(came.map(({ type }) => type).toSorted(), ['user.entered_place', 'user.nearby_place_chain'])
    t.match(
      [visit?.place?._id, visit?.place?.chain?.slug, visit?.place?.categories[0]],
      [burger._id, 'mcdonalds', 'food-beverage'],
      name,
    )
    for (const { name: other } of visit?.alternatePlaces ?? []) t.type(other, 'string')
    // @ts-expect-error -- a place has no such member
    t.equal(visit?.place?.title, undefined)
    const border = await next(borders)
    t.strictSame([border.type, border.region?.code], ['user.entered_region_country', 'UY'], name)
    const fraud = await next(frauds)
    t.strictSame(
      [fraud.fraud?.passed, fraud.fraud?.mocked, fraud.failureReasons],
      [false, true, ['fraud_mocked_from_mock_provider']],
      name,
    )
    const { user }: { user: User } = await client.get('/v1/users/{id}', { params: { id: deviceId } })
    t.strictSame(
      [user.place?._id, user.country?.flag, user.nearbyPlaceChains?.[0]?.slug, user.topChains[0]?.slug],
      [burger._id, '🇺🇾', 'mcdonalds', 'mcdonalds'],
    )
    t.strictSame([user.segments[0]?.externalId, user.fraud?.mocked], ['eaters', true])
    t.equal(user.fraud?.lastMockedAt, user.updatedAt)
    await stream.close()
  }
  const context = await client.get('/v1/context', {
    query: { coordinates: `${latitude},${longitude}` },
  })
  t.strictSame([context.place?._id, context.country?.code], [burger._id, 'UY'])
  const { passed } = await client.track({
    deviceId: 'thief',
    latitude,
    longitude,
    accuracy: 5,
    verified: true,
  })
  t.equal(passed, false)
})
