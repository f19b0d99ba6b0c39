import { pointDistance } from '../../geometry/distance.ts'

/** A point in the form of GeoJSON: longitude and latitude in degrees. */
export type LonLatPoint = readonly [longitude: number, latitude: number]

/** How many digits after the decimal point an encoded polyline keeps. */
export type PolylineDigits = 5 | 6

/**
 * Decodes a polyline: differences of latitude and longitude in turn, in zigzag form, in groups of five bits with the
 * lowest first, as described in Google's "Encoded Polyline Algorithm Format".
 * @throws RangeError if the text ends within a number, or has a character that is not in the format
 */
export function decodePolyline(text: string, digits: PolylineDigits): LonLatPoint[] {
  const points: LonLatPoint[] = []
  const reader = new PolylineReader(text, digits)
  for (let point = reader.next(); point !== undefined; point = reader.next()) points.push(point)
  return points
}

/**
 * The point of a polyline that is so many metres after its beginning.
 * @returns undefined if the polyline is shorter
 */
export function pointAfter(text: string, digits: PolylineDigits, meters: number): LonLatPoint | undefined {
  const reader = new PolylineReader(text, digits)
  let from = reader.next()
  let left = meters
  for (let to = reader.next(); from !== undefined && to !== undefined; to = reader.next()) {
    const length = pointDistance(from[1], from[0], to[1], to[0])
    if (length >= left && length > 0) {
      const share = left / length
      return [from[0] + (to[0] - from[0]) * share, from[1] + (to[1] - from[1]) * share]
    }
    left -= length
    from = to
  }
  return undefined
}

/** Decodes a polyline one point after the other, so that nobody pays for points that are not read. */
class PolylineReader {
  readonly #text: string
  readonly #scale: number
  #at = 0
  #latitude = 0
  #longitude = 0

  constructor(text: string, digits: PolylineDigits) {
    this.#text = text
    this.#scale = 10 ** digits
  }

  /**
   * The next point; undefined after the last one.
   * @throws RangeError as {@link decodePolyline} does
   */
  next(): LonLatPoint | undefined {
    if (this.#at >= this.#text.length) return undefined
    this.#latitude += this.#difference()
    this.#longitude += this.#difference()
    return [this.#longitude / this.#scale, this.#latitude / this.#scale]
  }

  #difference(): number {
    let value = 0
    let weight = 1
    for (;;) {
      const group = this.#text.charCodeAt(this.#at++) - 63
      if (!(group >= 0 && group < 64)) throw new RangeError(`no polyline at character ${this.#at}`)
      // It multiplies instead of shifting, because half a turn of longitude at six digits needs 29 bits, its zigzag
      // 30, and a bad text any number.
      value += (group & 31) * weight
      if (group < 32) return value % 2 === 0 ? value / 2 : -(value + 1) / 2
      weight *= 32
    }
  }
}

/** The inverse of {@link decodePolyline}. Further digits are rounded. */
export function encodePolyline(points: readonly LonLatPoint[], digits: PolylineDigits): string {
  const scale = 10 ** digits
  let text = ''
  const write = (difference: number): void => {
    let value = difference < 0 ? -2 * difference - 1 : 2 * difference
    while (value >= 32) {
      text += String.fromCharCode((value % 32) + 32 + 63)
      value = Math.floor(value / 32)
    }
    text += String.fromCharCode(value + 63)
  }
  let latitude = 0
  let longitude = 0
  for (const [lon, lat] of points) {
    const nextLatitude = Math.round(lat * scale)
    const nextLongitude = Math.round(lon * scale)
    write(nextLatitude - latitude)
    write(nextLongitude - longitude)
    latitude = nextLatitude
    longitude = nextLongitude
  }
  return text
}
