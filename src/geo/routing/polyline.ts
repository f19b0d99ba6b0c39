/** A point as GeoJSON has it: longitude, latitude, in degrees. */
export type LonLatPoint = readonly [longitude: number, latitude: number]

/** Digits behind the decimal point that an encoded polyline keeps. */
export type PolylineDigits = 5 | 6

/**
 * Decodes a polyline: differences of latitude and longitude in turn, zigzag, in groups of five bits with the lowest
 * first, as in Google's "Encoded Polyline Algorithm Format".
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
      // By weight, not by shift: half a turn of longitude at six digits needs 29 bits, its zigzag 30, a bad text any number.
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

/** The inverse of {@link decodePolyline}; what has more digits is rounded. */
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
