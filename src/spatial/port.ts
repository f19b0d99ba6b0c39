import type { Beacon, RangedBeacon } from '../model/beacon.ts'
import type { Geofence, GeofenceProperties, Outline, Shape } from '../model/geofence.ts'
import type { Probe } from '../geometry/probe.ts'
import type { ShapePlaces } from '../geometry/shapeArena.ts'
import type { ShapeBatch } from '../geometry/shapeBatch.ts'

/** What has a shape, but for the shape. */
export interface Named {
  readonly id: string
}

/** What a search for the nearest found. */
export interface Nearest<T> {
  /** Nearest first. */
  readonly found: readonly { readonly geofence: T; readonly slot: number; readonly distance: number }[]
  /** How far was searched, metres: of what lies within, the nearest are all there. */
  readonly radiusMeters: number
}

/**
 * Shapes by place, and what has them. Candidates are a superset of the exact answer (G6); geometry alone decides.
 *
 * A slot names what has one id as long as that is there, through its edits.
 */
export interface ShapeIndex<T extends Named> {
  /** How many geofences it holds. */
  readonly size: number
  /** Makes room for so many, which are put next. */
  expect(count: number): void
  /** Adds the geofence or replaces the one with the same id. Returns its slot. */
  put(geofence: T & { readonly shape: Shape }): number
  /** Removes it; unknown ids are ignored. */
  remove(id: string): void
  /**
   * Appends to `out` the slot of every geofence whose boundary or inside lies within `reachMeters` of the probe's
   * point (and possibly others), each once.
   * @returns clearance in metres, ≥ 0: for every point within that distance of the probe's point, the geofences
   * within `reachMeters` of that point are among those appended.
   */
  candidates(probe: Probe, reachMeters: number, out: number[]): number
  /** The slot of a geofence by id; −1 when it is not there. */
  slotOf(id: string): number
  /** The geofence in a slot, but for its shape. The objects are replaced, never changed. */
  geofence(slot: number): T
  /** Its shape as it was put, made for the caller. */
  shape(slot: number): Shape
  /** Where its shape is, in short: what {@link shape} is too much for. */
  outline(slot: number): Outline
  /** Signed distance in metres from the probe's point to the boundary, negative inside. */
  distance(slot: number, probe: Probe): number
  /** Metres, never more than {@link distance} answers, at a small part of its cost; ≤ 0 where the point may be inside. */
  distanceAtLeast(slot: number, probe: Probe): number
  /** Share of the disc (probe's point, radius `accuracyMeters` > 0) that the geofence covers, 0 to 1. */
  coverage(slot: number, probe: Probe, accuracyMeters: number): number
  /** Corners of its polygon, which the cost of the two above rises with; 0: a circle. */
  corners(slot: number): number
  /** Where the shapes of these slots lie, for other threads. */
  places(slots: readonly number[]): ShapePlaces
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
  /** As {@link nearest}, some geofences a step; between steps they may be edited, and are found as they were or are. */
  nearestSteps(
    probe: Probe,
    limit: number,
    radiusMeters: number | undefined,
    accept: (geofence: T) => boolean,
    mostLookedAt?: number,
  ): Generator<void, Nearest<T>>
}

/**
 * The geofences of one scope. The index holds every geofence of the registry, disabled ones too: eligibility is not its
 * business.
 *
 * It is also where they are kept: as bytes while nobody asks for them. What lists are filtered by is read of the bytes.
 */
export interface GeofenceIndex extends ShapeIndex<GeofenceProperties> {
  put(geofence: Geofence): number
  /** Whether the geofence is active (`isActive`) and meant for every user at every address, told without unpacking it. */
  isUnrestricted(slot: number): boolean
  /** Whether it is that, and a stay there ends, and dwells, by the settings alone: it has no date, hours or dwell of its own. */
  isPlain(slot: number): boolean
  /** Epoch milliseconds. */
  createdAt(slot: number): number
  /** Epoch milliseconds. */
  updatedAt(slot: number): number
  hasTag(slot: number, tag: string): boolean
  hasExternalId(slot: number, externalId: string): boolean
}

/** Who measures shapes beside the main thread. */
export interface Measurer {
  /** As `measureShapes` of shapeBatch.ts; undefined where it cannot be done there now. Never rejects. */
  measure(batch: ShapeBatch): Promise<Float64Array | undefined>
}

/** The beacons of one scope. */
export interface BeaconDirectory {
  readonly size: number
  /** By `_id`, disabled ones too. */
  beacon(id: string): Beacon | undefined
  /** The enabled beacons with that type and those identifiers, whatever their case. */
  inRange(ranged: RangedBeacon): readonly Beacon[]
  /** The enabled beacons within the radius of a point that `accept` takes, nearest first, with their distance in metres. */
  near(
    latitude: number,
    longitude: number,
    radiusMeters: number,
    limit: number,
    accept?: (beacon: Beacon) => boolean,
  ): readonly { readonly beacon: Beacon; readonly distance: number }[]
}
