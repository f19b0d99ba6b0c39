/**
 * The searches that one question has made in an index. Different readings of a query, and later attempts with edited
 * words, repeat many searches, so their results are kept until the question is answered. The number of searches of a
 * query is limited, because its words can be combined in thousands of ways.
 */
import type { Position } from '../../model/geofence.ts'
import {
  SEARCH_CELL_DEGREES,
  type SearchedWord,
  type SearchHit,
  type SearchIndex,
} from '../placeDatabase/searchIndex.ts'

/** Addresses that exist need some 25 different searches of an index, and crossings that do not exist some 80. */
const MOST_SEARCHES = 100
/** How many pairs of words are looked up. */
const MOST_PAIRS = 100
/** How many records are looked for around a point, in each size of cells. */
const MOST_HITS_NEAR = 60

/** The searches of one question in all indexes. */
export class Searches {
  readonly #indexes = new Map<SearchIndex, IndexSearches>()

  of(index: SearchIndex): IndexSearches {
    let searches = this.#indexes.get(index)
    if (searches === undefined) {
      searches = new IndexSearches(index)
      this.#indexes.set(index, searches)
    }
    return searches
  }
}

/** The searches of one question in one index. */
export class IndexSearches {
  readonly #index: SearchIndex
  readonly #found = new Map<string, readonly SearchHit[]>()
  readonly #together = new Map<string, boolean>()
  readonly #edits = new Map<string, readonly string[]>()

  constructor(index: SearchIndex) {
    this.#index = index
  }

  /**
   * Records with all of the words. If there are more than the limit, these are followed by those around a point. After
   * too many different searches, only the results of earlier searches are found.
   */
  search(words: readonly SearchedWord[], limit: number, near: Position | undefined): readonly SearchHit[] {
    const key = JSON.stringify([limit, ...words.map(({ forms, prefixes }) => [forms, prefixes])])
    let found = this.#found.get(key)
    if (found === undefined) {
      if (this.#found.size >= MOST_SEARCHES) return []
      found = this.#index.search(words, limit)
      // If there are more of them, some that are nearby may be among the others.
      if (near !== undefined && found.length === limit)
        found = [
          ...found,
          ...SEARCH_CELL_DEGREES.flatMap((size) =>
            this.#index.search(words, MOST_HITS_NEAR, { point: near, size }),
          ),
        ]
      this.#found.set(key, found)
    }
    return found
  }

  /** Whether some record has both words. After too many different pairs, any two may be together. */
  areTogether(one: SearchedWord, other: SearchedWord): boolean {
    const key = JSON.stringify([one.forms, one.prefixes, other.forms, other.prefixes])
    let areTogether = this.#together.get(key)
    if (areTogether === undefined) {
      if (this.#together.size >= MOST_PAIRS) return true
      areTogether = this.#index.hasAll([one, other])
      this.#together.set(key, areTogether)
    }
    return areTogether
  }

  countOf(form: string): number {
    return this.#index.countOf(form)
  }

  hasPrefix(prefix: string): boolean {
    return this.#index.hasPrefix(prefix)
  }

  /** The known words, or beginnings of words, that one edit makes of a word. */
  editsOf(text: string, isPrefix: boolean): readonly string[] {
    const key = `${text} ${isPrefix}`
    let edits = this.#edits.get(key)
    if (edits === undefined) {
      edits = this.#index.editsOf(text, isPrefix)
      this.#edits.set(key, edits)
    }
    return edits
  }
}
