/** Distributes shapes over the cells of a level. The code is pure. */
import { clipLine, clipRing, squareBox, type ClipBox } from './clip.ts'
import { cellUnits, type Level } from './grid.ts'
import type { MapShape } from './kinds.ts'
import type { Part } from './block.ts'

/**
 * How many cells one shape may be in. A shape that would be in more (half a continent with every detail) is only kept
 * in levels with less detail, because it would take unlimited memory and time.
 */
const MOST_CELLS = 40_000

/** Receives the part of a shape in a cell. Coordinates are relative to its north-west corner. */
export type CellSink = (x: number, y: number, parts: Part[]) => void

/**
 * Cuts a shape into the parts in each cell.
 * @param parts in units of the level: a point; lines; or rings like those of MapFeature
 * @param margin how many units around a cell also belong to it
 */
export function cutToCells(
  shape: MapShape,
  parts: readonly Part[],
  level: Level,
  margin: number,
  emit: CellSink,
): void {
  const side = cellUnits(level)
  const last = 2 ** level.zoom - 1
  if (shape === 'point') {
    const [x, y] = [cellOf(parts[0]![0]!, side, last), cellOf(parts[0]![1]!, side, last)]
    emit(x, y, [relative(parts[0]!, x * side, y * side)])
    return
  }
  const bounds = boundsOf(parts)
  const cells: ClipBox = {
    west: cellOf(bounds.west - margin, side, last),
    north: cellOf(bounds.north - margin, side, last),
    east: cellOf(bounds.east + margin, side, last),
    south: cellOf(bounds.south + margin, side, last),
  }
  if (cellCount(shape, parts, cells, side) > MOST_CELLS) return
  const clip = shape === 'line' ? clipLines : clipRings
  const split = (inside: readonly ArrayLike<number>[], { west, north, east, south }: ClipBox): void => {
    if (inside.length === 0) return
    if (west === east && north === south) {
      emit(
        west,
        north,
        inside.map((part) => relative(part, west * side, north * side)),
      )
      return
    }
    const isWide = east - west > south - north
    const middle = isWide ? (west + east) >> 1 : (north + south) >> 1
    for (const half of isWide
      ? [
          { west, north, east: middle, south },
          { west: middle + 1, north, east, south },
        ]
      : [
          { west, north, east, south: middle },
          { west, north: middle + 1, east, south },
        ])
      split(clip(inside, unitBox(half, side, margin)), half)
  }
  split(clip(parts, unitBox(cells, side, margin)), cells)
}

/** How many cells the shape may be in. It is never less than the number that it is in. */
function cellCount(shape: MapShape, parts: readonly Part[], cells: ClipBox, side: number): number {
  const box = (cells.east - cells.west + 1) * (cells.south - cells.north + 1)
  if (shape === 'area' || box <= MOST_CELLS) return box
  let count = 0
  for (const part of parts)
    for (let i = 2; i < part.length; i += 2)
      count += 1 + (Math.abs(part[i]! - part[i - 2]!) + Math.abs(part[i + 1]! - part[i - 1]!)) / side
  return count
}

function clipLines(lines: readonly ArrayLike<number>[], box: ClipBox): ArrayLike<number>[] {
  return lines.flatMap((line) => clipLine(line, box))
}

function clipRings(rings: readonly ArrayLike<number>[], box: ClipBox): ArrayLike<number>[] {
  return rings.map((ring) => clipRing(ring, box)).filter((ring) => ring.length > 0)
}

function unitBox({ west, north, east, south }: ClipBox, side: number, margin: number): ClipBox {
  const { east: right, south: bottom } = squareBox(side, margin)
  return {
    west: west * side - margin,
    north: north * side - margin,
    east: east * side + right,
    south: south * side + bottom,
  }
}

function boundsOf(parts: readonly Part[]): ClipBox {
  let [west, north, east, south] = [Infinity, Infinity, -Infinity, -Infinity]
  for (const part of parts) {
    for (let i = 0; i < part.length; i += 2) {
      west = Math.min(west, part[i]!)
      east = Math.max(east, part[i]!)
      north = Math.min(north, part[i + 1]!)
      south = Math.max(south, part[i + 1]!)
    }
  }
  return { west, north, east, south }
}

function cellOf(units: number, side: number, last: number): number {
  return Math.min(last, Math.max(0, Math.floor(units / side)))
}

function relative(part: ArrayLike<number>, x: number, y: number): number[] {
  return Array.from(part, (value, i) => value - (i % 2 === 0 ? x : y))
}
