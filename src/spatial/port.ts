import type { Beacon, RangedBeacon } from '../model/beacon.ts'
import type { Geofence, GeofenceProperties, Outline, Shape } from '../model/geofence.ts'
import type { Probe } from '../geometry/probe.ts'
import type { Box } from './cellGrid.ts'
import type { ShapeOffsets } from '../geometry/shapeArena.ts'
import type { ShapeBatch } from '../geometry/shapeBatch.ts'

/** Something with a shape, without the shape itself. */
export interface Named {
  readonly id: string
}

/** The result of a nearest search. */
export interface Nearest<T> {
  /** The items, nearest first. */
  readonly found: readonly { readonly geofence: T; readonly slot: number; readonly distance: number }[]
  /** The radius that was searched in metres. `found` has the nearest items within it. */
  readonly radiusMeters: number
}

/**
 * Shapes by position, and the items that have them. Candidates are a superset of the exact answer (G6); exact
 * geometry decides.
 *
 * A slot belongs to an id for as long as the item exists, including through its edits.
 */
export interface ShapeIndex<T extends Named> {
  /** How many items it has. */
  readonly size: number
  /** Makes room for this many items, which are put next. */
  expect(count: number): void
  /** Adds the item or replaces the one with the same id. Returns its slot. */
  put(geofence: T & { readonly shape: Shape }): number
  /** Removes an item. Unknown ids are ignored. */
  remove(id: string): void
  /**
   * Appends to `out` the slot of every geofence whose boundary or inside lies within `reachMeters` of the probe's
   * point (and possibly others), each once.
   * @returns clearance in metres, ≥ 0: for every point within that distance of the probe's point, the geofences
   * within `reachMeters` of that point are among those appended.
   */
  candidates(probe: Probe, reachMeters: number, out: number[]): number
  /**
   * Appends to `out` the slot of every geofence that meets the box (and possibly others), each once.
   * @param box degrees; west may be below −180, and east above 180
   */
  meeting(box: Readonly<Box>, out: number[]): void
  /** Sets `out` to a box that contains the geofence and is at most some metres wider; east may be above 180. */
  bounds(slot: number, out: Box): void
  /** The number after the highest slot that was ever used. */
  readonly end: number
  /** Whether an item is in the slot. */
  has(slot: number): boolean
  /** The slot of an item by id; −1 if there is none. */
  slotOf(id: string): number
  /** The item in a slot, without its shape. Objects are replaced, never changed. */
  geofence(slot: number): T
  /** Like the call above, for callers that look at each item once: it does not count as being used. */
  glimpse(slot: number): T
  /** A copy of its shape, as it was put. */
  shape(slot: number): Shape
  /**
   * Writes the corners of a polygon to the beginning of `out`: longitude and latitude by turns, in either direction,
   * and not closed. At a small part of the cost of {@link shape}.
   * @returns how many corners; 0 for a circle
   */
  readCorners(slot: number, out: number[]): number
  /** The centre and extent of its shape, which are cheaper than {@link shape}. */
  outline(slot: number): Outline
  /** Signed distance in metres from the probe's point to the boundary, negative inside. */
  distance(slot: number, probe: Probe): number
  /**
   * A distance in metres that is never more than {@link distance} returns, at a small part of its cost. It is at most
   * 0 if the point may be inside.
   */
  distanceAtLeast(slot: number, probe: Probe): number
  /** The share of the disc (probe's point, radius `accuracyMeters` > 0) that the geofence covers, from 0 to 1. */
  coverage(slot: number, probe: Probe, accuracyMeters: number): number
  /** The number of corners of its polygon, with which the cost of the two above rises; 0 for a circle. */
  corners(slot: number): number
  /** Where the shapes of these slots lie, for other threads. */
  offsets(slots: readonly number[]): ShapeOffsets
  /**
   * The geofences nearest to the probe's point that `accept` approves, by distance to the boundary (0 inside), nearest
   * first. Those at the same distance are in the order of ids. Without a radius, the search is unlimited.
   * @param mostLookedAt ends the search once that many geofences have been examined. It then returns the nearest of
   * those, which may be fewer than `limit`. Without it, the search may examine every geofence if `accept` rejects them
   * all.
   */
  nearest(
    probe: Probe,
    limit: number,
    radiusMeters: number | undefined,
    accept: (geofence: T) => boolean,
    mostLookedAt?: number,
  ): Nearest<T>
  /**
   * Does the same as {@link nearest}, in steps of a few geofences. Between steps, geofences may be edited, and are
   * found as they were or as they are.
   */
  nearestSteps(
    probe: Probe,
    limit: number,
    radiusMeters: number | undefined,
    accept: (geofence: T) => boolean,
    mostLookedAt?: number,
  ): Generator<void, Nearest<T>>
}

/**
 * The geofences of one scope. The index has every geofence of the registry, including disabled ones, because it does
 * not decide about eligibility.
 *
 * It also stores them, packed as bytes while they are not in use. Lists are filtered by reading the bytes.
 */
export interface GeofenceIndex extends ShapeIndex<GeofenceProperties> {
  put(geofence: Geofence): number
  /**
   * Whether the geofence is active (`isActive`) and open to every user at every address. This is known without
   * unpacking it.
   */
  isUnrestricted(slot: number): boolean
  /**
   * Whether it is unrestricted, and its stays end and dwell by the settings alone, because it has no date, hours or
   * dwell threshold of its own.
   */
  isPlain(slot: number): boolean
  /** How many bytes must be unpacked for the item in a slot that is in use; 0 if it is kept unpacked. */
  unreadBytes(slot: number): number
  /** In epoch milliseconds. */
  createdAt(slot: number): number
  /** Epoch milliseconds. */
  updatedAt(slot: number): number
  hasTag(slot: number, tag: string): boolean
  hasExternalId(slot: number, externalId: string): boolean
}

/** Measures shapes on other threads. */
export interface Measurer {
  /**
   * Measures like `measureShapes` of shapeBatch.ts. Returns undefined if that is not possible now. It never rejects.
   */
  measure(batch: ShapeBatch): Promise<Float64Array | undefined>
}

/** The beacons of one scope. */
export interface BeaconDirectory {
  readonly size: number
  /** The beacon with that `_id`, even if it is disabled. */
  beacon(id: string): Beacon | undefined
  /** The enabled beacons with that type and those identifiers, ignoring case. */
  inRange(ranged: RangedBeacon): readonly Beacon[]
  /**
   * The enabled beacons within the radius of a point that `accept` approves, nearest first, with their distance in
   * metres.
   */
  near(
    latitude: number,
    longitude: number,
    radiusMeters: number,
    limit: number,
    accept?: (beacon: Beacon) => boolean,
  ): readonly { readonly beacon: Beacon; readonly distance: number }[]
}
