import { Probe } from '../../geometry/probe.ts'
import { shapeRing } from '../../geometry/shape.ts'
import type { GeofenceProperties, Position } from '../../model/geofence.ts'
import type { GeofenceIndex } from '../../spatial/port.ts'
import { clipRing, doubleArea, squareBox } from '../mapFile/clip.ts'
import {
  project,
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
 * A tile of a country may have a hundred thousand of them, most smaller than a pixel. So geofences smaller than two
 * pixels become points, and points in the same square of eight pixels become one, with their number. Larger geofences
 * are areas, as long as there is room.
 */

/** Geofences with a smaller diameter become points. A pixel has eight units. */
const LEAST_DIAMETER = 16
/** The side of the squares of points, in units. */
const SQUARE = 64
/** How many areas one tile may have, and how many corners all of them. Further ones become points. */
const MOST_AREAS = 3000
const MOST_CORNERS = 100_000
/** Below this zoom, all geofences are looked at, because distances mean little on such a large part of a sphere. */
const WHOLE_ZOOM = 4
/** How many geofences are looked at in one step. */
const LOOKED_AT = 128

const EARTH_METERS = 40_075_017

interface Square {
  count: number
  readonly geofence: GeofenceProperties
  readonly x: number
  readonly y: number
}

/**
 * Makes a tile step by step.
 * @param isShown which geofences are in it
 */
export function* geofenceTile(
  index: GeofenceIndex,
  address: TileAddress,
  isShown: (geofence: GeofenceProperties) => boolean,
): Generator<void, Uint8Array> {
  const box = squareBox(TILE_UNITS, TILE_MARGIN)
  const tile = new VectorTile()
  const squares = new Map<number, Square>()
  const scale = 2 ** (address.z + TILE_BITS - WORLD_BITS)
  const world = 2 ** (address.z + TILE_BITS)
  const [left, top] = [address.x * TILE_UNITS, address.y * TILE_UNITS]
  let [areas, corners, looked] = [0, 0, 0]
  for (const slot of address.z < WHOLE_ZOOM ? allSlots(index) : slotsNear(index, address)) {
    if (++looked % LOOKED_AT === 0) yield
    // The geofence may have been removed in the meantime.
    if (!index.has(slot)) continue
    const geofence = index.geofence(slot)
    if (!isShown(geofence)) continue
    const { center, radius } = index.outline(slot)
    const [centerX, centerY] = project(center)
    const [x, y] = [Math.round(centerX * scale) - left, Math.round(centerY * scale) - top]
    const units = (radius * world) / (EARTH_METERS * Math.cos((center[1] * Math.PI) / 180))
    // The geofence may also be seen beyond the antimeridian.
    for (const moved of [x, x - world, x + world]) {
      if (moved + units < box.west || moved - units > box.east) continue
      if (y + units < box.north || y - units > box.south) continue
      const size = index.corners(slot) + 33
      if (2 * units >= LEAST_DIAMETER && areas < MOST_AREAS && corners + size <= MOST_CORNERS) {
        const ring = clipRing(
          ringOf(shapeRing(index.shape(slot)), center, scale, left - (moved - x), top),
          box,
        )
        if (ring.length === 0) continue
        areas++
        corners += size
        tile.add('geofences', 'area', valuesOf(geofence), [clockwise(ring)])
      } else addPoint(squares, geofence, moved, y)
    }
  }
  for (const { count, geofence, x, y } of squares.values())
    tile.add('points', 'point', count === 1 ? valuesOf(geofence) : { count }, [[x, y]])
  return tile.bytes()
}

function* allSlots(index: GeofenceIndex): Generator<number> {
  for (let slot = 0; slot < index.end; slot++) yield slot
}

/** The geofences that may touch the circle around the tile. */
function slotsNear(index: GeofenceIndex, { z, x, y }: TileAddress): number[] {
  const side = 2 ** (WORLD_BITS - z)
  const middle = unproject((x + 0.5) * side, (y + 0.5) * side)
  const probe = new Probe().set(middle[1], middle[0])
  const margin = TILE_MARGIN / TILE_UNITS
  // The edge that is nearer to the equator is longer.
  const [, north] = unproject(x * side, (y - margin) * side)
  const [, south] = unproject(x * side, (y + 1 + margin) * side)
  const latitude = north * south < 0 ? 0 : Math.min(Math.abs(north), Math.abs(south))
  const meters = (EARTH_METERS * Math.cos((latitude * Math.PI) / 180) * (1 + 2 * margin)) / 2 ** z
  const found: number[] = []
  index.candidates(probe, meters, found)
  return found
}

/** A ring in units of the tile, not closed. Its longitudes are those next to the centre. */
function ringOf(
  ring: readonly Position[],
  center: Position,
  scale: number,
  left: number,
  top: number,
): number[] {
  const units: number[] = []
  for (const [longitude, latitude] of ring.slice(0, -1)) {
    const turns = Math.round((longitude - center[0]) / 360)
    const [x, y] = project([longitude - 360 * turns, latitude])
    units.push(Math.round(x * scale) - left, Math.round(y * scale) - top)
  }
  return units
}

function clockwise(ring: ArrayLike<number>): ArrayLike<number> {
  if (doubleArea(ring) >= 0) return ring
  const turned: number[] = []
  for (let i = ring.length - 2; i >= 0; i -= 2) turned.push(ring[i]!, ring[i + 1]!)
  return turned
}

function addPoint(squares: Map<number, Square>, geofence: GeofenceProperties, x: number, y: number): void {
  if (x < 0 || y < 0 || x >= TILE_UNITS || y >= TILE_UNITS) return
  const key = Math.floor(x / SQUARE) * TILE_UNITS + Math.floor(y / SQUARE)
  const square = squares.get(key)
  if (square === undefined) squares.set(key, { count: 1, geofence, x, y })
  else square.count++
}

function valuesOf({ id, tag, externalId, description, type, enabled }: GeofenceProperties) {
  return { _id: id, tag, externalId, description, type, enabled }
}
