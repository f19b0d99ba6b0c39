import type { Position } from '../../model/geofence.ts'
import { unitsOf } from './shapes.ts'

const DEGREE_METERS = 110_574

/**
 * East, west, north and south of a box, in units of the database, in the order of the parameters of statements that
 * find what touches it.
 */
export type QueryBox = readonly [east: number, west: number, north: number, south: number]

/**
 * The boxes that contain all points within a distance. There are two if they lie on both sides of the 180th meridian.
 */
export function boxesAround([x, y]: Position, meters: number): QueryBox[] {
  const height = (1.01 * meters) / DEGREE_METERS
  const width = height / Math.max(0.01, Math.cos((Math.min(90, Math.abs(y) + height) * Math.PI) / 180))
  const box = (east: number, west: number): QueryBox =>
    [east, west, y + height, y - height].map(unitsOf) as unknown as QueryBox
  if (width >= 180) return [box(180, -180)]
  return [x, x - 360, x + 360]
    .filter((longitude) => Math.abs(longitude) - width <= 180)
    .map((longitude) => box(longitude + width, longitude - width))
}
