/** What regions are called, by their codes. */
import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Region, RegionKind } from '../../model/region.ts'
import { countryName, countryOf } from '../world/countries.ts'
import { readMarketAreas } from '../world/marketAreas.ts'
import { STATE_NAMES } from '../world/usNames.ts'

/** There are some 42,000 postal codes in the United States. */
const MOST = 50_000
const regions = new LRUCache<string, Region>({ max: MOST })
let markets: ReadonlyMap<string, string> | undefined

/** The region with a code; the same object for as long as it is remembered. */
export function regionOf(type: RegionKind, code: string): Region {
  // Codes of states are those of the United States.
  const key = `${type}/${type === 'state' ? `US-${code}` : code}`
  let region = regions.get(key)
  if (region === undefined) {
    const _id = createHash('sha256').update(key).digest('hex').slice(0, 24)
    region = {
      _id,
      type,
      code,
      name: nameOf(type, code),
      ...(type === 'country' && { flag: countryOf(code).flag }),
    }
    regions.set(key, region)
  }
  return region
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
