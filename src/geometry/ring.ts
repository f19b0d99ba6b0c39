import type { Position } from '../model/geofence.ts'
import { ringCrossing } from './ringCrossing.ts'
import { MEAN_RADIUS_METERS, RADIANS, gridLongitude } from './distance.ts'

/** How many positions a polygon's ring may have, including the closing one. */
const MIN_RING_POSITIONS = 4
export const MAX_RING_POSITIONS = 2000
/** The limit of longitudes in an unwrapped ring, in degrees. */
const MAX_LONGITUDE = 540
/** Rings with a smaller area than this, in square metres, are refused: a square millimetre. */
const MIN_SQUARE_METERS = 1e-6

/** A ring ready for planar work: longitudes are continuous, and its inside is on the left of every edge. */
export interface NormalizedRing {
  /**
   * Longitudes in degrees, continuous. Edge i goes from vertex i to vertex i + 1, so there is one more entry than
   * there are edges.
   */
  readonly longitudes: Float64Array
  /** Latitudes in degrees, −90 to 90. There are as many as longitudes. */
  readonly latitudes: Float64Array
  /**
   * 1 if the ring encloses the north pole, −1 for the south pole (then the last vertex is 360° from the first),
   * otherwise 0.
   */
  readonly pole: -1 | 0 | 1
}

/**
 * The step of an edge in longitude, in degrees. With 180 < |Δ| < 360 it goes the short way, and |Δ| = 360 is taken as
 * written.
 * @param delta the second longitude minus the first
 */
function shortStep(delta: number): number {
  if (delta > 180 && delta < 360) return delta - 360
  if (delta < -180 && delta > -360) return delta + 360
  return delta
}

/**
 * Unwraps a ring that {@link checkRing} accepts: drops repeated positions, makes edges across the antimeridian
 * continuous, recognizes rings round a pole, and sets the direction so that the inside is on the left.
 *
 * A ring whose shortened edges sum to ±360° encloses a pole, the one on the side of its mean latitude (0 counts as
 * north).
 * @throws RangeError when the steps do not add up to 0 or ±360°
 */
export function normalizeRing(ring: readonly Position[]): NormalizedRing {
  const longitudes: number[] = []
  const latitudes: number[] = []
  let longitude = 0
  let sum = 0
  for (let i = 0; i < ring.length; i++) {
    const lat = ring[i]![1]
    const lon = gridLongitude(ring[i]![0])
    if (i === 0) {
      longitude = lon
    } else {
      const step = shortStep(lon - gridLongitude(ring[i - 1]![0]))
      if (step === 0 && lat === ring[i - 1]![1]) continue
      longitude += step
      sum += lat
    }
    longitudes.push(longitude)
    latitudes.push(lat)
  }
  const edges = longitudes.length - 1
  const windings = edges < 1 ? 0 : Math.round((longitudes[edges]! - longitudes[0]!) / 360)
  if (edges < 3 || Math.abs(windings) > 1)
    throw new RangeError(`not a ring: ${edges} edges, ${windings} windings`)
  let pole: -1 | 0 | 1 = 0
  if (windings !== 0) pole = sum < 0 ? -1 : 1
  const reversed = pole === 0 ? planarArea(longitudes, latitudes) < 0 : pole !== windings
  if (reversed) {
    longitudes.reverse()
    latitudes.reverse()
  }
  return { longitudes: Float64Array.from(longitudes), latitudes: Float64Array.from(latitudes), pole }
}

/**
 * The signed area in square degrees, positive if the ring runs counter-clockwise (shoelace formula about the first
 * vertex).
 */
function planarArea(longitudes: ArrayLike<number>, latitudes: ArrayLike<number>): number {
  const lon0 = longitudes[0]!
  const lat0 = latitudes[0]!
  let twice = 0
  for (let i = 1; i + 1 < longitudes.length; i++) {
    const ax = longitudes[i]! - lon0
    const ay = latitudes[i]! - lat0
    twice += ax * (latitudes[i + 1]! - lat0) - (longitudes[i + 1]! - lon0) * ay
  }
  return twice / 2
}

/**
 * Why a polygon's ring is refused, as a sentence; undefined if it is valid.
 *
 * A valid ring has 4 to 2,000 positions, the first equal to the last, latitudes within ±90, longitudes within ±540,
 * no edge of exactly 180° or more than 360° of longitude, an area, and no edge that crosses another or runs along it.
 * Repeated consecutive positions and touching at a point are allowed.
 */
export function checkRing(ring: readonly Position[]): string | undefined {
  const count = ring.length
  if (count < MIN_RING_POSITIONS || count > MAX_RING_POSITIONS) {
    return `The ring must have between 4 and 2,000 positions; it has ${count}.`
  }
  for (let i = 0; i < count; i++) {
    const [lon, lat] = ring[i]!
    if (!(Math.abs(lat) <= 90)) return `Position ${i} of the ring: latitude ${lat} is not between -90 and 90.`
    if (!(Math.abs(lon) <= MAX_LONGITUDE)) {
      return `Position ${i} of the ring: longitude ${lon} is not between -540 and 540.`
    }
  }
  const first = ring[0]!
  const last = ring[count - 1]!
  if (first[0] !== last[0] || first[1] !== last[1])
    return 'The ring must be closed: its last position equals its first.'
  let steps = 0
  for (let i = 1; i < count; i++) {
    const delta = gridLongitude(ring[i]![0]) - gridLongitude(ring[i - 1]![0])
    const size = Math.abs(delta)
    if (size === 180)
      return `The edge that ends at position ${i} spans exactly 180 degrees of longitude; add a position.`
    if (size > 360) return `The edge that ends at position ${i} spans more than 360 degrees of longitude.`
    steps += shortStep(delta)
  }
  if (Math.abs(steps) > 540) return 'The ring must not enclose a pole more than once.'
  if (distinctPositions(ring) < 3) return 'The ring must have at least three different positions.'
  return checkPlane(normalizeRing(ring))
}

function checkPlane(ring: NormalizedRing): string | undefined {
  const { longitudes, latitudes } = ring
  let min = Infinity
  let max = -Infinity
  let south = 90
  let north = -90
  for (let i = 0; i < longitudes.length; i++) {
    min = Math.min(min, longitudes[i]!)
    max = Math.max(max, longitudes[i]!)
    south = Math.min(south, latitudes[i]!)
    north = Math.max(north, latitudes[i]!)
  }
  if (ring.pole === 0 && max - min > 360) return 'The ring must not span more than 360 degrees of longitude.'
  const crossing = ringCrossing(longitudes, latitudes, ring.pole !== 0)
  if (crossing !== undefined) {
    const [lon, lat] = crossing.map(microdegrees)
    return `The ring must not cross or overlap itself; it does near longitude ${lon}, latitude ${lat}.`
  }
  if (ring.pole !== 0) return undefined
  // All vertices of a strip from pole to pole are at the poles, where a degree of longitude has no length.
  const maxCos = Math.cos(Math.max(0, south, -north) * RADIANS)
  const squareMeters =
    Math.abs(planarArea(longitudes, latitudes)) * (RADIANS * MEAN_RADIUS_METERS) ** 2 * maxCos
  return squareMeters > MIN_SQUARE_METERS ? undefined : 'The ring must enclose an area.'
}

/** The degrees with six decimals, which is a decimetre: enough to find the position on a map. */
function microdegrees(degrees: number): number {
  return Math.round(degrees * 1e6) / 1e6 + 0
}

function distinctPositions(ring: readonly Position[]): number {
  const a = ring[0]!
  let b: Position | undefined
  for (const position of ring) {
    if (position[0] === a[0] && position[1] === a[1]) continue
    if (b === undefined) b = position
    else if (position[0] !== b[0] || position[1] !== b[1]) return 3
  }
  return b === undefined ? 1 : 2
}
