import type { Position } from '../../model/geofence.ts'
import type { SearchedWord, SearchHit, SearchIndex } from '../placeDatabase/searchIndex.ts'
import type { Query, QueryWord } from './query.ts'

/** Records with all of the words that are looked at, and with some of them; the best come first. */
const MOST_HITS = 120
const MOST_HITS_OF_SOME = 40
const MOST_HITS_NEAR = 80
/** Questions to an index for one query. */
const MOST_SEARCHES = 24
/** The words that are searched for: the rarest ones say enough. */
const MOST_WORDS = 6
const MOST_FORMS = 12

/** Which words of a query may differ by one letter from those of a name. */
export type EditedWords = 'none' | 'unknown' | 'all'

/** In the order in which they are tried: each costs more than the one before. */
export const EDITED_WORDS: readonly EditedWords[] = ['none', 'unknown', 'all']

/** A word of the query as the index knows it. */
interface KnownWord extends SearchedWord {
  readonly count: number
}

/**
 * Records that a query may mean: those with all of its words, or else with as many as possible. Words that no record
 * has, such as most house numbers, are left out.
 */
export function recall(
  index: SearchIndex,
  query: Query,
  isEnough: (hits: readonly SearchHit[]) => boolean,
  { edited, near }: { readonly edited: EditedWords; readonly near?: Position | undefined },
): SearchHit[] {
  const known = query.words
    .map((word) => knownWord(index, word, edited))
    .filter((word): word is KnownWord & { isLight: boolean } => word !== undefined)
  const heavy = known.filter(({ isLight }) => !isLight)
  const words = (heavy.length > 0 ? heavy : known).sort((a, b) => a.count - b.count).slice(0, MOST_WORDS)
  if (words.length === 0) return []
  const hits = new Map<string, SearchHit>()
  let searches = 0
  const search = (some: readonly KnownWord[]): SearchHit[] => {
    const fresh: SearchHit[] = []
    const found = [
      ...(near === undefined ? [] : index.search(some, MOST_HITS_NEAR, near)),
      ...index.search(some, some.length === words.length ? MOST_HITS : MOST_HITS_OF_SOME),
    ]
    for (const hit of found) {
      const key = `${hit.kind} ${hit.record}`
      if (hits.has(key)) continue
      hits.set(key, hit)
      fresh.push(hit)
    }
    return fresh
  }
  for (let left = words.length; left > 0; left--) {
    const fresh: SearchHit[] = []
    for (const some of subsets(words, left)) {
      if (searches++ >= MOST_SEARCHES) break
      fresh.push(...search(some))
    }
    if (fresh.length > 0 && isEnough(fresh)) break
  }
  return [...hits.values()]
}

function knownWord(
  index: SearchIndex,
  { text, canonical, isPrefix, isLight, isNumeric }: QueryWord,
  edited: EditedWords,
): (KnownWord & { isLight: boolean }) | undefined {
  const forms = new Set<string>()
  let count = 0
  for (const form of new Set([text, canonical])) {
    if (isPrefix ? !index.hasPrefix(form) : index.countOf(form) === 0) continue
    forms.add(form)
    count += index.countOf(form)
  }
  if (!isNumeric && (edited === 'all' || (edited === 'unknown' && forms.size === 0))) {
    for (const form of index.editsOf(text, isPrefix)) {
      if (forms.size >= MOST_FORMS) break
      forms.add(form)
      count += index.countOf(form)
    }
  }
  return forms.size === 0 ? undefined : { forms: [...forms], isPrefix, isLight, count }
}

/** All choices of so many items, the first ones first. */
function* subsets<Item>(items: readonly Item[], size: number, from = 0): Generator<Item[]> {
  if (size === 0) {
    yield []
    return
  }
  for (let at = from; at + size <= items.length; at++)
    for (const rest of subsets(items, size - 1, at + 1)) yield [items[at]!, ...rest]
}
