import { cleanName } from './names.ts'
import type { Tags } from './tags.ts'

/** The address of an object, as its tags say. */
export interface TaggedAddress {
  /** House numbers; several if the object has a list or a range of them. Never empty. */
  readonly numbers: readonly string[]
  /** Of `addr:street`, or of `addr:place` for houses that belong to no street. */
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
/** Countries in which `89-01` is one house: the block and the house in it. */
const HYPHENATED: ReadonlySet<string> = new Set(['US', 'CA'])

/**
 * The address of an object, if it has a number and a street or place.
 * @param countryCode alpha-2, of where the object lies
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
    // Several cities: the first.
    city: cleanName(tags.get('addr:city')?.split(';', 1)[0]),
    state: cleanName(tags.get('addr:state')),
    postalCode: cleanName(tags.get('addr:postcode')?.split(';', 1)[0]),
  }
}

/**
 * `1353,1357;1361` are three numbers. `12-16` is one number where houses are numbered so, elsewhere each number of that
 * parity in it: 12, 14, 16.
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

/** @param text for what is not a range after all, such as `12-3` or `5-500`: one number */
function numbersIn(first: number, last: number, text: string): string[] {
  const isRange = last > first && (last - first) % 2 === 0 && last - first <= 2 * MAX_NUMBERS
  if (!isRange) return [text]
  return Array.from({ length: (last - first) / 2 + 1 }, (_, i) => String(first + 2 * i))
}
