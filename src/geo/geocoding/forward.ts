import type { CoarseLayer, GeocodeConfidence, ForwardQuestion, Address } from './port.ts'
import { isCoarse, CONFIDENCES, LAYERS } from './port.ts'
import { namedAreaCandidates } from './areaCandidates.ts'
import type { CandidateOptions, GeocodeCandidate } from './candidate.ts'
import { LEAST_TEXT, regionCandidates, worldCandidates } from './candidates.ts'
import { isApart, isMoreThanNamesake, namedAreas, type NamedAreas } from './namedAreas.ts'
import { readQuery, type Query } from './query.ts'
import { rank, type Ranked } from './ranking.ts'
import { editedWordsOf } from './recall.ts'
import { compareRanked, firstDistinct } from './resultOrder.ts'
import { areaAddress, recordAddress } from './results.ts'
import { Searches } from './searches.ts'
import type { SearchSources } from './sources.ts'
import { matchedShare, MATCHED } from './textScore.ts'

const MOST_RESULTS = 10
/** Results with a lower share of the best score are left out. */
const LEAST_SHARE = 0.8
/** The share of the words that must be found. */
const ENOUGH_WORDS = 0.75
/** How many candidates are looked at together with the areas that contain them. */
const MOST_LOOKED_AT = 60
/** The same for areas, because many cities may have the same name. */
const MOST_AREAS_LOOKED_AT = 200
const NO_WORDS: ReadonlySet<number> = new Set()

/**
 * Finds what a text names: exact results; otherwise houses between known numbers; otherwise the smallest known area
 * around it.
 */
export function forward(sources: SearchSources, question: ForwardQuestion): Address[] {
  const query = readQuery(question.query, false)
  if (query.words.length === 0) return []
  let found: Found = { results: [], fallback: () => undefined }
  const searches = new Searches()
  for (const edited of editedWordsOf(query)) {
    found = search(sources, query, question, { searches, edited })
    if (found.results.some(isMeant)) break
  }
  if (found.results.length > 0) return selected(found.results, question.now)
  const fallback = found.fallback()
  return fallback === undefined ? [] : selected([fallback], question.now)
}

type Attempt = Pick<CandidateOptions, 'searches' | 'edited'>

interface Graded {
  readonly ranked: Ranked
  readonly confidence: GeocodeConfidence
  /** The finished address of an area that stands for something that is not known. */
  readonly address?: Address
}

/** What an attempt has found. */
interface Found {
  readonly results: readonly Graded[]
  /** Finds what stands for the results if there are none. It is only asked for after the last attempt, because it may take long. */
  readonly fallback: () => Graded | undefined
}

/** Whether it is exactly what the query says. In that case, no word is searched with another letter. */
function isMeant({ confidence, ranked }: Graded): boolean {
  if (confidence === 'exact') return true
  return confidence === 'interpolated' && ranked.fits.every((fit) => fit >= MATCHED)
}

function search(sources: SearchSources, query: Query, question: ForwardQuestion, attempt: Attempt): Found {
  const { language, countries } = question
  const options = { language, ...attempt }
  const candidates = [
    ...sources.regions.flatMap(({ records }) => regionCandidates(records, query, options)),
    ...worldCandidates(sources.world, query, options),
  ]
  const named = namedAreas(query, candidates, sources.world)
  let bestExact = 0
  const isEnough = (ranked: readonly Ranked[], best: number): boolean => {
    const last = ranked.at(-1)
    if (last !== undefined && confidenceOf(query, last, question) === 'exact')
      bestExact = Math.max(bestExact, last.score)
    return best < LEAST_SHARE * bestExact
  }
  const ranked = rank(sources, query, candidates, named, {
    countries,
    language,
    isEnough,
    most: MOST_LOOKED_AT,
    leastText: LEAST_TEXT,
  })
  const results = ranked.flatMap((one): Graded[] => {
    const confidence = confidenceOf(query, one, question)
    return confidence === undefined ? [] : [{ ranked: one, confidence }]
  })
  return {
    results,
    fallback: () =>
      streetOrAround(query, ranked, question) ?? areaNamed(sources, query, named, question, attempt),
  }
}

/** The confidence. Undefined for something that can only stand for something else that is not known. */
function confidenceOf(
  query: Query,
  { candidate, fits }: Ranked,
  { layers }: ForwardQuestion,
): 'exact' | 'interpolated' | undefined {
  if (query.isBox || !layers.includes(candidate.layer)) return undefined
  if (candidate.reading !== undefined) return candidate.precision
  const isComplete = query.words.every(({ isNumeric }, index) => !isNumeric || fits[index]! >= MATCHED)
  return isComplete && matchedShare(query, fits, NO_WORDS) >= ENOUGH_WORDS ? 'exact' : undefined
}

function addressOf({ candidate, around }: Ranked, now: number): Address | undefined {
  if (candidate.area !== undefined)
    return areaAddress(candidate.area.layer, around(), candidate.position, now)
  return recordAddress(candidate, around(), now)
}

function asFallback(one: Ranked, address: Address | undefined): Graded | undefined {
  return address && { ranked: one, confidence: 'fallback', address }
}

/** The street without the house, or the area around it. */
function streetOrAround(
  query: Query,
  ranked: readonly Ranked[],
  { layers, now }: ForwardQuestion,
): Graded | undefined {
  const street = ranked
    .filter((one) => isStreetOf(query, one))
    .reduce<Ranked | undefined>((a, b) => (a === undefined || b.score > a.score ? b : a), undefined)
  if (street === undefined) return undefined
  if (layers.includes('street')) return asFallback(street, addressOf(street, now))
  for (const layer of layers) {
    if (!isCoarse(layer) || layer === 'neighborhood') continue
    const found = asFallback(street, areaOf(street, layer, now))
    if (found !== undefined) return found
  }
  return undefined
}

/** The smallest area that the query names, whatever else the query contains. */
function areaNamed(
  sources: SearchSources,
  query: Query,
  named: NamedAreas,
  { layers, language, countries, now }: ForwardQuestion,
  { searches }: Attempt,
): Graded | undefined {
  const regions = sources.regions.map(({ records }) => records)
  const found = namedAreaCandidates(regions, sources.world, query, named.tail, { language, searches }).filter(
    (one) => layers.includes(one.layer) && isNamedArea(query, one, named),
  )
  // Several parts of the query may find the same area.
  const candidates = new Map(found.map((one) => [`${one.layer} ${one.position.join()}`, one]))
  const isEnough = (): boolean => false
  const options = { countries, language, isEnough, most: MOST_AREAS_LOOKED_AT, leastText: 0 }
  const [finest] = rank(sources, query, [...candidates.values()], named, options)
    .filter(({ candidate, around }) => isMoreThanNamesake(named, candidate, around()))
    .sort(
      (a, b) => LAYERS.indexOf(a.candidate.layer) - LAYERS.indexOf(b.candidate.layer) || b.score - a.score,
    )
  return finest && asFallback(finest, addressOf(finest, now))
}

/** Whether it is the street of a house whose number is not known. */
function isStreetOf(query: Query, { candidate, fits }: Ranked): boolean {
  if (candidate.layer !== 'street') return false
  return query.numbers.some(({ first, end }) => {
    const except = new Set(Array.from({ length: end - first }, (_, i) => first + i))
    if (query.unit !== undefined)
      for (let index = query.unit.first; index < query.unit.end; index++) except.add(index)
    return matchedShare(query, fits, except) >= ENOUGH_WORDS
  })
}

/** An area around a street. Its position is only known if the data contain the area. */
function areaOf({ around, candidate }: Ranked, layer: CoarseLayer, now: number): Address | undefined {
  const here = around()
  return areaAddress(layer, here, here.areas.get(layer)?.position ?? candidate.position, now)
}

function isNamedArea(query: Query, { area, fits, share }: GeocodeCandidate, { tail }: NamedAreas): boolean {
  if (area === undefined || share < MATCHED) return false
  const words = [...fits.keys()].filter((index) => fits[index]! >= MATCHED)
  return area.layer === 'postalCode' ? words.length > 0 : isApart(query, words, tail)
}

function selected(graded: readonly Graded[], now: number): Address[] {
  for (const confidence of CONFIDENCES) {
    const some = graded.filter((one) => one.confidence === confidence)
    if (some.length === 0) continue
    const best = some.reduce((most, { ranked }) => Math.max(most, ranked.score), 0)
    const near = some
      .filter(({ ranked }) => ranked.score >= LEAST_SHARE * best)
      .sort((a, b) => compareRanked(a.ranked, b.ranked))
    const addresses = firstDistinct(addressesOf(near, now), confidence === 'fallback' ? 1 : MOST_RESULTS)
    return addresses.map((address) => ({ ...address, confidence }))
  }
  return []
}

function* addressesOf(graded: readonly Graded[], now: number): Generator<Address> {
  for (const { ranked, address = addressOf(ranked, now) } of graded) if (address !== undefined) yield address
}
