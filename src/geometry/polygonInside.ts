import { gridLongitude } from './distance.ts'
import {
  NODE_SIZE,
  POLYGON_EDGES,
  POLYGON_LEAVES,
  POLYGON_NODES,
  POLYGON_POLE,
  leafStart,
  verticesOf,
} from './shapeLayout.ts'
import type { Probe } from './probe.ts'

/** Degrees; ten micrometres from the pole. */
const NORTHERNMOST = 90 - 1e-10

const stack = new Int32Array(64)

/**
 * Whether a prepared polygon contains the probe's point, by the parity of crossings (M. Shimrat, Algorithm 112,
 * Communications of the ACM 5, 1962): edges that the meridian crosses north of the point.
 *
 * The naive way asks every edge. Here a run of edges that lies wholly east, west or south of the ray counts nothing,
 * and one wholly north of the point counts only whether its two ends are on different sides of the meridian.
 * Points on the boundary may come out either way; the caller treats distance 0 as inside.
 */
export function polygonContains(store: Float64Array, ref: number, probe: Probe): boolean {
  const root = ref + POLYGON_NODES
  const west = store[root]!
  const east = store[root + 2]!
  // the north pole is inside a ring round it: one more crossing there
  let crossings = store[ref + POLYGON_POLE] === 1 ? 1 : 0
  // an edge along the north pole itself passes north of the pole too
  const lat = Math.min(probe.latitude, NORTHERNMOST)
  const turned = gridLongitude(probe.longitude)
  let lon = turned - 360 * Math.floor((turned - west) / 360)
  for (; lon <= east; lon += 360) crossings += crossingsNorth(store, ref, lon, lat)
  return (crossings & 1) === 1
}

function crossingsNorth(store: Float64Array, ref: number, lon: number, lat: number): number {
  const edges = store[ref + POLYGON_EDGES]!
  const leaves = store[ref + POLYGON_LEAVES]! | 0
  const nodes = ref + POLYGON_NODES
  const vertices = verticesOf(ref, leaves)
  let crossings = 0
  let top = 0
  stack[top++] = 0
  while (top > 0) {
    const node = stack[--top]!
    const box = nodes + NODE_SIZE * node
    if (store[box]! > lon || store[box + 2]! <= lon || store[box + 3]! < lat) continue
    if (store[box + 1]! <= lat && node < leaves - 1) {
      stack[top++] = 2 * node + 1
      stack[top++] = 2 * node + 2
      continue
    }
    const span = leaves >> (31 - Math.clz32(node + 1))
    const leaf = (node + 1) * span - leaves
    const first = vertices + 2 * leafStart(leaf, leaves, edges)
    const last = vertices + 2 * leafStart(leaf + span, leaves, edges)
    if (store[box + 1]! > lat) {
      if (store[first]! > lon !== store[last]! > lon) crossings++
      continue
    }
    for (let v = first; v < last; v += 2) {
      const lonA = store[v]!
      const lonB = store[v + 2]!
      if (lonA > lon === lonB > lon) continue
      const latA = store[v + 1]!
      if (latA + ((lon - lonA) / (lonB - lonA)) * (store[v + 3]! - latA) > lat) crossings++
    }
  }
  return crossings
}
