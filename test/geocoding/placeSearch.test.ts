/** Places by what they are and by their footprint, against a look at all records. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { PlaceDatabaseWriter } from '../../src/geo/extract/placeDatabaseWriter.ts'
import { PlaceDatabase } from '../../src/geo/placeDatabase/reader.ts'
import { signedMeters } from '../../src/geo/records/placeExtent.ts'
import type { PlaceRecord } from '../../src/geo/records/records.ts'
import { pointDistance } from '../../src/geometry/distance.ts'
import type { Position } from '../../src/model/geofence.ts'
import fc from '../kit/fastCheck.ts'
import { buildRegion } from './kit.ts'

const numRuns = 20 * Number(process.env['RINGFENCE_TEST_RUNS'] ?? 1)
/** Coordinates are stored to a centimetre. */
const ROUNDING_METERS = 0.03

const folder = mkdtempSync(join(tmpdir(), 'ringfence-places-'))
t.teardown(() => rmSync(folder, { recursive: true }))
let files = 0

function database(places: readonly PlaceRecord[]): PlaceDatabase {
  const file = join(folder, `${files++}.db`)
  const writer = new PlaceDatabaseWriter(file)
  for (const place of places) writer.addPlace(place)
  writer.finish()
  return new PlaceDatabase(file)
}

const offset = fc.tuple(
  fc.double({ min: -0.02, max: 0.02, noNaN: true }),
  fc.double({ min: -0.02, max: 0.02, noNaN: true }),
)
const towns = fc.record({
  // Also on the 180th meridian, and near the poles.
  centre: fc.tuple(
    fc.oneof(fc.constantFrom(-180, 180, 179.99), fc.double({ min: -179, max: 179, noNaN: true })),
    fc.double({ min: -80, max: 80, noNaN: true }),
  ),
  places: fc.array(
    fc.record({
      at: offset,
      chain: fc.option(fc.constantFrom('a', 'b', 'c'), { nil: undefined }),
      categories: fc.subarray(['food-beverage', 'cafe', 'supermarket', 'airport', 'hospital'], {
        minLength: 1,
      }),
      side: fc.option(fc.double({ min: 1e-4, max: 2e-3, noNaN: true }), { nil: undefined }),
      isAirport: fc.boolean(),
    }),
    { maxLength: 60 },
  ),
  questions: fc.array(
    fc.record({
      at: offset,
      reach: fc.constantFrom(1, 100, 1000, 10_000),
      traits: fc.subarray(
        ['chain/a', 'chain/b', 'chain/x', 'category/cafe', 'category/airport', 'group/airport'] as const,
        { minLength: 1 },
      ),
    }),
    { minLength: 1, maxLength: 8 },
  ),
})

/** A longitude may come out beyond 180 degrees. */
const wrapped = (longitude: number): number => ((((longitude + 180) % 360) + 360) % 360) - 180

t.test('places by chain, category and group: all within the distance, the nearest first', async (t) => {
  fc.assert(
    fc.property(towns, ({ centre, places, questions }) => {
      const at = ([dx, dy]: Position): Position => [wrapped(centre[0] + dx), centre[1] + dy]
      const records = places.map((one, i): PlaceRecord => ({
        // In no order, so that equal distances show it.
        id: String((i * 7919) % 1009).padStart(24, '0'),
        name: `p${i}`,
        names: new Map(),
        categories: one.categories,
        position: at(one.at),
        rings: undefined,
        size: 0,
        details: one.isAirport ? { iataCode: 'ABC' } : {},
        chain: one.chain === undefined ? undefined : { slug: one.chain, name: one.chain, domain: undefined },
      }))
      const found = database(records)
      for (const { at: where, reach, traits } of questions) {
        const point = at(where)
        const near = [...found.traits.near(point, reach, traits)].map(({ id, meters }) => ({
          meters,
          ...found.placeById(id),
        }))
        const wanted = records.filter(({ chain, categories, details }) =>
          traits.some((trait) =>
            trait === 'group/airport'
              ? details.iataCode !== undefined
              : trait === `chain/${chain?.slug}` || categories.some((slug) => trait === `category/${slug}`),
          ),
        )
        const metersTo = ([x, y]: Position): number => pointDistance(point[1], point[0], y, x)
        for (const one of wanted) {
          const meters = metersTo(one.position)
          if (meters < reach - ROUNDING_METERS) t.ok(near.some(({ key }) => key === one.id))
        }
        for (const [i, one] of near.entries()) {
          const record = wanted.find(({ id }) => id === one.key)
          t.ok(record !== undefined && metersTo(record.position) < reach + ROUNDING_METERS)
          t.equal(one.chain?.slug, record?.chain?.slug)
          const before = near[i - 1]
          if (before !== undefined)
            t.ok(before.meters < one.meters || (before.meters === one.meters && before.key < one.key))
        }
        t.equal(new Set(near.map(({ key }) => key)).size, near.length, 'each once')
      }
      found.close()
    }),
    { numRuns },
  )
})

t.test(
  'the footprints of places: their areas, or circles by their categories; negative inside',
  async (t) => {
    const inland = towns.filter(({ centre: [x] }) => Math.abs(x) < 179)
    fc.assert(
      fc.property(inland, ({ centre, places, questions }) => {
        const at = ([dx, dy]: Position): Position => [centre[0] + dx, centre[1] + dy]
        const records = places.map((one, i): PlaceRecord => {
          const [x, y] = at(one.at)
          const square = (side: number): Position[] => [
            [x, y],
            [x + side, y],
            [x + side, y + side],
            [x, y + side],
            [x, y],
          ]
          return {
            id: String(i).padStart(24, '0'),
            name: `p${i}`,
            names: new Map(),
            categories: one.categories,
            position: [x, y],
            rings: one.side === undefined ? undefined : [square(one.side)],
            size: one.side ?? 0,
            details: {},
            chain: undefined,
          }
        })
        const found = database(records)
        for (const { at: where, reach } of questions) {
          const point = at(where)
          const near = found.placesAround(point, reach)
          for (const { id, position, categories, rings = [] } of records) {
            const meters = signedMeters({ position, categories, rings }, point)
            const one = near.find(({ record }) => record.key === id)
            if (Math.abs(meters - reach) < ROUNDING_METERS) continue
            t.equal(one !== undefined, meters <= reach)
            if (one !== undefined) t.ok(Math.abs(one.meters - meters) < ROUNDING_METERS)
          }
        }
        found.close()
      }),
      { numRuns },
    )
  },
)

t.test('how far a place reaches without an area', async (t) => {
  const meters = (...categories: string[]): number =>
    Math.round(signedMeters({ position: [0, 0], categories, rings: [] }, [0, 0]))
  t.equal(meters('cafe'), -30)
  t.equal(meters('gas-station', 'hospital'), -150, 'the largest')
  t.equal(meters('airport'), -1000)
  t.equal(meters('constructor', '__proto__'), -30)
})

t.test('two objects with one id: the first; of an airport and its terminals, the largest', async (t) => {
  const node = (id: number, tags: Record<string, string>) => ({ id, longitude: 8, latitude: 47, tags })
  const corners = [0, 1, 2, 3].map((i) => ({
    id: 10 + i,
    longitude: 8 + (i === 1 || i === 2 ? 0.01 : 0),
    latitude: 47 + (i > 1 ? 0.01 : 0),
    tags: {},
  }))
  const region = await buildRegion(t, 'twice', {
    dataOf: 0,
    nodes: [
      node(1, { amenity: 'cafe', name: 'First' }),
      node(1, { amenity: 'cafe', name: 'Second' }),
      node(2, { aeroway: 'terminal', name: 'Terminal', iata: 'ABC' }),
      node(3, { aeroway: 'terminal', name: 'Terminal 2', iata: 'ABC' }),
      ...corners,
    ],
    ways: [
      { id: 2, nodes: [10, 11], tags: { highway: 'service' } },
      { id: 1, nodes: [10, 11, 12, 13, 10], tags: { aeroway: 'aerodrome', name: 'Airport', iata: 'ABC' } },
    ],
    relations: [],
  })
  const found = new PlaceDatabase(region.places!)
  const names = (['category/cafe', 'group/airport'] as const).map((trait) =>
    [...found.traits.near([8, 47], 10_000, [trait])].map(({ id }) => found.placeById(id).name),
  )
  t.strictSame(names, [['First'], ['Airport']])
  found.close()
})
