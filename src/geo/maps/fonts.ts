/** The fonts of maps, by the names that styles use. */

export const FONT_PACKAGE = '@fontsource/noto-sans'

/** How many letters a file of letters has. */
export const LETTERS = 256
/** The last letter of the first plane of Unicode. Clients ask for no others. */
export const MOST_LETTER = 65_535

/** For each font, its weight in the package. */
export const FONT_WEIGHTS = { 'Noto Sans Regular': 400, 'Noto Sans Medium': 500 } as const

export type FontName = keyof typeof FONT_WEIGHTS

/** Fonts that clients ask for if a layer does not name one. They get our regular font. */
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
