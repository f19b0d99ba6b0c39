import { Probe, WGS84_A, WGS84_E2, WGS84_F } from './probe.ts'

/** The semi-minor axis of WGS84 in metres. */
const WGS84_B = WGS84_A * (1 - WGS84_F)
/** The mean radius (2a + b) / 3, as the IUGG defines it, in metres. */
export const MEAN_RADIUS_METERS = (2 * WGS84_A + WGS84_B) / 3
/**
 * The smallest radius of curvature of the ellipsoid, a(1 − e²), in metres. It is that of the meridian at the equator.
 */
export const MIN_RADIUS_METERS = WGS84_A * (1 - WGS84_E2)
/** Radians in a degree. */
export const RADIANS = Math.PI / 180

/**
 * The arcs of chords up to this length are computed by a series, and longer ones by Lambert's formula. At this length,
 * both are accurate to a few metres.
 */
const SERIES_CHORD_METERS = 500_000

/**
 * Metres along the ellipsoid between two points given in Earth-centred coordinates, without trigonometry up to 500
 * km.
 *
 * Up to there it uses the arc over the chord c on a sphere of mean radius R, s = 2R·asin(c/2R) = c + c³/24R² +
 * 3c⁵/640R⁴: the true radius of curvature differs by at most 0.6 %, so by 5·10⁻⁹ of the distance at 20 km, 3·10⁻⁶ at
 * 500 km. Beyond, it uses W. D. Lambert's formula on reduced latitudes (The distance between two widely separated
 * points on the surface of the earth, 1942), which needs only the vectors. Its error is about 10 m, at worst 0.2 %
 * near the antipode.
 */
export function surfaceDistance(
  ax: number,
  ay: number,
  az: number,
  bx: number,
  by: number,
  bz: number,
): number {
  const dx = ax - bx
  const dy = ay - by
  const dz = az - bz
  const chord2 = dx * dx + dy * dy + dz * dz
  if (chord2 > SERIES_CHORD_METERS * SERIES_CHORD_METERS) return lambertDistance(ax, ay, az, bx, by, bz)
  const q = chord2 / (MEAN_RADIUS_METERS * MEAN_RADIUS_METERS)
  return Math.sqrt(chord2) * (1 + q * (1 / 24 + q * (3 / 640)))
}

function lambertDistance(ax: number, ay: number, az: number, bx: number, by: number, bz: number): number {
  const hx = (ax - bx) / (2 * WGS84_A)
  const hy = (ay - by) / (2 * WGS84_A)
  const hz = (az - bz) / (2 * WGS84_B)
  const sinHalf2 = Math.min(1, hx * hx + hy * hy + hz * hz)
  const cosHalf2 = 1 - sinHalf2
  const sigma = 2 * Math.atan2(Math.sqrt(sinHalf2), Math.sqrt(cosHalf2))
  const sinSigma = 2 * Math.sqrt(sinHalf2 * cosHalf2)
  const sinA = az / WGS84_B
  const sinB = bz / WGS84_B
  const cosCos = Math.sqrt(Math.max(0, (1 - sinA * sinA) * (1 - sinB * sinB)))
  const cosSum = cosCos - sinA * sinB
  const cosDifference = cosCos + sinA * sinB
  // These are sin²P·cos²Q and cos²P·sin²Q of the half sum P and half difference Q of the reduced latitudes.
  const near = ((1 - cosSum) * (1 + cosDifference)) / 4
  const far = ((1 + cosSum) * (1 - cosDifference)) / 4
  const x = cosHalf2 > 0 ? ((sigma - sinSigma) * near) / cosHalf2 : 0
  const y = ((sigma + sinSigma) * far) / sinHalf2
  return WGS84_A * (sigma - (WGS84_F / 2) * (x + y))
}

const from = new Probe()
const to = new Probe()

/**
 * Metres along the WGS84 ellipsoid between two points, within 1 mm + 10⁻⁶ up to 20 km; see {@link surfaceDistance}.
 * @param latA degrees, −90 to 90
 * @param lonA degrees, any turn
 */
export function pointDistance(latA: number, lonA: number, latB: number, lonB: number): number {
  from.set(latA, lonA)
  to.set(latB, lonB)
  return surfaceDistance(from.x, from.y, from.z, to.x, to.y, to.z)
}

/**
 * Measures the distances from one point to many, each like {@link pointDistance}, in little more than half of the time.
 * @param lat degrees, −90 to 90
 * @param lon degrees, any turn
 */
export function distancesFrom(lat: number, lon: number): (lat: number, lon: number) => number {
  const { x, y, z } = from.set(lat, lon)
  return (latB, lonB) => {
    to.set(latB, lonB)
    return surfaceDistance(x, y, z, to.x, to.y, to.z)
  }
}

/**
 * The point at a bearing and distance from another along a geodesic: the direct problem, solved as by T. Vincenty
 * (Direct and inverse solutions of geodesics on the ellipsoid with application of nested equations, Survey Review 23,
 * 1975), accurate to less than a millimetre.
 * @param lat degrees, −90 to 90
 * @param bearing degrees clockwise from north
 * @param meters ≥ 0
 * @returns latitude and longitude in degrees, longitude in [-180, 180]
 */
export function destination(
  lat: number,
  lon: number,
  bearing: number,
  meters: number,
): { latitude: number; longitude: number } {
  const alpha1 = bearing * RADIANS
  const sinAlpha1 = Math.sin(alpha1)
  const cosAlpha1 = Math.cos(alpha1)
  const tanU1 = (1 - WGS84_F) * Math.tan(lat * RADIANS)
  const cosU1 = 1 / Math.sqrt(1 + tanU1 * tanU1)
  const sinU1 = tanU1 * cosU1
  const sigma1 = Math.atan2(tanU1, cosAlpha1)
  const sinAlpha = cosU1 * sinAlpha1
  const cosAlpha2 = 1 - sinAlpha * sinAlpha
  const u2 = (cosAlpha2 * (WGS84_A * WGS84_A - WGS84_B * WGS84_B)) / (WGS84_B * WGS84_B)
  const a = 1 + (u2 / 16384) * (4096 + u2 * (-768 + u2 * (320 - 175 * u2)))
  const b = (u2 / 1024) * (256 + u2 * (-128 + u2 * (74 - 47 * u2)))
  const sigma0 = meters / (WGS84_B * a)
  let sigma = sigma0
  let sinSigma = 0
  let cosSigma = 1
  let cosM = 1
  for (let i = 0; i < 20; i++) {
    cosM = Math.cos(2 * sigma1 + sigma)
    sinSigma = Math.sin(sigma)
    cosSigma = Math.cos(sigma)
    const cosM2 = cosM * cosM
    const inner = (b / 6) * cosM * (-3 + 4 * sinSigma * sinSigma) * (-3 + 4 * cosM2)
    const delta = b * sinSigma * (cosM + (b / 4) * (cosSigma * (-1 + 2 * cosM2) - inner))
    const next = sigma0 + delta
    const moved = Math.abs(next - sigma)
    sigma = next
    if (moved < 1e-14) break
  }
  const side = sinU1 * sinSigma - cosU1 * cosSigma * cosAlpha1
  const sinPhi = sinU1 * cosSigma + cosU1 * sinSigma * cosAlpha1
  const cosPhi = (1 - WGS84_F) * Math.sqrt(sinAlpha * sinAlpha + side * side)
  const lambda = Math.atan2(sinSigma * sinAlpha1, cosU1 * cosSigma - sinU1 * sinSigma * cosAlpha1)
  const c = (WGS84_F / 16) * cosAlpha2 * (4 + WGS84_F * (4 - 3 * cosAlpha2))
  const turn = sigma + c * sinSigma * (cosM + c * cosSigma * (-1 + 2 * cosM * cosM))
  const deltaLon = lambda - (1 - c) * WGS84_F * sinAlpha * turn
  return {
    latitude: Math.atan2(sinPhi, cosPhi) / RADIANS,
    longitude: wrapLongitude(lon + deltaLon / RADIANS),
  }
}

/** The same meridian in [-180, 180], in degrees. A longitude in that range is returned unchanged. */
export function wrapLongitude(lon: number): number {
  if (lon >= -180 && lon <= 180) return lon
  const wrapped = lon - 360 * Math.floor((lon + 180) / 360)
  // A longitude just below an odd half turn rounds into the next turn.
  if (wrapped < -180) return -180
  return wrapped === -180 && lon > 0 ? 180 : wrapped
}

const GRID = 2 ** 42

/**
 * A longitude rounded to 2⁻⁴² degrees (25 nm), so that adding turns and unwrapping rings up to ±1024° is exact: the
 * side of a vertex on which a point lies must not depend on the turn in which both are expressed.
 */
export function gridLongitude(lon: number): number {
  return Math.round(lon * GRID) / GRID
}
