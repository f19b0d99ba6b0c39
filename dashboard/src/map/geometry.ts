/** Positions on the map: degrees, metres and the square of Mercator. Pure. */

export type LngLat = readonly [longitude: number, latitude: number]

const METERS_PER_DEGREE = 111_195
/** The number of corners of a drawn circle, which is enough that none is seen on a screen. */
const CIRCLE_CORNERS = 72

/** The position in the Mercator square of the world, from 0 in the west to 1 in the east. */
export function mercatorX(longitude: number): number {
  return (longitude + 180) / 360
}

/** The position in the Mercator square of the world, from 0 in the north to 1 in the south. */
export function mercatorY(latitude: number): number {
  const bounded = Math.max(-85.0511, Math.min(85.0511, latitude))
  const sine = Math.sin((bounded * Math.PI) / 180)
  return 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI)
}

/** The ring around a circle, for drawing: the server alone decides what is inside. */
export function circleRing([longitude, latitude]: LngLat, radiusMeters: number): LngLat[] {
  const cosine = Math.max(Math.cos((latitude * Math.PI) / 180), 1e-6)
  const ring = Array.from({ length: CIRCLE_CORNERS }, (_, i): LngLat => {
    const angle = (2 * Math.PI * i) / CIRCLE_CORNERS
    return [
      longitude + (Math.cos(angle) * radiusMeters) / (METERS_PER_DEGREE * cosine),
      latitude + (Math.sin(angle) * radiusMeters) / METERS_PER_DEGREE,
    ]
  })
  return [...ring, ring[0]!]
}

/** The distance between two points on the globe. */
export function metersBetween([fromX, fromY]: LngLat, [toX, toY]: LngLat): number {
  const radians = Math.PI / 180
  const [south, north] = [fromY * radians, toY * radians]
  const haversine =
    Math.sin((north - south) / 2) ** 2 +
    Math.cos(south) * Math.cos(north) * Math.sin(((toX - fromX) * radians) / 2) ** 2
  return ((2 * METERS_PER_DEGREE) / radians) * Math.asin(Math.min(1, Math.sqrt(haversine)))
}

/** The area inside a ring that does not span half the world, about as large as it is. */
export function ringSquareKilometers(ring: readonly LngLat[]): number {
  const [first] = ring
  if (first === undefined) return 0
  const cosine = Math.cos((first[1] * Math.PI) / 180)
  let doubled = 0
  for (const [i, [x, y]] of ring.entries()) {
    const [nextX, nextY] = ring[(i + 1) % ring.length]!
    doubled += (x - first[0]) * (nextY - first[1]) - (nextX - first[0]) * (y - first[1])
  }
  return (Math.abs(doubled) / 2) * cosine * (METERS_PER_DEGREE / 1000) ** 2
}

/** A box in degrees. */
export type Box = readonly [west: number, south: number, east: number, north: number]

/** The box around points; undefined without a point. */
export function boxAround(points: readonly LngLat[]): Box | undefined {
  if (points.length === 0) return undefined
  let [west, south, east, north] = [Infinity, Infinity, -Infinity, -Infinity]
  for (const [x, y] of points) {
    west = Math.min(west, x)
    east = Math.max(east, x)
    south = Math.min(south, y)
    north = Math.max(north, y)
  }
  return [west, south, east, north]
}

/** The box, larger by this share on each side, within the world. */
export function widened([west, south, east, north]: Box, share: number): Box {
  const [dx, dy] = [(east - west) * share, (north - south) * share]
  if (east - west + 2 * dx >= 360) return [-180, Math.max(-90, south - dy), 180, Math.min(90, north + dy)]
  return [wrapped(west - dx), Math.max(-90, south - dy), wrapped(east + dx), Math.min(90, north + dy)]
}

/** Whether a point is in a box, which may cross the antimeridian. */
export function isInBox([west, south, east, north]: Box, longitude: number, latitude: number): boolean {
  if (latitude < south || latitude > north) return false
  return west <= east ? longitude >= west && longitude <= east : longitude >= west || longitude <= east
}

/** Whether a box lies within another; one that crosses the antimeridian contains none. */
export function containsBox(outer: Box, inner: Box): boolean {
  if (outer[0] > outer[2]) return false
  return outer[0] <= inner[0] && outer[1] <= inner[1] && outer[2] >= inner[2] && outer[3] >= inner[3]
}

function wrapped(longitude: number): number {
  return ((((longitude + 180) % 360) + 360) % 360) - 180
}

/** The path of a route. The pages ask for coordinates, not for a polyline. */
export function lineOf(geometry: object | undefined): LngLat[] {
  return geometry !== undefined && 'coordinates' in geometry ? (geometry.coordinates as LngLat[]) : []
}
