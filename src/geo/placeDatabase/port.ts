/** What the geo services ask the place database of a map region. */
import type { Position } from '../../model/geofence.ts'
import type { Chain } from '../../model/place.ts'
import type { NumberRange } from '../records/numberRanges.ts'
import type { AreaKind, PlaceDetails, PropertyType, StreetImportance } from '../records/records.ts'
import type { PlaceFootprints } from './placeFootprints.ts'
import type { SearchIndex } from './searchIndex.ts'
import type { TraitIndex } from './traitIndex.ts'

/**
 * A record and its distance from the point that was asked about. Inside of the record the distance is 0, unless stated
 * otherwise.
 */
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
  /** A position in the middle of it. */
  readonly position: Position
  /** The smallest and the largest value of its house numbers and ranges; null if it has none. */
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
  /** Closed rings of all its pieces and the holes in them; empty if only its point is known. */
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

/** An address with its postal code. Its position is in degrees. */
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
  /** The addresses in a box that have a postal code, ordered by their number. */
  points(box: Box): CodedPoint[]
  /** The number ranges whose boxes meet a box. */
  lines(box: Box): CodedLine[]
}

/** The records of a map region. Distances are in metres. A record that is further away than asked for is not found. */
export interface PlaceRecords {
  /**
   * The nearest address. If several are at the same distance, it is the one with the lowest number.
   * @param known the parts that it must have
   */
  nearestAddress(
    point: Position,
    maxMeters: number,
    known?: { readonly city?: true; readonly postalCode?: true },
  ): Near<StoredAddress> | undefined
  /** The nearest number range. If both sides of a street are one line, both ranges are returned. */
  nearestRanges(point: Position, maxMeters: number): Near<StoredRange>[]
  nearestStreet(point: Position, maxMeters: number): Near<StoredWay> | undefined
  nearestIntersection(point: Position, maxMeters: number): Near<StoredIntersection> | undefined
  /** The smallest place that contains the point, or else the nearest one. */
  nearestPlace(point: Position, maxMeters: number): Near<StoredPlace> | undefined
  /**
   * The places whose area is within a distance, in no order. The area of a place of which only the point is known is a
   * circle (see radiusOf). `meters` is the distance from the edge, negative inside.
   */
  placesAround(point: Position, maxMeters: number): Near<ShapedPlace>[]
  /** Finds places by their footprint. */
  readonly footprints: PlaceFootprints
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
  /**
   * The place with a key.
   * @param key the public `_id`
   */
  placeByKey(key: string): ShapedPlace | undefined
  areaById(id: number): StoredArea
  /**
   * The houses of a street by the value of their number; see numberValue.
   * @param range the smallest and the largest value, both included
   * @param order the order in which they are returned, and the value from which they start
   */
  housesOf(
    streetId: number,
    range: readonly [number, number],
    limit: number,
    order?: 'ascending' | 'descending',
  ): StoredAddress[]
  /** The number ranges of a street that have a number of this value. */
  rangesOf(streetId: number, value: number): StoredRange[]
  /**
   * The intersections with a key.
   * @param key of both names, see crossingKey
   */
  intersectionsOf(key: string, limit: number): StoredIntersection[]
}

/** The result of checking a place database. fileHeader.ts implements the check. */
export interface FileState {
  /** A text that differs whenever the file is replaced or written. It is empty if there is no file. */
  readonly stamp: string
  /**
   * Why the file cannot be read, for everybody, so it does not contain the path. Undefined if the file looks sound.
   */
  readonly problem: string | undefined
}
