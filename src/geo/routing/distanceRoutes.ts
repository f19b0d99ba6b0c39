import Type from 'typebox'
import { route, type Route } from '../../http/route.ts'
import { CoordinatesText, parseCoordinates } from '../../http/schemas.ts'
import { pointDistance } from '../../geometry/distance.ts'
import type { PlacedPoint } from '../extract/port.ts'
import type { TravelMode } from '../../model/geofence.ts'
import { ApiError } from '../../runtime/errors.ts'
import {
  Distance,
  Duration,
  Failures,
  Geometry,
  Meta,
  orNull,
  ROUTING_TAG,
  versioned,
} from './answerSchemas.ts'
import { askAvoiding, askEngine } from './asking.ts'
import { resample, writePoints, writeShape, type GeometryForm } from './geometryForm.ts'
import { decodePolyline } from './polyline.ts'
import type { RoutingEngine, RoutingEngines } from './port.ts'
import {
  AvoidText,
  costingOf,
  DepartureText,
  departureOf,
  formOf,
  GeometryText,
  locationOf,
  ModesText,
  parseAvoid,
  parseModes,
  UnitsText,
} from './travel.ts'
import { distanceOf, durationOf, type Units } from './units.ts'

const MAX_GEOMETRY_POINTS = 10_000

const Way = Type.Object({
  distance: orNull(Distance),
  duration: orNull(Duration),
  geometry: Type.Optional(Geometry),
  reason: Type.Optional(
    Type.String({
      description:
        'Why distance and duration are null: there is a route for other modes, but not for this one.',
    }),
  ),
})

/** GET /v1/route/distance: from one point to another, by one mode or several. */
export function distanceRoutes(engines: RoutingEngines): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/route/distance',
      auth: 'publishable',
      tag: ROUTING_TAG,
      summary: 'Get distance and duration between two points',
      description:
        'One entry in `routes` per mode, and beside them `geodesic`, the distance as the crow flies. A mode without a route has ' +
        'nulls and a `reason`; if no mode has a route, the response is 404.',
      query: Type.Object({
        origin: CoordinatesText,
        destination: CoordinatesText,
        modes: ModesText,
        units: Type.Optional(UnitsText),
        avoid: Type.Optional(AvoidText),
        geometry: Type.Optional(GeometryText),
        geometryPoints: Type.Optional(
          Type.Integer({
            minimum: 2,
            maximum: MAX_GEOMETRY_POINTS,
            description:
              'Number of points, evenly spaced along the route, to return instead of the original ones; as `linestring` if no format is given.',
          }),
        ),
        departureTime: Type.Optional(DepartureText),
      }),
      meta: Meta,
      answers: {
        200: Type.Object({
          routes: Type.Object({
            geodesic: Type.Object({ distance: Distance }),
            car: Type.Optional(Way),
            truck: Type.Optional(Way),
            foot: Type.Optional(Way),
            bike: Type.Optional(Way),
            motorbike: Type.Optional(Way),
          }),
        }),
        ...Failures,
      },
      handler: async ({ query }) => {
        const origin = pointOf('origin', query.origin)
        const destination = pointOf('destination', query.destination)
        const modes = parseModes(query.modes)
        const { units = 'imperial', geometry, geometryPoints } = query
        const ask: Question = {
          points: [origin, destination],
          avoid: parseAvoid(query.avoid),
          departure: departureOf(query.departureTime, origin),
          units,
          form:
            geometry !== undefined
              ? formOf(geometry)
              : geometryPoints !== undefined
                ? 'linestring'
                : undefined,
          geometryPoints,
        }
        const engine = engines.containing(ask.points)
        const ways = await Promise.all(modes.map((mode) => wayOf(engine, mode, ask)))
        const failed = ways.find((way) => way instanceof ApiError)
        if (failed !== undefined && ways.every((way) => way instanceof ApiError)) throw failed
        const routes: Record<string, unknown> = {
          geodesic: { distance: distanceOf(geodesic(ask.points), units) },
        }
        modes.forEach((mode, i) => {
          const way = ways[i]!
          routes[mode] =
            way instanceof ApiError ? { distance: null, duration: null, reason: way.message } : way
        })
        return versioned(engine, { routes })
      },
    }),
  ]
}

interface Question {
  readonly points: readonly [origin: PlacedPoint, destination: PlacedPoint]
  readonly avoid: ReturnType<typeof parseAvoid>
  readonly departure: ReturnType<typeof departureOf>
  readonly units: Units
  readonly form: GeometryForm | undefined
  readonly geometryPoints: number | undefined
}

/** The way of one mode, or the 404 that says why there is none. */
async function wayOf(engine: RoutingEngine, mode: TravelMode, ask: Question) {
  const { points, avoid, departure, units, form, geometryPoints } = ask
  const costing = costingOf(mode)
  const journey = { engine, mode, points, blamed: 'destination' }
  try {
    const { trip } = await askEngine(journey, () =>
      askAvoiding(avoid, (options) =>
        engine.ask('route', {
          locations: points.map(locationOf),
          costing,
          costing_options: { [costing]: options },
          ...departure,
          directions_type: 'none',
          ...(form === undefined && { shape_format: 'no_shape' }),
        }),
      ),
    )
    const distance = distanceOf(trip.summary.length * 1000, units)
    const duration = durationOf(trip.summary.time)
    if (form === undefined) return { distance, duration }
    const { shape } = trip.legs[0]!
    const geometry =
      geometryPoints === undefined
        ? writeShape(shape, form)
        : writePoints(resample(decodePolyline(shape, 6), geometryPoints), form)
    return { distance, duration, geometry }
  } catch (error) {
    if (error instanceof ApiError && error.code === 404) return error
    throw error
  }
}

function pointOf(param: string, text: string): PlacedPoint {
  const { latitude, longitude } = parseCoordinates(param, text)
  return { param, position: [longitude, latitude] }
}

function geodesic([{ position: a }, { position: b }]: Question['points']): number {
  return pointDistance(a[1], a[0], b[1], b[0])
}
