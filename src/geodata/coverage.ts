import type { Bounds } from './port.ts'

/** Cells to a degree: 3.5 km from south to north. */
const PER_DEGREE = 32
const COLUMNS = 360 * PER_DEGREE
const ROWS = 180 * PER_DEGREE
/** Nodes are counted up to here. */
const MOST = 255
const BYTES_PER_CELL = 5

/**
 * Where an extract has nodes, and about how many, by cells of 1/32 degree: extracts are cut along borders, so their bounds say
 * little about what is in them.
 */
export class Coverage {
  readonly #counts: ReadonlyMap<number, number>

  private constructor(counts: ReadonlyMap<number, number>) {
    this.#counts = counts
  }

  /** The inverse of {@link toBytes}. */
  static fromBytes(bytes: Buffer): Coverage {
    const counts = new Map<number, number>()
    for (let at = 0; at + BYTES_PER_CELL <= bytes.length; at += BYTES_PER_CELL)
      counts.set(bytes.readUInt32LE(at), bytes[at + 4]!)
    return new Coverage(counts)
  }

  static of(counter: CoverageCounter): Coverage {
    return new Coverage(new Map(counter.cells()))
  }

  get cells(): number {
    return this.#counts.size
  }

  /** Nodes in the cell of the point, 0 to 255; more count as 255. */
  nodesAt(longitude: number, latitude: number): number {
    return this.#counts.get(cellAt(longitude, latitude)) ?? 0
  }

  /** The nodes of the fullest cell that is at most so many cells away. */
  nodesNear(longitude: number, latitude: number, cells: number): number {
    const center = cellAt(longitude, latitude)
    const row = Math.floor(center / COLUMNS)
    const column = center % COLUMNS
    let most = 0
    for (let y = Math.max(0, row - cells); y <= Math.min(ROWS - 1, row + cells); y++) {
      for (let x = column - cells; x <= column + cells; x++)
        most = Math.max(most, this.#counts.get(y * COLUMNS + ((x + COLUMNS) % COLUMNS)) ?? 0)
    }
    return most
  }

  /** For each cell that has nodes four bytes of its number, little endian, ascending, and one of their count. */
  toBytes(): Buffer {
    const cells = [...this.#counts].sort(([a], [b]) => a - b)
    const bytes = Buffer.alloc(cells.length * BYTES_PER_CELL)
    for (const [index, [cell, count]] of cells.entries()) {
      bytes.writeUInt32LE(cell, index * BYTES_PER_CELL)
      bytes[index * BYTES_PER_CELL + 4] = count
    }
    return bytes
  }

  /**
   * The cells in rows, each row in as few runs as there are kinds in it: a run goes over cells without nodes as long as the next
   * that has some is of the same kind.
   */
  *runs<Kind>(
    kindOf: (longitude: number, latitude: number) => Kind,
  ): Generator<{ kind: Kind; bounds: Bounds }> {
    let open: { kind: Kind; row: number; first: number; last: number } | undefined
    for (const cell of [...this.#counts.keys()].sort((a, b) => a - b)) {
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
}

/** Counts nodes into cells: 66 MB of address space, of which the system gives what is touched. */
export class CoverageCounter {
  readonly #counts = new Uint8Array(ROWS * COLUMNS)

  /** @param longitude -180 to 180. @param latitude -90 to 90. */
  add(longitude: number, latitude: number): void {
    const cell = cellAt(longitude, latitude)
    if (this.#counts[cell]! < MOST) this.#counts[cell]!++
  }

  *cells(): Generator<[cell: number, nodes: number]> {
    for (let cell = 0; cell < this.#counts.length; cell++) {
      const nodes = this.#counts[cell]!
      if (nodes > 0) yield [cell, nodes]
    }
  }
}

function cellAt(longitude: number, latitude: number): number {
  const column = Math.min(COLUMNS - 1, Math.floor((longitude + 180) * PER_DEGREE))
  const row = Math.min(ROWS - 1, Math.floor((latitude + 90) * PER_DEGREE))
  return row * COLUMNS + column
}

function boundsOf(run: { readonly row: number; readonly first: number; readonly last: number }): Bounds {
  const south = run.row / PER_DEGREE - 90
  return [run.first / PER_DEGREE - 180, south, (run.last + 1) / PER_DEGREE - 180, south + 1 / PER_DEGREE]
}
