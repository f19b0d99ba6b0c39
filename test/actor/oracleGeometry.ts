import booleanPointInPolygon from '@turf/boolean-point-in-polygon'
import geodesic from 'geographiclib-geodesic'
import type { Position, Shape } from '../../src/model/geofence.ts'

/** Distance and coverage for oracle.ts, computed slowly: without a local frame, an index or a tree. */

const wgs84 = geodesic.Geodesic.WGS84
/** A few points of the disc first, then many where the result is close. */
const FEW_SAMPLES = 200
const FEW_SAMPLES_ERROR = 0.06
const MANY_SAMPLES = 1500
const MANY_SAMPLES_ERROR = 0.013

interface Place {
  readonly latitude: number
  readonly longitude: number
}

function geodesicMeters(latA: number, lonA: number, latB: number, lonB: number): number {
  return wgs84.Inverse(latA, lonA, latB, lonB).s12!
}

/** A short part of an edge, straight in longitude and latitude. */
interface Piece {
  readonly from: readonly [number, number]
  readonly to: readonly [number, number]
  readonly middle: readonly [number, number]
  readonly halfMeters: number
}

interface Prepared {
  readonly pieces: readonly Piece[]
  readonly polygon: { type: 'Polygon'; coordinates: number[][][] }
  readonly west: number
  readonly east: number
}

const prepared = new WeakMap<Shape, Prepared>()

function prepare(shape: Shape & { kind: 'polygon' }): Prepared {
  let known = prepared.get(shape)
  if (known === undefined) prepared.set(shape, (known = prepareRing(shape.ring)))
  return known
}

function prepareRing(ring: readonly Position[]): Prepared {
  const line: [number, number][] = [[ring[0]![0], ring[0]![1]]]
  for (let i = 1; i < ring.length; i++) {
    let step = ring[i]![0] - ring[i - 1]![0]
    if (step > 180 && step < 360) step -= 360
    if (step < -180 && step > -360) step += 360
    line.push([line[i - 1]![0] + step, ring[i]![1]])
  }
  const pieces: Piece[] = []
  for (let i = 0; i + 1 < line.length; i++) {
    const [lonA, latA] = line[i]!
    const [lonB, latB] = line[i + 1]!
    const at = (share: number) => [lonA + share * (lonB - lonA), latA + share * (latB - latA)] as const
    const meters = roughMeters(latA, lonA, latB, lonB)
    const span = Math.abs(lonB - lonA)
    const parts = Math.max(4, Math.min(400, Math.ceil(meters / 3000)), Math.ceil(span / 3))
    for (let j = 0; j < parts; j++) {
      const [from, to, middle] = [at(j / parts), at((j + 1) / parts), at((j + 0.5) / parts)]
      const half = Math.max(
        roughMeters(from[1], from[0], middle[1], middle[0]),
        roughMeters(to[1], to[0], middle[1], middle[0]),
      )
      pieces.push({ from, to, middle, halfMeters: half * 1.02 })
    }
  }
  const closed = [...line]
  const turn = line.at(-1)![0] - line[0]![0]
  if (Math.abs(turn) > 180) {
    const mean = line.slice(1).reduce((sum, [, latitude]) => sum + latitude, 0)
    const pole = mean < 0 ? -90 : 90
    closed.push([line.at(-1)![0], pole], [line[0]![0], pole], line[0]!)
  }
  const longitudes = closed.map(([longitude]) => longitude)
  return {
    pieces,
    polygon: { type: 'Polygon', coordinates: [closed] },
    west: Math.min(...longitudes),
    east: Math.max(...longitudes),
  }
}

function contains(shape: Shape, { latitude, longitude }: Place): boolean {
  if (shape.kind === 'circle')
    return geodesicMeters(latitude, longitude, shape.center[1], shape.center[0]) <= shape.radius
  const { polygon, west, east } = prepare(shape)
  for (let turned = longitude - 1080; turned <= east; turned += 360) {
    if (turned >= west && booleanPointInPolygon([turned, latitude], polygon)) return true
  }
  return false
}

/** Metres on the sphere, accurate to half a percent. Selects the pieces that need a geodesic. */
function roughMeters(latA: number, lonA: number, latB: number, lonB: number): number {
  const radians = Math.PI / 180
  const y = Math.sin(((latB - latA) * radians) / 2)
  const x = Math.sin(((lonB - lonA) * radians) / 2)
  const h = y * y + Math.cos(latA * radians) * Math.cos(latB * radians) * x * x
  return 2 * 6_371_009 * Math.asin(Math.min(1, Math.sqrt(h)))
}

/**
 * Metres to the boundary, negative inside. Exact up to `enough` metres; a larger result only means that the distance
 * is larger than that.
 */
export function signedDistance(shape: Shape, at: Place, enough: number): number {
  if (shape.kind === 'circle') {
    const [longitude, latitude] = shape.center
    const rough = roughMeters(at.latitude, at.longitude, latitude, longitude) * 0.99 - shape.radius
    if (rough > enough + 1000) return rough
    return geodesicMeters(at.latitude, at.longitude, latitude, longitude) - shape.radius
  }
  const sign = contains(shape, at) ? -1 : 1
  const { pieces } = prepare(shape)
  const least = new Float64Array(pieces.length)
  let lower = Infinity
  let upper = Infinity
  for (let i = 0; i < pieces.length; i++) {
    const { middle, halfMeters } = pieces[i]!
    const meters = roughMeters(at.latitude, at.longitude, middle[1], middle[0])
    least[i] = meters * 0.99 - halfMeters
    lower = Math.min(lower, least[i]!)
    upper = Math.min(upper, meters * 1.01)
  }
  if (lower > enough + 1000) return sign * lower
  let best = Infinity
  for (let i = 0; i < pieces.length; i++) {
    if (least[i]! <= Math.min(best, upper)) best = Math.min(best, pieceDistance(pieces[i]!, at))
  }
  return sign * best
}

/** Along a short piece the squared distance is nearly a parabola. This narrows in on its lowest point. */
function pieceDistance({ from, to }: Piece, at: Place): number {
  const far = (share: number) =>
    geodesicMeters(
      at.latitude,
      at.longitude,
      from[1] + share * (to[1] - from[1]),
      from[0] + share * (to[0] - from[0]),
    )
  let lowest = 0.5
  let best = Infinity
  for (const reach of [0.5, 0.05, 0.002]) {
    const [left, middle, right] = [far(lowest - reach), far(lowest), far(lowest + reach)]
    const bend = left ** 2 - 2 * middle ** 2 + right ** 2
    best = Math.min(best, middle)
    if (bend > 0) lowest += (reach * (left ** 2 - right ** 2)) / (2 * bend)
    lowest = Math.max(0, Math.min(1, lowest))
  }
  return Math.min(best, far(lowest), far(0), far(1))
}

/** The smallest and the largest possible value of the covered share. */
export function coverages(shape: Shape, at: Place, meters: number): number[] {
  if (!(meters > 0)) return [contains(shape, at) ? 1 : 0]
  const few = counted(shape, at, meters, FEW_SAMPLES)
  if (Math.abs(few - 0.5) > FEW_SAMPLES_ERROR) return [few]
  const many = counted(shape, at, meters, MANY_SAMPLES)
  return [many - MANY_SAMPLES_ERROR, many, many + MANY_SAMPLES_ERROR]
}

/**
 * The share of points that the shape contains, of points spread evenly over the disc in an azimuthal frame about its
 * centre.
 */
function counted(shape: Shape, at: Place, meters: number, samples: number): number {
  let hits = 0
  for (let i = 0; i < samples; i++) {
    const radius = meters * Math.sqrt((i + 0.5) / samples)
    const end = wgs84.Direct(at.latitude, at.longitude, (i * 137.50776405) % 360, radius)
    if (contains(shape, { latitude: end.lat2!, longitude: end.lon2! })) hits++
  }
  return hits / samples
}
