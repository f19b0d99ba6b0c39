import type Database from 'better-sqlite3'
import { LRUCache } from 'lru-cache'
import { pointDistance } from '../../geometry/distance.ts'
import type { Position } from '../../model/geofence.ts'
import type { Chain } from '../../model/place.ts'
import { INTEGER_PARAMETER, openFinishedSqlite, TEXT_PARAMETER } from '../../runtime/sqlite.ts'
import { nearestOnLine } from '../records/areas.ts'
import { hasParity } from '../records/numberRanges.ts'
import { signedMeters } from '../records/placeExtent.ts'
import type { AreaKind, PlaceDetails } from '../records/records.ts'
import type {
  Near,
  PlaceRecords,
  StoredAddress,
  StoredArea,
  StoredIntersection,
  ShapedPlace,
  StoredPlace,
  StoredRange,
  StoredStreet,
  StoredWay,
} from './port.ts'
import { AreaCells } from './areaCells.ts'
import { BoxSearch } from './boxSearch.ts'
import { PlaceFootprints } from './placeFootprints.ts'
import { PostalCodeTables } from './postalCodes.ts'
import { SearchIndex } from './searchIndex.ts'
import {
  ADDRESS_BOXES,
  addressBox,
  FOOTPRINT_BOX,
  PLACE_DATABASE_VERSION,
  UNITS,
  type RecordTable,
} from './schema.ts'
import { isInPackedRings, unitsOf, unpackLines } from './shapes.ts'
import { TraitIndex } from './traitIndex.ts'

type Row = Readonly<Record<string, number | string | Buffer | null>>

/** How many number ranges of a street are examined: those that begin closest below the number. */
const MOST_RANGES = 200
/**
 * How many of the streets and places that were found lately are kept, at a kilobyte each. Somebody who types a name
 * finds the same ones with each letter.
 */
const MOST_KEPT = 4000

/** How many addresses are kept, at some hundred bytes each. The searches for one answer find the same ones again. */
const MOST_ADDRESSES = 100

/** The size of SQLite's cache for each database of each thread. The system keeps more of the file. */
const CACHE_BYTES = 16 * 1024 * 1024

/** A place database that is open for reading. It is synchronous, so it must be used in a separate thread. */
export class PlaceDatabase implements PlaceRecords {
  readonly #database: Database.Database
  readonly #rows: Readonly<Record<RecordTable, Database.Statement>>
  readonly #boxes: Readonly<Record<Exclude<RecordTable, 'address' | 'area'>, BoxSearch>>
  /** The boxes of addresses, by the parts that the addresses have; see addressBox. */
  readonly #addressBoxes: readonly BoxSearch[]
  readonly #areas: AreaCells
  readonly #street: Database.Statement
  readonly #houses: Readonly<Record<'ascending' | 'descending', Database.Statement>>
  readonly #ranges: Database.Statement
  readonly #crossings: Database.Statement
  readonly #placeByKey: Database.Statement
  readonly #footprints: BoxSearch
  readonly #chains: ReadonlyMap<number, Chain>
  readonly #addresses = new LRUCache<number, StoredAddress>({ max: MOST_ADDRESSES })
  readonly #streets = new LRUCache<number, StoredStreet>({ max: MOST_KEPT })
  readonly #places = new LRUCache<number, StoredPlace>({ max: MOST_KEPT })
  readonly index: SearchIndex
  readonly traits: TraitIndex
  readonly footprints: PlaceFootprints
  readonly postalCodes: PostalCodeTables

  /**
   * Opens the file.
   * @throws the errors of SQLite, or an error if the file has another version
   */
  constructor(file: string) {
    const database = openFinishedSqlite(file, CACHE_BYTES)
    this.#database = database
    // The file does not change. Outside of a transaction, each question would lock it and look for a journal, which
    // takes longer than most questions.
    database.exec('BEGIN')
    const version = database.pragma('user_version', { simple: true })
    if (version !== PLACE_DATABASE_VERSION) {
      database.close()
      throw new Error(
        `${file} has the format ${String(version)}; this version reads ${PLACE_DATABASE_VERSION}.`,
      )
    }
    const label = (column: string): string =>
      `(SELECT text FROM label WHERE label.id = ${column}) AS ${column}`
    const row = (table: RecordTable, columns: string): Database.Statement =>
      database.prepare(`SELECT ${columns} FROM ${table} WHERE id = ?`)
    const box = (...trees: string[]): BoxSearch => new BoxSearch(database, trees)
    const labels = ['street', 'city', 'state', 'postalCode'].map(label).join()
    this.#rows = {
      address: row('address', `number, unit, property, x, y, ${labels}`),
      range: row('range', `first, last, parity, line, ${labels}`),
      way: row('way', `${label('name')}, line`),
      intersection: row('intersection', `${label('first')}, ${label('second')}, x, y`),
      place: row('place', '*'),
      area: row('area', '*'),
    }
    this.#boxes = {
      range: box('range_box'),
      way: box('way_box'),
      intersection: box('intersection_box'),
      place: box('place_box'),
    }
    this.#addressBoxes = ADDRESS_BOXES.map((_, least) =>
      box(...ADDRESS_BOXES.filter((_tree, known) => (known & least) === least)),
    )
    this.#areas = new AreaCells(database, (id) => areaOf(this.#row('area', id)))
    this.index = new SearchIndex(database)
    this.traits = new TraitIndex(database, UNITS)
    this.#footprints = box(FOOTPRINT_BOX)
    // There are some hundreds at most, because chains are few.
    const chains = database.prepare('SELECT id, slug, name, domain FROM chain').all() as (Row & Chain)[]
    this.#chains = new Map(
      chains.map(({ id, slug, name, domain }) => [id as number, { slug, name, domain: domain ?? undefined }]),
    )
    this.footprints = new PlaceFootprints(database, this.#chains)
    this.postalCodes = new PostalCodeTables(database)
    this.#street = database.prepare(
      `SELECT id, importance, x, y, low, high, ${['name', 'city', 'postalCode'].map(label).join()} FROM street WHERE id = ?`,
    )
    const [integer, text] = [INTEGER_PARAMETER, TEXT_PARAMETER]
    this.#placeByKey = database.prepare(`SELECT * FROM place WHERE key = ${text}`)
    const houses = (order: string): Database.Statement =>
      database.prepare(
        `SELECT number, unit, property, x, y, ${labels} FROM address
         WHERE streetId = ${integer} AND value BETWEEN ${integer} AND ${integer} ORDER BY value ${order} LIMIT ${integer}`,
      )
    this.#houses = { ascending: houses('ASC'), descending: houses('DESC') }
    this.#ranges = database.prepare(
      `SELECT first, last, parity, line, ${labels} FROM (SELECT * FROM range WHERE streetId = ${integer} AND low <= ${integer} ORDER BY low DESC LIMIT ${MOST_RANGES}) WHERE high >= ${integer}`,
    )
    this.#crossings = database.prepare(
      `SELECT ${label('first')}, ${label('second')}, x, y FROM intersection WHERE keys = ${text} LIMIT ${integer}`,
    )
  }

  close(): void {
    this.#database.close()
  }

  nearestAddress(
    point: Position,
    maxMeters: number,
    known: { readonly city?: true; readonly postalCode?: true } = {},
  ): Near<StoredAddress> | undefined {
    const boxes = this.#addressBoxes[addressBox(known.city === true, known.postalCode === true)]!
    const found = boxes.nearest(point, maxMeters, (id) => {
      const record = this.#addressById(id)
      return { record, meters: distance(point, record.position) }
    })
    return found.sort((a, b) => compareNumbers(a.record.number, b.record.number))[0]
  }

  #addressById(id: number): StoredAddress {
    let address = this.#addresses.get(id)
    if (address === undefined) this.#addresses.set(id, (address = addressOf(this.#row('address', id))))
    return address
  }

  nearestRanges(point: Position, maxMeters: number): Near<StoredRange>[] {
    return this.#boxes.range.nearest(point, maxMeters, (id) => {
      const row = this.#row('range', id)
      const record = rangeOf(row)
      return { record, meters: nearestOnLine(record.line, point).meters }
    })
  }

  nearestStreet(point: Position, maxMeters: number): Near<StoredWay> | undefined {
    return this.#boxes.way.nearest(point, maxMeters, (id) => {
      const row = this.#row('way', id)
      const { at, meters } = nearestOnLine(unpackLines(row['line'] as Buffer)[0]!, point)
      return { record: { name: row['name'] as string, position: at }, meters }
    })[0]
  }

  nearestIntersection(point: Position, maxMeters: number): Near<StoredIntersection> | undefined {
    return this.#boxes.intersection.nearest(point, maxMeters, (id) => {
      const row = this.#row('intersection', id)
      const record = intersectionOf(row)
      return { record, meters: distance(point, record.position) }
    })[0]
  }

  nearestPlace(point: Position, maxMeters: number): Near<StoredPlace> | undefined {
    const [x, y] = point.map(unitsOf) as [number, number]
    const [smallest] = this.#boxes.place
      .touching([x, y, x, y])
      .map((id) => this.#row('place', id))
      .filter(({ rings }) => rings !== null && isInPackedRings(rings as Buffer, point))
      .map((row) => this.#placeOf(row))
      .sort((a, b) => a.size - b.size)
    if (smallest !== undefined) return { record: smallest, meters: 0 }
    return this.#boxes.place.nearest(point, maxMeters, (id) => {
      const row = this.#row('place', id)
      const record = this.#placeOf(row)
      const lines = row['rings'] === null ? undefined : unpackLines(row['rings'] as Buffer)
      const meters =
        lines === undefined
          ? distance(point, record.position)
          : Math.min(...lines.map((line) => nearestOnLine(line, point).meters))
      return { record, meters }
    })[0]
  }

  placesAround(point: Position, maxMeters: number): Near<ShapedPlace>[] {
    return this.#footprints
      .within(point, Math.max(0, maxMeters))
      .map((id) => {
        const record = this.#shapedPlace(this.#row('place', id))
        return { record, meters: signedMeters(record, point) }
      })
      .filter(({ meters }) => meters <= maxMeters)
  }

  areasAt(point: Position): StoredArea[] {
    return this.#areas.containing(point)
  }

  nearestCentre(point: Position, maxMeters: number, kind: AreaKind): Near<StoredArea> | undefined {
    return this.#areas.nearestCentre(point, maxMeters, kind)
  }

  streetById(id: number): StoredStreet {
    let street = this.#streets.get(id)
    if (street === undefined) this.#streets.set(id, (street = this.#readStreet(id)))
    return street
  }

  #readStreet(id: number): StoredStreet {
    const row = this.#street.get(id) as Row & Omit<StoredStreet, 'position' | 'numbers'>
    const { name, importance, city, postalCode } = row
    const numbers = row['low'] === null ? null : ([row['low'], row['high']] as [number, number])
    return { id, name, importance, city, postalCode, position: positionOf(row), numbers }
  }

  placeById(id: number): StoredPlace {
    let place = this.#places.get(id)
    if (place === undefined) this.#places.set(id, (place = this.#placeOf(this.#row('place', id))))
    return place
  }

  placeByKey(key: string): ShapedPlace | undefined {
    const row = this.#placeByKey.get(key) as Row | undefined
    return row && this.#shapedPlace(row)
  }

  areaById(id: number): StoredArea {
    return this.#areas.byId(id)
  }

  housesOf(
    streetId: number,
    [from, to]: readonly [number, number],
    limit: number,
    order: 'ascending' | 'descending' = 'ascending',
  ): StoredAddress[] {
    return (this.#houses[order].all(streetId, from, to, limit) as Row[]).map(addressOf)
  }

  rangesOf(streetId: number, value: number): StoredRange[] {
    return (this.#ranges.all(streetId, value, value) as Row[])
      .map(rangeOf)
      .filter(({ parity }) => hasParity(value, parity))
  }

  intersectionsOf(key: string, limit: number): StoredIntersection[] {
    return (this.#crossings.all(key, limit) as Row[]).map(intersectionOf)
  }

  #placeOf(row: Row): StoredPlace {
    return {
      key: row['key'] as string,
      name: row['name'] as string,
      names: namesOf(row),
      categories: (row['categories'] as string).split(','),
      details: JSON.parse(row['details'] as string) as PlaceDetails,
      size: row['size'] as number,
      position: positionOf(row),
      chain: row['chain'] === null ? undefined : this.#chains.get(row['chain'] as number),
    }
  }

  #shapedPlace(row: Row): ShapedPlace {
    const rings = row['rings'] as Buffer | null
    return { ...this.#placeOf(row), rings: rings === null ? [] : unpackLines(rings) }
  }

  #row(table: RecordTable, id: number): Row {
    return this.#rows[table].get(id) as Row
  }
}

function addressOf(row: Row): StoredAddress {
  const { number, street, unit, city, state, postalCode, property } = row as unknown as StoredAddress
  return { number, street, unit, city, state, postalCode, property, position: positionOf(row) }
}

function rangeOf(row: Row): StoredRange {
  const { first, last, parity, street, city, state, postalCode } = row as unknown as StoredRange
  const line = unpackLines(row['line'] as Buffer)[0]!
  return { first, last, parity, street, city, state, postalCode, line }
}

function intersectionOf(row: Row): StoredIntersection {
  return { streets: [row['first'] as string, row['second'] as string], position: positionOf(row) }
}

function areaOf(row: Row): StoredArea {
  const { kind, name, code, population, size } = row as unknown as StoredArea
  return { kind, name, names: namesOf(row), code, population, size, position: positionOf(row) }
}

function namesOf({ names }: Row): Record<string, string> {
  return names === null ? {} : (JSON.parse(names as string) as Record<string, string>)
}

function positionOf({ x, y }: Row): Position {
  return [(x as number) / UNITS, (y as number) / UNITS]
}

function distance([x, y]: Position, [px, py]: Position): number {
  return pointDistance(y, x, py, px)
}

/** Compares by the number, then by what follows it: `9`, `9 bis`, `10`. */
function compareNumbers(a: string, b: string): number {
  return Number.parseInt(a) - Number.parseInt(b) || (a < b ? -1 : a > b ? 1 : 0)
}
