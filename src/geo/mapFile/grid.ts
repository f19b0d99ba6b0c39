/**
 * The grid of maps: the square of the web Mercator projection with 2^28 units on each side, x to the east and y to the
 * south. A tile of zoom 16 has 4,096 units, each of 15 cm at the equator. Pure.
 */
import type { Position } from '../../model/geofence.ts'

/** The units of the world's side, as a power of two. */
export const WORLD_BITS = 28
const WORLD = 2 ** WORLD_BITS

/** The largest zoom of tiles. Clients enlarge these beyond it. */
export const LARGEST_ZOOM = 16

/** The units of a tile's side, as in most vector tiles. */
export const TILE_UNITS = 4096
export const TILE_BITS = 12

/**
 * Everything that lies this far outside of a tile, in its units, also belongs to it, so that wide lines are complete
 * at its edges.
 */
export const TILE_MARGIN = 64

/** The latitude at which the square ends. */
const MAX_LATITUDE = 85.051_128

/** The address of a tile, or of a cell: its zoom, and its column and row from the north-west. */
export interface TileAddress {
  readonly z: number
  readonly x: number
  readonly y: number
}

/**
 * A level of detail: the map as it is kept for some zooms, in cells that are tiles of the lowest one.
 */
export interface Level {
  /** The zoom of its cells, and the lowest one of the tiles that are cut from it. */
  readonly zoom: number
  /** The largest zoom of tiles that are cut from it. */
  readonly until: number
  /** Its units are 2^shift of those of the grid: units of the tiles of its largest zoom, or twice as large. */
  readonly shift: number
}

/** The levels of a map region, with the most detail first. Below zoom 6, maps show only the world. */
export const MAP_REGION_LEVELS: readonly Level[] = [
  { zoom: 14, until: 16, shift: 1 },
  { zoom: 12, until: 13, shift: 3 },
  { zoom: 9, until: 11, shift: 5 },
  { zoom: 6, until: 8, shift: 8 },
]

/** The levels of the world, which has no more detail than this. */
export const WORLD_LEVELS: readonly Level[] = [
  { zoom: 6, until: 16, shift: 8 },
  { zoom: 3, until: 5, shift: 11 },
  { zoom: 0, until: 2, shift: 14 },
]

/** The level that tiles of the zoom are cut from; undefined if there is none. */
export function levelAt(levels: readonly Level[], zoom: number): Level | undefined {
  return levels.find((level) => level.zoom <= zoom)
}

/** The side of a level's cells, in the units of the level. */
export function cellUnits({ zoom, shift }: Level): number {
  return 2 ** (WORLD_BITS - shift - zoom)
}

/** A position in the grid, not rounded. */
export function project([longitude, latitude]: Position): [x: number, y: number] {
  return [(longitude / 360 + 0.5) * WORLD, projectLatitude(latitude)]
}

/** The y of a latitude in the grid, not rounded. */
export function projectLatitude(latitude: number): number {
  const limited = Math.min(MAX_LATITUDE, Math.max(-MAX_LATITUDE, latitude))
  const sine = Math.sin((limited * Math.PI) / 180)
  const y = 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI)
  return y * WORLD
}

/** The inverse of {@link project}. */
export function unproject(x: number, y: number): [longitude: number, latitude: number] {
  const latitude = Math.atan(Math.sinh(Math.PI * (1 - (2 * y) / WORLD)))
  return [(x / WORLD - 0.5) * 360, (latitude * 180) / Math.PI]
}

/** West, south, east and north of a tile, in degrees. */
export function tileBounds({ z, x, y }: TileAddress): [number, number, number, number] {
  const side = 2 ** (WORLD_BITS - z)
  const [west, north] = unproject(x * side, y * side)
  const [east, south] = unproject((x + 1) * side, (y + 1) * side)
  return [west, south, east, north]
}
