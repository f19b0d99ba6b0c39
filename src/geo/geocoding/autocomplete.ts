import type { PlaceRecords, StoredAddress, StoredStreet } from '../placeDatabase/port.ts'
import { pointDistance } from '../../geometry/distance.ts'
import { numberKey } from '../records/houseNumbers.ts'
import type { CandidateOptions } from './candidate.ts'
import { LEAST_TEXT, regionCandidates, worldCandidates } from './candidates.ts'
import { namedAreas } from './namedAreas.ts'
import type { Address, AutocompleteQuestion } from './port.ts'
import { readQuery, type NumberReading, type Query } from './query.ts'
import { rank, type Ranked } from './ranking.ts'
import { editedWordsOf } from './recall.ts'
import { compareRanked, DistinctCandidates, firstDistinct } from './resultOrder.ts'
import { areaAddress, recordAddress } from './results.ts'
import { Searches } from './searches.ts'
import type { SearchSources } from './sources.ts'
import { MATCHED } from './textScore.ts'

/** The lowest and the highest number of a street without any. */
const NO_NUMBERS = [0, -1] as const
/**
 * How many candidates are looked at for each result, because many are of a layer or country that is not wanted, or
 * duplicates.
 */
const LOOKED_AT_PER_RESULT = 2
const LEAST_LOOKED_AT = 40
/** How well each word of a result must fit if words may differ by a letter. */
const LEAST_FIT = 0.6
/** The countries in which mail needs a postal code. */
const WITH_POSTAL_CODE: ReadonlySet<string> = new Set(['US', 'CA'])

/** The addresses and places that the text so far may mean, the most likely first. */
export function autocomplete(sources: SearchSources, question: AutocompleteQuestion): Address[] {
  const query = readQuery(question.query, true)
  if (query.words.length === 0) return []
  let ranked: Ranked[] = []
  const searches = new Searches()
  for (const edited of editedWordsOf(query)) {
    ranked = search(sources, query, question, { searches, edited })
    if (ranked.some(({ fits }) => fits.every((fit) => fit >= (edited === 'none' ? MATCHED : LEAST_FIT))))
      break
  }
  return firstDistinct(addressesOf(ranked.sort(compareRanked), question), question.limit)
}

function* addressesOf(ranked: readonly Ranked[], question: AutocompleteQuestion): Generator<Address> {
  for (const one of ranked) {
    const address = addressOf(one, question)
    if (address !== undefined && isAllowed(address, question)) yield address
  }
}

function search(
  sources: SearchSources,
  query: Query,
  question: AutocompleteQuestion,
  attempt: Pick<CandidateOptions, 'searches' | 'edited'>,
): Ranked[] {
  const { countries, language, near, layers, limit } = question
  const options: CandidateOptions = {
    ...attempt,
    language,
    near,
    housesOf: (region, street, reading) => housesOf(region, street, reading, query, question),
  }
  const candidates = [
    ...sources.regions.flatMap(({ records }) => regionCandidates(records, query, options)),
    ...worldCandidates(sources.world, query, options),
  ]
  const named = namedAreas(query, candidates, sources.world)
  const wanted = candidates.filter(({ layer }) => layers.includes(layer))
  // Whether the results so far are enough, because no other candidate can be better.
  const isFiltered = question.postalCode !== undefined || question.isMailable
  const distinct = new DistinctCandidates()
  let waiting: Ranked[] = []
  let looked = 0
  const isEnough = (ranked: readonly Ranked[], best: number): boolean => {
    waiting.push(...ranked.slice(looked))
    looked = ranked.length
    // Each is counted once, when no later one can be better.
    for (const { candidate } of waiting.filter(({ score }) => score >= best)) distinct.add(candidate)
    waiting = waiting.filter(({ score }) => score < best)
    return !isFiltered && distinct.count >= limit
  }
  return rank(sources, query, wanted, named, {
    countries,
    language,
    near,
    isEnough,
    leastText: LEAST_TEXT,
    most: Math.max(LEAST_LOOKED_AT, LOOKED_AT_PER_RESULT * limit),
  })
}

function addressOf({ candidate, around }: Ranked, { near, now }: AutocompleteQuestion): Address | undefined {
  const { area, position } = candidate
  const address =
    area === undefined
      ? recordAddress(candidate, around(), now)
      : areaAddress(area.layer, around(), position, now)
  if (address === undefined || near === undefined) return address
  const meters = pointDistance(near[1], near[0], position[1], position[0])
  return { ...address, distance: Math.round(meters) }
}

function isAllowed(address: Address, { postalCode, isMailable }: AutocompleteQuestion): boolean {
  const { countryCode, number } = address
  const code = address.postalCode?.toUpperCase()
  // The first five digits of a ZIP+4 say where it is.
  const asked = postalCode?.toUpperCase()
  const same = countryCode === 'US' ? code?.slice(0, 5) === asked?.slice(0, 5) : code === asked
  if (asked !== undefined && !same) return false
  if (!isMailable) return true
  return number !== undefined && (!WITH_POSTAL_CODE.has(countryCode ?? '') || code !== undefined)
}

/**
 * The houses of a street that the query may mean. Their number begins with the number at the end of the query, or is
 * the number at its beginning. If there is no number and only houses are wanted, these are the first houses.
 */
function housesOf(
  region: PlaceRecords,
  street: StoredStreet,
  reading: NumberReading | undefined,
  { words, numbers }: Query,
  { layers, limit, isAddressOnly }: AutocompleteQuestion,
): StoredAddress[] {
  if (!layers.includes('address')) return []
  if (reading === undefined)
    return isAddressOnly && numbers.length === 0
      ? region.housesOf(street.id, [0, Number.MAX_SAFE_INTEGER], limit)
      : []
  const { value, key, end } = reading
  const isPrefix = end === words.length && words.at(-1)!.isPrefix
  if (!isPrefix)
    return region.housesOf(street.id, [value, value], limit).filter(({ number }) => numberKey(number) === key)
  const houses: StoredAddress[] = []
  const [low, high] = street.numbers ?? NO_NUMBERS
  for (let scale = 1; value * scale <= high && houses.length < limit; scale *= 10) {
    const range = [value * scale, (value + 1) * scale - 1] as const
    if (range[1] < low && value > 0) continue
    for (const house of region.housesOf(street.id, range, limit))
      if (numberKey(house.number).startsWith(key) && houses.length < limit) houses.push(house)
    if (value === 0) break
  }
  return houses
}
