/** GET /v1/geocode/reverse over HTTP, in an invented town and in real extracts. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { OsmExtract, OsmNode, OsmWay } from '../../src/geo/extract/osmPbfWriter.ts'
import { buildRegion, serveGeocoding } from './kit.ts'

const DATA = join(import.meta.dirname, '../../../shared/data')

/** A street from west to east with houses north of it, a crossing street, a park, a café, and a town around them. */
function town(): OsmExtract {
  const nodes: OsmNode[] = []
  const ways: OsmWay[] = []
  const node = (east: number, north: number, tags: Record<string, string> = {}): number => {
    // About metres, from a point in Uruguay without other towns in the test.
    nodes.push({
      id: nodes.length + 1,
      longitude: -56 + east / 92_385,
      latitude: -34 + north / 110_922,
      tags,
    })
    return nodes.length
  }
  const way = (tags: Record<string, string>, ...ids: number[]): number =>
    ways.push({ id: ways.length + 1, nodes: ids, tags })
  const square = (east: number, north: number, side: number): number[] => {
    const ids = [
      node(east, north),
      node(east + side, north),
      node(east + side, north + side),
      node(east, north + side),
    ]
    return [...ids, ids[0]!]
  }
  const corner = node(0, 0)
  way({ highway: 'primary', name: 'Avenida Central' }, node(-500, 0), corner, node(500, 0))
  way({ highway: 'residential', name: 'Calle Norte' }, corner, node(0, 400))
  way({ highway: 'residential' }, node(100, 100), node(100, 300))
  for (const number of [2, 4, 6]) {
    const tags = { 'addr:housenumber': String(number), 'addr:street': 'Avenida Central' }
    node(
      100 * number,
      20,
      number === 2 ? { ...tags, 'addr:city': 'San <i>Juan</i>', 'addr:postcode': '70000' } : tags,
    )
  }
  // The same house as a shop, 10 m away: one address, and a place.
  node(210, 20, {
    'addr:housenumber': '2',
    'addr:street': 'Avenida Central',
    'addr:city': 'San <i>Juan</i>',
    shop: 'bakery',
    name: 'Panadería',
  })
  node(400, 300, { amenity: 'cafe', name: 'Café (Sur)', 'name:de': 'Südcafé' })
  way({ leisure: 'park', name: 'Parque' }, ...square(-300, 100, 150))
  way({ place: 'neighbourhood', name: 'Barrio' }, ...square(-1000, -1000, 2000))
  const outline = square(-3000, -3000, 6000)
  way({}, ...outline.slice(0, 3))
  way({}, ...outline.slice(2))
  const relations = [
    {
      id: 1,
      members: [ways.length - 1, ways.length].map((id) => ({ type: 'way' as const, id, role: 'outer' })),
      tags: { type: 'boundary', boundary: 'administrative', admin_level: '6', name: 'Departamento' },
    },
  ]
  return { nodes, ways, relations }
}

const at = (east: number, north: number): string => `${-34 + north / 110_922},${-56 + east / 92_385}`

const region = await buildRegion(t, 'town', town())
const served = await serveGeocoding(t, [region])
// oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
const reverse = async (query: Record<string, string>): Promise<any[]> => {
  const { status, body } = await served.get('/v1/geocode/reverse', query)
  if (status !== 200) throw new Error(`${status}: ${body.meta.message}`)
  return body.addresses
}

t.test('an address with everything that is known about it', async (t) => {
  const { body } = await served.get('/v1/geocode/reverse', { coordinates: at(190, 50), layers: 'address' })
  t.equal(body.meta.attribution, '© town, © OpenStreetMap contributors, GeoNames')
  t.equal(body.addresses.length, 1)
  const [{ timeZone, latitude, longitude, geometry, ...address }] = body.addresses
  t.strictSame(address, {
    layer: 'address',
    number: '2',
    street: 'Avenida Central',
    addressLabel: 'Avenida Central 2',
    city: 'San i Juan /i',
    postalCode: '70000',
    neighborhood: 'Barrio',
    county: 'Departamento',
    country: 'Uruguay',
    countryCode: 'UY',
    countryFlag: '🇺🇾',
    formattedAddress: 'Avenida Central 2, 70000 San i Juan /i, Uruguay',
    distance: 32,
  })
  t.strictSame(geometry, { type: 'Point', coordinates: [longitude, latitude] })
  t.match(timeZone, {
    id: 'America/Montevideo',
    name: 'Uruguay Standard Time',
    code: 'GMT-3',
    utcOffset: -10_800,
    dstOffset: 0,
  })
  t.match(timeZone.currentTime, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d-03:00$/)
})

t.test('every layer, in the order of preference, whatever the order of the words', async (t) => {
  const all = await reverse({
    coordinates: at(-10, 20),
    layers: 'Country,coarse, street,INTERSECTION,fine,neighborhood',
  })
  t.strictSame(
    all.map(({ layer, addressLabel, placeLabel, distance }) => [layer, addressLabel ?? placeLabel, distance]),
    [
      ['address', 'Avenida Central 2', 210],
      ['place', 'Parque', 161],
      ['intersection', 'Avenida Central & Calle Norte', 22],
      ['street', 'Calle Norte', 10],
      ['neighborhood', 'Barrio', 0],
      ['postalCode', '70000', 0],
      ['locality', 'San i Juan /i', 0],
      ['county', 'Departamento', 0],
      ['country', 'Uruguay', 0],
    ],
  )
  for (const { layer, number, street } of all) {
    t.equal(number !== undefined, layer === 'address')
    t.equal(street !== undefined, ['address', 'intersection', 'street'].includes(layer))
  }
  const standard = await reverse({ coordinates: at(-10, 20) })
  t.strictSame(
    standard.map(({ layer }) => layer),
    ['address', 'postalCode', 'locality', 'county', 'country'],
  )
})

t.test('places: inside, nearest, in the language of the answer; labels without syntax', async (t) => {
  const [park] = await reverse({ coordinates: at(-200, 200), layers: 'place' })
  t.match(park, { placeLabel: 'Parque', distance: 0, categories: ['outdoor-places', 'park'] })
  t.notOk('addressLabel' in park)
  const [cafe] = await reverse({ coordinates: at(400, 310), layers: 'place' })
  t.equal(cafe.placeLabel, 'Café Sur')
  const [german] = await reverse({ coordinates: at(400, 310), layers: 'place', lang: 'de-AT' })
  t.equal(german.placeLabel, 'Südcafé')
  t.equal(german.country, 'Uruguay')
  const [bakery] = await reverse({ coordinates: at(210, 21), layers: 'place' })
  t.match(bakery, { placeLabel: 'Panadería', number: '2', street: 'Avenida Central' })
  t.equal(bakery.formattedAddress, 'Avenida Central 2, San i Juan /i, Uruguay')
})

t.test('beyond a kilometre nothing is found; without a region, the data of the world answer', async (t) => {
  t.teardown(() => (served.regions = [region]))
  t.strictSame(await reverse({ coordinates: at(0, 2000), layers: 'fine,street,intersection' }), [])
  t.strictSame(await reverse({ coordinates: '0,0' }), [])
  served.regions = []
  const { body } = await served.get('/v1/geocode/reverse', { coordinates: at(190, 50), lang: 'ja' })
  t.equal(body.meta.attribution, '© OpenStreetMap contributors, GeoNames', 'borders and time zones')
  t.match(body.addresses, [{ layer: 'country', country: 'ウルグアイ', addressLabel: 'ウルグアイ' }])
  served.regions = [await buildRegion(t, 'again', town())]
  t.equal(
    (await reverse({ coordinates: at(190, 50), layers: 'address' })).length,
    1,
    'a region that came later',
  )
})

t.test('empty parameters are absent, languages are in any case, and others are ignored', async (t) => {
  t.equal(
    (await served.get('/v1/geocode/reverse', { coordinates: '0,0', layers: '', lang: 'EN', other: 'x' }))
      .status,
    200,
  )
})

t.test('corners of the world', async (t) => {
  for (const coordinates of ['90,0', '-90,180', '0,180', '0,-180', '89.999,-179.999'])
    for (const { layer } of await reverse({
      coordinates,
      layers: 'fine,coarse,street,intersection,neighborhood',
    }))
      t.equal(layer, 'country', coordinates)
})

for (const [file, coordinates, label, line] of [
  [
    'queens-village.osm.pbf',
    '40.7201,-73.7398',
    '93-34 217th Street',
    /^93-34 217th Street, Queens, Queens Village, NY 11428 USA$/,
  ],
  ['liechtenstein.osm.pbf', '47.1416,9.5204', 'Herrengasse 9', /^Herrengasse 9, 9490 Vaduz, Liechtenstein$/],
] as const) {
  const path = join(DATA, file)
  const skip = existsSync(path) ? false : `../shared/data/${file} is not there`
  t.test(`${file}: the house at a point`, { skip }, async (t) => {
    served.regions = [await buildRegion(t, file, path)]
    const [address] = await reverse({ coordinates, layers: 'address' })
    t.equal(address.addressLabel, label)
    t.match(address.formattedAddress, line)
  })
}
