import { circleRing } from '../../geometry/shape.ts'
import type { GeofenceProperties, Position } from '../../model/geofence.ts'
import type { GeofenceIndex } from '../../spatial/port.ts'
import { clipRing, doubleArea, squareBox } from '../mapFile/clip.ts'
import {
  project,
  projectLatitude,
  TILE_BITS,
  TILE_MARGIN,
  TILE_UNITS,
  unproject,
  WORLD_BITS,
  type TileAddress,
} from '../mapFile/grid.ts'
import { VectorTile } from '../mapFile/vectorTile.ts'

/**
 * The geofences of a scope as a vector tile.
 *
 * A tile of a country may have a hundred thousand of them, most smaller than a pixel. So geofences smaller than four
 * pixels become points, and points in the same square of eight pixels become one, with their number. Larger geofences
 * are areas, as long as there is room.
 */

/** Geofences with a smaller diameter become points. A pixel has eight units. */
const LEAST_DIAMETER = 32
/** The side of the squares of points, in units. */
const SQUARE = 64
/** How many squares a row of the tile has. */
const SQUARES = TILE_UNITS / SQUARE
/** How many areas one tile may have, and how many corners all of them. Further ones become points. */
const MOST_AREAS = 3000
const MOST_CORNERS = 100_000
/** A shape with a smaller radius, in units, looks the same in the tile as on the ground, to less than a unit. */
const FLAT_UNITS = 128
/** Nearer to the poles than this, in degrees, shapes are stretched. */
const FLAT_LATITUDE = 75
/** Corners of such a shape are left out if they are nearer to the corner before, in units: half a pixel. */
const LEAST_STEP = 4
/** How many geofences are looked at in one step. */
const LOOKED_AT = 128

const EARTH_METERS = 40_075_017

/**
 * Makes a tile step by step.
 * @param isShown tells by slot which geofences are in it
 */
export function* geofenceTile(
  index: GeofenceIndex,
  address: TileAddress,
  isShown: (slot: number) => boolean,
): Generator<void, Uint8Array> {
  const maker = new TileMaker(index, address)
  let looked = 0
  for (const slot of slotsIn(index, address)) {
    if (++looked % LOOKED_AT === 0) yield
    // The geofence may have been removed in the meantime.
    if (index.has(slot) && isShown(slot)) maker.add(slot)
  }
  yield* maker.addPoints()
  return maker.tile.bytes()
}

/** A tile to which geofences are added one after the other. */
class TileMaker {
  readonly tile = new VectorTile()
  readonly #index: GeofenceIndex
  readonly #box = squareBox(TILE_UNITS, TILE_MARGIN)
  /** Units of the tile in one of the grid. */
  readonly #scale: number
  /** Units around the world. */
  readonly #world: number
  readonly #left: number
  readonly #top: number
  /** How many points each square has. */
  readonly #counts = new Int32Array(SQUARES * SQUARES)
  /** For each square with points, in the order of these: its number, the slot of its first geofence, and x and y of that. */
  readonly #points: number[] = []
  readonly #bounds = { west: 0, south: 0, east: 0, north: 0 }
  #areas = 0
  #corners = 0
  #isFull = false

  constructor(index: GeofenceIndex, { z, x, y }: TileAddress) {
    this.#index = index
    this.#scale = 2 ** (z + TILE_BITS - WORLD_BITS)
    this.#world = 2 ** (z + TILE_BITS)
    this.#left = x * TILE_UNITS
    this.#top = y * TILE_UNITS
  }

  add(slot: number): void {
    const bounds = this.#bounds
    this.#index.bounds(slot, bounds)
    const unitsADegree = this.#world / 360
    const x = ((bounds.west + bounds.east) / 2 + 180) * unitsADegree - this.#left
    const latitude = (bounds.south + bounds.north) / 2
    const y = projectLatitude(latitude) * this.#scale - this.#top
    const height = (bounds.north - bounds.south) / Math.max(0.01, Math.cos((latitude * Math.PI) / 180))
    const diameter = Math.max(bounds.east - bounds.west, height) * unitsADegree
    // The geofence may also be seen beyond the antimeridian.
    for (let moved = x - this.#world; moved <= x + this.#world; moved += this.#world) {
      if (moved + diameter < this.#box.west || moved - diameter > this.#box.east) continue
      if (diameter < LEAST_DIAMETER || !this.#addArea(slot, moved - x, isNamed(moved, y, diameter)))
        this.#addPoint(slot, Math.round(moved), Math.round(y))
    }
  }

  /** Adds a geofence as an area. @returns false if the tile has no room for it */
  #addArea(slot: number, moved: number, named: boolean): boolean {
    if (this.#isFull) return false
    const index = this.#index
    const size = index.corners(slot) + 33
    this.#isFull = this.#areas === MOST_AREAS || this.#corners + size > MOST_CORNERS
    if (this.#isFull) return false
    const ring = clipRing(ringOf(index, slot, this.#scale, this.#left - moved, this.#top), this.#box)
    if (ring.length < 6) return true
    this.#areas++
    this.#corners += size
    const values = valuesOf(index.glimpse(slot))
    this.tile.add('geofences', 'area', named ? { ...values, named } : values, [clockwise(ring)])
    return true
  }

  #addPoint(slot: number, x: number, y: number): void {
    if (x < 0 || y < 0 || x >= TILE_UNITS || y >= TILE_UNITS) return
    const square = Math.floor(x / SQUARE) * SQUARES + Math.floor(y / SQUARE)
    if (this.#counts[square]!++ === 0) this.#points.push(square, slot, x, y)
  }

  /** Adds the points. Called when all geofences have been added. */
  *addPoints(): Generator<void, void> {
    const points = this.#points
    for (let i = 0; i < points.length; i += 4) {
      if (i % (4 * LOOKED_AT) === 0) yield
      const slot = points[i + 1]!
      const count = this.#counts[points[i]!]!
      const parts = [[points[i + 2]!, points[i + 3]!]]
      if (count > 1) this.tile.add('points', 'point', { count }, parts)
      else if (this.#index.has(slot))
        this.tile.add('points', 'point', valuesOf(this.#index.glimpse(slot)), parts)
    }
  }
}

/**
 * Whether a map writes the name of a geofence into its part in this tile: one that meets several tiles would be named in each.
 * One that is larger than a tile is, because its middle may be far from what is seen.
 */
function isNamed(x: number, y: number, diameter: number): boolean {
  return diameter > TILE_UNITS || (x >= 0 && y >= 0 && x < TILE_UNITS && y < TILE_UNITS)
}

/** The geofences whose bounds meet the tile. */
function slotsIn(index: GeofenceIndex, { z, x, y }: TileAddress): number[] {
  const side = 2 ** (WORLD_BITS - z)
  const margin = (side * TILE_MARGIN) / TILE_UNITS
  const [west, north] = unproject(x * side - margin, y * side - margin)
  const [east, south] = unproject((x + 1) * side + margin, (y + 1) * side + margin)
  const found: number[] = []
  index.meeting({ west, south, east, north }, found)
  return found
}

/** The corners that were read last, kept so that not every polygon needs an array of its own. */
const read: number[] = []

/** Returns the outline of a geofence in units of the tile, not closed. */
function ringOf(index: GeofenceIndex, slot: number, scale: number, left: number, top: number): number[] {
  const { center, radius } = index.outline(slot)
  const [longitude, latitude] = center
  const [centerX, centerY] = project(center)
  const [x, y] = [centerX * scale - left, centerY * scale - top]
  const unitsADegree = (2 ** WORLD_BITS * scale) / 360
  const mercatorScale = 1 / Math.cos((latitude * Math.PI) / 180)
  const units = (radius / EARTH_METERS) * 360 * unitsADegree * mercatorScale
  const isFlat = units <= FLAT_UNITS && Math.abs(latitude) <= FLAT_LATITUDE
  let corners = index.readCorners(slot, read)
  if (corners === 0 && isFlat) return circle(x, y, units)
  if (corners === 0) corners = readCircle(center, radius)
  const leastStep = isFlat ? LEAST_STEP : 1
  const ring: number[] = []
  let [beforeX, beforeY] = [Infinity, Infinity]
  for (let i = 0; i < 2 * corners; i += 2) {
    let east = read[i]! - longitude
    // Longitudes are those next to the centre.
    if (east > 180 || east < -180) east -= 360 * Math.round(east / 360)
    const atX = x + east * unitsADegree
    const atY = isFlat
      ? y + (latitude - read[i + 1]!) * unitsADegree * mercatorScale
      : projectLatitude(read[i + 1]!) * scale - top
    if (Math.abs(atX - beforeX) < leastStep && Math.abs(atY - beforeY) < leastStep) continue
    beforeX = atX
    beforeY = atY
    ring.push(Math.round(atX), Math.round(atY))
  }
  return ring
}

/** Writes the corners of a circle, as responses have them, to {@link read}. @returns how many */
function readCircle(center: Position, radius: number): number {
  const ring = circleRing(center, radius).slice(0, -1)
  for (const [i, [longitude, latitude]] of ring.entries()) {
    read[2 * i] = longitude
    read[2 * i + 1] = latitude
  }
  return ring.length
}

/** Returns a circle with as many corners as it needs to be right to one unit. */
function circle(x: number, y: number, radius: number): number[] {
  const corners = Math.ceil(Math.PI / Math.acos(1 - 1 / Math.max(radius, 4)))
  const ring: number[] = []
  for (let i = 0; i < corners; i++) {
    const angle = (2 * Math.PI * i) / corners
    ring.push(Math.round(x + radius * Math.sin(angle)), Math.round(y - radius * Math.cos(angle)))
  }
  return ring
}

function clockwise(ring: ArrayLike<number>): ArrayLike<number> {
  if (doubleArea(ring) >= 0) return ring
  const turned: number[] = []
  for (let i = ring.length - 2; i >= 0; i -= 2) turned.push(ring[i]!, ring[i + 1]!)
  return turned
}

function valuesOf({ id, tag, externalId, description, type, enabled }: GeofenceProperties) {
  return { _id: id, tag, externalId, description, type, enabled }
}
