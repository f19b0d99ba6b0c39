import type Database from 'better-sqlite3'
import type { Position } from '../../model/geofence.ts'
import type { Chain } from '../../model/place.ts'
import { createSqlite } from '../../runtime/sqlite.ts'
import {
  AREA_KINDS,
  type AddressRecord,
  type AreaRecord,
  type IntersectionRecord,
  type PlaceRecord,
  type RangeRecord,
  type StreetRecord,
  type WayRecord,
} from '../records/records.ts'
import { middleOf } from '../records/areas.ts'
import { numberValue } from '../records/houseNumbers.ts'
import { rangeValues } from '../records/numberRanges.ts'
import { radiusOf } from '../records/placeExtent.ts'
import type { RecordSink } from './recordCollector.ts'
import { boxesAround } from '../placeDatabase/boxes.ts'
import {
  ADDRESS_BOXES,
  addressBox,
  PLACE_APPLICATION_ID,
  centreBox,
  crossingKey,
  FOOTPRINT_BOX,
  INDEXES,
  PLACE_DATABASE_VERSION,
  PLACE_SCHEMA,
  type RecordTable,
} from '../placeDatabase/schema.ts'
import { SearchIndexWriter } from '../placeDatabase/searchIndex.ts'
import { packLines, unitsOf } from '../placeDatabase/shapes.ts'
import { traitsOf, type Trait } from '../placeDatabase/traitIndex.ts'
import { searchDocuments } from './searchDocuments.ts'

/**
 * Writes a place database. Nobody reads the file before {@link finish}. After a crash it may contain anything, and the
 * import writes it again.
 */
export class PlaceDatabaseWriter implements RecordSink {
  readonly #database: Database.Database
  readonly #labels = new Map<string, number>()
  readonly #chains = new Map<string, number>()
  readonly #traits = new Map<string, number>()
  /** The last id of each table. */
  readonly #ids = new Map<RecordTable, number>()
  readonly #statements: Readonly<Record<string, Database.Statement>>
  readonly #label: Database.Statement
  readonly #isPlaceKnown: Database.Statement
  readonly #file: string
  /** The spellings of streets that have more than one. */
  readonly #spellings = new Map<number, readonly string[]>()
  readonly #postalCodes = new PostalCodes()

  /**
   * Creates the file.
   * @param file must not exist yet
   */
  constructor(file: string) {
    const database = createSqlite(file)
    this.#database = database
    this.#file = file
    database.exec(PLACE_SCHEMA)
    database.exec('BEGIN')
    const into = (table: string, columns: number): Database.Statement =>
      database.prepare(`INSERT INTO ${table} VALUES (${Array.from({ length: columns }, () => '?').join()})`)
    this.#label = into('label', 2)
    this.#isPlaceKnown = database.prepare('SELECT 1 FROM place WHERE key = ?')
    const boxes = [
      ...ADDRESS_BOXES,
      'range_box',
      'way_box',
      'intersection_box',
      'place_box',
      FOOTPRINT_BOX,
      'area_box',
      ...AREA_KINDS.map(centreBox),
    ]
    this.#statements = {
      address: into('address', 12),
      range: into('range', 12),
      street: into('street', 9),
      way: into('way', 3),
      intersection: into('intersection', 6),
      place: into('place', 11),
      chain: into('chain', 4),
      trait: into('trait', 2),
      place_trait: into('place_trait', 4),
      area: into('area', 10),
      ...Object.fromEntries(boxes.map((box) => [box, into(box, 5)])),
    }
  }

  addWay({ name, line }: WayRecord): void {
    this.#add('way', 'way_box', [line], (id) => [id, this.#labelOf(name), packLines([line])])
  }

  addStreet({ id, name, names, importance, position, city, postalCode, houses, ranges }: StreetRecord): void {
    const [x, y] = position.map(unitsOf)
    const labels = [city, postalCode].map((text) => this.#labelOf(text))
    this.#statements['street']!.run(
      id,
      this.#labelOf(name),
      importance,
      ...labels,
      x,
      y,
      ...valuesOf(houses, ranges),
    )
    if (names.length > 1) this.#spellings.set(id, names)
    for (const house of houses) this.#addHouse(house, id)
    for (const range of ranges) this.#addRange(range, id)
  }

  addIntersection({ streets: [first, second], position }: IntersectionRecord): void {
    const [x, y] = position.map(unitsOf)
    this.#add('intersection', 'intersection_box', [[position]], (id) => [
      id,
      this.#labelOf(first),
      this.#labelOf(second),
      x,
      y,
      crossingKey(first, second),
    ])
  }

  /** Adds a place, unless there is one with its id. Of two objects with one id, the first one counts. */
  addPlace(place: PlaceRecord): void {
    const { id: key, name, names, categories, position, rings, size, details } = place
    if (this.#isPlaceKnown.get(key) !== undefined) return
    const [x, y] = position.map(unitsOf) as [number, number]
    const chain = this.#chainOf(place.chain)
    const shape = rings === undefined ? null : packLines(rings)
    const row = [key, name, jsonOf(names), categories.join(','), x, y, size, shape]
    const id = this.#add('place', 'place_box', rings ?? [[position]], (number) => [
      number,
      ...row,
      JSON.stringify(details),
      chain,
    ])
    this.#statements[FOOTPRINT_BOX]!.run(
      id,
      rings === undefined ? circleBox(position, radiusOf(categories)) : boxOf(rings),
    )
    for (const trait of traitsOf(place)) this.#statements['place_trait']!.run(this.#traitOf(trait), y, x, id)
  }

  addArea(area: AreaRecord): void {
    if (area.kind === 'postalCode') this.#postalCodes.delete(area.name)
    this.#addArea(area)
  }

  #addArea({ kind, name, names, code, population, position, rings, size }: AreaRecord): void {
    const [x, y] = position.map(unitsOf)
    const row = [kind, name, jsonOf(names), code ?? null, population, x, y, size]
    const shape = rings === undefined ? null : packLines(rings)
    const box = rings === undefined ? centreBox(kind) : 'area_box'
    this.#add('area', box, rings ?? [[position]], (id) => [id, ...row, shape])
  }

  /** Makes the file complete. The caller makes it durable. */
  finish(): void {
    const database = this.#database
    for (const area of this.#postalCodes.areas()) this.#addArea(area)
    database.exec(INDEXES)
    database.exec('COMMIT')
    database.pragma(`application_id = ${PLACE_APPLICATION_ID}`)
    database.pragma(`user_version = ${PLACE_DATABASE_VERSION}`)
    const index = new SearchIndexWriter(database)
    for (const document of searchDocuments(this.#file, this.#spellings)) index.add(document)
    index.finish()
    // With these samples, the text index would prepare its own statements anew at each use.
    database.exec('ANALYZE; DROP TABLE IF EXISTS sqlite_stat4')
    database.close()
  }

  /** Closes the file, whatever state it is in. */
  abandon(): void {
    this.#database.close()
  }

  #addHouse(house: AddressRecord, streetId: number): void {
    const { number, street, unit, city, state, postalCode, position, property } = house
    const [x, y] = position.map(unitsOf)
    const labels = [city, state, postalCode].map((text) => this.#labelOf(text))
    const box = ADDRESS_BOXES[addressBox(city !== undefined, postalCode !== undefined)]!
    const row = [
      this.#labelOf(street),
      number,
      unit ?? null,
      ...labels,
      x,
      y,
      streetId,
      numberValue(number),
      property ?? null,
    ]
    this.#add('address', box, [[position]], (id) => [id, ...row])
    if (postalCode !== undefined) this.#postalCodes.add(postalCode, position)
  }

  /** Adds a range, unless it has no numbers, or they are too far apart. */
  #addRange(range: RangeRecord, streetId: number): void {
    const values = rangeValues(range)
    if (values === undefined) return
    const { street, first, last, parity, line, city, state, postalCode } = range
    const labels = [city, state, postalCode].map((text) => this.#labelOf(text))
    const row = [this.#labelOf(street), first, last, parity, ...labels, packLines([line]), streetId]
    this.#add('range', 'range_box', [line], (id) => [id, ...row, values.low, values.high])
    if (postalCode !== undefined) this.#postalCodes.add(postalCode, middleOf(line))
  }

  #add(
    table: RecordTable,
    box: string,
    lines: readonly (readonly Position[])[],
    row: (id: number) => readonly unknown[],
  ): number {
    const id = (this.#ids.get(table) ?? 0) + 1
    this.#ids.set(table, id)
    this.#statements[table]!.run(row(id))
    this.#statements[box]!.run(id, boxOf(lines))
    return id
  }

  #chainOf(chain: Chain | undefined): number | null {
    if (chain === undefined) return null
    const { slug, name, domain } = chain
    const key = `${slug} ${domain ?? ''}`
    return numberOf(this.#chains, key, (id) => this.#statements['chain']!.run(id, slug, name, domain ?? null))
  }

  #traitOf(trait: Trait): number {
    return numberOf(this.#traits, trait, (id) => this.#statements['trait']!.run(id, trait))
  }

  #labelOf(text: string): number
  #labelOf(text: string | undefined): number | null
  #labelOf(text: string | undefined): number | null {
    if (text === undefined) return null
    return numberOf(this.#labels, text, (id) => this.#label.run(id, text))
  }
}

/**
 * The number of a text.
 * @param write called with the number if it is new
 */
function numberOf(numbers: Map<string, number>, text: string, write: (id: number) => void): number {
  let id = numbers.get(text)
  if (id === undefined) {
    id = numbers.size + 1
    numbers.set(text, id)
    write(id)
  }
  return id
}

/** West, east, south and north, in units of the database. */
function boxOf(lines: readonly (readonly Position[])[]): number[] {
  let [west, south, east, north] = [Infinity, Infinity, -Infinity, -Infinity]
  for (const line of lines) {
    for (const [x, y] of line) {
      west = Math.min(west, x)
      east = Math.max(east, x)
      south = Math.min(south, y)
      north = Math.max(north, y)
    }
  }
  return [west, east, south, north].map(unitsOf)
}

function circleBox(centre: Position, radius: number): number[] {
  const [east, west, north, south] = boxesAround(centre, radius)[0]!
  return [west, east, south, north]
}

/** The smallest and the largest value of house numbers, or an empty list. */
function valuesOf(
  houses: readonly AddressRecord[],
  ranges: readonly RangeRecord[],
): [number | null, number | null] {
  let [low, high] = [Infinity, -Infinity]
  const add = (least: number, largest: number): void => {
    low = Math.min(low, least)
    high = Math.max(high, largest)
  }
  for (const { number } of houses) {
    const value = numberValue(number)
    add(value, value)
  }
  for (const range of ranges) {
    const values = rangeValues(range)
    if (values !== undefined) add(values.low, values.high)
  }
  return high < low ? [null, null] : [low, high]
}

/** The postal codes of houses and number ranges, each at their middle, for codes of which the extract has no area. */
class PostalCodes {
  readonly #sums = new Map<string, { x: number; y: number; count: number }>()
  readonly #areas = new Set<string>()

  add(code: string, [x, y]: Position): void {
    const sum = this.#sums.get(code) ?? { x: 0, y: 0, count: 0 }
    this.#sums.set(code, { x: sum.x + x, y: sum.y + y, count: sum.count + 1 })
  }

  /** Forgets a code, because the extract has an area of it. */
  delete(code: string): void {
    this.#areas.add(code)
  }

  *areas(): Generator<AreaRecord> {
    for (const [name, { x, y, count }] of this.#sums) {
      if (this.#areas.has(name)) continue
      const position: Position = [x / count, y / count]
      yield {
        kind: 'postalCode',
        name,
        names: new Map(),
        code: undefined,
        population: 0,
        position,
        rings: undefined,
        size: 0,
      }
    }
  }
}

function jsonOf(names: ReadonlyMap<string, string>): string | null {
  return names.size === 0 ? null : JSON.stringify(Object.fromEntries(names))
}
