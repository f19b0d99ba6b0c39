import type { Position } from '../../model/geofence.ts'

/** `[west, south, east, north]` in degrees, as in GeoJSON. */
export type BoundingBox = readonly [west: number, south: number, east: number, north: number]

/**
 * A map region in service: one build of one extract. After another build of it, it is another object with another id.
 */
export interface MapRegion {
  /** The folder of the build. No other build has the same one, so it may be part of a cache's key. */
  readonly id: string
  /** Its name for the operator, e.g. `montevideo`. */
  readonly name: string
  /** The bounds of the extract's nodes. */
  readonly bounds: BoundingBox
  /** The credit for the data, e.g. `© OpenStreetMap contributors`. */
  readonly attribution: string
  /** The absolute path of the folder with Valhalla's routing tiles; undefined for a region that has only addresses. */
  readonly tiles: string | undefined
  /** The absolute path of the place database; undefined for a build of an earlier version. */
  readonly places: string | undefined
  /** The absolute path of the map file; undefined for a build of an earlier version, and for one of addresses. */
  readonly map: string | undefined
}

/** A map region with roads. */
export interface RoutedMapRegion extends MapRegion {
  readonly tiles: string
}

/** A point of a request. */
export interface PlacedPoint {
  readonly position: Position
  /** The request parameter that contains the point, e.g. `origin`. */
  readonly param: string
}

/** The map regions on this process's disk, in their present state. */
export interface MapRegions {
  /** All map regions. Their order says which one has precedence where they overlap. */
  readonly all: readonly MapRegion[]
  /** The map regions with roads, in the same order. */
  readonly routed: readonly RoutedMapRegion[]
  /**
   * The map region with roads that contains the point. If there are several, it is the first one that has about as
   * many nodes there as the fullest.
   */
  at(position: Position): RoutedMapRegion | undefined
  /**
   * The map region with roads that contains all points.
   * @throws {ApiError} 503 while there is no map region; 404 naming the parameter of the first point that is outside
   * all of them and their bounds; 404 if no single one contains all points
   */
  containing(points: readonly PlacedPoint[]): RoutedMapRegion
  /**
   * Calls the listener after each change of {@link all}. A build that is no longer in it keeps its files for one more
   * minute.
   * @returns a function that removes the listener
   */
  onChange(listener: () => void): () => void
}
