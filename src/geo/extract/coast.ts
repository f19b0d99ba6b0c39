/**
 * Finds the land and sea of a map region by its coastlines. A coastline is a line, often cut off where the extract
 * ends, so areas are made cell by cell: in each cell that a coastline crosses, its pieces are closed along the edge of
 * the cell. If a piece ends inside, the cell is unknown, and the map shows the outline of the world there. The cells
 * around are land or sea like the edges of their neighbours.
 */
import type { Position } from '../../model/geofence.ts'
import { COAST, LAND, SEA, UNKNOWN } from '../mapFile/block.ts'
import { cutToCells } from '../mapFile/cells.ts'
import { doubleArea } from '../mapFile/clip.ts'
import { generalise, thinned } from '../mapFile/generalise.ts'
import { cellUnits, project, MAP_REGION_LEVELS, type Level } from '../mapFile/grid.ts'
import { kindNumber } from '../mapFile/kinds.ts'
import { marginOf, type MapWriter } from '../mapFile/mapWriter.ts'

/**
 * How many cells around a coast are known to be land or sea, which is eight kilometres. Farther away, the outline of
 * the world, which is off by one or two kilometres, says the same.
 */
const REACH = 4

const EARTH = kindNumber('earth earth area')
const [FINE] = MAP_REGION_LEVELS as [Level]
/** The number of cells of zoom 14 in a row. */
const COLUMNS = 2 ** FINE.zoom

type Ring = readonly number[]

/** The land in a cell that a coastline crosses. */
export interface CoastCell {
  /** Rings like those of MapFeature, relative to the corner of the cell. */
  readonly land: readonly Ring[]
  /** Whether each edge is land, in the order east, north, west, south. Undefined if a coastline crosses it. */
  readonly edges: readonly (boolean | undefined)[]
}

/**
 * Adds the land.
 * @param coastlines each has land on its left
 */
export function addLand(coastlines: readonly (readonly Position[])[], writer: MapWriter): void {
  const pieces = new Map<number, Ring[]>()
  for (const line of coastlines) {
    const parts = generalise('line', [line.flatMap(project)], FINE)
    cutToCells('line', parts, FINE, marginOf(FINE), (x, y, inside) => {
      const cell = y * COLUMNS + x
      const known = pieces.get(cell)
      const lines = inside.map((part) => Array.from(part))
      if (known === undefined) pieces.set(cell, lines)
      else for (const part of lines) known.push(part)
    })
  }
  const coast = new Map<number, CoastCell>()
  for (const [cell, lines] of pieces) {
    const found = closeCell(lines, cellUnits(FINE), marginOf(FINE))
    if (found !== undefined) coast.set(cell, found)
  }
  const states = flood(coast, pieces)
  for (const level of MAP_REGION_LEVELS) if (level.until > 8) writeLevel(level, coast, states, writer)
}

/**
 * The land of a cell.
 * @param lines the pieces of coastlines in it, which may continue each other; land is on their left
 * @returns undefined if they do not tell, because one ends inside or they cross each other
 */
export function closeCell(lines: readonly Ring[], side: number, margin: number): CoastCell | undefined {
  const box: CellBox = { low: -margin, high: side + margin }
  const { loops, open } = joined(lines.filter((line) => line.length >= 4))
  const crossings = open.map((line) => ({
    line,
    from: perimeterOf(box, line[0]!, line[1]!),
    to: perimeterOf(box, line.at(-2)!, line.at(-1)!),
  }))
  if (crossings.some(({ from, to }) => from === undefined || to === undefined)) return undefined
  const rings = closed(box, crossings as Crossing[])
  if (rings === undefined) return undefined
  const outer = rings.map(clockwise)
  const islands: Ring[] = []
  const holes: Ring[] = []
  for (const loop of loops) {
    const area = doubleArea(loop)
    if (area === 0) continue
    // With land on the left, the line around an island runs anticlockwise.
    if (area < 0) islands.push(clockwise(loop))
    else holes.push(counterclockwise(loop))
  }
  if (outer.length + islands.length + holes.length === 0) return undefined
  const largest = [...islands, ...holes].sort((a, b) => Math.abs(doubleArea(b)) - Math.abs(doubleArea(a)))[0]
  // Nothing crosses the edge, so it is sea around an island, and land around a bay or a lake.
  if (outer.length === 0 && largest !== undefined && holes.includes(largest)) outer.push(wholeBox(box))
  const land: Ring[] = []
  for (const ring of [...outer, ...islands]) {
    land.push(ring, ...holes.filter((hole) => isIn(ring, hole[0]!, hole[1]!)))
  }
  const length = box.high - box.low
  const edges = [0, 1, 2, 3].map((edge) => {
    const isCrossed = (crossings as Crossing[]).some(({ from, to }) =>
      [from, to].some((at) => at >= edge * length && at <= (edge + 1) * length),
    )
    if (isCrossed) return undefined
    const [x, y] = pointAt(box, (edge + 0.5) * length)
    // The point is moved a little inside, because a point on an edge is neither in nor out.
    const inward = (value: number): number =>
      value === box.high ? value - 1 : value === box.low ? value + 1 : value
    return land.filter((ring) => isIn(ring, inward(x), inward(y))).length % 2 === 1
  })
  return { land, edges }
}

/** A square from low to high in both directions. */
interface CellBox {
  readonly low: number
  readonly high: number
}

/**
 * A line from one point of the edge to another. Both are given as distances along the edge from its south-eastern
 * corner.
 */
interface Crossing {
  readonly line: Ring
  readonly from: number
  readonly to: number
}

/**
 * Closes the lines along the edge, with land on the left, which is anticlockwise.
 * @returns undefined if lines cross each other
 */
function closed(box: CellBox, crossings: readonly Crossing[]): Ring[] | undefined {
  const round = 4 * (box.high - box.low)
  const left = new Set(crossings)
  const byStart = crossings.toSorted((a, b) => a.from - b.from)
  const rings: Ring[] = []
  for (const first of crossings) {
    if (!left.has(first)) continue
    const ring: number[] = []
    let line = first
    do {
      if (!left.delete(line)) return undefined
      for (const value of line.line) ring.push(value)
      // The next line that begins behind the end of this one.
      const { to }: Crossing = line
      const next = byStart.find(({ from }) => from >= to) ?? byStart[0]!
      const end = next.from >= to ? next.from : next.from + round
      // If another line ended between the two, it is not known on which side of that line the land is.
      if (crossings.some((one) => one !== line && isBetween(one.to, to, end, round))) return undefined
      for (let corner = Math.floor(to / (round / 4)) + 1; (corner * round) / 4 < end; corner++)
        ring.push(...pointAt(box, ((corner * round) / 4) % round))
      line = next
    } while (line !== first)
    rings.push(ring)
  }
  return rings
}

function isBetween(at: number, from: number, to: number, round: number): boolean {
  return (at > from && at < to) || (at + round > from && at + round < to)
}

/** Joins lines that continue each other. Loops are returned without their last point. */
function joined(lines: readonly Ring[]): { loops: Ring[]; open: Ring[] } {
  const byStart = new Map<string, Ring[]>()
  for (const line of lines) {
    const key = `${line[0]},${line[1]}`
    byStart.set(key, [...(byStart.get(key) ?? []), line])
  }
  const take = (key: string): Ring | undefined => byStart.get(key)?.pop()
  const ends = new Set(lines.map((line) => `${line.at(-2)},${line.at(-1)}`))
  const loops: Ring[] = []
  const open: Ring[] = []
  const follow = (first: Ring): void => {
    const line = [...first]
    for (;;) {
      if (line.length > 4 && line[0] === line.at(-2) && line[1] === line.at(-1)) {
        loops.push(line.slice(0, -2))
        return
      }
      const next = take(`${line.at(-2)},${line.at(-1)}`)
      if (next === undefined) break
      for (let i = 2; i < next.length; i++) line.push(next[i]!)
    }
    open.push(line)
  }
  // Lines that no other leads to come first, so that no line is joined from its middle.
  for (const [key, starting] of byStart) while (!ends.has(key) && starting.length > 0) follow(starting.pop()!)
  for (const starting of byStart.values()) while (starting.length > 0) follow(starting.pop()!)
  return { loops, open }
}

/**
 * The distance along the edge to a point on it: up the east side, along the north side, down the west side, along the
 * south side.
 */
function perimeterOf({ low, high }: CellBox, x: number, y: number): number | undefined {
  const side = high - low
  if (x === high) return high - y
  if (y === low) return side + high - x
  if (x === low) return 2 * side + y - low
  if (y === high) return 3 * side + x - low
  return undefined
}

/** The inverse of {@link perimeterOf}. */
function pointAt({ low, high }: CellBox, at: number): [x: number, y: number] {
  const side = high - low
  const along = at % side
  const edge = Math.floor(at / side)
  if (edge === 0) return [high, high - along]
  if (edge === 1) return [high - along, low]
  return edge === 2 ? [low, low + along] : [low + along, high]
}

function wholeBox({ low, high }: CellBox): Ring {
  return [low, low, high, low, high, high, low, high]
}

function clockwise(ring: Ring): Ring {
  return doubleArea(ring) >= 0 ? ring : reversed(ring)
}

function counterclockwise(ring: Ring): Ring {
  return doubleArea(ring) >= 0 ? reversed(ring) : ring
}

function reversed(ring: Ring): Ring {
  return ring.flatMap((_, i) => (i % 2 === 0 ? [ring.at(-2 - i)!, ring.at(-1 - i)!] : []))
}

function isIn(ring: Ring, x: number, y: number): boolean {
  let inside = false
  let [ax, ay] = [ring.at(-2)!, ring.at(-1)!]
  for (let i = 0; i < ring.length; i += 2) {
    const [bx, by] = [ring[i]!, ring[i + 1]!]
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) inside = !inside
    ax = bx
    ay = by
  }
  return inside
}

/** The steps to the neighbours beyond the edges. */
const STEPS: readonly (readonly [dx: number, dy: number])[] = [
  [1, 0],
  [0, -1],
  [-1, 0],
  [0, 1],
]

/**
 * The land states of the cells around coasts.
 * @param crossed all cells with a coastline, known or not
 */
function flood(
  coast: ReadonlyMap<number, CoastCell>,
  crossed: ReadonlyMap<number, unknown>,
): Map<number, number> {
  const states = new Map<number, number>()
  for (const cell of coast.keys()) states.set(cell, COAST)
  let edge = new Map<number, number>()
  const spread = (cell: number, way: number, state: number): void => {
    const [dx, dy] = STEPS[way]!
    const [x, y] = [(cell % COLUMNS) + dx, Math.floor(cell / COLUMNS) + dy]
    if (x < 0 || y < 0 || x >= COLUMNS || y >= COLUMNS) return
    const next = y * COLUMNS + x
    if (crossed.has(next) || states.has(next)) return
    states.set(next, state)
    edge.set(next, state)
  }
  for (const [cell, { edges }] of coast)
    for (const [way, isLand] of edges.entries())
      if (isLand !== undefined) spread(cell, way, isLand ? LAND : SEA)
  for (let step = 1; step < REACH; step++) {
    const before = edge
    edge = new Map()
    for (const [cell, state] of before) for (const way of STEPS.keys()) spread(cell, way, state)
  }
  return states
}

/** Adds the land to a level: the states of cells of zoom 14, and the land of those with a coast. */
function writeLevel(
  level: Level,
  coast: ReadonlyMap<number, CoastCell>,
  states: ReadonlyMap<number, number>,
  writer: MapWriter,
): void {
  const inRow = 2 ** (FINE.zoom - level.zoom)
  const scale = 2 ** (FINE.shift - level.shift)
  const blocks = new Map<string, Uint8Array>()
  for (const [cell, state] of states) {
    const [column, row] = [cell % COLUMNS, Math.floor(cell / COLUMNS)]
    const [x, y] = [Math.floor(column / inRow), Math.floor(row / inRow)]
    let block = blocks.get(`${x},${y}`)
    if (block === undefined) blocks.set(`${x},${y}`, (block = new Uint8Array(inRow * inRow).fill(UNKNOWN)))
    block[(row % inRow) * inRow + (column % inRow)] = state
    if (state !== COAST) continue
    const [left, top] = [(column % inRow) * cellUnits(FINE) * scale, (row % inRow) * cellUnits(FINE) * scale]
    const land = coast
      .get(cell)!
      .land.map((ring) => ring.map((value, i) => Math.round(value * scale) + (i % 2 === 0 ? left : top)))
    const parts = level === FINE ? land : thinned('area', land, 2, 8)
    writer.addToCell({ kind: EARTH, flags: 0 }, parts, level, x, y)
  }
  for (const [key, block] of blocks) {
    const [x, y] = key.split(',').map(Number) as [number, number]
    writer.setStates(level, x, y, block)
  }
}
