import type { Position } from '../../model/geofence.ts'
import type { Chain } from '../../model/place.ts'
import type { Language } from '../records/names.ts'
import type { WeeklyHours } from '../records/openingHours.ts'
import type { Validation, ValidationQuestion } from './validation.ts'

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

/** The layers of single records. All other layers are areas. */
export type FineLayer = 'address' | 'place' | 'intersection' | 'street'
export type CoarseLayer = Exclude<Layer, FineLayer>

export function isCoarse(layer: Layer): layer is CoarseLayer {
  return LAYERS.indexOf(layer) > LAYERS.indexOf('street')
}

/** Where something is, in one line and in parts. Unknown fields are absent. */
export interface PostalAddress {
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
  readonly formattedAddress: string
}

/** Where and what something is. Unknown fields are absent. */
export interface Address extends PostalAddress {
  readonly latitude: number
  readonly longitude: number
  readonly geometry: { readonly type: 'Point'; readonly coordinates: Position }
  readonly layer: Layer
  /** Number and street, or a name. */
  readonly addressLabel?: string
  /** The name of the place. Such a result has no `addressLabel`. */
  readonly placeLabel?: string
  readonly categories?: readonly string[]
  readonly timeZone: object
  /** In whole metres. */
  readonly distance?: number
  /** Only present in answers of forward geocoding. */
  readonly confidence?: GeocodeConfidence
}

/**
 * How a result relates to the query: it is the very thing, it lies between known house numbers, or it is the smallest
 * known area around it.
 */
export const CONFIDENCES = ['exact', 'interpolated', 'fallback'] as const

export type GeocodeConfidence = (typeof CONFIDENCES)[number]

/** What is at a point. */
export interface ReverseQuestion {
  readonly position: Position
  /** The layers in the order of {@link LAYERS}. */
  readonly layers: readonly Layer[]
  readonly language: Language
  /** The time for time zones, in epoch milliseconds. */
  readonly now: number
}

/** Where something is. */
export interface ForwardQuestion {
  /** The text, with 1 to 1,000 characters. */
  readonly query: string
  readonly layers: readonly Layer[]
  /** Alpha-2 codes. If there are none, all countries count. */
  readonly countries: readonly string[]
  readonly language: Language
  readonly now: number
}

/** The addresses and places that the text so far may mean. */
export interface AutocompleteQuestion extends ForwardQuestion {
  /** Results near this position come first. */
  readonly near: Position | undefined
  readonly limit: number
  /** Only results with this postal code. */
  readonly postalCode: string | undefined
  /** Whether only addresses that mail can be sent to are wanted. */
  readonly isMailable: boolean
  /** Whether the layers were named. In that case, `address` alone asks for houses. */
  readonly isAddressOnly: boolean
}

/** The groups that a place can belong to. */
export const PLACE_GROUPS = ['airport', 'major-us-airport'] as const

export type PlaceGroup = (typeof PLACE_GROUPS)[number]

/**
 * A question about places near a point. A place must match at least one value of each kind that is given. Values that
 * no place has are ignored, so a kind with only such values finds nothing.
 */
export interface PlacesQuestion {
  readonly near: Position
  /** The largest distance from `near` to the place's own point, in metres. */
  readonly radius: number
  readonly limit: number
  /** Slugs of chains. */
  readonly chains: readonly string[] | undefined
  /** Slugs of categories. A category also finds places of its descendants. */
  readonly categories: readonly string[] | undefined
  readonly groups: readonly string[] | undefined
  /** Alpha-2 codes. If there are none, all countries count. */
  readonly countries: readonly string[]
}

/** A place that was searched for. Unknown fields are absent. */
export interface FoundPlace {
  /** An id that stays the same after each import. */
  readonly _id: string
  readonly name: string
  /** Slugs. Each comes after its ancestors. */
  readonly categories: readonly string[]
  readonly location: { readonly type: 'Point'; readonly coordinates: Position }
  readonly chain?: Chain
  readonly address: PostalAddress
  readonly group?: PlaceGroup
  /** In the form of a geofence's operating hours. */
  readonly operatingHours?: WeeklyHours
  readonly metadata?: PlaceMetadata
}

export interface PlaceMetadata {
  /** In the form of OpenStreetMap. */
  readonly openingHours?: string
  readonly phone?: string
  readonly website?: string
}

/** Places, and the credit for their data. */
export interface PlacesFound {
  readonly places: readonly FoundPlace[]
  readonly attribution: string
}

/** Results, and the credit for their data. */
export interface Geocoded {
  /** A list of {@link Address} as JSON text in the form of `packUtf8`, as it was written where they were found. */
  readonly addresses: string
  readonly attribution: string
}

/** Answers where something is and what is somewhere, from the imported map regions. */
export interface Geocoder {
  /**
   * Finds at most one result per layer, in the order of the layers.
   * @throws {ApiError} 503 if too many questions wait, or the data of the world are missing
   */
  reverse(question: ReverseQuestion): Promise<Geocoded>
  /**
   * Finds at most ten results, the best first.
   * @throws {ApiError} the same as reverse
   */
  forward(question: ForwardQuestion): Promise<Geocoded>
  /**
   * Completes a text.
   * @throws {ApiError} the same as reverse
   */
  autocomplete(question: AutocompleteQuestion): Promise<Geocoded>
  /**
   * Finds places, the nearest first; those at the same distance are in the order of their `_id`.
   * @throws {ApiError} the same as reverse
   */
  places(question: PlacesQuestion): Promise<PlacesFound>
  /**
   * Finds the airport with an IATA code.
   * @param iataCode three letters, in capitals
   * @throws {ApiError} the same as reverse
   */
  airport(iataCode: string): Promise<PlacesFound>
  /**
   * Checks an address.
   * @throws {ApiError} the same as reverse
   */
  validate(
    question: ValidationQuestion,
  ): Promise<{ readonly validation: Validation; readonly attribution: string }>
}
