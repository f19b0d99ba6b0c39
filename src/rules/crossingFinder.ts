import type { CrossedGeofence } from './crossing.ts'
import { Probe } from '../geometry/probe.ts'
import { touch, Way } from '../geometry/way.ts'
import type { Waypoint } from '../model/event.ts'
import type { GeofenceIndex } from '../spatial/port.ts'

/**
 * Positions that are farther apart than this are treated as a jump. An airliner needs five minutes for a quarter of
 * it.
 */
const MAX_WAY_METERS = 250_000
/** The path is queried piece by piece, because most of a circle around a long path is nowhere near the path. */
const PIECES = 64
const MIN_PIECE_METERS = 1000

/** Finds the geofences between two updates. One finder is reused for all updates of a partition. */
export class CrossingFinder {
  readonly #probe = new Probe()
  readonly #found: number[] = []

  /**
   * The geofences that the path touches and that contain neither of its ends, in no particular order.
   * @param isVisited tells which slots to skip
   */
  find(
    index: GeofenceIndex,
    from: Waypoint,
    to: Waypoint,
    isVisited: (slot: number) => boolean,
  ): readonly CrossedGeofence[] {
    const way = new Way(from, to)
    if (way.lengthMeters === 0 || way.lengthMeters > MAX_WAY_METERS) return []
    const crossed: CrossedGeofence[] = []
    for (const slot of this.#candidates(index, way)) {
      if (isVisited(slot)) continue
      const distanceAt = (share: number) => index.distance(slot, this.#at(way, share))
      if (distanceAt(0) <= 0 || distanceAt(1) <= 0) continue
      const touched = touch(way.lengthMeters, distanceAt)
      if (touched === undefined) continue
      const waypoint = (share: number): Waypoint => ({
        time: Math.round(from.time + share * (to.time - from.time)),
        latitude: way.latitude(share),
        longitude: way.longitude(share),
      })
      crossed.push({
        geofence: index.geofence(slot),
        entered: waypoint(touched.first),
        exited: waypoint(touched.last),
      })
    }
    return crossed
  }

  /** A superset of the geofences that the path touches, each slot once. */
  #candidates(index: GeofenceIndex, way: Way): Set<number> {
    const found = this.#found
    const pieces = Math.min(PIECES, Math.ceil(way.lengthMeters / MIN_PIECE_METERS))
    // It is a metre more than half a piece, because the middle of a piece in degrees is only roughly its middle in
    // metres.
    const reach = (way.lengthMeters / pieces / 2) * 1.01 + 1
    found.length = 0
    for (let i = 0; i < pieces; i++) index.candidates(this.#at(way, (i + 0.5) / pieces), reach, found)
    return new Set(found)
  }

  #at(way: Way, share: number): Probe {
    return this.#probe.set(way.latitude(share), way.longitude(share))
  }
}
