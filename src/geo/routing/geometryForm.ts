import { pointDistance } from '../../geometry/distance.ts'
import { decodePolyline, encodePolyline, type LonLatPoint } from './polyline.ts'

/** The form of a way in answers: GeoJSON, or text of five or six digits. */
export type GeometryForm = 'linestring' | 'polyline5' | 'polyline6'

/** A way in the requested form. */
export type WrittenGeometry =
  | { readonly type: 'LineString'; readonly coordinates: readonly LonLatPoint[] }
  | { readonly type: 'polyline5' | 'polyline6'; readonly polyline: string }

/**
 * Writes a way in the requested form.
 * @param shape the engine's polyline of six digits
 */
export function writeShape(shape: string, form: GeometryForm): WrittenGeometry {
  if (form === 'polyline6') return { type: form, polyline: shape }
  return writePoints(decodePolyline(shape, 6), form)
}

/** Writes points in the form that {@link writeShape} describes. */
export function writePoints(points: readonly LonLatPoint[], form: GeometryForm): WrittenGeometry {
  if (form === 'linestring') return { type: 'LineString', coordinates: points }
  return { type: form, polyline: encodePolyline(points, form === 'polyline5' ? 5 : 6) }
}

/**
 * A number of points that are evenly spaced along a way, from its first point to its last.
 * @param way has one point or more
 * @param count 2 or more
 */
export function resample(way: readonly LonLatPoint[], count: number): LonLatPoint[] {
  const along = [0]
  for (let i = 1; i < way.length; i++) along.push(along[i - 1]! + lengthOf(way[i - 1]!, way[i]!))
  const step = along.at(-1)! / (count - 1)
  const points: LonLatPoint[] = [way[0]!]
  let next = 1
  for (let k = 1; k < count - 1; k++) {
    const position = k * step
    while (next < way.length - 1 && along[next]! < position) next++
    points.push(
      way.length === 1 ? way[0]! : between(way[next - 1]!, way[next]!, share(along, next, position)),
    )
  }
  points.push(way.at(-1)!)
  return points
}

/** The position between the point before `next` and `next`, from 0 to 1. */
function share(along: readonly number[], next: number, position: number): number {
  const from = along[next - 1]!
  const length = along[next]! - from
  return length > 0 ? (position - from) / length : 0
}

function between([lonA, latA]: LonLatPoint, [lonB, latB]: LonLatPoint, part: number): LonLatPoint {
  return [sixDigits(lonA + (lonB - lonA) * part), sixDigits(latA + (latB - latA) * part)]
}

/** Rounds to a tenth of a metre, as in the engine's shapes. */
function sixDigits(degrees: number): number {
  return Math.round(degrees * 1e6) / 1e6
}

function lengthOf([lonA, latA]: LonLatPoint, [lonB, latB]: LonLatPoint): number {
  return pointDistance(latA, lonA, latB, lonB)
}
