import t from 'tap'
import { Probe } from '../../src/geometry/probe.ts'
import { ShapeArena } from '../../src/geometry/shapeArena.ts'
import type { Position } from '../../src/model/geofence.ts'
import { AreaError, LiveAreas, type AreaBox, type LiveArea } from '../../src/spatial/liveAreas.ts'
import fc from '../kit/fastCheck.ts'
import { place, shape } from './contract.ts'

const RUNS = Math.ceil(Number(process.env.RINGFENCE_TEST_RUNS ?? 1) * 150)

/** Multiples of half a degree, so that points on edges are frequent and sums are exact. */
const halves = (limit: number) => fc.integer({ min: -2 * limit, max: 2 * limit }).map((number) => number / 2)

const box = fc
  .tuple(halves(180), halves(180), halves(90), halves(90))
  .filter(([west, east, south, north]) => west !== east && south !== north && Math.abs(west - east) !== 360)
  .map(([west, east, a, b]): AreaBox => ({
    kind: 'box',
    west,
    east,
    south: Math.min(a, b),
    north: Math.max(a, b),
  }))
const world: AreaBox = { kind: 'box', west: -180, south: -90, east: 180, north: 90 }

const wideCircle = fc
  .tuple(place, fc.double({ min: 1, max: 3_000_000, noNaN: true }))
  .map(([center, radius]): LiveArea => ({ kind: 'circle', center, radius }))

const area: fc.Arbitrary<LiveArea> = fc.oneof(
  { weight: 4, arbitrary: shape },
  { weight: 4, arbitrary: box },
  { weight: 2, arbitrary: wideCircle },
  { weight: 1, arbitrary: fc.constant(world) },
)
const point = fc.oneof(
  { weight: 3, arbitrary: place },
  { weight: 2, arbitrary: fc.tuple(halves(180), halves(90)) },
)

/** A slow and obvious implementation that checks every area. */
class AllAreas {
  readonly areas = new Map<number, LiveArea>()

  holds(key: number, [longitude, latitude]: Position): boolean {
    const asked = this.areas.get(key)!
    if (asked.kind === 'box') {
      const width = asked.east - asked.west + (asked.east < asked.west ? 360 : 0)
      const from = (((longitude - asked.west) % 360) + 360) % 360
      const isAround = from <= width || (from === 0 && width === 360)
      return isAround && latitude >= asked.south && latitude <= asked.north
    }
    const arena = new ShapeArena()
    return arena.distance(arena.add(asked), new Probe().set(latitude, longitude)) <= 0
  }

  holding(at: Position): number[] {
    return [...this.areas.keys()].filter((key) => this.holds(key, at)).toSorted((a, b) => a - b)
  }
}

t.test('property: the areas that contain a point are the same as in a check of each area', async () => {
  const key = fc.nat(12)
  const steps = fc.array(
    fc.oneof(
      { weight: 5, arbitrary: fc.record({ do: fc.constant('put' as const), key, area }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('remove' as const), key }) },
      { weight: 6, arbitrary: fc.record({ do: fc.constant('look' as const), at: point }) },
    ),
    { minLength: 5, maxLength: 60, size: 'max' },
  )
  // A few boxes are found in another way than many.
  const boxes = fc.oneof(fc.constant([]), fc.array(box, { minLength: 35, maxLength: 45 }))
  fc.assert(
    fc.property(boxes, steps, (crowd, script) => {
      const areas = new LiveAreas<number>()
      const twin = new AllAreas()
      for (const [i, one] of crowd.entries()) {
        areas.put(100 + i, one)
        twin.areas.set(100 + i, one)
      }
      for (const step of script) {
        if (step.do === 'put') {
          areas.put(step.key, step.area)
          twin.areas.set(step.key, step.area)
        } else if (step.do === 'remove') {
          areas.remove(step.key)
          twin.areas.delete(step.key)
        } else {
          const [longitude, latitude] = step.at
          const found: number[] = []
          areas.holding(latitude, longitude, found)
          const expected = twin.holding(step.at)
          if (found.toSorted((a, b) => a - b).join() !== expected.join())
            throw new Error(`${found.join()} hold ${step.at.join()}, not ${expected.join()}`)
          for (const [asked] of twin.areas) {
            if (areas.tester(asked)(latitude, longitude) !== expected.includes(asked))
              throw new Error(`asked alone, ${asked} answers otherwise`)
          }
        }
        if (areas.size !== twin.areas.size) throw new Error(`${areas.size} areas`)
      }
    }),
    { numRuns: RUNS },
  )
})

t.test('an area that cannot contain anything is refused, and the previous one stays', async (t) => {
  const areas = new LiveAreas<string>()
  areas.put('a', world)
  t.throws(() => areas.put('a', { kind: 'box', west: 5, south: 1, east: 6, north: 1 }), AreaError)
  t.throws(() => areas.put('a', { kind: 'box', west: 5, south: 1, east: 5, north: 2 }), AreaError)
  t.throws(() => areas.put('a', { kind: 'box', west: 180, south: 1, east: -180, north: 2 }), AreaError)
  t.throws(() => areas.put('b', { kind: 'box', west: 0, south: 0, east: 1e-12, north: 1e-12 }), AreaError)
  const found: string[] = []
  areas.holding(12, 34, found)
  t.same(found, ['a'])
})
