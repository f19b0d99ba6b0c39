import { fold } from '../text/words.ts'

/** Values of a block of houses: in `89-01`, 89 is the block. */
export const BLOCK = 10_000

/** Numbers with the same key are the same: `12 B`, `12b`. */
export function numberKey(number: string): string {
  return fold(number).replaceAll(' ', '')
}

/** By what house numbers are sorted and compared: 12 for `12 bis`, 890,001 for `89-01`, 0 for `A`. */
export function numberValue(number: string): number {
  const [, first, second] = /^(\d{1,6})(?:-(\d{1,4}))?/.exec(fold(number)) ?? []
  if (first === undefined) return 0
  return second === undefined ? Number(first) : Number(first) * BLOCK + Number(second)
}
