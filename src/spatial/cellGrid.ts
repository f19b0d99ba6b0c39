import { MIN_RADIUS_METERS, RADIANS } from '../geometry/distance.ts'
import type { Probe } from '../geometry/probe.ts'

/**
 * The grids that geofences are sorted into: at level ℓ the globe is 2^ℓ columns by 2^(ℓ−1) rows of equal degrees.
 * Only every other level is used: a query costs a cache miss or two per level, which is more than the four times as
 * many cells for the larger half of the geofences (measured at 28 geofences per km²: 340 ns a query instead of 435,
 * and fewer candidates).
 *
 * All bounds here are conservative on the ellipsoid: its radii of curvature are nowhere smaller than that of the
 * meridian at the equator, so with geodetic latitudes every true distance is at least that of a sphere of this
 * radius. One radius therefore serves all directions and latitudes: its error can only make a padding larger or a
 * clearance smaller.
 */

/** The shortest degree of a great circle in metres. */
const LEAST_DEGREE_METERS = MIN_RADIUS_METERS * RADIANS

/**
 * The level of the largest cells, which have 45°. Everything that fits no finer level goes there. There are only 32
 * cells, so no geofence has many.
 */
const COARSEST_LEVEL = 3
/** The level of the smallest cells, which have 305 m of latitude. */
export const FINEST_LEVEL = 17
const LEVEL_STEP = 2
/** A geofence goes to the finest level where it takes at most this many cells. */
const MOST_CELLS = 25
/** Padding of a level's geofences, as a share of the cell's height. */
const PAD_SHARE = 0.25
const LEAST_PAD_METERS = 100

/** The height and width of the cells of each level in degrees. All of them are exact in binary. */
export const CELL_DEGREES = new Float64Array(FINEST_LEVEL + 1)
/** For each level, in metres: a geofence is in every cell that comes within this distance of its bounds. */
export const PAD_METERS = new Float64Array(FINEST_LEVEL + 1)

for (let level = 0; level <= FINEST_LEVEL; level++) {
  const degrees = 360 / 2 ** level
  CELL_DEGREES[level] = degrees
  PAD_METERS[level] = Math.max(LEAST_PAD_METERS, degrees * LEAST_DEGREE_METERS * PAD_SHARE)
}

/** A box in degrees. `east` is at least `west`, and more than 180 if the box crosses the antimeridian. */
export interface Box {
  west: number
  south: number
  east: number
  north: number
}

/** The cells of one level that a box touches; columns count from `column` eastwards, modulo the level's columns. */
export interface CellRange {
  level: number
  row: number
  rows: number
  column: number
  columns: number
}

/**
 * Widens `box` to contain every point within `meters` of it. A point that a path of that length can reach stays
 * within the widened latitudes, where a degree of longitude is at least LEAST_DEGREE_METERS × cos(latitude) long.
 * Past a pole it can be at any longitude.
 */
export function widen(box: Box, meters: number): void {
  const degrees = meters / LEAST_DEGREE_METERS
  box.south -= degrees
  box.north += degrees
  const along = degrees / Math.cos(Math.min(90, Math.max(-box.south, box.north)) * RADIANS)
  box.west -= along
  box.east += along
  if (box.east - box.west >= 360) {
    box.west = -180
    box.east = 180
  }
  if (box.south < -90) box.south = -90
  if (box.north > 90) box.north = 90
}

/** Sets `range` to the cells of a level that the box touches. */
export function cellsOf(box: Box, level: number, range: CellRange): void {
  const size = CELL_DEGREES[level]!
  const columns = 1 << level
  const lastRow = (columns >> 1) - 1
  const top = Math.min(lastRow, Math.floor((box.north + 90) / size))
  const row = Math.min(lastRow, Math.max(0, Math.floor((box.south + 90) / size)))
  const first = Math.floor((box.west + 180) / size)
  const last = Math.floor((box.east + 180) / size)
  range.level = level
  range.row = row
  range.rows = top - row + 1
  range.column = ((first % columns) + columns) % columns
  range.columns = Math.min(columns, last - first + 1)
}

const padded: Box = { west: 0, south: 0, east: 0, north: 0 }

/** Sets `range` to the level that fits a geofence's bounds, and to its cells there, including padding. */
export function fitCells(bounds: Box, range: CellRange): void {
  for (let level = FINEST_LEVEL; ; level -= LEVEL_STEP) {
    padded.west = bounds.west
    padded.south = bounds.south
    padded.east = bounds.east
    padded.north = bounds.north
    widen(padded, PAD_METERS[level]!)
    cellsOf(padded, level, range)
    if (level === COARSEST_LEVEL || range.rows * range.columns <= MOST_CELLS) return
  }
}

/**
 * A lower bound in metres of the distance from a point to the nearest edge of the range of cells that contains it,
 * which is how far the point can move and still be in one of them. A pole is no edge, and neither is a meridian if the
 * range goes around the globe.
 */
export function edgeMeters(
  latitude: number,
  longitude: number,
  cosLatitude: number,
  level: number,
  row: number,
  rows: number,
  column: number,
  columns: number,
): number {
  const size = CELL_DEGREES[level]!
  let meters = Infinity
  if (row > 0) meters = (latitude + 90 - row * size) * LEAST_DEGREE_METERS
  if (row + rows < 1 << (level - 1)) {
    const north = ((row + rows) * size - 90 - latitude) * LEAST_DEGREE_METERS
    if (north < meters) meters = north
  }
  if (columns < 1 << level) {
    let west = longitude + 180 - column * size
    if (west < 0) west += 360
    // Longitude 180 is in column 0, on its western edge.
    else if (west >= 360) west -= 360
    const east = columns * size - west
    const across = meridianMeters(west < east ? west : east, cosLatitude)
    if (across < meters) meters = across
  }
  return meters
}

/** If both legs are at most this long, in metres, and the latitude is not too high, they make nearly a right angle. */
const FLAT_METERS = 5000
const FLAT_LATITUDE = 80
/**
 * A share for each metre to a meridian: the foot of the perpendicular is nearer to the pole by at most tan 80° / 2R
 * times the square.
 */
const FOOT_SHARE = 4.6e-7

/** A lower bound of the distance from the probe's point to a box in metres; 0 inside. Its east may be past 180. */
export function boxGapMeters(west: number, south: number, east: number, north: number, probe: Probe): number {
  const { latitude } = probe
  let up = 0
  if (latitude < south) up = (south - latitude) * LEAST_DEGREE_METERS
  else if (latitude > north) up = (latitude - north) * LEAST_DEGREE_METERS
  let { longitude } = probe
  if (longitude < west && longitude + 360 <= east) longitude += 360
  if (longitude >= west && longitude <= east) return up
  let toWest = west - longitude
  if (toWest < 0) toWest += 360
  let toEast = longitude - east
  if (toEast < 0) toEast += 360
  const across = meridianMeters(Math.min(toWest, toEast), probe.cosLatitude)
  if (across > FLAT_METERS || up > FLAT_METERS || Math.abs(latitude) > FLAT_LATITUDE)
    return Math.max(across, up)
  const along = Math.max(0, up - across * across * FOOT_SHARE)
  return Math.max(up, 0.9999 * Math.sqrt(across * across + along * along))
}

/** A lower bound of the distance in metres to a meridian some degrees away. */
function meridianMeters(degrees: number, cosLatitude: number): number {
  // The great circle from a point to the meridian Δλ away has the length asin(cos φ · sin Δλ); asin x ≥ x, sin x ≥ x
  // − x³/6, and that cubic is increasing up to √2.
  const angle = Math.min(1.4, degrees * RADIANS)
  return MIN_RADIUS_METERS * cosLatitude * angle * (1 - (angle * angle) / 6)
}
