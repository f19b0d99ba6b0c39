import type { Position } from '../../model/geofence.ts'
import type { PlaceRecords, StoredArea } from '../placeDatabase/port.ts'
import type { Language } from '../records/names.ts'
import type { AreaKind } from '../records/records.ts'
import { countryAt, countryName, type Country } from '../world/countries.ts'

/** In which city, county, state and country a point lies. */
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

/** What a record itself says about where it is; this comes first. */
export interface OwnAddress {
  readonly city?: string | null | undefined
  readonly state?: string | null | undefined
  readonly postalCode?: string | null | undefined
}

const CITY_OF_NEIGHBOUR_METERS = 500
/** In the United States, where postal codes have no areas. */
const CODE_OF_NEIGHBOUR_METERS = 300
const NEIGHBORHOOD_METERS = 1500
const STATE_METERS = 50_000

/**
 * Where a point lies: by its own address, then by its neighbours, then by the areas that contain it.
 * @param regions those around the point
 */
export function surroundingsOf(
  regions: readonly PlaceRecords[],
  point: Position,
  own: OwnAddress,
  language: Language,
): Surroundings {
  const country = countryAt(point)
  const containing = regions.flatMap((region) => region.areasAt(point)).sort((a, b) => a.size - b.size)
  const areas = new Map<AreaKind, StoredArea>()
  for (const area of containing) if (!areas.has(area.kind)) areas.set(area.kind, area)
  const near = (kind: AreaKind, meters: number): void => {
    if (areas.has(kind)) return
    const nearest = nearestOf(regions, (region) => region.nearestCentre(point, meters, kind))
    if (nearest !== undefined) areas.set(kind, nearest.record)
  }
  near('neighborhood', NEIGHBORHOOD_METERS)
  near('state', STATE_METERS)
  const nameOf = (kind: AreaKind): string | undefined => {
    const area = areas.get(kind)
    return area === undefined ? undefined : (area.names[language] ?? area.name)
  }
  const neighbour = (): string | undefined =>
    nearestOf(regions, (region) => region.nearestAddress(point, CITY_OF_NEIGHBOUR_METERS, { city: true }))
      ?.record.city ?? undefined
  return {
    country,
    countryName: country === undefined ? undefined : countryName(country.code, language),
    state: own.state ?? nameOf('state'),
    stateCode: areas.get('state')?.code ?? undefined,
    county: nameOf('county'),
    city: own.city ?? neighbour() ?? nameOf('locality'),
    borough: nameOf('borough'),
    neighborhood: nameOf('neighborhood'),
    postalCode:
      own.postalCode ??
      (country?.code === 'US' ? postalCodeNear(regions, point, CODE_OF_NEIGHBOUR_METERS) : undefined) ??
      areas.get('postalCode')?.name,
    areas,
  }
}

/** The postal code of the nearest address that has one. */
export function postalCodeNear(
  regions: readonly PlaceRecords[],
  point: Position,
  maxMeters: number,
): string | undefined {
  const near = nearestOf(regions, (region) => region.nearestAddress(point, maxMeters, { postalCode: true }))
  return near?.record.postalCode ?? undefined
}

/** The nearest of what each region finds. */
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
