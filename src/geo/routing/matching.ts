/**
 * Finding the roads under a path.
 *
 * Valhalla takes a path for a single drive. If it is not (a gap of more than {@link GAP_METERS}, points far from all
 * roads, roads that are not connected), the answer contains a straight line there, and the lengths on both sides are
 * wrong. So the path is cut at such places, before and after the request, and its pieces are matched separately.
 */
import { pointDistance } from '../../geometry/distance.ts'
import { badParam } from '../../runtime/errors.ts'
import { decodePolyline, type LonLatPoint } from './polyline.ts'
import { NoMatch, type RoutingEngine } from './port.ts'
import type { Costing, TraceAnswer, TraceEdge } from './valhallaJson.ts'

/** Points that are farther apart than this do not belong to one drive. */
const GAP_METERS = 2000
/** Gaps up to this length, as Valhalla measures them, are left in the path. */
const BREAKAGE_METERS = 2100
/** How many pieces a path may have. More would cost more than they are worth. */
const MAX_PIECES = 100
/**
 * Occasionally the engine refuses a path because of one part of it, without saying which. Then each half is tried
 * separately, down to this many points, and at most this often. For one such part in 16,000 points it takes nine
 * attempts.
 */
const MIN_HALVED_POINTS = 32
const MAX_HALVINGS = 60

/**
 * The attributes of an edge, and its position in the shape. Answers need no others; all of them would be ten times as
 * much.
 */
const ATTRIBUTES = [
  'edge.names',
  'edge.length',
  'edge.speed_limit',
  'edge.road_class',
  'edge.begin_shape_index',
  'edge.end_shape_index',
  'matched.point',
  'matched.type',
  'matched.edge_index',
  'matched.begin_route_discontinuity',
  'shape',
]

/**
 * The distance around a point in metres within which its road is searched: the least, and the most, which is the
 * engine's limit.
 */
const SEARCH_METERS = 50
const MAX_SEARCH_METERS = 100
/** A road may belong to a point if it is within this many times the point's accuracy. */
const SEARCH_ACCURACIES = 3
/**
 * If points are nearer to each other than this many times their accuracy, only some of them are matched, and the
 * others follow the way. Measured in the sample city with a point every 10 m, 20 m off: without this, 93 % of the
 * streets are found, by ways 2.4 times as long as the drive, because each step back, which is only noise, becomes a
 * turn around a block. With it, 99 % are found, and the ways are 1.06 times as long.
 */
const THINNING_ACCURACIES = 5
const MIN_THINNING_METERS = 10
const MAX_THINNING_METERS = 100
/** The accuracy of points that have none, in metres. */
const USUAL_ACCURACY_METERS = 10

/** A point of a path. */
export interface PathPoint {
  readonly lat: number
  readonly lon: number
  /** In epoch seconds. */
  readonly time?: number
  /** In metres. */
  readonly accuracy?: number
}

/** A point of the path that is on a road. */
export interface SnappedPoint {
  readonly place: LonLatPoint
  /** The index in the path. */
  readonly originalIndex: number
  /** The index among the piece's edges. */
  readonly edge: number
}

/** A part of the path that was driven without a break. */
export interface MatchedPiece {
  readonly points: readonly SnappedPoint[]
  readonly edges: readonly TraceEdge[]
  readonly shape: readonly LonLatPoint[]
}

/**
 * The roads along a path, piece by piece in order. Points that are alone, or far from all roads, are in no piece.
 * @throws {ApiError} 400 if the path has too many pieces, or all of its points are alone
 */
export async function matchPath(
  engine: RoutingEngine,
  costing: Costing,
  path: readonly PathPoint[],
): Promise<MatchedPiece[]> {
  const found: MatchedPiece[] = []
  const isGapAfter = (i: number, next: number) => isGap(path[i]!, path[next]!)
  const inPieces = cut(
    path.map((_, i) => i),
    isGapAfter,
  )
  if (inPieces.length === 0)
    throw badParam('path', `No point is within ${GAP_METERS} m of the one before or after it.`)
  // Once the points that are alone are removed, their neighbours may belong to one drive. The last item comes next.
  const waiting = cut(inPieces.flat(), isGapAfter).toReversed()
  let halvings = 0
  for (let asked = 0; waiting.length > 0; asked++) {
    const indices = waiting.pop()!
    if (asked + waiting.length - 2 * halvings >= MAX_PIECES) {
      throw badParam('path', `Falls into more than ${MAX_PIECES} pieces that no roads join.`)
    }
    const answer = await ask(
      engine,
      costing,
      indices.map((i) => path[i]!),
    )
    if (answer === undefined) {
      if (indices.length < MIN_HALVED_POINTS || halvings === MAX_HALVINGS) continue
      const half = indices.length >> 1
      waiting.push(indices.slice(half), indices.slice(0, half))
      halvings++
      continue
    }
    const matched = answer.matched_points ?? []
    const onRoad = indices.filter((_, k) => matched[k]?.type !== 'unmatched')
    if (onRoad.length < indices.length) {
      waiting.push(...cut(onRoad, isGapAfter).toReversed())
      continue
    }
    const breaks = new Set(indices.filter((_, k) => matched[k]?.begin_route_discontinuity === true))
    const pieces = cut(indices, (i) => breaks.has(i))
    if (pieces.length === 1 && pieces[0]!.length === indices.length) found.push(pieceOf(answer, indices))
    else waiting.push(...pieces.toReversed())
  }
  return found
}

/** The lists between the cuts. Lists of one point are left out, because one point is not a drive. */
function cut(indices: readonly number[], isCut: (index: number, next: number) => boolean): number[][] {
  const pieces: number[][] = [[]]
  indices.forEach((index, k) => {
    pieces.at(-1)!.push(index)
    const next = indices[k + 1]
    if (next !== undefined && isCut(index, next)) pieces.push([])
  })
  return pieces.filter((piece) => piece.length > 1)
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most)
}

function isGap(a: PathPoint, b: PathPoint): boolean {
  return pointDistance(a.lat, a.lon, b.lat, b.lon) > GAP_METERS
}

/** Asks the engine. Undefined if no part of the path is along roads. */
async function ask(
  engine: RoutingEngine,
  costing: Costing,
  points: readonly PathPoint[],
): Promise<TraceAnswer | undefined> {
  const accuracies = points.map(({ accuracy = USUAL_ACCURACY_METERS }) => accuracy)
  const median = accuracies.toSorted((a, b) => a - b)[accuracies.length >> 1]!
  const interpolation = clamp(THINNING_ACCURACIES * median, MIN_THINNING_METERS, MAX_THINNING_METERS)
  try {
    return await engine.ask('trace_attributes', {
      shape: points.map(({ lat, lon, time }, i) => ({
        lat,
        lon,
        ...(time !== undefined && { time }),
        radius: clamp(SEARCH_ACCURACIES * accuracies[i]!, SEARCH_METERS, MAX_SEARCH_METERS),
      })),
      costing,
      shape_match: 'map_snap',
      trace_options: { breakage_distance: BREAKAGE_METERS, interpolation_distance: interpolation },
      filters: { action: 'include', attributes: ATTRIBUTES },
    })
  } catch (error) {
    if (error instanceof NoMatch) return undefined
    throw error
  }
}

function pieceOf(
  { matched_points = [], edges = [], shape = '' }: TraceAnswer,
  indices: readonly number[],
): MatchedPiece {
  return {
    points: matched_points.map(({ lon, lat, edge_index = 0 }, k) => ({
      place: [lon, lat],
      originalIndex: indices[k]!,
      edge: edge_index,
    })),
    edges,
    shape: decodePolyline(shape, 6),
  }
}
