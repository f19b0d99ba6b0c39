import type { BoundingBox } from './port.ts'

/** Cells to a degree: 3.5 km from south to north. */
const PER_DEGREE = 32
const COLUMNS = 360 * PER_DEGREE
const ROWS = 180 * PER_DEGREE
/** Nodes are counted up to this number. */
const MOST = 255
/**
 * The first bytes of a coverage file. They are followed by the number of cells, their numbers and their counts, in
 * little endian.
 */
const MAGIC = 0x31_56_43_52 // RCV1
const HEADER_BYTES = 8

/**
 * Where an extract has nodes, and roughly how many, in cells of 1/32 degree: extracts are cut along borders, so their
 * bounds say little about their contents.
 */
export class Coverage {
  /** The numbers of the cells, ascending. */
  readonly #cells: Uint32Array
  readonly #counts: Uint8Array

  /**
   * Coverage with known counts.
   * @param counts those of the cells, which ascend
   */
  constructor(cells: Uint32Array, counts: Uint8Array) {
    this.#cells = cells
    this.#counts = counts
  }

  /**
   * The inverse of {@link toBytes}.
   * @throws Error if the bytes are invalid
   */
  static fromBytes(bytes: Buffer): Coverage {
    const cells = bytes.length < HEADER_BYTES || bytes.readUInt32LE() !== MAGIC ? -1 : bytes.readUInt32LE(4)
    if (bytes.length !== HEADER_BYTES + cells * 5) throw new Error('These are no cells of a region.')
    const numbers = new Uint32Array(cells)
    for (let i = 0; i < cells; i++) numbers[i] = bytes.readUInt32LE(HEADER_BYTES + i * 4)
    return new Coverage(numbers, new Uint8Array(bytes.subarray(HEADER_BYTES + cells * 4)))
  }

  toBytes(): Buffer {
    const { length } = this.#cells
    const bytes = Buffer.alloc(HEADER_BYTES + length * 5)
    bytes.writeUInt32LE(MAGIC)
    bytes.writeUInt32LE(length, 4)
    for (let i = 0; i < length; i++) bytes.writeUInt32LE(this.#cells[i]!, HEADER_BYTES + i * 4)
    bytes.set(this.#counts, HEADER_BYTES + length * 4)
    return bytes
  }

  /** The number of nodes in the cell of the point, from 0 to 255. More count as 255. */
  nodesAt(longitude: number, latitude: number): number {
    return this.#count(cellAt(longitude, latitude))
  }

  /** Whether the point's cell, or a neighbour, has nodes. */
  isNear(longitude: number, latitude: number): boolean {
    const center = cellAt(longitude, latitude)
    const row = Math.floor(center / COLUMNS)
    const column = center % COLUMNS
    for (let y = Math.max(0, row - 1); y <= Math.min(ROWS - 1, row + 1); y++) {
      for (let x = column - 1; x <= column + 1; x++)
        if (this.#count(y * COLUMNS + ((x + COLUMNS) % COLUMNS)) > 0) return true
    }
    return false
  }

  /**
   * The cells in rows, each divided into as few runs as it has kinds. A run may cross cells without nodes if the next
   * cell with nodes is of the same kind.
   * @param kindOf returns the kind of a cell by its middle
   */
  *runs<Kind>(
    kindOf: (longitude: number, latitude: number) => Kind,
  ): Generator<{ kind: Kind; bounds: BoundingBox }> {
    let open: { kind: Kind; row: number; first: number; last: number } | undefined
    for (const cell of this.#cells) {
      const row = Math.floor(cell / COLUMNS)
      const column = cell % COLUMNS
      const kind = kindOf((column + 0.5) / PER_DEGREE - 180, (row + 0.5) / PER_DEGREE - 90)
      if (open?.row === row && open.kind === kind) {
        open.last = column
        continue
      }
      if (open !== undefined) yield { kind: open.kind, bounds: boundsOf(open) }
      open = { kind, row, first: column, last: column }
    }
    if (open !== undefined) yield { kind: open.kind, bounds: boundsOf(open) }
  }

  #count(cell: number): number {
    let low = 0
    let high = this.#cells.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#cells[middle]! < cell) low = middle + 1
      else high = middle
    }
    return this.#cells[low] === cell ? this.#counts[low]! : 0
  }
}

/** Counts nodes into cells. */
export class CoverageCounter {
  /** The counts of the cells in each row that has nodes. */
  readonly #rows = new Map<number, Uint8Array>()

  /**
   * Counts a node.
   * @param longitude from -180 to 180
   * @param latitude from -90 to 90
   */
  add(longitude: number, latitude: number): void {
    const cell = cellAt(longitude, latitude)
    const column = cell % COLUMNS
    const row = (cell - column) / COLUMNS
    let counts = this.#rows.get(row)
    if (counts === undefined) this.#rows.set(row, (counts = new Uint8Array(COLUMNS)))
    if (counts[column]! < MOST) counts[column]!++
  }

  coverage(): Coverage {
    const cells: number[] = []
    const nodes: number[] = []
    for (const [row, counts] of [...this.#rows].sort(([a], [b]) => a - b)) {
      for (const [column, count] of counts.entries()) {
        if (count === 0) continue
        cells.push(row * COLUMNS + column)
        nodes.push(count)
      }
    }
    return new Coverage(Uint32Array.from(cells), Uint8Array.from(nodes))
  }
}

function cellAt(longitude: number, latitude: number): number {
  const column = Math.min(COLUMNS - 1, Math.floor((longitude + 180) * PER_DEGREE))
  const row = Math.min(ROWS - 1, Math.floor((latitude + 90) * PER_DEGREE))
  return row * COLUMNS + column
}

function boundsOf(run: { readonly row: number; readonly first: number; readonly last: number }): BoundingBox {
  const south = run.row / PER_DEGREE - 90
  return [run.first / PER_DEGREE - 180, south, (run.last + 1) / PER_DEGREE - 180, south + 1 / PER_DEGREE]
}
