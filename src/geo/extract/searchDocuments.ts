import type { Position } from '../../model/geofence.ts'
import { openFinishedSqlite } from '../../runtime/sqlite.ts'
import { PlaceDatabase } from '../placeDatabase/reader.ts'
import { UNITS } from '../placeDatabase/schema.ts'
import type { SearchDocument } from '../placeDatabase/searchIndex.ts'
import { areaImportance, placeImportance, streetImportance } from '../records/importance.ts'
import type { AreaKind, PlaceDetails, StreetImportance } from '../records/records.ts'
import { wordsOf, type Word } from '../text/words.ts'

interface Point {
  readonly x: number
  readonly y: number
}

/**
 * Kinds of areas that are not searched: names of countries come with the data of the world, and boroughs are only
 * named to find something else.
 */
const NOT_SEARCHED: ReadonlySet<AreaKind> = new Set(['country', 'borough'])
/**
 * Only areas of these kinds are part of the context. Everything in a larger area would contain its name, which would
 * make the index slow.
 */
const CONTEXT: ReadonlySet<AreaKind> = new Set(['neighborhood', 'borough', 'locality', 'postalCode'])

/**
 * Everything that can be searched for by its name, with the names of the areas that contain it. Houses are found by
 * their street.
 * @param file the file with all records
 * @param spellings the spellings of streets that have more than one, by id
 */
export function* searchDocuments(
  file: string,
  spellings: ReadonlyMap<number, readonly string[]>,
): Generator<SearchDocument> {
  const database = openFinishedSqlite(file)
  const areas = new PlaceDatabase(file)
  const contextAt = (position: Position, own: readonly (string | null | undefined)[]): Word[] => [
    ...wordsOfAll(own),
    ...areas.areasAt(position).flatMap(({ kind, name }) => (CONTEXT.has(kind) ? wordsOf(name) : [])),
  ]
  const label = (column: string): string => `(SELECT text FROM label WHERE label.id = ${column}) AS ${column}`
  type Street = Point & {
    id: number
    name: string
    importance: StreetImportance
    city: string | null
    postalCode: string | null
  }
  const streets = database.prepare(
    `SELECT id, importance, x, y, ${['name', 'city', 'postalCode'].map(label).join()} FROM street`,
  )
  for (const { id, name, importance, city, postalCode, ...point } of streets.iterate() as Iterable<Street>) {
    const position = positionOf(point)
    yield {
      kind: 'street',
      record: id,
      importance: streetImportance(importance),
      names: wordsOfAll(spellings.get(id) ?? [name]),
      context: contextAt(position, [city, postalCode]),
      position,
    }
  }
  type Place = Point & {
    id: number
    name: string
    names: string | null
    size: number
    details: string
    chain: number | null
  }
  const places = database.prepare('SELECT id, name, names, size, details, chain, x, y FROM place')
  for (const { id, name, names, size, details, chain, ...point } of places.iterate() as Iterable<Place>) {
    const { city, postalCode, street, brand, isNotable } = JSON.parse(details) as PlaceDetails
    const position = positionOf(point)
    yield {
      kind: 'place',
      record: id,
      importance: placeImportance(isNotable === true, chain !== null, size),
      names: wordsOfAll([name, brand, ...valuesOf(names)]),
      context: contextAt(position, [street, city, postalCode]),
      position,
    }
  }
  type Area = Point & { id: number; kind: AreaKind; name: string; names: string | null; population: number }
  const searched = database.prepare('SELECT id, kind, name, names, population, x, y FROM area')
  for (const { id, kind, name, names, population, ...point } of searched.iterate() as Iterable<Area>) {
    if (NOT_SEARCHED.has(kind)) continue
    yield {
      kind: 'area',
      record: id,
      importance: areaImportance(kind, population),
      names: wordsOfAll([name, ...valuesOf(names)]),
      context: [],
      position: positionOf(point),
    }
  }
  areas.close()
  database.close()
}

function wordsOfAll(names: readonly (string | null | undefined)[]): Word[] {
  return names.flatMap((name) => (typeof name === 'string' ? wordsOf(name) : []))
}

function valuesOf(names: string | null): string[] {
  return names === null ? [] : Object.values(JSON.parse(names) as Record<string, string>)
}

function positionOf({ x, y }: Point): Position {
  return [x / UNITS, y / UNITS]
}
