import type { Position } from '../../model/geofence.ts'

/** `[west, south, east, north]` in degrees, as GeoJSON has them. */
export type BoundingBox = readonly [west: number, south: number, east: number, north: number]

/** A region as a running server serves it: one build of one extract. Another build of it is another object with another id. */
export interface MapRegion {
  /** The folder of the build: of this build alone, so it may be part of a cache's key. */
  readonly id: string
  /** What the operator calls it, e.g. `montevideo`. */
  readonly name: string
  /** Of the extract's own nodes. */
  readonly bounds: BoundingBox
  /** Whom to credit for the data, e.g. `© OpenStreetMap contributors`. */
  readonly attribution: string
  /** Absolute path of the folder of Valhalla's routing tiles. */
  readonly tiles: string
}

/** A point of a request. */
export interface PlacedPoint {
  readonly position: Position
  /** The parameter that it came in, e.g. `origin`. */
  readonly param: string
}

/** The regions that this process has on its disk, as they are at the moment. */
export interface MapRegions {
  /** In the order of precedence where they overlap. */
  readonly all: readonly MapRegion[]
  /** The region that contains the point; of several the first that has about as much there as any. */
  at(position: Position): MapRegion | undefined
  /**
   * The region that contains all points.
   * @throws {ApiError} 503 while there is no region yet, 404 that names the parameter of the first point outside of all regions
   *   and their bounds, 404 where no one region contains all of them
   */
  containing(points: readonly PlacedPoint[]): MapRegion
  /**
   * Told after each change of {@link all}. A build that is no longer in it keeps its files for a minute more.
   * @returns what ends it
   */
  onChange(listener: () => void): () => void
}
