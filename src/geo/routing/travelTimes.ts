import type { PlacedPoint } from '../extract/port.ts'
import type { Position, TravelMode } from '../../model/geofence.ts'
import { ApiError } from '../../runtime/errors.ts'
import { offRoadSentence, roadDistances } from './asking.ts'
import { matrixCells } from './matrix.ts'
import { TooFar, type RoutingEngine, type RoutingEngines } from './port.ts'
import { SNAP_METERS } from './travel.ts'

/** Measures how long the ways to a place take, on the road network that contains it. */
export class RoadTravelTimes {
  readonly #engines: RoutingEngines

  constructor(engines: RoutingEngines) {
    this.#engines = engines
  }

  /**
   * Measures the ways to a place.
   * @param param the request's parameter with the place
   * @param origins at most 625, the nearest first
   * @returns minutes from each origin; Infinity if there is no way, or if the origin is farther than the engine
   * searches
   * @throws {ApiError} 404 naming the parameter if no network contains the place, or no road is near it; 503
   */
  async minutesTo(
    param: string,
    place: Position,
    origins: readonly Position[],
    mode: TravelMode,
  ): Promise<readonly number[]> {
    const target = { param, position: place }
    const engine = this.#engines.containing([target])
    // It does not matter whether the origins are near a road, but the place must be.
    const [meters = Infinity] = await roadDistances(engine, mode, [target])
    if (meters > SNAP_METERS) throw new ApiError(404, `${param}: ${offRoadSentence(meters, mode)}`, { param })
    if (origins.length === 0) return []
    const points = origins.map((position) => ({ param, position }))
    const minutes = await reachable(engine, mode, target, points)
    return origins.map((_, i) => minutes[i] ?? Infinity)
  }
}

/**
 * Minutes from each point to the target. Points behind the nearest one that is too far for the engine have none. If
 * one point is too far, the engine refuses the whole request before it searches. So the nearer half is asked for
 * first, and then the farther half if that is not too far.
 */
async function reachable(
  engine: RoutingEngine,
  mode: TravelMode,
  target: PlacedPoint,
  points: readonly PlacedPoint[],
): Promise<readonly number[]> {
  try {
    const cells = await matrixCells({ engine, mode, departure: {} }, points, [target], {})
    return cells.map(([cell]) => (cell !== undefined && 'seconds' in cell ? cell.seconds / 60 : Infinity))
  } catch (error) {
    if (!(error instanceof ApiError && error.cause instanceof TooFar)) throw error
  }
  if (points.length === 1) return []
  const half = points.length >> 1
  const nearer = await reachable(engine, mode, target, points.slice(0, half))
  if (nearer.length < half) return nearer
  return [...nearer, ...(await reachable(engine, mode, target, points.slice(half)))]
}
