import Database from 'better-sqlite3'
import { pointDistance } from '../../geometry/distance.ts'
import type { Position } from '../../model/geofence.ts'
import { nearestOnLine } from '../records/areas.ts'
import type { Chain } from '../records/chains.ts'
import { hasParity } from '../records/numberRanges.ts'
import { signedMeters } from '../records/placeExtent.ts'
import { AREA_KINDS, type AreaKind, type PlaceDetails } from '../records/records.ts'
import { boxesAround } from './boxes.ts'
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
import { SearchIndex } from './searchIndex.ts'
import {
  ADDRESS_BOXES,
  centreBox,
  GROUND_BOX,
  PLACE_DATABASE_VERSION,
  UNITS,
  type RecordTable,
} from './schema.ts'
import { isInPackedRings, unitsOf, unpackLines } from './shapes.ts'
import { TraitIndex } from './traitIndex.ts'

type Row = Readonly<Record<string, number | string | Buffer | null>>

/** The smallest box that is searched, as a share of the largest, and how much larger each next one is. */
const FIRST_SHARE = 1 / 16
const GROWTH = 2
/** Records of a box that are looked at. So many on one spot are a mistake in the data; others would wait for them. */
const MAX_IN_BOX = 5000
/** Number ranges of a street that are looked at: those that begin closest below the number. */
const MOST_RANGES = 200
/** Coordinates are rounded; along a parallel, the nearest point of a box is a little further north or south. */
const BOX_ERROR_METERS = 0.5
const DEGREE_METERS = 110_574

/** A place database, opened for reading. It is synchronous: use it in a thread of its own. */
export class PlaceDatabase implements PlaceRecords {
  readonly #database: Database.Database
  readonly #rows: Readonly<Record<RecordTable, Database.Statement>>
  readonly #boxes: Readonly<Record<RecordTable, readonly Database.Statement[]>>
  readonly #centres: Readonly<Record<AreaKind, Database.Statement>>
  readonly #street: Database.Statement
  readonly #houses: Readonly<Record<'ascending' | 'descending', Database.Statement>>
  readonly #ranges: Database.Statement
  readonly #crossings: Database.Statement
  readonly #placeByKey: Database.Statement
  readonly #grounds: Database.Statement
  readonly #chains: ReadonlyMap<number, Chain>
  readonly index: SearchIndex
  readonly traits: TraitIndex

  /** @throws the errors of SQLite, or if the file has another version */
  constructor(file: string) {
    const database = new Database(file, { readonly: true, fileMustExist: true })
    this.#database = database
    // Pages are read without a copy; the system decides how many stay in memory.
    database.pragma('mmap_size = 1073741824')
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
    const box = (name: string): Database.Statement =>
      database
        .prepare(
          `SELECT * FROM ${name} WHERE west <= ? AND east >= ? AND south <= ? AND north >= ? LIMIT ${MAX_IN_BOX}`,
        )
        .raw()
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
      address: ADDRESS_BOXES.map(box),
      range: [box('range_box')],
      way: [box('way_box')],
      intersection: [box('intersection_box')],
      place: [box('place_box')],
      area: [box('area_box')],
    }
    this.#centres = Object.fromEntries(AREA_KINDS.map((kind) => [kind, box(centreBox(kind))])) as Record<
      AreaKind,
      Database.Statement
    >
    this.index = new SearchIndex(database)
    this.traits = new TraitIndex(database, UNITS)
    this.#grounds = box(GROUND_BOX)
    // Some hundreds at most, because chains are few.
    const chains = database.prepare('SELECT id, slug, name, domain FROM chain').all() as (Row & Chain)[]
    this.#chains = new Map(
      chains.map(({ id, slug, name, domain }) => [id as number, { slug, name, domain: domain ?? undefined }]),
    )
    this.#street = database.prepare(
      `SELECT id, importance, x, y, low, high, ${['name', 'city', 'postalCode'].map(label).join()} FROM street WHERE id = ?`,
    )
    this.#placeByKey = database.prepare('SELECT * FROM place WHERE key = ?')
    const houses = (order: string): Database.Statement =>
      database.prepare(
        `SELECT number, unit, property, x, y, ${labels} FROM address WHERE streetId = ? AND value BETWEEN ? AND ? ORDER BY value ${order} LIMIT ?`,
      )
    this.#houses = { ascending: houses('ASC'), descending: houses('DESC') }
    this.#ranges = database.prepare(
      `SELECT first, last, parity, line, ${labels} FROM (SELECT * FROM range WHERE streetId = ? AND low <= ? ORDER BY low DESC LIMIT ${MOST_RANGES}) WHERE high >= ?`,
    )
    this.#crossings = database.prepare(
      `SELECT ${label('first')}, ${label('second')}, x, y FROM intersection WHERE keys = ? LIMIT ?`,
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
    const boxes = this.#boxes.address.filter(
      (_, index) => (known.city !== true || index % 2 === 1) && (known.postalCode !== true || index >= 2),
    )
    const measure = (row: Row): Near<StoredAddress> => {
      const record = addressOf(row)
      return { record, meters: distance(point, record.position) }
    }
    const found = this.#nearest('address', point, maxMeters, measure, boxes)
    return found.sort((a, b) => compareNumbers(a.record.number, b.record.number))[0]
  }

  nearestRanges(point: Position, maxMeters: number): Near<StoredRange>[] {
    return this.#nearest('range', point, maxMeters, (row) => {
      const record = rangeOf(row)
      return { record, meters: nearestOnLine(record.line, point).meters }
    })
  }

  nearestStreet(point: Position, maxMeters: number): Near<StoredWay> | undefined {
    return this.#nearest('way', point, maxMeters, (row) => {
      const { at, meters } = nearestOnLine(unpackLines(row['line'] as Buffer)[0]!, point)
      return { record: { name: row['name'] as string, position: at }, meters }
    })[0]
  }

  nearestIntersection(point: Position, maxMeters: number): Near<StoredIntersection> | undefined {
    return this.#nearest('intersection', point, maxMeters, (row) => {
      const record = intersectionOf(row)
      return { record, meters: distance(point, record.position) }
    })[0]
  }

  nearestPlace(point: Position, maxMeters: number): Near<StoredPlace> | undefined {
    const containing = this.#containing('place', point).map((row) => this.#placeOf(row))
    const [smallest] = containing.sort((a, b) => a.size - b.size)
    if (smallest !== undefined) return { record: smallest, meters: 0 }
    return this.#nearest('place', point, maxMeters, (row) => {
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
    const boxes = boxesAround(point, Math.max(0, maxMeters)).flatMap(
      (box) => this.#grounds.all(...box) as Box[],
    )
    return boxes
      .map(([id]) => {
        const record = this.#shapedPlace(this.#rows.place.get(id) as Row)
        return { record, meters: signedMeters(record, point) }
      })
      .filter(({ meters }) => meters <= maxMeters)
  }

  areasAt(point: Position): StoredArea[] {
    return this.#containing('area', point)
      .map(areaOf)
      .sort((a, b) => a.size - b.size)
  }

  nearestCentre(point: Position, maxMeters: number, kind: AreaKind): Near<StoredArea> | undefined {
    const measure = (row: Row): Near<StoredArea> => {
      const record = areaOf(row)
      return { record, meters: distance(point, record.position) }
    }
    return this.#nearest('area', point, maxMeters, measure, [this.#centres[kind]], maxMeters)[0]
  }

  streetById(id: number): StoredStreet {
    const row = this.#street.get(id) as Row & Omit<StoredStreet, 'position' | 'numbers'>
    const { name, importance, city, postalCode } = row
    const numbers = row['low'] === null ? null : ([row['low'], row['high']] as [number, number])
    return { id, name, importance, city, postalCode, position: positionOf(row), numbers }
  }

  placeById(id: number): StoredPlace {
    return this.#placeOf(this.#rows.place.get(id) as Row)
  }

  placeByKey(key: string): ShapedPlace | undefined {
    const row = this.#placeByKey.get(key) as Row | undefined
    return row && this.#shapedPlace(row)
  }

  areaById(id: number): StoredArea {
    return areaOf(this.#rows.area.get(id) as Row)
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

  #containing(table: 'place' | 'area', point: Position): Row[] {
    const [x, y] = point.map(unitsOf) as [number, number]
    const boxes = this.#boxes[table][0]!.all(x, x, y, y) as [id: number][]
    return boxes
      .map(([id]) => this.#rows[table].get(id) as Row)
      .filter(({ rings }) => rings !== null && isInPackedRings(rings as Buffer, point))
  }

  /**
   * The nearest records within a distance, all at the same distance. It measures records in the order of the distance
   * of their boxes, and ends when no box can hold a nearer one.
   * @param measure the record of a row and its distance
   * @param firstMeters the smallest box that is searched
   */
  #nearest<RecordType>(
    table: RecordTable,
    point: Position,
    maxMeters: number,
    measure: (row: Row) => Near<RecordType>,
    boxes = this.#boxes[table],
    firstMeters = maxMeters * FIRST_SHARE,
  ): Near<RecordType>[] {
    for (let reach = firstMeters; ; reach *= GROWTH) {
      const within = Math.min(reach, maxMeters)
      let nearest: Near<RecordType>[] = []
      let least = within
      for (const { id, meters: fromBox } of nearBoxes(boxes, point, within)) {
        if (fromBox > least + BOX_ERROR_METERS) break
        const near = measure(this.#rows[table].get(id) as Row)
        if (near.meters > least) continue
        if (near.meters < least) nearest = []
        least = near.meters
        nearest.push(near)
      }
      if (nearest.length > 0 || within === maxMeters) return nearest
    }
  }
}

type Box = [id: number, west: number, east: number, south: number, north: number]

/** The boxes within a distance (and a few more in the corners), with their own distance, the nearest first. */
function nearBoxes(
  statements: readonly Database.Statement[],
  [x, y]: Position,
  meters: number,
): { id: number; meters: number }[] {
  const height = (1.01 * meters) / DEGREE_METERS
  const scale = Math.max(0.01, Math.cos(((Math.abs(y) + height) * Math.PI) / 180))
  const width = height / scale
  const reach = [x + width, x - width, y + height, y - height].map(unitsOf)
  const boxes = statements.flatMap((statement) => statement.all(...reach) as Box[])
  return boxes
    .map(([id, west, east, south, north]) => {
      const nearestX = Math.min(east / UNITS, Math.max(west / UNITS, x))
      const nearestY = Math.min(north / UNITS, Math.max(south / UNITS, y))
      return { id, meters: distance([x, y], [nearestX, nearestY]) }
    })
    .sort((a, b) => a.meters - b.meters)
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

/** By the number, then by what follows: `9`, `9 bis`, `10`. */
function compareNumbers(a: string, b: string): number {
  return Number.parseInt(a) - Number.parseInt(b) || (a < b ? -1 : a > b ? 1 : 0)
}
