/**
 * Television markets (DMA) of the United States in the world database: their tables, how they are filled and queried.
 */
import type Database from 'better-sqlite3'
import { readFileSync } from 'node:fs'
import type { MarketArea, MarketAreas } from './port.ts'

/** `npm run facts:market-areas` writes this file, and says what its source is. */
const FILE = new URL('./marketAreas.txt', import.meta.url)

export const MARKET_AREA_SCHEMA = `
  CREATE TABLE market_area (code INTEGER PRIMARY KEY, name TEXT NOT NULL);
  CREATE TABLE county_market_area (fips TEXT PRIMARY KEY, code INTEGER NOT NULL) WITHOUT ROWID;
`

/** A market and its counties. */
interface MarketAreaCounties extends MarketArea {
  readonly counties: readonly string[]
}

/** The markets in ascending order of their codes. Each county belongs to at most one. */
export function readMarketAreas(): MarketAreaCounties[] {
  const lines = readFileSync(FILE, 'utf8').trim().split('\n')
  return lines
    .filter((line) => !line.startsWith('#'))
    .map((line) => {
      const [market = '', counties = ''] = line.split(':')
      return {
        code: market.slice(0, 3),
        name: market.slice(4),
        counties: counties.split(' ').filter((fips) => fips !== ''),
      }
    })
}

export function addMarketAreas(database: Database.Database): void {
  const market = database.prepare('INSERT INTO market_area VALUES (?, ?)')
  const county = database.prepare('INSERT INTO county_market_area VALUES (?, ?)')
  for (const { code, name, counties } of readMarketAreas()) {
    market.run(Number(code), name)
    for (const fips of counties) county.run(fips, Number(code))
  }
}

/** The markets of an open world database. */
export class MarketAreaTable implements MarketAreas {
  readonly #byCounty: Database.Statement

  constructor(database: Database.Database) {
    this.#byCounty = database.prepare(
      'SELECT CAST(code AS TEXT) AS code, name FROM county_market_area JOIN market_area USING (code) WHERE fips = ?',
    )
  }

  ofCounty(fips: string): MarketArea | undefined {
    return this.#byCounty.get(fips) as MarketArea | undefined
  }
}
