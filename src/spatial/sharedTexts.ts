/** How many texts may be shared. Numbers have 16 bits, and the highest one means none. */
const MOST_TEXTS = 0xffff
/** How many characters all texts together may have. */
const MOST_CHARACTERS = 4 * 1024 * 1024
/** The number that stands for a text without a number, because the table is full. */
export const UNSHARED = 0xffff

const numbers = new Map<string, number>()
const texts: string[] = []
let characters = 0

/**
 * The number of a text that many records share, such as a tag or a time zone; {@link UNSHARED} if there is no room.
 * Numbers are valid in this process only and are never freed; the table is bounded instead.
 */
export function shareText(text: string): number {
  const known = numbers.get(text)
  if (known !== undefined) return known
  if (texts.length === MOST_TEXTS || characters + text.length > MOST_CHARACTERS) return UNSHARED
  characters += text.length
  numbers.set(text, texts.length)
  return texts.push(text) - 1
}

/** The number of a text that was shared before; {@link UNSHARED} if it was not. */
export function numberOfText(text: string): number {
  return numbers.get(text) ?? UNSHARED
}

/** The text with that number. */
export function sharedText(number: number): string {
  return texts[number]!
}
