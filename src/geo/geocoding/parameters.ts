import Type from 'typebox'
import { Text } from '../../http/schemas.ts'
import { badParam } from '../../runtime/errors.ts'
import { isCountry } from '../world/countries.ts'
import { LANGUAGES, type Language } from '../records/names.ts'
import { LAYERS, type Layer } from './port.ts'

/** The parameters that the geocoding endpoints share, and how they are read. */

const MOST_QUERY_LENGTH = 1000

const COARSE: readonly Layer[] = ['postalCode', 'locality', 'county', 'state', 'country']
const GROUPS: Readonly<Record<string, readonly Layer[]>> = {
  coarse: COARSE,
  fine: ['address', 'place'],
}
const WORDS = [...LAYERS, ...Object.keys(GROUPS)]
const BY_WORD: ReadonlyMap<string, readonly Layer[]> = new Map(
  WORDS.map((word) => [word.toLowerCase(), GROUPS[word] ?? [word as Layer]] as const),
)

export const LayersText = Text(
  256,
  `The kinds of results: one or more of ${WORDS.join(', ')}, separated by commas. ` +
    '`coarse` is postalCode, locality, county, state and country; `fine` is address and place.',
)
export const LanguageText = Type.String({
  maxLength: 64,
  default: 'en',
  description: `The language of the names of countries, and of other names if the data have them in this language: ${LANGUAGES.join(', ')}.`,
})

/**
 * Reads `layers`.
 * @param standard those that are meant if none is named, in the order of preference
 * @returns the layers in the order of preference
 * @throws {ApiError} 400 naming `layers`
 */
export function parseLayers(text: string | undefined, standard: readonly Layer[]): readonly Layer[] {
  if (text === undefined) return standard
  const words = text.split(',').map((word) => word.trim())
  const wanted = new Set<Layer>()
  for (const word of words) {
    if (word === '') continue
    const layers = BY_WORD.get(word.toLowerCase())
    if (layers === undefined)
      throw badParam('layers', `Must be some of ${WORDS.join(', ')}, separated by commas.`)
    for (const layer of layers) wanted.add(layer)
  }
  return wanted.size === 0 ? standard : inOrder(wanted)
}

/** Layers in the order of preference. */
function inOrder(layers: ReadonlySet<Layer>): readonly Layer[] {
  return LAYERS.filter((layer) => layers.has(layer))
}

/** The layers of a reverse question that does not name any. */
export const REVERSE_LAYERS: readonly Layer[] = ['address', ...COARSE]

/** The layers of a search that does not name any. */
export const SEARCH_LAYERS: readonly Layer[] = inOrder(
  new Set([...REVERSE_LAYERS, 'street', 'intersection', 'neighborhood']),
)

export const QueryText = Type.String({
  maxLength: MOST_QUERY_LENGTH,
  description: `The text to look for, 1 to ${MOST_QUERY_LENGTH} characters. Punctuation has no meaning.`,
  examples: ['18 de Julio 1056, Montevideo'],
})

/**
 * Reads a query.
 * @throws {ApiError} 400 naming `query`
 */
export function parseQuery(text: string): string {
  if (text.trim() === '') throw badParam('query', 'Must not be empty.')
  return text
}

export const CountriesText = Text(
  1024,
  'Only results in these countries: two-letter codes, separated by commas.',
)

/**
 * Reads codes of countries.
 * @returns alpha-2 codes in capitals; none means all countries
 * @throws {ApiError} 400 naming the parameter
 */
export function parseCountries(param: string, text: string | undefined): string[] {
  if (text === undefined) return []
  const codes = text.split(',').map((code) => code.trim().toUpperCase())
  return codes.filter((code) => {
    if (code === '') return false
    if (!/^[A-Z]{2}$/.test(code))
      throw badParam(param, 'Must be two-letter country codes, separated by commas.')
    if (!isCountry(code)) throw badParam(param, `No country has the code ${code}.`)
    return true
  })
}

/**
 * Reads a language. `pt-BR` becomes `pt`.
 * @throws {ApiError} 400 naming `lang`
 */
export function parseLanguage(text: string | undefined, param = 'lang'): Language {
  const language = (text ?? 'en').trim().toLowerCase().split('-', 1)[0]
  const known = LANGUAGES.find((one) => one === language)
  if (known === undefined) throw badParam(param, `Must be one of ${LANGUAGES.join(', ')}.`)
  return known
}
