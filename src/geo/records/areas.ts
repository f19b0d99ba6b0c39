/** The geometry of records: lines and areas in degrees, measured in metres as the records need it. Pure. */
import { pointDistance } from '../../geometry/distance.ts'
import type { Position } from '../../model/geofence.ts'

/** Closed rings: the first and last position are equal. Points inside an odd number of them are in the area. */
export type Rings = readonly (readonly Position[])[]

/** Metres in a degree of latitude. */
const DEGREE_METERS = 111_195

/** Whether a position is inside the area. Points on its edges count on one side only. */
export function isInside(rings: Rings, [x, y]: Position): boolean {
  let inside = false
  for (const ring of rings) {
    for (let i = 1; i < ring.length; i++) {
      const [ax, ay] = ring[i - 1]!
      const [bx, by] = ring[i]!
      if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) inside = !inside
    }
  }
  return inside
}

/** The size of a ring in square metres. It is accurate to some per cent, which is enough to compare areas. */
export function ringArea(ring: readonly Position[]): number {
  const scale = DEGREE_METERS * DEGREE_METERS * Math.cos((ring[0]![1] * Math.PI) / 180)
  return Math.abs(signedSize(ring)) * scale
}

/**
 * A point that represents the area: the centroid of its largest ring if it lies inside, otherwise the middle of the
 * widest part on the centroid's latitude.
 */
export function pointInside(rings: Rings): Position {
  const largest = rings.reduce((a, b) => (Math.abs(signedSize(b)) > Math.abs(signedSize(a)) ? b : a))
  const centre = centroid(largest)
  if (isInside(rings, centre)) return centre
  const crossings: number[] = []
  const y = centre[1]
  for (const ring of rings) {
    for (let i = 1; i < ring.length; i++) {
      const [ax, ay] = ring[i - 1]!
      const [bx, by] = ring[i]!
      if (ay > y !== by > y) crossings.push(((bx - ax) * (y - ay)) / (by - ay) + ax)
    }
  }
  crossings.sort((a, b) => a - b)
  let widest = -1
  let middle = largest[0]!
  for (let i = 0; i + 1 < crossings.length; i += 2) {
    const width = crossings[i + 1]! - crossings[i]!
    if (width > widest) {
      widest = width
      middle = [(crossings[i]! + crossings[i + 1]!) / 2, y]
    }
  }
  return middle
}

/** The middle of a line by its number of positions, where the name of a street would be written. */
export function middleOf(line: readonly Position[]): Position {
  return line[line.length >> 1]!
}

/**
 * The position of a line that is nearest to a point, on a plane around the point. It is accurate to a per mille within
 * some kilometres.
 */
export function nearestOnLine(line: readonly Position[], [x, y]: Position): { at: Position; meters: number } {
  const scale = Math.cos((y * Math.PI) / 180)
  let best: Position = line[0]!
  let least = Infinity
  const consider = (px: number, py: number): void => {
    const [dx, dy] = [(px - x) * scale, py - y]
    const square = dx * dx + dy * dy
    if (square >= least) return
    least = square
    best = [px, py]
  }
  consider(...line[0]!)
  for (let i = 1; i < line.length; i++) {
    const [ax, ay] = line[i - 1]!
    const [bx, by] = line[i]!
    const [ux, uy] = [(bx - ax) * scale, by - ay]
    const length = ux * ux + uy * uy
    const share = length === 0 ? 0 : ((x - ax) * scale * ux + (y - ay) * uy) / length
    const along = Math.min(1, Math.max(0, share))
    consider(ax + (bx - ax) * along, ay + (by - ay) * along)
  }
  return { at: best, meters: pointDistance(y, x, best[1], best[0]) }
}

/**
 * Joins lines to rings. The lines are the ways of a multipolygon, each of which may be a part of a ring in either
 * direction.
 * @returns only complete rings; parts of a ring that an extract cuts off are left out
 */
export function joinRings(lines: readonly (readonly Position[])[]): Position[][] {
  const rings: Position[][] = []
  const open: (readonly Position[])[] = []
  for (const line of lines) {
    if (line.length > 3 && same(line[0]!, line.at(-1)!)) rings.push([...line])
    else if (line.length > 1) open.push(line)
  }
  const byEnd = new Map<string, Set<readonly Position[]>>()
  const key = ([x, y]: Position): string => `${x},${y}`
  const ends = (line: readonly Position[]): string[] => [key(line[0]!), key(line.at(-1)!)]
  for (const line of open)
    for (const end of ends(line)) byEnd.set(end, (byEnd.get(end) ?? new Set()).add(line))
  const remove = (line: readonly Position[]): void => {
    for (const end of ends(line)) byEnd.get(end)!.delete(line)
  }
  for (const first of open) {
    if (!byEnd.get(key(first[0]!))!.has(first)) continue
    remove(first)
    const ring = [...first]
    while (!same(ring[0]!, ring.at(-1)!)) {
      const end = key(ring.at(-1)!)
      const [next] = byEnd.get(end) ?? []
      if (next === undefined) break
      remove(next)
      const forward = key(next[0]!) === end ? next : next.toReversed()
      for (const position of forward.slice(1)) ring.push(position)
    }
    if (ring.length > 3 && same(ring[0]!, ring.at(-1)!)) rings.push(ring)
  }
  return rings
}

function same(a: Position, b: Position): boolean {
  return a[0] === b[0] && a[1] === b[1]
}

/** The size in square degrees, negative if the ring runs clockwise. */
function signedSize(ring: readonly Position[]): number {
  let sum = 0
  const [ox, oy] = ring[0]!
  for (let i = 1; i < ring.length; i++) {
    const [ax, ay] = ring[i - 1]!
    const [bx, by] = ring[i]!
    sum += (ax - ox) * (by - oy) - (bx - ox) * (ay - oy)
  }
  return sum / 2
}

/** The centroid of a ring, in degrees; it may lie outside of it. */
export function centroid(ring: readonly Position[]): Position {
  const size = signedSize(ring)
  if (size === 0) return ring[0]!
  // Coordinates are relative to the first position, so that few digits are lost.
  const [ox, oy] = ring[0]!
  let x = 0
  let y = 0
  for (let i = 1; i < ring.length; i++) {
    const [ax, ay] = [ring[i - 1]![0] - ox, ring[i - 1]![1] - oy]
    const [bx, by] = [ring[i]![0] - ox, ring[i]![1] - oy]
    const cross = ax * by - bx * ay
    x += (ax + bx) * cross
    y += (ay + by) * cross
  }
  return [ox + x / (6 * size), oy + y / (6 * size)]
}
