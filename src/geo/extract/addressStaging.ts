import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type Database from 'better-sqlite3'
import { joinPieces } from '../addressFiles/edgePieces.ts'
import type { EdgeRow, EdgeSide, HouseRow } from '../addressFiles/rows.ts'
import type { Position } from '../../model/geofence.ts'
import { createSqlite } from '../../runtime/sqlite.ts'
import { houseNumbers } from '../records/addressTags.ts'
import type { AddressRecord, StreetImportance } from '../records/records.ts'
import { packLines, unpackLines } from '../placeDatabase/shapes.ts'
import { nameKey } from '../text/words.ts'
import { distinctHouses } from './distinctHouses.ts'
import type { RecordSink } from './recordCollector.ts'
import { StreetCrossings } from './streetCrossings.ts'
import { StreetJoiner } from './streetJoiner.ts'

/** Names of streets whose keys are kept. */
const MOST_KEYS = 50_000
/** How long it works without a pause, in milliseconds. */
const PAUSE_MS = 50
/** Ends of edges within about this many degrees count as one crossing. */
const END_DEGREES = 2e-5

interface Staged {
  readonly key: string
  readonly street: string
  /** The house number; undefined for an edge. */
  readonly number: string | null
  readonly unit: string | null
  readonly city: string | null
  readonly state: string | null
  readonly postalCode: string | null
  readonly x: number | null
  readonly y: number | null
  readonly edge: Buffer | null
  readonly sides: string | null
  readonly importance: StreetImportance | null
}

interface Piece {
  /** A key for joining pieces. Pieces with the same id, street and ranges are one edge. */
  readonly key: string
  readonly street: string
  readonly sides: string
  readonly importance: StreetImportance
  readonly line: Buffer
}

/**
 * Sorts houses and edges by street, and returns the streets with them. It does so on the disk, because the files may
 * be larger than the memory. Its file is in the folder of the build, and is removed with it or by {@link remove}.
 */
export class AddressStaging {
  readonly #database: Database.Database
  /** A separate file, because it is read while the other one is written. */
  readonly #pieces: Database.Database
  readonly #countryAt: (longitude: number, latitude: number) => string | undefined
  readonly #keys = new Map<string, string>()
  readonly #insert: Database.Statement
  readonly #insertPiece: Database.Statement
  houses = 0
  edges = 0

  /**
   * Creates the files.
   * @param countryAt returns the alpha-2 code of a position's country
   */
  constructor(folder: string, countryAt: (longitude: number, latitude: number) => string | undefined) {
    const database = createSqlite(join(folder, 'staging.db'))
    const pieces = createSqlite(join(folder, 'pieces.db'))
    this.#database = database
    this.#pieces = pieces
    this.#countryAt = countryAt
    database.exec(`
      CREATE TABLE staged (
        key TEXT NOT NULL, street TEXT NOT NULL, number TEXT, unit TEXT, city TEXT, state TEXT, postalCode TEXT, x REAL, y REAL,
        edge BLOB, sides TEXT, importance INTEGER
      );
      BEGIN;
    `)
    pieces.exec(`
      CREATE TABLE piece (
        key TEXT NOT NULL, street TEXT NOT NULL, sides TEXT NOT NULL, importance INTEGER NOT NULL, line BLOB NOT NULL
      );
      BEGIN;
    `)
    this.#insert = database.prepare('INSERT INTO staged VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)')
    this.#insertPiece = pieces.prepare('INSERT INTO piece VALUES (?, ?, ?, ?, ?)')
  }

  /**
   * Adds a row. It stands for several houses if its number is a list or, outside of the United States and Canada, a
   * range.
   */
  addHouse({ number, street, unit, city, state, postalCode, position: [x, y] }: HouseRow): void {
    const others = [unit, city, state, postalCode].map((text) => text ?? null)
    for (const one of this.#numbersOf(number, [x, y])) {
      this.houses++
      this.#insert.run(this.#keyOf(street), street, one, ...others, x, y, null, null, null)
    }
  }

  addEdge({ id, street, importance, line, sides }: EdgeRow): void {
    const [shape, text] = [packLines([line]), JSON.stringify(sides)]
    if (id === undefined) this.#addEdge(street, text, importance, shape)
    else this.#insertPiece.run(`${id}\n${street}\n${text}`, street, text, importance, shape)
  }

  /**
   * Writes all records, and ends.
   * @param onProgress called with the share that is done, from 0 to 1; what it throws ends the work
   */
  async finish(out: RecordSink, onProgress: (share: number) => void): Promise<void> {
    const database = this.#database
    this.#joinEdges()
    database.exec('COMMIT')
    const joiner = new StreetJoiner()
    const crossings = new Crossings()
    const total = this.houses + this.edges
    let done = 0
    let id = 0
    let pauseAt = 0
    for (const group of groups(
      database.prepare('SELECT * FROM staged ORDER BY key, rowid').iterate() as Iterable<Staged>,
    )) {
      const houses = new Map<string, AddressRecord[]>()
      for (const row of group) {
        if (row.edge === null) addTo(houses, houseOf(row, ++id))
        else addEdgeTo(row, out, joiner, crossings)
      }
      for (const same of houses.values()) for (const house of distinctHouses(same)) joiner.addHouse(house)
      for (const street of joiner.streets()) out.addStreet(street)
      done += group.length
      if (performance.now() < pauseAt) continue
      // This lets signals arrive.
      await setImmediate()
      pauseAt = performance.now() + PAUSE_MS
      onProgress(done / total)
    }
    for (const crossing of crossings.found()) out.addIntersection(crossing)
  }

  /** Closes the files and deletes them. */
  remove(): void {
    for (const database of [this.#pieces, this.#database]) {
      database.close()
      rmSync(database.name)
    }
  }

  #numbersOf(text: string, [x, y]: Position): string[] {
    if (/^\d+$/.test(text)) return text.length > 20 ? [] : [text]
    const isHyphenPart = !text.includes('-') || ['US', 'CA'].includes(this.#countryAt(x, y) ?? '')
    return houseNumbers(text, isHyphenPart)
  }

  #addEdge(street: string, sides: string, importance: number, line: Buffer): void {
    this.edges++
    const nothing = [null, null, null, null, null, null, null]
    this.#insert.run(this.#keyOf(street), street, ...nothing, line, sides, importance)
  }

  /**
   * Joins pieces with the same id, name and ranges to one edge. If an edge has several ranges, they have the same
   * line.
   */
  #joinEdges(): void {
    const rows = this.#pieces.prepare('SELECT * FROM piece ORDER BY key, rowid').iterate() as Iterable<Piece>
    for (const pieces of groups(rows)) {
      const { street, sides, importance, line } = pieces[0]!
      const joined =
        pieces.length === 1
          ? line
          : packLines([joinPieces(pieces.map((piece) => unpackLines(piece.line)[0]!))])
      this.#addEdge(street, sides, importance, joined)
    }
  }

  #keyOf(street: string): string {
    let key = this.#keys.get(street)
    if (key === undefined) {
      if (this.#keys.size >= MOST_KEYS) this.#keys.clear()
      key = nameKey(street)
      this.#keys.set(street, key)
    }
    return key
  }
}

/** Finds the points at which edges of several streets end. */
class Crossings {
  readonly #crossings = new StreetCrossings()
  readonly #ends = new Map<string, number>()
  readonly #positions: Position[] = []

  add(street: string, line: readonly Position[]): void {
    this.#crossings.add(street, [this.#endAt(line[0]!), this.#endAt(line.at(-1)!)])
  }

  found(): Iterable<Parameters<RecordSink['addIntersection']>[0]> {
    return this.#crossings.found((end) => this.#positions[end])
  }

  #endAt(position: Position): number {
    const key = position.map((degrees) => Math.round(degrees / END_DEGREES)).join()
    let end = this.#ends.get(key)
    if (end === undefined) {
      end = this.#positions.push(position) - 1
      this.#ends.set(key, end)
    }
    return end
  }
}

/** Groups of successive rows with the same key. */
function* groups<Row extends { readonly key: string }>(rows: Iterable<Row>): Generator<Row[]> {
  let group: Row[] = []
  for (const row of rows) {
    if (group.length > 0 && group[0]!.key !== row.key) {
      yield group
      group = []
    }
    group.push(row)
  }
  if (group.length > 0) yield group
}

function houseOf(row: Staged, id: number): AddressRecord {
  const { street, number, unit, city, state, postalCode, x, y } = row
  return {
    number: number!,
    street,
    unit: unit ?? undefined,
    city: city ?? undefined,
    state: state ?? undefined,
    postalCode: postalCode ?? undefined,
    position: [x!, y!],
    type: 'node',
    id,
    isPlain: true,
    property: undefined,
  }
}

function addTo(houses: Map<string, AddressRecord[]>, house: AddressRecord): void {
  const key = `${house.number}\n${house.street}\n${house.city ?? ''}\n${house.unit ?? ''}`
  const others = houses.get(key)
  if (others === undefined) houses.set(key, [house])
  else others.push(house)
}

function addEdgeTo(row: Staged, out: RecordSink, joiner: StreetJoiner, crossings: Crossings): void {
  const { street, importance } = row
  const line = unpackLines(row.edge!)[0]!
  out.addWay({ name: street, line })
  joiner.addWay(street, importance!, line)
  crossings.add(street, line)
  for (const { city, state, postalCode, ...range } of JSON.parse(row.sides!) as EdgeSide[])
    joiner.addRange({ ...range, street, line, city, state, postalCode })
}
