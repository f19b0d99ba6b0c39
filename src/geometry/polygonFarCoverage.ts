import { MEAN_RADIUS_METERS, RADIANS } from './distance.ts'
import { addPiece } from './discOverlap.ts'
import { wrappedBoxBound2 } from './polygonFarDistance.ts'
import { WGS84_A, WGS84_E2 } from './probe.ts'
import type { Probe } from './probe.ts'
import { leavesOf, loadNode, loadRun, nodeBox, run } from './shapeLayout.ts'
import type { ShapeWords } from './shapeLayout.ts'

/** The largest deviation of an edge from a straight piece, as a share of the disc's radius. */
const SAGITTA = 1e-4
const MAX_METERS_PER_DEGREE = 111_700
const MAX_DEPTH = 50

const stack = new Int32Array(64)
/**
 * The frame at the probe: unit vectors east and north, then the last mapped point as x, y and its chord to the probe.
 */
const east = new Float64Array(3)
const north = new Float64Array(3)
const mapped = new Float64Array(3)

/**
 * Adds the edges that come near the disc, wherever it lies, poles included. The frame is Lambert's azimuthal
 * equal-area projection at the probe, given by the direction and the length of the chord (J. P. Snyder, Map
 * Projections: A Working Manual, 1987, chapter 24). Edges are halved until they are straight enough.
 * @returns the disc's radius squared in the frame
 */
export function addFarPieces(words: ShapeWords, shape: number, probe: Probe, accuracyMeters: number): number {
  const leaves = leavesOf(words, shape)
  const half = Math.min(Math.PI / 2, accuracyMeters / (2 * MEAN_RADIUS_METERS))
  const radius = 2 * MEAN_RADIUS_METERS * Math.sin(half)
  setFrame(probe)
  let top = 0
  stack[top++] = 0
  while (top > 0) {
    const node = stack[--top]!
    loadNode(words, shape, node)
    if (wrappedBoxBound2(nodeBox, probe) > 1.01 * radius * radius) continue
    if (node < leaves - 1) {
      stack[top++] = 2 * node + 1
      stack[top++] = 2 * node + 2
      continue
    }
    const last = 2 * loadRun(words, shape, node - (leaves - 1))
    for (let v = 0; v < last; v += 2) {
      const lonB = run[v + 2]!
      const latB = run[v + 3]!
      toFrame(lonB, latB, probe)
      const bx = mapped[0]!
      const by = mapped[1]!
      toFrame(run[v]!, run[v + 1]!, probe)
      addEdge(probe, radius, 0, run[v]!, run[v + 1]!, mapped[0]!, mapped[1]!, lonB, latB, bx, by)
    }
  }
  return radius * radius
}

function addEdge(
  probe: Probe,
  radius: number,
  depth: number,
  lonA: number,
  latA: number,
  ax: number,
  ay: number,
  lonB: number,
  latB: number,
  bx: number,
  by: number,
): void {
  const lon = (lonA + lonB) / 2
  const lat = (latA + latB) / 2
  toFrame(lon, lat, probe)
  const x = mapped[0]!
  const y = mapped[1]!
  const length = lengthBound(lonA, latA, lonB, latB)
  if (mapped[2]! > radius + length / 2) return
  const dx = x - (ax + bx) / 2
  const dy = y - (ay + by) / 2
  const flat = dx * dx + dy * dy <= (SAGITTA * radius) ** 2
  if (depth === MAX_DEPTH || (length <= radius && flat)) {
    addPiece(ax, ay, bx, by, radius * radius)
    return
  }
  addEdge(probe, radius, depth + 1, lonA, latA, ax, ay, lon, lat, x, y)
  addEdge(probe, radius, depth + 1, lon, lat, x, y, lonB, latB, bx, by)
}

/** An upper bound in metres of the length of a piece that is straight in longitude and latitude. */
function lengthBound(lonA: number, latA: number, lonB: number, latB: number): number {
  const equatorward = latA * latB < 0 ? 0 : Math.min(Math.abs(latA), Math.abs(latB))
  const degrees = Math.abs(lonB - lonA) * Math.cos(equatorward * RADIANS) + Math.abs(latB - latA)
  return MAX_METERS_PER_DEGREE * degrees
}

function setFrame(probe: Probe): void {
  const lambda = probe.longitude * RADIANS
  const cosLambda = Math.cos(lambda)
  const sinLambda = Math.sin(lambda)
  east[0] = -sinLambda
  east[1] = cosLambda
  east[2] = 0
  north[0] = -probe.sinLatitude * cosLambda
  north[1] = -probe.sinLatitude * sinLambda
  north[2] = probe.cosLatitude
}

function toFrame(lon: number, lat: number, probe: Probe): void {
  const phi = lat * RADIANS
  const lambda = lon * RADIANS
  const sinPhi = Math.sin(phi)
  const n = WGS84_A / Math.sqrt(1 - WGS84_E2 * sinPhi * sinPhi)
  const cx = n * Math.cos(phi) * Math.cos(lambda) - probe.x
  const cy = n * Math.cos(phi) * Math.sin(lambda) - probe.y
  const cz = n * (1 - WGS84_E2) * sinPhi - probe.z
  const x = east[0]! * cx + east[1]! * cy
  const y = north[0]! * cx + north[1]! * cy + north[2]! * cz
  const chord = Math.sqrt(cx * cx + cy * cy + cz * cz)
  const flat = Math.sqrt(x * x + y * y)
  const scale = flat > 0 ? chord / flat : 0
  mapped[0] = x * scale
  mapped[1] = y * scale
  mapped[2] = chord
}
