import type { Outline, Position, Shape } from '../model/geofence.ts'
import { destination, pointDistance, wrapLongitude } from './distance.ts'
import { normalizeRing } from './ring.ts'

/**
 * A circle as a closed ring for responses, counter-clockwise from the north.
 * @param points positions, including the closing one
 * @returns longitudes within ±180° of the centre's, so continuous across the antimeridian; at a pole, a ring goes
 * round it the short way, as rings are read
 */
export function circleRing(center: Position, radiusMeters: number, points = 33): Position[] {
  const [lon, lat] = center
  const ring: Position[] = []
  for (let i = 0; i < points - 1; i++) {
    const at = destination(lat, lon, (-360 * i) / (points - 1), radiusMeters)
    ring.push([lon + wrapLongitude(at.longitude - lon), at.latitude])
  }
  ring.push(ring[0]!)
  return ring
}

/** The ring of a shape as responses show it: a polygon's as it was given, and a circle's as 33 positions. */
export function shapeRing(shape: Shape): readonly Position[] {
  return shape.kind === 'polygon' ? shape.ring : circleRing(shape.center, shape.radius)
}

/**
 * The centre of a shape: the circle's own, the polygon's centroid of area in the longitude/latitude plane (shoelace
 * formula), or the pole for a ring round it. Longitude in [-180, 180].
 */
export function shapeCenter(shape: Shape): Position {
  if (shape.kind === 'circle') return [wrapLongitude(shape.center[0]), shape.center[1]]
  const { longitudes, latitudes, pole } = normalizeRing(shape.ring)
  if (pole !== 0) return [0, 90 * pole]
  const lon0 = longitudes[0]!
  const lat0 = latitudes[0]!
  let twice = 0
  let sumX = 0
  let sumY = 0
  for (let i = 1; i + 1 < longitudes.length; i++) {
    const ax = longitudes[i]! - lon0
    const ay = latitudes[i]! - lat0
    const bx = longitudes[i + 1]! - lon0
    const by = latitudes[i + 1]! - lat0
    const cross = ax * by - bx * ay
    twice += cross
    sumX += (ax + bx) * cross
    sumY += (ay + by) * cross
  }
  return [wrapLongitude(lon0 + sumX / (3 * twice)), lat0 + sumY / (3 * twice)]
}

/** The centre of a shape, and the radius about it that contains the shape. */
export function shapeOutline(shape: Shape): Outline {
  const center = shapeCenter(shape)
  if (shape.kind === 'circle') return { center, radius: shape.radius }
  const [lon, lat] = center
  let radius = 0
  for (const [x, y] of shape.ring) radius = Math.max(radius, pointDistance(lat, lon, y, x))
  return { center, radius }
}

/** Whether two shapes consist of the same numbers. */
export function isSameShape(a: Shape, b: Shape): boolean {
  if (a.kind === 'circle') return b.kind === 'circle' && a.radius === b.radius && isAt(a.center, b.center)
  if (b.kind === 'circle' || a.ring.length !== b.ring.length) return false
  return a.ring.every((position, i) => isAt(position, b.ring[i]!))
}

function isAt(a: Position, b: Position): boolean {
  return a[0] === b[0] && a[1] === b[1]
}
