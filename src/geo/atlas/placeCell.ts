import { pointDistance } from '../../geometry/distance.ts'
import type { Position } from '../../model/geofence.ts'
import type { Place } from '../../model/place.ts'
import type { NearestOfChain, PlaceNear, PlacesHere } from '../../rules/atlas.ts'
import { isInside, nearestOnLine } from '../records/areas.ts'
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
  /** How far around the cell its places are complete, in metres. */
  readonly reachMeters: number
  /** For each square, row by row, the index of its first member. There is one more value at the end. */
  readonly starts: Uint32Array
  /** For each square: the places that may be around one of its points. */
  readonly members: Uint32Array
  /** For each square, the least distance from any point of it to all other places, in metres. */
  readonly rest: Float32Array
}

export interface CellPlace {
  readonly place: Place
  /** The size of the place's area in square metres. */
  readonly area: number
  /** The radius around its point in metres. It is not used for a place whose area is known. */
  readonly radius: number
  /** Closed rings; empty if only the point is known. */
  readonly rings: readonly (readonly Position[])[]
}

/** The number of squares in each direction. */
export const SQUARES = 16

/**
 * The places around a point.
 * @param latitude of a point in the cell, in degrees
 */
export function placesOfCell(cell: PlaceCell, latitude: number, longitude: number): PlacesHere {
  const { bounds, isCovered, places, starts, members, rest } = cell
  const square = squareAt(bounds, latitude, longitude)
  const near: PlaceNear[] = []
  for (let i = starts[square]!; i < starts[square + 1]!; i++)
    near.push(nearOf(places[members[i]!]!, latitude, longitude))
  return { isCovered, near, restMeters: rest[square]! }
}

/**
 * All places of the cell, in no particular order.
 * @param latitude of a point in the cell, in degrees
 */
export function allOfCell(cell: PlaceCell, latitude: number, longitude: number): PlacesHere {
  const near = cell.places.map((place) => nearOf(place, latitude, longitude))
  return { isCovered: cell.isCovered, near, restMeters: cell.reachMeters }
}

function nearOf({ place, area, radius, rings }: CellPlace, latitude: number, longitude: number): PlaceNear {
  const [x, y] = place.position
  const pointMeters = pointDistance(latitude, longitude, y, x)
  if (rings.length === 0) return { place, area, pointMeters, meters: pointMeters - radius }
  const point: Position = [longitude, latitude]
  let least = Infinity
  for (const ring of rings) least = Math.min(least, nearestOnLine(ring, point).meters)
  return { place, area, pointMeters, meters: isInside(rings, point) ? -least : least }
}

function squareAt({ west, south, east, north }: CellBounds, latitude: number, longitude: number): number {
  const column = Math.floor(((longitude - west) / (east - west)) * SQUARES)
  const row = Math.floor(((latitude - south) / (north - south)) * SQUARES)
  const last = SQUARES - 1
  return Math.min(last, Math.max(0, row)) * SQUARES + Math.min(last, Math.max(0, column))
}

/** For each of some chains, the places that may be the nearest one of a point of a cell. */
export interface ChainCell {
  readonly chains: readonly ChainPlaces[]
}

interface ChainPlaces {
  readonly places: readonly Place[]
  /** The least distance from any point of the cell to all other places of the chain, in metres. */
  readonly restMeters: number
}

/**
 * The nearest place of each chain.
 * @param latitude of a point in the cell, in degrees
 */
export function nearestOfChains(cell: ChainCell, latitude: number, longitude: number): NearestOfChain[] {
  return cell.chains.map(({ places, restMeters }) => {
    let nearest: Place | undefined
    let least = Infinity
    for (const place of places) {
      const [x, y] = place.position
      const meters = pointDistance(latitude, longitude, y, x)
      if (meters >= least) continue
      least = meters
      nearest = place
    }
    return least <= restMeters ? { place: nearest, meters: least } : { place: undefined, meters: restMeters }
  })
}
