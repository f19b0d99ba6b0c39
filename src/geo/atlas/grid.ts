/**
 * The cells by which the atlas is read: squares of 1/64 of a degree, 1.7 km from south to north.
 *
 * Cells of degrees become narrow towards the poles. That is where few people are, and where there are no safe zones.
 */

const CELLS_A_DEGREE = 64
const COLUMNS = 360 * CELLS_A_DEGREE
const ROWS = 180 * CELLS_A_DEGREE

/** A cell in degrees. */
export interface CellBounds {
  readonly west: number
  readonly south: number
  readonly east: number
  readonly north: number
}

/** The number of the cell that contains a point; points on the edges of the map belong to the last cells. */
export function cellOf(latitude: number, longitude: number): number {
  const column = Math.min(COLUMNS - 1, Math.max(0, Math.floor((longitude + 180) * CELLS_A_DEGREE)))
  const row = Math.min(ROWS - 1, Math.max(0, Math.floor((latitude + 90) * CELLS_A_DEGREE)))
  return row * COLUMNS + column
}

export function boundsOfCell(cell: number): CellBounds {
  const column = cell % COLUMNS
  const row = (cell - column) / COLUMNS
  return {
    west: column / CELLS_A_DEGREE - 180,
    south: row / CELLS_A_DEGREE - 90,
    east: (column + 1) / CELLS_A_DEGREE - 180,
    north: (row + 1) / CELLS_A_DEGREE - 90,
  }
}

/** The bounds with at least so many metres around them. */
export function widened({ west, south, east, north }: CellBounds, meters: number): CellBounds {
  const height = meters / SHORTEST_DEGREE_METERS
  const poleward = Math.min(89.9, Math.max(Math.abs(south), Math.abs(north)) + height)
  const width = meters / (SHORTEST_DEGREE_METERS * Math.cos((poleward * Math.PI) / 180))
  return { west: west - width, south: south - height, east: east + width, north: north + height }
}

/** Of latitude, at the equator. */
const SHORTEST_DEGREE_METERS = 110_574

/** Metres in a degree of longitude and of latitude at a latitude. */
export function degreeMeters(latitude: number): { readonly x: number; readonly y: number } {
  const angle = (latitude * Math.PI) / 180
  return {
    x: 111_412.84 * Math.cos(angle) - 93.5 * Math.cos(3 * angle) + 0.118 * Math.cos(5 * angle),
    y: 111_132.92 - 559.82 * Math.cos(2 * angle) + 1.175 * Math.cos(4 * angle),
  }
}
