/** The regions of a point by its cell, compared with a look at all borders, postal codes and addresses. */
import { borders } from '@rapideditor/country-coder'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { boundsOfCell, cellOf } from '../../src/geo/atlas/grid.ts'
import { regionsIn, type RegionCell } from '../../src/geo/atlas/regionCell.ts'
import { makeRegionCell, type CellRegion } from '../../src/geo/atlas/regionCellMaker.ts'
import type { OsmExtract, OsmNode, OsmWay } from '../../src/geo/extract/osmPbfWriter.ts'
import { regionOf } from '../../src/geo/atlas/regionNames.ts'
import { PlaceDatabase } from '../../src/geo/placeDatabase/reader.ts'
import { STATE_CODES } from '../../src/geo/world/usNames.ts'
import { WorldDatabase } from '../../src/geo/world/worldDatabase.ts'
import { destination } from '../../src/geometry/distance.ts'
import { isInside } from '../../src/geo/records/areas.ts'
import type { Position } from '../../src/model/geofence.ts'
import { Random } from '../actor/world.ts'
import { buildRegion, worldFile } from '../geocoding/kit.ts'
import fc, { draws } from '../kit/fastCheck.ts'
import { slowRegions } from './slowRegions.ts'

const QUEENS = join(import.meta.dirname, '../../../shared/data/queens-village.osm.pbf')
const numRuns = draws(60)

const world = new WorldDatabase(worldFile())
t.teardown(() => world.close())

/** Points near something at which regions change. */
type Draw = (random: Random) => Position

/** Each with a ring of each island, and its holes. */
const countries = (borders.features as unknown as { geometry: { coordinates: Position[][][] } | null }[])
  .filter(({ geometry }) => geometry !== null)
  .map(({ geometry }) => geometry!.coordinates)

/** Beside a border of some country. Where the data have two countries, one over the other by metres, both are right. */
const atBorders: Draw = (random) => {
  for (;;) {
    const point = beside(random, random.pick(random.pick(countries).flat()))
    const islands = countries.flat().filter((rings) => isInside(rings, point))
    if (islands.length < 2) return point
  }
}

/** Beside a border of a state or county, on land or at the coast. */
const atStates: Draw = (random) => {
  const west = random.between(-125, -67)
  const south = random.between(25, 49)
  const box = { west, south, east: west + 1, north: south + 1 }
  const areas = world.usAreasIn(random.pick(['state', 'county'] as const), box)
  if (areas.length === 0) return [west, south]
  return beside(random, random.pick(random.pick(areas).rings))
}

const inAmerica: Draw = (random) => [random.between(-125, -67), random.between(25, 49)]
const anywhere: Draw = (random) => [random.between(-180, 180), random.between(-90, 90)]
/** Corners and edges of cells, ends of the map and poles. */
const onTheGrid: Draw = (random) => {
  const { west, south } = boundsOfCell(cellOf(random.between(25, 49), random.between(-125, -67)))
  return random.pick<Position>([
    [west, south],
    [180, random.between(-90, 90)],
    [-180, 60],
    [west, 90],
    [west, -90],
  ])
}

/** A point within some kilometres of an edge of a ring, or exactly on a corner. */
function beside(random: Random, ring: readonly Position[]): Position {
  const i = 1 + random.below(ring.length - 1)
  const [[ax, ay], [bx, by]] = [ring[i - 1]!, ring[i]!]
  const share = random.chance(0.1) ? 0 : random.next()
  const x = ax + share * (bx - ax)
  const y = Math.max(-89.9, Math.min(89.9, ay + share * (by - ay)))
  const { latitude, longitude } = destination(y, x, random.between(0, 360), random.magnitude(1, 20_000))
  return [longitude, latitude]
}

/** Compares points with the slow way, each with others within its clearance. */
function compare(
  draw: Draw,
  regions: readonly CellRegion[],
  runs = numRuns,
): { changes: number; far: number } {
  const records = regions.map((region) => region.records())
  const cells = new Map<number, RegionCell>()
  let changes = 0
  let far = 0
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const random = new Random(seed)
      const [longitude, latitude] = draw(random)
      const number = cellOf(latitude, longitude)
      const cell = cells.get(number) ?? makeRegionCell(number, { regions, world })
      cells.set(number, cell)
      const { codes, clearanceMeters } = regionsIn(cell, latitude, longitude)
      const expected = slowRegions(records, world, [longitude, latitude])
      if (codes !== expected) throw new Error(`${latitude},${longitude}: ${codes}, not ${expected}`)
      if (clearanceMeters > 1000) far++
      for (let i = 0; i < 8; i++) {
        const reach = Math.min(clearanceMeters, 20_000) * (i === 0 ? 1 : random.next())
        const near = destination(latitude, longitude, random.between(0, 360), reach)
        const there = slowRegions(records, world, [near.longitude, near.latitude])
        if (there !== codes && Math.abs(latitude) < 80)
          throw new Error(`${latitude},${longitude}: ${codes}; ${there} at ${reach} of ${clearanceMeters} m`)
      }
      const beyond = destination(latitude, longitude, random.between(0, 360), clearanceMeters * 3 + 10)
      if (slowRegions(records, world, [beyond.longitude, beyond.latitude]) !== codes) changes++
    }),
    { numRuns: runs },
  )
  return { changes, far }
}

t.test('countries: at borders, at sea, at the ends of the map', async (t) => {
  t.ok(compare(atBorders, []).changes > 0, 'some borders are as near as they are said to be')
  t.ok(compare(anywhere, []).far > numRuns / 4, 'most points are far from any border')
  compare(onTheGrid, [])
})

t.test(
  'at sea, two states with the same nearest corner: of both the same one, wherever one asks',
  async (t) => {
    for (const [x, y] of [
      [-75.69616370089352, 36.58086342923343],
      [-75.7, 36.56],
    ] as const) {
      const { codes } = regionsIn(makeRegionCell(cellOf(y, x), { regions: [], world }), y, x)
      t.equal(codes, slowRegions([], world, [x, y]))
    }
  },
)

t.test('states, markets and postal codes of the United States without addresses', async (t) => {
  t.ok(compare(atStates, []).changes > 0)
  t.ok(compare(inAmerica, []).far > numRuns / 4)
})

t.test(
  'postal codes of addresses',
  { skip: !existsSync(QUEENS) && 'needs queens-village.osm.pbf' },
  async (t) => {
    const { places, bounds } = await buildRegion(t, 'queens', QUEENS)
    const database = new PlaceDatabase(places!)
    t.teardown(() => database.close())
    const [west, south, east, north] = bounds
    const inQueens: Draw = (random) => [random.between(west, east), random.between(south, north)]
    const regions = [{ bounds, records: () => database }]
    compare(inQueens, regions, numRuns / 4)
    const codes = (point: Position) => slowRegions([database], world, point)
    /** Some metres from a border, which lies between any two points with different postal codes. */
    const atCodes: Draw = (random) => {
      let [here, there] = [inQueens(random), inQueens(random)]
      while (codes(here) === codes(there)) [here, there] = [inQueens(random), inQueens(random)]
      for (let i = 0; i < 12; i++) {
        const middle: Position = [(here[0] + there[0]) / 2, (here[1] + there[1]) / 2]
        if (codes(middle) === codes(here)) here = middle
        else there = middle
      }
      const around = [random.between(0, 360), random.magnitude(1, 50)] as const
      const { latitude, longitude } = destination(here[1], here[0], ...around)
      return [longitude, latitude]
    }
    const { changes } = compare(atCodes, regions)
    t.ok(changes > 0, `${changes} borders of postal codes`)
  },
)

/** An invented village in Kansas, 2 km wide, with addresses and number ranges. */
function village(random: Random, codes: readonly string[]): OsmExtract {
  const nodes: OsmNode[] = []
  const ways: OsmWay[] = []
  const node = (tags: Record<string, string>): number => {
    const place = { longitude: WEST + 0.025 * random.next(), latitude: SOUTH + 0.02 * random.next() }
    return nodes.push({ id: nodes.length + 1, ...place, tags })
  }
  const coded = () => (random.chance(0.7) ? { 'addr:postcode': random.pick(codes) } : {})
  for (let i = 0; i < 40; i++)
    node({ 'addr:housenumber': `${i + 1}`, 'addr:street': 'Main Street', ...coded() })
  for (let i = 0; i < 40; i++) {
    const tags = { 'addr:street': `Road ${i}` }
    const ends = [node({ 'addr:housenumber': '1', ...tags }), node({ 'addr:housenumber': '9', ...tags })]
    ways.push({
      id: ways.length + 1,
      nodes: ends,
      tags: { 'addr:interpolation': 'odd', ...tags, ...coded() },
    })
  }
  ways.push({ id: ways.length + 1, nodes: [1, 2], tags: { highway: 'residential', name: 'Main Street' } })
  return { nodes, ways, relations: [] }
}

const WEST = -98.3
const SOUTH = 39.1

async function openVillage(test: Test, extract: OsmExtract): Promise<CellRegion> {
  const { places, bounds } = await buildRegion(test, 'village', extract)
  const database = new PlaceDatabase(places!)
  test.teardown(() => database.close())
  return { bounds, records: () => database }
}

t.test('addresses and number ranges, some of them with a postal code of five or nine digits', async (t) => {
  const region = await openVillage(t, village(new Random(7), ['66901', '66935', '66952-1234']))
  const inVillage: Draw = (random) => [
    WEST + random.between(-0.01, 0.035),
    SOUTH + random.between(-0.01, 0.03),
  ]
  const { changes } = compare(inVillage, [region])
  t.ok(changes > numRuns / 20, `${changes} borders of postal codes`)
})

t.test('an address whose postal code is none of the United States counts as one without', async (t) => {
  const region = await openVillage(t, village(new Random(7), ['none', '1234567', '1/2']))
  const plain = makeRegionCell(cellOf(SOUTH, WEST), { regions: [], world })
  const coded = makeRegionCell(cellOf(SOUTH, WEST), { regions: [region], world })
  t.equal(coded.unitedStates!.addresses.x.length, 0)
  const at = [SOUTH + 0.005, WEST + 0.003] as const
  t.equal(regionsIn(coded, ...at).codes, regionsIn(plain, ...at).codes)
})

t.test('names: of every state as in the Census; of other regions by their codes', async (t) => {
  for (const [fips, code] of Object.entries(STATE_CODES)) {
    if (Number(fips) > 56) continue
    t.equal(regionOf('state', code).name, world.countyByFips(fips)!.name)
  }
  t.match(regionOf('dma', '501'), { name: 'New York', type: 'dma' })
  t.match(regionOf('postalCode', '11201'), { name: '11201' })
  t.match(regionOf('country', 'HK'), { name: 'Hong Kong', flag: '🇭🇰' })
  t.equal(regionOf('country', 'UY'), regionOf('country', 'UY'), 'the same object')
})
