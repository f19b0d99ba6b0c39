/**
 * The cells by which the atlas is read: squares of 1/64 of a degree, 1.7 km from south to north, for regions, and of
 * half that size for places, of which there are more.
 *
 * Cells become narrow towards the poles. There are few people, and no safe zones.
 */

const CELLS_A_DEGREE = 64
/** The number of cells of places in a degree. */
export const PLACE_CELLS = 128
/** The number of smaller cells in a degree, where a cell would have too many places. They are some 50 m high. */
export const CROWDED_CELLS = 2048

/** A cell's bounds in degrees. */
export interface CellBounds {
  readonly west: number
  readonly south: number
  readonly east: number
  readonly north: number
}

/** The number of the cell that contains a point. Points on the edges of the map belong to the last cells. */
export function cellOf(latitude: number, longitude: number, perDegree = CELLS_A_DEGREE): number {
  const columns = 360 * perDegree
  const column = Math.min(columns - 1, Math.max(0, Math.floor((longitude + 180) * perDegree)))
  const row = Math.min(180 * perDegree - 1, Math.max(0, Math.floor((latitude + 90) * perDegree)))
  return row * columns + column
}

export function boundsOfCell(cell: number, perDegree = CELLS_A_DEGREE): CellBounds {
  const columns = 360 * perDegree
  const column = cell % columns
  const row = (cell - column) / columns
  return {
    west: column / perDegree - 180,
    south: row / perDegree - 90,
    east: (column + 1) / perDegree - 180,
    north: (row + 1) / perDegree - 90,
  }
}

/** The bounds, widened by at least this many metres on each side. */
export function widened({ west, south, east, north }: CellBounds, meters: number): CellBounds {
  const height = meters / SHORTEST_DEGREE_METERS
  const poleward = Math.min(89.9, Math.max(Math.abs(south), Math.abs(north)) + height)
  const width = meters / (SHORTEST_DEGREE_METERS * Math.cos((poleward * Math.PI) / 180))
  return { west: west - width, south: south - height, east: east + width, north: north + height }
}

/** The metres of a degree of latitude where it is shortest, at the equator. */
const SHORTEST_DEGREE_METERS = 110_574

/** Metres in a degree of longitude and of latitude at a latitude. */
export function degreeMeters(latitude: number): { readonly x: number; readonly y: number } {
  const angle = (latitude * Math.PI) / 180
  return {
    x: 111_412.84 * Math.cos(angle) - 93.5 * Math.cos(3 * angle) + 0.118 * Math.cos(5 * angle),
    y: 111_132.92 - 559.82 * Math.cos(2 * angle) + 1.175 * Math.cos(4 * angle),
  }
}
