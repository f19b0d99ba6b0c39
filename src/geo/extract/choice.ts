import type { Position } from '../../model/geofence.ts'
import { ApiError } from '../../runtime/errors.ts'
import type { Coverage } from './coverage.ts'
import type { BoundingBox, PlacedPoint, MapRegion } from './port.ts'

export interface CoveredMapRegion extends MapRegion {
  readonly coverage: Coverage
  /** 8 hexadecimal digits that are the same for builds that were made of the same files in the same way. */
  readonly contents: string
}

/**
 * A map region covers a position, not only with its edge, if its cell has at least this share of the nodes of the
 * fullest one.
 */
const SHARE = 1 / 4

/**
 * The map region of a point. Extracts are not cut sharply, because ways that begin inside continue to their end. So of
 * several with nodes near the point, only those with about as many as the fullest count, and the first of these is
 * returned.
 * @param regions in the order of precedence
 */
export function mapRegionAt<R extends CoveredMapRegion>(
  regions: readonly R[],
  [longitude, latitude]: Position,
): R | undefined {
  const most = Math.max(0, ...regions.map(({ coverage }) => coverage.nodesAt(longitude, latitude)))
  if (most === 0) return regions.find(({ coverage }) => coverage.isNear(longitude, latitude))
  return regions.find(({ coverage }) => coverage.nodesAt(longitude, latitude) >= most * SHARE)
}

/**
 * The map region that contains all the points, preferably the one that {@link mapRegionAt} returns for each.
 * @param coming says what will be available, if there is no map region yet
 * @throws {ApiError} see MapRegions.containing
 */
export function containingMapRegion<R extends CoveredMapRegion>(
  regions: readonly R[],
  points: readonly PlacedPoint[],
  coming: string,
): R {
  if (regions.length === 0) throw new ApiError(503, coming, { retryAfter: 10 })
  const regionsOfPoints = points.map((point, i) => {
    const region = mapRegionAt(regions, point.position)
    if (region === undefined) throw outside(points, i, regions)
    return region
  })
  const [first] = regionsOfPoints
  if (regionsOfPoints.every((region) => region === first)) return first!
  const one = regions.find(({ coverage }) => points.every(({ position: [x, y] }) => coverage.isNear(x, y)))
  if (one !== undefined) return one
  const other = regionsOfPoints.findIndex((region) => region !== first)
  const { param } = points[other]!
  throw new ApiError(
    404,
    `${param}: It lies in the region ${regionsOfPoints[other]!.name}, ${points[0]!.param} in the region ${first!.name}. ` +
      'No single region contains both.',
    { param },
  )
}

/**
 * Which of several points of one parameter it is: `Number 2: `. The empty text if the parameter has no other.
 * @param index the index of the point
 */
export function pointNumber(points: readonly PlacedPoint[], index: number): string {
  const { param } = points[index]!
  const isSame = (point: PlacedPoint) => point.param === param
  if (points.filter(isSame).length === 1) return ''
  return `Number ${1 + points.slice(0, index).filter(isSame).length}: `
}

function outside(points: readonly PlacedPoint[], index: number, regions: readonly MapRegion[]): ApiError {
  const { position, param } = points[index]!
  const all = regions.map(({ name, bounds }) => `${name} ${boundsText(bounds)}`).join(', ')
  const [longitude, latitude] = position
  return new ApiError(
    404,
    `${param}: ${pointNumber(points, index)}${latitude},${longitude} is outside of every region of this server: ${all}.`,
    { param },
  )
}

/** Bounds as text: `(latitude -34.94 to -34.70, longitude -56.43 to -56.02)`. */
function boundsText([west, south, east, north]: BoundingBox): string {
  const [w, s, e, n] = [west, south, east, north].map((degrees) => degrees.toFixed(2))
  return `(latitude ${s} to ${n}, longitude ${w} to ${e})`
}
