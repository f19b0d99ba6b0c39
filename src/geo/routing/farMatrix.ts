/**
 * Matrices over tens and hundreds of kilometres. Valhalla has two searches for a matrix, and each engine has one of
 * them:
 *
 * - TimeDistanceMatrix goes out from each origin over every road. Its cells equal those of routes, but its cost grows
 *   with the square of the distance: 25 origins over 270 km take ten seconds in a thin network, and minutes in a
 *   dense one.
 * - CostMatrix searches from both ends and keeps to main roads in between. It takes a fifth of a second for the same,
 *   and its cells are within 7 % of the routes. Within a city a fifth of its cells are off, by up to 30 %. For
 *   walking and cycling there are no main roads: it is no faster, and takes gigabytes.
 *
 * So if a matrix for motor vehicles has a cell farther than {@link NEAR_METERS}, the second search answers it, and
 * the first search answers its nearer cells.
 */
import { pointDistance } from '../../geometry/distance.ts'
import type { MatrixAnswer, MatrixRequest, RoutingLocation } from './valhallaJson.ts'
import { MAX_MATRIX_METERS } from './valhallaConfig.ts'

/** The distance in a straight line up to which the exact search is used. */
export const NEAR_METERS = 40_000

/**
 * The exact search runs once for each point of the smaller side, and the other search runs from all points. A matrix
 * from one to 625 points over 300 km takes 1.5 s and almost no memory with the exact search, and 6 s and 400 MB with
 * the other.
 */
const MOST_POINTS_PER_SEARCH = 100

/** Valhalla's matrix. Question and answer are JSON. */
export type AskMatrix = (request: string) => Promise<string>

const MOTORISED: ReadonlySet<string> = new Set([
  'auto',
  'truck',
  'motorcycle',
] satisfies MatrixRequest['costing'][])

/**
 * Answers a matrix.
 * @param request JSON of {@link MatrixRequest}
 * @param near the exact search
 * @param far the other search
 * @returns JSON of {@link MatrixAnswer}; `algorithm` is that of the farthest cell
 */
export async function answerMatrix(request: string, near: AskMatrix, far: AskMatrix): Promise<string> {
  const asked = JSON.parse(request) as MatrixRequest
  const { sources, targets, costing } = asked
  if (!MOTORISED.has(costing)) return near(request)
  const meters = sources.map((source) => targets.map((target) => distance(source, target)))
  const farthest = Math.max(...meters.flat())
  // If a request goes too far, Valhalla answers with an error.
  if (farthest <= NEAR_METERS || farthest > MAX_MATRIX_METERS) return near(request)
  if (sources.length + targets.length > MOST_POINTS_PER_SEARCH * Math.min(sources.length, targets.length))
    return near(request)
  const isNear = meters.map((row) => row.map((each) => each <= NEAR_METERS))
  const answer = JSON.parse(await far(request)) as MatrixAnswer
  const { distances, durations } = answer.sources_to_targets
  const write = (rows: readonly number[], columns: readonly number[], part: MatrixAnswer): void => {
    for (const [r, i] of rows.entries()) {
      for (const [c, k] of columns.entries()) {
        distances[i]![k] = part.sources_to_targets.distances[r]![c]!
        durations[i]![k] = part.sources_to_targets.durations[r]![c]!
      }
    }
  }
  await Promise.all(
    nearParts(isNear).map(async ([rows, columns]) => {
      const part = { ...asked, sources: rows.map((i) => sources[i]), targets: columns.map((k) => targets[k]) }
      // If there is no way at all, it fails. The cells are empty already in that case.
      const exact = await near(JSON.stringify(part)).catch(() => undefined)
      if (exact !== undefined) write(rows, columns, JSON.parse(exact) as MatrixAnswer)
    }),
  )
  return JSON.stringify(answer)
}

/**
 * The parts that together contain all near cells and no others. Each has one row, or one column if that makes fewer
 * parts.
 */
function nearParts(isNear: readonly (readonly boolean[])[]): [rows: number[], columns: number[]][] {
  const rows = isNear.map((_, i) => i)
  const columns = isNear[0]!.map((_, k) => k)
  const parts: [number[], number[]][] =
    rows.length <= columns.length
      ? rows.map((i) => [[i], columns.filter((k) => isNear[i]![k])])
      : columns.map((k) => [rows.filter((i) => isNear[i]![k]), [k]])
  return parts.filter(([some, others]) => some.length > 0 && others.length > 0)
}

function distance(from: RoutingLocation, to: RoutingLocation): number {
  return pointDistance(from.lat, from.lon, to.lat, to.lon)
}
