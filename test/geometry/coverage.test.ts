import t from 'tap'
import { checkRing } from '../../src/geometry/ring.ts'
import { Probe } from '../../src/geometry/probe.ts'
import { ShapeArena } from '../../src/geometry/shapeArena.ts'
import type { Position, Shape } from '../../src/model/geofence.ts'
import fc from '../kit/fastCheck.ts'
import { sampledCoverage } from './oracle.ts'
import type { Point } from './oracle.ts'
import {
  circleScene,
  drawn,
  inRange,
  magnitude,
  nearPoleScene,
  offset,
  polarScene,
  polygonScene,
  runs,
  standpoint,
} from './shapes.ts'

const probe = new Probe()

function coverage(shape: Shape, at: Point, meters: number): number {
  const arena = new ShapeArena()
  return arena.coverage(arena.add(shape), probe.set(at.latitude, at.longitude), meters)
}

/** Allows for the kernel's error, 0.001, and that of sampling. */
function holds(shape: Shape, at: Point, meters: number): void {
  const found = coverage(shape, at, meters)
  if (!(found >= 0 && found <= 1)) throw new Error(`coverage ${found}`)
  let expected = sampledCoverage(shape, at, meters)
  if (Math.abs(found - expected) > 0.001) expected = sampledCoverage(shape, at, meters, 1000, 400)
  if (Math.abs(found - expected) > 0.0012) throw new Error(`coverage ${found}, sampled ${expected}`)
}

t.test('circles', async () => {
  fc.assert(
    fc.property(
      circleScene(90),
      standpoint(1.5),
      magnitude(0.1, 5),
      ({ shape, center, size }, { east, north }, share) => {
        holds(shape, inRange(offset(center, east * size, north * size)), Math.min(50_000, share * size))
      },
    ),
    runs(20),
  )
})

t.test('polygons, with smaller and larger discs', async () => {
  fc.assert(
    fc.property(
      polygonScene(84, 5, 50_000),
      standpoint(1),
      magnitude(0.05, 3),
      ({ shape, center, size }, { east, north }, share) => {
        holds(shape, inRange(offset(center, east * size, north * size)), Math.min(50_000, share * size))
      },
    ),
    runs(30),
  )
})

t.test('corners along the edges change nothing, however many', async () => {
  fc.assert(
    fc.property(
      polygonScene(70, 500, 50_000),
      standpoint(1),
      magnitude(0.05, 10),
      fc.integer({ min: 2, max: 1999 }),
      fc.boolean(),
      ({ shape, center, size }, { east, north }, share, corners, decimal) => {
        if (shape.kind === 'circle') return
        const dense: Shape = { kind: 'polygon', ring: densified(shape.ring, corners, decimal) }
        const at = inRange(offset(center, east * size, north * size))
        const meters = Math.min(50_000, share * size)
        const plain = coverage(shape, at, meters)
        const found = coverage(dense, at, meters)
        if (Math.abs(found - plain) > 5e-4)
          throw new Error(`coverage ${found} of the dense one, else ${plain}`)
      },
    ),
    runs(200),
  )
})

/** The same boundary with about this many corners; with `decimal`, rounded to a centimetre. */
function densified(ring: readonly Position[], corners: number, decimal: boolean): Position[] {
  const each = Math.max(1, Math.floor(corners / (ring.length - 1)))
  const dense = ring.slice(1).flatMap(([toLon, toLat], i) => {
    const [lon, lat] = ring[i]!
    const step = toLon - lon - 360 * Math.round((toLon - lon) / 360)
    return Array.from({ length: each }, (_, k): Position => {
      const part = k / each
      const x = lon + part * step
      const y = lat + part * (toLat - lat)
      return decimal ? [Math.round(x * 1e7) / 1e7, Math.round(y * 1e7) / 1e7] : [x, y]
    })
  })
  return [...dense, dense[0]!]
}

t.test('wide discs on wide polygons', async () => {
  fc.assert(
    fc.property(
      polygonScene(75, 30_000, 1_000_000),
      standpoint(0.8),
      magnitude(20_000, 50_000),
      ({ shape, center, size }, { east, north }, meters) => {
        holds(shape, inRange(offset(center, east * size, north * size)), meters)
      },
    ),
    runs(20),
  )
})

t.test('close to a pole', async () => {
  fc.assert(
    fc.property(
      nearPoleScene(),
      standpoint(1),
      magnitude(0.1, 3),
      ({ shape, center, size }, { east, north }, share) => {
        if (shape.kind === 'polygon' && checkRing(shape.ring) !== undefined) return
        holds(shape, inRange(offset(center, east * size, north * size)), Math.min(50_000, share * size))
      },
    ),
    runs(20),
  )
})

t.test('around a pole', async () => {
  fc.assert(
    fc.property(
      polarScene(),
      fc.double({ min: -180, max: 180, noNaN: true }),
      fc.double({ min: 0, max: 1.5, noNaN: true }),
      magnitude(0.1, 2),
      ({ shape, center, size }, longitude, away, share) => {
        const colatitude = (away * size) / 111_200
        const latitude = center.latitude - Math.sign(center.latitude) * colatitude
        holds(shape, { latitude, longitude }, Math.min(50_000, share * size))
      },
    ),
    runs(20),
  )
})

t.test('cases that are clear without counting', async (t) => {
  const at = { latitude: 48, longitude: 11 }
  const { ring, places } = drawn(
    `
    a...........d
    .............
    .....p.......
    .............
    b...........c`,
    'abcda',
    at,
    0.01,
  )
  const shape: Shape = { kind: 'polygon', ring }
  const point = (letter: string) => ({ latitude: places[letter]![1], longitude: places[letter]![0] })
  t.equal(coverage(shape, point('p'), 1), 1, 'a disc deep inside is covered')
  t.equal(coverage(shape, point('p'), 2000), 1)
  t.equal(coverage(shape, { latitude: 49, longitude: 11 }, 1000), 0, 'one far away is not')
  t.ok(Math.abs(coverage(shape, point('a'), 10) - 0.25) < 1e-4, 'a right angle covers a quarter')
  t.ok(Math.abs(coverage(shape, point('c'), 10) - 0.25) < 1e-4)
  const onEdge = { latitude: places.p![1], longitude: places.a![0] }
  t.ok(Math.abs(coverage(shape, onEdge, 10) - 0.5) < 1e-6, 'a meridian edge halves')
  t.equal(coverage(shape, point('p'), 0), 1, 'a disc without extent is covered when its point is')
  t.equal(coverage(shape, { latitude: 49, longitude: 11 }, 0), 0)

  const circle: Shape = { kind: 'circle', center: [11, 48], radius: 100 }
  t.equal(coverage(circle, at, 100), 1)
  t.equal(coverage(circle, at, 50), 1)
  t.ok(Math.abs(coverage(circle, at, 200) - 0.25) < 1e-12, 'a fence of half the radius covers a quarter')
  t.equal(coverage(circle, offset(at, 500, 0), 100), 0)
})

t.test('an edge along a parallel is curved for a wide disc', async () => {
  for (const latitude of [-70, 65, 73]) {
    const far = latitude + 3 * Math.sign(latitude)
    const ring: Position[] = [
      [0, latitude],
      [20, latitude],
      [20, far],
      [0, far],
      [0, latitude],
    ]
    holds({ kind: 'polygon', ring }, { latitude, longitude: 10 }, 50_000)
  }
})

t.test('a sliver covers nearly none of the disc, not all of it', async (t) => {
  const sliver: Shape = {
    kind: 'polygon',
    ring: [
      [10, 50],
      [12, 50],
      [12, 50 + 1e-11],
      [10, 50],
    ],
  }
  t.ok(coverage(sliver, { latitude: 50 + 5e-12, longitude: 11 }, 20_000) < 1e-6)
})
