import { createHash } from 'node:crypto'
import type { Position } from '../../model/geofence.ts'
import type { Region, RegionKind, Regions } from '../../model/region.ts'
import { countryAt, countryName } from '../world/countries.ts'
import type { World } from '../world/port.ts'
import { CODE_OF_NEIGHBOUR_METERS, postalCodeNear, type Sources } from './surroundings.ts'

/** Of country, state, DMA and postal code; a region with the same code is the same text. */
const IDS = new Map<string, string>()
/** There are some 42,000 postal codes in the United States. */
const MOST_IDS = 50_000

/** The country of a point; in the United States also its state, DMA (by its county) and postal code. */
export function regionsAt({ regions, world }: Sources, point: Position): Regions {
  const country = countryAt(point)
  if (country === undefined) return {}
  const { code, flag } = country
  const own = { country: { ...region('country', code, countryName(code, 'en')), flag } }
  if (code !== 'US') return own
  const postalCode = postalCodeNear(regions, point, CODE_OF_NEIGHBOUR_METERS) ?? world.nearestZip(point)
  const fips = countyOf(world, point, postalCode)
  const state = world.stateAt(point)
  const dma = fips === undefined ? undefined : world.marketAreas.ofCounty(fips)
  return {
    ...own,
    ...(state !== undefined && { state: region('state', state.code, state.name) }),
    ...(dma !== undefined && { dma: region('dma', dma.code, dma.name) }),
    ...(postalCode !== undefined && { postalCode: region('postalCode', postalCode, postalCode) }),
  }
}

/** The county that addresses with the postal code have, as in the answers of geocoding; otherwise by its borders. */
function countyOf(world: World, point: Position, postalCode: string | undefined): string | undefined {
  const postal = postalCode === undefined ? undefined : world.postalArea('US', postalCode)
  return postal?.countyFips ?? world.countyAt(point)?.fips
}

function region(type: RegionKind, code: string, name: string): Region {
  return { _id: idOf(type, type === 'state' ? `US-${code}` : code), type, code, name }
}

function idOf(type: RegionKind, code: string): string {
  const text = `${type}/${code}`
  let id = IDS.get(text)
  if (id === undefined) {
    id = createHash('sha256').update(text).digest('hex').slice(0, 24)
    if (IDS.size < MOST_IDS) IDS.set(text, id)
  }
  return id
}
