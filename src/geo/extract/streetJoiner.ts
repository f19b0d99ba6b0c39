import { pointDistance } from '../../geometry/distance.ts'
import type { Position } from '../../model/geofence.ts'
import { middleOf } from '../records/areas.ts'
import type { AddressRecord, RangeRecord, StreetImportance, StreetRecord } from '../records/records.ts'
import { nameKey } from '../text/words.ts'

/** Ways and houses of one name within this distance of each other are one street. */
const SAME_STREET_METERS = 300
/** The side of a cell. Its diagonal is shorter than the distance above, so everything in a cell is one street. */
const CELL_METERS = 200
/** The largest distance between positions of a way that are looked at. */
const STEP_METERS = 150
const DEGREE_METERS = 111_195
const NEIGHBOURS = [-2, -1, 0, 1, 2].flatMap((row) =>
  [-2, -1, 0, 1, 2].map((column) => [row, column] as const),
)

/** A position of a way of a street, or a house at it. */
interface Piece {
  readonly name: string
  readonly position: Position
  readonly importance: StreetImportance
  /** The house; undefined for a way or a range. */
  readonly house?: AddressRecord
  /** The number range, whose position is in its middle; undefined for a way or a house. */
  readonly range?: RangeRecord
}

/** The part of a street that lies in one square. */
interface Cell {
  readonly row: number
  readonly column: number
  readonly pieces: Piece[]
  /** The pieces that are furthest west, east, south and north. */
  readonly corners: Position[]
  group: Cell
}

/**
 * Finds the streets of a map region: the ways and houses of one name and city that lie near each other. Spellings of a
 * name are one name.
 */
export class StreetJoiner {
  readonly #pieces = new Map<string, Piece[]>()
  #lastId = 0

  addWay(name: string, importance: StreetImportance, line: readonly Position[]): void {
    for (const position of stepsOf(line)) this.#add({ name, position, importance })
  }

  addHouse(house: AddressRecord): void {
    const { street: name, position } = house
    this.#add({ name, position, importance: 0, house })
  }

  addRange(range: RangeRecord): void {
    const { street: name, line } = range
    this.#add({ name, position: middleOf(line), importance: 0, range })
  }

  /** Returns each street, and forgets it. Ids continue where the last call ended. */
  *streets(): Generator<StreetRecord> {
    for (const [key, pieces] of this.#pieces) {
      this.#pieces.delete(key)
      for (const group of groupsOf(pieces))
        for (const street of byCity(group)) yield streetOf(++this.#lastId, street)
    }
  }

  #add(piece: Piece): void {
    const key = nameKey(piece.name)
    const others = this.#pieces.get(key)
    if (others === undefined) this.#pieces.set(key, [piece])
    else others.push(piece)
  }
}

/** Positions along a line, at most {@link STEP_METERS} apart. */
function* stepsOf(line: readonly Position[]): Generator<Position> {
  yield line[0]!
  let last = line[0]!
  for (const position of line.slice(1)) {
    const steps = Math.min(1000, Math.ceil(distance(last, position) / STEP_METERS))
    for (let step = 1; step < steps; step++) {
      const share = step / steps
      yield [last[0] + (position[0] - last[0]) * share, last[1] + (position[1] - last[1]) * share]
    }
    yield position
    last = position
  }
}

/** Groups of cells. Each cell has a piece near a piece of another cell of its group. */
function groupsOf(pieces: readonly Piece[]): Cell[][] {
  const cells = new Map<string, Cell>()
  for (const piece of pieces) {
    const row = Math.floor((piece.position[1] * DEGREE_METERS) / CELL_METERS)
    const column = Math.floor(piece.position[0] / widthOf(row))
    const key = `${row},${column}`
    const cell = cells.get(key)
    if (cell === undefined) {
      const fresh: Cell = {
        row,
        column,
        pieces: [piece],
        corners: Array(4).fill(piece.position),
        group: null!,
      }
      fresh.group = fresh
      cells.set(key, fresh)
    } else {
      cell.pieces.push(piece)
      widen(cell.corners, piece.position)
    }
  }
  for (const cell of cells.values()) {
    for (const [rows, columns] of NEIGHBOURS) {
      const row = cell.row + rows
      // Cells are wider in rows towards the poles.
      const column =
        rows === 0 ? cell.column : Math.floor(((cell.column + 0.5) * widthOf(cell.row)) / widthOf(row))
      const other = cells.get(`${row},${column + columns}`)
      if (other === undefined || rootOf(other) === rootOf(cell) || !areNear(cell, other)) continue
      rootOf(other).group = rootOf(cell)
    }
  }
  const groups = new Map<Cell, Cell[]>()
  for (const cell of cells.values()) {
    const root = rootOf(cell)
    const group = groups.get(root)
    if (group === undefined) groups.set(root, [cell])
    else group.push(cell)
  }
  return [...groups.values()]
}

function rootOf(cell: Cell): Cell {
  let root = cell
  while (root.group !== root) {
    root.group = root.group.group
    root = root.group
  }
  return root
}

function widen(corners: Position[], position: Position): void {
  const [x, y] = position
  if (x < corners[0]![0]) corners[0] = position
  if (x > corners[1]![0]) corners[1] = position
  if (y < corners[2]![1]) corners[2] = position
  if (y > corners[3]![1]) corners[3] = position
}

function areNear(a: Cell, b: Cell): boolean {
  return a.corners.some((one) => b.corners.some((other) => distance(one, other) <= SAME_STREET_METERS))
}

/** The width of a cell in degrees of longitude. */
function widthOf(row: number): number {
  const latitude = Math.min(89, Math.abs(((row + 0.5) * CELL_METERS) / DEGREE_METERS))
  return CELL_METERS / (DEGREE_METERS * Math.cos((latitude * Math.PI) / 180))
}

/**
 * Divides a street by its cities, because a street that goes through several cities is a separate one in each. Ways
 * and houses that do not name their city belong to that of most houses of their cell, or of the whole street.
 */
function byCity(group: readonly Cell[]): Piece[][] {
  const cityOf = ({ house, range }: Piece): string | undefined => (house ?? range)?.city
  const pieces = group.flatMap((cell) => cell.pieces)
  const most = mostFrequent(pieces, cityOf)
  if (most === undefined || pieces.every((piece) => (cityOf(piece) ?? most) === most)) return [pieces]
  const cities = new Map<string, Piece[]>()
  for (const cell of group) {
    const here = mostFrequent(cell.pieces, cityOf) ?? most
    for (const piece of cell.pieces) {
      const city = cityOf(piece) ?? here
      const others = cities.get(city)
      if (others === undefined) cities.set(city, [piece])
      else others.push(piece)
    }
  }
  return [...cities.values()]
}

function streetOf(id: number, pieces: readonly Piece[]): StreetRecord {
  const ofWays = pieces.filter(({ house, range }) => house === undefined && range === undefined)
  const named = ofWays.length > 0 ? ofWays : pieces
  const mean = [0, 1].map(
    (axis) => named.reduce((sum, { position }) => sum + position[axis as 0 | 1], 0) / named.length,
  ) as unknown as Position
  let nearest = named[0]!.position
  for (const { position } of named) if (distance(mean, position) < distance(mean, nearest)) nearest = position
  const houses = pieces.map(({ house }) => house).filter((house) => house !== undefined)
  return {
    id,
    name: mostFrequent(named, ({ name }) => name)!,
    names: [...new Set(pieces.map(({ name }) => name))],
    importance: pieces.reduce<StreetImportance>(
      (most, { importance }) => (importance > most ? importance : most),
      0,
    ),
    position: nearest,
    city: mostFrequent(pieces, ({ house, range }) => (house ?? range)?.city),
    postalCode: mostFrequent(pieces, ({ house, range }) => (house ?? range)?.postalCode),
    houses,
    ranges: pieces.map(({ range }) => range).filter((range) => range !== undefined),
  }
}

/** The most frequent value. If there are several, it is the one that came first. */
function mostFrequent<Item>(
  items: readonly Item[],
  valueOf: (item: Item) => string | undefined,
): string | undefined {
  const counts = new Map<string, number>()
  for (const item of items) {
    const value = valueOf(item)
    if (value !== undefined) counts.set(value, (counts.get(value) ?? 0) + 1)
  }
  let best: string | undefined
  for (const [value, count] of counts) if (best === undefined || count > counts.get(best)!) best = value
  return best
}

function distance([x, y]: Position, [px, py]: Position): number {
  return pointDistance(y, x, py, px)
}
