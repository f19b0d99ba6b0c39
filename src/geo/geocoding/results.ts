/** Results in the form that clients see: those of records, and of the areas around a point. The code is pure. */
import type { Position } from '../../model/geofence.ts'
import type { AreaKind } from '../records/records.ts'
import { timeZoneOf } from '../world/timeZone.ts'
import { addressLine, labelText, streetLine, type AddressParts } from './addressText.ts'
import type { Address, CoarseLayer, Layer, PostalAddress } from './port.ts'
import type { OwnAddress, Surroundings } from './surroundings.ts'

/** A result before the areas around it are known. */
export interface Found {
  readonly layer: Layer
  readonly position: Position
  readonly own: OwnAddress
  readonly number?: string | undefined
  readonly street?: string | undefined
  readonly unit?: string | undefined
  readonly place?: { readonly name: string; readonly categories: readonly string[] } | undefined
}

/**
 * The address of a record.
 * @param now in epoch milliseconds
 */
export function recordAddress(found: Found, around: Surroundings, now: number): Address {
  const { layer, position, number, street, unit, place } = found
  const line = streetLine({ number, street, countryCode: around.country?.code })
  const label = unit === undefined ? line : `${line} ${unit}`
  return {
    ...pointOf(position),
    layer,
    ...(place === undefined
      ? label !== '' && { addressLabel: label }
      : { placeLabel: labelText(place.name), categories: place.categories }),
    ...postalAddress(found, around),
    timeZone: timeZoneOf(position, now),
  }
}

/** Where a record is, in one line and in parts. */
export function postalAddress(
  { number, street, unit }: Pick<Found, 'number' | 'street' | 'unit'>,
  around: Surroundings,
): PostalAddress {
  const parts: AddressParts = { ...partsOf(around), number, street }
  const line = streetLine(parts)
  return {
    ...present({ ...namesOf(around), street, number, unit }),
    formattedAddress: addressLine(line === '' ? undefined : line, parts),
  }
}

/** The areas that a result of a layer names: its own level and all above. */
const LEVELS: readonly AreaKind[] = ['neighborhood', 'postalCode', 'locality', 'county', 'state', 'country']

/**
 * The address of an area.
 * @returns undefined if the area is not known
 */
export function areaAddress(
  layer: CoarseLayer,
  here: Surroundings,
  position: Position,
  now: number,
): Address | undefined {
  const names = namesOf(here)
  const name = names[layer === 'locality' ? 'city' : layer]
  if (name === undefined) return undefined
  const level = LEVELS.indexOf(layer)
  const isKnownAt = (kind: AreaKind): boolean => LEVELS.indexOf(kind) >= level
  const kept = present({
    country: names.country,
    countryCode: names.countryCode,
    countryFlag: names.countryFlag,
    state: isKnownAt('state') ? names.state : undefined,
    stateCode: isKnownAt('state') ? names.stateCode : undefined,
    county: isKnownAt('county') ? names.county : undefined,
    city: isKnownAt('locality') ? names.city : undefined,
    borough: isKnownAt('neighborhood') ? names.borough : undefined,
    postalCode: isKnownAt('postalCode') ? names.postalCode : undefined,
    neighborhood: isKnownAt('neighborhood') ? names.neighborhood : undefined,
  })
  const parts: AddressParts = { ...kept, countryCode3: here.country?.code3 }
  const isPart = layer === 'neighborhood' || layer === 'county'
  return {
    ...pointOf(position),
    layer,
    ...kept,
    addressLabel: labelText(name),
    formattedAddress: layer === 'country' ? name : addressLine(isPart ? labelText(name) : undefined, parts),
    timeZone: timeZoneOf(position, now),
  }
}

function namesOf(around: Surroundings) {
  const { country, countryName, state, stateCode, county, city, borough, neighborhood, postalCode } = around
  return {
    country: countryName,
    countryCode: country?.code,
    countryFlag: country?.flag,
    state,
    stateCode,
    county,
    city,
    borough,
    neighborhood,
    postalCode,
  }
}

function partsOf(around: Surroundings): AddressParts {
  const { country, countryName, state, stateCode, city, borough, postalCode } = around
  return {
    borough,
    city,
    state,
    stateCode,
    postalCode,
    country: countryName,
    countryCode: country?.code,
    countryCode3: country?.code3,
  }
}

function pointOf(position: Position): Pick<Address, 'latitude' | 'longitude' | 'geometry'> {
  // Coordinates are rounded to a centimetre, like those of OpenStreetMap.
  const longitude = Math.round(position[0] * 1e7) / 1e7
  const latitude = Math.round(position[1] * 1e7) / 1e7
  return { latitude, longitude, geometry: { type: 'Point', coordinates: [longitude, latitude] } }
}

function present<Fields extends object>(
  fields: Fields,
): { [K in keyof Fields]?: Exclude<Fields[K], undefined> } {
  const kept: Record<string, unknown> = {}
  for (const name in fields) if (fields[name] !== undefined) kept[name] = fields[name]
  return kept as never
}
