import type { Position } from '../../src/model/geofence.ts'
import { regionCodes, type RegionCodes } from '../../src/model/region.ts'
import type { PlaceRecords } from '../../src/geo/placeDatabase/port.ts'
import { countryAt } from '../../src/geo/world/countries.ts'
import type { World } from '../../src/geo/world/port.ts'

/** How far the nearest address may be whose postal code a point has. */
const NEIGHBOUR_METERS = 300

/**
 * The regions of a point, the slow way: by asking the databases about this point, as geocoding does, without any cell.
 * In the United States, postal codes have five digits.
 */
export function slowRegions(regions: readonly PlaceRecords[], world: World, point: Position): RegionCodes {
  const country = countryAt(point)?.code
  if (country !== 'US') return regionCodes([country, undefined, undefined, undefined])
  const postalCode = postalCodeNear(regions, point) ?? world.nearestZip(point)
  const county =
    (postalCode === undefined ? undefined : world.postalArea('US', postalCode)?.countyFips) ??
    world.countyAt(point)?.fips
  const market = county === undefined ? undefined : world.marketAreas.ofCounty(county)?.code
  return regionCodes([country, world.stateAt(point)?.code, market, postalCode])
}

function postalCodeNear(regions: readonly PlaceRecords[], point: Position): string | undefined {
  const addresses = regions.flatMap(
    (region) => region.nearestAddress(point, NEIGHBOUR_METERS, { postalCode: true }) ?? [],
  )
  addresses.sort((a, b) => a.meters - b.meters)
  if (addresses.length > 0) return addresses[0]!.record.postalCode!.slice(0, 5)
  const ranges = regions.flatMap((region) => region.nearestRanges(point, NEIGHBOUR_METERS)[0] ?? [])
  ranges.sort((a, b) => a.meters - b.meters)
  return ranges[0]?.record.postalCode?.slice(0, 5)
}
