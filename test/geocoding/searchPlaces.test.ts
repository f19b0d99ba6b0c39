/** GET /v1/search/places over HTTP, with an invented extract in New York. */
import t from 'tap'
import { pointDistance } from '../../src/geometry/distance.ts'
import { placeId } from '../../src/geo/records/objectRecords.ts'
import { DEFAULT_SETTINGS } from '../../src/model/settings.ts'
import { buildRegion, serveGeocoding } from './kit.ts'

/** Between the airports LaGuardia and John F. Kennedy, some 9 km from each. */
const [LONGITUDE, LATITUDE] = [-73.82, 40.71]
const NEAR = `${LATITUDE},${LONGITUDE}`
/** About a metre north. */
const METER = 1 / 111_195

const place = (id: number, metersNorth: number, tags: Record<string, string>) => ({
  id,
  longitude: LONGITUDE,
  latitude: LATITUDE + metersNorth * METER,
  tags,
})
const extract = {
  dataOf: 0,
  nodes: [
    place(1, 100, {
      amenity: 'fast_food',
      name: 'McDonald’s <b>Queens</b>',
      brand: "McDonald's",
      'brand:wikidata': 'Q38076',
      'addr:housenumber': '82-10',
      'addr:street': 'Main Street',
      'addr:city': 'Queens',
      'addr:postcode': '11435',
      opening_hours: 'Mo-Fr 09:00-22:00; Sa,Su 10:00-02:00; PH off',
      phone: '+1 718 555 0100',
      website: 'https://example.com/queens',
    }),
    place(2, 200, { amenity: 'fast_food', name: "McDonald's" }),
    place(3, 300, { amenity: 'fast_food', name: 'Burger King', opening_hours: 'sunrise-sunset' }),
    place(4, 400, { amenity: 'cafe', name: 'Corner Café', 'name:es': 'Café de la esquina' }),
    place(5, 500, { shop: 'supermarket', name: 'Corner Market' }),
    place(6, 600, { amenity: 'restaurant;bar', name: 'Corner Restaurant' }),
    // At the same distance.
    ...[10, 11, 12, 13, 14].map((id) => place(id, 5000, { amenity: 'pharmacy', name: `Pharmacy ${id}` })),
    {
      id: 20,
      longitude: -73.78,
      latitude: 40.64,
      tags: { aeroway: 'aerodrome', name: 'Kennedy', iata: 'JFK' },
    },
    {
      id: 21,
      longitude: -73.77,
      latitude: 40.64,
      tags: { aeroway: 'terminal', name: 'Terminal without code' },
    },
  ],
  ways: [{ id: 1, nodes: [1, 2], tags: { highway: 'residential', name: 'Main Street' } }],
  relations: [],
}

const region = await buildRegion(t, 'queens', extract)
const served = await serveGeocoding(t, [region])
type Query = Readonly<Record<string, string>>

async function search(query: Query) {
  const { status, body } = await served.get('/v1/search/places', query)
  t.equal(status, 200, JSON.stringify(body.meta))
  return body
}
const namesOf = async (query: Query): Promise<string[]> =>
  (await search({ near: NEAR, ...query })).places.map(({ name }: { name: string }) => name)

t.test('a place with everything that is known about it', async (t) => {
  const { meta, places } = await search({ near: NEAR, chains: 'mcdonalds', limit: '1' })
  t.strictSame(places, [
    {
      _id: placeId('osm/node/1'),
      name: 'McDonald’s b Queens /b',
      categories: ['food-beverage', 'restaurant', 'fast-food-restaurant'],
      location: { type: 'Point', coordinates: [LONGITUDE, 40.7108993] },
      address: {
        country: 'United States',
        countryCode: 'US',
        countryFlag: '🇺🇸',
        state: 'New York',
        stateCode: 'NY',
        county: 'Queens County',
        borough: 'Queens',
        city: 'Queens',
        postalCode: '11435',
        number: '82-10',
        street: 'Main Street',
        formattedAddress: '82-10 Main Street, Queens, NY 11435 USA',
      },
      operatingHours: {
        ...Object.fromEntries(
          ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday'].map((day) => [day, [['09:00', '22:00']]]),
        ),
        Saturday: [['10:00', '02:00']],
        Sunday: [['10:00', '02:00']],
      },
      metadata: {
        openingHours: 'Mo-Fr 09:00-22:00; Sa,Su 10:00-02:00; PH off',
        phone: '+1 718 555 0100',
        website: 'https://example.com/queens',
      },
      chain: { name: "McDonald's", slug: 'mcdonalds', domain: 'mcdonalds.com' },
    },
  ])
  t.strictSame(meta, {
    code: 200,
    attribution: '© queens, © OpenStreetMap contributors, GeoNames, name-suggestion-index',
  })
  const [burger] = (await search({ near: NEAR, chains: 'burger-king' })).places
  t.strictSame(burger.metadata, { openingHours: 'sunrise-sunset' })
  t.notOk('operatingHours' in burger, 'not a weekly plan')
  const [cafe] = (await search({ near: NEAR, categories: 'cafe' })).places
  t.equal(cafe.name, 'Corner Café')
  for (const name of ['chain', 'group', 'operatingHours', 'metadata']) t.notOk(name in cafe, name)
  t.match(cafe.address, { formattedAddress: /, NY 11\d{3} USA$/ })
})

t.test('chains, categories, groups: each kind must fit, any value of it; others fit nothing', async (t) => {
  t.strictSame(await namesOf({ chains: 'burger-king, MCDONALDS,unknown' }), [
    'McDonald’s b Queens /b',
    "McDonald's",
    'Burger King',
  ])
  t.strictSame(await namesOf({ categories: 'cafe,Bar' }), ['Corner Café', 'Corner Restaurant'])
  t.strictSame(
    await namesOf({ categories: 'food-beverage' }),
    [
      'McDonald’s b Queens /b',
      "McDonald's",
      'Burger King',
      'Corner Café',
      'Corner Market',
      'Corner Restaurant',
    ],
    'a parent finds its children',
  )
  t.strictSame(await namesOf({ chains: 'burger-king', categories: 'cafe' }), [])
  t.strictSame(await namesOf({ chains: 'burger-king', categories: 'cafe,restaurant' }), ['Burger King'])
  t.strictSame(await namesOf({ chains: 'unknown', categories: 'cafe' }), [])
  t.strictSame(await namesOf({ groups: 'unknown' }), [])
  t.strictSame(await namesOf({ groups: 'airport', categories: 'cafe', radius: '10000' }), [])
  for (const hostile of [
    "' OR 1=1 --",
    '"',
    '*',
    'NEAR(a b)',
    '<script>',
    '__proto__',
    '😀',
    '\u202eabc',
    'a%00b',
  ])
    for (const name of ['chains', 'categories', 'groups'])
      t.strictSame(await namesOf({ [name]: hostile }), [], hostile)
})

t.test('the nearest first, then by _id, within the radius, up to the limit', async (t) => {
  t.strictSame(await namesOf({ categories: 'food-beverage', radius: '250' }), [
    'McDonald’s b Queens /b',
    "McDonald's",
  ])
  t.strictSame(await namesOf({ categories: 'food-beverage', limit: '1' }), ['McDonald’s b Queens /b'])
  const { places } = await search({ near: NEAR, categories: 'pharmacy', radius: '5001.5' })
  const ids = places.map(({ _id }: { _id: string }) => _id)
  t.strictSame(ids, [10, 11, 12, 13, 14].map((id) => placeId(`osm/node/${id}`)).sort())
  const first = await search({ near: NEAR, categories: 'pharmacy', radius: '5001.5', limit: '2' })
  t.strictSame(first.places, places.slice(0, 2))
  t.strictSame(await namesOf({ categories: 'pharmacy', radius: '4980' }), [])
})

t.test('airports: by code in any case, of the region, else of the world', async (t) => {
  const byCode = async (query: Query) => (await search(query)).places
  const [kennedy] = await byCode({ iataCode: ' jfk ' })
  t.match(kennedy, { _id: placeId('iata/JFK'), name: 'Kennedy', group: 'major-us-airport' })
  t.strictSame(
    await byCode({ iataCode: 'JFK', near: 'nowhere', chains: 'mcdonalds', country: '?' }),
    [kennedy],
    'whatever else is sent',
  )
  const { places, meta } = await search({ iataCode: 'MVD' })
  t.match(places, [
    {
      _id: placeId('iata/MVD'),
      categories: ['travel-transportation', 'transportation-terminal', 'airport'],
      group: 'airport',
      address: { countryCode: 'UY' },
    },
  ])
  t.match(meta.attribution, /^© OpenStreetMap contributors, GeoNames, OurAirports$/)
  t.strictSame(await byCode({ iataCode: 'QQQ' }), [])
  for (const iataCode of ['JF', 'JFKX', 'J2K', 'ÄÖÜ', "J'K", '   ', 'x'.repeat(60)]) {
    const { status, body } = await served.get('/v1/search/places', { iataCode })
    t.same([status, body.meta.param], [400, 'iataCode'], iataCode)
  }
  const near = { near: NEAR, radius: '10000' }
  const found = (await search({ ...near, groups: 'airport' })).places
  t.match(
    found.map(({ name, group }: Record<string, string>) => [name, group]),
    [
      ['Kennedy', 'major-us-airport'],
      [/La ?Guardia/, 'major-us-airport'],
    ],
    'one of the world beside one of the region, which is there once',
  )
  t.strictSame((await search({ ...near, groups: 'Major-US-Airport' })).places, found)
  const airports = (await search({ ...near, categories: 'airport' })).places
  t.equal(airports.length, 3, 'also a terminal without a code')
  t.equal(airports.filter(({ group }: { group?: string }) => group === undefined).length, 1)
  t.strictSame((await search({ ...near, groups: 'airport', country: 'US' })).places, found)
  t.strictSame((await search({ ...near, groups: 'airport', country: 'CA,uy' })).places, [])
})

t.test('settings: own ids and data of chains; the filter by data compares texts', async (t) => {
  t.teardown(() => (served.settings = DEFAULT_SETTINGS))
  served.settings = {
    ...DEFAULT_SETTINGS,
    chainMappings: { mcdonalds: 'MC-17', 'burger-king': 'mcdonalds' },
    chainMetadata: {
      mcdonalds: { tier: 1, drive: true, note: 'a "b" c' },
      'burger-king': { tier: 2, drive: true },
      unknown: { tier: 1 },
    },
  }
  const chainsOf = async (query: Query) =>
    (await search({ near: NEAR, ...query })).places.map(
      ({ chain }: { chain?: { slug: string } }) => chain?.slug,
    )
  const [one] = (await search({ near: NEAR, chains: 'mc-17', limit: '1' })).places
  t.strictSame(one.chain, {
    name: "McDonald's",
    slug: 'mcdonalds',
    domain: 'mcdonalds.com',
    externalId: 'MC-17',
    metadata: { tier: 1, drive: true, note: 'a "b" c' },
  })
  t.strictSame(
    await chainsOf({ chains: 'mcdonalds' }),
    ['mcdonalds', 'mcdonalds', 'burger-king'],
    'slug and id',
  )
  const all = { categories: 'food-beverage' }
  for (const [key, value, expected] of [
    ['tier', '1', 2],
    ['tier', '"1"', 2],
    ['tier', '1.0', 0],
    ['tier', '3', 0],
    ['drive', 'true', 3],
    ['note', 'a "b" c', 2],
    ['note', '"a "b" c"', 2],
    ['other', 'x', 0],
  ] as const)
    t.equal(
      (await chainsOf({ ...all, [`chainMetadata[${key}]`]: value })).length,
      expected,
      `${key}=${value}`,
    )
  t.strictSame(await chainsOf({ ...all, 'chainMetadata[drive]': 'true', 'chainMetadata[tier]': '2' }), [
    'burger-king',
  ])
  t.strictSame(await chainsOf({ chains: 'burger-king', 'chainMetadata[tier]': '1' }), [])
  t.equal(
    (await chainsOf({ ...all, chainMetadata: '[object Object]' })).length,
    6,
    'as careless clients send it',
  )
})

t.test('without a point or a kind, what is missing is named', async (t) => {
  const CASES: readonly (readonly [param: string, query: Query])[] = [
    ['near', {}],
    ['near', { categories: 'cafe' }],
    ['chains', { near: NEAR }],
    ['chains', { near: NEAR, chains: ' , ,' }],
    ['chains', { near: NEAR, 'chainMetadata[a]': '1' }],
  ]
  for (const [param, query] of CASES) {
    const { status, body } = await served.get('/v1/search/places', query)
    t.same([status, body.meta.param], [400, param], JSON.stringify(query).slice(0, 80))
  }
  const many = Array.from({ length: 600 }, (_, i) => `c${i}`).join()
  t.strictSame(await namesOf({ chains: many, categories: many, groups: many }), [])
})

t.test('where regions overlap a place is there once, of the first; without a region, airports', async (t) => {
  t.teardown(() => (served.regions = [region]))
  const renamed = extract.nodes.map((node) =>
    node.id === 4 ? place(4, 450, { ...node.tags, name: 'Renamed' }) : node,
  )
  const other = await buildRegion(t, 'other', { ...extract, nodes: renamed })
  served.regions = [other, region]
  t.equal((await namesOf({ categories: 'food-beverage' })).length, 6)
  served.regions = []
  t.strictSame(await namesOf({ categories: 'food-beverage' }), [])
  t.equal((await namesOf({ groups: 'airport', radius: '10000' })).length, 2)
})

t.test('the answer to the first test is the nearest indeed', async (t) => {
  const { places } = await search({ near: NEAR, categories: 'food-beverage', limit: '100' })
  const meters = places.map(({ location }: { location: { coordinates: [number, number] } }) =>
    pointDistance(LATITUDE, LONGITUDE, location.coordinates[1], location.coordinates[0]),
  )
  t.strictSame(
    meters,
    meters.toSorted((a: number, b: number) => a - b),
  )
})
