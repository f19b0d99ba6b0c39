/** Polygons by a look at every edge, to compare with. Edges are straight in longitude and latitude. */
import { distance, placeOf, turnOf, type Position } from './hookKit.ts'

/** Around a corner; a ring around a pole where the corner is at one. */
export function ringAt(corner: number, isPolar: boolean): Position[] {
  if (!isPolar) {
    // Not convex.
    const spots = [
      [-180, -150],
      [200, -100],
      [40, 20],
      [160, 190],
      [-140, 120],
      [-180, -150],
    ] as const
    return spots.map(([east, north]) => placeOf(corner, east, north))
  }
  const sign = Math.sign(placeOf(corner, 0, 0)[1])
  const ring = Array.from({ length: 12 }, (_, i): Position => [
    -180 + 30 * i,
    sign * (90 - (i % 2 === 0 ? 0.0008 : 0.0014)),
  ])
  return [...ring, ring[0]!]
}

/** The edges of a ring, with longitudes that go on instead of turning back at ±180. */
function edgesOf(ring: readonly Position[]): { from: Position; to: Position }[] {
  const edges: { from: Position; to: Position }[] = []
  let at = ring[0]!
  for (const [longitude, latitude] of ring.slice(1)) {
    const to: Position = [at[0] + turnOf(at[0], longitude), latitude]
    edges.push({ from: at, to })
    at = to
  }
  return edges
}

/** Whether the ring contains the point: north of it, its meridian crosses an odd number of edges; the north pole is one. */
export function ringHolds(ring: readonly Position[], [longitude, latitude]: Position): boolean {
  const edges = edgesOf(ring)
  const isAroundPole = Math.abs(edges.at(-1)!.to[0] - edges[0]!.from[0]) > 1
  let crossings = isAroundPole && ring[0]![1] > 0 ? 1 : 0
  for (const { from, to } of edges)
    for (const lon of [longitude - 360, longitude, longitude + 360]) {
      if (from[0] > lon === to[0] > lon) continue
      const share = (lon - from[0]) / (to[0] - from[0])
      if (from[1] + share * (to[1] - from[1]) > latitude) crossings++
    }
  return crossings % 2 === 1
}

/**
 * How many metres of a path between two points outside lie between its first and its last touch of the ring's edges;
 * 0 if it touches none.
 */
export function crossedMeters(ring: readonly Position[], before: Position, now: Position): number {
  const [x, y] = before
  const [dx, dy] = [turnOf(x, now[0]), now[1] - y]
  const shares: number[] = []
  for (const { from, to } of edgesOf(ring))
    for (const around of [-360, 0, 360]) {
      const [ex, ey] = [to[0] - from[0], to[1] - from[1]]
      const [ax, ay] = [from[0] + around - x, from[1] - y]
      const determinant = dx * ey - dy * ex
      if (determinant === 0) continue
      const share = (ax * ey - ay * ex) / determinant
      const onEdge = (ax * dy - ay * dx) / determinant
      if (share >= 0 && share <= 1 && onEdge >= 0 && onEdge <= 1) shares.push(share)
    }
  if (shares.length === 0) return 0
  const at = (share: number): Position => [x + share * dx, y + share * dy]
  return distance(at(Math.min(...shares)), at(Math.max(...shares)))
}
