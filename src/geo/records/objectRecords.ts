/** What an object of OpenStreetMap stands for, by its tags. Pure: from tags to parts of records. */
import { createHash } from 'node:crypto'
import { categoriesOf } from './categories.ts'
import { cleanName, namesByLanguage } from './names.ts'
import type { AreaKind, AreaRecord, PlaceRecord, PropertyType, StreetImportance } from './records.ts'
import type { ObjectType, Tags } from './tags.ts'
import type { TaggedAddress } from './addressTags.ts'

/** Values of `highway` that are not streets. */
const NO_STREETS: ReadonlySet<string> = new Set([
  'platform',
  'bus_stop',
  'elevator',
  'rest_area',
  'services',
  'proposed',
  'construction',
  'razed',
])
const LARGE_ROADS = /^(?:motorway|trunk|primary)(?:_link)?$/
const MIDDLE_ROADS = /^(?:secondary|tertiary)(?:_link)?$/

/** The street that a way is part of, if it has a name. */
export function streetOf(tags: Tags): { name: string; importance: StreetImportance } | undefined {
  const highway = tags.get('highway')
  const name = cleanName(tags.get('name'))
  if (highway === undefined || name === undefined || NO_STREETS.has(highway)) return undefined
  return { name, importance: LARGE_ROADS.test(highway) ? 2 : MIDDLE_ROADS.test(highway) ? 1 : 0 }
}

const PLACES: Readonly<Record<string, AreaKind>> = {
  state: 'state',
  city: 'locality',
  town: 'locality',
  village: 'locality',
  borough: 'borough',
  suburb: 'neighborhood',
  quarter: 'neighborhood',
  neighbourhood: 'neighborhood',
}
const ADMINISTRATIVE: Readonly<Record<string, AreaKind>> = {
  2: 'country',
  4: 'state',
  6: 'county',
  8: 'locality',
}

/** The area, settlement or part of one that an object is, without its geometry. */
export function areaOf(tags: Tags): Omit<AreaRecord, 'position' | 'rings' | 'size'> | undefined {
  const boundary = tags.get('boundary')
  const place = tags.get('place')
  const own = cleanName(tags.get('name'))
  const code = cleanName(tags.get('postal_code'))
  if (boundary === 'postal_code' && code !== undefined)
    return { kind: 'postalCode', name: code, names: new Map(), code: undefined, population: 0 }
  const byPlace = place === undefined || !Object.hasOwn(PLACES, place) ? undefined : PLACES[place]
  const level = boundary === 'administrative' ? (tags.get('admin_level') ?? '') : ''
  const kind = byPlace ?? (Object.hasOwn(ADMINISTRATIVE, level) ? ADMINISTRATIVE[level] : undefined)
  if (kind === undefined || own === undefined) return undefined
  const iso = /^[A-Z]{2}-([A-Z0-9]{1,3})$/.exec(tags.get('ISO3166-2') ?? '')
  const population = Number(tags.get('population')?.slice(0, 20).replaceAll(/[ ,]/g, ''))
  return {
    kind,
    name: own,
    names: namesByLanguage(tags, own),
    code: kind === 'state' ? iso?.[1] : undefined,
    population: Number.isSafeInteger(population) && population > 0 ? population : 0,
  }
}

/**
 * The place that an object is, without its geometry and its chain. A place has a category, and a name or brand.
 * @param address the address of the object, if it has one
 */
export function placeOf(
  tags: Tags,
  type: ObjectType,
  id: number,
  address: TaggedAddress | undefined,
): Omit<PlaceRecord, 'position' | 'rings' | 'size' | 'chain'> | undefined {
  const brand = cleanName(tags.get('brand'))
  const name = cleanName(tags.get('name')) ?? brand
  if (name === undefined) return undefined
  const categories = categoriesOf(tags)
  if (categories.length === 0) return undefined
  const iataCode = /^[A-Z]{3}$/.exec(tags.get('iata')?.slice(0, 10).trim() ?? '')?.[0]
  const isNotable = tags.has('wikidata') || tags.has('wikipedia')
  return {
    id: placeId(iataCode === undefined ? `osm/${type}/${id}` : `iata/${iataCode}`),
    name,
    names: namesByLanguage(tags, name),
    categories,
    details: present({
      number: address?.numbers[0],
      street: address?.street ?? cleanName(tags.get('addr:street')),
      unit: address?.unit,
      city: address?.city ?? cleanName(tags.get('addr:city')),
      state: address?.state ?? cleanName(tags.get('addr:state')),
      postalCode: address?.postalCode ?? cleanName(tags.get('addr:postcode')),
      brand,
      iataCode,
      openingHours: cleanName(tags.get('opening_hours')),
      phone: cleanName(tags.get('phone') ?? tags.get('contact:phone')),
      website: cleanName(tags.get('website') ?? tags.get('contact:website')),
      isNotable: isNotable ? true : undefined,
    }),
  }
}

/** Whether a relation is an area of which a record is made. */
export function isRecordedArea(tags: Tags): boolean {
  const type = tags.get('type')
  if (type !== 'multipolygon' && type !== 'boundary') return false
  return (
    tags.has('addr:housenumber') ||
    areaOf(tags) !== undefined ||
    placeOf(tags, 'relation', 0, undefined) !== undefined
  )
}

/**
 * The `_id` of a place.
 * @param name `osm/node/1`, or `iata/MVD` for an airport
 */
export function placeId(name: string): string {
  return createHash('sha256').update(`place/${name}`).digest('hex').slice(0, 24)
}

const RESIDENTIAL: ReadonlySet<string> = new Set([
  'apartments',
  'annexe',
  'bungalow',
  'cabin',
  'detached',
  'dormitory',
  'farm',
  'ger',
  'house',
  'houseboat',
  'residential',
  'semi',
  'semidetached_house',
  'static_caravan',
  'terrace',
  'terraced_house',
])
const COMMERCIAL: ReadonlySet<string> = new Set([
  'commercial',
  'hotel',
  'industrial',
  'kiosk',
  'manufacture',
  'office',
  'retail',
  'shop',
  'supermarket',
  'warehouse',
])

/** What a building is used for. A shop or an office in it makes it commercial. */
export function propertyOf(tags: Tags): PropertyType | undefined {
  if (tags.has('shop') || tags.has('office')) return 'commercial'
  const building = tags.get('building') ?? ''
  if (COMMERCIAL.has(building)) return 'commercial'
  return RESIDENTIAL.has(building) ? 'residential' : undefined
}

/** Keys that make an object more than an address. */
const MEANINGS = ['amenity', 'shop', 'office', 'craft', 'tourism', 'leisure', 'healthcare', 'name'] as const

/** Whether the object is nothing but an address. */
export function isPlainAddress(tags: Tags): boolean {
  return MEANINGS.every((key) => !tags.has(key))
}

type Present<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

function present<T extends object>(fields: T): Present<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Present<T>
}
