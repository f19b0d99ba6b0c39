import type { Position } from '../../model/geofence.ts'

/** `[west, south, east, north]` in degrees, as in GeoJSON. */
export type BoundingBox = readonly [west: number, south: number, east: number, north: number]

/** A map region in service: one build of one extract. Another build of it is another object with another id. */
export interface MapRegion {
  /** The folder of the build, and of this build alone, so it may be part of a cache's key. */
  readonly id: string
  /** Its name for the operator, e.g. `montevideo`. */
  readonly name: string
  /** The bounds of the extract's own nodes. */
  readonly bounds: BoundingBox
  /** The credit for the data, e.g. `© OpenStreetMap contributors`. */
  readonly attribution: string
  /** Absolute path of the folder of Valhalla's routing tiles; undefined for a region that has only addresses. */
  readonly tiles: string | undefined
  /** Absolute path of the place database; undefined for a build of an earlier version. */
  readonly places: string | undefined
  /** Absolute path of the map file; undefined for a build of an earlier version, and for one of addresses. */
  readonly map: string | undefined
}

/** A map region with roads. */
export interface RoutedMapRegion extends MapRegion {
  readonly tiles: string
}

/** A point of a request. */
export interface PlacedPoint {
  readonly position: Position
  /** The request parameter that it came in, e.g. `origin`. */
  readonly param: string
}

/** The map regions on this process's disk, in their present state. */
export interface MapRegions {
  /** In the order of precedence where they overlap. */
  readonly all: readonly MapRegion[]
  /** The map regions with roads, in the same order. */
  readonly routed: readonly RoutedMapRegion[]
  /**
   * The map region with roads that contains the point; of several, the first with about as many nodes there as the
   * fullest.
   */
  at(position: Position): RoutedMapRegion | undefined
  /**
   * The map region with roads that contains all points.
   * @throws {ApiError} 503 while there is no map region, 404 naming the parameter of the first point outside all of
   * them and their bounds, 404 if no single one contains all of them
   */
  containing(points: readonly PlacedPoint[]): RoutedMapRegion
  /**
   * Called after each change of {@link all}. A build that is no longer in it keeps its files for a minute more.
   * @returns a function that ends it
   */
  onChange(listener: () => void): () => void
}
