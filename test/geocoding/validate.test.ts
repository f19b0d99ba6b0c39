/** GET /v1/addresses/validate over HTTP, in an invented quarter of Brooklyn. */
import t from 'tap'
import type { OsmExtract, OsmNode, OsmWay } from '../../src/geo/extract/osmPbfWriter.ts'
import { buildRegion, serveGeocoding } from './kit.ts'

/** Jay Street with units and a shop, two streets that differ in their direction, one that differs in its suffix. */
function quarter(): OsmExtract {
  const nodes: OsmNode[] = []
  const ways: OsmWay[] = []
  const node = (east: number, north: number, tags: Record<string, string> = {}): number => {
    nodes.push({
      id: nodes.length + 1,
      longitude: -73.9868 + east / 84_300,
      latitude: 40.7 + north / 111_050,
      tags,
    })
    return nodes.length
  }
  const house = (east: number, north: number, number: string, street: string, more = {}): number =>
    node(east, north, {
      'addr:housenumber': number,
      'addr:street': street,
      'addr:postcode': '11201',
      ...more,
    })
  for (const [north, name] of [
    [0, 'Jay Street'],
    [400, 'North Pine Street'],
    [500, 'South Pine Street'],
    [600, 'Oak Avenue'],
    [700, 'Oak Road'],
  ] as const) {
    ways.push({
      id: ways.length + 1,
      nodes: [node(-200, north), node(200, north)],
      tags: { highway: 'residential', name },
    })
    house(0, north + 10, '20', name)
    house(40, north + 10, '30', name)
  }
  for (const unit of ['1A', '2B']) house(100, 10, '40', 'Jay Street', { 'addr:unit': unit })
  house(-100, 10, '10', 'Jay Street', { shop: 'books', name: 'Powerhouse' })
  return { nodes, ways, relations: [] }
}

const served = await serveGeocoding(t, [await buildRegion(t, 'brooklyn', quarter())])
const STANDARD = { city: 'Brooklyn', stateCode: 'NY', postalCode: '11201', countryCode: 'US' }
const validate = async (query: Record<string, string>) => {
  const { status, body } = await served.get('/v1/addresses/validate', { ...STANDARD, ...query })
  if (status !== 200) throw new Error(`${status}: ${body.meta.message}`)
  return body
}
const statusOf = async (query: Record<string, string>): Promise<string> =>
  (await validate(query)).result.verificationStatus

t.test('a verified address, as the postal service writes it', async (t) => {
  const { address, result, meta } = await validate({
    addressLabel: '20 Jay Street',
    postalCode: '11201-8322',
  })
  t.strictSame(result, { verificationStatus: 'verified' })
  t.strictSame(address, {
    addressLabel: '20 JAY ST',
    number: '20',
    street: 'JAY ST',
    city: 'BROOKLYN',
    stateCode: 'NY',
    postalCode: '11201',
    plus4: '8322',
    county: 'KINGS',
    countryCode: 'US',
    formattedAddress: '20 JAY ST, BROOKLYN, NY 11201-8322 US',
    metadata: { recordType: 'S' },
  })
  t.equal(meta.attribution, '© brooklyn, © OpenStreetMap contributors, GeoNames')
  t.equal(await statusOf({ number: '20', street: 'jay st.', stateCode: 'ny', countryCode: 'us' }), 'verified')
  t.equal(await statusOf({ addressLabel: '20 N Pine St' }), 'verified')
  t.equal((await validate({ addressLabel: '10 Jay St' })).address.metadata.propertyType, 'commercial')
})

t.test('corrected: spelling, city, code; numbers between known ones; streets alone', async (t) => {
  t.match(await validate({ addressLabel: '20 Jaye Street' }), {
    address: { addressLabel: '20 JAY ST' },
    result: { verificationStatus: 'partially verified' },
  })
  t.equal(await statusOf({ addressLabel: '30 Oka Avenue' }), 'unverified', 'too short for a wrong letter')
  const city = await validate({ addressLabel: '20 Jay St', city: 'Buffalo' })
  t.match(city, { address: { city: 'BROOKLYN' }, result: { verificationStatus: 'partially verified' } })
  const code = await validate({ addressLabel: '20 Jay St', postalCode: '11205' })
  t.equal(code.result.verificationStatus, 'unverified', 'no addresses with that code')
  t.equal(await statusOf({ addressLabel: '24 Jay St' }), 'partially verified')
  t.equal(await statusOf({ number: '9000', street: 'Jay Street' }), 'partially verified')
  t.equal(await statusOf({ addressLabel: '20 Nowhere Street' }), 'unverified')
})

t.test('ambiguous without the direction or the suffix', async (t) => {
  const { address, result } = await validate({ addressLabel: '20 Pine Street' })
  t.equal(result.verificationStatus, 'ambiguous')
  t.equal(address.addressLabel, '20 PINE ST')
  t.equal(await statusOf({ addressLabel: '20 Oak' }), 'ambiguous')
})

t.test('units', async (t) => {
  const known = await validate({ addressLabel: '40 Jay Street Apartment 1a' })
  t.match(known, {
    address: { unit: 'APT 1A', addressLabel: '40 JAY ST APT 1A', metadata: { recordType: 'H' } },
    result: { verificationStatus: 'verified' },
  })
  t.match(await validate({ number: '40', street: 'Jay St', unit: '9' }), {
    address: { unit: '# 9' },
    result: { verificationStatus: 'partially verified', analysis: ['unit:invalid'] },
  })
  t.match(await validate({ addressLabel: '40 Jay St' }), {
    address: { metadata: { recordType: 'H' } },
    result: { verificationStatus: 'partially verified', analysis: ['unit:missing'] },
  })
  t.match(await validate({ addressLabel: '20 Jay St #7' }), {
    address: { unit: '# 7' },
    result: { verificationStatus: 'verified' },
  })
})

t.test('boxes, routes, general delivery', async (t) => {
  for (const [line, standard, recordType] of [
    ['P.O. Box 7', 'PO BOX 7', 'P'],
    ['post office box 7a', 'PO BOX 7A', 'P'],
    ['Rural Route 2 Box 15', 'RR 2 BOX 15', 'R'],
    ['HC 1', 'HC 1', 'R'],
    ['general delivery', 'GENERAL DELIVERY', 'G'],
  ] as const)
    t.match(await validate({ addressLabel: line }), {
      address: { addressLabel: standard, metadata: { recordType } },
      result: { verificationStatus: 'partially verified' },
    })
  t.equal(await statusOf({ addressLabel: 'PO Box 7', city: 'Buffalo' }), 'unverified')
})

t.test('unknown codes, wrong states, and places without addresses are unverified', async (t) => {
  t.equal(await statusOf({ addressLabel: '20 Jay St', postalCode: '00000' }), 'unverified')
  t.equal(await statusOf({ addressLabel: '20 Jay St', stateCode: 'CA' }), 'unverified')
  t.equal(await statusOf({ addressLabel: '20 Jay St', postalCode: 'x' }), 'unverified')
  const { address, result } = await validate({
    addressLabel: '111 Wellington Street',
    city: 'Ottawa',
    stateCode: 'ON',
    postalCode: 'k1a0a9',
    countryCode: 'CA',
  })
  t.equal(result.verificationStatus, 'unverified')
  t.equal(address.formattedAddress, '111 WELLINGTON ST, OTTAWA, ON K1A 0A9 CA')
})

t.test('another country is refused, and an address without number or street', async (t) => {
  const line = { addressLabel: '20 Jay St' }
  for (const [query, param] of [
    [{ ...line, countryCode: 'UY' }, 'countryCode'],
    [{}, 'number'],
    [{ number: '20' }, 'street'],
    [{ street: 'Jay St' }, 'number'],
  ] as const) {
    const { status, body } = await served.get('/v1/addresses/validate', { ...STANDARD, ...query })
    t.equal(status, 400, JSON.stringify(query).slice(0, 80))
    t.equal(body.meta.param, param)
  }
})
