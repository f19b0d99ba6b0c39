import type { Position } from '../../model/geofence.ts'
import type { PlaceRecords } from '../placeDatabase/port.ts'
import type { AreaKind } from '../records/records.ts'
import { timeZoneOf } from '../world/timeZone.ts'
import { addressLine, labelText, streetLine, type AddressParts } from './addressText.ts'
import type { Address, Layer, ReverseQuestion } from './port.ts'
import {
  nearestOf,
  postalCodeNear,
  surroundingsOf,
  type OwnAddress,
  type Sources,
  type Surroundings,
} from './surroundings.ts'

/** How far away the nearest record may be. */
const REACH_METERS = 1000

/** A result before its surroundings are known. */
interface Found {
  readonly layer: Layer
  readonly position: Position
  readonly meters: number
  readonly own: OwnAddress
  readonly number?: string | undefined
  readonly street?: string | undefined
  readonly unit?: string | undefined
  readonly place?: { readonly name: string; readonly categories: readonly string[] }
}

const FINDERS: Readonly<
  Record<
    string,
    (regions: readonly PlaceRecords[], point: Position, question: ReverseQuestion) => Found | undefined
  >
> = {
  address(regions, point) {
    const near = nearestOf(regions, (region) => region.nearestAddress(point, REACH_METERS))
    if (near === undefined) return undefined
    const { number, street, unit, position, ...own } = near.record
    return { layer: 'address', position, meters: near.meters, own, number, street, unit: unit ?? undefined }
  },
  place(regions, point, { language }) {
    const near = nearestOf(regions, (region) => region.nearestPlace(point, REACH_METERS))
    if (near === undefined) return undefined
    const { name, names, categories, details, position } = near.record
    const { number, street, unit, ...own } = details
    const place = { name: names[language] ?? name, categories }
    return { layer: 'place', position, meters: near.meters, own, number, street, unit, place }
  },
  intersection(regions, point) {
    const near = nearestOf(regions, (region) => region.nearestIntersection(point, REACH_METERS))
    if (near === undefined) return undefined
    const { streets, position } = near.record
    return { layer: 'intersection', position, meters: near.meters, own: {}, street: streets.join(' & ') }
  },
  street(regions, point) {
    const near = nearestOf(regions, (region) => region.nearestStreet(point, REACH_METERS))
    if (near === undefined) return undefined
    const { name, position } = near.record
    return { layer: 'street', position, meters: near.meters, own: {}, street: name }
  },
}

/**
 * What is at a point: one result per layer that is asked for and known there, in the order of the layers.
 */
export function reverse(sources: Sources, question: ReverseQuestion): Address[] {
  const { regions } = sources
  const { position, layers, language } = question
  const around = surroundingsOf(sources, position, {}, language)
  const isCodeWanted =
    layers.includes('postalCode') && around.postalCode === undefined && around.country?.code !== 'US'
  const postalCode = isCodeWanted ? postalCodeNear(regions, position, REACH_METERS) : around.postalCode
  const here = { ...around, postalCode }
  const results: Address[] = []
  for (const layer of layers) {
    const find = FINDERS[layer]
    if (find === undefined) {
      const area = areaAddress(layer, here, question)
      if (area !== undefined) results.push(area)
      continue
    }
    const found = find(regions, position, question)
    if (found === undefined) continue
    results.push(recordAddress(found, surroundingsOf(sources, found.position, found.own, language), question))
  }
  return results
}

function recordAddress(found: Found, around: Surroundings, { now }: ReverseQuestion): Address {
  const { layer, position, meters, number, street, unit, place } = found
  const parts: AddressParts = { ...partsOf(around), number, street }
  const line = streetLine(parts)
  const label = unit === undefined ? line : `${line} ${unit}`
  return {
    ...pointOf(position),
    layer,
    ...present({
      ...namesOf(around),
      street,
      number,
      unit,
      ...(place === undefined
        ? { addressLabel: label === '' ? undefined : label }
        : { placeLabel: labelText(place.name) }),
    }),
    ...(place !== undefined && { categories: place.categories }),
    formattedAddress: addressLine(line === '' ? undefined : line, parts),
    timeZone: timeZoneOf(position, now),
    distance: Math.round(meters),
  }
}

/** What of the surroundings a result of a layer has: its own level and all above. */
const LEVELS: readonly AreaKind[] = ['neighborhood', 'postalCode', 'locality', 'county', 'state', 'country']

function areaAddress(
  layer: Layer,
  here: Surroundings,
  { position, now }: ReverseQuestion,
): Address | undefined {
  const names = namesOf(here)
  const field =
    layer === 'locality' ? 'city' : layer === 'neighborhood' || layer === 'postalCode' ? layer : layer
  const name = names[field as keyof typeof names]
  if (name === undefined) return undefined
  const level = LEVELS.indexOf(layer as AreaKind)
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
    ...pointOf(here.areas.get(layer as AreaKind)?.position ?? position),
    layer,
    ...kept,
    addressLabel: labelText(name),
    formattedAddress: layer === 'country' ? name : addressLine(isPart ? labelText(name) : undefined, parts),
    timeZone: timeZoneOf(position, now),
    distance: 0,
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
  // To a centimetre, as in OpenStreetMap.
  const [longitude, latitude] = position.map((degrees) => Math.round(degrees * 1e7) / 1e7) as [number, number]
  return { latitude, longitude, geometry: { type: 'Point', coordinates: [longitude, latitude] } }
}

function present<Fields extends object>(
  fields: Fields,
): { [K in keyof Fields]?: Exclude<Fields[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never
}
