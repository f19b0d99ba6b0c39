/** Places near a point by chain, category and group, from the map regions; airports also from the data of the world. */
import { pointDistance } from '../../geometry/distance.ts'
import type { Position } from '../../model/geofence.ts'
import type { PlaceRecords, StoredPlace } from '../placeDatabase/port.ts'
import type { Trait } from '../placeDatabase/traitIndex.ts'
import { placeId } from '../records/objectRecords.ts'
import { weeklyHours } from '../records/openingHours.ts'
import type { PlaceDetails } from '../records/records.ts'
import { countryAt } from '../world/countries.ts'
import type { Airport, World } from '../world/port.ts'
import type { FoundPlace, PlaceGroup, PlaceMetadata, PlacesQuestion } from './port.ts'
import { postalAddress } from './results.ts'
import { isNear, type SearchSources } from './sources.ts'

/** The categories of an airport of the world. */
const AIRPORT_CATEGORIES = ['travel-transportation', 'transportation-terminal', 'airport'] as const

type Place = Pick<StoredPlace, 'key' | 'name' | 'categories' | 'position' | 'chain' | 'details'>

interface Candidate {
  readonly place: Place
  readonly meters: number
  readonly group: PlaceGroup | undefined
}

export function placesNear(sources: SearchSources, question: PlacesQuestion): FoundPlace[] {
  const { limit } = question
  const near = sources.regions.filter(({ bounds }) => isNear(bounds, question.near, question.radius))
  const candidates = [
    ...near.flatMap(({ records }) => inRegion(records, sources.world, question)),
    ...airportsOfWorld(sources, question),
  ].sort((a, b) => a.meters - b.meters || (a.place.key < b.place.key ? -1 : 1))
  // Where map regions overlap, the first one counts.
  const seen = new Set<string>()
  const nearest = candidates.filter(({ place: { key } }) => !seen.has(key) && seen.add(key)).slice(0, limit)
  return nearest.map(({ place, group }) => shown(sources, place, group))
}

/**
 * The airport with a code.
 * @param iataCode three capital letters
 */
export function airportOf(sources: SearchSources, iataCode: string): FoundPlace[] {
  const key = placeId(`iata/${iataCode}`)
  for (const { records } of sources.regions) {
    const place = records.placeByKey(key)
    if (place !== undefined) return [shown(sources, place, groupOf(place.details, sources.world))]
  }
  const airport = sources.world.airports.byCode(iataCode)
  return airport === undefined ? [] : [shown(sources, placeOfAirport(airport), groupOfAirport(airport))]
}

/** The first places of a map region that match. */
function inRegion(records: PlaceRecords, world: World, question: PlacesQuestion): Candidate[] {
  const { near, radius, limit, countries } = question
  const found: Candidate[] = []
  for (const { id, position, meters } of records.traits.near(near, radius, rarestTraits(question))) {
    if (found.length === limit) break
    if (!isIn(countries, position)) continue
    const place = records.placeById(id)
    const group = groupOf(place.details, world)
    if (fits(place, group, question)) found.push({ place, meters, group })
  }
  return found
}

/** The rarest of the kinds that are asked for, because fewest places must be looked at for it. */
function rarestTraits({ chains, groups, categories = [] }: PlacesQuestion): Trait[] {
  if (chains !== undefined) return chains.map((slug): Trait => `chain/${slug}`)
  if (groups !== undefined) return ['group/airport']
  return categories.map((slug): Trait => `category/${slug}`)
}

function fits(
  place: Place,
  group: PlaceGroup | undefined,
  { chains, groups, categories }: PlacesQuestion,
): boolean {
  const has = (wanted: readonly string[] | undefined, own: readonly (string | undefined)[]): boolean =>
    wanted === undefined || own.some((one) => one !== undefined && wanted.includes(one))
  return (
    has(chains, [place.chain?.slug]) &&
    // Everything that has a group is an airport.
    has(groups, group === undefined ? [] : [group, 'airport']) &&
    has(categories, place.categories)
  )
}

function isIn(countries: readonly string[], position: Position): boolean {
  return countries.length === 0 || countries.includes(countryAt(position)?.code ?? '')
}

/** Airports that no map region has. */
function airportsOfWorld({ regions, world }: SearchSources, question: PlacesQuestion): Candidate[] {
  const { near, radius, countries } = question
  return world.airports.within(radius, near).flatMap((airport): Candidate[] => {
    const place = placeOfAirport(airport)
    const group = groupOfAirport(airport)
    if (!fits(place, group, question) || !isIn(countries, place.position)) return []
    if (regions.some(({ records }) => records.placeByKey(place.key) !== undefined)) return []
    return [{ place, meters: metersBetween(near, place.position), group }]
  })
}

function placeOfAirport({ iata, name, position }: Airport): Place {
  const details = { iataCode: iata }
  return {
    key: placeId(`iata/${iata}`),
    name,
    categories: AIRPORT_CATEGORIES,
    position,
    chain: undefined,
    details,
  }
}

function groupOf({ iataCode }: PlaceDetails, world: World): PlaceGroup | undefined {
  if (iataCode === undefined) return undefined
  const airport = world.airports.byCode(iataCode)
  return airport === undefined ? 'airport' : groupOfAirport(airport)
}

function groupOfAirport({ size, countryCode }: Airport): PlaceGroup {
  return size === 'large' && countryCode === 'US' ? 'major-us-airport' : 'airport'
}

function shown(sources: SearchSources, place: Place, group: PlaceGroup | undefined): FoundPlace {
  const { key, name, categories, position, chain, details } = place
  const { number, street, unit, city, state, postalCode } = details
  const around = sources.surroundings(position, { city, state, postalCode }, 'en')
  const hours = details.openingHours === undefined ? undefined : weeklyHours(details.openingHours)
  const metadata = metadataOf(details)
  return {
    _id: key,
    name,
    categories,
    location: { type: 'Point', coordinates: position },
    ...(chain !== undefined && { chain }),
    address: postalAddress({ number, street, unit }, around),
    ...(group !== undefined && { group }),
    ...(hours !== undefined && { operatingHours: hours }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  }
}

function metadataOf({ openingHours, phone, website }: PlaceDetails): PlaceMetadata {
  return {
    ...(openingHours !== undefined && { openingHours }),
    ...(phone !== undefined && { phone }),
    ...(website !== undefined && { website }),
  }
}

function metersBetween([x, y]: Position, [px, py]: Position): number {
  return pointDistance(y, x, py, px)
}
