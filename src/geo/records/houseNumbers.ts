import { fold } from '../text/words.ts'

/** The number of values in a block of houses. In `89-01`, 89 is the block. */
export const BLOCK = 10_000

/** A key that is the same for equal numbers: `12 B`, `12b`. */
export function numberKey(number: string): string {
  return fold(number).replaceAll(' ', '')
}

/** The value by which house numbers are sorted and compared: 12 for `12 bis`, 890,001 for `89-01`, 0 for `A`. */
export function numberValue(number: string): number {
  const [, first, second] = /^(\d{1,6})(?:-(\d{1,4}))?/.exec(fold(number)) ?? []
  if (first === undefined) return 0
  return second === undefined ? Number(first) : Number(first) * BLOCK + Number(second)
}
