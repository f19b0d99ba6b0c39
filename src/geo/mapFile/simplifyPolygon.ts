/**
 * Removes points from polygons so that their edges do not cross, for outlines of continents: clients fill a ring
 * whose sides cross wrongly, even far away from the crossing. A strait that is narrower than the tolerance is such a
 * place. The code is pure.
 */
import { doubleArea } from './clip.ts'
import { pointsToKeep, withoutRepeats } from './simplify.ts'

/** An edge of the simplified polygon. */
interface Edge {
  readonly ring: number
  /** Its ends: where the numbers of the points are in the closed ring. */
  readonly from: number
  readonly to: number
  readonly west: number
  readonly east: number
  readonly north: number
  readonly south: number
}

/**
 * A polygon with fewer points. Where edges would touch each other that did not before, more of their points stay.
 * @param rings x, y, x, y in whole numbers, not closed; the outer one, clockwise on the map, before its holes
 * @param tolerance how far edges may be off
 * @param leastArea the least area of a ring, in square units
 * @returns empty if nothing of it is seen
 */
export function simplifyPolygon(
  rings: readonly ArrayLike<number>[],
  tolerance: number,
  leastArea: number,
): number[][] {
  const lines: number[][] = []
  for (const ring of rings) {
    const size = ring.length < 6 ? 0 : doubleArea(ring) / 2
    if (Math.abs(size) >= leastArea) lines.push(withoutRepeats([...Array.from(ring), ring[0]!, ring[1]!]))
    else if (lines.length === 0) return []
  }
  const stays = lines.map((line) => {
    const flags = new Uint8Array(line.length / 2)
    if (tolerance === 0 || line.length <= 8) return flags.fill(1)
    for (const at of pointsToKeep(line, tolerance)) flags[at / 2] = 1
    return flags
  })
  // Each round keeps more points, or is the last.
  if (tolerance > 0) while (keepMore(lines, stays));
  const simple = lines.map((line, i) => line.filter((_, at) => stays[i]![at >> 1] === 1).slice(0, -2))
  return simple[0]!.length < 6 ? [] : simple.filter((ring) => ring.length >= 6)
}

/**
 * Keeps all points that edges pass over, for those edges that touch others.
 * @returns whether there were any
 */
function keepMore(lines: readonly number[][], stays: readonly Uint8Array[]): boolean {
  const edges = lines.flatMap((line, i) => edgesOf(line, stays[i]!, i)).sort((a, b) => a.west - b.west)
  let isMore = false
  const keep = ({ ring, from, to }: Edge): void => {
    isMore ||= to - from > 2
    stays[ring]!.fill(1, from / 2, to / 2)
  }
  for (let i = 0; i < edges.length; i++) {
    const edge = edges[i]!
    for (let j = i + 1; j < edges.length && edges[j]!.west <= edge.east; j++) {
      const other = edges[j]!
      if (other.north > edge.south || other.south < edge.north) continue
      // Neither of them passes over a point.
      if (edge.to - edge.from === 2 && other.to - other.from === 2) continue
      if (!touch(lines, edge, other)) continue
      keep(edge)
      keep(other)
    }
  }
  return isMore
}

function edgesOf(line: readonly number[], stays: Uint8Array, ring: number): Edge[] {
  const edges: Edge[] = []
  let from = 0
  for (let to = 2; to < line.length; to += 2) {
    if (stays[to / 2] === 0) continue
    const [ax, ay, bx, by] = [line[from]!, line[from + 1]!, line[to]!, line[to + 1]!]
    const [west, east] = ax < bx ? [ax, bx] : [bx, ax]
    const [north, south] = ay < by ? [ay, by] : [by, ay]
    edges.push({ ring, from, to, west, east, north, south })
    from = to
  }
  return edges
}

/** Whether two edges whose boxes overlap have a point in common, other than the end of one that the other begins at. */
function touch(lines: readonly number[][], edge: Edge, other: Edge): boolean {
  if (edge.ring === other.ring) {
    const last = lines[edge.ring]!.length - 2
    if (edge.to % last === other.from || other.to % last === edge.from) return false
  }
  const [one, two] = [lines[edge.ring]!, lines[other.ring]!]
  const [ax, ay, bx, by] = [one[edge.from]!, one[edge.from + 1]!, one[edge.to]!, one[edge.to + 1]!]
  const [cx, cy, dx, dy] = [two[other.from]!, two[other.from + 1]!, two[other.to]!, two[other.to + 1]!]
  const side = (px: number, py: number): number => Math.sign((bx - ax) * (py - ay) - (by - ay) * (px - ax))
  const otherSide = (px: number, py: number): number =>
    Math.sign((dx - cx) * (py - cy) - (dy - cy) * (px - cx))
  return side(cx, cy) * side(dx, dy) <= 0 && otherSide(ax, ay) * otherSide(bx, by) <= 0
}
