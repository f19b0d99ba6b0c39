import { MIN_RADIUS_METERS, RADIANS, gridLongitude, surfaceDistance } from './distance.ts'
import { WGS84_A, WGS84_E2 } from './probe.ts'
import type { Probe } from './probe.ts'
import {
  FLAG_SEAM,
  POLYGON_BOX,
  flagsOf,
  leastCosine,
  leavesOf,
  loadNode,
  loadRun,
  nodeBox,
  run,
} from './shapeLayout.ts'
import type { ShapeWords } from './shapeLayout.ts'

/** An edge is searched in pieces of at most this many degrees, because within one the distance has a single minimum. */
const PIECE_DEGREES = 2
/** No degree of longitude or latitude is longer than this, in metres. */
const MAX_METERS_PER_DEGREE = 111_700
/** `leastCosine` is lower than the cosine by less than this. */
const COSINE_ERROR = 0.001

/**
 * The length of a meridian from pole to pole. It is the distance for a polygon without a boundary, which is the whole
 * Earth.
 */
const HALF_MERIDIANS_METERS = 20_003_931

const stackNode = new Int32Array(64)
const stackBound = new Float64Array(64)
/**
 * The point of an edge in Earth-centred coordinates, its squared chord to the probe, and half the derivative of that
 * along the edge.
 */
const at = new Float64Array(5)
const nearest = new Float64Array(3)

/**
 * The distance in metres from the probe to the nearest edge of a prepared polygon, wherever both are: at poles, on the
 * far side of the Earth, with edges around the whole Earth. It is correct rather than fast. It uses the same branch
 * and bound as the near search, but edges are followed in Earth-centred coordinates, and the nearest point is where
 * the chord is perpendicular to them.
 */
export function farBoundary(words: ShapeWords, shape: number, probe: Probe): number {
  const leaves = leavesOf(words, shape)
  const seam = (flagsOf(words, shape) & FLAG_SEAM) !== 0
  const west = words.doubles[shape + POLYGON_BOX]!
  let best2 = Infinity
  let top = 0
  stackNode[top] = 0
  stackBound[top++] = 0
  while (top > 0) {
    const node = stackNode[--top]!
    if (stackBound[top]! >= best2) continue
    if (node < leaves - 1) {
      loadNode(words, shape, 2 * node + 1)
      const boundLeft = farBoxBound2(nodeBox, probe)
      loadNode(words, shape, 2 * node + 2)
      const boundRight = farBoxBound2(nodeBox, probe)
      const nearer = boundLeft <= boundRight ? 1 : 2
      stackNode[top] = 2 * node + 3 - nearer
      stackBound[top++] = nearer === 1 ? boundRight : boundLeft
      stackNode[top] = 2 * node + nearer
      stackBound[top++] = nearer === 1 ? boundLeft : boundRight
      continue
    }
    const last = 2 * loadRun(words, shape, node - (leaves - 1))
    for (let v = 0; v < last; v += 2) {
      if (seam && isSeam(v, west)) continue
      best2 = nearestOnEdge(v, probe, best2)
    }
  }
  if (best2 === Infinity) return HALF_MERIDIANS_METERS
  return surfaceDistance(probe.x, probe.y, probe.z, nearest[0]!, nearest[1]!, nearest[2]!)
}

/**
 * Whether an edge of the run, on a ring round the Earth, lies where the ring's ends meet, or only runs along the
 * pole.
 */
function isSeam(v: number, west: number): boolean {
  const lon = gridLongitude(run[v]!)
  const lat = run[v + 1]!
  if (Math.abs(lat) === 90 && lat === run[v + 3]!) return true
  return lon === gridLongitude(run[v + 2]!) && (lon === west || lon === west + 360)
}

/**
 * Like `boxBound2` of the near search, but for the chord through the Earth, and with the longitude gap taken the
 * short way round. It holds for the chord too: a ball of the smallest radius of curvature rolls freely inside the
 * ellipsoid (W. Blaschke, Kreis und Kugel, 1916), so chords between points with given normals are no shorter than on
 * that ball.
 */
export function wrappedBoxBound2(box: Float64Array, probe: Probe): number {
  const west = box[0]!
  const width = box[2]! - west
  let past = probe.longitude - west
  past -= 360 * Math.floor(past / 360)
  const gapLon = past <= width ? 0 : Math.min(past - width, 360 - past) * (RADIANS / 2)
  const gapLat = Math.max(box[1]! - probe.latitude, probe.latitude - box[3]!, 0) * (RADIANS / 2)
  const sinLon = gapLon - (gapLon * gapLon * gapLon) / 6
  const sinLat = gapLat - (gapLat * gapLat * gapLat) / 6
  const hav = sinLat * sinLat + sinLon * sinLon * probe.cosLatitude * leastCosine(box[1]!, box[3]!)
  return 4 * MIN_RADIUS_METERS * MIN_RADIUS_METERS * hav
}

/** The better of the two bounds: no point of the box has a shorter squared chord to the probe. */
export function farBoxBound2(box: Float64Array, probe: Probe): number {
  return Math.max(wrappedBoxBound2(box, probe), centerBound2(box, probe))
}

/**
 * The chord to the middle of a box less the distance from there to its corners, squared. It is the better bound for a
 * small box far away, where the other bound is a few thousandths too low and cannot tell the near side from the far
 * side.
 */
function centerBound2(box: Float64Array, probe: Probe): number {
  const width = box[2]! - box[0]!
  const height = box[3]! - box[1]!
  // The cosine of a latitude changes by no more than the latitude.
  const cosine = Math.min(1, leastCosine(box[1]!, box[3]!) + COSINE_ERROR + height * RADIANS)
  const toCorner = (MAX_METERS_PER_DEGREE * (width * cosine + height)) / 2
  moveTo(box[0]! + width / 2, box[1]! + height / 2, 0, 0, probe)
  const chord = Math.sqrt(at[3]!) - toCorner
  return chord > 0 ? chord * chord : 0
}

/** Sets `at` to the point at lon, lat of an edge that moves by dLon, dLat degrees per unit. */
function moveTo(lon: number, lat: number, dLon: number, dLat: number, probe: Probe): void {
  const phi = lat * RADIANS
  const lambda = lon * RADIANS
  const sinPhi = Math.sin(phi)
  const cosPhi = Math.cos(phi)
  const sinLambda = Math.sin(lambda)
  const cosLambda = Math.cos(lambda)
  const w2 = 1 - WGS84_E2 * sinPhi * sinPhi
  const n = WGS84_A / Math.sqrt(w2)
  const x = n * cosPhi * cosLambda
  const y = n * cosPhi * sinLambda
  const z = n * (1 - WGS84_E2) * sinPhi
  const cx = x - probe.x
  const cy = y - probe.y
  const cz = z - probe.z
  // The radii of curvature are M = N(1 − e²)/w² along the meridian, and N cos φ along the parallel.
  const north = ((n * (1 - WGS84_E2)) / w2) * dLat * RADIANS
  const east = n * cosPhi * dLon * RADIANS
  at[0] = x
  at[1] = y
  at[2] = z
  at[3] = cx * cx + cy * cy + cz * cz
  at[4] =
    cx * (-sinPhi * cosLambda * north - sinLambda * east) +
    cy * (-sinPhi * sinLambda * north + cosLambda * east) +
    cz * cosPhi * north
}

function keepNearest(best2: number): number {
  if (!(at[3]! < best2)) return best2
  nearest[0] = at[0]!
  nearest[1] = at[1]!
  nearest[2] = at[2]!
  return at[3]!
}

/** The least squared chord from the probe to the edge of the run that begins at index v, or best2 if that is less. */
function nearestOnEdge(v: number, probe: Probe, best2: number): number {
  const lon = run[v]!
  const lat = run[v + 1]!
  const dLon = run[v + 2]! - lon
  const dLat = run[v + 3]! - lat
  const whole = MAX_METERS_PER_DEGREE * (Math.abs(dLon) + Math.abs(dLat))
  moveTo(lon, lat, dLon, dLat, probe)
  let best = keepNearest(best2)
  if (Math.sqrt(at[3]!) - whole > Math.sqrt(best)) return best
  const pieces = Math.ceil(Math.max(Math.abs(dLon), Math.abs(dLat)) / PIECE_DEGREES)
  const length = whole / pieces
  let chord2 = at[3]!
  let slope = at[4]!
  for (let i = 1; i <= pieces; i++) {
    const end = i / pieces
    moveTo(lon + end * dLon, lat + end * dLat, dLon, dLat, probe)
    best = keepNearest(best)
    const chordEnd2 = at[3]!
    const slopeEnd = at[4]!
    if (slope < 0 && slopeEnd > 0 && Math.sqrt(Math.min(chord2, chordEnd2)) - length < Math.sqrt(best)) {
      best = nearestBetween(lon, lat, dLon, dLat, (i - 1) / pieces, end, slope, slopeEnd, probe, best)
    }
    chord2 = chordEnd2
    slope = slopeEnd
  }
  return best
}

/**
 * The position between two others of an edge at which the slope changes its sign, found by regula falsi in the
 * Illinois variant (M. Dowell, 1971).
 */
function nearestBetween(
  lon: number,
  lat: number,
  dLon: number,
  dLat: number,
  from: number,
  to: number,
  slopeFrom: number,
  slopeTo: number,
  probe: Probe,
  best2: number,
): number {
  let a = from
  let b = to
  let fa = slopeFrom
  let fb = slopeTo
  let best = best2
  // Rounding begins at a slope of a hundredth of a micrometre times the speed along the edge.
  const flat = 1e-8 * Math.sqrt((slopeTo - slopeFrom) / (to - from))
  let side = 0
  for (let i = 0; i < 60; i++) {
    const t = (a * fb - b * fa) / (fb - fa)
    if (!(t > a && t < b)) break
    moveTo(lon + t * dLon, lat + t * dLat, dLon, dLat, probe)
    best = keepNearest(best)
    const f = at[4]!
    if (Math.abs(f) < flat) break
    if (f < 0) {
      a = t
      fa = f
      if (side === -1) fb /= 2
      side = -1
    } else {
      b = t
      fb = f
      if (side === 1) fa /= 2
      side = 1
    }
  }
  return best
}
