/** Requests routes from the engine, and turns its refusals into the client's terms. */
import { pointDistance } from '../../geometry/distance.ts'
import { pointNumber } from '../extract/choice.ts'
import type { PlacedPoint } from '../extract/port.ts'
import type { TravelMode } from '../../model/geofence.ts'
import { ApiError, badParam } from '../../runtime/errors.ts'
import {
  NoMatch,
  NoRoadNear,
  NoRoute,
  RoutingRefusal,
  TooFar,
  TooMuch,
  Unconnected,
  type RoutingEngine,
} from './port.ts'
import type { CostingOptions } from './valhallaJson.ts'
import { costingOf, SNAP_METERS, withLittle, withoutAny } from './travel.ts'

/** If no road is near enough, its distance is only reported up to this many metres. */
const SEARCH_METERS = 35_000

export interface Journey {
  readonly engine: RoutingEngine
  readonly mode: TravelMode
  /** All points that must have a road near them. */
  readonly points: readonly PlacedPoint[]
  /** The parameter that the error names if there is no way between the points. */
  readonly blamed: string
}

/**
 * Makes a request, with errors in the client's terms.
 * @throws ApiError 404 if there is no road near a point, or no way; 400 if the engine does not go that far; 503
 */
export async function askEngine<T>(journey: Journey, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    throw await explained(journey, error)
  }
}

/** Requests a way that avoids everything in the list, and if there is none, one that avoids as much as possible. */
export async function askAvoiding<T>(
  avoid: Parameters<typeof withoutAny>[0],
  ask: (options: CostingOptions) => Promise<T>,
): Promise<T> {
  try {
    return await ask(withoutAny(avoid))
  } catch (error) {
    if (avoid.length > 0 && isWayless(error)) return ask(withLittle(avoid))
    throw error
  }
}

/** Whether there are roads, but no way, or no road on which one could begin. */
export function isWayless(error: unknown): boolean {
  return error instanceof NoRoute || error instanceof Unconnected || error instanceof NoRoadNear
}

async function explained({ engine, mode, points, blamed }: Journey, error: unknown): Promise<unknown> {
  if (!(error instanceof RoutingRefusal)) return error
  const refused = (sentence: string) =>
    new ApiError(404, `${blamed}: ${sentence}`, { param: blamed, cause: error })
  if (error instanceof NoRoadNear) return (await offRoad(engine, mode, points)) ?? refused(NO_ROAD)
  if (error instanceof NoRoute) return refused(noWay(mode))
  if (error instanceof Unconnected)
    return refused(`${noWay(mode)} The road networks there are not connected.`)
  if (error instanceof NoMatch) return refused('It is not along roads that this mode may use.')
  if (error instanceof TooFar)
    return badParam(blamed, `Farther than the routing engine goes: ${error.message}.`, error)
  if (error instanceof TooMuch)
    return badParam(blamed, `More than the routing engine takes: ${error.message}.`)
  return error
}

const NO_ROAD = 'There is no road near it that can be used.'

export function noWay(mode: TravelMode): string {
  return `There is no route for mode ${mode}.`
}

/** The sentence about the first point without a road within {@link SNAP_METERS}; undefined if each has one. */
async function offRoad(
  engine: RoutingEngine,
  mode: TravelMode,
  points: readonly PlacedPoint[],
): Promise<ApiError | undefined> {
  const distances = await roadDistances(engine, mode, points)
  const found = distances.findIndex((meters) => !(meters <= SNAP_METERS))
  if (found < 0) return undefined
  const { param } = points[found]!
  const sentence = offRoadSentence(distances[found]!, mode)
  return new ApiError(404, `${param}: ${pointNumber(points, found)}${sentence}`, { param })
}

/**
 * The sentence for a point without a road.
 * @param meters the distance to the nearest road; Infinity if none was found
 */
export function offRoadSentence(meters: number, mode: TravelMode): string {
  const limit = `The limit is ${SNAP_METERS} m.`
  if (meters === Infinity) return `No road for mode ${mode} within ${SEARCH_METERS / 1000} km. ${limit}`
  return `The nearest road for mode ${mode} is ${Math.round(meters)} m away. ${limit}`
}

/**
 * The distance from each point to the nearest road in metres; Infinity if there is none within {@link SEARCH_METERS}.
 */
export async function roadDistances(
  engine: RoutingEngine,
  mode: TravelMode,
  points: readonly PlacedPoint[],
): Promise<number[]> {
  const located = await engine.ask('locate', {
    locations: points.map(({ position: [lon, lat] }) => ({ lat, lon, search_cutoff: SEARCH_METERS })),
    costing: costingOf(mode),
  })
  return located.map(({ edges }, i) => {
    const [lon, lat] = points[i]!.position
    const distances = (edges ?? []).map((edge) =>
      pointDistance(lat, lon, edge.correlated_lat, edge.correlated_lon),
    )
    return Math.min(Infinity, ...distances)
  })
}
