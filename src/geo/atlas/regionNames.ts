/** What regions are called, by their codes. */
import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Region, RegionKind } from '../../model/region.ts'
import { countryName, countryOf, isCountry } from '../world/countries.ts'
import { readMarketAreas } from '../world/marketAreas.ts'
import { STATE_NAMES } from '../world/usNames.ts'

/** How many names are kept. The United States have some 42,000 postal codes. */
const MOST = 50_000
const regions = new LRUCache<string, Region>({ max: MOST })
let markets: ReadonlyMap<string, string> | undefined

/** The regions by the first 12 hexadecimal digits of their `_id`, which are enough to tell all 100,000 apart. */
let codes: ReadonlyMap<number, readonly [type: RegionKind, code: string]> | undefined

/**
 * The region with an `_id`; undefined if no region of any kind has it. The first call makes all `_id`s, also of postal
 * codes that are not used. That takes a tenth of a second, so it must not run in the engine's thread.
 */
export function regionNamed(id: string): Region | undefined {
  codes ??= new Map(everyRegion().map((one) => [shortId(idOf(...one)), one]))
  const found = codes.get(shortId(id))
  if (found === undefined) return undefined
  const region = regionOf(...found)
  return region._id === id ? region : undefined
}

const SHORT_DIGITS = 12

function shortId(id: string): number {
  return Number.parseInt(id.slice(0, SHORT_DIGITS), 16)
}

function everyRegion(): (readonly [type: RegionKind, code: string])[] {
  const letters = Array.from({ length: 26 }, (_, i) => String.fromCharCode(65 + i))
  const pairs = letters.flatMap((one) => letters.map((other) => one + other))
  const numbers = Array.from({ length: 100_000 }, (_, number) => `${number}`.padStart(5, '0'))
  return [
    ...pairs.filter(isCountry).map((code) => ['country', code] as const),
    ...Object.keys(STATE_NAMES).map((code) => ['state', code] as const),
    ...readMarketAreas().map(({ code }) => ['dma', code] as const),
    ...numbers.map((code) => ['postalCode', code] as const),
  ]
}

/** The region with a code. It is the same object for as long as it is remembered. */
export function regionOf(type: RegionKind, code: string): Region {
  const key = keyOf(type, code)
  let region = regions.get(key)
  if (region === undefined) {
    region = {
      _id: idOf(type, code),
      type,
      code,
      name: nameOf(type, code),
      ...(type === 'country' && { flag: countryOf(code).flag }),
    }
    regions.set(key, region)
  }
  return region
}

function keyOf(type: RegionKind, code: string): string {
  // Codes of states are those of the United States.
  return `${type}/${type === 'state' ? `US-${code}` : code}`
}

function idOf(type: RegionKind, code: string): string {
  return createHash('sha256').update(keyOf(type, code)).digest('hex').slice(0, 24)
}

function nameOf(type: RegionKind, code: string): string {
  switch (type) {
    case 'country':
      return countryName(code, 'en')
    case 'state':
      return STATE_NAMES[code] ?? code
    case 'dma':
      markets ??= new Map(readMarketAreas().map((market) => [market.code, market.name]))
      return markets.get(code) ?? code
    case 'postalCode':
      return code
  }
}
