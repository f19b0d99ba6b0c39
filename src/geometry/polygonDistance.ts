import { MIN_RADIUS_METERS, RADIANS } from './distance.ts'
import { farBoundary } from './polygonFarDistance.ts'
import { polygonContains } from './polygonInside.ts'
import { WGS84_A, WGS84_E2 } from './probe.ts'
import type { Probe } from './probe.ts'
import {
  BOX_PARTS,
  FLAG_GLOBAL,
  POLYGON_BOX,
  POLYGON_NODES,
  flagsOf,
  leastCosine,
  leavesOf,
  loadRun,
  run,
} from './shapeLayout.ts'
import type { ShapeWords } from './shapeLayout.ts'

/**
 * The local frame is accurate enough up to this distance in metres. The errors of mid-latitude distances stay below
 * 10⁻⁴ at 80°.
 */
const NEAR_METERS = 50_000
/** Beyond this latitude in degrees, meridians converge too fast for the local frame. */
export const FRAME_LATITUDE = 80
/** A point that is closer to the boundary than this, in metres, is on it. */
export const ON_BOUNDARY_METERS = 1e-6

const stackNode = new Int32Array(64)
const stackBound = new Float64Array(64)

/**
 * Signed metres from the probe's point to the boundary of a prepared polygon, negative inside, 0 within a micrometre.
 *
 * The naive way measures every edge, 2,000 for one answer. Here branch and bound over the tree of boxes measures a
 * few dozen, each in a frame at the probe, without trigonometry. Polygons that are far away, near a pole or wider
 * than half the Earth go to the spherical search of `polygonFarDistance.ts`.
 */
export function polygonDistance(words: ShapeWords, shape: number, probe: Probe): number {
  let distance = Infinity
  if ((flagsOf(words, shape) & FLAG_GLOBAL) === 0 && Math.abs(probe.latitude) <= FRAME_LATITUDE) {
    distance = nearBoundary(words, shape, probe)
  }
  if (distance === Infinity) distance = farBoundary(words, shape, probe)
  if (distance < ON_BOUNDARY_METERS) return 0
  return polygonContains(words, shape, probe) ? -distance : distance
}

/** The probe's longitude in degrees, turned to within ±180° of a polygon's middle. */
export function longitudeNear({ doubles }: ShapeWords, shape: number, longitude: number): number {
  const root = shape + POLYGON_BOX
  const middle = (doubles[root]! + doubles[root + 2]!) / 2
  const offset = longitude - middle
  if (offset > 180 || offset < -180) return longitude - 360 * Math.round(offset / 360)
  return longitude
}

/**
 * A lower bound of the distance to any point of a box, in metres, squared. By the haversine formula, hav δ = hav Δφ +
 * cos φ₁ cos φ₂ hav Δλ, with each term at its minimum in the box, sin x ≥ x − x³/6, and the ellipsoid's smallest
 * radius of curvature. In geodetic latitude and longitude, distances on the ellipsoid are nowhere smaller than on a
 * sphere of that radius.
 * @param gapLon degrees of longitude to the box, ≤ 0 if the box spans the probe's
 * @param gapLat degrees of latitude, likewise
 * @param cosines the cosine of the probe's latitude times the least cosine of the box
 */
export function boxBound2(gapLon: number, gapLat: number, cosines: number): number {
  let hav = 0
  if (gapLat > 0) {
    const x = gapLat * (RADIANS / 2)
    const s = x - (x * x * x) / 6
    hav = s * s
  }
  if (gapLon > 0) {
    const x = gapLon * (RADIANS / 2)
    const s = x - (x * x * x) / 6
    hav += s * s * cosines
  }
  return 4 * MIN_RADIUS_METERS * MIN_RADIUS_METERS * hav
}

/**
 * The distance in metres from the probe to the nearest edge; Infinity beyond 50 km.
 *
 * Distances are mid-latitude ones: Δx = N cos((φ₁ + φ₂)/2) Δλ, Δy = M Δφ (third order errors; see J. P. Snyder, Map
 * Projections: A Working Manual, 1987, for M and N). Edges are straight in longitude and latitude. The nearest point
 * of one is first found in the linear frame of the probe, then improved by one Newton step on the mid-latitude
 * distance.
 */
function nearBoundary(words: ShapeWords, shape: number, probe: Probe): number {
  const { doubles, shorts } = words
  const leaves = leavesOf(words, shape)
  const root = shape + POLYGON_BOX
  const west = doubles[root]!
  const south = doubles[root + 1]!
  const north = doubles[root + 3]!
  const stepX = (doubles[root + 2]! - west) / BOX_PARTS
  const stepY = (north - south) / BOX_PARTS
  const nodes = 4 * (shape + POLYGON_NODES)
  const lon = longitudeNear(words, shape, probe.longitude)
  const lat = probe.latitude
  const sinLat = probe.sinLatitude
  const cosLat = probe.cosLatitude
  const w2 = 1 - WGS84_E2 * sinLat * sinLat
  const perRadian = WGS84_A / Math.sqrt(w2)
  const kx = perRadian * RADIANS
  const ky = (kx * (1 - WGS84_E2)) / w2
  const kx0 = kx * cosLat
  let best2 = NEAR_METERS * NEAR_METERS
  let found = false
  let top = 0
  let node = 0
  let bound = 0
  const toWest = west - lon
  const toSouth = south - lat
  const cosines = cosLat * leastCosine(south, north)
  for (;;) {
    if (bound < best2) {
      if (node < leaves - 1) {
        const left = nodes + 4 * (2 * node + 1)
        const boundLeft = boxBound2(
          Math.max(toWest + shorts[left]! * stepX, -toWest - shorts[left + 2]! * stepX),
          Math.max(toSouth + shorts[left + 1]! * stepY, -toSouth - shorts[left + 3]! * stepY),
          cosines,
        )
        const boundRight = boxBound2(
          Math.max(toWest + shorts[left + 4]! * stepX, -toWest - shorts[left + 6]! * stepX),
          Math.max(toSouth + shorts[left + 5]! * stepY, -toSouth - shorts[left + 7]! * stepY),
          cosines,
        )
        const nearer = boundLeft <= boundRight ? 1 : 2
        stackNode[top] = 2 * node + 3 - nearer
        stackBound[top++] = nearer === 1 ? boundRight : boundLeft
        node = 2 * node + nearer
        bound = nearer === 1 ? boundLeft : boundRight
        continue
      }
      const last = 2 * loadRun(words, shape, node - (leaves - 1))
      for (let v = 0; v < last; v += 2) {
        const u0 = run[v]! - lon
        const v0 = run[v + 1]! - lat
        const du = run[v + 2]! - run[v]!
        const dv = run[v + 3]! - run[v + 1]!
        const ax = kx0 * u0
        const ay = ky * v0
        const bx = kx0 * du
        const by = ky * dv
        let t = -(ax * bx + ay * by) / (bx * bx + by * by)
        t = t > 0 ? (t < 1 ? t : 1) : 0
        const lx = ax + t * bx
        const ly = ay + t * by
        // The linear frame is off by at most 2.3 % within 50 km of a probe up to 80°.
        if ((lx * lx + ly * ly) * 0.9 > best2) continue
        let h = (v0 + t * dv) * (RADIANS / 2)
        let k = kx * (cosLat * (1 - h * h * 0.5) - sinLat * h)
        let u = u0 + t * du
        let x = k * u
        let y = ly
        const slope = -kx * (cosLat * h + sinLat) * (RADIANS / 2) * dv
        const dx = k * du + slope * u
        const step = (x * dx + y * by) / (dx * dx + by * by + 2 * x * slope * du)
        let refined = t - step
        refined = refined > 0 ? (refined < 1 ? refined : 1) : 0
        if (refined !== t) {
          h = (v0 + refined * dv) * (RADIANS / 2)
          k = kx * (cosLat * (1 - h * h * 0.5) - sinLat * h)
          u = u0 + refined * du
          x = k * u
          y = ay + refined * by
        }
        const distance2 = x * x + y * y
        if (distance2 < best2) {
          best2 = distance2
          found = true
        }
      }
    }
    if (top === 0) break
    node = stackNode[--top]!
    bound = stackBound[top]!
  }
  return found ? Math.sqrt(best2) : Infinity
}
