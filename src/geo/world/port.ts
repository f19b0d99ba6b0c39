import type { Bounds } from '../../geometry/bounds.ts'
import type { Position } from '../../model/geofence.ts'
import type { SearchHit, SearchIndex } from '../placeDatabase/searchIndex.ts'

/** The credit for names and positions of cities, which their licence requires: CC BY 4.0. */
export const WORLD_ATTRIBUTION = 'GeoNames'

/** The credit for airports, whose licence is ODbL. */
export const AIRPORT_ATTRIBUTION = 'OurAirports'

/** What is known about the whole world besides borders and clocks, whatever map regions are imported. */
export interface World {
  /** The city of a point in a country: the one whose size explains the distance best. */
  cityAt(point: Position, countryCode: string): WorldCity | undefined
  /** The state of a point in the United States. Off the coast, it is the nearest one within 20 km. */
  stateAt(point: Position): { readonly name: string; readonly code: string } | undefined
  /** The county of a point in the United States, with its suffix: `Kings County`. */
  countyAt(point: Position): UsCounty | undefined
  /**
   * The county with a code.
   * @param fips five digits
   */
  countyByFips(fips: string): UsCounty | undefined
  /** The area of a postal code of the United States, or of the first three characters of one of Canada. */
  postalArea(countryCode: string, postalCode: string): PostalArea | undefined
  /** The ZIP with the nearest centre, within 25 km. */
  nearestZip(point: Position): string | undefined
  /** The states or counties of the United States whose boxes meet a box in degrees, with their borders. */
  usAreasIn(kind: 'state' | 'county', box: Bounds): UsArea[]
  /** The postal codes whose centres are in a box in degrees. */
  zipsIn(box: Bounds): { readonly code: string; readonly position: Position }[]
  /** Codes of the states of the United States and the provinces of Canada with a name or code, folded. */
  statesNamed(name: string): ReadonlySet<string> | undefined
  readonly airports: Airports
  readonly marketAreas: MarketAreas
  /** Finds the items by words. */
  readonly index: SearchIndex
  itemOf(hit: SearchHit): WorldItem
}

/** A city, county, state, country or postal code. */
export interface WorldItem {
  readonly kind: 'locality' | 'county' | 'state' | 'country' | 'postalCode'
  /** The name. For a country, it is the alpha-2 code. */
  readonly name: string
  /** The code of a state. */
  readonly code: string | undefined
  readonly countryCode: string
  readonly population: number
  readonly position: Position
  /** The names of the regions that contain it, for a city. */
  readonly region: string | undefined
  readonly district: string | undefined
}

export interface WorldCity {
  readonly name: string
  readonly population: number
  /** The names of the regions that contain it. */
  readonly region: string | undefined
  readonly district: string | undefined
}

/** A state or county of the United States. */
export interface UsArea {
  readonly fips: string
  /** Closed rings. A point is in the area if it is in an odd number of them. */
  readonly rings: readonly (readonly Position[])[]
}

export interface UsCounty {
  readonly fips: string
  readonly name: string
}

export interface PostalArea {
  /** The city that the postal service writes. */
  readonly city: string
  readonly stateCode: string
  readonly state: string
  /** The county's code. It is only known in the United States. */
  readonly countyFips: string | undefined
}

/** How large an airport is, or for what else it serves. */
export type AirportSize = 'large' | 'medium' | 'small' | 'seaplane' | 'heliport'

/** An airport in service that has an IATA code. */
export interface Airport {
  /** Three capital letters. */
  readonly iata: string
  readonly name: string
  readonly size: AirportSize
  /** The alpha-2 code. */
  readonly countryCode: string
  readonly position: Position
}

export interface Airports {
  /**
   * The airport with a code.
   * @param iata in any case
   */
  byCode(iata: string): Airport | undefined
  /**
   * The airport that is a place.
   * @param key the public `_id` of the place
   */
  byKey(key: string): Airport | undefined
  /** The airports within a distance, the nearest first. */
  within(meters: number, point: Position): Airport[]
}

/** A television market (DMA) of the United States. */
export interface MarketArea {
  /** Three digits. */
  readonly code: string
  readonly name: string
}

export interface MarketAreas {
  /**
   * The market of a county.
   * @param fips the code of the county, five digits
   */
  ofCounty(fips: string): MarketArea | undefined
}
