import type Database from 'better-sqlite3'
import { openFinishedSqlite } from '../../runtime/sqlite.ts'
import { ADDRESS_BOXES, UNITS } from './schema.ts'

/** West, south, east and north, in degrees. */
export type DegreeBox = readonly [west: number, south: number, east: number, north: number]

/** A house number and its position. */
export interface MapHouse {
  readonly number: string
  readonly longitude: number
  readonly latitude: number
}

/** A place and its position. */
export interface MapPlace {
  readonly name: string
  /** The names by language. */
  readonly names: Readonly<Record<string, string>>
  readonly categories: readonly string[]
  /** In square metres; 0 for a point. */
  readonly size: number
  readonly longitude: number
  readonly latitude: number
}

/** The most records of each kind in one box. More would not be readable, and a hostile extract may have any number. */
const MOST = 4000
/** How much of the file each connection keeps in memory. */
const CACHE_BYTES = 8 * 1024 * 1024

interface PlaceRow {
  readonly name: string
  readonly names: string | null
  readonly categories: string
  readonly size: number
  readonly x: number
  readonly y: number
}

/** What maps show of a place database. It is synchronous, so it must be used in a separate thread. */
export class MapRecords {
  readonly #database: Database.Database
  readonly #houses: readonly Database.Statement[]
  readonly #places: Database.Statement

  /**
   * Opens the file.
   * @param file a database of the present version
   * @throws the errors of SQLite
   */
  constructor(file: string) {
    const database = openFinishedSqlite(file, CACHE_BYTES)
    this.#database = database
    const within = 'west <= ? AND east >= ? AND south <= ? AND north >= ?'
    this.#houses = ADDRESS_BOXES.map((box) =>
      database
        .prepare(`SELECT number, x, y FROM ${box} JOIN address USING (id) WHERE ${within} LIMIT ${MOST}`)
        .raw(),
    )
    // A place's middle may be in another box than its edge, so the coordinates in the row decide.
    this.#places = database.prepare(
      `SELECT name, names, categories, size, x, y FROM place_box JOIN place USING (id)
       WHERE ${within} AND size >= ? AND x >= ? AND x < ? AND y >= ? AND y < ? LIMIT ${MOST}`,
    )
  }

  houses(box: DegreeBox): MapHouse[] {
    const [west, south, east, north] = unitsOf(box)
    const rows = this.#houses.flatMap(
      (houses) => houses.all(east, west, north, south) as [string, number, number][],
    )
    return rows.map(([number, x, y]) => ({ number, longitude: x / UNITS, latitude: y / UNITS }))
  }

  /**
   * The places in a box.
   * @param leastSize in square metres
   */
  places(box: DegreeBox, leastSize: number): MapPlace[] {
    const [west, south, east, north] = unitsOf(box)
    const rows = this.#places.all(east, west, north, south, leastSize, west, east, south, north) as PlaceRow[]
    return rows.map(({ name, names, categories, size, x, y }) => ({
      name,
      names: names === null ? {} : (JSON.parse(names) as Record<string, string>),
      categories: categories.split(','),
      size,
      longitude: x / UNITS,
      latitude: y / UNITS,
    }))
  }

  close(): void {
    this.#database.close()
  }
}

function unitsOf(box: DegreeBox): number[] {
  return box.map((degrees) => Math.round(degrees * UNITS))
}
