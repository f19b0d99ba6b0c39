/**
 * The place database of a map region: a SQLite file that is written once by the import and then only read.
 *
 * Coordinates are in units of 1e-7 degrees, as in OpenStreetMap. Boxes are kept in R*Trees, those of points with whole
 * numbers, so that they are exact. Texts that many rows share are in `label`.
 */
import { AREA_KINDS, type AreaKind } from '../records/records.ts'
import { nameKey } from '../text/words.ts'
import { SEARCH_SCHEMA } from './searchIndex.ts'
import { TRAIT_SCHEMA } from './traitIndex.ts'

/** It must be raised with each change of the tables or of what is written into them. Then an import is made again. */
export const PLACE_DATABASE_VERSION = 7

/** `RFpl` in the header of the file. */
export const PLACE_APPLICATION_ID = 0x5246706c

/** Units in a degree. */
export const UNITS = 1e7

/**
 * The boxes of addresses, by the parts that the addresses have. So the nearest one with a city or a postal code is
 * found at once, even if only few have it. See {@link addressBox}.
 */
export const ADDRESS_BOXES = [
  'address_box',
  'address_box_city',
  'address_box_code',
  'address_box_both',
] as const

/** The index of an address's box table. */
export function addressBox(hasCity: boolean, hasPostalCode: boolean): number {
  return (hasCity ? 1 : 0) + (hasPostalCode ? 2 : 0)
}

/**
 * The table with the boxes of areas of a kind of which only the centre is known. There are few, so one look finds the
 * nearest.
 */
export function centreBox(kind: AreaKind): string {
  return `centre_box_${kind}`
}

/** The table with the boxes of places: of their areas, or of the circles around their points. */
export const FOOTPRINT_BOX = 'ground_box'

export const PLACE_SCHEMA = `
  CREATE TABLE label (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
  CREATE TABLE address (
    id INTEGER PRIMARY KEY, street INTEGER NOT NULL, number TEXT NOT NULL, unit TEXT,
    city INTEGER, state INTEGER, postalCode INTEGER, x INTEGER NOT NULL, y INTEGER NOT NULL,
    streetId INTEGER NOT NULL, value INTEGER NOT NULL, property TEXT
  );
  ${ADDRESS_BOXES.map((box) => `CREATE VIRTUAL TABLE ${box} USING rtree_i32(id, west, east, south, north);`).join('\n')}
  CREATE TABLE street (
    id INTEGER PRIMARY KEY, name INTEGER NOT NULL, importance INTEGER NOT NULL, city INTEGER, postalCode INTEGER,
    x INTEGER NOT NULL, y INTEGER NOT NULL, low INTEGER, high INTEGER
  );
  CREATE TABLE range (
    id INTEGER PRIMARY KEY, street INTEGER NOT NULL, first TEXT NOT NULL, last TEXT NOT NULL, parity TEXT NOT NULL,
    city INTEGER, state INTEGER, postalCode INTEGER, line BLOB NOT NULL,
    streetId INTEGER NOT NULL, low INTEGER NOT NULL, high INTEGER NOT NULL
  );
  CREATE VIRTUAL TABLE range_box USING rtree_i32(id, west, east, south, north);
  CREATE TABLE way (id INTEGER PRIMARY KEY, name INTEGER NOT NULL, line BLOB NOT NULL);
  CREATE VIRTUAL TABLE way_box USING rtree_i32(id, west, east, south, north);
  CREATE TABLE intersection (
    id INTEGER PRIMARY KEY, first INTEGER NOT NULL, second INTEGER NOT NULL, x INTEGER NOT NULL, y INTEGER NOT NULL,
    keys TEXT NOT NULL
  );
  CREATE VIRTUAL TABLE intersection_box USING rtree_i32(id, west, east, south, north);
  CREATE TABLE place (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, name TEXT NOT NULL, names TEXT, categories TEXT NOT NULL,
    x INTEGER NOT NULL, y INTEGER NOT NULL, size REAL NOT NULL, rings BLOB, details TEXT NOT NULL, chain INTEGER
  );
  CREATE VIRTUAL TABLE place_box USING rtree_i32(id, west, east, south, north);
  CREATE VIRTUAL TABLE ${FOOTPRINT_BOX} USING rtree_i32(id, west, east, south, north);
  CREATE TABLE chain (id INTEGER PRIMARY KEY, slug TEXT NOT NULL, name TEXT NOT NULL, domain TEXT);
  ${TRAIT_SCHEMA}
  CREATE TABLE area (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, names TEXT, code TEXT, population INTEGER NOT NULL,
    x INTEGER NOT NULL, y INTEGER NOT NULL, size REAL NOT NULL, rings BLOB
  );
  CREATE VIRTUAL TABLE area_box USING rtree_i32(id, west, east, south, north);
  ${AREA_KINDS.map((kind) => `CREATE VIRTUAL TABLE ${centreBox(kind)} USING rtree_i32(id, west, east, south, north);`).join('\n')}
  ${SEARCH_SCHEMA}
`

/** These indexes are created when the tables are complete. */
export const INDEXES = `
  CREATE INDEX address_by_number ON address (streetId, value);
  CREATE INDEX range_by_number ON range (streetId, low);
  CREATE INDEX intersection_by_streets ON intersection (keys);
`

/**
 * The tables of records with a position. Each has an R*Tree `<table>_box`. Addresses have {@link ADDRESS_BOXES}, and
 * areas of which only the centre is known have {@link centreBox}.
 */
export type RecordTable = 'address' | 'range' | 'way' | 'intersection' | 'place' | 'area'

/** The key by which an intersection is found, made of the keys of both names. */
export function crossingKey(first: string, second: string): string {
  return [nameKey(first), nameKey(second)].sort().join('|')
}
