import { MIN_RADIUS_METERS, RADIANS } from './distance.ts'

/** A box in degrees, west ≤ east, within ±180 and ±90. */
export interface Bounds {
  readonly west: number
  readonly south: number
  readonly east: number
  readonly north: number
}

/**
 * The margin of boxes in degrees of latitude, which is about ten micrometres. A micrometre around the boundary counts
 * as inside.
 */
const MARGIN_DEGREES = 1e-10

/**
 * Boxes that together contain every point within a radius of a point: one, or two at the antimeridian.
 *
 * On a sphere of radius R a disc of angle δ = r/R reaches asin(sin δ / cos φ) east and west (J. P. Matuschek, Finding
 * points within a distance of a latitude/longitude, 2010). With R the ellipsoid's smallest radius of curvature the
 * sphere's disc contains the ellipsoid's, since no distance on the ellipsoid is shorter than on that sphere.
 */
export function discBounds(latitude: number, longitude: number, radiusMeters: number): Bounds[] {
  const delta = ((radiusMeters * 1.00001 + 0.001) / MIN_RADIUS_METERS) * (1 / RADIANS)
  const south = latitude - delta
  const north = latitude + delta
  if (south <= -90 || north >= 90) return splitBounds(-180, south, 180, north)
  const reach = Math.sin(delta * RADIANS) / Math.cos(latitude * RADIANS)
  const half = reach >= 1 ? 180 : Math.asin(reach) / RADIANS
  return splitBounds(longitude - half, south, longitude + half, north)
}

/**
 * The box of a region as one or two boxes within ±180 (two at the antimeridian), widened by a few micrometres. A
 * region that reaches a pole gets all longitudes.
 * @param west in degrees, in any turn; `east` is at most 360 more, or all longitudes are meant
 */
export function splitBounds(west: number, south: number, east: number, north: number): Bounds[] {
  const s = Math.max(-90, south - MARGIN_DEGREES)
  const n = Math.min(90, north + MARGIN_DEGREES)
  // A pole lies on every meridian.
  const cos = s > -90 && n < 90 ? Math.cos(Math.max(Math.abs(s), Math.abs(n)) * RADIANS) : 0
  const margin = cos > 1e-8 ? MARGIN_DEGREES / cos : 360
  if (east - west + 2 * margin >= 360) return [{ west: -180, south: s, east: 180, north: n }]
  const turn = 360 * Math.floor((west - margin + 180) / 360)
  const w = Math.max(-180, west - margin - turn)
  const e = east + margin - turn
  const box = { west: w, south: s, east: Math.min(180, e), north: n }
  // ±180 is the same meridian, so a box that ends there also has a part on the other side.
  if (e >= 180) return [box, { west: -180, south: s, east: e - 360, north: n }]
  if (w === -180) return [box, { west: 180, south: s, east: 180, north: n }]
  return [box]
}
