/** The country, state, postal code and city that a query names. Results elsewhere cannot be meant. */
import { pointDistance } from '../../geometry/distance.ts'
import type { Position } from '../../model/geofence.ts'
import { areaImportance } from '../records/importance.ts'
import { countriesNamed } from '../world/countries.ts'
import type { World } from '../world/port.ts'
import type { GeocodeCandidate } from './candidate.ts'
import type { Query } from './query.ts'
import type { Surroundings } from './surroundings.ts'
import { MATCHED } from './textScore.ts'

/** An address that is further away from a city than this is not in it. */
const CITY_METERS = 25_000
/** A city with the name of a country or state, with no larger area named around it, is only meant if it is this large. */
const LEAST_NAMESAKE = areaImportance('locality', 30_000)
/** The same if it is not in that country or state. */
const LEAST_NAMESAKE_ELSEWHERE = areaImportance('locality', 100_000)
/** No name of a country has more words than this. */
const MOST_NAME_WORDS = 6

/** A country or state at the end of a query. One text may name both: `CA`, `Georgia`. */
interface NamedRegion {
  readonly words: readonly number[]
  readonly countries: ReadonlySet<string>
  readonly states: ReadonlySet<string>
}

export interface NamedAreas {
  readonly regions: readonly NamedRegion[]
  /** The indexes of the words at the end that name countries, states and postal codes. */
  readonly tail: ReadonlySet<number>
  readonly postalCode: { readonly word: number; readonly text: string } | undefined
  readonly cities: readonly { readonly words: readonly number[]; readonly position: Position }[]
}

const NONE: ReadonlySet<string> = new Set()

export function namedAreas(query: Query, candidates: readonly GeocodeCandidate[], world: World): NamedAreas {
  const regions: NamedRegion[] = []
  const tail = new Set<number>()
  let postalCode: NamedAreas['postalCode']
  let end = query.words.length
  // A word that may be incomplete names nothing yet.
  if (query.words.at(-1)?.isPrefix === true) end--
  const codes = new Set(
    candidates
      .filter(({ layer, share }) => layer === 'postalCode' && share >= MATCHED)
      .flatMap(({ fits }) => indexesMatched(fits)),
  )
  while (end > 0) {
    if (postalCode === undefined && codes.has(end - 1) && query.words[end - 1]!.text.length >= 3) {
      end--
      postalCode = { word: end, text: query.words[end]!.text }
      tail.add(end)
      continue
    }
    const region = regionEndingAt(query, end, world)
    // `Washington` before a state is a city.
    const hasState = regions.some(({ states }) => states.size > 0)
    if (region === undefined || (hasState && region.countries.size === 0)) break
    regions.push(region)
    for (const index of region.words) tail.add(index)
    end -= region.words.length
  }
  const cities = candidates
    .filter(({ layer, share }) => layer === 'locality' && share >= MATCHED)
    .map(({ fits, position }) => ({ words: indexesMatched(fits), position }))
    .filter(({ words }) => isApart(query, words, tail))
  return { regions, tail, postalCode, cities }
}

/** The longest name of countries or states that ends at a word. */
function regionEndingAt(query: Query, end: number, world: World): NamedRegion | undefined {
  for (let first = Math.max(0, end - MOST_NAME_WORDS); first < end; first++) {
    const words = query.words.slice(first, end)
    const name = words.map(({ text }) => text).join(' ')
    const countries = countriesNamed(name) ?? NONE
    const states = world.statesNamed(name) ?? NONE
    if (countries.size > 0 || states.size > 0)
      return { words: words.map((_, index) => first + index), countries, states }
  }
  return undefined
}

function indexesMatched(fits: Float64Array): number[] {
  return [...fits.keys()].filter((index) => fits[index]! >= MATCHED)
}

/** Whether the words are a part between commas, or followed only by the names of larger areas. */
export function isApart(query: Query, words: readonly number[], tail: ReadonlySet<number>): boolean {
  if (words.length === 0) return false
  const own = new Set(words)
  const { part } = query.words[words[0]!]!
  const isWholePart = query.words.every((word, index) => (word.part === part) === own.has(index))
  if (isWholePart) return true
  for (let index = words[0]!; index < query.words.length; index++)
    if (!own.has(index) && !tail.has(index)) return false
  return true
}

/**
 * Whether a candidate is where the query says. Its own name, such as `Calle Uruguay`, does not tell where it is.
 * @param around is only called if the query names an area
 * @param fits how the words fit the candidate and the areas that contain it
 */
export function isWhereNamed(
  named: NamedAreas,
  candidate: GeocodeCandidate,
  around: () => Surroundings,
  fits: Float64Array,
): boolean {
  const isOwn = (words: readonly number[]): boolean =>
    words.every((index) => candidate.fits[index]! >= MATCHED)
  for (const { words, countries, states } of named.regions) {
    if (!isOwn(words) && !isInRegion({ countries, states }, around())) return false
  }
  const { area, layer } = candidate
  if (area !== undefined) return true
  const { postalCode, cities } = named
  if (postalCode !== undefined && layer === 'address' && !isOwn([postalCode.word])) {
    const code = around().postalCode?.toLowerCase().slice(0, 3)
    if (code !== undefined && code !== postalCode.text.slice(0, 3)) return false
  }
  const asked = cities.filter(({ words }) => !isOwn(words))
  if (asked.length === 0) return true
  return asked.some(
    ({ words, position }) =>
      words.every((index) => fits[index]! >= MATCHED) ||
      pointDistance(position[1], position[0], candidate.position[1], candidate.position[0]) <= CITY_METERS,
  )
}

function isInRegion(
  { countries, states }: Pick<NamedRegion, 'countries' | 'states'>,
  { country, stateCode }: Surroundings,
): boolean {
  if (country !== undefined && countries.has(country.code)) return true
  return stateCode !== undefined && states.has(stateCode)
}

/**
 * Whether an area that a query names can be meant in place of a country or state with the same name: `Argentina` is no
 * village in Colombia, but `Luxembourg` is the city, and so is `Lebanon` before `PA`.
 */
export function isMoreThanNamesake(
  { regions }: NamedAreas,
  { area, fits, importance }: GeocodeCandidate,
  around: Surroundings,
): boolean {
  if (area === undefined || area.layer === 'country' || area.layer === 'postalCode') return true
  const words = indexesMatched(fits)
  const namesake = regions.find((region) => words.every((index) => region.words.includes(index)))
  if (namesake === undefined || regions.some((region) => region !== namesake)) return true
  return importance >= (isInRegion(namesake, around) ? LEAST_NAMESAKE : LEAST_NAMESAKE_ELSEWHERE)
}
