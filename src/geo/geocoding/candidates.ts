/** What a query may mean: records whose names have words of it, and the houses and crossings of such streets. */
import type { Position } from '../../model/geofence.ts'
import type { PlaceRecords, StoredAddress, StoredStreet } from '../placeDatabase/port.ts'
import { crossingKey } from '../placeDatabase/schema.ts'
import type { SearchHit } from '../placeDatabase/searchIndex.ts'
import { numberKey } from '../records/houseNumbers.ts'
import {
  ADDRESS_IMPORTANCE,
  areaImportance,
  placeImportance,
  streetImportance,
} from '../records/importance.ts'
import type { Language } from '../records/names.ts'
import { codeWord, wordsOf, type Word } from '../text/words.ts'
import { codesOfCountry, countryName, namesOfCountry } from '../world/countries.ts'
import type { World, WorldItem } from '../world/port.ts'
import { houseBetween } from './interpolation.ts'
import type { Confidence, CoarseLayer } from './port.ts'
import type { NumberReading, Query } from './query.ts'
import { recall, type EditedWords } from './recall.ts'
import type { Found } from './results.ts'
import type { OwnAddress } from './surroundings.ts'
import { fitName, MATCHED, textScore, type NameFit } from './textScore.ts'

/** Something that the query may mean, before it is known what it lies in. */
export interface Candidate extends Found {
  readonly importance: number
  /** How each word of the query fits its own name and number. */
  readonly fits: Float64Array
  /** The share of its own name that is in the query. */
  readonly share: number
  /** The words that are read as its house number. */
  readonly reading: NumberReading | undefined
  /** How well the house number is known; undefined without one. */
  readonly precision: Exclude<Confidence, 'fallback'> | undefined
  /** Of an area. */
  readonly area: NamedArea | undefined
  /** Where it is for the order of results, if not at its position: houses of one street come in the order of numbers. */
  readonly anchor?: Position | undefined
}

export interface NamedArea {
  readonly layer: CoarseLayer
  /** In the language of the answer. */
  readonly name: string
  /** Of a state. */
  readonly code: string | undefined
}

/** Houses with one number in one street that are looked at. */
const MOST_HOUSES = 100
/** Streets on each side of a crossing that are tried. */
const MOST_CROSSED = 12
const MOST_CROSSINGS = 8
const MOST_JOINS = 3
/** Parts between commas that may be areas. */
const MOST_PARTS = 6
const NOTHING_TAKEN: ReadonlySet<number> = new Set()
/** Below it, a record is not meant. */
export const LEAST_TEXT = 0.5
/** Further records are looked for unless one has this score. */
const ENOUGH_TEXT = 0.85

export interface CandidateOptions {
  readonly language: Language
  readonly edited: EditedWords
  readonly near?: Position | undefined
  /** More house numbers of a street than the one that was typed, for autocomplete. */
  readonly housesOf?: (
    region: PlaceRecords,
    street: StoredStreet,
    reading: NumberReading | undefined,
  ) => StoredAddress[]
}

export function regionCandidates(region: PlaceRecords, query: Query, options: CandidateOptions): Candidate[] {
  const candidates: Candidate[] = []
  const add = (hits: readonly SearchHit[]): boolean => {
    const fresh = hits.flatMap((hit) => hitCandidates(region, hit, query, options))
    candidates.push(...fresh)
    return fresh.some((one) => isEnough(query, one))
  }
  recall(region.index, query, add, options)
  for (const join of query.joins.slice(0, MOST_JOINS))
    candidates.push(...crossings(region, query, join, options))
  return candidates
}

export function worldCandidates(world: World, query: Query, options: CandidateOptions): Candidate[] {
  const candidates: Candidate[] = []
  const add = (hits: readonly SearchHit[]): boolean => {
    const fresh = hits.flatMap((hit) => itemCandidates(world, hit, query, NOTHING_TAKEN, options))
    candidates.push(...fresh)
    return fresh.some((one) => isEnough(query, one))
  }
  recall(world.index, query, add, options)
  return candidates
}

/**
 * The score of the text if what the candidate lies in has all words that its own name does not have. Only postal codes
 * of it have digits.
 */
export function optimisticText(query: Query, { fits, share }: Pick<Candidate, 'fits' | 'share'>): number {
  const best = fits.map((quality, index) => {
    const { isNumeric, text } = query.words[index]!
    return isNumeric && text.length < 4 ? quality : 1
  })
  return textScore(query, best, share)
}

/** Whether nothing better will be found: it has every number of the query. */
function isEnough(query: Query, one: Candidate): boolean {
  const hasNumbers = query.words.every(({ isNumeric }, index) => !isNumeric || one.fits[index]! >= MATCHED)
  return hasNumbers && optimisticText(query, one) >= ENOUGH_TEXT
}

function hitCandidates(
  region: PlaceRecords,
  { kind, record }: SearchHit,
  query: Query,
  options: CandidateOptions,
): Candidate[] {
  const { language } = options
  if (kind === 'street') return streetCandidates(region, region.streetById(record), query, options)
  if (kind === 'place') {
    const { name, names, categories, details, size, position } = region.placeById(record)
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
        importance: placeImportance(details.isNotable === true, details.brandId !== undefined, size),
        ...best,
        reading: undefined,
        precision: undefined,
        area: undefined,
      },
    ]
  }
  return areaCandidates(region, { kind, record }, query, NOTHING_TAKEN, options)
}

function areaCandidates(
  region: PlaceRecords,
  { kind: table, record }: SearchHit,
  query: Query,
  taken: ReadonlySet<number>,
  { language }: CandidateOptions,
): Candidate[] {
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
function bestFit(
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
): Candidate {
  const { layer } = area
  return { layer, position, own, importance, fits, share, reading: undefined, precision: undefined, area }
}

function namesOfItem({ kind, name, code }: WorldItem): Word[][] {
  if (kind !== 'country') return [wordsOf(name), ...(code === undefined ? [] : [[codeWord(code)]])]
  return countryNames(name)
}

function itemCandidates(
  world: World,
  hit: SearchHit,
  query: Query,
  taken: ReadonlySet<number>,
  { language }: CandidateOptions,
): Candidate[] {
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

/** A street, and its houses by each reading of the house number. */
function streetCandidates(
  region: PlaceRecords,
  street: StoredStreet,
  query: Query,
  { housesOf }: CandidateOptions,
): Candidate[] {
  const candidates: Candidate[] = []
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
    for (const index of taken) fitted.fits[index] = 1
    const houses = housesOf?.(region, street, reading) ?? housesWith(region, street, query, reading)
    const anchor = houses[0]?.position
    for (const house of houses) {
      const fits = Float64Array.from(fitted.fits)
      if (numberKey(house.number) !== reading.key) fits[reading.first] = MATCHED
      candidates.push({ ...houseCandidate(house, { ...fitted, fits }, query, reading, 'exact'), anchor })
    }
    if (houses.length > 0) continue
    const between = houseBetween(region, street, reading)
    if (between !== undefined)
      candidates.push(houseCandidate(between, fitted, query, reading, 'interpolated'))
  }
  return candidates
}

/** Whether words of the street's name lie on both sides of the number: then it is a part of the name. */
function isInside({ first, end }: NumberReading, fits: Float64Array): boolean {
  return (
    fits.some((fit, index) => index < first && fit > 0) && fits.some((fit, index) => index >= end && fit > 0)
  )
}

function indexesOf({ first, end }: { readonly first: number; readonly end: number }): number[] {
  return Array.from({ length: end - first }, (_, i) => first + i)
}

/** The houses with a number: with the unit that was asked for, if that is known, otherwise one. */
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
): Candidate {
  const { number, street, unit, city, state, postalCode, position } = house
  return {
    layer: 'address',
    position,
    own: { city, state, postalCode },
    number,
    street,
    unit: unit ?? (reading === undefined ? undefined : query.unit?.unit),
    importance: ADDRESS_IMPORTANCE,
    fits,
    share,
    reading,
    precision,
    area: undefined,
  }
}

/** Where streets named before a word meet streets named after it. */
function crossings(region: PlaceRecords, query: Query, join: number, options: CandidateOptions): Candidate[] {
  const [left, right] = [
    streetsNamed(region, query, (index) => index < join, options),
    streetsNamed(region, query, (index) => index > join, options),
  ]
  const candidates: Candidate[] = []
  const tried = new Set<string>()
  for (const one of left) {
    for (const other of right) {
      const key = crossingKey(one.street.name, other.street.name)
      if (tried.has(key)) continue
      tried.add(key)
      for (const { streets, position } of region.intersectionsOf(key, MOST_CROSSINGS)) {
        const fits = one.fits.map((fit, index) => Math.max(fit, other.fits[index]!))
        fits[join] = 1
        candidates.push({
          layer: 'intersection',
          position,
          own: {},
          street: streets.join(' & '),
          importance: Math.max(one.importance, other.importance),
          fits,
          share: (one.share + other.share) / 2,
          reading: undefined,
          precision: undefined,
          area: undefined,
        })
      }
    }
  }
  return candidates
}

interface NamedStreet extends NameFit {
  readonly street: StoredStreet
  readonly importance: number
}

/** The streets that a side of a crossing names, the best ones first. */
function streetsNamed(
  region: PlaceRecords,
  query: Query,
  isOnSide: (index: number) => boolean,
  options: CandidateOptions,
): NamedStreet[] {
  const taken = new Set(query.words.map((_, index) => index).filter((index) => !isOnSide(index)))
  const named = new Map<number, NamedStreet>()
  const add = (hits: readonly SearchHit[]): boolean => {
    for (const { kind, record } of hits) {
      if (kind !== 'street') continue
      const street = region.streetById(record)
      const fitted = fitName(query, wordsOf(street.name), taken)
      if (fitted.isNamed)
        named.set(record, { street, ...fitted, importance: streetImportance(street.importance) })
    }
    return named.size > 0
  }
  recall(region.index, someWords(query, isOnSide), add, options)
  return [...named.values()]
    .sort((a, b) => textScore(query, b.fits, b.share) - textScore(query, a.fits, a.share))
    .slice(0, MOST_CROSSED)
}

/** A query for some words of another one. */
function someWords(query: Query, isWanted: (index: number) => boolean): Query {
  return { ...query, words: query.words.filter((_, index) => isWanted(index)) }
}

/**
 * The areas that parts of the query name: what is between commas, and up to four words at its end.
 * @param tail words of countries, states and postal codes at the end, before which a city may stand
 */
export function namedAreaCandidates(
  regions: readonly PlaceRecords[],
  world: World,
  query: Query,
  tail: ReadonlySet<number>,
  language: Language,
): Candidate[] {
  const options: CandidateOptions = { language, edited: 'none' }
  const end = query.words.findLastIndex((_, index) => !tail.has(index)) + 1
  const ends = [1, 2, 3, 4].map((count) => (index: number) => index >= end - count && index < end)
  const parts = [...new Set(query.words.map(({ part }) => part))].map(
    (part) => (index: number) => query.words[index]!.part === part,
  )
  const ofTail = (index: number): boolean => tail.has(index)
  return [...ends, ...parts.slice(0, MOST_PARTS), ofTail].flatMap((isWanted) => {
    const taken = new Set(query.words.map((_, index) => index).filter((index) => !isWanted(index)))
    const some = someWords(query, isWanted)
    const found: Candidate[] = []
    const add = (fresh: readonly Candidate[]): boolean => {
      found.push(...fresh.filter(({ area, share }) => area !== undefined && share >= MATCHED))
      return found.length > 0
    }
    for (const region of regions)
      recall(
        region.index,
        some,
        (hits) => add(hits.flatMap((hit) => areaCandidates(region, hit, query, taken, options))),
        options,
      )
    recall(
      world.index,
      some,
      (hits) => add(hits.flatMap((hit) => itemCandidates(world, hit, query, taken, options))),
      options,
    )
    return found
  })
}

/** Names of a country in all languages, and its codes, as words. */
const countries = new Map<string, Word[][]>()

export function countryNames(code: string): Word[][] {
  let names = countries.get(code)
  if (names === undefined) {
    names = [...namesOfCountry(code).map(wordsOf), ...codesOfCountry(code).map((one) => [codeWord(one)])]
    countries.set(code, names)
  }
  return names
}
