/** Characters of the longest text that is read as a number: JavaScript prints at most 25, other languages some more. */
export const MAX_DECIMAL_LENGTH = 128

/**
 * JSON's numbers, and what people type beside them: `+1`, `.5`, `1.`. Digits that come before a point cannot be taken for
 * digits behind it: with `\d+\.?\d*` a long row of digits that does not end as a number costs the square of its length.
 */
const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i

/** The number that a text stands for, which may be infinite (`1e999`); NaN for every other text, and for longer ones. */
export function decimalOf(text: string): number {
  return text.length <= MAX_DECIMAL_LENGTH && DECIMAL.test(text) ? Number(text) : Number.NaN
}
