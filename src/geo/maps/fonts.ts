/** The fonts of maps, by the names that styles have for them. */

export const FONT_PACKAGE = '@fontsource/noto-sans'

/** Letters in a file of them. */
export const LETTERS = 256
/** Of the first plane of Unicode, which is all that clients ask for. */
export const MOST_LETTER = 65_535

/** By font: its weight in the package. */
export const FONT_WEIGHTS = { 'Noto Sans Regular': 400, 'Noto Sans Medium': 500 } as const

export type FontName = keyof typeof FONT_WEIGHTS

/** What clients ask for where a layer of theirs names no font: they get our regular one. */
const STANDARD: ReadonlySet<string> = new Set(['Open Sans Regular', 'Arial Unicode MS Regular'])

/**
 * The font of a stack.
 * @param stack names in the order of preference, separated by commas
 * @returns undefined if none of them is known
 */
export function fontOf(stack: string): FontName | undefined {
  const names = stack.split(',').map((name) => name.trim())
  const own = names.find((name) => Object.hasOwn(FONT_WEIGHTS, name))
  if (own !== undefined) return own as FontName
  return names.some((name) => STANDARD.has(name)) ? 'Noto Sans Regular' : undefined
}
