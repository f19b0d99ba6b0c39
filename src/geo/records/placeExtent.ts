/** How far a place extends: its area, or a circle around its point. The code is pure. */
import { pointDistance } from '../../geometry/distance.ts'
import type { Position } from '../../model/geofence.ts'
import { isInside, nearestOnLine, type Rings } from './areas.ts'

/** The radius of a place of which only the point is known, in metres. */
const USUAL_RADIUS_METERS = 30
/** The radii of categories whose places are larger. */
const RADII_METERS: Readonly<Record<string, number>> = {
  'gas-station': 60,
  supermarket: 60,
  'shopping-mall': 60,
  'sports-venue-stadium': 150,
  hospital: 150,
  university: 150,
  airport: 1000,
}

/** The radius in metres. It is the largest that any of the categories has. */
export function radiusOf(categories: readonly string[]): number {
  return Math.max(
    USUAL_RADIUS_METERS,
    ...categories.map((slug) => (Object.hasOwn(RADII_METERS, slug) ? RADII_METERS[slug]! : 0)),
  )
}

/** What the extent of a place depends on. */
export interface Footprint {
  readonly position: Position
  readonly categories: readonly string[]
  /** The rings; empty if only the point is known. */
  readonly rings: Rings
}

/** The distance of a point from the edge of a place, in metres: negative inside. */
export function signedMeters({ position, categories, rings }: Footprint, point: Position): number {
  if (rings.length === 0)
    return pointDistance(point[1], point[0], position[1], position[0]) - radiusOf(categories)
  const meters = Math.min(...rings.map((ring) => nearestOnLine(ring, point).meters))
  return isInside(rings, point) ? -meters : meters
}
