/**
 * Areas as far as a cell needs them: the pieces of their borders in and around it, and which area contains one point
 * in it, the reference. The borders between the reference and another point of the cell tell which area contains the
 * other point. The code is pure.
 *
 * The obvious way counts for each point how often a line to infinity crosses the whole border, which has thousands of
 * edges for a country. Most cells have no edge at all, and the others have a few.
 */
export interface AreaEdges {
  /** The codes of the areas. Areas that touch have different codes. */
  readonly codes: readonly string[]
  /** The indexes in {@link codes} of the areas that contain the reference, in ascending order. */
  readonly references: readonly number[]
  /** The longitudes and latitudes of both ends of each edge, in degrees: x, y, x, y. */
  readonly edges: Float64Array
  /** The index of each edge's area. */
  readonly areas: Uint16Array
}

export type Degrees = readonly [x: number, y: number]

let parity = new Uint8Array(64)

/**
 * The index of the area that contains a point, the first one if there are several; −1 if there is none.
 * @param edges at least all edges in the box between the two points
 * @param reference the point whose area is known
 */
export function areaAt(
  { codes, references, edges, areas }: AreaEdges,
  reference: Degrees,
  x: number,
  y: number,
): number {
  if (edges.length === 0) return references[0] ?? -1
  if (parity.length < codes.length) parity = new Uint8Array(2 * codes.length)
  parity.fill(0, 0, codes.length)
  for (const known of references) parity[known] = 1
  const [rx, ry] = reference
  // First along the parallel of the reference, then along the meridian of the point.
  for (let i = 0; i < areas.length; i++) {
    const ax = edges[4 * i]!
    const ay = edges[4 * i + 1]!
    const bx = edges[4 * i + 2]!
    const by = edges[4 * i + 3]!
    let crossings = 0
    if (ay > ry !== by > ry) {
      const at = ((bx - ax) * (ry - ay)) / (by - ay) + ax
      if (rx < at !== x < at) crossings++
    }
    if (ax > x !== bx > x) {
      const at = ((by - ay) * (x - ax)) / (bx - ax) + ay
      if (ry < at !== y < at) crossings++
    }
    if (crossings === 1) parity[areas[i]!]! ^= 1
  }
  for (let place = 0; place < codes.length; place++) if (parity[place] === 1) return place
  return -1
}

/**
 * The distance in metres from a point to the nearest edge of any area, on a plane around the point. Infinity if there
 * is no edge.
 */
export function metersToEdges(
  { edges }: AreaEdges,
  x: number,
  y: number,
  scale: { readonly x: number; readonly y: number },
): number {
  let least = Infinity
  for (let at = 0; at < edges.length; at += 4) least = Math.min(least, squareTo(edges, at, x, y, scale))
  return Math.sqrt(least)
}

/** The nearest area of a point that lies in none. */
export interface NearestArea {
  readonly place: number
  readonly meters: number
  /** The distance to the nearest other area in metres; Infinity if there is none. */
  readonly otherMeters: number
}

/**
 * One squared distance is less than another if it is below this share of it. Rounding errors are smaller, so areas
 * that share their nearest corner are equally near.
 */
const NEARER_SHARE = 1 - 1e-6

/** The nearest area. If several are at the same distance, it is the first one. Undefined if there is no edge. */
export function nearestArea(
  { edges, areas }: AreaEdges,
  x: number,
  y: number,
  scale: { readonly x: number; readonly y: number },
): NearestArea | undefined {
  let place = -1
  let least = Infinity
  let other = Infinity
  for (let i = 0; i < areas.length; i++) {
    const square = squareTo(edges, 4 * i, x, y, scale)
    if (areas[i] === place) least = Math.min(least, square)
    else if (square < least * NEARER_SHARE) {
      other = least
      least = square
      place = areas[i]!
    } else other = Math.min(other, square)
  }
  return place < 0 ? undefined : { place, meters: Math.sqrt(least), otherMeters: Math.sqrt(other) }
}

/** The square of the metres from a point to the edge that begins at an index. */
function squareTo(
  edges: Float64Array,
  at: number,
  x: number,
  y: number,
  scale: { readonly x: number; readonly y: number },
): number {
  const ax = (edges[at]! - x) * scale.x
  const ay = (edges[at + 1]! - y) * scale.y
  const ux = (edges[at + 2]! - x) * scale.x - ax
  const uy = (edges[at + 3]! - y) * scale.y - ay
  const length = ux * ux + uy * uy
  const share = length === 0 ? 0 : Math.min(1, Math.max(0, -(ax * ux + ay * uy) / length))
  const dx = ax + share * ux
  const dy = ay + share * uy
  return dx * dx + dy * dy
}
