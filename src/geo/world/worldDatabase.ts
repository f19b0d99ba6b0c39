import type Database from 'better-sqlite3'
import { LRUCache } from 'lru-cache'
import { pointDistance } from '../../geometry/distance.ts'
import type { Position } from '../../model/geofence.ts'
import { nearestOnLine } from '../records/areas.ts'
import { UNITS } from '../placeDatabase/schema.ts'
import { isInPackedRings, unitsOf, unpackLines } from '../placeDatabase/shapes.ts'
import { AirportTable } from './airports.ts'
import { MarketAreaTable } from './marketAreas.ts'
import { LARGE_POPULATION } from './schema.ts'
import { SearchIndex, type SearchHit } from '../placeDatabase/searchIndex.ts'
import type { Bounds } from '../../geometry/bounds.ts'
import { openFinishedSqlite } from '../../runtime/sqlite.ts'
import type { PostalArea, UsArea, UsCounty, World, WorldCity, WorldItem } from './port.ts'
import { fold } from '../text/words.ts'
import { ALL_PROVINCES, provinceOf, STATE_CODES } from './usNames.ts'

/** A city counts for points up to three times its radius away. */
const MOST_RADII = 3
/** The population of the largest city, rounded up. */
const MOST_PEOPLE = 40e6
const COAST_METERS = 20_000
/**
 * A distance is smaller than another if it is below this share of it. Two areas may share a corner, and their
 * distances then differ by rounding.
 */
const NEARER_SHARE = 1 - 5e-7
const ZIP_METERS = 25_000
const DEGREE_METERS = 110_574

/** The width of the cells by which cities are kept. */
const CELL_DEGREES = 0.1
/** The largest distance from the centre of a cell to its corners. */
const CELL_METERS = 8000
/** How many cells are kept, at some kilobytes each. */
const MOST_CELLS = 200
const MOST_ITEMS = 5000
/** How much of the file each connection keeps in memory. */
const CACHE_BYTES = 16 * 1024 * 1024

type CityRow = WorldCity & Point
type Point = { readonly x: number; readonly y: number }

/** The world database, open for reading. It is synchronous, so it must be used in a separate thread. */
export class WorldDatabase implements World {
  readonly #database: Database.Database
  readonly #largeCities: Database.Statement
  readonly #smallCities: Database.Statement
  readonly #states: Database.Statement
  readonly #counties: Database.Statement
  readonly #byFips: Database.Statement
  readonly #postal: Database.Statement
  readonly #zips: Database.Statement
  readonly #items: Readonly<Record<string, Database.Statement>>
  readonly airports: AirportTable
  readonly marketAreas: MarketAreaTable
  readonly index: SearchIndex
  readonly #cells = new LRUCache<string, readonly CityRow[]>({ max: MOST_CELLS })
  readonly #kept = new LRUCache<string, WorldItem>({ max: MOST_ITEMS })
  #stateNames: ReadonlyMap<string, ReadonlySet<string>> | undefined

  /**
   * Opens the file.
   * @throws the errors of SQLite
   */
  constructor(file: string) {
    const database = openFinishedSqlite(file, CACHE_BYTES)
    this.#database = database
    // One transaction spans all reads, for the reason that the reader of place databases gives.
    database.exec('BEGIN')
    const near = (table: string, box: string, columns: string, more = ''): Database.Statement =>
      database.prepare(
        `SELECT ${columns} FROM ${box} JOIN ${table} USING (id) WHERE west <= ? AND east >= ? AND south <= ? AND north >= ? ${more}`,
      )
    const city = 'name, population, region, district, x, y'
    this.#largeCities = near('city', 'city_box_large', city, 'AND country = ?')
    this.#smallCities = near('city', 'city_box_small', city, 'AND country = ?')
    this.#states = near('us_area', 'us_state_box', 'fips, name, rings', 'ORDER BY fips')
    this.#counties = near('us_area', 'us_county_box', 'fips, name, rings', 'ORDER BY fips')
    this.#zips = near('zip', 'zip_box', 'code, x, y')
    this.#byFips = database.prepare('SELECT fips, name FROM us_area WHERE fips = ?')
    this.#postal = database.prepare('SELECT city, state, county FROM postal WHERE code = ?')
    this.marketAreas = new MarketAreaTable(database)
    this.airports = new AirportTable(database)
    this.index = new SearchIndex(database)
    const item = (table: string, columns: string): Database.Statement =>
      database.prepare(`SELECT ${columns}, x, y FROM ${table} WHERE id = ?`)
    this.#items = {
      city: item('city', "'locality' AS kind, name, country, population, region, district"),
      us_area: item('us_area', 'name, fips'),
      zip: item('zip', "'postalCode' AS kind, code AS name, country"),
      country: item('country', "'country' AS kind, code AS name, code AS country"),
    }
  }

  close(): void {
    this.#database.close()
  }

  cityAt(point: Position, countryCode: string): WorldCity | undefined {
    let best: CityRow | undefined
    let least = MOST_RADII
    for (const row of this.#citiesAround(point, countryCode)) {
      const ratio = metersTo(point, row) / radiusOf(row.population)
      if (ratio >= least) continue
      best = row
      least = ratio
    }
    if (best === undefined) return undefined
    const { name, population, region, district } = best
    return { name, population, region: region ?? undefined, district: district ?? undefined }
  }

  /** The cities that may be the best of any point of a cell, kept for the cells that were asked about last. */
  #citiesAround([x, y]: Position, countryCode: string): readonly CityRow[] {
    const [column, row] = [Math.floor(x / CELL_DEGREES), Math.floor(y / CELL_DEGREES)]
    const key = `${countryCode} ${column} ${row}`
    let cities = this.#cells.get(key)
    if (cities === undefined) {
      const centre: Position = [(column + 0.5) * CELL_DEGREES, (row + 0.5) * CELL_DEGREES]
      const within = (statement: Database.Statement, population: number): CityRow[] => {
        const reach = MOST_RADII * radiusOf(population) + CELL_METERS
        return statement.all(...boxAround(centre, reach), countryCode) as CityRow[]
      }
      cities = [
        ...within(this.#largeCities, MOST_PEOPLE),
        ...within(this.#smallCities, LARGE_POPULATION),
      ].filter((city) => metersTo(centre, city) <= MOST_RADII * radiusOf(city.population) + CELL_METERS)
      this.#cells.set(key, cities)
    }
    return cities
  }

  stateAt(point: Position): { name: string; code: string } | undefined {
    type Row = UsCounty & { rings: Buffer }
    const rows = this.#states.all(...boxAround(point, COAST_METERS)) as Row[]
    const state = rows.find(({ rings }) => isInPackedRings(rings, point)) ?? nearestOf(rows, point)
    return state && { name: state.name, code: STATE_CODES[state.fips]! }
  }

  countyAt(point: Position): UsCounty | undefined {
    type Row = UsCounty & { rings: Buffer }
    const rows = this.#counties.all(...boxAround(point, COAST_METERS)) as Row[]
    const county = rows.find(({ rings }) => isInPackedRings(rings, point)) ?? nearestOf(rows, point)
    return county && { fips: county.fips, name: county.name }
  }

  countyByFips(fips: string): UsCounty | undefined {
    return this.#byFips.get(fips) as UsCounty | undefined
  }

  postalArea(countryCode: string, postalCode: string): PostalArea | undefined {
    const isCanada = countryCode === 'CA'
    const code = isCanada ? postalCode.slice(0, 3).toUpperCase() : postalCode.slice(0, 5)
    const row = this.#postal.get(code) as { city: string; state: string; county: string | null } | undefined
    if (row === undefined) return undefined
    const province = isCanada ? provinceOf(code) : undefined
    const state = this.#byFips.get(fipsOf(row.state)) as UsCounty | undefined
    return {
      city: row.city,
      stateCode: province?.[0] ?? row.state,
      state: province?.[1] ?? state?.name ?? row.state,
      countyFips: row.county ?? undefined,
    }
  }

  statesNamed(name: string): ReadonlySet<string> | undefined {
    this.#stateNames ??= this.#nameStates()
    return this.#stateNames.get(name)
  }

  #nameStates(): Map<string, Set<string>> {
    const names = new Map<string, Set<string>>()
    const add = (name: string, code: string): void => {
      for (const text of [name, code].map(fold)) names.set(text, (names.get(text) ?? new Set()).add(code))
    }
    for (const [fips, code] of Object.entries(STATE_CODES)) {
      const state = this.countyByFips(fips)
      if (state !== undefined) add(state.name, code)
    }
    for (const [code, name] of ALL_PROVINCES) add(name, code)
    return names
  }

  itemOf(hit: SearchHit): WorldItem {
    const key = `${hit.kind} ${hit.record}`
    let item = this.#kept.get(key)
    if (item === undefined) {
      item = this.#read(hit)
      this.#kept.set(key, item)
    }
    return item
  }

  #read({ kind: table, record }: SearchHit): WorldItem {
    type Row = Point & {
      name: string
      kind?: string
      fips?: string
      country?: string
      population?: number
    } & {
      region?: string | null
      district?: string | null
    }
    const row = this.#items[table]!.get(record) as Row
    const { fips = '' } = row
    const isState = fips.length === 2
    return {
      kind: (row.kind ?? (isState ? 'state' : 'county')) as WorldItem['kind'],
      name: row.name,
      code: isState ? STATE_CODES[fips] : undefined,
      countryCode: row.country ?? 'US',
      population: row.population ?? 0,
      position: [row.x / UNITS, row.y / UNITS],
      region: row.region ?? undefined,
      district: row.district ?? undefined,
    }
  }

  usAreasIn(kind: 'state' | 'county', box: Bounds): UsArea[] {
    const rows = (kind === 'state' ? this.#states : this.#counties).all(...unitsOfBox(box))
    return (rows as { fips: string; rings: Buffer }[]).map(({ fips, rings }) => ({
      fips,
      rings: unpackLines(rings),
    }))
  }

  zipsIn(box: Bounds): { code: string; position: Position }[] {
    const rows = this.#zips.all(...unitsOfBox(box)) as (Point & { code: string })[]
    return rows.map(({ code, x, y }) => ({ code, position: [x / UNITS, y / UNITS] }))
  }

  nearestZip(point: Position): string | undefined {
    type Row = Point & { code: string }
    for (const reach of [ZIP_METERS / 8, ZIP_METERS]) {
      let nearest: Row | undefined
      let least = reach
      for (const row of this.#zips.all(...boxAround(point, reach)) as Row[]) {
        const meters = metersTo(point, row)
        if (meters > least) continue
        nearest = row
        least = meters
      }
      if (nearest !== undefined) return nearest.code
    }
    return undefined
  }
}

/**
 * The nearest area. If two areas at sea have the same nearest corner, it is the first of them; to be nearer, the
 * distance must differ by more than rounding.
 */
function nearestOf<Row extends { readonly rings: Buffer }>(
  rows: readonly Row[],
  point: Position,
): Row | undefined {
  let nearest: Row | undefined
  let least = Infinity
  for (const row of rows) {
    for (const ring of unpackLines(row.rings)) {
      const { meters } = nearestOnLine(ring, point)
      if (meters > COAST_METERS || meters >= least * NEARER_SHARE) continue
      nearest = row
      least = meters
    }
  }
  return nearest
}

/** The radius of a city by its population. */
function radiusOf(population: number): number {
  return 2000 + Math.sqrt(population) * 20
}

function fipsOf(stateCode: string): string {
  return Object.keys(STATE_CODES).find((fips) => STATE_CODES[fips] === stateCode) ?? ''
}

function metersTo([longitude, latitude]: Position, { x, y }: Point): number {
  return pointDistance(latitude, longitude, y / UNITS, x / UNITS)
}

/** A box in the units and order of the statements. */
function unitsOfBox({ west, south, east, north }: Bounds): number[] {
  return [east, west, north, south].map(unitsOf)
}

/**
 * East, west, north and south of a box that contains at least this distance around a point, in the units of the
 * statements.
 */
function boxAround([x, y]: Position, meters: number): number[] {
  const height = (1.01 * meters) / DEGREE_METERS
  const width = height / Math.max(0.01, Math.cos(((Math.abs(y) + height) * Math.PI) / 180))
  return [x + width, x - width, y + height, y - height].map(unitsOf)
}
