import { pointDistance } from '../../geometry/distance.ts'
import type { Position } from '../../model/geofence.ts'
import { nearestOnLine } from '../records/areas.ts'

type Line = readonly Position[]

/** Points within this distance count as one, because the pieces of tiles overlap and do not meet exactly. */
const SAME_METERS = 5
/** Pieces that are further apart than this are not joined. */
const GAP_METERS = 50
/** An edge with more pieces is a mistake in the data. */
const MOST_PIECES = 50

/**
 * Joins the pieces of an edge that was cut by tiles into one line. They may overlap, repeat each other, and run in
 * either direction. The longest one gives the direction. Pieces that do not meet the others are left out.
 */
export function joinPieces(pieces: readonly Line[]): Line {
  const [longest, ...others] = pieces
    .slice(0, MOST_PIECES)
    .map((line) => ({ line, meters: lengthOf(line) }))
    .sort((a, b) => b.meters - a.meters)
    .map(({ line }) => line)
  let joined = longest!
  let left = others
  for (let before = -1; before !== left.length;) {
    before = left.length
    left = left.filter((piece) => {
      const longer = extended(joined, piece) ?? extended(joined.toReversed(), piece)?.toReversed()
      joined = longer ?? joined
      return longer === undefined
    })
  }
  return joined
}

/** The line, extended by the part of the piece beyond its end; undefined if the piece does not continue from there. */
function extended(line: Line, piece: Line): Line | undefined {
  const end = line.at(-1)!
  if (nearestOnLine(piece, end).meters > GAP_METERS) return undefined
  for (const direction of [piece, piece.toReversed()]) {
    const last = direction.findLastIndex((position) => isOn(line, position))
    const beyond = direction.slice(last + 1)
    const [first] = beyond
    if (first === undefined) continue
    const leavesAtEnd = last >= 0 && nearestOnLine(direction.slice(last, last + 2), end).meters <= SAME_METERS
    // Otherwise the piece may run beside the line or into its other end, which does not continue it.
    if (!leavesAtEnd && distance(first, end) > distance(first, line[0]!)) continue
    const touches = last >= 0 || nearestOnLine(direction, end).meters <= SAME_METERS
    if (touches || distance(first, end) <= GAP_METERS) return [...line, ...beyond]
  }
  return undefined
}

function isOn(line: Line, position: Position): boolean {
  return nearestOnLine(line, position).meters <= SAME_METERS
}

function lengthOf(line: Line): number {
  return line.slice(1).reduce((sum, position, index) => sum + distance(line[index]!, position), 0)
}

function distance([x, y]: Position, [px, py]: Position): number {
  return pointDistance(y, x, py, px)
}
