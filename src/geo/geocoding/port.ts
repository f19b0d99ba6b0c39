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

/** Layers of single records; the others are areas. */
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
  /** Number and street, or the name. */
  readonly addressLabel?: string
  /** The name of a place; such a result has no `addressLabel`. */
  readonly placeLabel?: string
  readonly categories?: readonly string[]
  readonly timeZone: object
  /** Whole metres. */
  readonly distance?: number
  /** Of forward geocoding. */
  readonly confidence?: GeocodeConfidence
}

/** The very thing; between known house numbers; or the smallest area around it that is known. */
export const CONFIDENCES = ['exact', 'interpolated', 'fallback'] as const

export type GeocodeConfidence = (typeof CONFIDENCES)[number]

/** What is at a point. */
export interface ReverseQuestion {
  readonly position: Position
  /** In the order of {@link LAYERS}. */
  readonly layers: readonly Layer[]
  readonly language: Language
  /** Milliseconds of the epoch, for time zones. */
  readonly now: number
}

/** Where something is. */
export interface ForwardQuestion {
  /** 1 to 1,000 characters. */
  readonly query: string
  readonly layers: readonly Layer[]
  /** Alpha-2; empty for all. */
  readonly countries: readonly string[]
  readonly language: Language
  readonly now: number
}

/** The addresses and places that the text so far may mean. */
export interface AutocompleteQuestion extends ForwardQuestion {
  /** Results nearby come first. */
  readonly near: Position | undefined
  readonly limit: number
  /** Only results with this postal code. */
  readonly postalCode: string | undefined
  /** Only what mail can be sent to. */
  readonly isMailable: boolean
  /** The layers were named, so `address` alone asks for houses. */
  readonly isAddressOnly: boolean
}

/** What a place can belong to, by its kind. */
export const PLACE_GROUPS = ['airport', 'major-us-airport'] as const

export type PlaceGroup = (typeof PLACE_GROUPS)[number]

/**
 * Which places are near a point. Of each kind that is named, a place must have one; values that nothing has are ignored,
 * so a kind without any other finds nothing.
 */
export interface PlacesQuestion {
  readonly near: Position
  /** Metres from `near` to the place's own point. */
  readonly radius: number
  readonly limit: number
  /** Slugs. */
  readonly chains: readonly string[] | undefined
  /** Slugs; one finds also those of its descendants. */
  readonly categories: readonly string[] | undefined
  readonly groups: readonly string[] | undefined
  /** Alpha-2; empty for all. */
  readonly countries: readonly string[]
}

/** A place that was searched for. Unknown fields are absent. */
export interface FoundPlace {
  /** The same after each import. */
  readonly _id: string
  readonly name: string
  /** Slugs, each after its ancestors. */
  readonly categories: readonly string[]
  readonly location: { readonly type: 'Point'; readonly coordinates: Position }
  readonly chain?: Chain
  readonly address: PostalAddress
  readonly group?: PlaceGroup
  /** As in the definition of a geofence. */
  readonly operatingHours?: WeeklyHours
  readonly metadata?: PlaceMetadata
}

export interface PlaceMetadata {
  /** As in OpenStreetMap. */
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
  /**
   * At most ten results, the best first.
   * @throws {ApiError} as reverse
   */
  forward(question: ForwardQuestion): Promise<Geocoded>
  /** @throws {ApiError} as reverse */
  autocomplete(question: AutocompleteQuestion): Promise<Geocoded>
  /**
   * The nearest first; those at the same distance in the order of their `_id`.
   * @throws {ApiError} as reverse
   */
  places(question: PlacesQuestion): Promise<PlacesFound>
  /**
   * The airport with an IATA code, or nothing.
   * @param iataCode three letters, in capitals
   * @throws {ApiError} as reverse
   */
  airport(iataCode: string): Promise<PlacesFound>
  /** @throws {ApiError} as reverse */
  validate(
    question: ValidationQuestion,
  ): Promise<{ readonly validation: Validation; readonly attribution: string }>
}
