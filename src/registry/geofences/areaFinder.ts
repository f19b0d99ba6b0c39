import type { Position } from '../../model/geofence.ts'

/** Finds the areas of geofences that are written with an address or the `_id` of a place. */
export interface AreaFinder {
  /**
   * The position of an address or of the name of a place. It is the best result that is exact or between known house
   * numbers; undefined if there is none.
   * @throws {ApiError} 503 if it cannot be looked up, with `retryAfter` if another attempt may succeed
   */
  positionOf(address: string): Promise<Position | undefined>
  /**
   * The place with this `_id`; undefined if no map region and no list of the world has it.
   * @throws {ApiError} as {@link positionOf}
   */
  placeArea(id: string): Promise<PlaceArea | undefined>
}

/** The area that a place gives to a geofence. */
export interface PlaceArea {
  /** The position in its middle. */
  readonly position: Position
  /** The radius around the middle in metres, for a place of which only the point is known. */
  readonly radius: number
  /** A closed ring that is valid for a geofence; absent if only the point is known. */
  readonly ring?: readonly Position[]
}
