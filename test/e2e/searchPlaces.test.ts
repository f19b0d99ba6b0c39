/** GET /v1/search/places of a real server with the sample region. */
import t from 'tap'
import { pointDistance } from '../../src/geometry/distance.ts'
import { KEYS } from '../kit/server.ts'
import { startApi, type Json } from './contract.ts'

const { livePublishable, testPublishable } = KEYS
const api = await startApi(t, { sample: true })

async function search(query: Record<string, string>, key: string = testPublishable): Promise<Json> {
  const { status, body } = await api.call(
    'GET',
    `/v1/search/places?${new URLSearchParams(query).toString()}`,
    undefined,
    key,
  )
  t.equal(status, 200)
  return body
}

t.test('a café near an address of Montevideo becomes a geofence', async (t) => {
  const address = encodeURIComponent('18 de Julio 1056, Montevideo')
  const { body } = await api.call('GET', `/v1/geocode/forward?query=${address}`)
  const { latitude, longitude } = body.addresses[0]
  const near = `${latitude},${longitude}`
  const { places, meta } = await search({ near, categories: 'cafe' })
  t.match(meta.attribution, /^© OpenStreetMap contributors, GeoNames/)
  t.ok(places.length > 0)
  const meters = places.map(({ location: { coordinates } }: Json) =>
    pointDistance(latitude, longitude, coordinates[1], coordinates[0]),
  )
  t.strictSame(
    meters,
    meters.toSorted((a: number, b: number) => a - b),
  )
  for (const { categories, address: where } of places) {
    t.ok(categories.includes('cafe'))
    t.match(where, { city: 'Montevideo', countryCode: 'UY' })
  }
  const [cafe] = places
  const geofence = { description: 'Café', type: 'circle', placeId: cafe._id }
  const made = await api.call('PUT', '/v1/geofences/cafes/1', geofence)
  t.equal(made.status, 200)
  t.match(made.body.geofence, { placeId: cafe._id })
  if (made.body.geofence.type === 'circle')
    t.strictSame(made.body.geofence.geometryCenter.coordinates, cafe.location.coordinates)
  t.strictSame((await search({ near, categories: 'cafe' })).places, places, 'the same each time')
})

t.test('chains of the sample; each environment has its own ids of them', async (t) => {
  const near = '-34.9061,-56.1934'
  const query = { near, chains: 'mcdonalds', radius: '10000', limit: '100' }
  const { places, meta } = await search(query)
  t.ok(places.length > 10, `${places.length} places`)
  for (const { chain } of places)
    t.strictSame(chain, { name: "McDonald's", slug: 'mcdonalds', domain: 'mcdonalds.com' })
  t.match(meta.attribution, /, name-suggestion-index$/)
  const settings = { chainMappings: { mcdonalds: '17' }, chainMetadata: { mcdonalds: { tier: 1 } } }
  t.match((await api.call('PATCH', '/v1/settings', settings)).body, settings)
  const [mapped] = (await search({ ...query, chains: '17', 'chainMetadata[tier]': '1' })).places
  t.match(mapped.chain, { externalId: '17', metadata: { tier: 1 } })
  t.strictSame((await search({ ...query, chains: '17' }, livePublishable)).places, [], 'G8')
  t.strictSame((await search(query, livePublishable)).places, places, 'G8')
})
