import { iso1A2Code, iso1A3Code, emojiFlag } from '@rapideditor/country-coder'
import type { Position } from '../../model/geofence.ts'
import type { Language } from '../records/names.ts'

/** A country or a territory with a code of its own, such as Hong Kong, Puerto Rico and Gibraltar. */
export interface Country {
  /** Alpha-2. */
  readonly code: string
  /** Alpha-3. */
  readonly code3: string
  readonly flag: string
}

/** Countries whose full names say to which other one they belong; answers use the short ones. */
const SHORT: ReadonlySet<string> = new Set(['HK', 'MO'])
const countries = new Map<string, Country>()
const displayNames = new Map<string, Intl.DisplayNames>()

/** The country of a position; undefined at sea. */
export function countryAt(position: Position): Country | undefined {
  const code = iso1A2Code(position as [number, number], { level: 'territory' })
  if (code === null) return undefined
  let country = countries.get(code)
  if (country === undefined) {
    country = { code, code3: iso1A3Code(code) ?? '', flag: emojiFlag(code) ?? '' }
    countries.set(code, country)
  }
  return country
}

/** The name of a country as CLDR has it. @param code alpha-2 */
export function countryName(code: string, language: Language): string {
  const style = SHORT.has(code) ? 'short' : 'long'
  const key = `${language} ${style}`
  let names = displayNames.get(key)
  if (names === undefined) {
    names = new Intl.DisplayNames(language, { type: 'region', style, fallback: 'code' })
    displayNames.set(key, names)
  }
  return names.of(code)!
}
