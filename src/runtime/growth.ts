/** By how much columns grow. If they doubled, up to half of them would be empty. */
const GROWTH = 1.25

/**
 * For how many rows a column that is full is made anew.
 * @param wanted how many there must be
 * @param before how many there were
 */
export function roomFor(wanted: number, before: number): number {
  return Math.max(wanted, Math.ceil(before * GROWTH))
}
