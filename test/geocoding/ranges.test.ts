/** House numbers of which only those at the ends of a line are known, over HTTP and against a look at all numbers. */
import t from 'tap'
import type { OsmExtract, OsmNode, OsmWay } from '../../src/geo/extract/osmPbfWriter.ts'
import { numberValue } from '../../src/geo/records/houseNumbers.ts'
import {
  hasParity,
  nearestNumber,
  numberOnLine,
  rangeValues,
  type NumberRange,
} from '../../src/geo/records/numberRanges.ts'
import { pointDistance } from '../../src/geometry/distance.ts'
import type { Position } from '../../src/model/geofence.ts'
import fc from '../kit/fastCheck.ts'
import { buildRegion, serveGeocoding } from './kit.ts'

const WEST = -73.9868
const SOUTH = 40.7
const EAST_METERS = 84_300
const NORTH_METERS = 111_050

/** Long Lane goes 200 m east, then 200 m north, and has odd numbers on its way; the Elm Streets have ranges only. */
function quarter(): OsmExtract {
  const nodes: OsmNode[] = []
  const ways: OsmWay[] = []
  const node = (east: number, north: number, tags: Record<string, string> = {}): number => {
    nodes.push({
      id: nodes.length + 1,
      longitude: WEST + east / EAST_METERS,
      latitude: SOUTH + north / NORTH_METERS,
      tags,
    })
    return nodes.length
  }
  const way = (tags: Record<string, string>, ...ids: number[]): number =>
    ways.push({ id: ways.length + 1, nodes: ids, tags })
  const lane = { 'addr:street': 'Long Lane', 'addr:postcode': '11201' }
  const ends = [
    node(0, 0, { ...lane, 'addr:housenumber': '101' }),
    node(200, 0),
    node(200, 200, { ...lane, 'addr:housenumber': '121' }),
    node(400, 200, { ...lane, 'addr:housenumber': '131' }),
  ]
  way({ highway: 'residential', name: 'Long Lane' }, node(0, -5), node(205, -5), node(205, 195))
  way({ 'addr:interpolation': 'odd' }, ...ends)
  // The way says the street, its nodes do not; letters and other streets have no numbers between them.
  for (const [north, street] of [
    [1500, 'North Elm Street'],
    [1600, 'South Elm Street'],
  ] as const) {
    const numbered = [
      node(0, north, { 'addr:housenumber': '1' }),
      node(900, north, { 'addr:housenumber': '91' }),
    ]
    way({ 'addr:interpolation': 'all', 'addr:street': street, 'addr:postcode': '11201' }, ...numbered)
    way({ highway: 'residential', name: street }, node(0, north), node(900, north))
  }
  way({ 'addr:interpolation': 'alphabetic', 'addr:street': 'Long Lane' }, ends[0]!, ends[3]!)
  way(
    { 'addr:interpolation': 'odd' },
    ends[0]!,
    node(-50, 0, { 'addr:street': 'Other Lane', 'addr:housenumber': '9' }),
  )
  way({ highway: 'residential', name: 'Jay Street' }, node(0, 400), node(100, 400))
  const house = { 'addr:street': 'Jay Street', 'addr:postcode': '11201' }
  node(0, 410, { ...house, 'addr:housenumber': '1', building: 'apartments' })
  node(20, 410, { ...house, 'addr:housenumber': '3', building: 'warehouse' })
  node(40, 410, { ...house, 'addr:housenumber': '5' })
  node(41, 410, { ...house, 'addr:housenumber': '5', office: 'lawyer', name: 'Law & Order' })
  return { nodes, ways, relations: [] }
}

const served = await serveGeocoding(t, [await buildRegion(t, 'brooklyn', quarter())])
const at = (east: number, north: number): string =>
  `${SOUTH + north / NORTH_METERS},${WEST + east / EAST_METERS}`
const forward = async (query: string) =>
  (await served.get('/v1/geocode/forward', { query: `${query}, Brooklyn NY` })).body.addresses
const reverse = async (east: number, north: number) =>
  (await served.get('/v1/geocode/reverse', { coordinates: at(east, north), layers: 'address' })).body
    .addresses
const validate = async (addressLabel: string) => {
  const query = { addressLabel, city: 'Brooklyn', stateCode: 'NY', postalCode: '11201', countryCode: 'US' }
  const { address, result } = (await served.get('/v1/addresses/validate', query)).body
  return [result.verificationStatus, address.metadata.propertyType]
}

t.test('a number in a range lies along the line, not straight between its ends', async (t) => {
  const [house] = await forward('111 Long Lane')
  t.match(house, {
    confidence: 'interpolated',
    layer: 'address',
    number: '111',
    street: 'Long Lane',
    postalCode: '11201',
  })
  // The way bends half-way.
  const meters = pointDistance(house.latitude, house.longitude, SOUTH, WEST + 200 / EAST_METERS)
  t.ok(meters < 1, `${meters} m from the bend`)
  t.match(await forward('121 Long Lane'), [{ confidence: 'exact' }], 'a known number is itself')
  t.match(await forward('127 Long Lane'), [{ confidence: 'interpolated' }], 'the next piece of the way')
  t.match(await forward('112 Long Lane'), [{ confidence: 'fallback', layer: 'street' }], 'the other side')
  t.match(await forward('45 North Elm Street'), [{ confidence: 'interpolated', street: 'North Elm Street' }])
})

t.test('reverse: the nearest number of a range, where no known one is within 200 m', async (t) => {
  const [far] = await reverse(450, 1510)
  t.match(far, { layer: 'address', number: '46', street: 'North Elm Street' })
  t.ok(far.distance <= 12, `${far.distance} m`)
  t.match(await reverse(100, 20), [{ number: '101' }], 'a known number within 200 m, although 111 is nearer')
  t.strictSame(await reverse(450, -2000), [], 'nothing within a kilometre')
})

t.test('validation: a number of a range is partially verified, of several streets ambiguous', async (t) => {
  t.strictSame(await validate('111 Long Lane'), ['partially verified', undefined])
  t.strictSame(await validate('112 Long Lane'), ['partially verified', undefined], 'the street without it')
  t.strictSame(await validate('45 N Elm St'), ['partially verified', undefined])
  t.strictSame(await validate('45 Elm St'), ['ambiguous', undefined])
})

t.test('validation: what the building is used for', async (t) => {
  t.strictSame(await validate('1 Jay St'), ['verified', 'residential'])
  t.strictSame(await validate('3 Jay St'), ['verified', 'commercial'])
  t.strictSame(await validate('5 Jay St'), ['verified', 'commercial'], 'an office with the same address')
})

const number = fc.integer({ min: 0, max: 3000 })
const ranges = fc.record({
  first: number,
  last: number,
  parity: fc.constantFrom('even' as const, 'odd' as const, 'all' as const),
  block: fc.option(fc.integer({ min: 1, max: 300 }), { nil: undefined }),
  end: fc.tuple(
    fc.double({ min: 1e-4, max: 0.01, noNaN: true }),
    fc.double({ min: -0.01, max: 0.01, noNaN: true }),
  ),
  from: fc.tuple(
    fc.double({ min: -0.01, max: 0.02, noNaN: true }),
    fc.double({ min: -0.02, max: 0.02, noNaN: true }),
  ),
})

t.test('the nearest number of a straight range is that of a look at all its numbers', async () => {
  fc.assert(
    fc.property(ranges, ({ first, last, parity, block, end: [x, y], from }) => {
      const text = (value: number): string =>
        block === undefined ? `${value}` : `${block}-${`${value}`.padStart(4, '0')}`
      const origin: Position = [WEST, SOUTH]
      const line: Position[] = [origin, [WEST + x, SOUTH + y]]
      const range: NumberRange = { first: text(first), last: text(last), parity, line }
      const values = rangeValues(range)
      const all: number[] = []
      if (values !== undefined)
        for (let value = values.low; value <= values.high; value++)
          if (hasParity(value, parity)) all.push(value)
      if (values === undefined) return !(first === last ? hasParity(first, parity) : true)
      const point: Position = [WEST + from[0], SOUTH + from[1]]
      const metersTo = (value: number): number => {
        const [longitude, latitude] = numberOnLine(range, value).position
        return pointDistance(point[1], point[0], latitude, longitude)
      }
      const found = nearestNumber(range, point)
      const least = Math.min(...all.map(metersTo))
      return all.includes(numberValue(found.number)) && metersTo(numberValue(found.number)) <= least + 0.1
    }),
  )
})

t.test('what is no range', async (t) => {
  const line: Position[] = [
    [WEST, SOUTH],
    [WEST, SOUTH + 1e-3],
  ]
  for (const [first, last] of [
    ['1', '1A'],
    ['88-01', '89-99'],
    ['1', '5-9'],
    ['1', '9001'],
    ['', '9'],
  ] as const)
    t.equal(rangeValues({ first, last, parity: 'all' }), undefined, `${first} to ${last}`)
  t.strictSame(rangeValues({ first: '99', last: '1', parity: 'odd' }), { low: 1, high: 99 })
  t.strictSame(numberOnLine({ first: '89-01', last: '89-09', parity: 'odd', line }, 890_005).number, '89-05')
})
