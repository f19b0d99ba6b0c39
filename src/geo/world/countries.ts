import { borders, iso1A2Code, iso1A3Code, emojiFlag } from '@rapideditor/country-coder'
import type { Position } from '../../model/geofence.ts'
import { nameKey } from '../text/words.ts'
import { LANGUAGES, type Language } from '../records/names.ts'
import { countryBorders } from './borders.ts'

/** A country, or a territory with its own code, such as Hong Kong, Puerto Rico and Gibraltar. */
export interface Country {
  /** The alpha-2 code. */
  readonly code: string
  /** The alpha-3 code. */
  readonly code3: string
  readonly flag: string
}

/** Territories whose full names say to which country they belong. Answers use their short names. */
const SHORT: ReadonlySet<string> = new Set(['HK', 'MO'])
const countries = new Map<string, Country>()
/** Whether a pair of capitals is the code of a country. There are 676 pairs. */
const areCountries = new Map<string, boolean>()
const displayNames = new Map<string, Intl.DisplayNames>()
/** The names by country and language, so there are at most as many as pairs of them. */
const countryNames = new Map<string, string>()

/**
 * The country of a position; undefined at sea. Where no country of the borders' file is, as at sea more than twelve miles
 * off, it is that of country-coder.
 */
export function countryAt(position: Position): Country | undefined {
  const code = countryBorders().codesAt(position)[0] ?? coarseCountryAt(position)
  return code === undefined ? undefined : countryOf(code)
}

/** The code of the country that country-coder has at a position. Its borders are simplified by some kilometres. */
export function coarseCountryAt(position: Position): string | undefined {
  return iso1A2Code(position as [number, number], { level: 'territory' }) ?? undefined
}

/**
 * The country with a code.
 * @param code alpha-2, in capitals
 */
export function countryOf(code: string): Country {
  let country = countries.get(code)
  if (country === undefined) {
    country = { code, code3: iso1A3Code(code) ?? '', flag: emojiFlag(code) ?? '' }
    countries.set(code, country)
  }
  return country
}

/**
 * Whether there is a country with a code.
 * @param code in capitals
 */
export function isCountry(code: string): boolean {
  const known = areCountries.get(code)
  if (known !== undefined) return known
  if (!/^[A-Z]{2}$/.test(code)) return false
  const is = iso1A2Code(code) === code
  areCountries.set(code, is)
  return is
}

/**
 * The name of a country according to CLDR.
 * @param code alpha-2
 */
export function countryName(code: string, language: Language): string {
  const key = `${code} ${language}`
  let name = countryNames.get(key)
  if (name === undefined) {
    name = displayName(code, language)
    countryNames.set(key, name)
  }
  return name
}

function displayName(code: string, language: Language): string {
  const style = SHORT.has(code) ? 'short' : 'long'
  const key = `${language} ${style}`
  let names = displayNames.get(key)
  if (names === undefined) {
    names = new Intl.DisplayNames(language, { type: 'region', style, fallback: 'code' })
    displayNames.set(key, names)
  }
  return names.of(code)!
}

/** The names of a country: in the languages of answers, and other usual ones. */
export function namesOfCountry(code: string): string[] {
  const names = LANGUAGES.map((language) => countryName(code, language))
  return [...new Set([...names, ...(USUAL_NAMES[code] ?? [])])]
}

/** The codes of a country with two and three letters. */
export function codesOfCountry(code: string): string[] {
  return [...new Set([code, iso1A3Code(code) ?? code])]
}

const USUAL_NAMES: Readonly<Record<string, readonly string[]>> = {
  GB: ['UK', 'Great Britain', 'England', 'Scotland', 'Wales'],
  US: ['United States of America', 'Estados Unidos de América', 'EE UU'],
  CZ: ['Czech Republic'],
  NL: ['Holland'],
}

let byName: ReadonlyMap<string, ReadonlySet<string>> | undefined

/**
 * The alpha-2 codes of the countries with a name or code.
 * @param name folded
 */
export function countriesNamed(name: string): ReadonlySet<string> | undefined {
  byName ??= nameIndex()
  return byName.get(nameKey(name)) ?? byName.get(codeKey(name))
}

/** A key for codes that differs from all names, so that `st` is not a street, and `Street` is not São Tomé. */
function codeKey(code: string): string {
  return `=${code.toLowerCase()}`
}

function nameIndex(): Map<string, Set<string>> {
  const index = new Map<string, Set<string>>()
  const codes = new Set(borders.features.flatMap(({ properties }) => properties.iso1A2 ?? []))
  const add = (key: string, code: string): void =>
    void index.set(key, (index.get(key) ?? new Set()).add(code))
  for (const code of codes) {
    for (const name of namesOfCountry(code)) add(nameKey(name), code)
    for (const one of codesOfCountry(code)) add(codeKey(one), code)
  }
  return index
}
