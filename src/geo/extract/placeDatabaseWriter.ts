import Database from 'better-sqlite3'
import type { Position } from '../../model/geofence.ts'
import {
  AREA_KINDS,
  type AddressRecord,
  type AreaRecord,
  type IntersectionRecord,
  type PlaceRecord,
  type StreetRecord,
} from '../records/records.ts'
import type { RecordSink } from './recordCollector.ts'
import {
  ADDRESS_BOXES,
  addressBox,
  APPLICATION_ID,
  centreBox,
  PLACE_DATABASE_VERSION,
  SCHEMA,
  type RecordTable,
} from '../placeDatabase/schema.ts'
import { packLines, unitsOf } from '../placeDatabase/shapes.ts'

/**
 * Writes a place database. Nobody reads the file before {@link finish}, so a crash may leave anything: the import
 * begins it anew.
 */
export class PlaceDatabaseWriter implements RecordSink {
  readonly #database: Database.Database
  readonly #labels = new Map<string, number>()
  /** The last of each table. */
  readonly #ids = new Map<RecordTable, number>()
  readonly #statements: Readonly<Record<string, Database.Statement>>
  readonly #label: Database.Statement

  /** @param file does not exist yet */
  constructor(file: string) {
    const database = new Database(file)
    this.#database = database
    database.pragma('journal_mode = OFF')
    database.pragma('synchronous = OFF')
    database.exec(SCHEMA)
    database.exec('BEGIN')
    const into = (table: string, columns: number): Database.Statement =>
      database.prepare(`INSERT INTO ${table} VALUES (${Array.from({ length: columns }, () => '?').join()})`)
    this.#label = into('label', 2)
    const boxes = [
      ...ADDRESS_BOXES,
      'street_box',
      'intersection_box',
      'place_box',
      'area_box',
      ...AREA_KINDS.map(centreBox),
    ]
    this.#statements = {
      address: into('address', 9),
      street: into('street', 4),
      intersection: into('intersection', 5),
      place: into('place', 10),
      area: into('area', 10),
      ...Object.fromEntries(boxes.map((box) => [box, into(box, 5)])),
    }
  }

  addAddress({ number, street, unit, city, state, postalCode, position }: AddressRecord): void {
    const [x, y] = position.map(unitsOf)
    const labels = [city, state, postalCode].map((text) => this.#labelOf(text))
    const box = ADDRESS_BOXES[addressBox(city !== undefined, postalCode !== undefined)]!
    const row = [this.#labelOf(street), number, unit ?? null, ...labels, x, y]
    this.#add('address', box, [[position]], (id) => [id, ...row])
  }

  addStreet({ name, importance, line }: StreetRecord): void {
    this.#add('street', 'street_box', [line], (id) => [
      id,
      this.#labelOf(name),
      importance,
      packLines([line]),
    ])
  }

  addIntersection({ streets: [first, second], position }: IntersectionRecord): void {
    const [x, y] = position.map(unitsOf)
    this.#add('intersection', 'intersection_box', [[position]], (id) => [
      id,
      this.#labelOf(first),
      this.#labelOf(second),
      x,
      y,
    ])
  }

  addPlace({ id: key, name, names, categories, position, rings, size, details }: PlaceRecord): void {
    const [x, y] = position.map(unitsOf)
    this.#add('place', 'place_box', rings ?? [[position]], (id) => [
      id,
      key,
      name,
      jsonOf(names),
      categories.join(','),
      x,
      y,
      size,
      rings === undefined ? null : packLines(rings),
      JSON.stringify(details),
    ])
  }

  addArea({ kind, name, names, code, population, position, rings, size }: AreaRecord): void {
    const [x, y] = position.map(unitsOf)
    const row = [kind, name, jsonOf(names), code ?? null, population, x, y, size]
    const shape = rings === undefined ? null : packLines(rings)
    const box = rings === undefined ? centreBox(kind) : 'area_box'
    this.#add('area', box, rings ?? [[position]], (id) => [id, ...row, shape])
  }

  /** Makes the file complete. The caller makes it durable. */
  finish(): void {
    const database = this.#database
    database.exec('COMMIT')
    database.pragma(`application_id = ${APPLICATION_ID}`)
    database.pragma(`user_version = ${PLACE_DATABASE_VERSION}`)
    database.exec('ANALYZE')
    database.close()
  }

  /** Closes the file in whatever state it is. */
  abandon(): void {
    this.#database.close()
  }

  #add(
    table: RecordTable,
    box: string,
    lines: readonly (readonly Position[])[],
    row: (id: number) => readonly unknown[],
  ): void {
    const id = (this.#ids.get(table) ?? 0) + 1
    this.#ids.set(table, id)
    this.#statements[table]!.run(row(id))
    let [west, south, east, north] = [Infinity, Infinity, -Infinity, -Infinity]
    for (const line of lines) {
      for (const [x, y] of line) {
        west = Math.min(west, x)
        east = Math.max(east, x)
        south = Math.min(south, y)
        north = Math.max(north, y)
      }
    }
    this.#statements[box]!.run(id, unitsOf(west), unitsOf(east), unitsOf(south), unitsOf(north))
  }

  #labelOf(text: string): number
  #labelOf(text: string | undefined): number | null
  #labelOf(text: string | undefined): number | null {
    if (text === undefined) return null
    let id = this.#labels.get(text)
    if (id === undefined) {
      id = this.#labels.size + 1
      this.#labels.set(text, id)
      this.#label.run(id, text)
    }
    return id
  }
}

function jsonOf(names: ReadonlyMap<string, string>): string | null {
  return names.size === 0 ? null : JSON.stringify(Object.fromEntries(names))
}
