import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { discBounds } from '../../src/geometry/bounds.ts'
import type { Bounds } from '../../src/geometry/bounds.ts'
import { gridLongitude } from '../../src/geometry/distance.ts'
import { Probe } from '../../src/geometry/probe.ts'
import { checkRing, normalizeRing } from '../../src/geometry/ring.ts'
import { circleRing, shapeCenter, shapeOutline, shapeRing } from '../../src/geometry/shape.ts'
import { ShapeArena } from '../../src/geometry/shapeArena.ts'
import { leavesOf, loadNode, loadRun, nodeBox, run } from '../../src/geometry/shapeLayout.ts'
import { prepareShape } from '../../src/geometry/shapePreparation.ts'
import type { Position, Shape } from '../../src/model/geofence.ts'
import fc from '../kit/fastCheck.ts'
import { contains, direct, karney } from './oracle.ts'
import type { Point } from './oracle.ts'
import {
  circleScene,
  drawn,
  inRange,
  magnitude,
  nearPoleScene,
  offset,
  place,
  polarScene,
  polygonScene,
  runs,
  standpoint,
} from './shapes.ts'

const square: Position[] = [
  [0, 0],
  [1, 0],
  [1, 1],
  [0, 1],
  [0, 0],
]

function withPosition(at: number, position: Position): Position[] {
  return square.map((p, i) => (i === at ? position : p))
}

t.test('valid rings', async (t) => {
  const fine: Record<string, Position[]> = {
    square,
    'the other way round': square.toReversed(),
    'a repeated position': [square[0]!, square[1]!, square[1]!, ...square.slice(2)],
    'unwrapped over the antimeridian': square.map(([x, y]) => [x + 179.5, y]),
    'wrapped over the antimeridian': square.map(([x, y]) => [
      inRange({ latitude: 0, longitude: x + 179.5 }).longitude,
      y,
    ]),
    'a turn further': square.map(([x, y]) => [x + 500, y]),
    'round the Earth as written': [
      [-180, -10],
      [180, -10],
      [180, 10],
      [-180, 10],
      [-180, -10],
    ],
    'round the north pole': [
      [0, 66],
      [90, 66],
      [179, 66],
      [-90, 66],
      [0, 66],
    ],
    'with a point that touches an edge': [
      [0, 0],
      [4, 0],
      [4, 4],
      [2, 0],
      [0, 4],
      [0, 0],
    ],
    'a narrow strip from pole to pole': [
      [10, -90],
      [10.001, -90],
      [10.001, 90],
      [10, 90],
      [10, -90],
    ],
    'of a centimetre': square.map(([x, y]) => [x * 1e-7, y * 1e-7]),
  }
  for (const [name, ring] of Object.entries(fine)) t.equal(checkRing(ring), undefined, name)
})

t.test('refused rings, with the reason', async (t) => {
  const refused: [Position[], RegExp][] = [
    [square.slice(0, 3), /between 4 and 2,000 positions; it has 3/],
    [Array.from({ length: 2001 }, () => [0, 0] as const), /it has 2001/],
    [square.slice(0, 4), /must be closed/],
    [withPosition(2, [1, 90.5]), /Position 2 .* latitude 90.5/],
    [withPosition(2, [1, Number.NaN]), /latitude NaN/],
    [withPosition(2, [Infinity, 1]), /Position 2 .* longitude Infinity/],
    [withPosition(2, [541, 1]), /longitude 541/],
    [
      [
        [0, 0],
        [180, 0],
        [180, 10],
        [0, 10],
        [0, 0],
      ],
      /position 1 spans exactly 180 degrees/,
    ],
    [
      [
        [-200, 0],
        [200, 0],
        [200, 10],
        [-200, 10],
        [-200, 0],
      ],
      /more than 360 degrees/,
    ],
    [
      [
        [0, 0],
        [1, 1],
        [0, 0],
        [1, 1],
        [0, 0],
      ],
      /three different positions/,
    ],
    [
      [
        [0, 0],
        [1, 0],
        [2, 0],
        [0, 0],
      ],
      /cross or overlap itself; it does near longitude 0\.5, latitude 0\.$/,
    ],
    [
      [
        [0, 0],
        [3, 1],
        [3, 0],
        [0, 2],
        [0, 0],
      ],
      /near longitude 2, latitude 0\.666667\.$/,
    ],
    [
      [
        [179, 0],
        [-179, 2],
        [-179, 0],
        [179, 2],
        [179, 0],
      ],
      /near longitude -?180, latitude 1\.$/,
    ],
    [
      [
        [0, 0],
        [2, 2],
        [2, 0],
        [0, 2],
        [0, 0],
      ],
      /cross or overlap itself; it does near longitude 1, latitude 1\.$/,
    ],
    [
      [
        [0, 0],
        [4, 0],
        [4, 4],
        [2, 4],
        [2, 6],
        [2, 4],
        [0, 4],
        [0, 0],
      ],
      /cross or overlap/,
    ],
    [
      [
        [0, 0],
        [1e-9, 0],
        [0, 1e-9],
        [0, 0],
      ],
      /enclose an area/,
    ],
    [
      [
        [0, 60],
        [120, 60],
        [-120, 60],
        [0, 60],
        [120, 70],
        [-120, 70],
        [0, 60],
      ],
      /pole more than once/,
    ],
    [
      [
        [0, 66],
        [90, 66],
        [179, 66],
        [-90, 66],
        [45, 67],
        [45, 65],
        [0, 66],
      ],
      /cross or overlap/,
    ],
    [
      [
        [-300, 0],
        [-150, 0],
        [0, 0],
        [150, 0],
        [300, 0],
        [300, 1],
        [150, 1],
        [0, 1],
        [-150, 1],
        [-300, 1],
        [-300, 0],
      ],
      /span more than 360/,
    ],
  ]
  for (const [ring, reason] of refused) t.match(checkRing(ring), reason)
})

t.test(
  'a ring is refused exactly if it overlaps itself or winds around anything more than once',
  async () => {
    const grid = fc.integer({ min: 0, max: 4 })
    fc.assert(
      fc.property(fc.array(fc.tuple(grid, grid), { minLength: 3, maxLength: 8 }), (open) => {
        const ring: Grid[] = [...open, open[0]!]
        fc.pre(!crowded(ring))
        const refused = checkRing(ring)
        const expected = overlaps(ring) || crosses(ring) || windingRange(ring) !== 1
        if ((refused !== undefined) !== expected)
          throw new Error(`${refused}; expected to be refused: ${expected}`)
      }),
      runs(1500),
    )
  },
)

type Grid = readonly [number, number]

/** Positive if p is to the left of a → b; exact for integers. */
function sideOf(a: Grid, b: Grid, p: Grid): number {
  return Math.sign((b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]))
}

function edgesOf(ring: Grid[]): (readonly [Grid, Grid])[] {
  const edges = ring.slice(1).map((b, i) => [ring[i]!, b] as const)
  return edges.filter(([a, b]) => a[0] !== b[0] || a[1] !== b[1])
}

/**
 * Whether more than two strands pass through one vertex. Winding numbers do not show how the strands continue there.
 */
function crowded(ring: Grid[]): boolean {
  return ring.some((v) => {
    let ends = 0
    for (const [a, b] of edgesOf(ring)) {
      const isEnd = [a, b].some((end) => end[0] === v[0] && end[1] === v[1])
      const dot = (v[0] - a[0]) * (v[0] - b[0]) + (v[1] - a[1]) * (v[1] - b[1])
      if (isEnd) ends += 1
      else if (sideOf(a, b, v) === 0 && dot < 0) ends += 2
    }
    return ends > 4
  })
}

/** Whether two edges cross in the interior of both. */
function crosses(ring: Grid[]): boolean {
  const edges = edgesOf(ring)
  return edges.some(([a, b]) =>
    edges.some(([c, d]) => sideOf(a, b, c) * sideOf(a, b, d) < 0 && sideOf(c, d, a) * sideOf(c, d, b) < 0),
  )
}

/**
 * Whether two edges share more than a point, which means that they are on one line (exact for integers) and their
 * ranges overlap.
 */
function overlaps(ring: Grid[]): boolean {
  const edges = edgesOf(ring)
  return edges.some(([a, b], i) =>
    edges.slice(i + 1).some(([c, d]) => {
      if (sideOf(a, b, c) !== 0 || sideOf(a, b, d) !== 0) return false
      const axis = a[0] === b[0] ? 1 : 0
      const low = Math.max(Math.min(a[axis], b[axis]), Math.min(c[axis], d[axis]))
      const high = Math.min(Math.max(a[axis], b[axis]), Math.max(c[axis], d[axis]))
      return low < high
    }),
  )
}

/**
 * The difference between the largest and the smallest winding number in the plane, sampled close to every point where
 * lines through two edges meet. Where two strands cross, the winding numbers around the point are w, w + 1 and w + 2.
 */
function windingRange(ring: Grid[]): number {
  let least = 0
  let most = 0
  const look = (x: number, y: number) => {
    for (let k = 0; k < 48; k++) {
      const angle = (2 * Math.PI * (k + 0.123)) / 48
      const w = winding(ring, x + 0.003 * Math.cos(angle), y + 0.003 * Math.sin(angle))
      least = Math.min(least, w)
      most = Math.max(most, w)
    }
  }
  for (let i = 0; i + 1 < ring.length; i++) {
    const [ax, ay] = ring[i]!
    const [bx, by] = ring[i + 1]!
    look(ax, ay)
    for (let j = 0; j < i; j++) {
      const [cx, cy] = ring[j]!
      const [dx, dy] = ring[j + 1]!
      const det = (bx - ax) * (dy - cy) - (by - ay) * (dx - cx)
      if (det === 0) continue
      const s = ((cx - ax) * (dy - cy) - (cy - ay) * (dx - cx)) / det
      if (s >= 0 && s <= 1) look(ax + s * (bx - ax), ay + s * (by - ay))
    }
  }
  return most - least
}

function winding(ring: Grid[], x: number, y: number): number {
  let count = 0
  for (let i = 0; i + 1 < ring.length; i++) {
    const [ax, ay] = ring[i]!
    const [bx, by] = ring[i + 1]!
    if (ay > y === by > y) continue
    if (ax + ((y - ay) / (by - ay)) * (bx - ax) > x) count += by > ay ? 1 : -1
  }
  return count
}

t.test('star-shaped rings are valid at any place', async () => {
  fc.assert(
    fc.property(fc.oneof(polygonScene(85, 5, 500_000), polarScene()), ({ shape }) => {
      const reason = shape.kind === 'polygon' ? checkRing(shape.ring) : 'not a polygon'
      if (reason !== undefined) throw new Error(reason)
    }),
    runs(300),
  )
})

t.test('normalizing', async (t) => {
  const { longitudes, latitudes, pole } = normalizeRing([
    [179, 0],
    [179, 0],
    [179, 2],
    [-179, 2],
    [-179, 0],
    [179, 0],
  ])
  t.same([...longitudes], [179, 181, 181, 179, 179], 'continuous, counter-clockwise, repetitions dropped')
  t.same([...latitudes], [0, 0, 2, 2, 0])
  t.equal(pole, 0)
  const arctic = normalizeRing([
    [0, 66],
    [-90, 66],
    [-179, 66],
    [90, 66],
    [0, 66],
  ])
  t.equal(arctic.pole, 1)
  t.equal(arctic.longitudes.at(-1)! - arctic.longitudes[0]!, 360, 'eastward round the north pole')
  const antarctic = normalizeRing([
    [0, -66],
    [-90, -66],
    [-179, -66],
    [90, -66],
    [0, -66],
  ])
  t.equal(antarctic.pole, -1)
  t.equal(antarctic.longitudes.at(-1)! - antarctic.longitudes[0]!, -360, 'westward round the south pole')
  t.throws(
    () =>
      normalizeRing([
        [0, 0],
        [1, 1],
        [0, 0],
      ]),
    /not a ring/,
  )
})

function within(bounds: Bounds[], at: Point): boolean {
  return bounds.some(
    (b) =>
      at.latitude >= b.south && at.latitude <= b.north && at.longitude >= b.west && at.longitude <= b.east,
  )
}

function proper(bounds: Bounds[]): boolean {
  return (
    bounds.length >= 1 &&
    bounds.length <= 2 &&
    bounds.every(
      (b) => b.west >= -180 && b.east <= 180 && b.west <= b.east && b.south >= -90 && b.north <= 90,
    )
  )
}

t.test('bounds', async (t) => {
  t.test('of a circle contain all of it', async () => {
    fc.assert(
      fc.property(
        circleScene(90),
        fc.double({ min: 0, max: 360, noNaN: true }),
        ({ shape, center, size }, bearing) => {
          const arena = new ShapeArena()
          const bounds = arena.bounds(arena.add(shape))
          const rim = direct(center.latitude, center.longitude, bearing, size)
          return proper(bounds) && within(bounds, rim) && within(bounds, center)
        },
      ),
      runs(1000),
    )
  })

  t.test('of a circle are hardly larger than it', async (t) => {
    const [box] = discBounds(50, 10, 1000)
    t.ok(karney(50, 10, box!.north, 10) < 1012)
    t.ok(karney(50, 10, 50, box!.east) < 1012)
  })

  t.test('of a polygon contain all of it', async () => {
    const probe = new Probe()
    fc.assert(
      fc.property(
        fc.oneof(polygonScene(88, 5, 500_000), polarScene(), nearPoleScene()),
        standpoint(1),
        fc.nat(),
        ({ shape, center, size }, { east, north }, pick) => {
          if (shape.kind !== 'polygon') return false
          const arena = new ShapeArena()
          const ref = arena.add(shape)
          const bounds = arena.bounds(ref)
          const [longitude, latitude] = shape.ring[pick % shape.ring.length]!
          const vertex = inRange({ latitude, longitude })
          const at = inRange(offset(center, east * size, north * size))
          const inside = arena.distance(ref, probe.set(at.latitude, at.longitude)) <= 0
          return proper(bounds) && within(bounds, vertex) && (!inside || within(bounds, at))
        },
      ),
      runs(600),
    )
  })

  t.test('both sides of the antimeridian are the same place', async (t) => {
    const arena = new ShapeArena()
    for (const x of [178, -180, 180, 179]) {
      const bounds = arena.bounds(
        arena.add({ kind: 'polygon', ring: square.map(([lon, lat]) => [lon + x, lat]) }),
      )
      if (x === 178) t.notOk(within(bounds, { latitude: 0.5, longitude: 180 }))
      else
        t.ok(
          [-180, 180].every((longitude) => within(bounds, { latitude: 0.5, longitude })),
          `from ${x}`,
        )
    }
  })
})

t.test('answers', async (t) => {
  t.test('the ring of a circle lies on it', async () => {
    fc.assert(
      fc.property(place(90), magnitude(10, 10_000), (at, radius) => {
        const ring = circleRing([at.longitude, at.latitude], radius)
        const far = ring.map(([lon, lat]) => Math.abs(karney(at.latitude, at.longitude, lat, lon) - radius))
        const center: Shape = { kind: 'polygon', ring }
        return (
          ring.length === 33 &&
          ring[0] === ring[32] &&
          Math.max(...far) < 0.001 &&
          checkRing(ring) === undefined &&
          contains(center, at)
        )
      }),
      runs(200),
    )
  })

  t.test('centre and radius', async (t) => {
    const { ring } = drawn(
      `
      a...d
      .....
      b...c`,
      'abcda',
      { latitude: 10, longitude: 179.99 },
      0.01,
    )
    const shape: Shape = { kind: 'polygon', ring }
    const [lon, lat] = shapeCenter(shape)
    t.ok(Math.abs(lon - -179.99) < 1e-9, `in range: ${lon}`)
    t.ok(Math.abs(lat - 9.99) < 1e-9)
    t.ok(Math.abs(shapeOutline(shape).radius - karney(lat, lon, ring[0]![1], ring[0]![0])) < 0.1)
    t.equal(shapeRing(shape), ring)
    const circle: Shape = { kind: 'circle', center: [13, 52], radius: 250 }
    t.same(shapeCenter(circle), [13, 52])
    t.equal(shapeOutline(circle).radius, 250)
    t.equal(shapeRing(circle).length, 33)
    const pole: Shape = {
      kind: 'polygon',
      ring: [
        [0, -66],
        [90, -66],
        [179, -66],
        [-90, -66],
        [0, -66],
      ],
    }
    t.same(shapeCenter(pole), [0, -90])
  })

  t.test('the centre of a polygon is within its box and its radius reaches every vertex', async () => {
    fc.assert(
      fc.property(polygonScene(80, 5, 500_000), ({ shape }) => {
        if (shape.kind !== 'polygon') return false
        const [longitude, latitude] = shapeCenter(shape)
        const arena = new ShapeArena()
        const radius = shapeOutline(shape).radius
        return (
          within(arena.bounds(arena.add(shape)), { latitude, longitude }) &&
          shape.ring.every(([x, y]) => karney(latitude, longitude, y, x) <= radius * 1.005 + 0.001)
        )
      }),
      runs(300),
    )
  })
})

t.test('the arena', async (t) => {
  const arena = new ShapeArena()
  const probe = new Probe().set(0.5, 0.5)
  const first = arena.add({ kind: 'polygon', ring: square })
  const before = arena.distance(first, probe)
  const [buffer] = arena.buffers
  const others = Array.from({ length: 300 }, (_, i) =>
    arena.add({ kind: 'circle', center: [i % 180, 0], radius: 50 }),
  )
  t.not(arena.buffers[0], buffer, 'it grew')
  t.equal(arena.distance(first, probe), before, 'and kept what was there')
  t.ok(arena.buffers[0] instanceof SharedArrayBuffer)
  t.equal(arena.wastedBytes, 0)
  t.notOk(arena.wasteful)
  for (const ref of others) arena.remove(ref)
  t.equal(arena.wastedBytes, 300 * 56)
  t.ok(arena.wasteful)
  t.ok(arena.usedBytes > arena.wastedBytes)
  t.throws(() => arena.add({ kind: 'circle', center: [0, 0], radius: 0 }), /radius must be positive: 0/)
})

t.test('growing and removing do not change the bytes that others read', async (t) => {
  const arena = new ShapeArena()
  const refs = [arena.add({ kind: 'polygon', ring: square })]
  const [first] = arena.buffers
  const firstBytes = Buffer.from(new Uint8Array(first!))
  const used = arena.usedBytes
  while (arena.buffers.length < 3) refs.push(arena.add({ kind: 'polygon', ring: drawnRing(500) }))
  t.not(arena.buffers[0], first, 'the first chunk was replaced')
  const older = Buffer.from(new Uint8Array(first!))
  t.ok(older.subarray(0, used).equals(firstBytes.subarray(0, used)), 'its readers keep what was there')
  const [whole, second] = arena.buffers
  const before = [whole!, second!].map((buffer) => Buffer.from(new Uint8Array(buffer)))
  for (const ref of refs.slice(0, 20)) arena.remove(ref)
  while (arena.buffers.length < 4) arena.add({ kind: 'polygon', ring: drawnRing(500) })
  t.equal(arena.buffers[0], whole, 'a chunk of full size is not replaced')
  t.equal(arena.buffers[1], second)
  t.ok(
    [whole!, second!].every((buffer, i) => before[i]!.equals(new Uint8Array(buffer))),
    'adding and removing change nothing in it',
  )
})

/** A ring with this many corners around a point. */
function drawnRing(corners: number): Position[] {
  const ring = Array.from({ length: corners }, (_, i): Position => {
    const angle = (2 * Math.PI * i) / corners
    return [Math.cos(angle), Math.sin(angle)]
  })
  return [...ring, ring[0]!]
}

t.test('the arena returns shapes bit for bit', async (t) => {
  const rounded = (shape: Shape, digits: number): Shape =>
    shape.kind === 'circle'
      ? shape
      : {
          kind: 'polygon',
          ring: shape.ring.map(([lon, lat]) => [+lon.toFixed(digits), +lat.toFixed(digits)]),
        }
  let decimal = 0
  fc.assert(
    fc.property(
      fc.oneof(
        circleScene(90),
        polygonScene(88, 5, 500_000),
        polygonScene(80, 200, 2_000_000),
        polarScene(),
        nearPoleScene(),
      ),
      fc.option(fc.integer({ min: 5, max: 8 }), { nil: undefined }),
      fc.boolean(),
      fc.option(fc.nat(), { nil: undefined }),
      ({ shape: drawnShape }, digits, reversed, repeated) => {
        let shape = digits === undefined ? drawnShape : rounded(drawnShape, digits)
        if (shape.kind === 'polygon') {
          const ring = reversed ? shape.ring.toReversed() : [...shape.ring]
          if (repeated !== undefined) ring.splice(repeated % ring.length, 0, ring[repeated % ring.length]!)
          shape = { kind: 'polygon', ring }
          if (checkRing(ring) !== undefined) return
        }
        const arena = new ShapeArena()
        const first = arena.add({ kind: 'circle', center: [1, 2], radius: 30 })
        const ref = arena.add(shape)
        if (!isDeepStrictEqual(arena.shape(ref), shape)) throw new Error(JSON.stringify(arena.shape(ref)))
        if (!arena.isSame(ref, shape) || arena.isSame(first, shape)) throw new Error('not told apart')
        if (shape.kind === 'polygon' && arena.usedBytes < 400 + 11 * shape.ring.length) decimal++
      },
    ),
    runs(600),
  )
  t.ok(decimal > 20, `${decimal} were kept as decimals`)
})

t.test('every run of edges lies in the boxes above it', async () => {
  fc.assert(
    fc.property(
      fc.oneof(polygonScene(88, 5, 500_000), polygonScene(80, 200, 2_000_000), polarScene()),
      ({ shape }) => {
        const words = prepareShape(shape)
        const leaves = leavesOf(words, 0)
        for (let leaf = 0; leaf < leaves; leaf++) {
          const edges = loadRun(words, 0, leaf)
          for (let node = leaf + leaves - 1; ; node = (node - 1) >> 1) {
            loadNode(words, 0, node)
            const [west, south, east, north] = nodeBox
            for (let v = 0; v <= 2 * edges; v += 2) {
              const [lon, lat] = [gridLongitude(run[v]!), run[v + 1]!]
              const isWithin = lon >= west! && lon <= east! && lat >= south! && lat <= north!
              if (!isWithin) throw new Error(`vertex ${v / 2} of leaf ${leaf} is not in node ${node}`)
            }
            if (node === 0) break
          }
        }
      },
    ),
    runs(300),
  )
})
