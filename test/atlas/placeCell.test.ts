/** The places around a point by its cell, compared with a look at all places of the sample city. */
import assert from 'node:assert/strict'
import t from 'tap'
import Database from 'better-sqlite3'
import { cellOf, CROWDED_CELLS, PLACE_CELLS } from '../../src/geo/atlas/grid.ts'
import { firstOfCell } from '../../src/geo/atlas/firstPlaces.ts'
import { CellAtlas } from '../../src/geo/atlas/cellAtlas.ts'
import {
  allOfCell,
  closestOfCell,
  nearestOfChains,
  placesOfCell,
  type PlaceCell,
} from '../../src/geo/atlas/placeCell.ts'
import {
  CrowdedCell,
  makeChainCell,
  makeCrowdedCell,
  makePlaceCell,
  type PlaceMapRegion,
} from '../../src/geo/atlas/placeCellMaker.ts'
import { PlaceDatabase } from '../../src/geo/placeDatabase/reader.ts'
import { signedMeters } from '../../src/geo/records/placeExtent.ts'
import { pointDistance } from '../../src/geometry/distance.ts'
import { CLOSEST_METERS, fetched, Unknown, type PlaceNear } from '../../src/rules/atlas.ts'
import { candidatesAmong } from '../../src/rules/placeOrder.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import type { Position } from '../../src/model/geofence.ts'
import type { Place } from '../../src/model/place.ts'
import { Random } from '../actor/world.ts'
import { runs } from '../geometry/shapes.ts'
import { samplePlaces } from '../kit/sampleRegion.ts'

const file = await samplePlaces()
const records = new PlaceDatabase(file)
t.teardown(() => records.close())
const database = new Database(file, { readonly: true })
const keys = database.prepare('SELECT key FROM place').pluck().all() as string[]
const chains = (database.prepare('SELECT DISTINCT slug FROM chain').pluck().all() as string[]).slice(0, 20)
database.close()
const all = keys.map((key) => {
  const place = records.placeByKey(key)!
  const [x, y] = place.position
  const corners = place.rings.flat().map(([longitude, latitude]) => pointDistance(y, x, latitude, longitude))
  return { ...place, reach: Math.max(0, ...corners) }
})
const region = { records: () => records, bounds: [-56.5, -35, -56, -34.7] as const }
const random = new Random(18)
/** Metres by which the ways of measuring may differ. */
const MARGIN = 10

/** Cells that were made before, by their numbers. */
const made = new Map<number, PlaceCell>()
/** The cell of a point of the sample city. */
function cellAt([x, y]: Position): PlaceCell {
  const number = cellOf(y, x, PLACE_CELLS)
  const cell = made.get(number) ?? makePlaceCell(number, [region])
  made.set(number, cell)
  return cell
}

/** Some in the densest part, some around it. */
function drawn(): Position {
  const { position } = random.pick(all)
  const reach = random.pick([0.0005, 0.005, 0.05])
  return [position[0] + random.between(-reach, reach), position[1] + random.between(-reach, reach)]
}

t.test('the places around a point are those of a look at all of them', async (t) => {
  let found = 0
  for (let i = 0; i < 400; i++) {
    const [x, y] = drawn()
    const cell = cellAt([x, y])
    const reach = random.pick([undefined, 125, 50, 20, 3])
    const { near, restMeters } = placesOfCell(cell, y, x, reach)
    const known = new Map(near.map((one) => [one.place.id, one]))
    for (const place of all) {
      const one = known.get(place.key)
      // No nearer than its farthest corner allows; exactly, it would take a hundred times as long.
      const least = pointDistance(y, x, place.position[1], place.position[0]) - place.reach
      if (one === undefined && least > (reach ?? 125) + MARGIN && least > restMeters + MARGIN) continue
      const meters = signedMeters(place, [x, y])
      if (one === undefined) {
        if (meters <= (reach ?? 125) || meters < restMeters)
          t.fail(`${place.key} is missing: ${meters} m, rest ${restMeters}`)
        continue
      }
      found++
      if (Math.abs(one.meters - meters) > 1e-6) t.fail(`${place.key}: ${one.meters}, not ${meters}`)
      if (one.meters < one.pointMeters - one.place.extentMeters - 0.1) t.fail(`${place.key} reaches farther`)
    }
  }
  t.ok(found > 1000, `${found} places around points`)
})

t.test('the closest places are the nearest by their edges of all around, exactly', async (t) => {
  const found = { none: 0, one: 0, more: 0, areas: 0 }
  const isCafe = ({ categories }: Place) => categories.includes('cafe')
  for (let i = 0; i < runs(1500).numRuns; i++) {
    const [x, y] = drawn()
    const cell = cellAt([x, y])
    const wanted = random.chance(0.3) ? isCafe : undefined
    const near = placesOfCell(cell, y, x).near.filter(({ place }) => wanted?.(place) ?? true)
    const least = Math.min(CLOSEST_METERS, ...near.map(({ meters }) => Math.max(0, meters)))
    const expected = near.filter(({ meters }) => Math.max(0, meters) === least)
    const closest = closestOfCell(cell, y, x, wanted)
    const byId = (one: PlaceNear, other: PlaceNear) => (one.place.id < other.place.id ? -1 : 1)
    assert.deepEqual(closest.toSorted(byId), expected.toSorted(byId))
    found[closest.length === 0 ? 'none' : closest.length === 1 ? 'one' : 'more']++
    if (closest.some(({ isRound }) => isRound === false)) found.areas++
  }
  for (const [what, count] of Object.entries(found)) t.ok(count > 50, `${what}: ${count}`)
})

t.test('the most likely place of a point is the first candidate of a look at all places', async (t) => {
  const found = { none: 0, inside: 0, outside: 0, shared: 0, areas: 0, chains: 0 }
  const unfiltered = { chain: [], category: [] }
  for (let i = 0; i < runs(10_000).numRuns; i++) {
    const [x, y] = drawn()
    const cell = cellAt([x, y])
    const here = placesOfCell(cell, y, x)
    const [expected, next] = candidatesAmong(here, unfiltered, 0, 2)
    const first = firstOfCell(cell, y, x)
    if (first !== expected?.place)
      assert.fail(`at ${y},${x} it is ${first?.id} ${first?.name}, not ${expected?.place.name}`)
    if (expected === undefined) {
      found.none++
      continue
    }
    found[expected.meters <= 0 ? 'inside' : 'outside']++
    if (next !== undefined && next.meters <= 0) found.shared++
    if (expected.isRound === false) found.areas++
    if (expected.place.chain !== undefined) found.chains++
  }
  for (const [what, count] of Object.entries(found)) t.ok(count > 50, `${what}: ${count}`)
})

t.test('the nearest place of a chain is that of a look at all of them', async (t) => {
  const byChain = Map.groupBy(all, ({ chain }) => chain?.slug)
  for (let i = 0; i < 20; i++) {
    const [x, y] = drawn()
    const nearest = nearestOfChains(makeChainCell(cellOf(y, x, PLACE_CELLS), chains, [region]), y, x)
    chains.forEach((slug, at) => {
      const distances = (byChain.get(slug) ?? []).map(({ position }) =>
        pointDistance(y, x, position[1], position[0]),
      )
      const least = Math.min(Infinity, ...distances)
      if (Math.abs(nearest[at]!.meters - Math.min(least, 15_100)) > 1e-6)
        t.fail(`${slug}: ${nearest[at]!.meters}, not ${least}`)
    })
  }
  t.ok(chains.length > 5)
})

t.test('where no map region is, nothing is near, and its places are not gone', async (t) => {
  const cell = makePlaceCell(cellOf(48, 11, PLACE_CELLS), [region])
  t.match(placesOfCell(cell, 48, 11), { isCovered: false, near: [], restMeters: Number })
  t.ok(placesOfCell(cell, 48, 11).restMeters > 10_000)
  t.ok(
    placesOfCell(makePlaceCell(cellOf(48, 11, PLACE_CELLS), []), 48, 11).restMeters > 10_000,
    'without any',
  )
})

/**
 * A map region with these points as places.
 * @param more what they have besides; by default, each is a café
 */
function invented(points: readonly Position[], more: (i: number) => object = () => ({})): PlaceMapRegion {
  const places = points.map((position, i) => ({
    key: i.toString(16).padStart(24, '0'),
    name: `Place ${i}`,
    categories: ['food-beverage', 'cafe'],
    position,
    size: 0,
    chain: undefined,
    rings: [],
    ...more(i),
  }))
  const reach = 0.0005
  const footprints = {
    in: (box: { west: number; south: number; east: number; north: number }, limit: number) =>
      places
        .filter(
          ({ position: [x, y] }) =>
            x >= box.west - reach &&
            x <= box.east + reach &&
            y >= box.south - reach &&
            y <= box.north + reach,
        )
        .slice(0, limit),
  }
  return { records: () => ({ footprints }) as never, bounds: [0.4, 0.4, 0.6, 0.6] }
}

/** A closed square around a point, in degrees. */
function squareAround([x, y]: Position, reach: number): Position[] {
  const corners = [
    [-1, -1],
    [1, -1],
    [1, 1],
    [-1, 1],
    [-1, -1],
  ] as const
  return corners.map(([dx, dy]): Position => [x + dx * reach, y + dy * reach])
}

t.test('the most likely place where places share a point, an area or a chain', async (t) => {
  const chain = { slug: 'chain', name: 'Chain' }
  for (let round = 0; round < 30; round++) {
    const spread = random.pick([0.0001, 0.0005, 0.003])
    const points: Position[] = []
    for (let i = 0; i < 60; i++) {
      const isShared = points.length > 0 && random.chance(0.3)
      const near = (): number => 0.504 + random.between(-spread, spread)
      points.push(isShared ? random.pick(points) : [near(), near()])
    }
    const crowd = invented(points, (i) => ({
      chain: random.chance(0.3) ? chain : undefined,
      categories: random.chance(0.2) ? ['supermarket'] : ['cafe'],
      ...(random.chance(0.2) && {
        rings: [squareAround(points[i]!, random.pick([0.0001, 0.0005]))],
        size: random.pick([400, 5000]),
      }),
    }))
    const cell = makePlaceCell(cellOf(0.504, 0.504, PLACE_CELLS), [crowd])
    const { west, south, east, north } = cell.bounds
    for (let i = 0; i < 300; i++) {
      // Some on the borders of the small squares, and on the edges of the cell.
      const at = (from: number, to: number) =>
        from + (to - from) * random.pick([random.pick([0, 0.5, 1, 33 / 64]), 0.5 + random.between(-0.1, 0.1)])
      const [x, y] = [at(west, east), at(south, north)]
      const [expected] = candidatesAmong(allOfCell(cell, y, x), { chain: [], category: [] }, 0, 1)
      assert.equal(firstOfCell(cell, y, x)?.id, expected?.place.id, `round ${round}, at ${y},${x}`)
    }
  }
  t.pass('all are')
})

t.test('where there are too many places for a cell, none is left out', async (t) => {
  const points = Array.from({ length: 12_000 }, (): Position => [
    random.between(0.5, 0.508),
    random.between(0.5, 0.508),
  ])
  const crowd = invented(points)
  const coarse = makePlaceCell(cellOf(0.504, 0.504, PLACE_CELLS), [crowd])
  t.match(coarse, { isCrowded: true, isCovered: true, places: [] })
  const reads = { small: 0 }
  const reader = {
    readRegions: () => Promise.reject(new Error('unused')),
    readPlaces: async (cell: number) => makePlaceCell(cell, [crowd]),
    async readCrowdedPlaces(cell: number) {
      reads.small++
      return makeCrowdedCell(cell, [crowd])
    },
    readChains: async () => ({ chains: [] }),
    readPlace: async () => ({}),
    readRegion: async () => ({}),
  }
  const logged: unknown[] = []
  const logger = { warn: (fields: unknown) => logged.push(fields) } as never
  const atlas = new CellAtlas(reader, new ManualClock(0), logger)
  for (let i = 0; i < 20; i++) {
    const [x, y] = [random.between(0.501, 0.507), random.between(0.501, 0.507)]
    const here = await fetched(() => atlas.placesAt(y, x))
    if (here instanceof Unknown) return t.fail('unknown')
    const known = new Set(here.near.map(({ place }) => place.id))
    for (const [at, [px, py]] of points.entries()) {
      const meters = pointDistance(y, x, py, px) - 30
      const id = at.toString(16).padStart(24, '0')
      if (!known.has(id) && (meters <= 125 || meters < here.restMeters)) t.fail(`${id}: ${meters} m`)
    }
    t.ok(known.size > 200, `${known.size} places`)
    const [likeliest] = candidatesAmong(here, { chain: [], category: [] }, 0, 1)
    t.equal(await fetched(() => atlas.firstAt(y, x)), likeliest!.place, 'the most likely one is among them')
  }
  t.ok(reads.small > 5)
  t.equal(logged.length, 0)
  const whole = allOfCell(makeCrowdedCell(cellOf(0.504, 0.504, CROWDED_CELLS), [crowd]), 0.504, 0.504)
  t.ok(whole.restMeters >= 125)
})

t.test(
  'a file with more places at one point than anywhere in the world cannot be read, and the log says so',
  async (t) => {
    const crowd = invented(Array.from({ length: 4001 }, (): Position => [0.5, 0.5]))
    t.throws(() => makeCrowdedCell(cellOf(0.5, 0.5, CROWDED_CELLS), [crowd]), CrowdedCell)
    const logged: unknown[] = []
    const logger = { warn: (fields: unknown) => logged.push(fields) } as never
    const reader = {
      readRegions: () => Promise.reject(new Error('unused')),
      readPlaces: async (cell: number) => makePlaceCell(cell, [crowd]),
      readCrowdedPlaces: async (cell: number) => makeCrowdedCell(cell, [crowd]),
      readChains: async () => ({ chains: [] }),
      readPlace: async () => ({}),
      readRegion: async () => ({}),
    }
    const atlas = new CellAtlas(reader, new ManualClock(0), logger)
    t.match(await fetched(() => atlas.placesAt(0.5, 0.5)), { isFailure: true })
    t.equal(logged.length, 1)
  },
)
