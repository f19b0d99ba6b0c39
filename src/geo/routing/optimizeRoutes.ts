import Type from 'typebox'
import { route, type Route } from '../../http/route.ts'
import {
  Distance,
  Duration,
  Failures,
  Geometry,
  Meta,
  LatLonSchema,
  latLonOf,
  ROUTING_TAG,
  versioned,
} from './answerSchemas.ts'
import { askEngine, noWay, type Journey } from './asking.ts'
import { writeShape } from './geometryForm.ts'
import { measure } from './matrix.ts'
import type { RoutingEngines } from './port.ts'
import { quickestOrder } from './stopOrder.ts'
import {
  costingOf,
  DepartureText,
  departureOf,
  formOf,
  GeometryText,
  locationOf,
  LocationsText,
  ModeText,
  parseStops,
  UnitsText,
} from './travel.ts'
import { ApiError } from '../../runtime/errors.ts'
import { distanceOf, durationOf } from './units.ts'

const MAX_LOCATIONS = 10
/** With fewer locations there is only one order. */
const LEAST_TO_ORDER = 4

/** GET /v1/route/optimize: between some points in the order that takes the least time. */
export function optimizeRoutes(engines: RoutingEngines): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/route/optimize',
      auth: 'publishable',
      tag: ROUTING_TAG,
      summary: 'Get the order of stops that takes the least time',
      description:
        'The first location is the origin and the last the destination; those between are visited in any order.',
      query: Type.Object({
        locations: LocationsText(`Two to ${MAX_LOCATIONS}: the origin, stops in any order, the destination.`),
        mode: Type.Optional(ModeText),
        units: Type.Optional(UnitsText),
        geometry: Type.Optional(GeometryText),
        departureTime: Type.Optional(DepartureText),
      }),
      meta: Meta,
      answers: {
        200: Type.Object({
          route: Type.Object({
            distance: Distance,
            duration: Duration,
            legs: Type.Array(
              Type.Object({
                startLocation: LatLonSchema,
                endLocation: LatLonSchema,
                startIndex: Type.Integer({ description: 'The index in the list of `locations`.' }),
                endIndex: Type.Integer({ description: 'The index in the list of `locations`.' }),
                distance: Distance,
                duration: Duration,
                geometry: Type.Optional(Geometry),
              }),
              { description: 'In the order of the journey.' },
            ),
          }),
        }),
        ...Failures,
      },
      handler: async ({ query }) => {
        const points = parseStops(query.locations, MAX_LOCATIONS)
        const { mode = 'car', units = 'imperial', geometry } = query
        const departure = departureOf(query.departureTime, points[0]!)
        const engine = engines.containing(points)
        const journey: Journey = { engine, mode, points, blamed: 'locations' }
        const asGiven = points.map((_, i) => i)
        const quickest = await orderOf(journey, departure)
        const wayOf = async (order: readonly number[]) => {
          const { trip } = await askEngine(journey, () =>
            engine.ask('route', {
              locations: order.map((index) => locationOf(points[index]!)),
              costing: costingOf(mode),
              ...departure,
              directions_type: 'none',
            }),
          )
          return { order, trip }
        }
        const isAsGiven = quickest.every((index, i) => index === i)
        // A matrix may miss a way that a route finds. So if the given order is quicker, it is the answer.
        const [way, wayAsGiven] = await Promise.all([
          wayOf(quickest),
          isAsGiven ? undefined : wayOf(asGiven).catch(() => undefined),
        ])
        const isWorse = wayAsGiven !== undefined && wayAsGiven.trip.summary.time < way.trip.summary.time
        const { order, trip } = isWorse ? wayAsGiven : way
        const legs = trip.legs.map(({ summary, shape }, i) => {
          const startIndex = order[i]!
          const endIndex = order[i + 1]!
          return {
            startLocation: latLonOf(points[startIndex]!.position),
            endLocation: latLonOf(points[endIndex]!.position),
            startIndex,
            endIndex,
            distance: distanceOf(summary.length * 1000, units),
            duration: durationOf(summary.time),
            ...(geometry !== undefined && { geometry: writeShape(shape, formOf(geometry)) }),
          }
        })
        const { length, time } = trip.summary
        return versioned(engine, {
          route: { distance: distanceOf(length * 1000, units), duration: durationOf(time), legs },
        })
      },
    }),
  ]
}

/**
 * The indexes of the points in the quickest order.
 * @throws {ApiError} as {@link askEngine}, and 404 if no order has a way
 */
async function orderOf(
  journey: Journey,
  departure: ReturnType<typeof departureOf>,
): Promise<readonly number[]> {
  const { engine, mode, points, blamed } = journey
  if (points.length < LEAST_TO_ORDER) return points.map((_, i) => i)
  const cells = await askEngine(journey, () => measure({ engine, mode, departure }, points, points, {}))
  const seconds = cells.map((row) => row.map((cell) => ('seconds' in cell ? cell.seconds : Infinity)))
  const order = quickestOrder(seconds)
  if (order === undefined) throw new ApiError(404, `${blamed}: ${noWay(mode)}`, { param: blamed })
  return order
}
