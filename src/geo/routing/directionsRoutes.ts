import Type from 'typebox'
import { route, type Route } from '../../http/route.ts'
import { badParam } from '../../runtime/errors.ts'
import {
  Distance,
  Duration,
  Failures,
  Geometry,
  Meta,
  LatLonSchema,
  ROUTING_TAG,
  versioned,
} from './answerSchemas.ts'
import { askAvoiding, askEngine } from './asking.ts'
import type { RoutingEngines } from './port.ts'
import { routeAnswer, type Wording } from './steps.ts'
import {
  AvoidText,
  costingOf,
  DepartureText,
  departureOf,
  formOf,
  GeometryText,
  NARRATIVE_LANGUAGES,
  NarrativeLanguageText,
  locationOf,
  LocationsText,
  ModeText,
  parseAvoid,
  parseStops,
  textUnits,
  UnitsText,
} from './travel.ts'

const MAX_LOCATIONS = 25
/** How many routes are returned besides the best one, which is as many as Valhalla finds. */
const ALTERNATIVES = 2

const Step = Type.Object({
  distance: Distance,
  duration: Duration,
  start_location: LatLonSchema,
  end_location: LatLonSchema,
  bearing_before: Type.Number({ description: 'Degrees clockwise from north, before the maneuver.' }),
  bearing_after: Type.Number({ description: 'Degrees clockwise from north, after the maneuver.' }),
  instructions: Type.String({ examples: ['Turn left onto Jamaica Avenue.'] }),
  banner_instructions: Type.Array(Type.Unknown(), {
    description: 'Text for a display, in the format of OSRM and Mapbox; lengths in metres.',
  }),
  voice_instructions: Type.Array(Type.Unknown(), {
    description: 'Text to speak and when to speak it, in the format of OSRM and Mapbox; lengths in metres.',
  }),
  geometry: Geometry,
  mode: Type.String({ description: 'The mode, or `ferry`.' }),
  manuever: Type.String({
    description:
      'The maneuver at the beginning of the step: `start`, `left`, `slight-left`, `sharp-left`, `uturn`, `continue`, ' +
      '`stay-left`, `stay-straight`, `ramp-left`, `exit-left`, `merge-left`, `roundabout`, `roundabout-exit`, ' +
      '`destination`, `destination-left`; and the same with `right`.',
  }),
  street_name: Type.String({ description: 'Empty if the road has neither name nor number.' }),
  exit_name: Type.Optional(
    Type.String({ description: 'At an exit: its number as on the sign, or else its destination.' }),
  ),
})

const Leg = Type.Object({
  startLocation: LatLonSchema,
  endLocation: LatLonSchema,
  duration: Duration,
  distance: Distance,
  geometry: Geometry,
  steps: Type.Array(Step),
})

/** GET /v1/route/directions: through some points in order, with instructions. */
export function directionsRoutes(engines: RoutingEngines): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/route/directions',
      auth: 'publishable',
      tag: ROUTING_TAG,
      summary: 'Get directions through locations in the given order',
      query: Type.Object({
        locations: LocationsText(`Two to ${MAX_LOCATIONS}, visited in order.`),
        mode: Type.Optional(ModeText),
        units: Type.Optional(UnitsText),
        avoid: Type.Optional(AvoidText),
        geometry: Type.Optional(GeometryText),
        departureTime: Type.Optional(DepartureText),
        heading: Type.Optional(
          Type.Number({
            minimum: 0,
            maximum: 360,
            description: 'Direction of travel at the first location, degrees clockwise from north.',
          }),
        ),
        alternatives: Type.Optional(
          Type.Boolean({
            default: false,
            description:
              `Whether to return up to ${ALTERNATIVES} other routes after the best one. Only with exactly two locations; together with ` +
              '`departureTime`, only the best route is returned.',
          }),
        ),
        lang: Type.Optional(NarrativeLanguageText),
      }),
      meta: Meta,
      answers: {
        200: Type.Object({
          routes: Type.Array(
            Type.Object({
              duration: Duration,
              distance: Distance,
              geometry: Geometry,
              legs: Type.Array(Leg, { description: 'One leg between each location and the next.' }),
            }),
            {
              description:
                'The first route is the best one, by its time and its turns together, so another one may take less time.',
            },
          ),
        }),
        ...Failures,
      },
      handler: async ({ query }) => {
        const points = parseStops(query.locations, MAX_LOCATIONS)
        const { mode = 'car', units = 'imperial', geometry = 'polyline6', heading, lang = 'en' } = query
        const { alternatives = false } = query
        if (alternatives && points.length !== 2) {
          throw badParam('alternatives', 'Only with exactly two locations.')
        }
        const avoid = parseAvoid(query.avoid)
        const departure = departureOf(query.departureTime, points[0]!)
        const engine = engines.containing(points)
        const costing = costingOf(mode)
        const locations = points.map(locationOf)
        if (heading !== undefined) locations[0] = { ...locations[0]!, heading }
        const { routes } = await askEngine({ engine, mode, points, blamed: 'locations' }, () =>
          askAvoiding(avoid, (options) =>
            engine.ask('route', {
              format: 'osrm',
              locations,
              costing,
              costing_options: { [costing]: options },
              ...departure,
              ...(alternatives && { alternates: ALTERNATIVES }),
              banner_instructions: true,
              voice_instructions: true,
              language: NARRATIVE_LANGUAGES[lang],
              units: textUnits(units),
            }),
          ),
        )
        const wording: Wording = { mode, units, form: formOf(geometry) }
        return versioned(engine, { routes: routes.map((one) => routeAnswer(one, wording)) })
      },
    }),
  ]
}
