/** What a query may mean: records whose names contain words of it, and the houses and crossings of such streets. */
import type { PlaceRecords, StoredAddress, StoredStreet } from '../placeDatabase/port.ts'
import type { SearchHit } from '../placeDatabase/searchIndex.ts'
import { numberKey } from '../records/houseNumbers.ts'
import { ADDRESS_IMPORTANCE, placeImportance, streetImportance } from '../records/importance.ts'
import { wordsOf } from '../text/words.ts'
import type { World } from '../world/port.ts'
import { areaCandidates, bestFit, itemCandidates, NOTHING_TAKEN } from './areaCandidates.ts'
import type { GeocodeCandidate, CandidateOptions } from './candidate.ts'
import { crossings } from './crossings.ts'
import { houseBetween } from './interpolation.ts'
import type { NumberReading, Query } from './query.ts'
import { recall } from './recall.ts'
import { fitName, MATCHED, textScore, type NameFit } from './textScore.ts'

/** How many houses with one number in one street are looked at. */
const MOST_HOUSES = 100
const MOST_JOINS = 3
/** Below this score, a record is not what the query means. */
export const LEAST_TEXT = 0.5
/** If a record has this score, no further ones are looked for. */
const ENOUGH_TEXT = 0.85

export function regionCandidates(
  region: PlaceRecords,
  query: Query,
  options: CandidateOptions,
): GeocodeCandidate[] {
  const candidates: GeocodeCandidate[] = []
  const add = (hits: readonly SearchHit[], words: ReadonlySet<string>): boolean => {
    const fresh = hits.flatMap((hit) => hitCandidates(region, hit, query, options))
    candidates.push(...fresh)
    return fresh.some((one) => isEnough(query, one, words))
  }
  recall(options.searches.of(region.index), query, add, options)
  for (const join of query.joins.slice(0, MOST_JOINS))
    candidates.push(...crossings(region, query, join, options))
  return candidates
}

export function worldCandidates(world: World, query: Query, options: CandidateOptions): GeocodeCandidate[] {
  const candidates: GeocodeCandidate[] = []
  const add = (hits: readonly SearchHit[], words: ReadonlySet<string>): boolean => {
    const fresh = hits.flatMap((hit) => itemCandidates(world, hit, query, NOTHING_TAKEN, options))
    candidates.push(...fresh)
    return fresh.some((one) => isEnough(query, one, words))
  }
  recall(options.searches.of(world.index), query, add, options)
  return candidates
}

/**
 * The score of the text if the areas around the candidate had all words that its own name lacks. Words with digits can
 * only be postal codes.
 */
export function optimisticText(
  query: Query,
  { fits, share }: Pick<GeocodeCandidate, 'fits' | 'share'>,
): number {
  const best = fits.map((quality, index) => {
    const { isNumeric, text } = query.words[index]!
    return isNumeric && text.length < 4 ? quality : 1
  })
  return textScore(query, best, share)
}

/**
 * Whether nothing better will be found, because it has every number of the query.
 * @param words the words with which it was found. They are in its name or in those of the areas around it, for example
 * as a postal code
 */
function isEnough(query: Query, one: GeocodeCandidate, words: ReadonlySet<string>): boolean {
  const hasNumbers = query.words.every(
    ({ isNumeric, text }, index) => !isNumeric || one.fits[index]! >= MATCHED || words.has(text),
  )
  return hasNumbers && optimisticText(query, one) >= ENOUGH_TEXT
}

function hitCandidates(
  region: PlaceRecords,
  { kind, record }: SearchHit,
  query: Query,
  options: CandidateOptions,
): GeocodeCandidate[] {
  const { language } = options
  if (kind === 'street') return streetCandidates(region, region.streetById(record), query, options)
  if (kind === 'place') {
    const { name, names, categories, details, size, position, chain } = region.placeById(record)
    const spellings = [name, details.brand, ...Object.values(names)].filter((one) => one !== undefined)
    const best = bestFit(query, spellings.map(wordsOf), NOTHING_TAKEN)
    if (best === undefined) return []
    const { number, street, unit, ...own } = details
    return [
      {
        layer: 'place',
        position,
        own,
        number,
        street,
        unit,
        place: { name: names[language] ?? name, categories },
        importance: placeImportance(details.isNotable === true, chain !== undefined, size),
        ...best,
        reading: undefined,
        precision: undefined,
        area: undefined,
      },
    ]
  }
  return areaCandidates(region, { kind, record }, query, NOTHING_TAKEN, options)
}

/** A street, and its houses by each reading of the house number. */
function streetCandidates(
  region: PlaceRecords,
  street: StoredStreet,
  query: Query,
  { housesOf }: CandidateOptions,
): GeocodeCandidate[] {
  const candidates: GeocodeCandidate[] = []
  const name = wordsOf(street.name)
  const own = { city: street.city, postalCode: street.postalCode }
  const plain = fitName(query, name, NOTHING_TAKEN)
  if (plain.isNamed)
    candidates.push({
      layer: 'street',
      position: street.position,
      own,
      street: street.name,
      importance: streetImportance(street.importance),
      ...plain,
      reading: undefined,
      precision: undefined,
      area: undefined,
    })
  if (housesOf !== undefined && plain.isNamed)
    for (const house of housesOf(region, street, undefined))
      candidates.push({
        ...houseCandidate(house, plain, query, undefined, 'exact'),
        anchor: street.position,
      })
  for (const reading of query.numbers) {
    const taken = new Set(indexesOf(reading))
    if (query.unit !== undefined) for (const index of indexesOf(query.unit)) taken.add(index)
    const fitted = fitName(query, name, taken)
    if (!fitted.isNamed || isInside(reading, fitted.fits)) continue
    const isPossible = mayHave(street, reading)
    if (housesOf === undefined && !isPossible) continue
    for (const index of taken) fitted.fits[index] = 1
    const houses = housesOf?.(region, street, reading) ?? housesWith(region, street, query, reading)
    const anchor = houses[0]?.position
    for (const house of houses) {
      const fits = Float64Array.from(fitted.fits)
      if (numberKey(house.number) !== reading.key) fits[reading.first] = MATCHED
      candidates.push({ ...houseCandidate(house, { ...fitted, fits }, query, reading, 'exact'), anchor })
    }
    if (houses.length > 0 || !isPossible) continue
    const between = houseBetween(region, street, reading)
    if (between !== undefined)
      candidates.push(houseCandidate(between, fitted, query, reading, 'interpolated'))
  }
  return candidates
}

/** Whether the number, or numbers on both sides of it, may be known. */
function mayHave({ numbers }: StoredStreet, { value }: NumberReading): boolean {
  return numbers !== null && value >= numbers[0] && value <= numbers[1]
}

/**
 * Whether words of the street's name stand on both sides of the number. In that case, the number is a part of the
 * name.
 */
function isInside({ first, end }: NumberReading, fits: Float64Array): boolean {
  return (
    fits.some((fit, index) => index < first && fit > 0) && fits.some((fit, index) => index >= end && fit > 0)
  )
}

function indexesOf({ first, end }: { readonly first: number; readonly end: number }): number[] {
  return Array.from({ length: end - first }, (_, i) => first + i)
}

/**
 * The houses with a number. If the unit that was asked for is known, it is the one with the unit; otherwise any one.
 */
function housesWith(
  region: PlaceRecords,
  street: StoredStreet,
  { unit }: Query,
  { key, value }: NumberReading,
): StoredAddress[] {
  const houses = region
    .housesOf(street.id, [value, value], MOST_HOUSES)
    .filter(({ number }) => numberKey(number) === key)
  const sameUnit = houses.filter((house) => unit !== undefined && house.unit?.toUpperCase() === unit.unit)
  if (sameUnit.length > 0) return sameUnit
  const [house] = houses.toSorted((a, b) => Number(a.unit !== null) - Number(b.unit !== null))
  return house === undefined ? [] : [{ ...house, unit: unit?.unit ?? null }]
}

function houseCandidate(
  house: StoredAddress,
  { fits, share }: NameFit,
  query: Query,
  reading: NumberReading | undefined,
  precision: 'exact' | 'interpolated',
): GeocodeCandidate {
  const { number, street, unit, city, state, postalCode, position, property } = house
  return {
    layer: 'address',
    position,
    own: { city, state, postalCode },
    number,
    street,
    property: property ?? undefined,
    unit: unit ?? (reading === undefined ? undefined : query.unit?.unit),
    importance: ADDRESS_IMPORTANCE,
    fits,
    share,
    reading,
    precision,
    area: undefined,
  }
}
