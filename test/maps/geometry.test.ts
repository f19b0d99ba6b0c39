/** The geometry of maps: blocks, cutting at edges, fewer points, and land by coastlines, against slow looks at all points. */
import t from 'tap'
import { closeCell } from '../../src/geo/extract/coast.ts'
import {
  BlockReader,
  BRIDGE,
  ONEWAY,
  writeBlock,
  type MapFeature,
  type Part,
} from '../../src/geo/mapFile/block.ts'
import { cutToCells } from '../../src/geo/mapFile/cells.ts'
import { clipLine, clipRing, squareBox } from '../../src/geo/mapFile/clip.ts'
import { cellUnits, project, MAP_REGION_LEVELS, unproject } from '../../src/geo/mapFile/grid.ts'
import { kindNumber } from '../../src/geo/mapFile/kinds.ts'
import { simplifyLine } from '../../src/geo/mapFile/simplify.ts'
import fc from '../kit/fastCheck.ts'
import { isInRings } from './kit.ts'

const numRuns = 100 * Number(process.env['RINGFENCE_TEST_RUNS'] ?? 1)

const coordinate = fc.integer({ min: -(2 ** 20), max: 2 ** 20 })
const points = (least: number) =>
  fc.array(fc.tuple(coordinate, coordinate), { minLength: least, maxLength: 30 }).map((pairs) => pairs.flat())

t.test('a block says what was written into it', async () => {
  const labels = {
    name: fc.option(fc.string({ unit: 'binary', maxLength: 20 }), { nil: undefined }),
    ref: fc.option(fc.string({ maxLength: 5 }), { nil: undefined }),
    population: fc.option(fc.nat(2 ** 31), { nil: undefined }),
    flags: fc.constantFrom(0, BRIDGE, ONEWAY, BRIDGE | ONEWAY),
    names: fc.constantFrom(
      new Map(),
      new Map([
        ['de', 'Straße'],
        ['ja', '道'],
      ]),
    ),
  }
  const feature = fc.oneof(
    fc.record({
      ...labels,
      kind: fc.constant(kindNumber('roads major_road primary line')),
      parts: fc.array(points(2), { minLength: 1, maxLength: 3 }),
    }),
    fc.record({
      ...labels,
      kind: fc.constant(kindNumber('places locality city point')),
      parts: fc.tuple(points(1).map((all) => all.slice(0, 2))),
    }),
  )
  const state = fc.integer({ min: 0, max: 3 })
  fc.assert(
    fc.property(
      fc.array(feature, { maxLength: 5 }),
      fc.array(state, { maxLength: 16 }),
      (features, states) => {
        const reader = new BlockReader(writeBlock(features as MapFeature[], Uint8Array.from(states)))
        const isKnown = states.some((one) => one !== 0)
        const read: unknown[] = []
        while (reader.next()) {
          const { kind, flags, name, names, ref, population, numbers, ends } = reader
          const parts = ends.map((end, i) => Array.from(numbers.slice(ends[i - 1] ?? 0, end)))
          read.push({ name, ref, population, flags, names, kind, parts })
        }
        const key = (one: unknown) =>
          JSON.stringify(one, (_, value) => (value instanceof Map ? [...value] : value))
        return (
          read.map(key).sort().join() ===
            features
              .map(({ name, ref, population, flags, names, kind, parts }) =>
                key({ name, ref, population, flags, names, kind, parts }),
              )
              .sort()
              .join() && String([...reader.states]) === String(isKnown ? states : [])
        )
      },
    ),
    { numRuns },
  )
})

t.test('positions and places in the grid are each other’s inverse', async (t) => {
  fc.assert(
    fc.property(
      fc.double({ min: -180, max: 180, noNaN: true }),
      fc.double({ min: -85, max: 85, noNaN: true }),
      (longitude, latitude) => {
        const [x, y] = unproject(...project([longitude, latitude]))
        return Math.abs(x - longitude) < 1e-9 && Math.abs(y - latitude) < 1e-9
      },
    ),
    { numRuns },
  )
  t.strictSame(project([0, 0]), [2 ** 27, 2 ** 27])
  t.ok(project([0, 90])[1] >= 0 && project([0, -90])[1] <= 2 ** 28, 'the poles are at the edge')
})

t.test('a cut ring has the points inside of the box that were inside of the ring', async () => {
  const ring = fc
    .array(fc.tuple(fc.integer({ min: -100, max: 100 }), fc.integer({ min: -100, max: 100 })), {
      minLength: 3,
      maxLength: 12,
    })
    .map((pairs) => pairs.flat())
  const box = squareBox(40, 5)
  fc.assert(
    fc.property(ring, (one) => {
      const cut = clipRing(one, box)
      for (let x = -4.5; x < 45; x += 7) {
        for (let y = -4.3; y < 45; y += 7) {
          // New corners are rounded, so points near an edge may change sides.
          if (isInRings([one], x, y) !== isInRings([cut], x, y) && distanceToRing(one, x, y) > 1) return false
        }
      }
      return true
    }),
    { numRuns },
  )
})

t.test('a cut line consists of all of it that is in the box', async () => {
  const box = squareBox(40, 5)
  const small = fc
    .array(fc.tuple(fc.integer({ min: -100, max: 100 }), fc.integer({ min: -100, max: 100 })), {
      minLength: 2,
      maxLength: 12,
    })
    .map((pairs) => pairs.flat())
  fc.assert(
    fc.property(small, fc.nat(), fc.double({ min: 0, max: 1, noNaN: true }), (line, pick, share) => {
      const pieces = clipLine(line, box)
      for (const piece of pieces)
        for (let i = 0; i < piece.length; i += 2)
          if (piece[i]! < -5 || piece[i]! > 45 || piece[i + 1]! < -5 || piece[i + 1]! > 45) return false
      const at = 2 * (pick % (line.length / 2 - 1))
      const [x, y] = [0, 1].map(
        (axis) => line[at + axis]! + (line[at + 2 + axis]! - line[at + axis]!) * share,
      ) as [number, number]
      const isInside = x > -4 && x < 44 && y > -4 && y < 44
      return !isInside || pieces.some((piece) => distanceToLine(piece, x, y) < 1.5)
    }),
    { numRuns },
  )
})

t.test('the cells of a shape together show what it shows', async () => {
  const level = MAP_REGION_LEVELS[0]!
  const side = cellUnits(level)
  const near = fc.integer({ min: 5 * side, max: 8 * side - 1 })
  const ring = fc.array(fc.tuple(near, near), { minLength: 3, maxLength: 8 }).map((pairs) => pairs.flat())
  fc.assert(
    fc.property(ring, near, near, (one, x, y) => {
      const cells = new Map<string, Part[]>()
      cutToCells('area', [one], level, 0, (cellX, cellY, parts) => cells.set(`${cellX} ${cellY}`, parts))
      const [cellX, cellY] = [Math.floor(x / side), Math.floor(y / side)]
      const parts = cells.get(`${cellX} ${cellY}`) ?? []
      const [inX, inY] = [x + 0.5, y + 0.5]
      return (
        isInRings([one], inX, inY) === isInRings(parts, inX - cellX * side, inY - cellY * side) ||
        distanceToRing(one, inX, inY) < 2 ||
        [inX % side, inY % side].some((at) => at < 2 || at > side - 2)
      )
    }),
    { numRuns },
  )
})

t.test('a line with fewer points stays near all of its points', async (t) => {
  const walk = fc
    .array(fc.tuple(fc.integer({ min: -20, max: 20 }), fc.integer({ min: -20, max: 20 })), {
      minLength: 2,
      maxLength: 200,
    })
    .map((steps) => {
      let [x, y] = [0, 0]
      return steps.flatMap(([dx, dy]) => [(x += dx), (y += dy)])
    })
  fc.assert(
    fc.property(walk, fc.integer({ min: 1, max: 10 }), (line, tolerance) => {
      const simple = simplifyLine(line, tolerance)
      if (simple.length > line.length || simple[0] !== line[0] || simple.at(-1) !== line.at(-1)) return false
      for (let i = 0; i < line.length; i += 2)
        if (distanceToLine(simple, line[i]!, line[i + 1]!) > 2 * tolerance + 1e-9) return false
      return true
    }),
    { numRuns },
  )
  const straight = Array.from({ length: 2000 }, (_, i) => (i % 2 === 0 ? i : 7))
  t.equal(simplifyLine(straight, 1).length, 4, 'of a straight line, both ends')
  const circle = Array.from({ length: 2000 }, (_, i) =>
    Math.round(5000 * (i % 2 === 0 ? Math.cos(i / 318) : Math.sin((i - 1) / 318))),
  )
  const length = simplifyLine(circle, 10).length / 2
  t.ok(length > 20 && length < 120, `${length} points are left of a circle of 1000`)
})

t.test('land by coastlines: islands, bays, straits and cut off lines', async (t) => {
  const [side, margin] = [1000, 10]
  /** With land on its left, y to the south: an island runs up on its east side. */
  const island = (x: number, y: number, radius: number): number[] => [
    x + radius,
    y,
    x,
    y - radius,
    x - radius,
    y,
    x,
    y + radius,
    x + radius,
    y,
  ]
  const found = closeCell([island(300, 300, 100), island(700, 600, 50)], side, margin)!
  t.ok(isInRings(found.land, 300, 300) && isInRings(found.land, 700, 600))
  t.notOk(isInRings(found.land, 500, 500))
  t.strictSame(found.edges, [false, false, false, false], 'sea around islands')

  const lake = closeCell(
    [
      island(500, 500, 200)
        .reverse()
        .flatMap((_, i, all) => (i % 2 === 0 ? [all[i + 1]!, all[i]!] : [])),
    ],
    side,
    margin,
  )!
  t.notOk(isInRings(lake.land, 500, 500))
  t.ok(isInRings(lake.land, 100, 100))
  t.strictSame(lake.edges, [true, true, true, true], 'land around a bay')

  // From the western to the eastern edge: land in the north.
  const coast = closeCell([[-10, 400, 1010, 600]], side, margin)!
  t.ok(isInRings(coast.land, 500, 100))
  t.notOk(isInRings(coast.land, 500, 900))
  t.strictSame(coast.edges, [undefined, true, undefined, false])

  // A strait between two lands, an island in it, and one line in two pieces.
  const strait = closeCell(
    [[-10, 300, 400, 300], [1010, 700, -10, 700], [400, 300, 1010, 300], island(500, 500, 50)],
    side,
    margin,
  )!
  t.ok([100, 500, 900].every((y) => isInRings(strait.land, 500, y)))
  t.notOk(isInRings(strait.land, 100, 500))

  // More points than a function can have arguments.
  const jagged = Array.from({ length: 200_000 }, (_, i) => [
    Math.round(-10 + (i * 1020) / 199_999),
    400 + (i % 7),
  ])
  t.equal(closeCell([jagged.flat()], side, margin)!.land.length, 1)

  t.equal(closeCell([[-10, 400, 500, 400]], side, margin), undefined, 'one ends inside')
  t.equal(
    closeCell(
      [
        [-10, 300, 1010, 300],
        [-10, 700, 1010, 700],
      ],
      side,
      margin,
    ),
    undefined,
    'land south of one and north of the other: they contradict each other',
  )

  // A random coast from west to east, compared with a look at each point.
  const heights = fc.array(fc.integer({ min: 100, max: 900 }), { minLength: 2, maxLength: 8 })
  fc.assert(
    fc.property(heights, fc.integer({ min: 1, max: 998 }), fc.integer({ min: 1, max: 998 }), (all, x, y) => {
      const step = (side + 2 * margin) / (all.length - 1)
      const line = all.flatMap((height, i) => [
        i === all.length - 1 ? side + margin : Math.round(-margin + i * step),
        height,
      ])
      const { land } = closeCell([line], side, margin)!
      const isNorth = isInRings([[...line, side + margin, -50, -margin, -50]], x + 0.5, y + 0.5)
      return isInRings(land, x + 0.5, y + 0.5) === isNorth || distanceToLine(line, x, y) < 2
    }),
    { numRuns },
  )
})

function distanceToRing(ring: readonly number[], x: number, y: number): number {
  return distanceToLine([...ring, ring[0]!, ring[1]!], x, y)
}

function distanceToLine(line: readonly number[], x: number, y: number): number {
  let least = Math.hypot(line[0]! - x, line[1]! - y)
  for (let i = 2; i < line.length; i += 2) {
    const [ax, ay, bx, by] = [line[i - 2]!, line[i - 1]!, line[i]!, line[i + 1]!]
    const length = (bx - ax) ** 2 + (by - ay) ** 2
    const share =
      length === 0 ? 0 : Math.min(1, Math.max(0, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / length))
    least = Math.min(least, Math.hypot(ax + (bx - ax) * share - x, ay + (by - ay) * share - y))
  }
  return least
}
