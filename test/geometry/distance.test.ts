import t from 'tap'
import { destination, distancesFrom, pointDistance, wrapLongitude } from '../../src/geometry/distance.ts'
import { boxBound2 } from '../../src/geometry/polygonDistance.ts'
import { farBoxBound2 } from '../../src/geometry/polygonFarDistance.ts'
import { Probe } from '../../src/geometry/probe.ts'
import { ShapeArena } from '../../src/geometry/shapeArena.ts'
import { leastCosine } from '../../src/geometry/shapeLayout.ts'
import type { Position, Shape } from '../../src/model/geofence.ts'
import fc from '../kit/fastCheck.ts'
import { boundaryDistance, contains, direct, karney } from './oracle.ts'
import type { Point } from './oracle.ts'
import {
  circleScene,
  drawn,
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

/**
 * The promised precision is 1 mm + 0.1 % up to 20 km, and 0.5 % beyond. The test requires ten times better up to 50
 * km, so that a wrong constant shows. The sign only counts if the point is clearly off the boundary.
 */
function holds(shape: Shape, at: Point): void {
  const found = distance(shape, at)
  const expected = boundaryDistance(shape, at)
  const tolerance = expected <= 50_000 ? 0.001 + 0.0001 * expected : 0.005 * expected
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

  t.test('any distance on Earth is correct to 0.5 %', async () => {
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

  t.test('distances from one point to many are those between each two', async () => {
    const anyTurn = fc
      .tuple(place(90), fc.integer({ min: -3, max: 3 }))
      .map(([{ latitude, longitude }, turns]) => ({ latitude, longitude: longitude + 360 * turns }))
    fc.assert(
      fc.property(anyTurn, anyTurn, fc.array(anyTurn, { maxLength: 10 }), (a, b, others) => {
        // Two at a time, with other measurements in between: none must disturb another.
        const fromA = distancesFrom(a.latitude, a.longitude)
        const fromB = distancesFrom(b.latitude, b.longitude)
        return [a, b, ...others].every(({ latitude, longitude }) => {
          const ofA = fromA(latitude, longitude)
          const ofB = fromB(latitude, longitude)
          return (
            ofA === pointDistance(a.latitude, a.longitude, latitude, longitude) &&
            ofB === pointDistance(b.latitude, b.longitude, latitude, longitude)
          )
        })
      }),
      runs(500),
    )
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
      [899.9999999999999, -180],
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

  t.test('around a pole', async () => {
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

t.test('polygons of up to 2,000 positions', async () => {
  fc.assert(
    fc.property(
      place(70),
      magnitude(50, 50_000),
      fc.integer({ min: 100, max: 1999 }),
      fc.integer(),
      standpoint(1.2),
      (center, size, count, seed, { east, north }) => {
        const ring = coast(center, size, count, seed)
        holdsDensely({ kind: 'polygon', ring }, inRange(offset(center, east * size, north * size)))
      },
    ),
    runs(12),
  )
})

/** A jagged star with many positions. A hash of the seed decides the jags. */
function coast(center: Point, size: number, count: number, seed: number): Position[] {
  const ring: Position[] = []
  for (let i = 0; i < count; i++) {
    const noise = Math.abs(Math.sin((i + 1) * 12.9898 + seed) * 43758.5453) % 1
    const angle = (2 * Math.PI * i) / count
    const radius = size * (0.7 + 0.2 * Math.sin(5 * angle) + 0.1 * noise)
    const at = offset(center, radius * Math.cos(angle), radius * Math.sin(angle))
    ring.push([at.longitude, at.latitude])
  }
  return [...ring, ring[0]!]
}

/** Like `holds`, but searches the boundary distance only on the 40 edges with the nearest ends. */
function holdsDensely(shape: Shape & { kind: 'polygon' }, at: Point): void {
  const found = distance(shape, at)
  const edges = shape.ring.slice(1).map((end, i) => {
    const start = shape.ring[i]!
    const reach = karney(at.latitude, at.longitude, start[1], start[0])
    return { edge: [start, end], reach: reach - karney(start[1], start[0], end[1], end[0]) }
  })
  edges.sort((a, b) => a.reach - b.reach)
  const near = edges.slice(0, 40).map(({ edge }) => boundaryDistance({ kind: 'polygon', ring: edge }, at))
  const expected = Math.min(...near)
  const tolerance = expected <= 50_000 ? 0.001 + 0.0001 * expected : 0.005 * expected
  if (edges.length > 40 && edges[40]!.reach < expected) return
  if (!(Math.abs(Math.abs(found) - expected) <= tolerance)) {
    throw new Error(`distance ${found}, by geodesics ${expected}`)
  }
  if (expected > 0.01 && found < 0 !== contains(shape, at)) throw new Error(`wrong side: ${found}`)
}

t.test('edges across half the Earth', async () => {
  fc.assert(
    fc.property(polygonScene(10, 2_000_000, 7_000_000), place(90), ({ shape }, at) => holds(shape, at)),
    runs(60),
  )
})

t.test('slanting edges at high latitudes, where a plane at the probe bends most', async () => {
  fc.assert(
    fc.property(
      fc.double({ min: 76, max: 79.9, noNaN: true }),
      fc.double({ min: 0, max: 2 * Math.PI, noNaN: true }),
      fc.double({ min: 35_000, max: 49_000, noNaN: true }),
      (latitude, angle, meters) => {
        const [cos, sin] = [Math.cos(angle), Math.sin(angle)]
        const corner = (away: number, along: number): Position => {
          const at = offset({ latitude, longitude: 20 }, away * cos - along * sin, away * sin + along * cos)
          return [at.longitude, at.latitude]
        }
        const ring = [corner(meters, -40_000), corner(meters, 40_000), corner(meters + 9_000, 0)]
        holds({ kind: 'polygon', ring: [...ring, ring[0]!] }, { latitude, longitude: 20 })
      },
    ),
    runs(60),
  )
})

t.test('an edge once around the Earth is reached in its middle', async (t) => {
  const ring: Position[] = [
    [-180, -30],
    [180, 30],
    [180, 40],
    [-180, -20],
    [-180, -30],
  ]
  t.equal(distance({ kind: 'polygon', ring }, { latitude: 15, longitude: 90 }), 0)
  holds({ kind: 'polygon', ring }, { latitude: 14, longitude: 90 })
})

t.test('bounds of boxes are never above the distance to a point in them', async () => {
  const share = fc.double({ min: 0, max: 1, noNaN: true })
  fc.assert(
    fc.property(
      place(90),
      magnitude(1e-5, 120),
      magnitude(1e-5, 60),
      share,
      share,
      fc.oneof(magnitude(1, 2e7), fc.constantFrom(1e4, 1e5)),
      fc.constantFrom(0, 90, 180, 270, 33, 211),
      (corner, width, height, x, y, meters, bearing) => {
        const north = Math.min(90, corner.latitude + height)
        const [west, south, east] = [corner.longitude, corner.latitude, corner.longitude + width]
        const box = Float64Array.of(west, south, east, north)
        const latitude = corner.latitude + y * (north - corner.latitude)
        const longitude = corner.longitude + x * width
        const from = direct(latitude, longitude, bearing, meters)
        const inBox = new Probe().set(latitude, longitude)
        probe.set(from.latitude, from.longitude)
        const chord2 = (probe.x - inBox.x) ** 2 + (probe.y - inBox.y) ** 2 + (probe.z - inBox.z) ** 2
        if (farBoxBound2(box, probe) > chord2 * (1 + 1e-9) + 1e-6) throw new Error('far bound is too high')
        const turn = 360 * Math.round((from.longitude - longitude) / 360)
        const [lon, lat] = [from.longitude - turn, from.latitude]
        const gapLon = Math.max(west - lon, lon - east)
        const gapLat = Math.max(south - lat, lat - north)
        const near2 = boxBound2(gapLon, gapLat, probe.cosLatitude * leastCosine(south, north))
        if (near2 > (meters + 1e-6) ** 2 * (1 + 1e-9)) throw new Error('near bound is too high')
      },
    ),
    runs(3000),
  )
})

t.test('a device on a vertex or an edge is at distance 0', async () => {
  fc.assert(
    fc.property(
      fc.oneof(polygonScene(85, 5, 500_000), nearPoleScene(), polarScene()),
      fc.nat(),
      fc.double({ min: 0, max: 1, noNaN: true }),
      ({ shape }, pick, share) => {
        if (shape.kind !== 'polygon') return false
        const i = pick % (shape.ring.length - 1)
        const [lonA, latA] = shape.ring[i]!
        const [lonB, latB] = shape.ring[i + 1]!
        const step = inRange({ latitude: 0, longitude: lonB - lonA }).longitude
        const onEdge = inRange({ latitude: latA + share * (latB - latA), longitude: lonA + share * step })
        const onVertex = inRange({ latitude: latA, longitude: lonA })
        return distance(shape, onEdge) === 0 && distance(shape, onVertex) === 0
      },
    ),
    runs(300),
  )
})

t.test('a device on a circle is at distance 0 within a micrometre', async (t) => {
  const arena = new ShapeArena()
  const at = arena.add({ kind: 'circle', center: [0, 0], radius: 100 })
  const north = direct(0, 0, 0, 100)
  t.ok(Math.abs(arena.distance(at, probe.set(north.latitude, north.longitude))) < 1e-6)
})

t.test('sides on a drawn map', async (t) => {
  const { ring, places } = drawn(
    `
    a...b.....c...d
    ..p.........q..
    .......r.......
    .....f...e..s..
    h.............g`,
    'abfecdgha',
    { latitude: 52, longitude: 13 },
    0.001,
  )
  const sides = Object.fromEntries(
    ['p', 'q', 'r', 's'].map((letter) => {
      const [longitude, latitude] = places[letter]!
      return [letter, distance({ kind: 'polygon', ring }, { latitude, longitude }) < 0 ? 'inside' : 'outside']
    }),
  )
  t.same(sides, { p: 'inside', q: 'inside', r: 'outside', s: 'inside' })
})

t.test('rings that are difficult to interpret', async (t) => {
  const polygon = (ring: Position[]): Shape => ({ kind: 'polygon', ring })
  const side = (shape: Shape, latitude: number, longitude: number) => {
    holds(shape, { latitude, longitude })
    return distance(shape, { latitude, longitude }) < 0
  }
  const fiji = [
    polygon([
      [177, -19],
      [-178, -19],
      [-178, -16],
      [177, -16],
      [177, -19],
    ]),
  ]
  fiji.push(
    polygon([
      [177, -19],
      [182, -19],
      [182, -16],
      [177, -16],
      [177, -19],
    ]),
  )
  fiji.push(
    polygon([
      [-183, -19],
      [-178, -19],
      [-178, -16],
      [-183, -16],
      [-183, -19],
    ]),
  )
  for (const shape of fiji) {
    t.ok(side(shape, -17, 179), 'west of the antimeridian')
    t.ok(side(shape, -17, -179), 'east of it')
    t.notOk(side(shape, -17, 0), 'not round the Earth')
    t.notOk(side(shape, -17, 176.9))
  }
  const arctic = polygon([
    [0, 66],
    [90, 66],
    [-180 + 1e-9, 66],
    [-90, 66],
    [0, 66],
  ])
  t.ok(side(arctic, 90, 0), 'the pole is inside')
  t.ok(side(arctic, 70, -135))
  t.notOk(side(arctic, 60, 12))
  t.notOk(side(arctic, -90, 0), 'the other pole is not')
  const band = polygon([
    [-180, -10],
    [180, -10],
    [180, 10],
    [-180, 10],
    [-180, -10],
  ])
  const middle = distance(band, { latitude: 0, longitude: 180 })
  t.ok(Math.abs(middle + karney(0, 0, 10, 0)) < 1, 'where a band round the Earth ends is no boundary')
  t.ok(distance(band, { latitude: 0, longitude: 0 }) < 0)
  t.ok(distance(band, { latitude: 11, longitude: 0 }) > 0)
  const world = polygon([
    [-180, -90],
    [180, -90],
    [180, 90],
    [-180, 90],
    [-180, -90],
  ])
  t.ok(distance(world, { latitude: 90, longitude: 0 }) <= 0, 'the whole Earth has the pole inside')
  t.ok(distance(world, { latitude: 12, longitude: 34 }) < 0)
  const wide = polygon([
    [-120, 0],
    [0, -40],
    [120, 0],
    [0, 40],
    [-120, 0],
  ])
  t.ok(side(wide, 0, 100))
  t.notOk(side(wide, 0, 180))
})
