import Type from 'typebox'
import { route, type Route } from '../api/route.ts'
import type { PlacedPoint } from '../geodata/port.ts'
import type { TravelMode } from '../model/geofence.ts'
import { badParam } from '../runtime/errors.ts'
import { credited, Distance, Duration, Failures, Meta, orNull, Place, placeOf, TAG } from './answerSchemas.ts'
import { asked, isWayless, noWay, offRoadSentence, roadDistances } from './asking.ts'
import { NoRoadNear, type CostingOptions, type RoutingEngine, type RoutingEngines } from './port.ts'
import {
  AvoidText,
  costingOf,
  DepartureText,
  departureOf,
  locationOf,
  LocationsText,
  ModeText,
  parseAvoid,
  parseLocations,
  SNAP_METERS,
  UnitsText,
  withLittle,
  withoutAny,
} from './travel.ts'
import { distanceOf, durationOf, type Units } from './units.ts'

const MAX_CELLS = 625

const Cell = Type.Object({
  originIndex: Type.Integer(),
  destinationIndex: Type.Integer(),
  distance: orNull(Distance),
  duration: orNull(Duration),
  reason: Type.Optional(Type.String({ description: 'Why distance and duration are null.' })),
})

/** GET /v1/route/matrix: from each of some points to each of others. */
export function matrixRoutes(engines: RoutingEngines): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/route/matrix',
      auth: 'publishable',
      tag: TAG,
      summary: 'Get distances and durations between many points',
      description:
        `At most ${MAX_CELLS} cells, origins times destinations. A cell without a way has nulls and a \`reason\`; the others are ` +
        'answered all the same.',
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
          origins: Type.Array(Place),
          destinations: Type.Array(Place),
          matrix: Type.Array(Type.Array(Cell), {
            description: 'A row per origin, in it a cell per destination.',
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
        let cells = await cellsOf(question, origins, destinations, withoutAny(avoid))
        if (avoid.length > 0 && cells.some((row) => row.some((cell) => 'reason' in cell))) {
          const others = await cellsOf(question, origins, destinations, withLittle(avoid))
          cells = cells.map((row, i) => row.map((cell, k) => ('reason' in cell ? others[i]![k]! : cell)))
        }
        return credited(engine, {
          origins: origins.map(({ position }) => placeOf(position)),
          destinations: destinations.map(({ position }) => placeOf(position)),
          matrix: cells.map((row, originIndex) =>
            row.map((cell, destinationIndex) => ({ originIndex, destinationIndex, ...written(cell, units) })),
          ),
        })
      },
    }),
  ]
}

interface Question {
  readonly engine: RoutingEngine
  readonly mode: TravelMode
  readonly departure: ReturnType<typeof departureOf>
}

type Measured = { readonly meters: number; readonly seconds: number } | { readonly reason: string }

/** A row per origin. Points without a road nearby are found out only where there is one: the engine refuses all for one. */
async function cellsOf(
  question: Question,
  origins: readonly PlacedPoint[],
  destinations: readonly PlacedPoint[],
  options: CostingOptions,
): Promise<Measured[][]> {
  const { engine, mode } = question
  const journey = { engine, mode, points: [...origins, ...destinations], blamed: 'destinations' }
  try {
    return await measure(question, origins, destinations, options)
  } catch (error) {
    if (!isWayless(error)) return asked(journey, () => Promise.reject(error))
    if (!(error instanceof NoRoadNear)) return filled(origins, destinations, () => ({ reason: noWay(mode) }))
  }
  const distances = await roadDistances(engine, mode, journey.points)
  const reasons = distances.map((meters) =>
    meters <= SNAP_METERS ? undefined : offRoadSentence(meters, mode),
  )
  const rows = origins.flatMap((_, i) => (reasons[i] === undefined ? [i] : []))
  const columns = destinations.flatMap((_, k) => (reasons[origins.length + k] === undefined ? [k] : []))
  let measured: Measured[][] = []
  const all = rows.length === origins.length && columns.length === destinations.length
  if (!all && rows.length > 0 && columns.length > 0) {
    measured = await asked(journey, () =>
      measure(
        question,
        rows.map((i) => origins[i]!),
        columns.map((k) => destinations[k]!),
        options,
      ),
    )
  }
  return filled(origins, destinations, (i, k) => {
    const ofOrigin = reasons[i]
    if (ofOrigin !== undefined) return { reason: `origins: ${ofOrigin}` }
    const ofDestination = reasons[origins.length + k]
    if (ofDestination !== undefined) return { reason: `destinations: ${ofDestination}` }
    return measured[rows.indexOf(i)]?.[columns.indexOf(k)] ?? { reason: noWay(mode) }
  })
}

function filled(
  origins: readonly PlacedPoint[],
  destinations: readonly PlacedPoint[],
  cell: (origin: number, destination: number) => Measured,
): Measured[][] {
  return origins.map((_, i) => destinations.map((__, k) => cell(i, k)))
}

async function measure(
  { engine, mode, departure }: Question,
  origins: readonly PlacedPoint[],
  destinations: readonly PlacedPoint[],
  options: CostingOptions,
): Promise<Measured[][]> {
  const costing = costingOf(mode)
  const { sources_to_targets: answer } = await engine.ask('sources_to_targets', {
    sources: origins.map(locationOf),
    targets: destinations.map(locationOf),
    costing,
    costing_options: { [costing]: options },
    ...departure,
    verbose: false,
  })
  return answer.durations.map((row, i) =>
    row.map((seconds, k) => {
      const kilometers = answer.distances[i]![k]
      if (seconds === null || typeof kilometers !== 'number') return { reason: noWay(mode) }
      return { meters: kilometers * 1000, seconds }
    }),
  )
}

function written(cell: Measured, units: Units) {
  if ('reason' in cell) return { distance: null, duration: null, reason: cell.reason }
  return { distance: distanceOf(cell.meters, units), duration: durationOf(cell.seconds) }
}
