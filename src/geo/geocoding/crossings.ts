import type { PlaceRecords, StoredStreet } from '../placeDatabase/port.ts'
import { crossingKey } from '../placeDatabase/schema.ts'
import type { SearchHit } from '../placeDatabase/searchIndex.ts'
import { streetImportance } from '../records/importance.ts'
import { wordsOf } from '../text/words.ts'
import type { GeocodeCandidate, CandidateOptions } from './candidate.ts'
import { someWords, type Query } from './query.ts'
import { recall } from './recall.ts'
import { fitName, textScore, type NameFit } from './textScore.ts'

/** How many streets on each side of a crossing are tried. */
const MOST_CROSSED = 12
const MOST_CROSSINGS = 8

/** The points at which streets named before a word meet streets named after it. */
export function crossings(
  region: PlaceRecords,
  query: Query,
  join: number,
  options: CandidateOptions,
): GeocodeCandidate[] {
  const [left, right] = [
    streetsNamed(region, query, (index) => index < join, options),
    streetsNamed(region, query, (index) => index > join, options),
  ]
  const candidates: GeocodeCandidate[] = []
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
  recall(options.searches.of(region.index), someWords(query, isOnSide), add, options)
  return [...named.values()]
    .sort((a, b) => textScore(query, b.fits, b.share) - textScore(query, a.fits, a.share))
    .slice(0, MOST_CROSSED)
}
