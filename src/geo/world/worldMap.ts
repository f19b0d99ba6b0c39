/**
 * The map of the world: land, borders of countries, names of countries and cities. Maps show it where no region is
 * imported, and everywhere at small scales. Outlines are those of Natural Earth, in three sizes.
 */
import type Database from 'better-sqlite3'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { Position } from '../../model/geofence.ts'
import { generalise, generaliseOutline } from '../mapFile/generalise.ts'
import { project, WORLD_LEVELS, type Level } from '../mapFile/grid.ts'
import { kindNumber } from '../mapFile/kinds.ts'
import { MapWriter } from '../mapFile/mapWriter.ts'
import { UNITS } from '../placeDatabase/schema.ts'
import { LANGUAGES, type Language } from '../records/names.ts'
import { countryName } from './countries.ts'
import { flatPolygons } from './flatPolygons.ts'

export const OUTLINE_PACKAGE = 'world-atlas'

const EARTH = kindNumber('earth earth area')
const BORDER = kindNumber('boundaries country line')
const COUNTRY = kindNumber('places country point')
const TOWNS = [
  [100_000, kindNumber('places locality city point')],
  [10_000, kindNumber('places locality town point')],
  [0, kindNumber('places locality village point')],
] as const

/** The scale of the outlines for each level, beginning with the most detail: 1:10,000,000 and so on. */
const SCALES = ['10m', '50m', '110m'] as const

/** The share of a country's people that live in the cities of the list. */
const SHARE_IN_CITIES = 0.5

interface Topology {
  readonly objects: { readonly countries: object; readonly land: object }
}

interface Topojson {
  feature(
    topology: Topology,
    object: object,
  ): { readonly features: readonly { readonly geometry: { readonly coordinates: Position[][][] } }[] }
  /** Returns the lines between objects that the filter accepts. */
  mesh(
    topology: Topology,
    object: object,
    filter: (a: object, b: object) => boolean,
  ): { readonly coordinates: Position[][] }
}

/**
 * A map that is being made. Outlines come first, because there is less room for them once the lists of cities are in
 * memory.
 */
export class WorldMapBuilder {
  readonly #writer: MapWriter

  /**
   * Adds the outlines.
   * @param folder a folder with room for a file
   * @param parsed returns the contents of a package's JSON file
   */
  constructor(folder: string, topojson: Topojson, parsed: <Contents>(module: string) => Contents) {
    this.#writer = new MapWriter(join(folder, `staging-${randomUUID()}.db`), WORLD_LEVELS)
    for (const [i, level] of WORLD_LEVELS.entries())
      addOutlines(this.#writer, level, topojson, parsed(`${OUTLINE_PACKAGE}/countries-${SCALES[i]}.json`))
  }

  /** Writes the blocks into a world database that has cities and countries already. */
  finish(database: Database.Database): void {
    addCities(this.#writer, database)
    addCountries(this.#writer, database)
    const block = database.prepare('INSERT INTO block VALUES (?, ?)')
    for (const { id, bytes } of this.#writer.blocks()) block.run(id, bytes)
  }

  /** Removes its file. */
  abandon(): void {
    this.#writer.abandon()
  }
}

function addOutlines(writer: MapWriter, level: Level, topojson: Topojson, topology: Topology): void {
  const { countries, land } = topology.objects
  for (const { geometry } of topojson.feature(topology, land).features)
    for (const polygon of geometry.coordinates.flatMap(flatPolygons))
      writer.addToLevel({ kind: EARTH, flags: 0 }, generaliseOutline(polygon, level), level)
  const borders = topojson.mesh(topology, countries, (a, b) => a !== b)
  const lines = borders.coordinates.map((line) => line.flatMap(project))
  writer.addToLevel({ kind: BORDER, flags: 0 }, generalise('line', lines, level), level)
}

function addCities(writer: MapWriter, database: Database.Database): void {
  const rows = database.prepare('SELECT name, population, x, y FROM city').raw()
  for (const [name, population, x, y] of rows.iterate() as IterableIterator<
    [string, number, number, number]
  >) {
    const kind = TOWNS.find(([people]) => population >= people)![1]
    writer.add({ kind, flags: 0, name, population }, [[[x / UNITS, y / UNITS]]])
  }
}

function addCountries(writer: MapWriter, database: Database.Database): void {
  const people = new Map(
    database.prepare('SELECT country, SUM(population) FROM city GROUP BY country').raw().all() as [
      string,
      number,
    ][],
  )
  const rows = database.prepare('SELECT code, x, y FROM country').raw().all() as [string, number, number][]
  for (const [code, x, y] of rows) {
    const name = countryName(code, 'en')
    const names = new Map<Language, string>()
    for (const language of LANGUAGES) if (language !== 'en') names.set(language, countryName(code, language))
    const population = Math.round((people.get(code) ?? 0) / SHARE_IN_CITIES)
    writer.add({ kind: COUNTRY, flags: 0, name, names, population }, [[[x / UNITS, y / UNITS]]])
  }
}
