import type { Transition } from '../model/event.ts'
import type { GeofenceProperties } from '../model/geofence.ts'
import type { Update } from '../model/update.ts'
import type { Circumstances } from './circumstances.ts'
import type { DeviceState } from './deviceState.ts'
import type { Measured, Unmeasured } from './measured.ts'
import type { DeviceRows, ScopeView } from './port.ts'
import type { ZoneLimits } from './safeZone.ts'

/** One update, as every evaluator sees it. */
export interface Situation {
  readonly update: Update
  readonly view: ScopeView
  readonly now: Circumstances
  /** What is kept of the device beside its state, in its {@link row}; absent where nothing is: for a new device, an anonymous one. */
  readonly rows?: DeviceRows | undefined
  readonly row?: number
  /** What another thread has measured for it; `elsewhere`: nothing yet, and {@link Unmeasured} is answered where that is much. */
  readonly measuring?: Measured | 'elsewhere' | undefined
}

/** What follows from an update for an evaluator's part of the state. */
export interface Step {
  /** What is new of its part; absent: nothing. */
  readonly state?: Partial<DeviceState>
  /** In the order of their events. */
  readonly transitions: readonly Transition[]
}

/** A location without a user and without a trace, for `GET /v1/context`. */
export interface Spot {
  readonly view: ScopeView
  readonly latitude: number
  readonly longitude: number
  readonly userId: string | undefined
  /** Epoch milliseconds. */
  readonly receivedAt: number
}

/** What lies around a {@link Spot}. */
export interface Context {
  /** By `_id`. */
  readonly geofences: readonly GeofenceProperties[]
}

/** Why an update made, or did not make, events: for `GET /v1/users/:id/explain`. */
export interface Explanation {
  /** Why the update touched no geofence at all, where that is so. */
  readonly note?: string
  /** Nearest first. */
  readonly candidates: readonly Candidate[]
}

/** A geofence of the explanation; users/explanationSchema.ts has its fields. */
export interface Candidate {
  readonly geofence: { readonly _id: string }
  readonly wasInside: boolean
  readonly distance: number | undefined
  readonly outcome: string
  readonly reason: string
  readonly [detail: string]: unknown
}

/**
 * One thing that an update can mean: being among geofences, or near beacons. It owns a part of the device's state and makes
 * the transitions of that part. evaluators.ts lists them all and runs them.
 *
 * @typeParam Facts what it needs to know of the world for one update
 */
export interface Evaluator<Facts = unknown> {
  /** The place of its events among those of the same update: lower first (docs/spec.md, "Order of events"). */
  readonly rank: number
  /** Things of the world that the last {@link facts} were held against: by them the host judges what an update costs. */
  readonly meetings?: number
  /**
   * What the step needs to know of the world. Asks index and geometry, and changes nothing.
   * @returns undefined: the update does not concern it, and costs no more; {@link Unmeasured}: that takes long, and is to be
   * measured by another thread first, where the situation asks for it
   */
  facts(before: DeviceState, situation: Situation): Facts | Unmeasured | undefined
  /** Its new part of the state. Pure: the same for the same arguments. */
  step(before: DeviceState, facts: Facts, situation: Situation): Step
  /** How far and how long the device may move before anything can change for this evaluator. */
  limits(before: DeviceState, facts: Facts, step: Step, situation: Situation): ZoneLimits
  /** The update was applied: notes in the device's row what the last facts may spare the next ones. @param after the new state */
  remember?(rows: DeviceRows, row: number, after: DeviceState): void
  /** Why the update made, or did not make, events. @param before the state before that update */
  explain?(before: DeviceState, situation: Situation): Partial<Explanation>
  context?(spot: Spot): Partial<Context>
}
