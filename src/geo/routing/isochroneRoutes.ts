import Type from 'typebox'
import { route, type Route } from '../../http/route.ts'
import { CoordinatesText, parseCoordinates } from '../../http/schemas.ts'
import { ConcurrencyLimit } from '../../runtime/concurrencyLimit.ts'
import { credited, Failures, Meta, ROUTING_TAG } from './answerSchemas.ts'
import type { RoutingEngines } from './port.ts'
import { reachableArea } from './roadAreas.ts'
import { ModeText } from './travel.ts'

/** Areas of longer journeys take the engine seconds, in which it answers nothing else. Geofences have them in the background. */
const MAX_MINUTES = 60
/** How many areas are computed at a time, in turns, and how many may wait. */
const AREAS_AT_ONCE = 1
const MOST_AREAS_WAITING = 20

/** GET /v1/route/isochrone: the area around a point, by minutes of travel. */
export function isochroneRoutes(engines: RoutingEngines): Route[] {
  const areas = new ConcurrencyLimit(AREAS_AT_ONCE, MOST_AREAS_WAITING)
  return [
    route({
      method: 'GET',
      path: '/v1/route/isochrone',
      auth: 'secret',
      tag: ROUTING_TAG,
      summary: 'Get the area from which a point can be reached in some minutes',
      description:
        'Returns the area that a geofence of type `isochrone` would have with the same `coordinates`, `radius` and `mode`. Nothing is stored.',
      query: Type.Object({
        coordinates: CoordinatesText,
        minutes: Type.Number({
          minimum: 1,
          maximum: MAX_MINUTES,
          description: 'Duration of the journey, in minutes.',
        }),
        mode: Type.Optional(ModeText),
      }),
      meta: Meta,
      answers: {
        200: Type.Object({
          isochrone: Type.Object({
            minutes: Type.Number(),
            mode: Type.String(),
            geometry: Type.Object(
              {
                type: Type.Literal('Polygon'),
                coordinates: Type.Array(Type.Array(Type.Array(Type.Number(), { minItems: 2, maxItems: 2 })), {
                  description: 'A closed ring of [longitude, latitude].',
                }),
              },
              { description: 'A GeoJSON Polygon.' },
            ),
          }),
        }),
        ...Failures,
      },
      async handler({ query }) {
        const { latitude, longitude } = parseCoordinates('coordinates', query.coordinates)
        const { minutes, mode = 'car' } = query
        const point = { param: 'coordinates', position: [longitude, latitude] } as const
        const engine = engines.containing([point])
        const ring = await areas.run(() => reachableArea(engine, point, minutes, mode))
        return credited(engine, {
          isochrone: { minutes, mode, geometry: { type: 'Polygon', coordinates: [ring] } },
        })
      },
    }),
  ]
}
