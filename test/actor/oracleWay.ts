import type { Shape } from '../../src/model/geofence.ts'
import { signedDistance } from './oracleGeometry.ts'

/**
 * Finds where a way that is straight in longitude and latitude touches a shape, by bisection. A stretch whose middle
 * is farther from the shape than half its length cannot touch it; all others are halved again.
 */

interface Place {
  readonly latitude: number
  readonly longitude: number
}

export interface Way {
  readonly from: Place
  /** Degrees, signed, in the shorter direction. */
  readonly latitudes: number
  readonly longitudes: number
}

export function wayBetween(from: Place, to: Place): Way {
  let longitudes = to.longitude - from.longitude
  if (longitudes > 180) longitudes -= 360
  if (longitudes < -180) longitudes += 360
  return { from, latitudes: to.latitude - from.latitude, longitudes }
}

/** The place at a share of the way, with longitude within ±180. */
export function placeOn({ from, latitudes, longitudes }: Way, share: number): Place {
  const longitude = from.longitude + share * longitudes
  const turns = longitude > 180 ? -360 : longitude < -180 ? 360 : 0
  return { latitude: from.latitude + share * latitudes, longitude: longitude + turns }
}

/**
 * An upper bound of the metres between two shares, which is close because a degree is nowhere longer than 111,700 m.
 */
export function atMostMeters(way: Way, start: number, end: number): number {
  const latitudes = [start, end].map((share) => Math.abs(way.from.latitude + share * way.latitudes))
  const acrossEquator = Math.abs(way.latitudes) > 0 && crossesEquator(way, start, end)
  const cosine = acrossEquator ? 1 : Math.cos((Math.min(...latitudes) * Math.PI) / 180)
  return 111_700 * (end - start) * Math.hypot(way.latitudes, way.longitudes * cosine)
}

function crossesEquator({ from, latitudes }: Way, start: number, end: number): boolean {
  return (from.latitude + start * latitudes) * (from.latitude + end * latitudes) <= 0
}

/** Half the length of a stretch that is short enough to count as the place of a touch. */
export const FOUND_TO_METERS = 0.0005
const MOST_PARTS = 20_000

/** The search gave up because the way runs along the boundary. */
export class TooClose extends Error {
  override name = 'TooClose'
}

/**
 * The first share of the way, 0 to 1, at which the signed distance to the shape is at most `level` metres; counted
 * from the end if `reverse`. Undefined if there is none.
 */
export function touch(shape: Shape, way: Way, level: number, reverse: boolean): number | undefined {
  let parts = 0
  return search(0, 1)

  function search(start: number, end: number): number | undefined {
    if (++parts > MOST_PARTS) throw new TooClose()
    const half = atMostMeters(way, start, end) / 2
    const middle = (start + end) / 2
    const distance = signedDistance(shape, placeOn(way, middle), half + Math.abs(level))
    if (distance - level > half * 1.001) return undefined
    if (half < FOUND_TO_METERS) return distance <= level + FOUND_TO_METERS ? middle : undefined
    return reverse
      ? (search(middle, end) ?? search(start, middle))
      : (search(start, middle) ?? search(middle, end))
  }
}
