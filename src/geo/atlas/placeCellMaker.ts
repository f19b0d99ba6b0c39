import { pointDistance } from '../../geometry/distance.ts'
import type { Position } from '../../model/geofence.ts'
import type { Place } from '../../model/place.ts'
import { AROUND_METERS } from '../../rules/atlas.ts'
import type { PlaceRecords, StoredPlace } from '../placeDatabase/port.ts'
import type { PlaceFootprint } from '../placeDatabase/placeFootprints.ts'
import { radiusOf } from '../records/placeExtent.ts'
import { boundsOfCell, CROWDED_CELLS, degreeMeters, PLACE_CELLS, widened, type CellBounds } from './grid.ts'
import { firstPlaces } from './firstPlaces.ts'
import { pointsOf, SQUARES, type CellPlace, type ChainCell, type PlaceCell } from './placeCell.ts'

/** A map region with places. */
export interface PlaceMapRegion {
  /** Opens the records if they are not open. */
  readonly records: () => PlaceRecords
  /** The bounds of the points of its places: west, south, east, north. */
  readonly bounds: readonly [number, number, number, number]
}

/** How far around a cell places are read. */
const USUAL_REACH_METERS = 2000
/** How far around a cell places are read if there are many. */
const LEAST_REACH_METERS = 300
const MANY_PLACES = 800
/** The most places of a cell. A map region's file may have any number of places at one point. */
const MOST_PLACES = 4000
/** How far around the smaller cells of crowded parts places are read. */
const CROWDED_REACH_METERS = 1.2 * AROUND_METERS
/** The area of a place may extend this far beyond its point. */
const EXTENT_METERS = 1000
/** If there are no map regions, no place is nearer than this. */
const MOST_REACH_METERS = 20_000

/**
 * More than the largest distance at which a chain counts, which is one and a half times the largest that can be set.
 */
const CHAIN_METERS = 15_100
/** The most places of one chain in a cell. */
const MOST_OF_CHAIN = 500

/** How much nearer a ring may be than the distances of its corners from its point say. */
const RING_SHARE = 1.01
const RING_METERS = 1

/** Distances between boxes are measured on a plane. The error is smaller than this share leaves. */
const CERTAIN_SHARE = 0.99

/** A box on a plane, in degrees of longitude as long as the cell's. */
type Box = readonly [west: number, south: number, east: number, north: number]

/**
 * Reads one cell. It takes some milliseconds if there are many places.
 *
 * A cell that would have too many places is crowded and has none. Smaller cells have them, which reach only as far as
 * places count. No place is left out.
 */
export function makePlaceCell(cell: number, regions: readonly PlaceMapRegion[]): PlaceCell {
  const bounds = boundsOfCell(cell, PLACE_CELLS)
  const near = regions
    .map((region) => ({ region, meters: metersBetween(bounds, region.bounds) }))
    .filter(({ meters }) => meters <= USUAL_REACH_METERS + EXTENT_METERS)
  const nearest = Math.min(...regions.map((region) => metersBetween(bounds, region.bounds)))
  if (near.length === 0)
    return squared(bounds, false, [], Math.min(MOST_REACH_METERS, nearest - EXTENT_METERS))
  let reach = USUAL_REACH_METERS
  let footprints = footprintsAround(bounds, reach, near, MANY_PLACES)
  if (footprints.length >= MANY_PLACES) {
    reach = LEAST_REACH_METERS
    footprints = footprintsAround(bounds, reach, near, MOST_PLACES + 1)
  }
  if (footprints.length > MOST_PLACES) return { ...squared(bounds, nearest === 0, [], 0), isCrowded: true }
  return squared(bounds, nearest === 0, footprints.map(cellPlace), reach)
}

/**
 * Reads one of the smaller cells.
 * @throws {CrowdedCell} if there are more places around it than anywhere in the world
 */
export function makeCrowdedCell(cell: number, regions: readonly PlaceMapRegion[]): PlaceCell {
  const bounds = boundsOfCell(cell, CROWDED_CELLS)
  const near = regions
    .map((region) => ({ region, meters: metersBetween(bounds, region.bounds) }))
    .filter(({ meters }) => meters <= CROWDED_REACH_METERS + EXTENT_METERS)
  const footprints = footprintsAround(bounds, CROWDED_REACH_METERS, near, MOST_PLACES + 1)
  if (footprints.length > MOST_PLACES) throw new CrowdedCell()
  const isCovered = near.some(({ meters }) => meters === 0)
  return squared(bounds, isCovered, footprints.map(cellPlace), CROWDED_REACH_METERS)
}

/** A smaller cell with too many places. Nobody enters a place in it, and the log says so. */
export class CrowdedCell extends Error {
  override name = 'CrowdedCell'

  constructor() {
    super(`a map region has more than ${MOST_PLACES} places within ${CROWDED_REACH_METERS} m`)
  }
}

/** The areas of places around a cell. If map regions overlap, the first one counts. */
function footprintsAround(
  bounds: CellBounds,
  reach: number,
  regions: readonly { readonly region: PlaceMapRegion }[],
  limit: number,
): PlaceFootprint[] {
  const { west, south, east, north } = widened(bounds, reach)
  const found = new Map<string, PlaceFootprint>()
  for (const { region } of regions) {
    for (const turn of [0, -360, 360]) {
      if (west + turn > 180 || east + turn < -180) continue
      const box = { west: west + turn, south, east: east + turn, north }
      for (const footprint of region.records().footprints.in(box, limit))
        if (!found.has(footprint.key)) found.set(footprint.key, footprint)
    }
  }
  return [...found.values()].slice(0, limit)
}

function cellPlace({ key, name, categories, position, size, chain, rings }: PlaceFootprint): CellPlace {
  const radius = radiusOf(categories)
  const [x, y] = position
  const extentMeters =
    rings.length === 0
      ? radius
      : Math.ceil(rings.flat().reduce((most, [px, py]) => Math.max(most, pointDistance(y, x, py, px)), 0))
  const place: Place = { id: key, name, categories, position, chain, extentMeters }
  const area = rings.length === 0 ? Math.PI * radius * radius : size
  // A ring is measured on a plane, so an edge may be a little nearer than its corners allow.
  const reachMeters = rings.length === 0 ? radius : extentMeters * RING_SHARE + RING_METERS
  return { place, area, radius, reachMeters, rings: rings.map((ring) => Float64Array.from(ring.flat())) }
}

/** Sorts places into squares. */
function squared(
  bounds: CellBounds,
  isCovered: boolean,
  places: readonly CellPlace[],
  reach: number,
): PlaceCell {
  const { west, south, east, north } = bounds
  const scale = degreeMeters(Math.max(Math.abs(south), Math.abs(north)))
  const boxes = places.map((one) => footprintBox(one, (west + east) / 2, scale))
  const [width, height] = [(east - west) / SQUARES, (north - south) / SQUARES]
  // How far places are from columns and from rows of squares. Each distance from a square follows from two of these.
  const columns = Array.from({ length: SQUARES }, (_, i) => {
    const x = west + i * width
    return Float64Array.from(boxes, (box) => Math.max(0, box[0] - x - width, x - box[2]) * scale.x)
  })
  const rows = Array.from({ length: SQUARES }, (_, i) => {
    const y = south + i * height
    return Float64Array.from(boxes, (box) => Math.max(0, box[1] - y - height, y - box[3]) * scale.y)
  })
  const starts = new Uint32Array(SQUARES * SQUARES + 1)
  const rest = new Float32Array(SQUARES * SQUARES)
  const members: { readonly place: number; readonly meters: number }[] = []
  for (let square = 0; square < SQUARES * SQUARES; square++) {
    const [dx, dy] = [columns[square % SQUARES]!, rows[Math.floor(square / SQUARES)]!]
    let others = reach
    const around: typeof members = []
    for (let place = 0; place < places.length; place++) {
      const meters = CERTAIN_SHARE * Math.sqrt(dx[place]! ** 2 + dy[place]! ** 2)
      if (meters <= AROUND_METERS) around.push({ place, meters })
      else if (meters < others) others = meters
    }
    members.push(...around.sort((a, b) => a.meters - b.meters))
    starts[square + 1] = members.length
    // Rounding must not make the distances larger.
    rest[square] = Math.max(0, others * CERTAIN_SHARE)
  }
  const sorted = {
    bounds,
    places,
    points: pointsOf(places.map(({ place }) => place)),
    starts,
    members: Uint32Array.from(members, ({ place }) => place),
    memberMeters: Float32Array.from(members, ({ meters }) => meters * CERTAIN_SHARE),
  }
  const reachMeters = Math.max(0, reach)
  return { isCovered, isCrowded: false, reachMeters, rest, ...sorted, firsts: firstPlaces(sorted) }
}

interface Scale {
  readonly x: number
  readonly y: number
}

function footprintBox({ place, radius, rings }: CellPlace, middle: number, scale: Scale): Box {
  const [x, y] = place.position
  // The place may be on the other side of the 180th meridian.
  const turn = x - middle > 180 ? -360 : x - middle < -180 ? 360 : 0
  if (rings.length === 0) {
    const [dx, dy] = [radius / scale.x, radius / scale.y]
    return [x + turn - dx, y - dy, x + turn + dx, y + dy]
  }
  const box: [number, number, number, number] = [Infinity, Infinity, -Infinity, -Infinity]
  for (const ring of rings) {
    for (let i = 0; i < ring.length; i += 2) {
      const [px, py] = [ring[i]! + turn, ring[i + 1]!]
      box[0] = Math.min(box[0], px)
      box[1] = Math.min(box[1], py)
      box[2] = Math.max(box[2], px)
      box[3] = Math.max(box[3], py)
    }
  }
  return box
}

function boxMeters(a: Box, b: Box, scale: Scale): number {
  const dx = Math.max(0, b[0] - a[2], a[0] - b[2]) * scale.x
  const dy = Math.max(0, b[1] - a[3], a[1] - b[3]) * scale.y
  return Math.hypot(dx, dy)
}

/** The distance in metres between a cell and the bounds of a map region; 0 if they meet. */
function metersBetween({ west, south, east, north }: CellBounds, other: Box): number {
  const scale = degreeMeters(Math.max(Math.abs(south), Math.abs(north)))
  const box: Box = [west, south, east, north]
  const turned = [0, -360, 360].map((turn): Box => [other[0] + turn, other[1], other[2] + turn, other[3]])
  return CERTAIN_SHARE * Math.min(...turned.map((one) => boxMeters(box, one, scale)))
}

/** Reads the places of chains that may be the nearest one of a point of a cell. */
export function makeChainCell(
  cell: number,
  slugs: readonly string[],
  regions: readonly PlaceMapRegion[],
): ChainCell {
  const bounds = boundsOfCell(cell, PLACE_CELLS)
  const { west, south, east, north } = bounds
  const middle: Position = [(west + east) / 2, (south + north) / 2]
  const radius = Math.max(
    pointDistance(middle[1], middle[0], south, west),
    pointDistance(middle[1], middle[0], north, west),
  )
  const near = regions.filter((region) => metersBetween(bounds, region.bounds) <= CHAIN_METERS)
  return {
    chains: slugs.map((slug) => {
      const found = near.flatMap(({ records }) => nearestPlaces(records(), slug, middle, radius))
      found.sort((a, b) => a.meters - b.meters)
      // No place beyond this can be the nearest one of any point of the cell.
      const most = Math.min(CHAIN_METERS + radius, (found[0]?.meters ?? Infinity) + 2 * radius)
      const kept = found.filter(({ meters }) => meters <= most)
      const places = kept.map(({ place }) => place)
      return { places, points: pointsOf(places), restMeters: CHAIN_METERS }
    }),
  }
}

function nearestPlaces(records: PlaceRecords, slug: string, middle: Position, radius: number) {
  const found: { readonly place: Place; readonly meters: number }[] = []
  for (const { id, meters } of records.traits.near(middle, CHAIN_METERS + radius, [`chain/${slug}`])) {
    if (found.length === MOST_OF_CHAIN || meters > (found[0]?.meters ?? Infinity) + 2 * radius) break
    found.push({ place: placeOf(records.placeById(id)), meters })
  }
  return found
}

/** The place with that `_id`. If map regions overlap, the first one counts. */
export function placeNamed(id: string, regions: readonly PlaceMapRegion[]): Place | undefined {
  for (const { records } of regions) {
    const footprint = records().footprints.get(id)
    if (footprint !== undefined) return cellPlace(footprint).place
  }
  return undefined
}

function placeOf({ key, name, categories, position, chain }: StoredPlace): Place {
  return { id: key, name, categories, position, chain, extentMeters: radiusOf(categories) }
}
