import type { Position } from '../../model/geofence.ts'
import { openFinishedSqlite } from '../../runtime/sqlite.ts'
import { UNITS } from '../placeDatabase/schema.ts'
import type { SearchDocument } from '../placeDatabase/searchIndex.ts'
import { areaImportance } from '../records/importance.ts'
import { codeWord, wordsOf } from '../text/words.ts'
import { codesOfCountry, countryName, namesOfCountry } from './countries.ts'
import { provinceOf, STATE_CODES } from './usNames.ts'

interface Point {
  readonly x: number
  readonly y: number
}

/**
 * Everything in the world database that can be searched for by its name.
 * @param file the file with all tables
 */
export function* worldDocuments(file: string): Generator<SearchDocument> {
  const database = openFinishedSqlite(file)
  const rows = <Row>(sql: string): Iterable<Row & Point & { id: number }> =>
    database.prepare(sql).iterate() as Iterable<Row & Point & { id: number }>
  type City = { name: string; country: string; population: number; region: string | null }
  for (const { id, name, country, population, region, ...point } of rows<City>('SELECT * FROM city')) {
    yield {
      kind: 'city',
      record: id,
      importance: areaImportance('locality', population),
      names: wordsOf(name),
      context: [
        ...wordsOf(`${region ?? ''} ${countryName(country, 'en')}`),
        ...codesOfCountry(country).map(codeWord),
      ],
      position: positionOf(point),
    }
  }
  type Area = { fips: string; name: string }
  for (const { id, fips, name, ...point } of rows<Area>('SELECT id, fips, name, x, y FROM us_area')) {
    const code = STATE_CODES[fips.slice(0, 2)] ?? ''
    const isState = fips.length === 2
    yield {
      kind: 'us_area',
      record: id,
      importance: areaImportance(isState ? 'state' : 'county', 0),
      names: [...wordsOf(name), ...(isState ? [codeWord(code)] : [])],
      context: [code, 'usa'].map(codeWord),
      position: positionOf(point),
    }
  }
  const zips = `SELECT zip.id, zip.code, country, city, state, x, y FROM zip LEFT JOIN postal ON postal.code = zip.code`
  type Zip = { code: string; country: string; city: string | null; state: string | null }
  for (const { id, code, country, city, state, ...point } of rows<Zip>(zips)) {
    const province = country === 'CA' ? provinceOf(code)?.[0] : state
    yield {
      kind: 'zip',
      record: id,
      importance: areaImportance('postalCode', 0),
      names: wordsOf(code),
      context: [...wordsOf(city ?? ''), ...[province ?? '', ...codesOfCountry(country)].map(codeWord)],
      position: positionOf(point),
    }
  }
  for (const { id, code, ...point } of rows<{ code: string }>('SELECT * FROM country')) {
    yield {
      kind: 'country',
      record: id,
      importance: areaImportance('country', 0),
      names: [...namesOfCountry(code).flatMap(wordsOf), ...codesOfCountry(code).map(codeWord)],
      context: [],
      position: positionOf(point),
    }
  }
  database.close()
}

function positionOf({ x, y }: Point): Position {
  return [x / UNITS, y / UNITS]
}
