/** From tags to records, and from records to texts: addresses, names, categories, areas, clocks, countries. */
import t from 'tap'
import { addressLine, streetLine } from '../../src/geo/geocoding/addressText.ts'
import { houseNumbers, taggedAddress } from '../../src/geo/records/addressTags.ts'
import { isInside, joinRings, pointInside, type Rings } from '../../src/geo/records/areas.ts'
import { categoriesOf } from '../../src/geo/records/categories.ts'
import { cleanName, LANGUAGES } from '../../src/geo/records/names.ts'
import { NearbyPoints } from '../../src/geo/records/nearbyPoints.ts'
import { areaOf, placeId, placeOf, streetOf } from '../../src/geo/records/objectRecords.ts'
import { countryAt, countryName } from '../../src/geo/world/countries.ts'
import { timeZoneOf } from '../../src/geo/world/timeZone.ts'
import { pointDistance } from '../../src/geometry/distance.ts'
import type { Position } from '../../src/model/geofence.ts'
import fc from '../kit/fastCheck.ts'

const tags = (fields: Record<string, string>): Map<string, string> => new Map(Object.entries(fields))

t.test('house numbers: lists, ranges, and numbers with a hyphen', async (t) => {
  t.strictSame(houseNumbers('1353,1357;1361', false), ['1353', '1357', '1361'])
  t.strictSame(houseNumbers('12-16', false), ['12', '14', '16'])
  t.strictSame(houseNumbers('11–13', false), ['11', '13'])
  t.strictSame(houseNumbers('89-01', true), ['89-01'], 'one house in the US')
  t.strictSame(houseNumbers('12-15', false), ['12-15'], 'not of one parity')
  t.strictSame(houseNumbers('16-12', false), ['16-12'])
  t.strictSame(houseNumbers('1-999999', false), ['1-999999'], 'too long to be a range of houses')
  t.strictSame(houseNumbers(' 7 bis ; ;7 bis', false), ['7 bis'])
  t.equal(houseNumbers(Array.from({ length: 5000 }, (_, i) => i).join(','), false).length, 100)
  t.strictSame(houseNumbers('9'.repeat(10_000), false), [])
})

t.test('an address needs a number and a street or place', async (t) => {
  t.equal(taggedAddress(tags({ 'addr:street': 'Main Street' }), 'US'), undefined)
  t.equal(taggedAddress(tags({ 'addr:housenumber': '1' }), 'US'), undefined)
  t.match(taggedAddress(tags({ 'addr:housenumber': '1', 'addr:place': 'Hof' }), 'AT'), { street: 'Hof' })
  t.match(
    taggedAddress(
      tags({
        'addr:housenumber': '12-14',
        'addr:street': 'Jay <b>Street</b>\u0000',
        'addr:city': 'Brooklyn;New York',
        'addr:postcode': '11201',
        'addr:unit': '4B',
      }),
      'US',
    ),
    { numbers: ['12-14'], street: 'Jay b Street /b', city: 'Brooklyn', postalCode: '11201', unit: '4B' },
  )
})

t.test('names: no control characters, no tags, at most 255 characters', async (t) => {
  t.equal(cleanName(' a\n\tb\u0007 '), 'a b')
  t.equal(cleanName('\u202e<>'), undefined)
  t.equal(cleanName(undefined), undefined)
  t.equal(cleanName('x'.repeat(100_000))!.length, 255)
  t.equal(cleanName('Überlandstraße 東京'), 'Überlandstraße 東京')
})

t.test('categories: the slug and its ancestors, of every tag', async (t) => {
  t.strictSame(categoriesOf(tags({ amenity: 'fast_food' })), [
    'food-beverage',
    'restaurant',
    'fast-food-restaurant',
  ])
  t.ok(categoriesOf(tags({ shop: 'something-new' })).includes('shopping-retail'))
  t.strictSame(categoriesOf(tags({ shop: 'vacant' })), [])
  t.strictSame(categoriesOf(tags({ highway: 'residential' })), [])
  t.strictSame(categoriesOf(tags({ shop: '__proto__', amenity: 'constructor' })), ['shopping-retail'])
  const both = categoriesOf(tags({ amenity: 'cafe', shop: 'books' }))
  t.ok(both.includes('cafe') && both.includes('shopping-retail'), both.join())
  t.equal(new Set(both).size, both.length)
})

t.test('what an object is: street, area, place, with ids that stay', async (t) => {
  t.strictSame(streetOf(tags({ highway: 'primary_link', name: 'A1' })), { name: 'A1', importance: 2 })
  t.equal(streetOf(tags({ highway: 'residential' })), undefined)
  t.equal(streetOf(tags({ highway: 'platform', name: 'Platform 1' })), undefined)
  t.match(areaOf(tags({ place: 'town', name: 'Vaduz', population: '5,400' })), {
    kind: 'locality',
    population: 5400,
  })
  t.match(
    areaOf(tags({ boundary: 'administrative', admin_level: '4', name: 'São Paulo', 'ISO3166-2': 'BR-SP' })),
    {
      kind: 'state',
      code: 'SP',
    },
  )
  t.match(areaOf(tags({ boundary: 'postal_code', postal_code: '9490' })), {
    kind: 'postalCode',
    name: '9490',
  })
  t.equal(areaOf(tags({ boundary: 'administrative', admin_level: 'constructor', name: 'x' })), undefined)
  t.equal(areaOf(tags({ place: 'toString', name: 'x' })), undefined)
  t.equal(placeOf(tags({ amenity: 'cafe' }), 'node', 1, undefined), undefined, 'no name')
  t.match(placeOf(tags({ amenity: 'cafe', brand: 'Bar' }), 'node', 1, undefined), {
    id: placeId('osm/node/1'),
    name: 'Bar',
  })
  t.match(placeOf(tags({ aeroway: 'aerodrome', name: 'Carrasco', iata: 'MVD' }), 'way', 1, undefined), {
    id: placeId('iata/MVD'),
  })
  t.match(placeId('iata/MVD'), /^[0-9a-f]{24}$/)
})

t.test('rings are joined from lines in any order and direction', async (t) => {
  const sizes = fc.integer({ min: 3, max: 30 })
  fc.assert(
    fc.property(
      sizes,
      fc.array(fc.tuple(fc.nat(1000), fc.boolean())),
      fc.infiniteStream(fc.nat()),
      (size, cuts, order) => {
        const ring = Array.from({ length: size }, (_, i): Position => [i, (i * i) % 7])
        const places = [...new Set([0, ...cuts.map(([cut]) => cut % size)])].sort((a, b) => a - b)
        const lines = places.map((from, i) => {
          const to = places[i + 1] ?? size
          const line = [...ring, ring[0]!].slice(from, to + 1)
          return cuts[i]?.[1] ? line.toReversed() : line
        })
        const draws = lines.map((line) => ({ line, at: order.next().value as number }))
        const joined = joinRings(draws.sort((a, b) => a.at - b.at).map(({ line }) => line))
        t.equal(joined.length, 1)
        t.equal(joined[0]!.length, size + 1)
        t.strictSame(new Set(joined[0]!.map(String)), new Set(ring.map(String)))
      },
    ),
  )
  t.strictSame(
    joinRings([
      [
        [0, 0],
        [1, 0],
      ],
      [
        [1, 0],
        [1, 1],
      ],
    ]),
    [],
    'cut off by the extract',
  )
})

t.test('the point of an area is inside of it', async (t) => {
  const corner = fc.integer({ min: 0, max: 100 })
  fc.assert(
    fc.property(
      corner,
      corner,
      fc.integer({ min: 2, max: 9 }),
      fc.integer({ min: 1, max: 9 }),
      (x, y, arm, length) => {
        // A U, whose centroid may lie between its arms.
        const outline: readonly Position[] = [
          [0, 0],
          [arm + 2, 0],
          [arm + 2, length],
          [arm + 1, length],
          [arm + 1, 0.1],
          [1, 0.1],
          [1, length],
          [0, length],
          [0, 0],
        ]
        const rings: Rings = [outline.map(([dx, dy]): Position => [x + dx, y + dy])]
        t.ok(isInside(rings, pointInside(rings)))
      },
    ),
  )
})

t.test('nearby points: one is found exactly if one is near', async (t) => {
  const position = fc.record({
    longitude: fc.double({ min: -179.9, max: 179.9, noNaN: true }),
    latitude: fc.double({ min: -85, max: 85, noNaN: true }),
  })
  const offset = fc.double({ min: -0.004, max: 0.004, noNaN: true })
  fc.assert(
    fc.property(position, fc.array(fc.tuple(offset, offset), { maxLength: 30 }), (centre, offsets) => {
      const at = ([dx, dy]: readonly [number, number]): Position => [
        centre.longitude + dx,
        centre.latitude + dy,
      ]
      const points = new NearbyPoints<number>(150)
      const added: Position[] = []
      for (const [i, one] of offsets.map(at).entries()) {
        const isNear = added.some(([x, y]) => pointDistance(y, x, one[1], one[0]) <= 150)
        t.equal(points.near(one) !== undefined, isNear)
        points.add(one, i)
        added.push(one)
      }
    }),
  )
})

t.test('number and street in the order of the country', async (t) => {
  const line = (countryCode: string | undefined) =>
    streetLine({ number: '25B', street: 'Rua (Nova)', countryCode })
  t.equal(line('US'), '25B Rua Nova')
  t.equal(line('GB'), '25B Rua Nova')
  t.equal(line('UY'), 'Rua Nova 25B')
  t.equal(line('AQ'), 'Rua Nova, 25B')
  t.equal(line('IQ'), '25B Rua Nova', 'two lines there')
  t.equal(line('__proto__'), 'Rua Nova 25B')
  t.equal(line(undefined), 'Rua Nova 25B')
  t.equal(streetLine({ street: 'Rua Nova', countryCode: 'BR' }), 'Rua Nova')
  t.equal(streetLine({ number: '1', countryCode: 'BR' }), '1')
})

t.test('the line of an address', async (t) => {
  const us = {
    countryCode: 'US',
    countryCode3: 'USA',
    country: 'United States',
    city: 'Brooklyn',
    stateCode: 'NY',
  }
  t.equal(
    addressLine('20 Jay Street', { ...us, borough: 'Brooklyn', postalCode: '11201' }),
    '20 Jay Street, Brooklyn, NY 11201 USA',
  )
  t.equal(
    addressLine('1 Main Street', { ...us, borough: 'Queens' }),
    '1 Main Street, Queens, Brooklyn, NY USA',
  )
  t.equal(addressLine('Kings County', { ...us, city: undefined }), 'Kings County, NY USA')
  t.equal(
    addressLine('Avenida 18 de Julio 1056', { countryCode: 'UY', country: 'Uruguay', city: 'Montevideo' }),
    'Avenida 18 de Julio 1056, Montevideo, Uruguay',
  )
  t.equal(
    addressLine('Herrengasse 9', {
      countryCode: 'LI',
      country: 'Liechtenstein',
      city: 'Vaduz',
      postalCode: '9490',
    }),
    'Herrengasse 9, 9490 Vaduz, Liechtenstein',
  )
  t.equal(addressLine(undefined, { countryCode: 'JP', country: '日本' }), '日本')
})

t.test('clocks: summer and winter, abbreviations, half hours', async (t) => {
  const clock = (at: Position, time: string) => timeZoneOf(at, Date.parse(time))
  t.strictSame(clock([-73.99, 40.7], '2024-04-09T14:12:00Z'), {
    id: 'America/New_York',
    name: 'Eastern Daylight Time',
    code: 'EDT',
    currentTime: '2024-04-09T10:12:00-04:00',
    utcOffset: -14_400,
    dstOffset: 3600,
  })
  t.match(clock([-73.99, 40.7], '2024-01-09T14:12:00Z'), { code: 'EST', utcOffset: -18_000, dstOffset: 0 })
  t.match(clock([77.2, 28.6], '2024-01-01T00:00:00Z'), {
    code: 'IST',
    currentTime: '2024-01-01T05:30:00+05:30',
    utcOffset: 19_800,
    dstOffset: 0,
  })
  t.match(clock([151.2, -33.9], '2024-01-01T00:00:00Z'), { code: 'AEDT', utcOffset: 39_600, dstOffset: 3600 })
  t.match(clock([-0.1, 51.5], '2024-01-01T00:00:00Z'), {
    code: 'GMT',
    currentTime: '2024-01-01T00:00:00+00:00',
  })
  t.match(clock([-56.2, -34.9], '2024-07-01T02:00:00Z'), {
    code: 'GMT-3',
    currentTime: '2024-06-30T23:00:00-03:00',
  })
  t.match(clock([-52.7, 47.56], '2024-01-01T00:00:00Z'), { id: 'America/St_Johns', utcOffset: -12_600 })
})

t.test(
  'countries: territories with codes of their own, both banks of a border river, names in ten languages',
  async (t) => {
    const code = (...at: [number, number]) => countryAt(at)?.code
    t.strictSame(
      [code(114.17, 22.3), code(113.55, 22.19), code(-66.1, 18.45), code(-5.35, 36.14)],
      ['HK', 'MO', 'PR', 'GI'],
    )
    t.strictSame([code(-106.487, 31.762), code(-106.487, 31.738)], ['US', 'MX'], 'El Paso, Ciudad Juárez')
    t.strictSame([code(-83.045, 42.331), code(-83.036, 42.31)], ['US', 'CA'], 'Detroit, Windsor')
    t.equal(code(0, 0), undefined)
    t.strictSame(
      [
        countryAt([114.17, 22.3])!.code3,
        countryAt([-56.2, -34.9])!.flag,
        countryName('HK', 'en'),
        countryName('DE', 'ru'),
      ],
      ['HKG', '🇺🇾', 'Hong Kong', 'Германия'],
    )
    for (const language of LANGUAGES) t.not(countryName('UY', language), 'UY')
  },
)
