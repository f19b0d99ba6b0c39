/**
 * Where a ring crosses or overlaps itself, in the longitude/latitude plane.
 *
 * The naive way compares all pairs of edges, 2 million for 2,000 positions. Here edges are sorted by their western
 * end, and each is compared only with those that begin before it ends. In any ring of a real area these are few.
 *
 * Four orientations find a crossing in the interior of both edges. If an end lies on the other edge, the two chains
 * touch or cross. They cross if one chain leaves on the other side than the one it came from.
 *
 * @param longitudes degrees, continuous, n + 1 entries for n edges; no edge has length 0
 * @param latitudes degrees
 * @param turning the last vertex is 360° from the first (a ring round a pole): edges one turn away are compared too
 * @returns longitude and latitude of the crossing, or of the middle of the shared part; undefined for a simple ring
 */
export function ringCrossing(
  longitudes: Float64Array,
  latitudes: Float64Array,
  turning: boolean,
): readonly [number, number] | undefined {
  const edges = longitudes.length - 1
  const chain = turning ? repeated(longitudes, latitudes) : { x: longitudes, y: latitudes, count: edges }
  const { x, y, count } = chain
  const order = Array.from({ length: count }, (_, i) => i)
  order.sort((a, b) => Math.min(x[a]!, x[a + 1]!) - Math.min(x[b]!, x[b + 1]!))
  for (let i = 0; i < count; i++) {
    const a = order[i]!
    const east = Math.max(x[a]!, x[a + 1]!)
    const south = Math.min(y[a]!, y[a + 1]!)
    const north = Math.max(y[a]!, y[a + 1]!)
    for (let j = i + 1; j < count; j++) {
      const b = order[j]!
      if (Math.min(x[b]!, x[b + 1]!) > east) break
      const by = y[b]!
      const cy = y[b + 1]!
      if ((by < south && cy < south) || (by > north && cy > north)) continue
      const share = wrongMeeting(x, y, count, turning, a, b)
      if (share === undefined) continue
      const longitude = x[a]! + share * (x[a + 1]! - x[a]!)
      return [longitude - Math.round(longitude / 360) * 360, y[a]! + share * (y[a + 1]! - y[a]!)]
    }
  }
  return undefined
}

/** The chain twice, the second time one turn further, so that neighbours across the start meet. */
function repeated(longitudes: Float64Array, latitudes: Float64Array) {
  const edges = longitudes.length - 1
  const turn = longitudes[edges]! - longitudes[0]!
  const x = new Float64Array(2 * edges + 1)
  const y = new Float64Array(2 * edges + 1)
  for (let i = 0; i <= edges; i++) {
    x[i] = longitudes[i]!
    y[i] = latitudes[i]!
    x[i + edges] = longitudes[i]! + turn
    y[i + edges] = latitudes[i]!
  }
  return { x, y, count: 2 * edges }
}

/**
 * The point where edges a and b (vertices a → a + 1, b → b + 1) cross or share more than a point, as the share of edge
 * a before it, from 0 to 1. Undefined if they do neither.
 */
function wrongMeeting(
  x: Float64Array,
  y: Float64Array,
  count: number,
  open: boolean,
  a: number,
  b: number,
): number | undefined {
  const next = open ? -1 : count
  const o1 = side(x, y, a, a + 1, b)
  const o2 = side(x, y, a, a + 1, b + 1)
  const o3 = side(x, y, b, b + 1, a)
  const o4 = side(x, y, b, b + 1, a + 1)
  if (o1 === 0 && o2 === 0) return overlap(x, y, a, b)
  // Neighbours share a vertex, so only an overlap is wrong between them.
  if (b === a + 1 || a === b + 1 || (Math.min(a, b) === 0 && Math.max(a, b) + 1 === next)) return undefined
  if (o1 * o2 < 0 && o3 * o4 < 0) return o3 / (o3 - o4)
  if (o1 * o2 > 0 || o3 * o4 > 0) return undefined
  // They touch at one point. It is judged only once, where a vertex of a chain ends its edge.
  if (o2 === 0) return crossesAt(x, y, count, open, b + 1, a) ? o3 / (o3 - o4) : undefined
  if (o4 === 0) return crossesAt(x, y, count, open, a + 1, b) ? 1 : undefined
  return undefined
}

/** Positive if vertex k lies to the left of i → j, and 0 if it lies on their line. */
function side(x: Float64Array, y: Float64Array, i: number, j: number, k: number): number {
  return (x[j]! - x[i]!) * (y[k]! - y[i]!) - (y[j]! - y[i]!) * (x[k]! - x[i]!)
}

/**
 * The middle of the part that two edges on the same line share, as a share of edge a; undefined if that is a point or
 * nothing.
 */
function overlap(x: Float64Array, y: Float64Array, a: number, b: number): number | undefined {
  const dx = x[a + 1]! - x[a]!
  const dy = y[a + 1]! - y[a]!
  const length = dx * dx + dy * dy
  const s = (x[b]! - x[a]!) * dx + (y[b]! - y[a]!) * dy
  const t = (x[b + 1]! - x[a]!) * dx + (y[b + 1]! - y[a]!) * dy
  const from = Math.max(Math.min(s, t), 0)
  const to = Math.min(Math.max(s, t), length)
  return to > from ? (from + to) / 2 / length : undefined
}

/**
 * Whether the chain through vertex v crosses the chain of edge e at v: its two arms lie on different sides of the other
 * chain's two arms. An arm along the other chain is an overlap, found elsewhere.
 */
function crossesAt(
  x: Float64Array,
  y: Float64Array,
  count: number,
  open: boolean,
  v: number,
  e: number,
): boolean {
  if (open && (v === 0 || v === count)) return false
  const vx = x[v]!
  const vy = y[v]!
  const before = v === 0 ? count - 1 : v - 1
  const after = v === count ? 1 : v + 1
  let from = e
  let to = e + 1
  if (x[to] === vx && y[to] === vy) to = to === count ? 1 : to + 1
  else if (x[from] === vx && y[from] === vy) from = from === 0 ? count - 1 : from - 1
  if (to > count) return false
  const start = Math.atan2(y[from]! - vy, x[from]! - vx)
  const end = turnFrom(start, Math.atan2(y[to]! - vy, x[to]! - vx))
  const one = turnFrom(start, Math.atan2(y[before]! - vy, x[before]! - vx))
  const two = turnFrom(start, Math.atan2(y[after]! - vy, x[after]! - vx))
  if (one === 0 || two === 0 || one === end || two === end) return false
  return one < end !== two < end
}

/** The angle counter-clockwise from one direction to another in radians, 0 to 2π. */
function turnFrom(start: number, angle: number): number {
  const turn = angle - start
  return turn < 0 ? turn + 2 * Math.PI : turn
}
