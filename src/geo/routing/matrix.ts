import type { PlacedPoint } from '../extract/port.ts'
import type { TravelMode } from '../../model/geofence.ts'
import { askEngine, isWayless, noWay, offRoadSentence, roadDistances } from './asking.ts'
import { NoRoadNear, type RoutingEngine } from './port.ts'
import type { CostingOptions, RoutingLocation } from './valhallaJson.ts'
import { costingOf, locationOf, SNAP_METERS, type departureOf } from './travel.ts'

/** The largest number of cells of one matrix. */
export const MAX_CELLS = 625

/** What the cells of a matrix have in common. */
export interface MatrixQuestion {
  readonly engine: RoutingEngine
  readonly mode: TravelMode
  readonly departure: ReturnType<typeof departureOf>
}

/** A way, or the reason why there is none. */
export type MatrixCell = { readonly meters: number; readonly seconds: number } | { readonly reason: string }

/**
 * The cells, with a row for each origin. Only if there is a point without a nearby road, it is searched for which
 * points these are, because the engine then refuses the whole matrix.
 */
export async function matrixCells(
  question: MatrixQuestion,
  origins: readonly PlacedPoint[],
  destinations: readonly PlacedPoint[],
  options: CostingOptions,
): Promise<MatrixCell[][]> {
  const { engine, mode } = question
  const journey = { engine, mode, points: [...origins, ...destinations], blamed: destinations[0]!.param }
  try {
    return await measure(question, origins, destinations, options)
  } catch (error) {
    if (!isWayless(error)) return askEngine(journey, () => Promise.reject(error))
    if (!(error instanceof NoRoadNear)) return filled(origins, destinations, () => ({ reason: noWay(mode) }))
  }
  const distances = await roadDistances(engine, mode, journey.points)
  const reasons = distances.map((meters) =>
    meters <= SNAP_METERS ? undefined : offRoadSentence(meters, mode),
  )
  const rows = origins.flatMap((_, i) => (reasons[i] === undefined ? [i] : []))
  const columns = destinations.flatMap((_, k) => (reasons[origins.length + k] === undefined ? [k] : []))
  let measured: MatrixCell[][] = []
  const all = rows.length === origins.length && columns.length === destinations.length
  if (!all && rows.length > 0 && columns.length > 0) {
    measured = await askEngine(journey, () =>
      measureParts(
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
  cell: (origin: number, destination: number) => MatrixCell,
): MatrixCell[][] {
  return origins.map((_, i) => destinations.map((__, k) => cell(i, k)))
}

/**
 * Does the same as {@link measure}. If the engine refuses everything because of some points, for instance on a piece
 * of road that leads nowhere, the matrix is halved until these points are alone.
 */
async function measureParts(
  question: MatrixQuestion,
  origins: readonly PlacedPoint[],
  destinations: readonly PlacedPoint[],
  options: CostingOptions,
): Promise<MatrixCell[][]> {
  try {
    return await measure(question, origins, destinations, options)
  } catch (error) {
    if (!isWayless(error)) throw error
    if (origins.length * destinations.length === 1) return [[{ reason: noWay(question.mode) }]]
  }
  const half = (list: readonly PlacedPoint[]) => {
    const middle = Math.ceil(list.length / 2)
    return [list.slice(0, middle), list.slice(middle)] as const
  }
  if (origins.length >= destinations.length) {
    const [first, second] = half(origins)
    return [
      ...(await measureParts(question, first, destinations, options)),
      ...(await measureParts(question, second, destinations, options)),
    ]
  }
  const [first, second] = half(destinations)
  const left = await measureParts(question, origins, first, options)
  const right = await measureParts(question, origins, second, options)
  return left.map((row, i) => [...row, ...right[i]!])
}

/**
 * The cells, with a row for each origin. Cells without a way are requested once more without a preference for the
 * nearest road. If a point is next to a piece of road that leads nowhere, its ways begin on the next road, and the
 * matrix search fails although a route exists.
 *
 * @throws RoutingRefusal if one point is on no road, or there is no way at all
 */
export async function measure(
  question: MatrixQuestion,
  origins: readonly PlacedPoint[],
  destinations: readonly PlacedPoint[],
  options: CostingOptions,
): Promise<MatrixCell[][]> {
  let cells: MatrixCell[][] = []
  let refusal: unknown
  try {
    cells = await search(question, origins, destinations, options, {})
  } catch (error) {
    if (!isWayless(error) || error instanceof NoRoadNear) throw error
    refusal = error
  }
  const isOpen = (i: number, k: number) => !('meters' in (cells[i]?.[k] ?? {}))
  const rows = indexesOf(origins).filter((i) => indexesOf(destinations).some((k) => isOpen(i, k)))
  const columns = indexesOf(destinations).filter((k) => rows.some((i) => isOpen(i, k)))
  if (rows.length === 0) return cells
  const [some, others] = [rows.map((i) => origins[i]!), columns.map((k) => destinations[k]!)]
  try {
    const again = await search(question, some, others, options, { rank_candidates: false })
    return filled(origins, destinations, (i, k) =>
      isOpen(i, k) ? again[rows.indexOf(i)]![columns.indexOf(k)]! : cells[i]![k]!,
    )
  } catch (error) {
    if (!isWayless(error)) throw error
    if (refusal !== undefined) throw refusal
    return cells
  }
}

const indexesOf = (list: readonly PlacedPoint[]) => list.map((_, index) => index)

async function search(
  { engine, mode, departure }: MatrixQuestion,
  origins: readonly PlacedPoint[],
  destinations: readonly PlacedPoint[],
  options: CostingOptions,
  candidates: Pick<RoutingLocation, 'rank_candidates'>,
): Promise<MatrixCell[][]> {
  const costing = costingOf(mode)
  const located = (point: PlacedPoint) => ({ ...locationOf(point), ...candidates })
  const { sources_to_targets: answer } = await engine.ask('sources_to_targets', {
    sources: origins.map(located),
    targets: destinations.map(located),
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
