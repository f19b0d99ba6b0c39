import { checkRing } from '../../geometry/ring.ts'
import type { Position, TravelMode } from '../../model/geofence.ts'
import type { PlacedPoint } from '../extract/port.ts'
import { AreaRefused, AreaTimedOut, type AreaSource } from '../../registry/geofences/areaSource.ts'
import { ApiError } from '../../runtime/errors.ts'
import { askEngine } from './asking.ts'
import { RoutingTimedOut, type RoutingEngine, type RoutingEngines } from './port.ts'
import type { IsochroneAnswer } from './valhallaJson.ts'
import { costingOf, locationOf } from './travel.ts'

/** Tolerances of an outline in metres, tried in order until it is valid for a geofence. */
const TOLERANCES_METERS = [5, 20, 80, 320] as const
const MOST_CORNERS = 2000
/**
 * Above this many minutes of driving, the finest tolerance is not tried. Its outline would have more corners than a
 * geofence may have, and over 90 minutes Valhalla 3.6 may need a minute and 8 GB to simplify it that little.
 */
const FINE_MINUTES = 45

/** Which road network contains a location, and when that changes. */
type Networks = Pick<AreaSource, 'networkAt' | 'onChange'>

/** The areas from which locations can be reached in time, on the road networks of this server. */
export class RoadAreas implements AreaSource {
  readonly #engines: RoutingEngines
  readonly #networks: Networks

  constructor(engines: RoutingEngines, networks: Networks) {
    this.#engines = engines
    this.#networks = networks
  }

  networkAt(place: Position): string | undefined {
    return this.#networks.networkAt(place)
  }

  onChange(listener: () => void): () => void {
    return this.#networks.onChange(listener)
  }

  async areaAround(place: Position, minutes: number, mode: TravelMode): Promise<readonly Position[]> {
    const point = { param: 'coordinates', position: place }
    try {
      return await reachableArea(this.#engines.containing([point]), point, minutes, mode)
    } catch (error) {
      if (error instanceof RoutingTimedOut) throw new AreaTimedOut(error.message, { cause: error })
      // Whatever else is answered with 503 may succeed later.
      if (!(error instanceof ApiError) || error.code === 503) throw error
      throw new AreaRefused(error.message, { cause: error })
    }
  }
}

/**
 * The area from which the point can be reached within this many minutes: a closed ring that is valid for a geofence.
 * @throws ApiError 404 if there is none; 503
 */
export async function reachableArea(
  engine: RoutingEngine,
  point: PlacedPoint,
  minutes: number,
  mode: TravelMode,
): Promise<readonly Position[]> {
  const journey = { engine, mode, points: [point], blamed: point.param }
  for (const generalize of tolerancesFor(minutes, mode)) {
    const answer = await askEngine(journey, () =>
      engine.ask('isochrone', {
        locations: [locationOf(point)],
        costing: costingOf(mode),
        contours: [{ time: minutes }],
        polygons: true,
        // The journeys end at the location.
        reverse: true,
        // If there are several areas, only the largest is wanted.
        denoise: 1,
        generalize,
      }),
    )
    const ring = largestRing(answer)
    if (ring !== undefined && ring.length <= MOST_CORNERS && checkRing(ring) === undefined) return ring
  }
  throw new ApiError(404, 'The area is too small, or too ragged, for a geofence.', { param: point.param })
}

/** The outer ring with the most corners; undefined if there is none. */
function largestRing({ features }: IsochroneAnswer): readonly Position[] | undefined {
  const geometry = features[0]?.geometry
  const rings =
    geometry?.type === 'Polygon'
      ? [geometry.coordinates[0]]
      : geometry?.type === 'MultiPolygon'
        ? geometry.coordinates.map(([outer]) => outer)
        : []
  return rings.filter((ring) => ring !== undefined).toSorted((a, b) => b.length - a.length)[0]
}

function tolerancesFor(minutes: number, mode: TravelMode): readonly number[] {
  const isFar = minutes > FINE_MINUTES && mode !== 'foot' && mode !== 'bike'
  return isFar ? TOLERANCES_METERS.slice(1) : TOLERANCES_METERS
}
