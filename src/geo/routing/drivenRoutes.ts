import Type from 'typebox'
import { pointDistance } from '../../geometry/distance.ts'
import { route, type Route } from '../../http/route.ts'
import { Name } from '../../http/schemas.ts'
import type { TravelMode } from '../../model/geofence.ts'
import type { ScopeId } from '../../model/scope.ts'
import { ApiError, badParam, notFound } from '../../runtime/errors.ts'
import { credited, Distance, Geometry, Meta } from './answerSchemas.ts'
import { writePoints } from './geometryForm.ts'
import { matchPath, type MatchedPiece, type PathPoint } from './matching.ts'
import type { LonLatPoint } from './polyline.ts'
import {
  BadRoutingRequest,
  RoutingMissing,
  RoutingRefusal,
  RoutingUnavailable,
  type RoutingEngine,
  type RoutingEngines,
} from './port.ts'
import { costingOf, formOf, GeometryText, UnitsText } from './travel.ts'
import { distanceOf } from './units.ts'

/** The parts of a trip that determine its way. */
export interface DrivenTrip {
  readonly hasEnded: boolean
  readonly mode: TravelMode
  /** The positions of the trip, oldest first. */
  readonly path: readonly PathPoint[]
}

/** Finds trips. trips/tripService.ts implements it. */
export interface DrivenTrips {
  /**
   * Finds a trip.
   * @param name its `_id` or externalId
   * @returns undefined if there is none
   */
  driven(scope: ScopeId, name: string): Promise<DrivenTrip | undefined>
}

const MAX_NAME = 256

/** GET /v1/trips/:id/route: the way that a trip took. */
export function drivenRoutes(engines: RoutingEngines, trips: DrivenTrips): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/trips/:id/route',
      auth: 'secret',
      tag: 'Trips',
      summary: 'Get the route of a trip',
      description:
        'Returns the route that a trip took which has ended: the roads along its locations in its mode, as `POST /v1/route/match` finds them. ' +
        'If there are no roads, it is the line through the locations, and `matched` is false.',
      params: Type.Object({
        id: Name(
          MAX_NAME,
          '`_id` or externalId. If several trips have this externalId, the active one counts, or else the latest.',
        ),
      }),
      query: Type.Object({
        units: Type.Optional(UnitsText),
        geometry: Type.Optional(GeometryText),
      }),
      meta: Meta,
      answers: {
        200: Type.Object({
          distance: Distance,
          geometry: Geometry,
          matched: Type.Boolean({ description: 'Whether the route follows roads.' }),
        }),
        404: Type.Object({}, { description: 'There is no such trip.' }),
        503: Type.Object({}, { description: 'The routing engine is overloaded.' }),
      },
      handler: async ({ credentials, params, query }) => {
        const { units = 'imperial', geometry = 'polyline6' } = query
        const trip = await trips.driven(credentials!.scope, params.id)
        if (trip === undefined) throw notFound('Trip')
        const { path, mode } = trip
        if (!trip.hasEnded) throw badParam('id', 'This trip has not ended yet.')
        if (path.length < 2)
          throw badParam('id', 'A way needs two locations, and this trip has fewer. They go after some days.')
        const found = await matched(engines, mode, path)
        const shape = found?.shape ?? path.map(({ lat, lon }): LonLatPoint => [lon, lat])
        const body = {
          distance: distanceOf(found?.meters ?? lengthOf(path), units),
          geometry: writePoints(shape, formOf(geometry)),
          matched: found !== undefined,
        }
        return found === undefined ? { body } : credited(found.engine, body)
      },
    }),
  ]
}

interface Matched {
  readonly engine: RoutingEngine
  readonly meters: number
  readonly shape: readonly LonLatPoint[]
}

/**
 * The roads along a path. Undefined if there are none, or if no network contains it.
 * @throws {RoutingUnavailable} if the engine may answer later
 */
async function matched(
  engines: RoutingEngines,
  mode: TravelMode,
  path: readonly PathPoint[],
): Promise<Matched | undefined> {
  try {
    const points = path.map(({ lat, lon }) => ({ param: 'id', position: [lon, lat] as const }))
    const engine = engines.containing(points)
    const pieces = await matchPath(engine, costingOf(mode), path)
    if (pieces.length === 0) return undefined
    return { engine, meters: metersOf(pieces), shape: pieces.flatMap((piece) => piece.shape) }
  } catch (error) {
    const isLater = error instanceof RoutingUnavailable && !(error instanceof RoutingMissing)
    const isRoadless =
      error instanceof ApiError || (error instanceof RoutingRefusal && !(error instanceof BadRoutingRequest))
    if (isLater || !isRoadless) throw error
    return undefined
  }
}

function metersOf(pieces: readonly MatchedPiece[]): number {
  const edges = pieces.flatMap((piece) => piece.edges)
  return 1000 * edges.reduce((sum, { length = 0 }) => sum + length, 0)
}

/** The length of a path in metres. */
function lengthOf(path: readonly PathPoint[]): number {
  let meters = 0
  for (let i = 1; i < path.length; i++) {
    const [from, to] = [path[i - 1]!, path[i]!]
    meters += pointDistance(from.lat, from.lon, to.lat, to.lon)
  }
  return meters
}
