import { surfaceDistance } from '../../geometry/distance.ts'
import { Probe } from '../../geometry/probe.ts'
import { metersToRings } from './ringMeters.ts'
import type { Place } from '../../model/place.ts'
import {
  AROUND_METERS,
  CLOSEST_METERS,
  type NearestOfChain,
  type PlaceNear,
  type PlacesHere,
} from '../../rules/atlas.ts'
import type { FirstPlaces } from './firstPlaces.ts'
import type { CellBounds } from './grid.ts'

/**
 * The places of one cell, sorted into squares, and those that are around a point of it. Pure; placeCellMaker.ts reads
 * it.
 *
 * Invariants
 * - PLACES-1: The answer for a point is that of a look at all places.
 */
export interface PlaceCell {
  readonly bounds: CellBounds
  /** Whether a map region has data of a part of it. */
  readonly isCovered: boolean
  /** Whether it would have too many places. In this case it has none, and smaller cells have them. */
  readonly isCrowded: boolean
  /** The places in the cell and around it. */
  readonly places: readonly CellPlace[]
  /** Their points, as {@link pointsOf} makes them. */
  readonly points: Float64Array
  /** How far around the cell its places are complete, in metres. */
  readonly reachMeters: number
  /** For each square, row by row, the index of its first member. There is one more value at the end. */
  readonly starts: Uint32Array
  /** For each square: the places that may be around one of its points, the nearest ones of the square first. */
  readonly members: Uint32Array
  /** For each of these members, the least distance from any point of the square, in metres, in ascending order. */
  readonly memberMeters: Float32Array
  /** For each square, the least distance from any point of it to all other places, in metres. */
  readonly rest: Float32Array
  /** What finds the most likely place of a point. */
  readonly firsts: FirstPlaces
}

export interface CellPlace {
  readonly place: Place
  /** The size of the place's area in square metres. */
  readonly area: number
  /** The radius around its point in metres. It is not used for a place whose area is known. */
  readonly radius: number
  /** Every part of its area is within this distance of its point, in metres. */
  readonly reachMeters: number
  /** Closed rings, each as the longitudes and latitudes of its corners in degrees; empty if only the point is known. */
  readonly rings: readonly Float64Array[]
}

/** The number of squares in each direction. */
export const SQUARES = 16

/**
 * The places around a point.
 * @param latitude of a point in the cell, in degrees
 * @param reach the distance within which all are needed, in metres
 */
export function placesOfCell(
  cell: PlaceCell,
  latitude: number,
  longitude: number,
  reach = AROUND_METERS,
): PlacesHere {
  const { bounds, isCovered, places, points, starts, members, memberMeters, rest } = cell
  const square = squareAt(bounds, latitude, longitude, SQUARES)
  const end = starts[square + 1]!
  const near: PlaceNear[] = []
  let restMeters = rest[square]!
  probe.set(latitude, longitude)
  for (let i = starts[square]!; i < end; i++) {
    if (memberMeters[i]! > reach) {
      restMeters = Math.min(restMeters, memberMeters[i]!)
      break
    }
    const at = members[i]!
    const place = places[at]!
    const pointMeters = metersToPoint(points, at)
    const least = pointMeters - place.reachMeters
    if (least > reach) restMeters = Math.min(restMeters, least)
    else near.push(nearOf(place, pointMeters))
  }
  return { isCovered, near, restMeters }
}

/**
 * The places whose edges are closest to a point: one, or all that contain it; none if none is within {@link CLOSEST_METERS}.
 * @param latitude of a point in the cell, in degrees
 * @param isWanted the places that count; all by default
 */
export function closestOfCell(
  cell: PlaceCell,
  latitude: number,
  longitude: number,
  isWanted?: (place: Place) => boolean,
): PlaceNear[] {
  const { bounds, places, points, starts, members, memberMeters } = cell
  const square = squareAt(bounds, latitude, longitude, SQUARES)
  const end = starts[square + 1]!
  let best = CLOSEST_METERS
  let closest: PlaceNear[] = []
  probe.set(latitude, longitude)
  for (let i = starts[square]!; i < end && memberMeters[i]! <= best; i++) {
    const at = members[i]!
    const place = places[at]!
    const pointMeters = metersToPoint(points, at)
    if (pointMeters - place.reachMeters > best) continue
    if (isWanted !== undefined && !isWanted(place.place)) continue
    const near = nearOf(place, pointMeters)
    const outside = Math.max(0, near.meters)
    if (outside > best) continue
    if (outside < best) closest = [near]
    else closest.push(near)
    best = outside
  }
  return closest
}

/**
 * All places of the cell, in no particular order.
 * @param latitude of a point in the cell, in degrees
 */
export function allOfCell(cell: PlaceCell, latitude: number, longitude: number): PlacesHere {
  probe.set(latitude, longitude)
  const near = cell.places.map((place, at) => nearOf(place, metersToPoint(cell.points, at)))
  return { isCovered: cell.isCovered, near, restMeters: cell.reachMeters }
}

/** @param pointMeters the distance of its point from the {@link probe} */
function nearOf({ place, area, radius, rings }: CellPlace, pointMeters: number): PlaceNear {
  if (rings.length === 0) return { place, area, pointMeters, meters: pointMeters - radius, isRound: true }
  return { place, area, pointMeters, meters: metersToRings(probe, rings), isRound: false }
}

/**
 * The number of the square that contains a point, row by row.
 * @param squares how many there are in each direction
 */
export function squareAt(
  { west, south, east, north }: CellBounds,
  latitude: number,
  longitude: number,
  squares: number,
): number {
  const column = Math.floor(((longitude - west) / (east - west)) * squares)
  const row = Math.floor(((latitude - south) / (north - south)) * squares)
  const last = squares - 1
  return Math.min(last, Math.max(0, row)) * squares + Math.min(last, Math.max(0, column))
}

/** For each of some chains, the places that may be the nearest one of a point of a cell. */
export interface ChainCell {
  readonly chains: readonly ChainPlaces[]
}

interface ChainPlaces {
  readonly places: readonly Place[]
  /** Their points, as {@link pointsOf} makes them. */
  readonly points: Float64Array
  /** The least distance from any point of the cell to all other places of the chain, in metres. */
  readonly restMeters: number
}

/**
 * The nearest place of each chain.
 * @param latitude of a point in the cell, in degrees
 */
export function nearestOfChains(cell: ChainCell, latitude: number, longitude: number): NearestOfChain[] {
  probe.set(latitude, longitude)
  return cell.chains.map(({ places, points, restMeters }) => {
    let nearest: Place | undefined
    let least = Infinity
    for (let i = 0; i < places.length; i++) {
      const meters = metersToPoint(points, i)
      if (meters >= least) continue
      least = meters
      nearest = places[i]
    }
    return least <= restMeters ? { place: nearest, meters: least } : { place: undefined, meters: restMeters }
  })
}

/** The point whose surroundings are looked at. */
const probe = new Probe()

/**
 * The coordinates x, y, z of the points of places from the centre of the Earth, in metres. With them, a distance needs
 * no trigonometry, which took most of the time in a dense town.
 */
export function pointsOf(places: readonly Pick<Place, 'position'>[]): Float64Array {
  const points = new Float64Array(3 * places.length)
  const point = new Probe()
  places.forEach(({ position: [longitude, latitude] }, i) => {
    const { x, y, z } = point.set(latitude, longitude)
    points.set([x, y, z], 3 * i)
  })
  return points
}

/** The distance from the {@link probe} to a point in metres. */
function metersToPoint(points: Float64Array, at: number): number {
  const { x, y, z } = probe
  return surfaceDistance(x, y, z, points[3 * at]!, points[3 * at + 1]!, points[3 * at + 2]!)
}
