import { MEAN_RADIUS_METERS, RADIANS } from './distance.ts'
import { addInside, addPiece, overlapIsUndecided, overlapShare, resetOverlap } from './discOverlap.ts'
import { FRAME_LATITUDE, boxBound2, longitudeNear, polygonDistance } from './polygonDistance.ts'
import { addFarPieces } from './polygonFarCoverage.ts'
import { polygonContains } from './polygonInside.ts'
import { WGS84_A, WGS84_E2 } from './probe.ts'
import type { Probe } from './probe.ts'
import {
  DECIMALS,
  edgesOf,
  FLAG_DECIMAL,
  FLAG_GLOBAL,
  flagsOf,
  leafStart,
  leastCosine,
  leavesOf,
  leavesUnder,
  loadNode,
  loadRun,
  nodeBox,
  run,
  verticesOf,
} from './shapeLayout.ts'
import type { ShapeWords } from './shapeLayout.ts'

/** The local frame is used while (radius / Earth radius)·tan φ is below this. Its error is the square of that. */
const FRAME_BEND = 0.03
const FRAME_RADIUS_METERS = 100_000
/** The largest deviation of an edge from a straight piece, as a share of the disc's radius. */
const SAGITTA = 1e-4

const stack = new Int32Array(64)
const mapped = new Float64Array(2)

/**
 * The share of the disc around the probe's point that a prepared polygon covers, from 0 to 1.
 * @param accuracyMeters the radius of the disc, more than 0
 */
export function polygonCoverage(
  words: ShapeWords,
  shape: number,
  probe: Probe,
  accuracyMeters: number,
): number {
  const bend = (accuracyMeters / MEAN_RADIUS_METERS) * Math.abs(probe.sinLatitude / probe.cosLatitude)
  const local =
    (flagsOf(words, shape) & FLAG_GLOBAL) === 0 &&
    Math.abs(probe.latitude) <= FRAME_LATITUDE &&
    bend < FRAME_BEND &&
    accuracyMeters < FRAME_RADIUS_METERS
  resetOverlap()
  const radius2 = local
    ? addNearPieces(words, shape, probe, accuracyMeters)
    : addFarPieces(words, shape, probe, accuracyMeters)
  if (overlapIsUndecided()) return polygonContains(words, shape, probe) ? 1 : 0
  const share = overlapShare(radius2)
  if (share === share) return share
  // It is all or nothing: all if the boundary only touches the disc's edge and the point is inside.
  return polygonDistance(words, shape, probe) < -accuracyMeters / 2 ? 1 : 0
}

/**
 * Adds the edges that come near the disc, in a frame at the probe: x = N cos φ Δλ, y = M Δφ + N sin φ₀ cos φ₀ Δλ²/2,
 * the azimuthal equidistant projection to second order (J. P. Snyder, Map Projections: A Working Manual, 1987,
 * chapter 25). Edges are straight in longitude and latitude, so they are curved in the frame, and are cut into pieces
 * where that matters.
 * @returns the disc's radius squared in the frame
 */
function addNearPieces(words: ShapeWords, shape: number, probe: Probe, radius: number): number {
  const leaves = leavesOf(words, shape)
  const lon = longitudeNear(words, shape, probe.longitude)
  const lat = probe.latitude
  const sinLat = probe.sinLatitude
  const cosLat = probe.cosLatitude
  const w2 = 1 - WGS84_E2 * sinLat * sinLat
  const n = WGS84_A / Math.sqrt(w2)
  const kx0 = n * RADIANS * cosLat
  const ky = (n * RADIANS * (1 - WGS84_E2)) / w2
  // These are the second derivatives along an edge in the frame, x″ and y″, for each squared degree of movement.
  const bendX = 2 * n * Math.abs(sinLat) * RADIANS * RADIANS
  const bendY = n * Math.abs(sinLat) * cosLat * RADIANS * RADIANS
  const radius2 = radius * radius
  const reach2 = 1.2 * radius2
  const boundary2 = 1.001 * radius2
  let top = 0
  stack[top++] = 0
  while (top > 0) {
    const node = stack[--top]!
    loadNode(words, shape, node)
    const gapLon = Math.max(nodeBox[0]! - lon, lon - nodeBox[2]!)
    const gapLat = Math.max(nodeBox[1]! - lat, lat - nodeBox[3]!)
    if (boxBound2(gapLon, gapLat, cosLat * leastCosine(nodeBox[1]!, nodeBox[3]!)) > boundary2) continue
    const farLon = Math.max(lon - nodeBox[0]!, nodeBox[2]! - lon) * RADIANS
    const farLat = Math.max(lat - nodeBox[1]!, nodeBox[3]! - lat)
    const farX = n * farLon * (cosLat + farLat * RADIANS)
    const farY = ky * farLat + 0.5 * n * farLon * farLon
    if (farX * farX + farY * farY <= radius2) {
      addInsidePieces(words, shape, node, lon, probe, radius)
      continue
    }
    if (node < leaves - 1) {
      stack[top++] = 2 * node + 1
      stack[top++] = 2 * node + 2
      continue
    }
    const last = 2 * loadRun(words, shape, node - (leaves - 1))
    for (let v = 0; v < last; v += 2) {
      const u0 = run[v]! - lon
      const v0 = run[v + 1]! - lat
      const du = run[v + 2]! - run[v]!
      const dv = run[v + 3]! - run[v + 1]!
      // This is the part of the edge that is within 1.1 radii in the linear frame. The rest cannot meet the disc.
      const ax = kx0 * u0
      const ay = ky * v0
      const bx = kx0 * du
      const by = ky * dv
      const length2 = bx * bx + by * by
      const dot = ax * bx + ay * by
      const cross = ax * by - ay * bx
      const root2 = length2 * reach2 - cross * cross
      if (!(root2 > 0)) continue
      const root = Math.sqrt(root2)
      const from = Math.max(0, (-dot - root) / length2)
      const to = Math.min(1, (-dot + root) / length2)
      if (from >= to) continue
      const span = to - from
      const sagitta = ((bendX * Math.abs(du * dv) + bendY * du * du) * span * span) / 8
      const pieces = sagitta <= SAGITTA * radius ? 1 : Math.ceil(Math.sqrt(sagitta / (SAGITTA * radius)))
      toFrame(u0 + from * du, v0 + from * dv, n, ky, sinLat, cosLat)
      let x = mapped[0]!
      let y = mapped[1]!
      for (let i = 1; i <= pieces; i++) {
        const t = from + (i * span) / pieces
        // A vertex must become the same numbers from both of its edges.
        if (i === pieces && to === 1) toFrame(run[v + 2]! - lon, run[v + 3]! - lat, n, ky, sinLat, cosLat)
        else toFrame(u0 + t * du, v0 + t * dv, n, ky, sinLat, cosLat)
        addPiece(x, y, mapped[0]!, mapped[1]!, radius2)
        x = mapped[0]!
        y = mapped[1]!
      }
    }
  }
  return radius2
}

/**
 * Adds the edges under a node whose box lies inside the disc. Nothing is cut, and each vertex is mapped only once.
 * This matters when the disc is much larger than a polygon with thousands of corners.
 */
function addInsidePieces(
  words: ShapeWords,
  shape: number,
  node: number,
  lon: number,
  probe: Probe,
  radius: number,
): void {
  const { doubles, ints } = words
  const { latitude: lat, sinLatitude: sinLat, cosLatitude: cosLat } = probe
  const w2 = 1 - WGS84_E2 * sinLat * sinLat
  const n = WGS84_A / Math.sqrt(w2)
  const ky = (n * RADIANS * (1 - WGS84_E2)) / w2
  const bendX = 2 * n * Math.abs(sinLat) * RADIANS * RADIANS
  const bendY = n * Math.abs(sinLat) * cosLat * RADIANS * RADIANS
  const mostBend = 8 * SAGITTA * radius
  const leaves = leavesOf(words, shape)
  const edges = edgesOf(words, shape)
  const count = leavesUnder(node, leaves)
  const firstLeaf = (node + 1) * count - leaves
  const first = leafStart(firstLeaf, leaves, edges)
  const last = leafStart(firstLeaf + count, leaves, edges)
  const decimal = (flagsOf(words, shape) & FLAG_DECIMAL) !== 0
  const vertices = verticesOf(shape, leaves)
  let cross = 0
  let beforeLon = 0
  let beforeLat = 0
  let x = 0
  let y = 0
  for (let vertex = first; vertex <= last; vertex++) {
    const at = decimal ? 2 * (vertices + vertex) : vertices + 2 * vertex
    const dLon = (decimal ? ints[at]! / DECIMALS : doubles[at]!) - lon
    const dLat = (decimal ? ints[at + 1]! / DECIMALS : doubles[at + 1]!) - lat
    const fromX = x
    const fromY = y
    toFrame(dLon, dLat, n, ky, sinLat, cosLat)
    x = mapped[0]!
    y = mapped[1]!
    if (vertex > first) {
      const du = dLon - beforeLon
      const dv = dLat - beforeLat
      const bend = bendX * Math.abs(du * dv) + bendY * du * du
      if (bend <= mostBend) cross += fromX * y - fromY * x
      else {
        const pieces = Math.ceil(Math.sqrt(bend / mostBend))
        let pieceX = fromX
        let pieceY = fromY
        for (let i = 1; i < pieces; i++) {
          const part = i / pieces
          toFrame(beforeLon + part * du, beforeLat + part * dv, n, ky, sinLat, cosLat)
          cross += pieceX * mapped[1]! - pieceY * mapped[0]!
          pieceX = mapped[0]!
          pieceY = mapped[1]!
        }
        cross += pieceX * y - pieceY * x
      }
    }
    beforeLon = dLon
    beforeLat = dLat
  }
  addInside(cross)
}

function toFrame(dLon: number, dLat: number, n: number, ky: number, sinLat: number, cosLat: number): void {
  const u = dLon * RADIANS
  const v = dLat * RADIANS
  mapped[0] = n * u * (cosLat * (1 - 0.5 * v * v) - sinLat * v * (1 - (v * v) / 6))
  mapped[1] = ky * dLat + 0.5 * n * u * u * sinLat * cosLat
}
