/** How well the words of a query fit the words of a record. The code is pure. */
import { isOneEdit, isOneEditOfPrefix, type Word } from '../text/words.ts'
import { weightOf, type Query, type QueryWord } from './query.ts'

/** A word with at least this score counts as the word of the query. */
export const MATCHED = 0.9

const EQUAL = 1
const PREFIX = 0.9
const EDITED = 0.7
const EDITED_PREFIX = 0.6
const MIN_EDITED = 4
const OWN_SHARE = 0.2

/** How well a word of a query fits a word of a name, from 0 to 1. */
function fit(asked: QueryWord, word: Word): number {
  if (asked.text === word.text) return EQUAL
  // An unfinished `sant` may be an abbreviation, or the beginning of something else.
  if (asked.canonical === word.canonical) return asked.isPrefix ? PREFIX : EQUAL
  if (asked.isPrefix && (word.text.startsWith(asked.text) || word.canonical.startsWith(asked.text)))
    return PREFIX
  if (asked.isNumeric || word.isNumeric || asked.text.length < MIN_EDITED) return 0
  if (isOneEdit(asked.text, word.text)) return EDITED
  return asked.isPrefix && isOneEditOfPrefix(asked.text, word.text) ? EDITED_PREFIX : 0
}

/** How well the words of a query fit a name. */
export interface NameFit {
  /** A value from 0 to 1 for each word of the query. */
  readonly fits: Float64Array
  /** The share of the name that is in the query, from 0 to 1. */
  readonly share: number
  /**
   * Whether a word of the name is in the query. A light word counts if the name has no other, or if the query may be
   * incomplete.
   */
  readonly isNamed: boolean
}

/**
 * Compares a query with a name.
 * @param taken words of the query that are read as something else
 */
export function fitName(query: Query, name: readonly Word[], taken: ReadonlySet<number>): NameFit {
  const fits = new Float64Array(query.words.length)
  const best = new Float64Array(name.length)
  for (const [index, asked] of query.words.entries()) {
    if (taken.has(index)) continue
    for (let at = 0; at < name.length; at++) {
      const quality = fit(asked, name[at]!)
      if (quality > fits[index]!) fits[index] = quality
      if (quality > best[at]!) best[at] = quality
    }
  }
  let sum = 0
  let all = 0
  let isNamed = false
  const isAllLight = name.every(({ isLight }) => isLight)
  for (const [at, word] of name.entries()) {
    const weight = weightOf(word)
    all += weight
    sum += weight * best[at]!
    if (best[at]! > 0 && (isAllLight || !word.isLight)) isNamed = true
  }
  // Somebody who has typed `Avenida` so far is looking for an avenue.
  const isBegun = query.isUnfinished && fits.every((quality) => quality >= MATCHED)
  return { fits, share: all === 0 ? 0 : sum / all, isNamed: isNamed || isBegun }
}

/**
 * Adds how well the words of a query fit the words around a record.
 * @param context is only read until all words of the query fit
 */
export function fitContext(query: Query, fits: Float64Array, context: Iterable<Word>): Float64Array {
  let open = [...fits.keys()].filter((index) => fits[index]! < EQUAL)
  if (open.length === 0) return fits
  const all = Float64Array.from(fits)
  for (const word of context) {
    let isClosed = false
    for (const index of open) {
      const quality = fit(query.words[index]!, word)
      if (quality > all[index]!) all[index] = quality
      if (quality >= EQUAL) isClosed = true
    }
    if (!isClosed) continue
    open = open.filter((index) => all[index]! < EQUAL)
    if (open.length === 0) break
  }
  return all
}

/**
 * The score from 0 to 1.
 * @param share of the record's own name
 */
export function textScore(query: Query, fits: Float64Array, share: number): number {
  let sum = 0
  for (const [index, { weight }] of query.words.entries()) sum += weight * fits[index]!
  return query.weight === 0 ? 0 : (sum / query.weight) * (1 - OWN_SHARE + OWN_SHARE * share)
}

/**
 * The share of the weight of a query that is matched.
 * @param except words that do not count
 */
export function matchedShare(query: Query, fits: Float64Array, except: ReadonlySet<number>): number {
  let matched = 0
  let all = 0
  for (const [index, { weight }] of query.words.entries()) {
    if (except.has(index)) continue
    all += weight
    if (fits[index]! >= MATCHED) matched += weight
  }
  return all === 0 ? 1 : matched / all
}
