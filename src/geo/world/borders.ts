/**
 * The borders of countries from a file that `npm run facts:borders` writes, in cells. Most cells lie in one country, or in
 * none. For the others, the file has which countries contain one point, the reference, and all edges of borders in the
 * cell. A point is in a country if the way from the reference to it crosses the country's border an even number of times
 * and the reference is in the country, or an odd number of times and it is not.
 *
 * The file (numbers as in bytes.ts): how many countries there are, and their codes. For each cell, from south-west to
 * north-east, row by row: how many successive cells are alike, and the number of their country, 0 for none; or 0 and the
 * number of bytes of a cell of its own, which follow after all of these. Such a cell is how many countries contain the
 * reference, and their numbers; how many lines there are, and of each, the numbers of the countries whose border it is, and
 * its points, the first from the corner of the cell, and each other from the one before, in units of 1e-5 degrees.
 */
import { readFileSync } from 'node:fs'
import type { Position } from '../../model/geofence.ts'
import { ByteReader } from '../mapFile/bytes.ts'

/** Of the cells, in a degree. */
export const BORDER_CELLS = 2
export const BORDER_UNITS = 1e5
/** Of a cell's side. The reference is not in the middle, where corners of borders may have its longitude or latitude. */
export const BORDER_REFERENCE = 0.481_234_567_8
export const BORDER_FILE = new URL('./borders.bin', import.meta.url)
const COLUMNS = 360 * BORDER_CELLS
const ROWS = 180 * BORDER_CELLS

interface Box {
  readonly west: number
  readonly south: number
  readonly east: number
  readonly north: number
}

/** Edges of borders. */
export interface BorderEdges {
  /** x, y, x, y of each edge, in degrees. */
  readonly edges: readonly number[]
  /** The country of each edge. An edge between two countries is there for each of them. */
  readonly codes: readonly string[]
}

export class Borders {
  readonly #bytes: Uint8Array
  readonly #codes: string[]
  /** The number of the country of each cell, or minus the place of its own data. */
  readonly #cells = new Int32Array(COLUMNS * ROWS)
  readonly #parity: Uint8Array

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    const reader = new ByteReader(bytes)
    this.#codes = Array.from({ length: reader.number() }, () => reader.textAt(reader.skipBytes()))
    this.#parity = new Uint8Array(this.#codes.length + 1)
    const own: (readonly [cell: number, length: number])[] = []
    for (let cell = 0; cell < this.#cells.length;) {
      const alike = reader.number()
      const value = reader.number()
      if (alike === 0) own.push([cell++, value])
      else this.#cells.fill(value, cell, (cell += alike))
    }
    let at = reader.at
    for (const [cell, length] of own) {
      this.#cells[cell] = -at
      at += length
    }
  }

  /** The alpha-2 codes of the countries that contain a position: one, none at sea, or several that the data do not tell apart. */
  codesAt([x, y]: Position): string[] {
    const column = columnOf(x)
    const row = rowOf(y)
    const known = this.#cells[row * COLUMNS + column]!
    if (known >= 0) return known === 0 ? [] : [this.#codes[known - 1]!]
    const reader = this.#readerAt(-known)
    const parity = this.#parity.fill(0)
    for (let i = reader.number(); i > 0; i--) parity[reader.number()] = 1
    const west = column / BORDER_CELLS - 180
    const south = row / BORDER_CELLS - 90
    // From the corner of the cell, in the units of the file.
    const px = (x - west) * BORDER_UNITS
    const py = (y - south) * BORDER_UNITS
    const reference = (BORDER_REFERENCE / BORDER_CELLS) * BORDER_UNITS
    for (let lines = reader.number(); lines > 0; lines--) {
      const numbers = Array.from({ length: reader.number() }, () => reader.number())
      let points = reader.number()
      let ax = reader.signed()
      let ay = reader.signed()
      let crossings = 0
      while (--points > 0) {
        const bx = ax + reader.signed()
        const by = ay + reader.signed()
        // First along the parallel of the reference, then along the meridian of the point.
        if (ay > reference !== by > reference) {
          const at = ((bx - ax) * (reference - ay)) / (by - ay) + ax
          if (reference < at !== px < at) crossings++
        }
        if (ax > px !== bx > px) {
          const at = ((by - ay) * (px - ax)) / (bx - ax) + ay
          if (reference < at !== py < at) crossings++
        }
        ax = bx
        ay = by
      }
      if (crossings % 2 === 1) for (const number of numbers) parity[number]! ^= 1
    }
    const codes: string[] = []
    for (let number = 1; number < parity.length; number++)
      if (parity[number] === 1) codes.push(this.#codes[number - 1]!)
    return codes
  }

  /** The edges that meet a box in degrees. */
  edgesIn({ west, south, east, north }: Box): BorderEdges {
    const found: { edges: number[]; codes: string[] } = { edges: [], codes: [] }
    const [left, right] = [columnOf(west), columnOf(east)]
    const [bottom, top] = [rowOf(south), rowOf(north)]
    // An edge is in each cell that it crosses.
    const seen = left === right && bottom === top ? undefined : new Set<string>()
    for (let row = bottom; row <= top; row++)
      for (let column = left; column <= right; column++) {
        const known = this.#cells[row * COLUMNS + column]!
        if (known >= 0) continue
        const reader = this.#readerAt(-known)
        for (let i = reader.number(); i > 0; i--) reader.number()
        for (let lines = reader.number(); lines > 0; lines--) {
          const codes = Array.from({ length: reader.number() }, () => this.#codes[reader.number() - 1]!)
          let points = reader.number()
          let ax = column * (BORDER_UNITS / BORDER_CELLS) - 180 * BORDER_UNITS + reader.signed()
          let ay = row * (BORDER_UNITS / BORDER_CELLS) - 90 * BORDER_UNITS + reader.signed()
          while (--points > 0) {
            const edge = [ax, ay, (ax += reader.signed()), (ay += reader.signed())] as const
            const [x, y, otherX, otherY] = edge.map((units) => units / BORDER_UNITS) as [
              number,
              number,
              number,
              number,
            ]
            if (Math.max(x, otherX) < west || Math.min(x, otherX) > east) continue
            if (Math.max(y, otherY) < south || Math.min(y, otherY) > north) continue
            const key = edge.join()
            if (seen?.has(key) === true) continue
            seen?.add(key)
            for (const code of codes) {
              found.edges.push(x, y, otherX, otherY)
              found.codes.push(code)
            }
          }
        }
      }
    return found
  }

  /** These codes, each once, in the order in which they count where several countries contain a point. */
  inOrder(codes: Iterable<string>): string[] {
    return [...new Set(codes)].sort((a, b) => this.#codes.indexOf(a) - this.#codes.indexOf(b))
  }

  #readerAt(place: number): ByteReader {
    const reader = new ByteReader(this.#bytes)
    reader.at = place
    return reader
  }
}

let made: Borders | undefined

/** The borders of the file. It is read with the first question. */
export function countryBorders(): Borders {
  return (made ??= new Borders(readFileSync(BORDER_FILE)))
}

function columnOf(x: number): number {
  return Math.min(COLUMNS - 1, Math.max(0, Math.floor((x + 180) * BORDER_CELLS)))
}

function rowOf(y: number): number {
  return Math.min(ROWS - 1, Math.max(0, Math.floor((y + 90) * BORDER_CELLS)))
}
