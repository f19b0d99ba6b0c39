import type { Position } from '../../model/geofence.ts'
import { UNITS } from './schema.ts'

/**
 * Lines as bytes: their number, the number of positions of each, then all positions. Numbers have 32 bits,
 * little-endian, and positions are in units of the database.
 */
export function packLines(lines: readonly (readonly Position[])[]): Buffer {
  const count = lines.reduce((sum, line) => sum + line.length, 0)
  const numbers = new Int32Array(1 + lines.length + 2 * count)
  let at = 0
  numbers[at++] = lines.length
  for (const line of lines) numbers[at++] = line.length
  for (const line of lines) {
    for (const [x, y] of line) {
      numbers[at++] = unitsOf(x)
      numbers[at++] = unitsOf(y)
    }
  }
  return Buffer.from(numbers.buffer)
}

/** Whether a position is inside of packed rings, which means in an odd number of them. */
export function isInPackedRings(bytes: Buffer, position: Position): boolean {
  const numbers = numbersOf(bytes)
  const [x, y] = position.map((degrees) => degrees * UNITS) as [number, number]
  let inside = false
  let at = 1 + numbers[0]!
  for (let i = 1; i <= numbers[0]!; i++) {
    let ax = numbers[at]!
    let ay = numbers[at + 1]!
    const end = at + 2 * numbers[i]!
    for (at += 2; at < end; at += 2) {
      const bx = numbers[at]!
      const by = numbers[at + 1]!
      if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) inside = !inside
      ax = bx
      ay = by
    }
  }
  return inside
}

/**
 * Whether packed rings may have a part in a box in units. If not, all points of the box are inside of the same rings.
 */
export function passesThrough(
  bytes: Buffer,
  [west, south, east, north]: readonly [number, number, number, number],
): boolean {
  const numbers = numbersOf(bytes)
  let at = 1 + numbers[0]!
  for (let i = 1; i <= numbers[0]!; i++) {
    let ax = numbers[at]!
    let ay = numbers[at + 1]!
    const end = at + 2 * numbers[i]!
    for (at += 2; at < end; at += 2) {
      const bx = numbers[at]!
      const by = numbers[at + 1]!
      if (
        Math.min(ax, bx) <= east &&
        Math.max(ax, bx) >= west &&
        Math.min(ay, by) <= north &&
        Math.max(ay, by) >= south
      )
        return true
      ax = bx
      ay = by
    }
  }
  return false
}

/** The inverse of {@link packLines}, in degrees. */
export function unpackLines(bytes: Buffer): Position[][] {
  const numbers = numbersOf(bytes)
  const lines: Position[][] = []
  let at = 1 + numbers[0]!
  for (let i = 1; i <= numbers[0]!; i++) {
    const line: Position[] = []
    for (let n = numbers[i]!; n > 0; n--) line.push([numbers[at++]! / UNITS, numbers[at++]! / UNITS])
    lines.push(line)
  }
  return lines
}

/** The numbers, copied, because those of a typed array must be at a multiple of four bytes. */
function numbersOf(bytes: Buffer): Int32Array {
  return new Int32Array(Uint8Array.from(bytes).buffer)
}

export function unitsOf(degrees: number): number {
  return Math.round(degrees * UNITS)
}
