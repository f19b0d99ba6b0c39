/** What the geo services ask the place database of a map region. */
import type { Position } from '../../model/geofence.ts'
import type { Chain } from '../../model/place.ts'
import type { NumberRange } from '../records/numberRanges.ts'
import type { AreaKind, PlaceDetails, PropertyType, StreetImportance } from '../records/records.ts'
import type { PlaceGrounds } from './placeGrounds.ts'
import type { SearchIndex } from './searchIndex.ts'
import type { TraitIndex } from './traitIndex.ts'

/** A record and how far it is from the point that was asked about: 0 inside of it, unless it says otherwise. */
export interface Near<RecordType> {
  readonly record: RecordType
  readonly meters: number
}

export interface StoredAddress {
  readonly number: string
  readonly street: string
  readonly unit: string | null
  readonly city: string | null
  readonly state: string | null
  readonly postalCode: string | null
  readonly property: PropertyType | null
  readonly position: Position
}

export interface StoredRange extends NumberRange {
  readonly street: string
  readonly city: string | null
  readonly state: string | null
  readonly postalCode: string | null
}

/** The point of a way that is nearest to a point. */
export interface StoredWay {
  readonly name: string
  readonly position: Position
}

export interface StoredStreet {
  readonly id: number
  readonly name: string
  readonly importance: StreetImportance
  readonly city: string | null
  readonly postalCode: string | null
  /** In the middle of it. */
  readonly position: Position
  /** The least and the largest value of its house numbers and ranges; null without any. */
  readonly numbers: readonly [low: number, high: number] | null
}

export interface StoredIntersection {
  readonly streets: readonly [string, string]
  readonly position: Position
}

export interface StoredPlace {
  /** The public `_id`. */
  readonly key: string
  readonly name: string
  readonly names: Readonly<Record<string, string>>
  readonly categories: readonly string[]
  readonly details: PlaceDetails
  readonly size: number
  readonly position: Position
  readonly chain: Chain | undefined
}

/** A place with its shape. */
export interface ShapedPlace extends StoredPlace {
  /** Closed, of all its pieces and the holes in them; empty if only its point is known. */
  readonly rings: readonly (readonly Position[])[]
}

export interface StoredArea {
  readonly kind: AreaKind
  readonly name: string
  readonly names: Readonly<Record<string, string>>
  readonly code: string | null
  readonly population: number
  readonly size: number
  readonly position: Position
}

/** An address with its postal code; degrees. */
export interface CodedPoint {
  readonly x: number
  readonly y: number
  readonly code: string
}

/** A number range with its postal code, if it has one. */
export interface CodedLine {
  readonly line: readonly Position[]
  readonly code: string | undefined
}

/** In degrees. */
interface Box {
  readonly west: number
  readonly south: number
  readonly east: number
  readonly north: number
}

/** The postal codes of a map region. */
export interface PostalCodes {
  /** The addresses in a box that have one, by their number. */
  points(box: Box): CodedPoint[]
  /** The number ranges whose boxes meet a box. */
  lines(box: Box): CodedLine[]
}

/** The records of a map region. Distances are in metres; a record further away than asked for is not found. */
export interface PlaceRecords {
  /**
   * The nearest address; of several at the same distance, the one with the lowest number.
   * @param known what it must know
   */
  nearestAddress(
    point: Position,
    maxMeters: number,
    known?: { readonly city?: true; readonly postalCode?: true },
  ): Near<StoredAddress> | undefined
  /** The number range that comes nearest, and both sides of a street if they are one line. */
  nearestRanges(point: Position, maxMeters: number): Near<StoredRange>[]
  nearestStreet(point: Position, maxMeters: number): Near<StoredWay> | undefined
  nearestIntersection(point: Position, maxMeters: number): Near<StoredIntersection> | undefined
  /** The smallest place that contains the point, otherwise the nearest. */
  nearestPlace(point: Position, maxMeters: number): Near<StoredPlace> | undefined
  /**
   * The places whose ground is within a distance: their area, or a circle around their point (see radiusOf). `meters`
   * is the distance from its edge, negative inside. In no order.
   */
  placesAround(point: Position, maxMeters: number): Near<ShapedPlace>[]
  /** Finds places by their ground. */
  readonly grounds: PlaceGrounds
  /** Finds places by chain, category and group. */
  readonly traits: TraitIndex
  /** The areas that contain the point, the smallest first. */
  areasAt(point: Position): StoredArea[]
  /** The nearest area of a kind of which only the centre is known. */
  nearestCentre(point: Position, maxMeters: number, kind: AreaKind): Near<StoredArea> | undefined
  /** Finds streets, places and areas by words. */
  readonly index: SearchIndex
  readonly postalCodes: PostalCodes
  streetById(id: number): StoredStreet
  placeById(id: number): StoredPlace
  /** @param key the public `_id` */
  placeByKey(key: string): ShapedPlace | undefined
  areaById(id: number): StoredArea
  /**
   * Houses of a street by the value of their number, see numberValue.
   * @param range the smallest and the largest value, both included
   * @param order in which they are returned, and the value from which they start
   */
  housesOf(
    streetId: number,
    range: readonly [number, number],
    limit: number,
    order?: 'ascending' | 'descending',
  ): StoredAddress[]
  /** The number ranges of a street that have a number of this value. */
  rangesOf(streetId: number, value: number): StoredRange[]
  /** @param key of both names, see crossingKey */
  intersectionsOf(key: string, limit: number): StoredIntersection[]
}

/** What a look at a place database has found. Technology: fileHeader.ts. */
export interface FileState {
  /** Differs whenever the file is replaced or written; empty if there is none. */
  readonly stamp: string
  /** Readable for everybody, so without its path: why it cannot be read; undefined if it looks sound. */
  readonly problem: string | undefined
}
