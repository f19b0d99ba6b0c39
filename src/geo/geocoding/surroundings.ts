import type { Position } from '../../model/geofence.ts'
import type { Near, PlaceRecords, StoredAddress, StoredArea } from '../placeDatabase/port.ts'
import type { Language } from '../records/names.ts'
import type { AreaKind } from '../records/records.ts'
import { countryAt, countryName, type Country } from '../world/countries.ts'
import type { World } from '../world/port.ts'
import { boroughOf } from '../world/usNames.ts'

/** The sources from which answers are made. */
export interface Sources {
  /** The map regions around the point. */
  readonly regions: readonly PlaceRecords[]
  readonly world: World
}

/** The city, county, state and country in which a point lies. */
export interface Surroundings {
  readonly country: Country | undefined
  readonly countryName: string | undefined
  readonly state: string | undefined
  readonly stateCode: string | undefined
  readonly county: string | undefined
  readonly city: string | undefined
  readonly borough: string | undefined
  readonly neighborhood: string | undefined
  readonly postalCode: string | undefined
  /** The area of each kind that contains the point, or whose centre is near enough to stand for it. */
  readonly areas: ReadonlyMap<AreaKind, StoredArea>
}

/** What a record itself says about its position. This comes first. */
export interface OwnAddress {
  readonly city?: string | null | undefined
  readonly state?: string | null | undefined
  readonly postalCode?: string | null | undefined
  readonly county?: string | undefined
  /** Whether it is a city of the world. In this case, what it does not say about its state and county is not known. */
  readonly isComplete?: boolean
}

const CITY_OF_NEIGHBOUR_METERS = 500
/** How near a postal code's address must be in the United States, where postal codes have no areas. */
const CODE_OF_NEIGHBOUR_METERS = 300
/** Kinds of areas of which the data often have only a point, and how far away it may be. */
const NEAR_CENTRES = [
  ['neighborhood', 1500],
  ['state', 50_000],
] as const
/** Countries in which the postal service says which city to write. */
const POSTAL_CITIES: ReadonlySet<string> = new Set(['US', 'CA'])

/**
 * Finds what a point lies in: by its own address, then by its neighbours, the areas that contain it, and the data of
 * the world.
 * @param regions the map regions around the point
 * @param address finds the nearest address to the point, if the caller looks for it anyway
 */
export function surroundingsOf(
  { regions, world }: Sources,
  point: Position,
  own: OwnAddress,
  language: Language,
  address?: () => Near<StoredAddress> | undefined,
): Surroundings {
  const country = countryAt(point)
  const areas = areasAround(regions, point)
  const nameOf = (kind: AreaKind): string | undefined => {
    const area = areas.get(kind)
    return area === undefined ? undefined : (area.names[language] ?? area.name)
  }
  const isUs = country?.code === 'US'
  const postalCode =
    own.postalCode ??
    (isUs
      ? (postalCodeNear(regions, point, CODE_OF_NEIGHBOUR_METERS) ?? world.nearestZip(point))
      : undefined) ??
    areas.get('postalCode')?.name
  const postal =
    country !== undefined && postalCode !== undefined && POSTAL_CITIES.has(country.code)
      ? world.postalArea(country.code, postalCode)
      : undefined
  const neighbour = (): string | undefined => {
    const nearest = address?.()
    const near =
      nearest !== undefined && nearest.record.city !== null && nearest.meters <= CITY_OF_NEIGHBOUR_METERS
        ? nearest
        : nearestOf(regions, (region) =>
            region.nearestAddress(point, CITY_OF_NEIGHBOUR_METERS, { city: true }),
          )
    return near?.record.city ?? undefined
  }
  let city = own.city ?? postal?.city ?? neighbour() ?? nameOf('locality')
  const isCityWanted =
    city === undefined ||
    (own.isComplete !== true &&
      ((own.state ?? nameOf('state')) === undefined || (own.county ?? nameOf('county')) === undefined))
  const worldCity =
    isCityWanted && country !== undefined && !isUs ? world.cityAt(point, country.code) : undefined
  city ??= worldCity?.name ?? (isUs ? world.cityAt(point, 'US')?.name : undefined)
  const usState = isUs ? world.stateAt(point) : undefined
  const county = isUs
    ? ((postal?.countyFips === undefined ? undefined : world.countyByFips(postal.countyFips)) ??
      world.countyAt(point))
    : undefined
  const province = country?.code === 'CA' ? postal : undefined
  return {
    country,
    countryName: country === undefined ? undefined : countryName(country.code, language),
    state: usState?.name ?? province?.state ?? own.state ?? nameOf('state') ?? worldCity?.region,
    stateCode: usState?.code ?? province?.stateCode ?? areas.get('state')?.code ?? undefined,
    county: county?.name ?? own.county ?? nameOf('county') ?? worldCity?.district,
    city,
    borough: (county && boroughOf(county.fips)) ?? nameOf('borough'),
    neighborhood: nameOf('neighborhood'),
    postalCode,
    areas,
  }
}

/** The smallest area of each kind that contains the point, or else, for some kinds, the nearest centre. */
function areasAround(regions: readonly PlaceRecords[], point: Position): Map<AreaKind, StoredArea> {
  const containing = regions.flatMap((region) => region.areasAt(point)).sort((a, b) => a.size - b.size)
  const areas = new Map<AreaKind, StoredArea>()
  for (const area of containing) if (!areas.has(area.kind)) areas.set(area.kind, area)
  for (const [kind, meters] of NEAR_CENTRES) {
    if (areas.has(kind)) continue
    const nearest = nearestOf(regions, (region) => region.nearestCentre(point, meters, kind))
    if (nearest !== undefined) areas.set(kind, nearest.record)
  }
  return areas
}

/** The postal code of the nearest address that has one, or else of the nearest number range that has one. */
export function postalCodeNear(
  regions: readonly PlaceRecords[],
  point: Position,
  maxMeters: number,
): string | undefined {
  const near = nearestOf(regions, (region) => region.nearestAddress(point, maxMeters, { postalCode: true }))
  if (near !== undefined) return near.record.postalCode ?? undefined
  const range = nearestOf(regions, (region) => region.nearestRanges(point, maxMeters)[0])
  return range?.record.postalCode ?? undefined
}

/** The nearest result of all regions. */
export function nearestOf<Found extends { readonly meters: number }>(
  regions: readonly PlaceRecords[],
  find: (region: PlaceRecords) => Found | undefined,
): Found | undefined {
  let nearest: Found | undefined
  for (const region of regions) {
    const found = find(region)
    if (found !== undefined && (nearest === undefined || found.meters < nearest.meters)) nearest = found
  }
  return nearest
}
