import geodesic from 'geographiclib-geodesic'
import type { Position, Shape } from '../../src/model/geofence.ts'

/**
 * Slow and obvious implementations that the geometry kernel is compared with: geodesics by C. F. F. Karney's
 * algorithms, edges walked point by point, areas counted sample by sample. No tree, no local frame, no projection.
 */
const wgs84 = geodesic.Geodesic.WGS84

export interface Point {
  readonly latitude: number
  readonly longitude: number
}

export function karney(latA: number, lonA: number, latB: number, lonB: number): number {
  return wgs84.Inverse(latA, lonA, latB, lonB).s12!
}

export function direct(latitude: number, longitude: number, bearing: number, meters: number): Point {
  const end = wgs84.Direct(latitude, longitude, bearing, meters)
  return { latitude: end.lat2!, longitude: end.lon2! }
}

/** A longitude to which full turns can be added without rounding. */
function exact(lon: number): number {
  return Math.round(lon * 2 ** 42) / 2 ** 42
}

/** The ring with continuous longitudes. Each step goes in the shorter direction; 360 stays as written. */
function unwrap(ring: readonly Position[]): [number, number][] {
  const out: [number, number][] = [[exact(ring[0]![0]), ring[0]![1]]]
  for (let i = 1; i < ring.length; i++) {
    let step = exact(ring[i]![0]) - exact(ring[i - 1]![0])
    if (Math.abs(step) > 180 && Math.abs(step) < 360) step -= 360 * Math.sign(step)
    out.push([out[i - 1]![0] + step, ring[i]![1]])
  }
  return out
}

/** Whether an odd number of edges crosses the meridian north of the point, counting every full turn of it. */
export function contains(shape: Shape, at: Point): boolean {
  if (shape.kind === 'circle') {
    return karney(at.latitude, at.longitude, shape.center[1], shape.center[0]) <= shape.radius
  }
  const ring = unwrap(shape.ring)
  let inside = false
  let latitudes = 0
  for (let i = 0; i + 1 < ring.length; i++) {
    const [lonA, latA] = ring[i]!
    const [lonB, latB] = ring[i + 1]!
    latitudes += latA
    for (let turn = -1080; turn <= 1080; turn += 360) {
      const lon = exact(at.longitude) + turn
      if (lonA > lon === lonB > lon) continue
      if (latA + ((lon - lonA) / (lonB - lonA)) * (latB - latA) > at.latitude) inside = !inside
    }
  }
  const turns = Math.round((ring.at(-1)![0] - ring[0]![0]) / 360)
  return turns !== 0 && latitudes >= 0 ? !inside : inside
}

/** Metres to the nearest point of any edge: 64 samples per edge, then ternary search around the best sample of each. */
export function boundaryDistance(shape: Shape, at: Point): number {
  if (shape.kind === 'circle') {
    return Math.abs(karney(at.latitude, at.longitude, shape.center[1], shape.center[0]) - shape.radius)
  }
  const ring = unwrap(shape.ring)
  const samples = 64
  let best = Infinity
  for (let i = 0; i + 1 < ring.length; i++) {
    const [lonA, latA] = ring[i]!
    const [lonB, latB] = ring[i + 1]!
    const far = (t: number) =>
      karney(at.latitude, at.longitude, latA + t * (latB - latA), lonA + t * (lonB - lonA))
    let nearest = 0
    let least = Infinity
    for (let j = 0; j <= samples; j++) {
      const distance = far(j / samples)
      if (distance >= least) continue
      least = distance
      nearest = j / samples
    }
    if (least - karney(latA, lonA, latB, lonB) > best) continue
    let low = Math.max(0, nearest - 1 / samples)
    let high = Math.min(1, nearest + 1 / samples)
    for (let j = 0; j < 60; j++) {
      const a = low + (high - low) / 3
      const b = high - (high - low) / 3
      if (far(a) < far(b)) high = b
      else low = a
    }
    best = Math.min(best, least, far((low + high) / 2))
  }
  return best
}

/**
 * The share of the disc that a shape covers, counted on `rays` geodesics with `steps` samples of equal area each. Its
 * own error is about 1 / (steps · √rays).
 */
export function sampledCoverage(shape: Shape, at: Point, meters: number, rays = 240, steps = 100): number {
  let hits = 0
  for (let i = 0; i < rays; i++) {
    const line = wgs84.DirectLine(at.latitude, at.longitude, (360 * (i + 0.37)) / rays, meters)
    for (let j = 0; j < steps; j++) {
      const end = line.Position(meters * Math.sqrt((j + 0.5) / steps))
      if (contains(shape, { latitude: end.lat2!, longitude: end.lon2! })) hits++
    }
  }
  return hits / (rays * steps)
}
