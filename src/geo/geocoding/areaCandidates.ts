/** What a query may mean: areas of the map regions and of the world. */
import type { Position } from '../../model/geofence.ts'
import type { PlaceRecords } from '../placeDatabase/port.ts'
import type { SearchHit } from '../placeDatabase/searchIndex.ts'
import { areaImportance } from '../records/importance.ts'
import { codeWord, wordsOf, type Word } from '../text/words.ts'
import { codesOfCountry, countryName, namesOfCountry } from '../world/countries.ts'
import type { World, WorldItem } from '../world/port.ts'
import type { GeocodeCandidate, CandidateOptions, NamedArea } from './candidate.ts'
import { someWords, type Query } from './query.ts'
import { recall } from './recall.ts'
import type { OwnAddress } from './surroundings.ts'
import { fitName, MATCHED, textScore, type NameFit } from './textScore.ts'

/** How many parts between commas may be areas. */
const MOST_PARTS = 6
export const NOTHING_TAKEN: ReadonlySet<number> = new Set()

export function areaCandidates(
  region: PlaceRecords,
  { kind: table, record }: SearchHit,
  query: Query,
  taken: ReadonlySet<number>,
  { language }: CandidateOptions,
): GeocodeCandidate[] {
  if (table !== 'area') return []
  const { kind, name, names, code, population, position } = region.areaById(record)
  if (kind === 'borough') return []
  const best = bestFit(query, [name, ...Object.values(names)].map(wordsOf), taken)
  if (best === undefined) return []
  const area = { layer: kind, name: names[language] ?? name, code: code ?? undefined }
  const own = kind === 'postalCode' ? { postalCode: name } : {}
  return [areaCandidate(area, own, position, areaImportance(kind, population), best)]
}

/** The name that fits best; undefined if none does. */
export function bestFit(
  query: Query,
  names: readonly (readonly Word[])[],
  taken: ReadonlySet<number>,
): NameFit | undefined {
  let best: NameFit | undefined
  let most = 0
  for (const name of names) {
    const one = fitName(query, name, taken)
    const text = one.isNamed ? textScore(query, one.fits, one.share) : 0
    if (text <= most) continue
    best = one
    most = text
  }
  return best
}

function areaCandidate(
  area: NamedArea,
  own: OwnAddress,
  position: Position,
  importance: number,
  { fits, share }: NameFit,
): GeocodeCandidate {
  const { layer } = area
  return { layer, position, own, importance, fits, share, reading: undefined, precision: undefined, area }
}

function namesOfItem({ kind, name, code }: WorldItem): (readonly Word[])[] {
  if (kind !== 'country') return [wordsOf(name), ...(code === undefined ? [] : [[codeWord(code)]])]
  return countryNames(name)
}

export function itemCandidates(
  world: World,
  hit: SearchHit,
  query: Query,
  taken: ReadonlySet<number>,
  { language }: CandidateOptions,
): GeocodeCandidate[] {
  const item = world.itemOf(hit)
  const best = bestFit(query, namesOfItem(item), taken)
  if (best === undefined) return []
  const { kind: layer, name, code, population, position, region: state, district: county } = item
  const shown = layer === 'country' ? countryName(name, language) : name
  const own: OwnAddress =
    layer === 'locality'
      ? { city: name, state, county, isComplete: true }
      : { postalCode: layer === 'postalCode' ? name : undefined, isComplete: layer === 'country' }
  return [areaCandidate({ layer, name: shown, code }, own, position, areaImportance(layer, population), best)]
}

/**
 * The areas that parts of the query name: the parts between commas, and up to four words at its end.
 * @param tail the words of countries, states and postal codes at the end; a city may stand before them
 */
export function namedAreaCandidates(
  regions: readonly PlaceRecords[],
  world: World,
  query: Query,
  tail: ReadonlySet<number>,
  { language, searches }: Pick<CandidateOptions, 'language' | 'searches'>,
): GeocodeCandidate[] {
  const options: CandidateOptions = { language, searches, edited: 'none' }
  const end = query.words.findLastIndex((_, index) => !tail.has(index)) + 1
  const ends = [1, 2, 3, 4].map((count) => (index: number) => index >= end - count && index < end)
  const parts = [...new Set(query.words.map(({ part }) => part))].map(
    (part) => (index: number) => query.words[index]!.part === part,
  )
  const ofTail = (index: number): boolean => tail.has(index)
  return [...ends, ...parts.slice(0, MOST_PARTS), ofTail].flatMap((isWanted) => {
    const taken = new Set(query.words.map((_, index) => index).filter((index) => !isWanted(index)))
    const some = someWords(query, isWanted)
    const found: GeocodeCandidate[] = []
    const add = (fresh: readonly GeocodeCandidate[]): boolean => {
      found.push(...fresh.filter(({ area, share }) => area !== undefined && share >= MATCHED))
      return found.length > 0
    }
    for (const region of regions)
      recall(
        searches.of(region.index),
        some,
        (hits) => add(hits.flatMap((hit) => areaCandidates(region, hit, query, taken, options))),
        options,
      )
    recall(
      searches.of(world.index),
      some,
      (hits) => add(hits.flatMap((hit) => itemCandidates(world, hit, query, taken, options))),
      options,
    )
    return found
  })
}

/** The names of each country in all languages, and its codes, as words. */
const countries = new Map<string, (readonly Word[])[]>()

export function countryNames(code: string): (readonly Word[])[] {
  let names = countries.get(code)
  if (names === undefined) {
    names = [...namesOfCountry(code).map(wordsOf), ...codesOfCountry(code).map((one) => [codeWord(one)])]
    countries.set(code, names)
  }
  return names
}
