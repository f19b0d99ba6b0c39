/** House numbers along a line, of which only the first and the last are known. Pure. */
import { pointDistance } from '../../geometry/distance.ts'
import type { Position } from '../../model/geofence.ts'
import { nearestOnLine } from './areas.ts'
import { BLOCK, numberValue } from './houseNumbers.ts'

/** The numbers that a range has: every second one on one side of a street, or all. */
export type Parity = 'even' | 'odd' | 'all'

/** Numbers along a line. It begins at `first` and ends at `last`, which may be lower. */
export interface NumberRange {
  readonly first: string
  readonly last: string
  readonly parity: Parity
  readonly line: readonly Position[]
}

/** A number and where it lies on the line. */
export interface NumberOnLine {
  readonly number: string
  readonly position: Position
}

/** Wider ranges than this say nothing about where a house is. */
const WIDEST = 5000
const NUMBER = /^\d{1,6}(?:-\d{1,4})?$/

/**
 * The values of the numbers of a range; see numberValue.
 * @returns undefined if they are not numbers, are in different blocks or too far apart, or if none has the parity
 */
export function rangeValues({
  first,
  last,
  parity,
}: Pick<NumberRange, 'first' | 'last' | 'parity'>): { low: number; high: number } | undefined {
  if (!NUMBER.test(first) || !NUMBER.test(last)) return undefined
  const [a, b] = [numberValue(first), numberValue(last)]
  const [low, high] = a < b ? [a, b] : [b, a]
  if (first.includes('-') !== last.includes('-') || blockOf(first) !== blockOf(last)) return undefined
  if (high - low > WIDEST || !(hasParity(low, parity) || hasParity(low + 1, parity))) return undefined
  return low === high && !hasParity(low, parity) ? undefined : { low, high }
}

export function hasParity(value: number, parity: Parity): boolean {
  return parity === 'all' || (value % 2 === 0) === (parity === 'even')
}

/**
 * The position of a number in proportion along the line.
 * @param value in the range
 */
export function numberOnLine(range: NumberRange, value: number): NumberOnLine {
  const [a, b] = [numberValue(range.first), numberValue(range.last)]
  const share = a === b ? 0.5 : (value - a) / (b - a)
  return { number: numberText(value, range.first), position: pointAt(range.line, share) }
}

/** The number of the range that lies nearest to where the line comes nearest to a point. */
export function nearestNumber(range: NumberRange, point: Position): NumberOnLine {
  const [a, b] = [numberValue(range.first), numberValue(range.last)]
  const exact = a + shareOf(range.line, nearestOnLine(range.line, point).at) * (b - a)
  const [low, high] = a < b ? [a, b] : [b, a]
  const values = [-1, 0, 1, 2]
    .map((more) => Math.floor(exact) + more)
    .filter((value) => value >= low && value <= high && hasParity(value, range.parity))
  const value = values.reduce((best, one) => (Math.abs(one - exact) < Math.abs(best - exact) ? one : best))
  return numberOnLine(range, value)
}

/** The number as a text, like the one beside it: `89-01` for a value with a block. */
function numberText(value: number, like: string): string {
  const dash = like.indexOf('-')
  if (dash < 0) return String(value)
  const house = String(value % BLOCK).padStart(like.length - dash - 1, '0')
  return `${Math.floor(value / BLOCK)}-${house}`
}

function blockOf(number: string): string {
  return number.includes('-') ? number.slice(0, number.indexOf('-')) : ''
}

/** The point at a share of the length of a line, from 0 to 1. */
function pointAt(line: readonly Position[], share: number): Position {
  const lengths = line.slice(1).map((position, index) => distance(line[index]!, position))
  let left = share * lengths.reduce((sum, length) => sum + length, 0)
  for (const [index, length] of lengths.entries()) {
    if (left > length && index < lengths.length - 1) {
      left -= length
      continue
    }
    const [[ax, ay], [bx, by]] = [line[index]!, line[index + 1]!]
    const along = length === 0 ? 0 : Math.min(1, left / length)
    return [ax + (bx - ax) * along, ay + (by - ay) * along]
  }
  return line[0]!
}

/** The share of a line at which a point of it lies. It is the inverse of {@link pointAt}. */
function shareOf(line: readonly Position[], point: Position): number {
  let total = 0
  let before = 0
  let least = Infinity
  for (let index = 1; index < line.length; index++) {
    const segment = [line[index - 1]!, line[index]!] as const
    const { at, meters } = nearestOnLine(segment, point)
    if (meters < least) {
      least = meters
      before = total + distance(segment[0], at)
    }
    total += distance(...segment)
  }
  return total === 0 ? 0 : before / total
}

function distance([x, y]: Position, [px, py]: Position): number {
  return pointDistance(y, x, py, px)
}
