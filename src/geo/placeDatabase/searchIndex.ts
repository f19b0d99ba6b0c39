/**
 * The words of the names in a database, and the records that contain them: an FTS5 index without the texts themselves.
 * The most important records come first, so the first some hundred records with a word are the best ones.
 */
import type Database from 'better-sqlite3'
import type { Position } from '../../model/geofence.ts'
import { INTEGER_PARAMETER, TEXT_PARAMETER } from '../../runtime/sqlite.ts'
import type { Word } from '../text/words.ts'

export const SEARCH_SCHEMA = `
  CREATE VIRTUAL TABLE words USING fts5(
    names, context, content='', columnsize=0, detail=column, prefix='1 2 3',
    tokenize="unicode61 remove_diacritics 0 tokenchars '-/_'"
  );
  CREATE TABLE found (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, record INTEGER NOT NULL);
  CREATE TABLE term (text TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
`

/** A record that can be searched for. */
export interface SearchDocument {
  readonly kind: string
  /** The record's id in the table of its kind. */
  readonly record: number
  /** From 0 to 1. */
  readonly importance: number
  /** The words of its own names. */
  readonly names: readonly Word[]
  /** The words of the names of the areas that contain it. */
  readonly context: readonly Word[]
  readonly position: Position
}

/** The sizes of cells in degrees. A cell with its neighbours is a part of a city, or a city and its surroundings. */
export const SEARCH_CELL_DEGREES = [0.02, 0.16] as const

type CellSize = (typeof SEARCH_CELL_DEGREES)[number]

/** A word for a cell. Records around a point are found by words that no name contains, one for each size of cells. */
function cellWord(size: CellSize, row: number, column: number): string {
  return `_${SEARCH_CELL_DEGREES.indexOf(size)}_${row}_${column}`
}

/**
 * Makes the index of a database. Documents wait in a temporary table, because there may be millions of them, so that
 * others may read the database in the meantime.
 */
export class SearchIndexWriter {
  readonly #database: Database.Database
  readonly #document: Database.Statement
  readonly #counts = new Map<string, number>()

  constructor(database: Database.Database) {
    this.#database = database
    database.exec(
      'BEGIN; CREATE TEMP TABLE document (importance REAL, kind TEXT, record INTEGER, names TEXT, context TEXT)',
    )
    this.#document = database.prepare('INSERT INTO document VALUES (?, ?, ?, ?, ?)')
  }

  add({ kind, record, importance, names, context, position }: SearchDocument): void {
    const [own, around] = [formsOf(names), formsOf(context)]
    for (const form of [...own, ...around]) this.#counts.set(form, (this.#counts.get(form) ?? 0) + 1)
    const cells = SEARCH_CELL_DEGREES.map((size) => cellWord(size, ...cellOf(position, size)))
    const words = [...around, ...cells]
    this.#document.run(importance, kind, record, [...own].join(' '), words.join(' '))
  }

  /** Writes the index, and drops the temporary table. */
  finish(): void {
    const database = this.#database
    database.exec(`
      CREATE TEMP TABLE sorted (id INTEGER PRIMARY KEY, kind TEXT, record INTEGER, names TEXT, context TEXT);
      INSERT INTO sorted SELECT NULL, kind, record, names, context FROM document ORDER BY importance DESC, rowid;
      DROP TABLE document;
      INSERT INTO found SELECT id, kind, record FROM sorted ORDER BY id;
      INSERT INTO words (rowid, names, context) SELECT id, names, context FROM sorted ORDER BY id;
      INSERT INTO words (words) VALUES ('optimize');
      DROP TABLE sorted;
    `)
    const term = database.prepare('INSERT INTO term VALUES (?, ?)')
    for (const form of [...this.#counts.keys()].sort()) term.run(form, this.#counts.get(form)!)
    database.exec('COMMIT')
  }
}

function formsOf(words: readonly Word[]): Set<string> {
  return new Set(words.flatMap(({ text, canonical }) => [text, canonical]))
}

function cellOf([x, y]: Position, size: CellSize): [row: number, column: number] {
  return [Math.floor(y / size), Math.floor(x / size)]
}

/** A word that is searched for, in all forms that count as the word. */
export interface SearchedWord {
  readonly forms: readonly string[]
  /** Forms whose last letters may be missing. */
  readonly prefixes: readonly string[]
}

export interface SearchHit {
  readonly kind: string
  readonly record: number
}

/** The letters with which edits are made. They suffice for the words of most languages. */
const ALPHABET = [...'abcdefghijklmnopqrstuvwxyz']
const FIRST_CYRILLIC = 0x0430
const CYRILLIC = Array.from({ length: 32 }, (_, i) => String.fromCodePoint(FIRST_CYRILLIC + i))
const MIN_EDITED = 4
/** Longer words are not searched with an edit. */
const MAX_EDITED = 24

/** Reads an index that {@link SearchIndexWriter} wrote. */
export class SearchIndex {
  readonly #match: Database.Statement
  readonly #atLeast: Database.Statement
  readonly #count: Database.Statement

  constructor(database: Database.Database) {
    this.#match = database
      .prepare(
        `SELECT found.kind, found.record FROM words JOIN found ON found.id = words.rowid WHERE words MATCH ? LIMIT ${INTEGER_PARAMETER}`,
      )
      .raw()
    this.#atLeast = database.prepare(`SELECT text FROM term WHERE text >= ${TEXT_PARAMETER} LIMIT 1`).pluck()
    this.#count = database.prepare(`SELECT count FROM term WHERE text = ${TEXT_PARAMETER}`).pluck()
  }

  /** How many records contain a form. */
  countOf(form: string): number {
    return (this.#count.get(form) as number | undefined) ?? 0
  }

  hasPrefix(prefix: string): boolean {
    const first = this.#atLeast.get(prefix) as string | undefined
    return first !== undefined && first.startsWith(prefix)
  }

  /**
   * The known words that one insertion, deletion, change or swap makes of a word of 4 to 24 letters. With `isPrefix`,
   * the known prefixes.
   */
  editsOf(text: string, isPrefix: boolean): string[] {
    const letters = [...text]
    if (letters.length < MIN_EDITED || letters.length > MAX_EDITED) return []
    const alphabet = text.charCodeAt(0) >= FIRST_CYRILLIC ? CYRILLIC : ALPHABET
    const isKnown = (form: string): boolean => (isPrefix ? this.hasPrefix(form) : this.countOf(form) > 0)
    const known = new Set<string>()
    const consider = (form: string): void => {
      if (form !== text && isKnown(form)) known.add(form)
    }
    for (let at = 0; at <= letters.length; at++) {
      const before = letters.slice(0, at).join('')
      // No word begins with this, so no longer form is known either.
      if (!this.hasPrefix(before)) break
      const rest = letters.slice(at)
      const after = rest.slice(1).join('')
      for (const letter of this.#lettersAfter(before, alphabet)) {
        consider(before + letter + rest.join(''))
        if (rest.length > 0) consider(before + letter + after)
      }
      if (rest.length === 0) continue
      consider(before + after)
      if (rest.length > 1) consider(before + rest[1]! + rest[0]! + rest.slice(2).join(''))
    }
    return [...known]
  }

  /** The letters of an alphabet, which is in order, that follow the beginning of known words. */
  *#lettersAfter(before: string, alphabet: readonly string[]): Generator<string> {
    for (let at = 0; at < alphabet.length; at++) {
      const next = this.#atLeast.get(before + alphabet[at]!) as string | undefined
      if (next === undefined || !next.startsWith(before)) return
      // No known word has the letters up to this one.
      at = alphabet.indexOf(next.charAt(before.length))
      if (at < 0) return
      yield alphabet[at]!
    }
  }

  /** Whether a record contains all of the words. */
  hasAll(words: readonly SearchedWord[]): boolean {
    return this.#match.get(words.map(anyForm).join(' AND '), 1) !== undefined
  }

  /**
   * The records that contain all of the words, at least one of them in their own names, the most important ones first.
   * @param near only records in the cell of this point and those around it
   */
  search(
    words: readonly SearchedWord[],
    limit: number,
    near?: { readonly point: Position; readonly size: CellSize },
  ): SearchHit[] {
    const any = words.map(anyForm)
    const own = `names : (${any.join(' OR ')})`
    // A single word is found by its own names alone.
    let expression = any.length === 1 ? own : [own, ...any].join(' AND ')
    if (near !== undefined) {
      const { point, size } = near
      const [row, column] = cellOf(point, size)
      const cells = [-1, 0, 1].flatMap((rows) =>
        [-1, 0, 1].map((columns) => quoted(cellWord(size, row + rows, column + columns))),
      )
      expression = `(${expression}) AND context : (${cells.join(' OR ')})`
    }
    return (this.#match.all(expression, limit) as [string, number][]).map(([kind, record]) => ({
      kind,
      record,
    }))
  }
}

function anyForm({ forms, prefixes }: SearchedWord): string {
  return `(${[...forms.map(quoted), ...prefixes.map((form) => `${quoted(form)}*`)].join(' OR ')})`
}

/** The text of a word for FTS5. Nothing in quotes is syntax, and words contain no quotes. */
function quoted(form: string): string {
  return `"${form}"`
}
