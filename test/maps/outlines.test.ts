/**
 * Land and sea at small zooms, as clients fill them: every tile of the world is divided into triangles by the library
 * that MapLibre uses, and points whose place is known from the outlines must be in them or not.
 */
import earcut from 'earcut'
import { createRequire } from 'node:module'
import t from 'tap'
import { doubleArea } from '../../src/geo/mapFile/clip.ts'
import { TileCutter } from '../../src/geo/mapFile/cutTile.ts'
import { project, TILE_UNITS, unproject, WORLD_BITS, WORLD_LEVELS } from '../../src/geo/mapFile/grid.ts'
import { MapFile } from '../../src/geo/mapFile/mapFile.ts'
import { simplifyPolygon } from '../../src/geo/mapFile/simplifyPolygon.ts'
import { buildWorld } from '../../src/geo/world/worldBuilder.ts'
import { flatPolygons } from '../../src/geo/world/flatPolygons.ts'
import type { Position } from '../../src/model/geofence.ts'
import fc, { draws } from '../kit/fastCheck.ts'
import { WORLD } from '../kit/world.ts'
import { featuresOf, isInRings } from './kit.ts'

const require = createRequire(import.meta.url)
const ZOOMS = [0, 1, 2, 3, 4, 5] as const
/** The square units of a tile in a pixel of its 256. */
const PIXEL = 16 ** 2
/** The outlines that tiles of a zoom are made of. */
const sizeOf = (z: number): string => (z < 3 ? '110m' : '50m')

/** Places that were on the wrong side, or that a wrong cut at 180° or at the pole would put there. */
const KNOWN: readonly (readonly [name: string, at: Position, isLand: boolean])[] = [
  ['Madrid', [-3.7, 40.4], true],
  ['the west of Portugal', [-8, 39.5], true],
  ['Mali', [-5, 15], true],
  ['Senegal', [-14.5, 14.5], true],
  ['Ivory Coast', [-6, 7], true],
  ['the Sahara', [10, 25], true],
  ['Chukotka west of 180°', [177, 67.5], true],
  ['Chukotka east of 180°', [-175, 67], true],
  ['Alaska', [-155, 66], true],
  ['the east of Antarctica', [160, -75], true],
  ['the west of Antarctica', [-150, -82], true],
  ['Antarctica at the lowest latitude of maps', [0, -84.9], true],
  ['Greenland', [-40, 73], true],
  ['Australia', [134, -25], true],
  ['the Atlantic on the latitude of Fiji', [-20, -16.7], false],
  ['the Pacific on the latitude of Fiji', [-120, -16.7], false],
  ['the Indian Ocean on the latitude of Fiji', [80, -16.7], false],
  ['the Atlantic on the latitude of Chukotka', [-2, 68.9], false],
  ['the Bay of Biscay', [-5, 45.5], false],
  ['the Gulf of Guinea', [0, 2], false],
  ['the Caspian Sea', [51, 42], false],
  ['the Bering Sea', [-179.9, 60], false],
  ['the Arctic Ocean', [0, 84.9], false],
  ['the Arctic Ocean at 180°', [180, 80], false],
]

const map = new MapFile(buildWorld(WORLD))
t.teardown(() => map.close())

t.test('tiles of all zooms fill land, and only land', { timeout: 0 }, async (t) => {
  for (const z of ZOOMS) {
    const land = landOf(sizeOf(z))
    const tiles = new Map<string, Triangles>()
    let [rings, wrong] = [0, 0]
    for (let x = 0; x < 2 ** z; x++) {
      for (let y = 0; y < 2 ** z; y++) {
        const tile = triangles(z, x, y)
        tiles.set(`${x} ${y}`, tile)
        rings += tile.rings
        // Triangles of a ring whose sides cross cover another area than the ring.
        if (Math.abs(tile.filled - tile.area) > 1) wrong++
      }
    }
    t.equal(wrong, 0, `zoom ${z}: the triangles of ${rings} rings cover what the rings do`)
    const isFilled = (at: Position): boolean => {
      const [x, y] = project(at).map((units) => units / 2 ** (WORLD_BITS - z)) as [number, number]
      const [column, row] = [x, y].map((place) => Math.min(2 ** z - 1, Math.floor(place))) as [number, number]
      return tiles.get(`${column} ${row}`)!.has((x - column) * TILE_UNITS, (y - row) * TILE_UNITS)
    }
    for (const [name, at, isLand] of KNOWN) t.equal(isFilled(at), isLand, `zoom ${z}: ${name}`)
    let [looked, onLand] = [0, 0]
    const pixel = 2 ** (WORLD_BITS - z - 8)
    fc.assert(
      fc.property(fc.tuple(share(), share()), ([shareX, shareY]) => {
        const [x, y] = [shareX * 2 ** WORLD_BITS, shareY * 2 ** WORLD_BITS]
        const at = unproject(x, y)
        const isLand = land(at)
        // Lines may be off by a pixel, and what is smaller than a few of them is left out.
        const around = [-2, 0, 2].flatMap((dx) =>
          [-2, 0, 2].map((dy) => unproject(x + dx * pixel, y + dy * pixel)),
        )
        if (around.some((one) => land(one) !== isLand)) return true
        looked++
        if (isLand) onLand++
        return isFilled(at) === isLand
      }),
      { numRuns: draws(900) },
    )
    t.ok(onLand > looked / 8 && onLand < looked * 0.6, `zoom ${z}: ${onLand} of ${looked} points are on land`)
  }
})

t.test('a polygon beyond 180° and one around a pole are where they are on the sphere', async (t) => {
  /** West and east of a polygon in degrees, to a hundred-thousandth. */
  const spanOf = ([outer]: readonly number[][]): number[] => {
    const xs = outer!.filter((_, i) => i % 2 === 0)
    return [Math.min(...xs), Math.max(...xs)].map((x) => Math.round(unproject(x, 0)[0] * 1e5) / 1e5)
  }
  const square: Position[] = [
    [170, 10],
    [-170, 10],
    [-170, -10],
    [170, -10],
    [170, 10],
  ]
  const hole: Position[] = [
    [-178, 5],
    [-176, 5],
    [-176, -5],
    [-178, -5],
    [-178, 5],
  ]
  for (const start of [0, 1, 2, 3]) {
    const turned = [...square.slice(start, -1), ...square.slice(0, start), square[start]!]
    const polygons = flatPolygons([turned, hole])
    t.equal(polygons.length, 2, 'one at each edge of the map')
    t.strictSame(
      polygons.map(spanOf).toSorted(([a], [b]) => a! - b!),
      [
        [-185.625, -170],
        [170, 185.625],
      ],
      'it goes on as far as the margin of tiles, which is a 64th of the world',
    )
    for (const polygon of polygons) {
      t.equal(polygon.length, 2, 'with its hole')
      t.ok(doubleArea(polygon[0]!) > 0 && doubleArea(polygon[1]!) < 0)
    }
  }
  const cap: Position[] = [-150, -30, 90, -150].map((longitude) => [longitude, -70])
  for (const ring of [cap, cap.toReversed()]) {
    const polygons = flatPolygons([ring])
    const covers = (at: Position): boolean => polygons.some((polygon) => isInRings(polygon, ...project(at)))
    for (const longitude of [-179.9, -149, -100, 0, 100, 179.9]) {
      t.ok(covers([longitude, -80]), `${longitude}, -80`)
      t.notOk(covers([longitude, -60]), `${longitude}, -60`)
    }
  }
})

t.test('a strait narrower than the tolerance stays one', async (t) => {
  // Two coasts of one ring, three units apart, each with bays as deep as the tolerance.
  const count = 40
  const upper = Array.from({ length: count }, (_, i) => [i * 10, i % 2 === 0 ? 100 : 97])
  const lower = upper.map(([x, y]) => [x!, y! + 3])
  const ring = [
    ...upper,
    ...lower.toReversed(),
    [-50, 103],
    [-50, 500],
    [500, 500],
    [500, 0],
    [-50, 0],
    [-50, 100],
  ]
  const [simple] = simplifyPolygon([ring.flat()], 4, 1)
  t.equal(filledOf([simple!]), Math.abs(doubleArea(simple!)) / 2)
  const [other] = simplifyPolygon([[0, 0, 50, 1, 100, 0, 100, 50, 100, 100, 0, 100]], 4, 1)
  t.strictSame(other, [0, 0, 100, 0, 100, 100, 0, 100], 'where nothing is near, the points are left out')
  t.strictSame(simplifyPolygon([[0, 0, 1, 0, 1, 1, 0, 1]], 4, 2), [], 'too small')
})

interface Triangles {
  readonly rings: number
  /** The area of the rings and that of the triangles, in square pixels. */
  readonly area: number
  readonly filled: number
  has(x: number, y: number): boolean
}

function triangles(z: number, x: number, y: number): Triangles {
  const cutter = new TileCutter({ z, x, y }, false)
  cutter.addWorld(map, WORLD_LEVELS)
  const rings = featuresOf(cutter.tile.bytes())
    .filter(({ layer, type }) => layer === 'earth' && type === 3)
    .map(({ parts }) => parts)
  const polygons = rings.flatMap(polygonsOf)
  const corners = polygons.flatMap(trianglesOf)
  return {
    rings: polygons.flat().length,
    area: polygons.flat().reduce((sum, ring) => sum + doubleArea(ring.slice(0, -2)), 0) / 2 / PIXEL,
    filled: corners.reduce((sum, one) => sum + Math.abs(doubleArea(one)), 0) / 2 / PIXEL,
    has: (px, py) => corners.some((one) => isInRings([one], px, py)),
  }
}

/** The polygons of a feature, as MapLibre finds them: the first ring says which way outer ones run. */
function polygonsOf(rings: readonly (readonly number[])[]): number[][][] {
  const polygons: number[][][] = []
  let first: boolean | undefined
  for (const ring of rings) {
    const area = doubleArea(ring.slice(0, -2))
    if (area === 0) continue
    first ??= area > 0
    if (area > 0 === first) polygons.push([])
    polygons.at(-1)!.push([...ring])
  }
  return polygons
}

function trianglesOf(polygon: readonly (readonly number[])[]): number[][] {
  const flat = polygon.flat()
  const holes: number[] = []
  let at = 0
  for (const ring of polygon) {
    if (at > 0) holes.push(at)
    at += ring.length / 2
  }
  const corners = earcut(flat, holes)
  return Array.from({ length: corners.length / 3 }, (_, i) =>
    corners.slice(3 * i, 3 * i + 3).flatMap((corner) => [flat[2 * corner]!, flat[2 * corner + 1]!]),
  )
}

function filledOf(polygon: readonly (readonly number[])[]): number {
  return trianglesOf(polygon).reduce((sum, one) => sum + Math.abs(doubleArea(one)), 0) / 2
}

/** A share of the world's side, each as likely as any other. */
function share(): fc.Arbitrary<number> {
  return fc.noBias(fc.integer({ min: 1, max: 2 ** 24 - 1 })).map((value) => value / 2 ** 24)
}

/**
 * Says whether a position is on land: whether an even number of edges is between it and the South Pole, which is on
 * land. Edges take the short way around the Earth, so this knows nothing of maps.
 */
function landOf(size: string): (at: Position) => boolean {
  const { feature } = require('topojson-client')
  const topology = require(`world-atlas/countries-${size}.json`)
  const byLongitude = Array.from({ length: 360 }, (): [Position, Position][] => [])
  for (const { geometry } of feature(topology, topology.objects.land).features) {
    for (const ring of geometry.coordinates.flat() as Position[][]) {
      // One file has a hole of a few metres at the pole.
      if (ring.every(([, latitude]) => latitude < -89.9)) continue
      for (let i = 1; i < ring.length; i++) {
        const [west, east] = [ring[i - 1]!, ring[i]!].toSorted(([a], [b]) => a - b) as [Position, Position]
        const edges: [Position, Position][] =
          east[0] - west[0] <= 180
            ? [[west, east]]
            : [
                [east, [west[0] + 360, west[1]]],
                [[east[0] - 360, east[1]], west],
              ]
        for (const [a, b] of edges)
          for (let column = Math.floor(a[0]); column <= Math.floor(b[0]); column++)
            byLongitude[column + 180]?.push([a, b])
      }
    }
  }
  return ([longitude, latitude]) => {
    const x = ((((longitude + 180) % 360) + 360) % 360) - 180
    let isLand = true
    for (const [[ax, ay], [bx, by]] of byLongitude[Math.floor(x + 180)]!)
      if (ax <= x !== bx <= x && ay + ((x - ax) / (bx - ax)) * (by - ay) < latitude) isLand = !isLand
    return isLand
  }
}
