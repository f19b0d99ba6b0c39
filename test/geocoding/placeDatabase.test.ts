/** What the place database finds, against a look at all records. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { readExtract } from '../../src/geo/extract/extractReader.ts'
import { osmPbfBlobs } from '../../src/geo/extract/osmPbfBlobs.ts'
import { readObjects } from '../../src/geo/extract/osmReader.ts'
import { PlaceDatabaseWriter } from '../../src/geo/extract/placeDatabaseWriter.ts'
import { RecordCollector } from '../../src/geo/extract/recordCollector.ts'
import { ShapeAssembler } from '../../src/geo/extract/shapeAssembler.ts'
import { PlaceDatabase } from '../../src/geo/placeDatabase/reader.ts'
import { isInside, nearestOnLine } from '../../src/geo/records/areas.ts'
import type { AddressRecord, AreaRecord, PlaceRecord, WayRecord } from '../../src/geo/records/records.ts'
import { pointDistance } from '../../src/geometry/distance.ts'
import type { Position } from '../../src/model/geofence.ts'
import fc, { draws } from '../kit/fastCheck.ts'

const numRuns = draws(30)
const QUEENS = join(import.meta.dirname, '../../../shared/data/queens-village.osm.pbf')
/** Coordinates are stored to a centimetre. */
const ROUNDING_METERS = 0.03

interface Records {
  readonly addresses: AddressRecord[]
  readonly ways: WayRecord[]
  readonly places: PlaceRecord[]
  readonly areas: AreaRecord[]
}

const HOUSE = {
  street: 's',
  unit: undefined,
  state: undefined,
  type: 'node',
  isPlain: true,
  property: undefined,
  city: undefined,
  postalCode: undefined,
} as const

const folder = mkdtempSync(join(tmpdir(), 'ringfence-places-'))
t.teardown(() => rmSync(folder, { recursive: true }))
let files = 0

/** A database, and its records for a slow look at all of them. */
function database(records: Records): PlaceDatabase {
  const file = join(folder, `${files++}.db`)
  const writer = new PlaceDatabaseWriter(file)
  writer.addStreet({
    id: 1,
    name: 's',
    names: ['s'],
    importance: 0,
    position: [0, 0],
    city: undefined,
    postalCode: undefined,
    houses: records.addresses,
    ranges: [],
  })
  for (const one of records.ways) writer.addWay(one)
  for (const one of records.places) writer.addPlace(one)
  for (const one of records.areas) writer.addArea(one)
  writer.finish()
  return new PlaceDatabase(file)
}

const meters = ([x, y]: Position, [px, py]: Position): number => pointDistance(y, x, py, px)
/** The least distance of records within a reach; undefined if there is none. */
const least = (distances: readonly number[], reach: number): number | undefined => {
  const nearest = Math.min(...distances)
  return nearest <= reach ? nearest : undefined
}
const agrees = (found: number | undefined, expected: number | undefined, reach: number): boolean =>
  found === undefined || expected === undefined
    ? (found ?? expected ?? reach) >= reach - ROUNDING_METERS
    : Math.abs(found - expected) <= ROUNDING_METERS

// Towns anywhere, also near the poles; not across the antimeridian.
const centre = fc.tuple(
  fc.double({ min: -179, max: 179, noNaN: true }),
  fc.double({ min: -80, max: 80, noNaN: true }),
)
const offset = fc.tuple(
  fc.double({ min: -0.01, max: 0.01, noNaN: true }),
  fc.double({ min: -0.01, max: 0.01, noNaN: true }),
)
const label = fc.option(fc.constantFrom('a', 'b'), { nil: undefined })
const worlds = fc.record({
  centre,
  addresses: fc.array(fc.record({ at: offset, city: label, postalCode: label }), { maxLength: 40 }),
  lines: fc.array(fc.array(offset, { minLength: 2, maxLength: 5 }), { maxLength: 15 }),
  rings: fc.array(
    fc.tuple(
      offset,
      fc.double({ min: 1e-4, max: 5e-3, noNaN: true }),
      fc.constantFrom('locality' as const, 'county' as const),
    ),
    {
      maxLength: 15,
    },
  ),
  questions: fc.array(fc.tuple(offset, fc.constantFrom(50, 300, 1000, 1500)), {
    minLength: 1,
    maxLength: 10,
  }),
})

t.test('nearest and containing records are those of a look at all records', async (t) => {
  fc.assert(
    fc.property(worlds, (world) => {
      const at = ([dx, dy]: readonly [number, number]): Position => [
        world.centre[0] + dx,
        world.centre[1] + dy,
      ]
      const square = ([x, y]: Position, side: number): Position[] => [
        [x, y],
        [x + side, y],
        [x + side, y + side],
        [x, y + side],
        [x, y],
      ]
      const records: Records = {
        addresses: world.addresses.map((one, id) => ({
          ...HOUSE,
          number: String(id),
          position: at(one.at),
          id,
          city: one.city,
          postalCode: one.postalCode,
        })),
        ways: world.lines.map((line, i) => ({ name: `s${i}`, line: line.map(at) })),
        places: world.rings.map(([corner, side], i) => ({
          id: String(i),
          name: `p${i}`,
          names: new Map(),
          categories: ['cafe'],
          position: at(corner),
          rings: i % 2 === 0 ? [square(at(corner), side)] : undefined,
          size: i % 2 === 0 ? side : 0,
          details: {},
          chain: undefined,
        })),
        areas: world.rings.map(([corner, side, kind], i) => ({
          kind,
          name: `a${i}`,
          names: new Map(),
          code: undefined,
          population: 0,
          position: at(corner),
          rings: i % 2 === 0 ? [square(at(corner), side)] : undefined,
          size: side,
        })),
      }
      const found = database(records)
      // Their numbers are those of their order.
      const last = records.addresses.length - 1
      t.strictSame(found.streetById(1).numbers, last < 0 ? null : [0, last])
      for (const [question, reach] of world.questions) {
        const point = at(question)
        const edges = records.areas.flatMap(({ rings = [] }) => rings)
        // On an edge, rounding decides.
        if (edges.some((edge) => nearestOnLine(edge, point).meters < ROUNDING_METERS)) continue
        const addresses = records.addresses.map((one) => ({ ...one, meters: meters(point, one.position) }))
        for (const known of [{}, { city: true }, { postalCode: true }] as const) {
          const wanted = addresses.filter(
            ({ city, postalCode }) =>
              (!('city' in known) || city) && (!('postalCode' in known) || postalCode),
          )
          const expected = least(
            wanted.map((one) => one.meters),
            reach,
          )
          t.ok(agrees(found.nearestAddress(point, reach, known)?.meters, expected, reach))
        }
        const streets = records.ways.map(({ line }) => nearestOnLine(line, point).meters)
        t.ok(agrees(found.nearestStreet(point, reach)?.meters, least(streets, reach), reach))
        const containing = records.places.filter(({ rings }) => rings !== undefined && isInside(rings, point))
        const place = found.nearestPlace(point, reach)
        if (containing.length > 0)
          t.equal(place?.record.name, containing.reduce((a, b) => (b.size < a.size ? b : a)).name)
        else {
          const places = records.places.map(({ rings, position }) =>
            rings === undefined ? meters(point, position) : nearestOnLine(rings[0]!, point).meters,
          )
          t.ok(agrees(place?.meters, least(places, reach), reach))
        }
        const areas = records.areas.filter(({ rings }) => rings !== undefined && isInside(rings, point))
        t.strictSame(
          found.areasAt(point).map(({ name }) => name),
          areas.toSorted((a, b) => a.size - b.size).map(({ name }) => name),
        )
        const centres = records.areas.filter(({ rings, kind }) => rings === undefined && kind === 'county')
        t.ok(
          agrees(
            found.nearestCentre(point, reach, 'county')?.meters,
            least(
              centres.map(({ position }) => meters(point, position)),
              reach,
            ),
            reach,
          ),
        )
      }
      found.close()
    }),
    { numRuns },
  )
})

t.test('one of many: the nearest beside a crowd, and from within it', async (t) => {
  // More than are looked at in one part, in rows of a kilometre.
  const positions = Array.from({ length: 3000 }, (_, i): Position => [
    10 + (i % 60) * 2e-4,
    50 + Math.floor(i / 60) * 2e-4,
  ])
  const records: Records = { addresses: [], ways: [], places: [], areas: [] }
  for (const [id, position] of positions.entries())
    records.addresses.push({ ...HOUSE, id, number: String(id), position })
  const found = database(records)
  for (const point of [
    [10 - 0.012, 50 - 0.001],
    [10 - 0.012, 50.005],
    [10.006, 50.005],
    [10.006, 50.0185],
    [10.0247, 50.0047],
  ] as const)
    t.ok(
      agrees(
        found.nearestAddress(point, 1000)?.meters,
        least(
          positions.map((one) => meters(point, one)),
          1000,
        ),
        1000,
      ),
      point.join(),
    )
  found.close()
})

t.test('areas: the same at every point of a cell, whether a border passes through it or not', async (t) => {
  const triangle: Position[] = [
    [10, 50],
    [10.1, 50.03],
    [10.02, 50.1],
    [10, 50],
  ]
  const records: Records = { addresses: [], ways: [], places: [], areas: [] }
  records.areas.push({
    kind: 'county',
    name: 'triangle',
    names: new Map(),
    code: undefined,
    population: 0,
    position: [10.04, 50.04],
    rings: [triangle],
    size: 1,
  })
  const found = database(records)
  for (let x = 9.99; x < 10.12; x += 0.0047)
    for (let y = 49.99; y < 50.11; y += 0.0043) {
      const expected = isInside([triangle], [x, y]) ? 1 : 0
      if (found.areasAt([x, y]).length !== expected) t.fail(`${x},${y}: ${expected} expected`)
    }
  found.close()
})

t.test('a database of another version is not opened', async (t) => {
  const file = join(folder, 'other.db')
  const { default: Database } = await import('better-sqlite3')
  new Database(file).pragma('user_version = 99')
  t.throws(() => new PlaceDatabase(file), /has the format 99; this version reads/)
})

const skip = existsSync(QUEENS) ? false : '../shared/data is not there'
t.test('500 points among 32,000 real addresses: the nearest each time', { skip }, async (t) => {
  const records: Records = { addresses: [], ways: [], places: [], areas: [] }
  const facts = await readExtract(QUEENS, () => {})
  const collector = new RecordCollector(
    {
      addStreet: ({ houses }) => records.addresses.push(...houses),
      addWay: (one) => records.ways.push(one),
      addPlace: (one) => records.places.push(one),
      addArea: (one) => records.areas.push(one),
      addIntersection() {},
    },
    () => 'US',
    () => undefined,
  )
  const shapes = new ShapeAssembler([collector], new Set(facts.members))
  for await (const { type, content } of osmPbfBlobs(QUEENS, () => {}))
    if (type === 'OSMData') readObjects(content, shapes)
  collector.finish((node) => shapes.positionOf(node))
  t.ok(records.addresses.length > 32_000, `${records.addresses.length} addresses`)
  const found = database(records)
  const [west, south, east, north] = facts.bounds
  const points = fc.sample(
    fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true })),
    500,
  )
  const wrong = points.filter(([x, y]) => {
    const point: Position = [west + x * (east - west), south + y * (north - south)]
    let nearest = Infinity
    for (const { position } of records.addresses) {
      // A degree of latitude is 110,574 m or more.
      if (Math.abs(position[1] - point[1]) * 110_000 < nearest)
        nearest = Math.min(nearest, meters(point, position))
    }
    return !agrees(found.nearestAddress(point, 1000)?.meters, nearest <= 1000 ? nearest : undefined, 1000)
  })
  t.strictSame(wrong, [])
  found.close()
})
