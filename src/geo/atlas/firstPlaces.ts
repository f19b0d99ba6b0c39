import { pointDistance, surfaceDistance } from '../../geometry/distance.ts'
import { Probe } from '../../geometry/probe.ts'
import type { Place } from '../../model/place.ts'
import { CLOSEST_METERS } from '../../rules/atlas.ts'
import type { CellBounds } from './grid.ts'
import { SQUARES, squareAt, type CellPlace, type PlaceCell } from './placeCell.ts'
import { metersToRings } from './ringMeters.ts'

/**
 * Finds the most likely place of a point: the first that `candidatesAmong` of rules/placeOrder.ts would find among all places of a
 * cell.
 *
 * The obvious way measures all places within 75 m, of which there are some sixty in the middle of a city, in objects in different
 * places of the memory. But in a square of a dozen metres only two or three of them can be the first: all others are always behind
 * one of these. So each square has a list of those, and what it needs of a place is in one row of numbers. Nearly each update of a
 * device that drives asks, so the answer needs no objects.
 *
 * Invariants
 * - FIRST-1: The answer is the first candidate of a look at all places.
 */
export interface FirstPlaces {
  /** For each small square, row by row, the index of its first member. There is one more value at the end. */
  readonly starts: Uint32Array
  /** For each small square, the indexes in `places` of those that may be the first at one of its points. */
  readonly members: Uint16Array
  /** For each place, a row of numbers; see {@link ROW}. */
  readonly rows: Float64Array
}

/** The number of small squares in each direction. In the middle of a city, they are some 12 m wide. */
const SMALL_SQUARES = 64
/** A member that is the first at each point of the square, and alone, is marked by this bit. */
const SURE = 0x8000

/** How many numbers a row has: the point of the place in metres from the centre of the Earth, and the following ones. */
const ROW = 5
/** The radius of a place of which only the point is known; otherwise minus its reach. */
const EXTENT = 3
/** The order of places that are equally close by their edges. It is the same only for equal areas. */
const RANK = 4

/**
 * The most likely place of a point; undefined if no place is within {@link CLOSEST_METERS}.
 * @param latitude of a point in the cell, in degrees
 */
export function firstOfCell(cell: PlaceCell, latitude: number, longitude: number): Place | undefined {
  const { places, firsts, bounds } = cell
  const { starts, members, rows } = firsts
  if (members.length === 0) return undefined
  const square = squareAt(bounds, latitude, longitude, SMALL_SQUARES)
  const start = starts[square]!
  const end = starts[square + 1]!
  if (start === end) return undefined
  const only = members[start]!
  if (only >= SURE) return places[only - SURE]!.place
  const { x, y, z } = probe.set(latitude, longitude)
  let first = -1
  let firstOutside = CLOSEST_METERS
  let firstRank = Infinity
  let firstMeters = Infinity
  for (let i = start; i < end; i++) {
    const at = members[i]!
    const row = at * ROW
    const pointMeters = surfaceDistance(x, y, z, rows[row]!, rows[row + 1]!, rows[row + 2]!)
    const extent = rows[row + EXTENT]!
    let meters = pointMeters - Math.abs(extent)
    if (meters > firstOutside) continue
    if (extent < 0) meters = metersToRings(probe, places[at]!.rings)
    const outside = Math.max(0, meters)
    if (outside > firstOutside) continue
    const rank = rows[row + RANK]!
    if (outside === firstOutside && first >= 0) {
      if (rank > firstRank) continue
      if (rank === firstRank && pointMeters > firstMeters) continue
      const isSame = rank === firstRank && pointMeters === firstMeters
      if (isSame && places[at]!.place.id > places[first]!.place.id) continue
    }
    first = at
    firstOutside = outside
    firstRank = rank
    firstMeters = pointMeters
  }
  return first < 0 ? undefined : places[first]!.place
}

const probe = new Probe()

/** The parts of a cell from which {@link firstPlaces} makes the rest. */
type Sorted = Pick<PlaceCell, 'bounds' | 'places' | 'points' | 'starts' | 'members' | 'memberMeters'>

/**
 * Makes the lists, from large squares to small ones. It takes up to 15 ms for a cell in the middle of a city.
 * @param cell its places are sorted into squares
 */
export function firstPlaces(cell: Sorted): FirstPlaces {
  const { places, starts, members, memberMeters } = cell
  // Most of the world has no places.
  if (members.length === 0)
    return { starts: new Uint32Array(), members: new Uint16Array(), rows: new Float64Array() }
  const rows = rowsOf(cell)
  const lists: (readonly number[])[] = Array.from({ length: SMALL_SQUARES * SMALL_SQUARES }, () => [])
  const maker = new ListMaker(cell.bounds, places, rows, lists)
  for (let square = 0; square < SQUARES * SQUARES; square++) {
    const around: number[] = []
    for (let i = starts[square]!; i < starts[square + 1]! && memberMeters[i]! <= CLOSEST_METERS; i++)
      around.push(members[i]!)
    maker.divide(square % SQUARES, Math.floor(square / SQUARES), SQUARES, around)
  }
  const ends = new Uint32Array(lists.length + 1)
  lists.forEach((list, square) => (ends[square + 1] = ends[square]! + list.length))
  return { starts: ends, members: Uint16Array.from(lists.flat()), rows }
}

function rowsOf({ places, points }: Sorted): Float64Array {
  const order = places.toSorted((a, b) => a.area - b.area || chainOrder(a) - chainOrder(b))
  const ranks = new Map<CellPlace, number>()
  let rank = 0
  order.forEach((one, i) => {
    const before = order[i - 1]
    if (before !== undefined && (before.area !== one.area || chainOrder(before) !== chainOrder(one))) rank++
    ranks.set(one, rank)
  })
  const rows = new Float64Array(places.length * ROW)
  places.forEach((one, at) => {
    const extent = one.rings.length === 0 ? one.radius : -one.reachMeters
    rows.set([...points.subarray(3 * at, 3 * at + 3), extent, ranks.get(one)!], at * ROW)
  })
  return rows
}

/** Of places with equal areas, those of chains come first. */
function chainOrder({ place: { chain } }: CellPlace): number {
  return chain === undefined ? 1 : 0
}

/** Distances within a square differ by at most this much more than half of its diagonal: by a share, and by metres. */
const MARGIN_SHARE = 1.01
const MARGIN_METERS = 1

/** Makes the lists of the small squares in larger ones. */
class ListMaker {
  readonly #bounds: CellBounds
  readonly #places: readonly CellPlace[]
  readonly #rows: Float64Array
  readonly #lists: (readonly number[])[]

  constructor(
    bounds: CellBounds,
    places: readonly CellPlace[],
    rows: Float64Array,
    lists: (readonly number[])[],
  ) {
    this.#bounds = bounds
    this.#places = places
    this.#rows = rows
    this.#lists = lists
  }

  /**
   * Makes the lists in one square.
   * @param squares how many squares of its size there are in each direction
   * @param around at least all places that may be the first in it
   */
  divide(column: number, row: number, squares: number, around: readonly number[]): void {
    if (around.length === 0) return
    const isSure = around.length === 1 && around[0]! >= SURE
    const left = isSure ? around : this.#left(column, row, squares, around)
    if (squares === SMALL_SQUARES) {
      this.#lists[row * squares + column] = left
      return
    }
    for (const [dx, dy] of QUARTERS) this.divide(2 * column + dx, 2 * row + dy, 2 * squares, left)
  }

  /** Those that may be the first at a point of the square. If only one is left, it is marked if it is the first everywhere. */
  #left(column: number, row: number, squares: number, around: readonly number[]): readonly number[] {
    const { west, south, east, north } = this.#bounds
    const [width, height] = [(east - west) / squares, (north - south) / squares]
    const [x, y] = [west + (column + 0.5) * width, south + (row + 0.5) * height]
    // The corner nearest to the equator is the farthest.
    const corner = y > 0 ? y - height / 2 : y + height / 2
    const radius = pointDistance(y, x, corner, x + width / 2) * MARGIN_SHARE + MARGIN_METERS
    const rows = this.#rows
    probe.set(y, x)
    const measured = around.map((at) => {
      const start = at * ROW
      const pointMeters = surfaceDistance(
        probe.x,
        probe.y,
        probe.z,
        rows[start]!,
        rows[start + 1]!,
        rows[start + 2]!,
      )
      const extent = rows[start + EXTENT]!
      const isRound = extent >= 0
      const meters = isRound ? pointMeters - extent : metersToRings(probe, this.#places[at]!.rings)
      return { at, pointMeters, meters, isRound, rank: rows[start + RANK]! }
    })
    // Wherever one is in the square, a place is no farther than this.
    let most = CLOSEST_METERS
    // And this is the rank of one that contains the whole square.
    let rank = Infinity
    const nearest = new Map<number, number>()
    for (const one of measured) {
      most = Math.min(most, Math.max(0, one.meters + radius))
      if (one.meters + radius <= 0) rank = Math.min(rank, one.rank)
      if (one.isRound) nearest.set(one.rank, Math.min(nearest.get(one.rank) ?? Infinity, one.pointMeters))
    }
    const left = measured.filter(
      (one) =>
        one.meters - radius <= most &&
        one.rank <= rank &&
        // Of equal circles, the one with the nearer point comes first.
        !(one.isRound && one.pointMeters - radius > nearest.get(one.rank)! + radius),
    )
    const [only] = left
    if (left.length === 1 && only!.meters + radius <= CLOSEST_METERS) return [only!.at + SURE]
    return left.sort((a, b) => a.meters - b.meters).map(({ at }) => at)
  }
}

/** The quarters of a square, as columns and rows. */
const QUARTERS = [
  [0, 0],
  [1, 0],
  [0, 1],
  [1, 1],
] as const
