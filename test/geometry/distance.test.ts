import fc from 'fast-check'
import t from 'tap'
import { destination, pointDistance, wrapLongitude } from '../../src/geometry/distance.ts'
import { Probe } from '../../src/geometry/probe.ts'
import { ShapeArena } from '../../src/geometry/shapeArena.ts'
import type { Shape } from '../../src/model/geofence.ts'
import { boundaryDistance, contains, direct, karney } from './oracle.ts'
import type { Point } from './oracle.ts'
import {
  circleScene,
  nearPoleScene,
  inRange,
  magnitude,
  offset,
  place,
  polarScene,
  polygonScene,
  runs,
  standpoint,
} from './shapes.ts'

const probe = new Probe()

function distance(shape: Shape, at: Point): number {
  const arena = new ShapeArena()
  return arena.distance(arena.add(shape), probe.set(at.latitude, at.longitude))
}

/** 1 mm + 0.1 % up to 20 km, 0.5 % beyond; the sign only where the point is clearly off the boundary. */
function holds(shape: Shape, at: Point): void {
  const found = distance(shape, at)
  const expected = boundaryDistance(shape, at)
  const tolerance = expected <= 20_000 ? 0.001 + 0.001 * expected : 0.005 * expected
  if (!(Math.abs(Math.abs(found) - expected) <= tolerance)) {
    throw new Error(`distance ${found}, by geodesics ${expected}`)
  }
  if (expected > 0.01 && found < 0 !== contains(shape, at)) {
    throw new Error(`distance ${found}, but inside is ${contains(shape, at)}`)
  }
}

t.test('points', async (t) => {
  t.test('a distance up to 20 km is a geodesic to 1 mm + 1 ppm', async () => {
    fc.assert(
      fc.property(
        place(90),
        fc.double({ min: 0, max: 360, noNaN: true }),
        magnitude(0.01, 20_000),
        (at, bearing, meters) => {
          const end = direct(at.latitude, at.longitude, bearing, meters)
          const found = pointDistance(at.latitude, at.longitude, end.latitude, end.longitude)
          return Math.abs(found - meters) <= 0.001 + 1e-6 * meters
        },
      ),
      runs(1000),
    )
  })

  t.test('any distance on Earth is right to 0.5 %', async () => {
    fc.assert(
      fc.property(place(90), place(90), (a, b) => {
        const expected = karney(a.latitude, a.longitude, b.latitude, b.longitude)
        const found = pointDistance(a.latitude, a.longitude, b.latitude, b.longitude)
        return Math.abs(found - expected) <= 0.001 + 0.005 * expected
      }),
      runs(1000),
    )
    for (const lat of [0, 10, 45, 89, 90]) {
      const expected = karney(lat, 0, -lat, 180)
      t.ok(Math.abs(pointDistance(lat, 0, -lat, 180) - expected) < 0.005 * expected, `antipodes of ${lat}`)
    }
    t.equal(pointDistance(12, 34, 12, 34), 0)
    t.equal(pointDistance(12, 180, 12, -180) < 1e-6, true)
  })

  t.test('destination is where the geodesic ends', async () => {
    fc.assert(
      fc.property(
        place(90),
        fc.double({ min: -360, max: 360, noNaN: true }),
        magnitude(0.01, 5_000_000),
        (at, bearing, meters) => {
          const found = destination(at.latitude, at.longitude, bearing, meters)
          const expected = direct(at.latitude, at.longitude, bearing, meters)
          return (
            Math.abs(found.longitude) <= 180 &&
            karney(found.latitude, found.longitude, expected.latitude, expected.longitude) < 0.001
          )
        },
      ),
      runs(500),
    )
  })

  t.test('longitudes wrap', async (t) => {
    const cases = [
      [0, 0],
      [180, 180],
      [-180, -180],
      [181, -179],
      [-181, 179],
      [540, 180],
      [-540, -180],
      [360, 0],
    ] as const
    for (const [lon, expected] of cases) t.equal(wrapLongitude(lon), expected, `${lon}`)
  })
})

t.test('circles', async (t) => {
  t.test('anywhere, seen from anywhere near', async () => {
    fc.assert(
      fc.property(circleScene(90), standpoint(3), ({ shape, center, size }, { east, north }) => {
        holds(shape, inRange(offset(center, east * size, north * size)))
      }),
      runs(500),
    )
  })
  t.test('seen from anywhere on Earth', async () => {
    fc.assert(
      fc.property(circleScene(90), place(90), ({ shape }, at) => holds(shape, at)),
      runs(300),
    )
  })
})

t.test('polygons', async (t) => {
  t.test('of 5 m to 15 km, within two sizes', async () => {
    fc.assert(
      fc.property(polygonScene(84, 5, 15_000), standpoint(2), ({ shape, center, size }, { east, north }) => {
        holds(shape, inRange(offset(center, east * size, north * size)))
      }),
      runs(120),
    )
  })

  t.test('of 15 to 1,500 km, across the antimeridian too', async () => {
    fc.assert(
      fc.property(
        polygonScene(60, 15_000, 1_500_000),
        standpoint(1.5),
        ({ shape, center, size }, { east, north }) => {
          holds(shape, inRange(offset(center, east * size, north * size)))
        },
      ),
      runs(60),
    )
  })

  t.test('close to a pole', async () => {
    fc.assert(
      fc.property(nearPoleScene(), standpoint(2), ({ shape, center, size }, { east, north }) => {
        holds(shape, inRange(offset(center, east * size, north * size)))
      }),
      runs(80),
    )
  })

  t.test('round a pole', async () => {
    fc.assert(
      fc.property(
        polarScene(),
        fc.double({ min: -180, max: 180, noNaN: true }),
        fc.double({ min: 0, max: 2, noNaN: true }),
        ({ shape, center, size }, longitude, share) => {
          const colatitude = Math.min(170, (share * size) / 111_200)
          holds(shape, { latitude: center.latitude - Math.sign(center.latitude) * colatitude, longitude })
        },
      ),
      runs(100),
    )
  })

  t.test('seen from anywhere on Earth', async () => {
    fc.assert(
      fc.property(polygonScene(80, 5, 1_000_000), place(90), ({ shape }, at) => holds(shape, at)),
      runs(80),
    )
  })
})
