import type { Geofence, Shape } from '../model/geofence.ts'
import type { Probe } from '../geometry/probe.ts'

/** Whatever has a shape. */
export interface Shaped {
  readonly id: string
  readonly shape: Shape
}

/** What a search for the nearest found. */
export interface Nearest<T> {
  /** Nearest first. */
  readonly found: readonly { readonly geofence: T; readonly distance: number }[]
  /** How far was searched, metres: of what lies within, the nearest are all there. */
  readonly radiusMeters: number
}

/**
 * Geofences of one scope (or other shapes) by place. Candidates are a superset of the exact answer (G6); geometry alone decides.
 * The index holds every geofence of the registry, disabled ones too: eligibility is not its business.
 */
export interface GeofenceIndex<T extends Shaped = Geofence> {
  /** How many geofences it holds. */
  readonly size: number
  /** Adds the geofence or replaces the one with the same id. */
  put(geofence: T): void
  /** Removes it; unknown ids are ignored. */
  remove(id: string): void
  /**
   * Appends to `out` the slot of every geofence whose boundary or inside lies within `reachMeters` of the probe's
   * point (and possibly others), each once.
   * @returns clearance in metres, ≥ 0: for every point within that distance of the probe's point, the geofences
   * within `reachMeters` of that point are among those appended.
   */
  candidates(probe: Probe, reachMeters: number, out: number[]): number
  /** The slot of a geofence by id; −1 when it is not there. Slots stay valid until the next put or remove. */
  slotOf(id: string): number
  /** The geofence in a slot. */
  geofence(slot: number): T
  /** Signed distance in metres from the probe's point to the boundary, negative inside. */
  distance(slot: number, probe: Probe): number
  /** Metres, never more than {@link distance} answers, at a small part of its cost; ≤ 0 where the point may be inside. */
  distanceAtLeast(slot: number, probe: Probe): number
  /** Share of the disc (probe's point, radius `accuracyMeters` > 0) that the geofence covers, 0 to 1. */
  coverage(slot: number, probe: Probe, accuracyMeters: number): number
  /**
   * The geofences nearest to the probe's point that `accept` takes, by distance to the boundary (0 inside), nearest
   * first; ties by id. Absent radius: unbounded.
   * @param mostLookedAt ends the search once that many have been looked at: then it answers the nearest of them, as far
   * as it has got, and these may be fewer than `limit`. Without it a crowd that `accept` takes none of is looked at whole.
   */
  nearest(
    probe: Probe,
    limit: number,
    radiusMeters: number | undefined,
    accept: (geofence: T) => boolean,
    mostLookedAt?: number,
  ): Nearest<T>
}
