import { RADIANS } from './distance.ts'

/** A degree of latitude at the pole (111,694 m) is the longest degree on WGS84; of longitude, 111,320 m. */
const LONGEST_DEGREE_METERS = 111_700

interface Point {
  /** In degrees. */
  readonly latitude: number
  readonly longitude: number
}

/**
 * The path from one point to another: straight in longitude and latitude, as the edges of polygons are, and the short
 * way around the antimeridian. A position on it is a share, from 0 at the start to 1 at the end.
 */
export class Way {
  /** The length in metres. It is never less than the true length, and at most a few percent more. */
  readonly lengthMeters: number
  readonly #from: Point
  readonly #dLatitude: number
  readonly #dLongitude: number

  constructor(from: Point, to: Point) {
    this.#from = from
    this.#dLatitude = to.latitude - from.latitude
    const turn = to.longitude - from.longitude
    this.#dLongitude = turn > 180 ? turn - 360 : turn < -180 ? turn + 360 : turn
    const crossesEquator = from.latitude > 0 !== to.latitude > 0
    // A degree of longitude is longest where the path is nearest to the equator.
    const equatorward = crossesEquator ? 0 : Math.min(Math.abs(from.latitude), Math.abs(to.latitude))
    const east = this.#dLongitude * Math.cos(equatorward * RADIANS)
    this.lengthMeters = LONGEST_DEGREE_METERS * Math.hypot(this.#dLatitude, east)
  }

  latitude(share: number): number {
    return this.#from.latitude + share * this.#dLatitude
  }

  /** The longitude at a share, within ±180. */
  longitude(share: number): number {
    const longitude = this.#from.longitude + share * this.#dLongitude
    return longitude > 180 ? longitude - 360 : longitude < -180 ? longitude + 360 : longitude
  }
}

/** Distances to boundaries may be off by 0.1 %, so a step is shorter than the distance by this share. */
const SAFE_SHARE = 0.998
/**
 * Parts that are shorter than a step may be missed. The shortest step grows by one percent with each step, so that a
 * path along a boundary takes about a thousand steps. The usual search takes a few dozen, and misses nothing wider
 * than 0.2 m.
 */
const SHORTEST_STEP_METERS = 0.1
const STEP_GROWTH = 1.01
/** How often a step is halved until the boundary is found, which is to a billionth of it. */
const HALVINGS = 30

/**
 * The first and the last share of a path at which it touches a shape; undefined if it does not. Both ends are
 * outside.
 *
 * By sphere tracing (J. C. Hart, Sphere tracing, The Visual Computer 12, 1996): nothing is closer than the boundary,
 * so the search advances by that distance at once, from either end. All it needs from a shape is its signed distance.
 *
 * @param distanceAt signed metres from the position at that share to the boundary, negative inside
 */
export function touch(
  lengthMeters: number,
  distanceAt: (share: number) => number,
): { readonly first: number; readonly last: number } | undefined {
  if (!(lengthMeters > 0)) return undefined
  const first = firstTouch(lengthMeters, distanceAt)
  if (first === undefined) return undefined
  const fromEnd = firstTouch(lengthMeters, (share) => distanceAt(1 - share))
  return { first, last: Math.max(first, fromEnd === undefined ? first : 1 - fromEnd) }
}

function firstTouch(lengthMeters: number, distanceAt: (share: number) => number): number | undefined {
  let shortest = SHORTEST_STEP_METERS
  let outside = 0
  let distance = distanceAt(0)
  for (; ; shortest *= STEP_GROWTH) {
    const next = outside + Math.max(distance * SAFE_SHARE, shortest) / lengthMeters
    if (next >= 1) return undefined
    distance = distanceAt(next)
    if (distance <= 0) return boundaryBetween(outside, next, distanceAt)
    outside = next
  }
}

function boundaryBetween(outside: number, inside: number, distanceAt: (share: number) => number): number {
  let low = outside
  let high = inside
  for (let i = 0; i < HALVINGS; i++) {
    const middle = (low + high) / 2
    if (distanceAt(middle) <= 0) high = middle
    else low = middle
  }
  return high
}
