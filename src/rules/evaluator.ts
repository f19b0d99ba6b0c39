import type { Transition } from '../model/event.ts'
import type { GeofenceProperties } from '../model/geofence.ts'
import type { Metadata } from '../model/metadata.ts'
import type { ShownPlace } from '../model/place.ts'
import type { Region, RegionKind } from '../model/region.ts'
import type { Settings } from '../model/settings.ts'
import type { Update } from '../model/update.ts'
import type { Unfetched } from './atlas.ts'
import type { Circumstances } from './circumstances.ts'
import type { Barred } from './countries.ts'
import type { DeviceState } from './deviceState.ts'
import type { Measured } from './measured.ts'
import type { DeviceRows, ScopeView } from './port.ts'
import type { ZoneKind, ZoneLimits, ZonesLeft } from './safeZone.ts'
import type { Unready } from './unready.ts'

/** One update, as every evaluator sees it. */
export interface Situation {
  readonly update: Update
  readonly view: ScopeView
  readonly now: Circumstances
  /** The metadata of the user after the update. */
  readonly metadata?: Metadata | undefined
  /** What is kept of the device besides its state, in its {@link row}. It is absent for new and anonymous devices. */
  readonly rows?: DeviceRows | undefined
  readonly row?: number
  /**
   * Distances that another thread has measured. With `elsewhere`, nothing is measured yet, but {@link Unmeasured} may
   * be returned if there is much to measure.
   */
  readonly measuring?: Measured | 'elsewhere' | undefined
  /** With `before`, {@link Unread} may be returned if there are many geofences to unpack. */
  readonly reading?: 'before' | undefined
  /** Whether {@link Crowded} may be returned, because the update has not waited behind those of others yet. */
  readonly mayWait?: boolean
  /** What is left of the zones of the last evaluation; absent if nothing is. */
  readonly left?: ZonesLeft | undefined
}

/** How an update changes an evaluator's part of the state. */
export interface Step {
  /** The changed fields of its part; absent if nothing has changed. */
  readonly state?: Partial<DeviceState>
  /** The transitions in the order of their events. */
  readonly transitions: readonly Transition[]
}

/** A location that is not tied to a device and leaves no trace, for `GET /v1/context`. */
export interface Spot {
  readonly view: ScopeView
  readonly latitude: number
  readonly longitude: number
  readonly userId: string | undefined
  /** In epoch milliseconds. */
  readonly receivedAt: number
}

/** What lies around a {@link Spot}. */
export interface Context {
  /** The geofences in the order of their `_id`. */
  readonly geofences: readonly GeofenceProperties[]
  /** The regions, the country first; absent if they are not known at the moment. */
  readonly regions?: readonly Region[]
  /** The most likely place. */
  readonly place?: ShownPlace
  /** Whether regions or places cannot be read. */
  readonly isBroken?: boolean
}

/** Why an update did or did not cause events, for `GET /v1/users/:id/explain`. */
export interface Explanation {
  /** Why the update touched no geofence at all; absent if it did. */
  readonly note?: string
  /** The candidates, nearest first. There may be thousands, so each is described only when it is read. */
  readonly candidates: Iterable<Candidate>
  /** One for each kind; absent if regions are off. */
  readonly regions?: readonly RegionExplanation[]
  /** Why nothing is said about regions. */
  readonly regionsNote?: string
  /** Absent if places are off. */
  readonly place?: PlaceExplanation
  /** Why nothing is said about places. */
  readonly placesNote?: string
}

/** How an update changed the place of the user, and why. */
export interface PlaceExplanation {
  /** The place before the update; absent if there was none. */
  readonly was: { readonly _id: string; readonly name: string } | undefined
  /** The distance from its edge in metres, if it is near. */
  readonly distance: number | undefined
  /** The confidence of the first candidate. */
  readonly confidence: number | undefined
  /** The time since which it is the first, in ISO 8601; absent if the user is in it. */
  readonly firstSince: string | undefined
  /** How many metres the second candidate is farther away than the first. */
  readonly runnerUpMeters: number | undefined
  /** The types of the events. */
  readonly events: readonly string[]
  readonly reason: string
  /** The candidates, the most likely first. */
  readonly candidates: readonly PlaceCandidate[]
}

/** A place in the explanation. */
export interface PlaceCandidate {
  readonly place: {
    readonly _id: string
    readonly name: string
    readonly categories: readonly string[]
    readonly chain: string | undefined
  }
  /** The distance from its edge in metres, negative inside. */
  readonly distance: number
  /** The distance from its point in metres. */
  readonly pointDistance: number
}

/** How an update changed the region of one kind, and why. */
export interface RegionExplanation {
  readonly type: RegionKind
  /** The code of the region before the update; absent if there was none. */
  readonly was: string | undefined
  /** The code of the region in which the location lies. */
  readonly is: string | undefined
  readonly confidence: number
  readonly outcome: string
  readonly reason: string
}

/** A geofence in the explanation. users/explanationSchema.ts describes its fields. */
export interface Candidate {
  readonly geofence: { readonly _id: string }
  readonly wasInside: boolean
  readonly distance: number | undefined
  readonly outcome: string
  readonly reason: string
  readonly [detail: string]: unknown
}

/**
 * Decides one kind of meaning of an update, such as being in geofences or near beacons. An evaluator owns a part of
 * the device's state and makes the transitions of that part. evaluators.ts lists all evaluators and runs them.
 *
 * @typeParam Facts what it needs to know about the world for one update
 */
export interface Evaluator<Facts = unknown> {
  /** The position of its events within an update, lowest first (docs/spec.md, "Order of events"). */
  readonly rank: number
  /** Which of the device's zones its limits belong to. Within what is left of that zone, it is not run. */
  readonly zone: ZoneKind
  /**
   * How many geofences the last {@link facts} compared the device with. The host uses it to estimate what an update
   * costs.
   */
  readonly meetings?: number
  /**
   * Whether the settings turn it off. Then it is only run for devices that may have a state of it, from when it was on.
   * If absent, it is always on.
   */
  isOff?(settings: Settings): boolean
  /**
   * Collects what the step needs to know about the world. It queries the index and measures, and changes nothing.
   * @returns undefined if the update does not concern this evaluator, which then costs nothing more; {@link Unready}:
   * an `Unmeasured` or `Unread` if measuring or unpacking takes long and the situation asks for it to be done first, an
   * `Unfetched` if the atlas must fetch something first
   */
  facts(before: DeviceState, situation: Situation): Facts | Unready | undefined
  /** Returns its new part of the state. It is pure: the same arguments give the same result. */
  step(before: DeviceState, facts: Facts, situation: Situation): Step
  /** How far and how long the device may move before anything can change for this evaluator. */
  limits(before: DeviceState, facts: Facts, step: Step, situation: Situation): ZoneLimits
  /**
   * Called once the update is applied. It stores in the device's row what can save the next {@link facts} work.
   * @param after the new state
   */
  remember?(rows: DeviceRows, row: number, after: DeviceState): void
  /**
   * Says why the update did or did not cause events.
   * @param before the state before that update
   */
  explain?(before: DeviceState, situation: Situation): Partial<Explanation> | Unfetched
  context?(spot: Spot): Partial<Context> | Unfetched | Barred
}
