import { gridLongitude } from './distance.ts'
import {
  BOX_PARTS,
  FLAG_NORTH_POLE,
  POLYGON_BOX,
  POLYGON_NODES,
  edgesOf,
  flagsOf,
  leafStart,
  leavesOf,
  leavesUnder,
  loadRun,
  run,
  vertexLongitude,
} from './shapeLayout.ts'
import type { ShapeWords } from './shapeLayout.ts'
import type { Probe } from './probe.ts'

/** A latitude in degrees that is ten micrometres from the pole. */
const NORTHERNMOST = 90 - 1e-10

const stack = new Int32Array(64)

/**
 * Whether a prepared polygon contains the probe's point, by the parity of crossings (M. Shimrat, Algorithm 112,
 * Communications of the ACM 5, 1962): edges that the meridian crosses north of the point.
 *
 * The naive way checks every edge. Here a run of edges that lies wholly east, west or south of the ray counts
 * nothing, and for a run wholly north of the point only its two ends matter: whether they are on different sides of
 * the meridian. The result for points on the boundary is arbitrary; the caller treats distance 0 as inside.
 */
export function polygonContains(words: ShapeWords, shape: number, probe: Probe): boolean {
  const root = shape + POLYGON_BOX
  const west = words.doubles[root]!
  const east = words.doubles[root + 2]!
  // The north pole is inside a ring around it, which adds one crossing there.
  let crossings = (flagsOf(words, shape) & FLAG_NORTH_POLE) !== 0 ? 1 : 0
  // An edge along the north pole also passes north of the pole.
  const lat = Math.min(probe.latitude, NORTHERNMOST)
  const turned = gridLongitude(probe.longitude)
  let lon = turned - 360 * Math.floor((turned - west) / 360)
  for (; lon <= east; lon += 360) crossings += crossingsNorth(words, shape, lon, lat)
  return (crossings & 1) === 1
}

function crossingsNorth(words: ShapeWords, shape: number, lon: number, lat: number): number {
  const { doubles, shorts } = words
  const edges = edgesOf(words, shape)
  const leaves = leavesOf(words, shape)
  const root = shape + POLYGON_BOX
  const rootWest = doubles[root]!
  const rootSouth = doubles[root + 1]!
  const stepX = (doubles[root + 2]! - rootWest) / BOX_PARTS
  const stepY = (doubles[root + 3]! - rootSouth) / BOX_PARTS
  let crossings = 0
  let top = 0
  stack[top++] = 0
  while (top > 0) {
    const node = stack[--top]!
    let south = rootSouth
    if (node === 0) {
      if (rootWest > lon || doubles[root + 2]! <= lon || doubles[root + 3]! < lat) continue
    } else {
      const box = 4 * (shape + POLYGON_NODES + node)
      if (rootWest + shorts[box]! * stepX > lon || rootWest + shorts[box + 2]! * stepX <= lon) continue
      if (rootSouth + shorts[box + 3]! * stepY < lat) continue
      south += shorts[box + 1]! * stepY
    }
    if (south <= lat && node < leaves - 1) {
      stack[top++] = 2 * node + 1
      stack[top++] = 2 * node + 2
      continue
    }
    if (south > lat) {
      const count = leavesUnder(node, leaves)
      const leaf = (node + 1) * count - leaves
      const first = vertexLongitude(words, shape, leafStart(leaf, leaves, edges))
      const last = vertexLongitude(words, shape, leafStart(leaf + count, leaves, edges))
      if (first > lon !== last > lon) crossings++
      continue
    }
    const last = 2 * loadRun(words, shape, node - (leaves - 1))
    let lonA = gridLongitude(run[0]!)
    for (let v = 0; v < last; v += 2) {
      const lonB = gridLongitude(run[v + 2]!)
      if (lonA > lon !== lonB > lon) {
        const latA = run[v + 1]!
        if (latA + ((lon - lonA) / (lonB - lonA)) * (run[v + 3]! - latA) > lat) crossings++
      }
      lonA = lonB
    }
  }
  return crossings
}
