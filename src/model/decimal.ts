/**
 * The largest length of a text that is read as a number: JavaScript prints at most 25 characters, other languages a
 * few more.
 */
export const MAX_DECIMAL_LENGTH = 128

/**
 * JSON's numbers, and forms that people type as well: `+1`, `.5`, `1.`. Each digit can match in only one way: with
 * `\d+\.?\d*`, a long row of digits that does not end as a number costs the square of its length.
 */
const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i

/** The number that a text stands for, which may be infinite (`1e999`); NaN for all other texts, and for longer ones. */
export function decimalOf(text: string): number {
  return text.length <= MAX_DECIMAL_LENGTH && DECIMAL.test(text) ? Number(text) : Number.NaN
}
