/**
 * `npm run facts:borders -- FILE`: writes src/geo/world/borders.bin, the borders of all countries and territories on land
 * and twelve miles out to sea, as OpenStreetMap has them. FILE is map.geo.json of the npm package
 * @geo-maps/countries-maritime-10m 0.6.0 of 2018. Lines are simplified, those that two countries share only once. What is
 * written derives from a database under the ODbL 1.0, © OpenStreetMap contributors, and is under the same licence.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { iso1A2Code } from '@rapideditor/country-coder'
import { ByteWriter } from '../src/geo/mapFile/bytes.ts'
import {
  BORDER_CELLS,
  BORDER_FILE,
  BORDER_REFERENCE,
  BORDER_UNITS,
  Borders,
} from '../src/geo/world/borders.ts'

/**
 * How far a simplified line may be from the true one: between countries, and where a country ends at sea. For enclaves
 * and other short lines, it is a share of their length.
 */
const SHARED_METERS = 150
const OUTER_METERS = 500
const SHARE = 0.01
const UNIT_METERS = 111_195 / BORDER_UNITS
const COLUMNS = 360 * BORDER_CELLS
const ROWS = 180 * BORDER_CELLS
const SIDE = BORDER_UNITS / BORDER_CELLS

type Point = readonly [x: number, y: number]

interface Geometry {
  readonly type: string
  readonly coordinates: Point[][] | Point[][][]
}

/** The numbers of the countries of each edge, by its ends. */
type Edges = Map<string, Set<number>>

/** A part of a border, and the numbers of the countries whose border it is. */
interface Line {
  readonly numbers: readonly number[]
  readonly points: readonly Point[]
}

const [source] = process.argv.slice(2)
if (source === undefined)
  throw new Error('npm run facts:borders -- @geo-maps/countries-maritime-10m/map.geo.json')
const { features } = JSON.parse(readFileSync(source, 'utf8')) as {
  features: { properties: { A3: string }; geometry: Geometry }[]
}
/**
 * The smaller country comes first. Some areas contain others: France its territories, Norway Svalbard and Jan Mayen,
 * and Morocco the Western Sahara. There the territory counts, because ISO 3166-1 gives it a code of its own.
 */
const codes = features
  .map(({ properties: { A3 }, geometry }) => ({ code: iso1A2Code(A3)!, size: sizeOf(geometry) }))
  .sort((a, b) => a.size - b.size)
  .map(({ code }) => code)
if (codes.some((code) => !/^[A-Z]{2}$/.test(code)) || new Set(codes).size !== codes.length)
  throw new Error(`not all countries have a code of their own: ${codes.join()}`)

const edges: Edges = new Map()
for (const { properties, geometry } of features) {
  const number = codes.indexOf(iso1A2Code(properties.A3)!) + 1
  for (const ring of ringsOf(geometry))
    addLine(
      edges,
      ring.map(([x, y]) => [Math.round(x * BORDER_UNITS), Math.round(y * BORDER_UNITS)] as const),
      [number],
    )
}
const full = linesOf(edges)
const simpleEdges: Edges = new Map()
for (const { numbers, points } of full)
  addLine(
    simpleEdges,
    simplified(points, Math.min(numbers.length > 1 ? SHARED_METERS : OUTER_METERS, SHARE * lengthOf(points))),
    numbers,
  )
// Lines that were metres apart may have become the same, so edges are joined again.
const simple = linesOf(simpleEdges)
writeFileSync(BORDER_FILE, encoded(simple))
const count = (lines: readonly Line[]): number => lines.reduce((sum, { points }) => sum + points.length, 0)
const bytes = readFileSync(BORDER_FILE)
const borders = new Borders(bytes)
console.log(
  `${codes.length} countries, ${simple.length} lines, ${count(full)} points, ${count(simple)} kept, ${bytes.length} bytes`,
)
if (borders.codesAt([-56.18, -34.9]).join() !== 'UY') throw new Error('Montevideo is not in Uruguay.')

function ringsOf({ type, coordinates }: Geometry): Point[][] {
  return type === 'Polygon' ? (coordinates as Point[][]) : (coordinates as Point[][][]).flat()
}

/** A measure of size on the sphere. Holes add to it, which does not matter where one area contains another. */
function sizeOf(geometry: Geometry): number {
  let size = 0
  for (const ring of ringsOf(geometry)) {
    let twice = 0
    for (let i = 1; i < ring.length; i++) {
      const [[ax, ay], [bx, by]] = [ring[i - 1]!, ring[i]!]
      twice += (bx - ax) * (Math.sin((ay / 180) * Math.PI) + Math.sin((by / 180) * Math.PI))
    }
    size += Math.abs(twice)
  }
  return size
}

/** Adds the edges of a line. A country whose border goes along an edge twice is on both sides of it. */
function addLine(to: Edges, points: readonly Point[], numbers: readonly number[]): void {
  for (let i = 1; i < points.length; i++) {
    const key = [points[i - 1]!.join(), points[i]!.join()].sort().join(' ')
    const countries = to.get(key) ?? new Set()
    for (const number of numbers) if (!countries.delete(number)) countries.add(number)
    to.set(key, countries)
  }
}

/** Joins edges to lines that end where more than two edges meet, or where another country begins. */
function linesOf(all: Edges): Line[] {
  const label = new Map<string, string>()
  const at = new Map<string, string[]>()
  for (const [key, numbers] of all) {
    const [a, b] = key.split(' ') as [string, string]
    if (numbers.size === 0 || a === b) continue
    label.set(key, [...numbers].sort((c, d) => c - d).join())
    for (const end of [a, b]) at.set(end, [...(at.get(end) ?? []), key])
  }
  const isEnd = (node: string): boolean => {
    const keys = at.get(node)!
    return keys.length !== 2 || label.get(keys[0]!) !== label.get(keys[1]!)
  }
  const left = new Set(label.keys())
  const lines: Line[] = []
  const walk = (from: string, first: string): void => {
    const nodes = [from]
    for (let key: string | undefined = first; key !== undefined;) {
      left.delete(key)
      const [a, b] = key.split(' ') as [string, string]
      const node = a === nodes.at(-1) ? b : a
      nodes.push(node)
      key = isEnd(node) ? undefined : at.get(node)!.find((one) => left.has(one))
    }
    lines.push({
      numbers: label.get(first)!.split(',').map(Number),
      points: nodes.map((node) => node.split(',').map(Number) as unknown as Point),
    })
  }
  for (const node of at.keys())
    if (isEnd(node)) for (const key of at.get(node)!) if (left.has(key)) walk(node, key)
  for (const key of label.keys()) if (left.has(key)) walk(key.split(' ')[0]!, key)
  return lines
}

/** The points of a line without which it would be further from itself than this (Douglas and Peucker). */
function simplified(points: readonly Point[], meters: number): Point[] {
  const kept = new Uint8Array(points.length)
  const last = points.length - 1
  kept[0] = kept[last] = 1
  const parts: [number, number][] = [[0, last]]
  // A ring would become nothing.
  if (points[0]!.join() === points[last]!.join()) {
    const middle = Math.floor(last / 2)
    kept[middle] = 1
    parts.splice(0, 1, [0, middle], [middle, last])
  }
  for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
    const [from, to] = part
    let most = meters / UNIT_METERS
    let furthest = -1
    for (let i = from + 1; i < to; i++) {
      const distance = distanceTo(points[i]!, points[from]!, points[to]!)
      if (distance <= most) continue
      most = distance
      furthest = i
    }
    if (furthest < 0) continue
    kept[furthest] = 1
    parts.push([from, furthest], [furthest, to])
  }
  return points.filter((_, i) => kept[i] === 1)
}

/** In metres. */
function lengthOf(points: readonly Point[]): number {
  let length = 0
  for (let i = 1; i < points.length; i++) length += distanceTo(points[i]!, points[i - 1]!, points[i - 1]!)
  return length * UNIT_METERS
}

/** The distance of a point from an edge, in units of latitude. */
function distanceTo([x, y]: Point, [ax, ay]: Point, [bx, by]: Point): number {
  const scale = Math.cos((y / BORDER_UNITS / 180) * Math.PI)
  const [px, py, ux, uy] = [(x - ax) * scale, y - ay, (bx - ax) * scale, by - ay]
  const length = ux * ux + uy * uy
  const share = length === 0 ? 0 : Math.min(1, Math.max(0, (px * ux + py * uy) / length))
  return Math.hypot(px - share * ux, py - share * uy)
}

function encoded(lines: readonly Line[]): Uint8Array {
  const inCell = new Map<number, Line[]>()
  for (const { numbers, points } of lines)
    for (const [cell, part] of partsOf(points)) {
      const parts = inCell.get(cell) ?? []
      inCell.set(cell, parts)
      parts.push({ numbers, points: part })
    }
  const table = new ByteWriter()
  table.number(codes.length)
  for (const code of codes) table.text(code)
  const data = new ByteWriter()
  const own = new ByteWriter()
  const rows = rowsOfEdges(lines)
  let alike = 0
  let before = 0
  const flush = (): void => {
    if (alike === 0) return
    table.number(alike)
    table.number(before)
    alike = 0
  }
  for (let row = 0; row < ROWS; row++) {
    const inside = countriesAlong(rows, row)
    for (let column = 0; column < COLUMNS; column++) {
      const numbers = inside(column)
      const parts = inCell.get(row * COLUMNS + column)
      if (parts === undefined && numbers.length < 2) {
        const value = numbers[0] ?? 0
        if (value !== before) flush()
        before = value
        alike++
        continue
      }
      flush()
      own.clear()
      own.number(numbers.length)
      for (const number of numbers) own.number(number)
      own.number(parts?.length ?? 0)
      for (const part of parts ?? []) {
        own.number(part.numbers.length)
        for (const number of part.numbers) own.number(number)
        own.number(part.points.length)
        let [x, y] = [column * SIDE - 180 * BORDER_UNITS, row * SIDE - 90 * BORDER_UNITS]
        for (const [px, py] of part.points) {
          own.signed(px - x)
          own.signed(py - y)
          ;[x, y] = [px, py]
        }
      }
      table.number(0)
      table.number(own.length)
      data.raw(own.written())
    }
  }
  flush()
  table.raw(data.written())
  return table.written()
}

/** The parts of a line by the cells that their edges meet. */
function* partsOf(points: readonly Point[]): Generator<[cell: number, part: Point[]]> {
  const open = new Map<number, Point[]>()
  for (let i = 1; i < points.length; i++) {
    const [a, b] = [points[i - 1]!, points[i]!]
    const cells = new Set(cellsOf(a, b))
    for (const [cell, part] of open)
      if (!cells.has(cell)) {
        yield [cell, part]
        open.delete(cell)
      }
    for (const cell of cells) {
      const part = open.get(cell) ?? [a]
      open.set(cell, part)
      part.push(b)
    }
  }
  yield* open
}

/** The cells that an edge meets, and perhaps some beside it. */
function* cellsOf(a: Point, b: Point): Generator<number> {
  const [[ax, ay], [bx, by]] = a[0] <= b[0] ? [a, b] : [b, a]
  const columnAt = (x: number): number => Math.min(COLUMNS - 1, Math.floor((x + 180 * BORDER_UNITS) / SIDE))
  const rowAt = (y: number): number =>
    Math.min(ROWS - 1, Math.max(0, Math.floor((y + 90 * BORDER_UNITS) / SIDE)))
  const slope = ax === bx ? 0 : (by - ay) / (bx - ax)
  for (let column = columnAt(ax); column <= columnAt(bx); column++) {
    const west = Math.max(ax, column * SIDE - 180 * BORDER_UNITS)
    const east = Math.min(bx, (column + 1) * SIDE - 180 * BORDER_UNITS)
    const ys = ax === bx ? [ay, by] : [ay + slope * (west - ax), ay + slope * (east - ax)]
    // One unit more, because these are rounded.
    for (let row = rowAt(Math.min(...ys) - 1); row <= rowAt(Math.max(...ys) + 1); row++)
      yield row * COLUMNS + column
  }
}

interface NumberedEdge {
  readonly numbers: readonly number[]
  readonly a: Point
  readonly b: Point
}

/** The edges that cross the parallel of the references of each row of cells. */
function rowsOfEdges(lines: readonly Line[]): NumberedEdge[][] {
  const rows = Array.from({ length: ROWS }, (): NumberedEdge[] => [])
  for (const { numbers, points } of lines)
    for (let i = 1; i < points.length; i++) {
      const [a, b] = [points[i - 1]!, points[i]!]
      const low = Math.max(0, Math.floor((Math.min(a[1], b[1]) + 90 * BORDER_UNITS) / SIDE) - 1)
      const high = Math.min(ROWS - 1, Math.floor((Math.max(a[1], b[1]) + 90 * BORDER_UNITS) / SIDE))
      for (let row = low; row <= high; row++) {
        const y = referenceOf(row) - 90 * BORDER_UNITS
        if (a[1] > y !== b[1] > y) rows[row]!.push({ numbers, a, b })
      }
    }
  return rows
}

function referenceOf(index: number): number {
  return (index + BORDER_REFERENCE) * SIDE
}

/** Tells which countries contain the reference of a cell of a row, by the borders west of it. */
function countriesAlong(rows: readonly NumberedEdge[][], row: number): (column: number) => number[] {
  const y = referenceOf(row) - 90 * BORDER_UNITS
  const crossings = rows[row]!.map(({ numbers, a: [ax, ay], b: [bx, by] }) => ({
    numbers,
    x: ((bx - ax) * (y - ay)) / (by - ay) + ax,
  })).sort((p, q) => p.x - q.x)
  const inside = new Set<number>()
  let next = 0
  return (column) => {
    const x = referenceOf(column) - 180 * BORDER_UNITS
    for (; next < crossings.length && crossings[next]!.x < x; next++)
      for (const number of crossings[next]!.numbers) if (!inside.delete(number)) inside.add(number)
    return [...inside].sort((a, b) => a - b)
  }
}
