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
  const scale = 10 ** digits
  const points: LonLatPoint[] = []
  let place = 0
  const difference = (): number => {
    let value = 0
    let weight = 1
    for (;;) {
      const group = text.charCodeAt(place++) - 63
      if (!(group >= 0 && group < 64)) throw new RangeError(`no polyline at character ${place}`)
      // It multiplies instead of shifting, because half a turn of longitude at six digits needs 29 bits, its zigzag
      // 30, and a bad text any number.
      value += (group & 31) * weight
      if (group < 32) return value % 2 === 0 ? value / 2 : -(value + 1) / 2
      weight *= 32
    }
  }
  let latitude = 0
  let longitude = 0
  while (place < text.length) {
    latitude += difference()
    longitude += difference()
    points.push([longitude / scale, latitude / scale])
  }
  return points
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
