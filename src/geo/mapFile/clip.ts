/** Cuts lines and rings at the edges of a square box. The code is pure, and coordinates are whole numbers. */

/** A box from `min` to `max` in x and y. */
export interface ClipBox {
  readonly west: number
  readonly north: number
  readonly east: number
  readonly south: number
}

/** The square of a tile or cell with a margin around it. */
export function squareBox(side: number, margin: number): ClipBox {
  return { west: -margin, north: -margin, east: side + margin, south: side + margin }
}

/**
 * The pieces of a line in the box.
 * @param line x, y, x, y
 */
export function clipLine(line: ArrayLike<number>, box: ClipBox): number[][] {
  const { west, north, east, south } = box
  const where = placeIn(line, box)
  if (where !== 'across') return where === 'outside' ? [] : [Array.from(line)]
  const pieces: number[][] = []
  let piece: number[] | undefined
  for (let i = 2; i < line.length; i += 2) {
    const [ax, ay, bx, by] = [line[i - 2]!, line[i - 1]!, line[i]!, line[i + 1]!]
    // Liang–Barsky: the shares of the segment at which it enters and leaves the box.
    let [enters, leaves] = [0, 1]
    let isOutside = false
    for (let edge = 0; edge < 4; edge++) {
      const [step, room] =
        edge === 0
          ? [ax - bx, ax - west]
          : edge === 1
            ? [bx - ax, east - ax]
            : edge === 2
              ? [ay - by, ay - north]
              : [by - ay, south - ay]
      if (step === 0) isOutside ||= room < 0
      else if (step < 0) enters = Math.max(enters, room / step)
      else leaves = Math.min(leaves, room / step)
    }
    if (isOutside || enters > leaves) {
      piece = undefined
      continue
    }
    const at = (share: number): [number, number] =>
      share === 0
        ? [ax, ay]
        : share === 1
          ? [bx, by]
          : [Math.round(ax + (bx - ax) * share), Math.round(ay + (by - ay) * share)]
    if (piece === undefined || enters > 0) pieces.push((piece = at(enters)))
    piece.push(...at(leaves))
    if (leaves < 1) piece = undefined
  }
  return pieces
}

/**
 * A ring cut at the box (Sutherland–Hodgman). If several pieces are left, edges of the box join them, which areas do
 * not show.
 * @param ring x, y, x, y, not closed
 * @returns empty if nothing is left
 */
export function clipRing(ring: ArrayLike<number>, box: ClipBox): ArrayLike<number> {
  const where = placeIn(ring, box)
  if (where !== 'across') return where === 'outside' ? [] : ring
  let cut = ring
  for (const [axis, limit, side] of [
    [0, box.west, 1],
    [0, box.east, -1],
    [1, box.north, 1],
    [1, box.south, -1],
  ] as const)
    cut = clipSide(cut, axis, limit, side)
  return cut.length < 6 ? [] : cut
}

/** Where points lie, as far as their bounds tell. */
function placeIn(
  points: ArrayLike<number>,
  { west, north, east, south }: ClipBox,
): 'inside' | 'outside' | 'across' {
  let least = Infinity
  let most = -Infinity
  let top = Infinity
  let bottom = -Infinity
  for (let i = 0; i < points.length; i += 2) {
    const x = points[i]!
    const y = points[i + 1]!
    if (x < least) least = x
    if (x > most) most = x
    if (y < top) top = y
    if (y > bottom) bottom = y
  }
  if (most < west || least > east || bottom < north || top > south) return 'outside'
  return least >= west && most <= east && top >= north && bottom <= south ? 'inside' : 'across'
}

/**
 * The part of a ring on one side of a line.
 * @param axis 0: x, 1: y
 * @param side 1 keeps what is larger than the limit, -1 what is smaller
 */
function clipSide(ring: ArrayLike<number>, axis: 0 | 1, limit: number, side: 1 | -1): number[] {
  const kept: number[] = []
  let [ax, ay] = [ring[ring.length - 2]!, ring[ring.length - 1]!]
  let before = ((axis === 0 ? ax : ay) - limit) * side
  for (let i = 0; i < ring.length; i += 2) {
    const [bx, by] = [ring[i]!, ring[i + 1]!]
    const now = ((axis === 0 ? bx : by) - limit) * side
    if (before >= 0 !== now >= 0) {
      const share = before / (before - now)
      if (axis === 0) kept.push(limit, Math.round(ay + (by - ay) * share))
      else kept.push(Math.round(ax + (bx - ax) * share), limit)
    }
    if (now >= 0) kept.push(bx, by)
    ax = bx
    ay = by
    before = now
  }
  return kept
}

/** Twice the area of a ring, in square units; positive if it runs clockwise on the map, where y grows to the south. */
export function doubleArea(ring: ArrayLike<number>): number {
  let sum = 0
  const ox = ring[0]!
  const oy = ring[1]!
  let ax = 0
  let ay = 0
  for (let i = 2; i < ring.length; i += 2) {
    const bx = ring[i]! - ox
    const by = ring[i + 1]! - oy
    sum += ax * by - bx * ay
    ax = bx
    ay = by
  }
  return sum
}
