import type { Position, TravelMode } from '../../model/geofence.ts'

/** The source of isochrones' areas: the road networks of this server. */
export interface AreaSource {
  /**
   * The name of the network that contains a position: `''` if none does, undefined while there is no network at all.
   */
  networkAt(place: Position): string | undefined
  /**
   * The area from which the position can be reached within this many minutes, on the network that contains it: a closed
   * ring that is valid for a geofence.
   * @throws {AreaRefused} if that network has no answer; {@link AreaTimedOut}; any other error is tried again
   */
  areaAround(place: Position, minutes: number, mode: TravelMode): Promise<readonly Position[]>
  /**
   * Registers a listener that is called when {@link networkAt} may have changed. Returns a function that removes it.
   */
  onChange(listener: () => void): () => void
}

/** The network has no area for that position; the message says why. */
export class AreaRefused extends Error {
  override readonly name = 'AreaRefused'
}

/** Computing the area took too long, this time or always. */
export class AreaTimedOut extends Error {
  override readonly name = 'AreaTimedOut'
}
