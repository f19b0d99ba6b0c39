import { createRequire } from 'node:module'
import formatter from '@fragaria/address-formatter'
import { LRUCache } from 'lru-cache'

/** The parts of an address that are on the lines of its city. */
export interface CityParts {
  readonly city: string | undefined
  readonly state: string | undefined
  readonly postcode: string | undefined
  readonly country: string | undefined
  /** The alpha-2 code. */
  readonly countryCode: string | undefined
}

/**
 * How many lines are kept, at some hundred bytes each. Most requests are about few cities, but IP addresses are from
 * the whole world.
 */
const KEPT_LINES = 10_000
const kept = new LRUCache<string, readonly string[]>({ max: KEPT_LINES })

/** Stands for the city in lines that serve all cities of a state. It is a character for private use, so no name has it. */
const ANY_CITY = '\uE000'
/** Longer names and lines are left to the library, because nobody has proved that its patterns take linear time. */
const LONGEST_CITY = 100
const LONGEST_TEXT = 400
/** Names in which the library's templates find no punctuation to remove. */
const PLAIN_NAME = /^[\p{L}\p{M}\d]+(?:(?:[ '’-]|\. ?)[\p{L}\p{M}\d]+)*$/u

/**
 * The lines of a city as its country writes them. The library takes some 40 µs for them. So they are made once for all
 * cities of a state, and the name of the city is put in, provided that the library would do nothing else.
 */
export function cityLines(parts: CityParts): readonly string[] {
  const { city, countryCode = '' } = parts
  if (city === undefined || city.length > LONGEST_CITY || !PLAIN_NAME.test(city)) return formatted(parts)
  const lines = formatted({ ...parts, city: ANY_CITY }).map((line) => line.replaceAll(ANY_CITY, city))
  const text = lines.join('\n')
  if (text.length > LONGEST_TEXT) return formatted(parts)
  const rules = rulesOf(countryCode)
  if (rules !== undefined && (rules.test(city) || rules.test(text))) return formatted(parts)
  // The library writes each part once.
  const pieces = text.split(/\n|, /)
  return new Set(pieces).size === pieces.length ? lines : formatted(parts)
}

function formatted(parts: CityParts): readonly string[] {
  const { city, state, postcode, country, countryCode } = parts
  // No name has a line feed.
  const key = [city, state, postcode, country, countryCode].join('\n')
  let lines = kept.get(key)
  if (lines === undefined) {
    const present = Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined))
    lines = formatter.format(present as Record<string, string>, { output: 'array' })
    kept.set(key, lines)
  }
  return lines
}

type Replacements = readonly (readonly [pattern: string, replacement: string])[]

/** What the library knows of a country. */
interface Template {
  /** The country whose template is used instead. */
  readonly use_country?: string
  /** What is replaced in parts. A pattern that is for one part only begins with its name and `=`. */
  readonly replace?: Replacements
  /** What is replaced in the whole text. */
  readonly postformat_replace?: Replacements
}

const require = createRequire(import.meta.url)
const templates = require('@fragaria/address-formatter/src/templates/templates.json') as Readonly<
  Record<string, Template | undefined>
>
const rules = new Map<string, RegExp | undefined>()

/** Finds what the library would replace in names or lines of a country. Undefined if it replaces nothing there. */
function rulesOf(countryCode: string): RegExp | undefined {
  if (rules.has(countryCode)) return rules.get(countryCode)
  const own = templates[countryCode]
  const template = templates[own?.use_country ?? countryCode] ?? own
  const patterns = [
    ...(template?.replace ?? []).map(([pattern]) => pattern.replace(/^\w+=/, '')),
    ...(template?.postformat_replace ?? []).map(([pattern]) => pattern),
  ]
  const found = patterns.length === 0 ? undefined : new RegExp(patterns.map((one) => `(?:${one})`).join('|'))
  rules.set(countryCode, found)
  return found
}
