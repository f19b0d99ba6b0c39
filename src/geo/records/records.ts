/** The records of a map region, which are made from the objects of an extract. */
import type { Position } from '../../model/geofence.ts'
import type { Chain } from '../../model/place.ts'
import type { Rings } from './areas.ts'
import type { Language } from './names.ts'
import type { NumberRange } from './numberRanges.ts'
import type { ObjectType } from './tags.ts'

/** A house: one number at one point. */
export interface AddressRecord {
  readonly number: string
  readonly street: string
  readonly unit: string | undefined
  readonly city: string | undefined
  readonly state: string | undefined
  readonly postalCode: string | undefined
  readonly position: Position
  readonly type: ObjectType
  readonly id: number
  /** Whether the object is nothing but an address. It is preferred to a shop with the same address. */
  readonly isPlain: boolean
  /** What the building is used for, if the object says so. */
  readonly property: PropertyType | undefined
}

export type PropertyType = 'residential' | 'commercial'

/**
 * The numbers of a side of a street between two of them. They come from an address interpolation, or from an edge of
 * TIGER.
 */
export interface RangeRecord extends NumberRange {
  readonly street: string
  readonly city: string | undefined
  readonly state: string | undefined
  readonly postalCode: string | undefined
}

/** A part of a street. */
export interface WayRecord {
  readonly name: string
  readonly line: readonly Position[]
}

/** The ways and houses of one name and city. Each is near another one of them. */
export interface StreetRecord {
  readonly id: number
  readonly name: string
  /** All spellings of the name. */
  readonly names: readonly string[]
  readonly importance: StreetImportance
  /** A position in its middle. */
  readonly position: Position
  /** The city of most of its houses. */
  readonly city: string | undefined
  readonly postalCode: string | undefined
  readonly houses: readonly AddressRecord[]
  readonly ranges: readonly RangeRecord[]
}

/** 2 for primary roads and larger ones, 1 for secondary and tertiary ones, 0 for all others. */
export type StreetImportance = 0 | 1 | 2

/** A point where two streets meet. Their names are in alphabetical order. */
export interface IntersectionRecord {
  readonly streets: readonly [string, string]
  readonly position: Position
}

/** Something with a name and a category that people go to. */
export interface PlaceRecord {
  /** 24 hexadecimal digits that stay the same after each import. */
  readonly id: string
  readonly name: string
  readonly names: ReadonlyMap<Language, string>
  /** Slugs. Each comes after its ancestors. */
  readonly categories: readonly string[]
  readonly position: Position
  /** The rings; undefined for a point. */
  readonly rings: Rings | undefined
  /** In square metres; 0 for a point. */
  readonly size: number
  readonly details: PlaceDetails
  /** The chain that it belongs to, if any. */
  readonly chain: Chain | undefined
}

/** What an object says about a place besides its name. Unknown members are absent. */
export interface PlaceDetails {
  readonly number?: string
  readonly street?: string
  readonly unit?: string
  readonly city?: string
  readonly state?: string
  readonly postalCode?: string
  readonly brand?: string
  readonly iataCode?: string
  readonly openingHours?: string
  readonly phone?: string
  readonly website?: string
  readonly isNotable?: true
}

/** The kinds of areas, from the smallest to the largest. */
export const AREA_KINDS = [
  'neighborhood',
  'borough',
  'postalCode',
  'locality',
  'county',
  'state',
  'country',
] as const

export type AreaKind = (typeof AREA_KINDS)[number]

/** An administrative area, a settlement or a part of one. */
export interface AreaRecord {
  readonly kind: AreaKind
  /** The name. For a postal code, it is the code. */
  readonly name: string
  readonly names: ReadonlyMap<Language, string>
  /** The code of a state, if it has a code: `SP` of `BR-SP`. */
  readonly code: string | undefined
  /** 0 if it is not known. */
  readonly population: number
  readonly position: Position
  /** The rings; undefined if the extract has only its centre. */
  readonly rings: Rings | undefined
  /** In square metres; 0 without rings. */
  readonly size: number
}
