import { cleanName } from './names.ts'
import type { Tags } from './tags.ts'

/** The address of an object according to its tags. */
export interface TaggedAddress {
  /** House numbers. There are several if the object has a list or a range of them, and always at least one. */
  readonly numbers: readonly string[]
  /** The value of `addr:street`, or of `addr:place` for houses that belong to no street. */
  readonly street: string
  readonly unit: string | undefined
  readonly city: string | undefined
  readonly state: string | undefined
  readonly postalCode: string | undefined
}

/** More numbers in one object are a mistake in the data. */
const MAX_NUMBERS = 100
const MAX_NUMBER_LENGTH = 20
const RANGE = /^(\d{1,6})\s*[-–]\s*(\d{1,6})$/
/** The countries in which `89-01` is one house: the block, and the house in it. */
const HYPHENATED: ReadonlySet<string> = new Set(['US', 'CA'])

/**
 * The address of an object, if it has a number and a street or place.
 * @param countryCode the alpha-2 code of the country that contains the object
 */
export function taggedAddress(tags: Tags, countryCode: string | undefined): TaggedAddress | undefined {
  const text = tags.get('addr:housenumber')
  if (text === undefined) return undefined
  const street = cleanName(tags.get('addr:street')) ?? cleanName(tags.get('addr:place'))
  if (street === undefined) return undefined
  const numbers = houseNumbers(text, HYPHENATED.has(countryCode ?? ''))
  if (numbers.length === 0) return undefined
  return {
    numbers,
    street,
    unit: cleanName(tags.get('addr:unit')),
    // If several cities are named, the first one counts.
    city: cleanName(tags.get('addr:city')?.split(';', 1)[0]),
    state: cleanName(tags.get('addr:state')),
    postalCode: cleanName(tags.get('addr:postcode')?.split(';', 1)[0]),
  }
}

/**
 * The numbers in a text. `1353,1357;1361` are three. `12-16` is one number in countries with such numbers; elsewhere
 * it means each number of that parity in it: 12, 14, 16.
 */
export function houseNumbers(text: string, isHyphenPartOfNumber: boolean): string[] {
  const numbers = new Set<string>()
  for (const part of text.slice(0, 1000).split(/[,;]/)) {
    const number = cleanName(part)
    if (number === undefined || number.length > MAX_NUMBER_LENGTH) continue
    const range = isHyphenPartOfNumber ? null : RANGE.exec(number)
    for (const one of range === null ? [number] : numbersIn(Number(range[1]), Number(range[2]), number))
      if (numbers.size < MAX_NUMBERS) numbers.add(one)
  }
  return [...numbers]
}

/**
 * The numbers of a range.
 * @param text returned as the only number if it is not a range after all, such as `12-3` or `5-500`
 */
function numbersIn(first: number, last: number, text: string): string[] {
  const isRange = last > first && (last - first) % 2 === 0 && last - first <= 2 * MAX_NUMBERS
  if (!isRange) return [text]
  return Array.from({ length: (last - first) / 2 + 1 }, (_, i) => String(first + 2 * i))
}
