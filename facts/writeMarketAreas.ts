/**
 * `npm run facts:market-areas -- FILE`: writes src/geo/world/marketAreas.txt, the counties of the television markets (DMA)
 * of the United States. No data with their borders may be used freely, so it is found out from FILE, a GeoLite2 City that
 * has the market of each IP address: a county belongs to the market that most of its addresses have. Numbers and names of
 * the markets were written by hand, into that file, whose counties this script replaces.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Reader } from 'mmdb-lib'
import { STATE_CODES } from '../src/geo/world/usNames.ts'
import { WorldDatabase } from '../src/geo/world/worldDatabase.ts'
import { buildWorld } from '../src/geo/world/worldBuilder.ts'
import { readMarketAreas } from '../src/geo/world/marketAreas.ts'

const FILE = new URL('../src/geo/world/marketAreas.txt', import.meta.url)
const IPV4_BITS = 32

interface CityRecord {
  readonly country?: { readonly iso_code: string }
  readonly location?: {
    readonly latitude?: number
    readonly longitude?: number
    readonly metro_code?: number
  }
  readonly postal?: { readonly code: string }
}

const [source] = process.argv.slice(2)
if (source === undefined)
  throw new Error('npm run facts:market-areas -- FILE: a GeoLite2 City in the form .mmdb')
const reader = new Reader<never>(readFileSync(source))
const folder = mkdtempSync(join(tmpdir(), 'ringfence-facts-'))
process.on('exit', () => rmSync(folder, { recursive: true }))
const world = new WorldDatabase(buildWorld(folder))

/** How many addresses of each market a county has, by the FIPS of the county. */
type Votes = Map<string, Map<number, number>>

/** By the ZIP of an address; and by its position, for counties without a ZIP of their own. */
const [byZip, byPosition]: readonly [Votes, Votes] = [new Map(), new Map()]
const counties = new Map<string, readonly (readonly [votes: Votes, fips: string])[]>()
for (let address = 0; address < 2 ** IPV4_BITS;) {
  const text = [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join('.')
  const [record, prefix] = reader.getWithPrefixLength(text) as [CityRecord | null, number]
  // In a file with IPv6, prefixes of IPv4 may count its 96 bits too.
  const size = 2 ** (IPV4_BITS - (prefix > IPV4_BITS ? prefix - 96 : prefix))
  address = (Math.floor(address / size) + 1) * size
  const { latitude, longitude, metro_code: market } = record?.location ?? {}
  if (record?.country?.iso_code !== 'US' || market === undefined || latitude === undefined) continue
  const key = `${record.postal?.code} ${latitude} ${longitude}`
  if (!counties.has(key)) counties.set(key, countiesOf(record.postal?.code, [longitude!, latitude]))
  for (const [byCounty, county] of counties.get(key)!) {
    const markets = byCounty.get(county) ?? new Map<number, number>()
    byCounty.set(county, markets.set(market, (markets.get(market) ?? 0) + size))
  }
}
const votes: Votes = new Map([...byPosition, ...byZip])

const byMarket = new Map<number, string[]>()
for (const [county, markets] of [...votes].sort(([a], [b]) => (a < b ? -1 : 1))) {
  const [market] = [...markets].reduce((a, b) => (b[1] > a[1] ? b : a))
  byMarket.set(market, [...(byMarket.get(market) ?? []), county])
}
const comments = readFileSync(FILE, 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('#'))
const written = readMarketAreas().map(({ code, name }) => {
  const found = byMarket.get(Number(code)) ?? []
  byMarket.delete(Number(code))
  // The counties are printed, so that a wrong name is noticed.
  console.log(code, name, ...new Set(found.map((fips) => STATE_CODES[fips.slice(0, 2)])))
  return [`${code} ${name}:`, ...found].join(' ')
})
writeFileSync(FILE, [...comments, ...written, ''].join('\n'))
console.log(`${votes.size} counties; without a name: ${[...byMarket.keys()].join(', ') || 'none'}`)

function countiesOf(zip: string | undefined, position: readonly [number, number]) {
  const county = zip === undefined ? undefined : world.postalArea('US', zip)?.countyFips
  const found = [
    [byZip, county === undefined ? undefined : world.countyByFips(county)?.fips],
    [byPosition, world.countyAt(position)?.fips],
  ] as const
  return found.flatMap(([byCounty, fips]) => (fips === undefined ? [] : [[byCounty, fips] as const]))
}
