import type { Position } from '../../model/geofence.ts'
import type { SearchedWord, SearchHit } from '../placeDatabase/searchIndex.ts'
import type { Query, QueryWord } from './query.ts'
import type { IndexSearches } from './searches.ts'

/** How many records with all words, and with some of them, are looked at. The best ones come first. */
const MOST_HITS = 120
const MOST_HITS_OF_SOME = 40
/** The same with one of many words. */
const MOST_HITS_OF_ONE = 10
/** How many searches one reading of a query may cause. */
const MOST_SEARCHES = 24
/** How many words are searched for. The rarest ones say enough. */
const MOST_WORDS = 6
const MOST_FORMS = 12

/** Which words of a query may differ by one letter from those of a name. */
export type EditedWords = 'none' | 'unknown' | 'all'

/** From this number of words on, pairs are looked up before words are combined. Fewer words have fewer combinations than pairs. */
const LEAST_PAIRED = 4

/** Edits of all words are tried for at most this many words, because each word costs some hundred look-ups in an index. */
const MOST_EDITED = 8
/** How many words of a longer query are edited if they are unknown. */
const MOST_EDITED_OF_MANY = 4

/** What is tried, one after the other until something fits. Each step costs more than the one before. */
export function editedWordsOf({ words }: Query): EditedWords[] {
  return words.length <= MOST_EDITED ? ['none', 'unknown', 'all'] : ['none', 'unknown']
}

/** A word of the query as the index knows it. */
interface KnownWord extends SearchedWord {
  readonly text: string
  readonly isLight: boolean
  readonly isNumeric: boolean
  readonly count: number
}

/**
 * Records that a query may mean: those with all of its words, or else with as many as possible. Words that no record
 * has, such as most house numbers, are left out.
 * @param isEnough whether no records with fewer words are wanted, after those with some
 */
export function recall(
  index: IndexSearches,
  query: Query,
  isEnough: (hits: readonly SearchHit[], words: ReadonlySet<string>) => boolean,
  { edited, near }: { readonly edited: EditedWords; readonly near?: Position | undefined },
): SearchHit[] {
  let editsLeft = query.words.length <= MOST_EDITED ? MOST_EDITED : MOST_EDITED_OF_MANY
  const known = differentWords(query.words)
    .map((word) => knownWord(index, word, edited, () => editsLeft-- > 0))
    .filter((word) => word !== undefined)
    .sort((a, b) => a.count - b.count)
  const heavy = known.filter(({ isLight }) => !isLight)
  const words = (heavy.length > 0 ? heavy : known).slice(0, MOST_WORDS)
  if (words.length === 0) return []
  const hits = new Map<string, SearchHit>()
  /** @returns whether the records with these words are enough */
  const search = (some: readonly KnownWord[], limit: number): boolean => {
    const fresh: SearchHit[] = []
    for (const hit of index.search(some, limit, near)) {
      const key = `${hit.kind} ${hit.record}`
      if (hits.has(key)) continue
      hits.set(key, hit)
      fresh.push(hit)
    }
    return fresh.length > 0 && isEnough(fresh, new Set(some.map(({ text }) => text)))
  }
  // Light words say little, but a letter after them says even less.
  if (known.length > words.length && search(known.slice(0, MOST_WORDS), MOST_HITS)) return [...hits.values()]
  if (search(words, MOST_HITS)) return [...hits.values()]
  // Most words of a query that is not one address are in no record together.
  const mayCombine = (one: KnownWord, other: KnownWord): boolean =>
    words.length < LEAST_PAIRED || index.areTogether(one, other)
  let searches = 1
  for (let left = words.length - 1; left > 0; left--) {
    let isFound = false
    const isOneOfMany = left === 1 && words.length > LEAST_PAIRED
    const limit = isOneOfMany ? MOST_HITS_OF_ONE : MOST_HITS_OF_SOME
    const hasFound = hits.size > 0
    for (const some of subsets(words, left, mayCombine)) {
      // One of many words says little, unless nothing else is found, or it may be a postal code.
      if (isOneOfMany && hasFound && !some[0]!.isNumeric) continue
      if (searches++ >= MOST_SEARCHES) break
      if (search(some, limit)) isFound = true
    }
    if (isFound) break
  }
  return [...hits.values()]
}

/** Each word once, because a word that a record has is also there the second time. */
function differentWords(words: readonly QueryWord[]): readonly QueryWord[] {
  const different = new Map<string, QueryWord>()
  for (const word of words) if (!different.has(word.text)) different.set(word.text, word)
  return [...different.values()]
}

function knownWord(
  index: IndexSearches,
  { text, canonical, isPrefix, isLight, isNumeric }: QueryWord,
  edited: EditedWords,
  mayEdit: () => boolean,
): KnownWord | undefined {
  const forms = new Set<string>()
  const prefixes = new Set<string>()
  let count = 0
  for (const form of new Set([text, canonical])) {
    const known = index.countOf(form)
    count += known
    if (isPrefix && form === text && index.hasPrefix(form)) prefixes.add(form)
    else if (known > 0) forms.add(form)
  }
  const isKnown = forms.size + prefixes.size > 0
  if (!isNumeric && (edited === 'all' || (edited === 'unknown' && !isKnown)) && mayEdit()) {
    for (const form of index.editsOf(text, isPrefix).slice(0, MOST_FORMS)) {
      if (isPrefix) prefixes.add(form)
      else forms.add(form)
      count += index.countOf(form)
    }
  }
  if (forms.size + prefixes.size === 0) return undefined
  return { text, forms: [...forms], prefixes: [...prefixes], isLight, isNumeric, count }
}

/**
 * All ways to choose a number of the items, in the order of the items.
 * @param isAllowed whether two of them may be in one choice, the first one before the other
 */
function* subsets<Item>(
  items: readonly Item[],
  size: number,
  isAllowed: (one: Item, other: Item) => boolean,
): Generator<Item[]> {
  if (size === 0) {
    yield []
    return
  }
  for (const [at, item] of items.entries()) {
    const others = items.slice(at + 1).filter((other) => isAllowed(item, other))
    for (const rest of subsets(others, size - 1, isAllowed)) yield [item, ...rest]
  }
}
