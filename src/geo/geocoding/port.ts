import type { Position } from '../../model/geofence.ts'
import type { Language } from '../records/names.ts'

/** What a result can be, in the order of preference. */
export const LAYERS = [
  'address',
  'place',
  'intersection',
  'street',
  'neighborhood',
  'postalCode',
  'locality',
  'county',
  'state',
  'country',
] as const

export type Layer = (typeof LAYERS)[number]

/** Where and what something is. Unknown fields are absent. */
export interface Address {
  readonly latitude: number
  readonly longitude: number
  readonly geometry: { readonly type: 'Point'; readonly coordinates: Position }
  readonly layer: Layer
  readonly country?: string
  readonly countryCode?: string
  readonly countryFlag?: string
  readonly state?: string
  readonly stateCode?: string
  readonly county?: string
  readonly city?: string
  readonly borough?: string
  readonly neighborhood?: string
  readonly postalCode?: string
  readonly street?: string
  readonly number?: string
  readonly unit?: string
  /** Number and street, or the name. */
  readonly addressLabel?: string
  /** The name of a place; such a result has no `addressLabel`. */
  readonly placeLabel?: string
  readonly categories?: readonly string[]
  readonly formattedAddress: string
  readonly timeZone: object
  /** Whole metres. */
  readonly distance?: number
}

/** What is at a point. */
export interface ReverseQuestion {
  readonly position: Position
  /** In the order of {@link LAYERS}. */
  readonly layers: readonly Layer[]
  readonly language: Language
  /** Milliseconds of the epoch, for time zones. */
  readonly now: number
}

/** Results, and the credit for their data. */
export interface Geocoded {
  readonly addresses: readonly Address[]
  readonly attribution: string
}

/** Answers where something is and what is somewhere, from the imported map regions. */
export interface Geocoder {
  /**
   * At most one result per layer, in the order of the layers.
   * @throws {ApiError} 503 if too many questions wait, or the data of the world are not there
   */
  reverse(question: ReverseQuestion): Promise<Geocoded>
}
