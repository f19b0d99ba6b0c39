import Type from 'typebox'
import { route, type Route } from '../../http/route.ts'
import { badParam } from '../../runtime/errors.ts'
import {
  Distance,
  Duration,
  Failures,
  Meta,
  orNull,
  LatLonSchema,
  latLonOf,
  ROUTING_TAG,
  versioned,
} from './answerSchemas.ts'
import { matrixCells, MAX_CELLS, type MatrixCell } from './matrix.ts'
import type { RoutingEngines } from './port.ts'
import {
  AvoidText,
  DepartureText,
  departureOf,
  LocationsText,
  ModeText,
  parseAvoid,
  parseLocations,
  UnitsText,
  withLittle,
  withoutAny,
} from './travel.ts'
import { distanceOf, durationOf, type Units } from './units.ts'

const Cell = Type.Object({
  originIndex: Type.Integer(),
  destinationIndex: Type.Integer(),
  distance: orNull(Distance),
  duration: orNull(Duration),
  reason: Type.Optional(Type.String({ description: 'Why distance and duration are null.' })),
})

/** GET /v1/route/matrix: from each origin to each destination. */
export function matrixRoutes(engines: RoutingEngines): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/route/matrix',
      auth: 'publishable',
      tag: ROUTING_TAG,
      summary: 'Get distances and durations between many points',
      description:
        `At most ${MAX_CELLS} cells, origins times destinations. A cell without a route has nulls and a \`reason\`; ` +
        'this does not affect the other cells.',
      query: Type.Object({
        origins: LocationsText('Rows of the matrix.'),
        destinations: LocationsText('Columns of the matrix.'),
        mode: ModeText,
        units: Type.Optional(UnitsText),
        avoid: Type.Optional(AvoidText),
        departureTime: Type.Optional(DepartureText),
      }),
      meta: Meta,
      answers: {
        200: Type.Object({
          origins: Type.Array(LatLonSchema),
          destinations: Type.Array(LatLonSchema),
          matrix: Type.Array(Type.Array(Cell), {
            description: 'One row for each origin, with one cell for each destination.',
          }),
        }),
        ...Failures,
      },
      handler: async ({ query }) => {
        const origins = parseLocations('origins', query.origins)
        const destinations = parseLocations('destinations', query.destinations)
        const count = origins.length * destinations.length
        if (count > MAX_CELLS) {
          const sizes = `${origins.length} origins times ${destinations.length} destinations`
          throw badParam('destinations', `At most ${MAX_CELLS} routes. These are ${count}: ${sizes}.`)
        }
        const { mode, units = 'imperial' } = query
        const engine = engines.containing([...origins, ...destinations])
        const avoid = parseAvoid(query.avoid)
        const departure = departureOf(query.departureTime, origins[0]!)
        const question = { engine, mode, departure }
        let cells = await matrixCells(question, origins, destinations, withoutAny(avoid))
        if (avoid.length > 0 && cells.some((row) => row.some((cell) => 'reason' in cell))) {
          const others = await matrixCells(question, origins, destinations, withLittle(avoid))
          cells = cells.map((row, i) => row.map((cell, k) => ('reason' in cell ? others[i]![k]! : cell)))
        }
        return versioned(engine, {
          origins: origins.map(({ position }) => latLonOf(position)),
          destinations: destinations.map(({ position }) => latLonOf(position)),
          matrix: cells.map((row, originIndex) =>
            row.map((cell, destinationIndex) => ({ originIndex, destinationIndex, ...written(cell, units) })),
          ),
        })
      },
    }),
  ]
}

function written(cell: MatrixCell, units: Units) {
  if ('reason' in cell) return { distance: null, duration: null, reason: cell.reason }
  return { distance: distanceOf(cell.meters, units), duration: durationOf(cell.seconds) }
}
