import type { Position, TravelMode } from '../../model/geofence.ts'

/** Where the areas of isochrones come from: the road networks of this server. */
export interface AreaSource {
  /** Names the network that has a place: `''` where none has, undefined while there is none at all. */
  networkAt(place: Position): string | undefined
  /**
   * From where the place is reached within so many minutes, on the network that has it: a closed ring that is one of a
   * geofence.
   * @throws {AreaRefused} where that network has no answer; {@link AreaTimedOut}; anything else is tried again
   */
  areaAround(place: Position, minutes: number, mode: TravelMode): Promise<readonly Position[]>
  /** Told when {@link networkAt} may answer otherwise. Returns what ends it. */
  onChange(listener: () => void): () => void
}

/** The network has no area for that place; the message says why. */
export class AreaRefused extends Error {
  override readonly name = 'AreaRefused'
}

/** The area took too long: for this once, or always. */
export class AreaTimedOut extends Error {
  override readonly name = 'AreaTimedOut'
}
