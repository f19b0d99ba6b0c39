/** GET /v1/geocode/forward and GET /v1/search/autocomplete over HTTP, in an invented town. */
import t from 'tap'
import type { OsmExtract, OsmNode, OsmWay } from '../../src/geo/extract/osmPbfWriter.ts'
import { buildRegion, serveGeocoding, NEAR_REQUESTER } from './kit.ts'

const LATITUDE = -34
const LONGITUDE = -56
const METERS = [92_385, 110_922] as const

/**
 * A town in Uruguay: avenues with houses, a crossing, a square, a café, a second street of one name far away, and
 * houses of which the postal code is known.
 */
function town(): OsmExtract {
  const nodes: OsmNode[] = []
  const ways: OsmWay[] = []
  const node = (east: number, north: number, tags: Record<string, string> = {}): number => {
    nodes.push({
      id: nodes.length + 1,
      longitude: LONGITUDE + east / METERS[0],
      latitude: LATITUDE + north / METERS[1],
      tags,
    })
    return nodes.length
  }
  const way = (tags: Record<string, string>, ...ids: number[]): number =>
    ways.push({ id: ways.length + 1, nodes: ids, tags })
  const house = (east: number, north: number, number: string, street: string, more = {}): number =>
    node(east, north, {
      'addr:housenumber': number,
      'addr:street': street,
      'addr:city': 'San Juan',
      ...more,
    })
  const corner = node(0, 0)
  way({ highway: 'primary', name: 'Avenida General Artigas' }, node(-500, 0), corner, node(500, 0))
  // The name changes its spelling on the way.
  way({ highway: 'primary', name: 'Av. Gral. Artigas' }, node(500, 0), node(1100, 0))
  way({ highway: 'residential', name: 'José Batlle y Ordóñez' }, corner, node(0, 400))
  way({ highway: 'residential', name: 'Calle 25 de Mayo' }, node(-300, 300), node(300, 300))
  // The same name in a village 12 km away.
  way({ highway: 'residential', name: 'Calle 25 de Mayo' }, node(12_000, 0), node(12_300, 0))
  for (const number of [100, 102, 104, 110, 1000, 1002])
    house(number, 20, String(number), 'Avenida General Artigas')
  house(101, -20, '101', 'Avenida General Artigas', { 'addr:postcode': '70001' })
  house(111, -20, '111', 'Avenida General Artigas', { 'addr:postcode': '70001' })
  for (const unit of ['A1', 'B2']) house(50, 310, '50', 'Calle 25 de Mayo', { 'addr:unit': unit })
  house(60, 310, '60 bis', 'Calle 25 de Mayo')
  house(12_100, 20, '50', 'Calle 25 de Mayo', { 'addr:city': 'Villa Norte' })
  node(200, 350, { amenity: 'cafe', name: 'Café Ñandú (Centro)', 'name:de': 'Strauß' })
  node(0, 50, { place: 'town', name: 'San Juan', population: '20000' })
  node(12_000, 50, { place: 'village', name: 'Villa Norte' })
  return { nodes, ways, relations: [] }
}

const region = await buildRegion(t, 'town', town())
const served = await serveGeocoding(t, [region])
// oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
const addresses = async (path: string, query: Record<string, string>): Promise<any[]> => {
  const { status, body } = await served.get(path, query)
  if (status !== 200) throw new Error(`${status}: ${body.meta.message}`)
  return body.addresses
}
const forward = (query: string, more = {}) => addresses('/v1/geocode/forward', { query, ...more })
const complete = (query: string, more = {}) => addresses('/v1/search/autocomplete', { query, ...more })
const labels = async (found: ReturnType<typeof forward>): Promise<string[]> =>
  (await found).map(({ addressLabel, placeLabel }) => addressLabel ?? placeLabel)

t.test('an address with everything that is known about it', async (t) => {
  const { body } = await served.get('/v1/geocode/forward', { query: 'Avenida General Artigas 101, San Juan' })
  t.equal(body.meta.attribution, '© town, © OpenStreetMap contributors, GeoNames')
  t.equal(body.addresses.length, 1)
  const [{ timeZone, latitude, longitude, geometry, ...address }] = body.addresses
  t.strictSame(address, {
    layer: 'address',
    confidence: 'exact',
    number: '101',
    street: 'Avenida General Artigas',
    addressLabel: 'Avenida General Artigas 101',
    city: 'San Juan',
    postalCode: '70001',
    country: 'Uruguay',
    countryCode: 'UY',
    countryFlag: '🇺🇾',
    formattedAddress: 'Avenida General Artigas 101, 70001 San Juan, Uruguay',
    ...(address.state !== undefined && { state: address.state }),
    ...(address.county !== undefined && { county: address.county }),
  })
  t.strictSame(geometry, { type: 'Point', coordinates: [longitude, latitude] })
  t.ok(Math.abs(longitude - (LONGITUDE + 101 / METERS[0])) < 1e-6)
  t.match(timeZone, { id: 'America/Montevideo', utcOffset: -10_800 })
})

t.test('case, marks, abbreviations and the order of the words do not matter', async (t) => {
  for (const query of [
    'avenida general artigas 101',
    'AV. GRAL. ARTIGAS 101',
    'avda gral artigas 101 san juan uruguay',
    '101 Avenida General Artigas',
    '101, Artigas, San Juan, UY',
    'San Juan, Artigas 101',
    'artigas 101 uruguay',
    'artigas, 101',
    '  Artigas   №... 101 ',
    'av artigas 101 "* NEAR( -',
  ])
    t.same((await labels(forward(query)))[0], 'Avenida General Artigas 101', query)
  t.strictSame(await labels(forward('josé batlle y ordóñez', { layers: 'street' })), [
    'José Batlle y Ordóñez',
  ])
  t.strictSame(await labels(forward('jose batlle y ordonez', { layers: 'street' })), [
    'José Batlle y Ordóñez',
  ])
})

t.test('one wrong letter is forgiven where nothing fits as it is', async (t) => {
  for (const query of ['artgas 101', 'artigass 101', 'aritgas 101', 'artigaz 101', 'arrtigas 101 san jaun'])
    t.equal((await labels(forward(query)))[0], 'Avenida General Artigas 101', query)
  t.strictSame(await forward('artgs 101'), [], 'two wrong letters are too many')
})

t.test('units, and numbers with a suffix', async (t) => {
  const [typed] = await forward('25 de mayo 50 apto b2, San Juan')
  t.match(typed, { unit: 'B2', number: '50', city: 'San Juan', confidence: 'exact' })
  t.match((await forward('artigas 101 apt 7'))[0], { unit: '7', addressLabel: /101 7$/ })
  t.match((await forward('25 de mayo 60 bis'))[0], { number: '60 bis', confidence: 'exact' })
  t.match((await forward('25 de mayo 60'))[0], { number: '60', confidence: 'interpolated' })
  t.match((await forward('artigas 101b'))[0], { number: '101B', confidence: 'interpolated' })
})

t.test('between known numbers of its side, otherwise the street, otherwise the city', async (t) => {
  const [between] = await forward('Artigas 106')
  t.match(between, { confidence: 'interpolated', number: '106', layer: 'address' })
  // A third of the way from 104 to 110.
  t.ok(Math.abs(between.longitude - (LONGITUDE + 106 / METERS[0])) < 1e-6, String(between.longitude))
  t.match(await forward('Artigas 5000'), [{ confidence: 'fallback', layer: 'street' }])
  t.match(await forward('Artigas 5000', { layers: 'address,locality' }), [
    { confidence: 'fallback', layer: 'locality', city: 'San Juan' },
  ])
  t.match(await forward('Calle Desconocida 7, Villa Norte'), [
    { confidence: 'fallback', layer: 'locality', city: 'Villa Norte' },
  ])
  t.match(await forward('PO Box 7, Villa Norte'), [{ confidence: 'fallback', layer: 'locality' }])
  t.strictSame(await forward('Calle Desconocida 7'), [])
})

t.test(
  'a house that is not known in a country is not in a village with the name of the country',
  async (t) => {
    const found = async (query: string) =>
      (await forward(query)).map(({ confidence, layer, countryCode, stateCode, city }) =>
        [confidence, layer, stateCode ?? countryCode, city].join(' ').trim(),
      )
    for (const [query, expected] of [
      ['Artigas 101, Argentina', 'fallback country AR'],
      ['Calle Desconocida 7, Mexico', 'fallback country MX'],
      ['7 Unknown Street, Peru', 'fallback country PE'],
      ['7 Unknown Street, Nevada', 'fallback state NV'],
      // Cities that are larger than most, and those with a larger area around them, are meant.
      ['Calle Desconocida 7, Granada', 'fallback locality ES Granada'],
      ['7 Rue Inconnue, Luxembourg', 'fallback locality LU Luxembourg'],
      ['7 Unknown Street, Quebec', 'fallback locality CA Québec'],
      ['Calle Desconocida 7, Guadalupe, Costa Rica', 'fallback locality CR Guadalupe'],
      ['7 Unknown Street, Lebanon, PA', 'fallback locality PA Lebanon'],
      ['7 Unknown Street, Georgia', 'fallback state GA'],
    ] as const)
      t.strictSame(await found(query), [expected], query)
  },
)

t.test('streets of one name: joined where they are near, told apart by their city', async (t) => {
  t.strictSame(await labels(forward('General Artigas', { layers: 'street' })), ['Avenida General Artigas'])
  const both = await forward('25 de mayo 50', { layers: 'address' })
  t.strictSame(new Set(both.map(({ city }) => city)), new Set(['San Juan', 'Villa Norte']))
  for (const city of ['San Juan', 'Villa Norte'])
    t.strictSame(
      new Set((await forward(`25 de Mayo 50, ${city}`, { layers: 'address' })).map((one) => one.city)),
      new Set([city]),
    )
})

t.test('crossings', async (t) => {
  for (const query of [
    'Artigas y Batlle y Ordoñez',
    'Av. Artigas esq. José Batlle y Ordóñez, San Juan',
    'jose batlle y ordonez & artigas',
    'artigas / batlle y ordonez',
    'esquina de General Artigas con Batlle y Ordóñez',
  ])
    t.match((await forward(query))[0], { layer: 'intersection', confidence: 'exact' }, query)
})

t.test('layers, countries and languages', async (t) => {
  for (const { layer } of await forward('Café Ñandú'))
    t.not(layer, 'place', 'places are only found where they are asked for')
  t.match(await forward('cafe nandu', { layers: 'place' }), [
    { placeLabel: 'Café Ñandú Centro', categories: ['food-beverage', 'cafe'] },
  ])
  t.match(await forward('strauss', { layers: 'place', lang: 'de' }), [{ placeLabel: 'Strauß' }])
  t.match(await forward('San Juan', { country: 'uy', layers: 'locality' }), [{ city: 'San Juan' }])
  for (const { countryCode } of await forward('San Juan', { country: 'PR, ar', layers: 'locality' }))
    t.ok(['PR', 'AR'].includes(countryCode), countryCode)
  t.strictSame(await forward('Artigas 101', { country: 'AR', layers: 'address' }), [])
  t.match(await forward('Uruguay', { layers: 'country', lang: 'ja' }), [{ country: 'ウルグアイ' }])
  t.match(await forward('Alemania', { layers: 'country' }), [{ countryCode: 'DE', country: 'Germany' }])
  t.match(await forward('Springfield, Illinois'), [{ layer: 'locality', stateCode: 'IL' }])
  t.match(await forward('1600 Pennsylvania Avenue NW, Washington, DC 20500'), [
    { layer: 'postalCode', postalCode: '20500', stateCode: 'DC', confidence: 'fallback' },
  ])
  t.match(await forward('Brooklyn NY 11201'), [{ layer: 'postalCode', postalCode: '11201' }])
  t.match((await forward('Kings County, NY'))[0], {
    layer: 'county',
    formattedAddress: 'Kings County, NY USA',
  })
})

t.test('completions: the last word is a prefix unless a space or comma follows', async (t) => {
  const near = `${LATITUDE},${LONGITUDE}`
  t.strictSame(await labels(complete('arti', { near, layers: 'street' })), ['Avenida General Artigas'])
  t.strictSame(await labels(complete('arti ', { near, layers: 'street' })), [])
  t.strictSame(await labels(complete('arti,', { near, layers: 'street' })), [])
  t.strictSame(await labels(complete('atrig', { near, layers: 'street' })), ['Avenida General Artigas'])
  const [first] = await complete('caf', { near, layers: 'place' })
  t.match(first, { placeLabel: 'Café Ñandú Centro', distance: Number })
  t.notOk('confidence' in first)
  t.notOk('distance' in (await complete('artig'))[0])
})

t.test('completions of house numbers', async (t) => {
  const near = `${LATITUDE},${LONGITUDE}`
  const numbers = async (query: string, more = {}): Promise<string[]> =>
    (await complete(query, { near, layers: 'address', ...more })).map(({ number }) => number)
  t.strictSame(await numbers('artigas 10'), ['100', '101', '102', '104', '1000', '1002'])
  t.strictSame(await numbers('artigas 100'), ['100', '1000', '1002'], 'the equal one first')
  t.strictSame(await numbers('100 artig'), ['100'], 'before the street it is whole')
  t.strictSame(await numbers('artigas 10 '), [], 'a space ends the number')
  t.strictSame(await numbers('general art', { limit: '3' }), ['100', '101', '102'], 'a street as its houses')
  t.strictSame(
    (await complete('25 de mayo 50', { near, layers: 'address', limit: '2' })).map(({ unit }) => unit),
    ['A1', 'B2'],
  )
  t.strictSame(await numbers('artigas 1', { postalCode: '70001' }), ['101', '111'])
  const standard = await complete('general artigas', { near })
  t.equal(standard[0].layer, 'street')
  const mailable = await complete('artigas', { near, mailable: 'true' })
  t.ok(mailable.every(({ number }) => number !== undefined))
})

t.test('completions nearby come first, and countries are a filter', async (t) => {
  const [here] = await complete('san juan', { near: `${LATITUDE},${LONGITUDE}`, layers: 'locality' })
  t.match(here, { city: 'San Juan', countryCode: 'UY', distance: 50 })
  const there = await complete('san juan', { near: '18.46,-66.1', layers: 'locality' })
  t.match(there[0], { countryCode: 'PR' })
  for (const { countryCode } of await complete('san j', { countryCode: 'AR,PR', layers: 'locality' }))
    t.ok(['AR', 'PR'].includes(countryCode))
})

t.test('without near, the place of the IP address counts, if it is known', async (t) => {
  const first = async (query: Record<string, string>, ip: string) =>
    (
      await served.get(
        '/v1/search/autocomplete',
        { query: 'san juan', layers: 'locality', ...query },
        { 'x-forwarded-for': ip },
      )
    ).body.addresses[0]
  const there = await first({}, NEAR_REQUESTER.ip)
  t.match(there, { countryCode: 'PR', distance: Number })
  t.match(
    await first({ near: `${LATITUDE},${LONGITUDE}` }, NEAR_REQUESTER.ip),
    { countryCode: 'UY' },
    'near wins',
  )
  t.notOk('distance' in (await first({}, '24.50.200.2')))
  t.notOk('distance' in (await first({}, 'nonsense')))
})

t.test('what cannot be found is an empty list', async (t) => {
  for (const path of ['geocode/forward', 'search/autocomplete'])
    t.match(await served.get(`/v1/${path}`, { query: ' ' }), {
      status: 400,
      body: { meta: { param: 'query' } },
    })
  for (const query of ['!', '"', '*', '(', '-', '—', '😀', "'; DROP TABLE words; --", 'مرحبا', '\u202e'])
    for (const path of ['geocode/forward', 'search/autocomplete'])
      t.strictSame(await addresses(`/v1/${path}`, { query }), [], `${path} ${query}`)
})
