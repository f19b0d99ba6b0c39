/** The export of events: every one that matches, with what it is about, as CSV and as lines of JSON. */
import { parse } from 'csv-parse/sync'
import t from 'tap'
import { KEYS, startServer } from '../kit/server.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
type Json = any

const SEA = { latitude: -36.5, longitude: -52 }
const server = await startServer(t, { sample: true })

const { good } = server

const rowsOf = async (query = ''): Promise<Json[]> =>
  parse(await good('GET', `/v1/exports/events?${query}`), { columns: true })
const linesOf = async (query = ''): Promise<Json[]> =>
  (await good('GET', `/v1/exports/events?format=ndjson&${query}`))
    .split('\n')
    .filter((line: string) => line !== '')
    .map((line: string) => JSON.parse(line))

const [burger] = (await good('GET', '/v1/search/places?near=-34.9061,-56.1934&chains=mcdonalds&radius=10000'))
  .places
const [longitude, latitude] = burger.location.coordinates
await good('PATCH', '/v1/settings', { places: true, regions: true, fraud: { enabled: true } })
await good('PUT', '/v1/geofences/shop/1', {
  description: 'One, "two"\nthree',
  type: 'circle',
  coordinates: [longitude, latitude],
  radius: 100,
})
const start = Date.now() - 3_600_000
const at = (minutes: number) => new Date(start + minutes * 60_000).toISOString()
const { events: made } = await good('POST', '/v1/track/replay', {
  replays: [
    { deviceId: 'd', userId: '=1+1', latitude, longitude, accuracy: 5, stopped: true, updatedAt: at(0) },
    { deviceId: 'd', userId: '=1+1', ...SEA, accuracy: 5, mocked: true, sharing: true, updatedAt: at(30) },
  ],
})
await good('POST', '/v1/events', { deviceId: 'd', userId: '=1+1', name: 'bought', metadata: { sum: 5 } })

t.test('CSV: a row for each event, with its place, region, fraud, geofence and data', async (t) => {
  const rows = await rowsOf()
  const { events } = await good('GET', '/v1/events')
  t.equal(events.length, made.length + 1)
  t.strictSame(
    rows.map(({ _id }) => _id),
    events.map(({ _id }: Json) => _id),
  )
  const of = (type: string) => rows.find((row) => row.type === type)
  const entered = events.find(({ type }: Json) => type === 'user.entered_place')
  t.match(of('user.entered_place'), {
    placeId: burger._id,
    placeName: burger.name,
    chain: 'mcdonalds',
    categories: burger.categories.join(','),
    alternatePlaces: entered.alternatePlaces.map(({ _id }: Json) => _id).join(','),
    userId: '=1+1',
    deviceId: 'd',
    latitude: String(latitude),
    longitude: String(longitude),
    accuracy: '5',
    createdAt: at(0),
    live: 'false',
    regionCode: '',
    passed: '',
  })
  t.match(of('user.exited_place'), { placeId: burger._id, duration: '30' })
  t.match(of('user.entered_region_country'), {
    regionType: 'country',
    regionCode: 'UY',
    regionName: 'Uruguay',
    placeId: '',
  })
  t.match(of('user.failed_fraud'), {
    passed: 'false',
    failureReasons: 'fraud_mocked_from_mock_provider,fraud_sharing_reported',
  })
  t.match(of('user.entered_geofence'), { tag: 'shop', externalId: '1', description: 'One, "two"\nthree' })
  t.match(of('bought'), { metadata: '{"sum":5}', confidence: '3' })
})

t.test('lines of JSON: the events of the list', async (t) => {
  t.strictSame(await linesOf(), (await good('GET', '/v1/events')).events)
})

t.test('the filters of the list', async (t) => {
  for (const query of [
    `placeId=${burger._id}`,
    'chain=mcdonalds',
    'category=food-beverage',
    'region=UY',
    'failureReason=fraud_sharing_reported',
    'type=user.entered_place',
    'types=user.entered_place,bought',
    'tag=shop&externalId=1',
    'minimumConfidence=3',
    'userId=%3D1%2B1&deviceId=d',
    `createdAfter=${at(1)}`,
    `createdBefore=${at(1)}&updatedAfter=${at(0)}`,
    'deviceId=nobody',
  ]) {
    const { events } = await good('GET', `/v1/events?${query}`)
    t.strictSame(await linesOf(query), events, query)
    t.equal((await rowsOf(query)).length, events.length, query)
  }
})

t.test('more than a page, with a search that has to look into events', async (t) => {
  for (let page = 0; page < 13; page++) {
    const replays = Array.from({ length: 200 }, (_, i) => ({
      deviceId: `m${page}`,
      ...(i % 2 === 0 ? { latitude, longitude } : SEA),
      accuracy: 5,
      updatedAt: new Date(start + (page * 200 + i) * 1000).toISOString(),
    }))
    await good('POST', '/v1/track/replay', { replays })
  }
  const all = await linesOf()
  t.ok(all.length > 4000, `${all.length} events`)
  t.equal(new Set(all.map(({ _id }) => _id)).size, all.length, 'each once')
  const wanted = all.filter(({ region }) => region?.code === 'UY')
  t.ok(wanted.length > 1000)
  t.strictSame(
    (await linesOf('region=UY')).map(({ _id }) => _id),
    wanted.map(({ _id }) => _id),
  )
  t.equal((await rowsOf()).length, all.length)
})

t.test('a file with a name; secret keys only', async (t) => {
  const answer = await server.api('GET', '/v1/exports/events')
  t.match(answer.headers.get('content-type'), /^text\/csv/)
  t.match(answer.headers.get('content-disposition'), /events-test\.csv/)
  t.equal((await server.api('GET', '/v1/exports/events', undefined, KEYS.testPublishable)).status, 403)
  const live = await server.api('GET', '/v1/exports/events', undefined, KEYS.liveSecret)
  t.equal(parse(live.body, { columns: true }).length, 0, 'G8')
})
