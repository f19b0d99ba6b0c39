import type { Transition } from '../model/event.ts'
import { BeaconEvaluator } from './beacons.ts'
import { NO_STATE, type DeviceState } from './deviceState.ts'
import type { Context, Evaluator, Explanation, Situation, Spot } from './evaluator.ts'
import type { Unfetched } from './atlas.ts'
import { CountryEvaluator, type Barred } from './countries.ts'
import { FraudEvaluator } from './fraud.ts'
import { GeofenceEvaluator } from './geofences.ts'
import { PlaceEvaluator } from './places.ts'
import { RegionEvaluator } from './regions.ts'
import {
  NO_LIMITS,
  smallest,
  smallestOf,
  ZONE,
  ZONE_KINDS,
  zoneWithin,
  type SafeZone,
  type ZoneLimits,
} from './safeZone.ts'
import { mayRegroup, stepSegments } from './segments.ts'
import { Unready } from './unready.ts'

/**
 * What an update means: the list of evaluators, and the one sequence in which they run. It evaluates tracks, replays
 * and anonymous tracks; `context` and `explain` use the same list.
 *
 * Owns: the list, the order of events, the smallest of the safe zones. Does not own: time and identity
 * (actor/partition.ts), what each evaluator decides.
 *
 * Invariants
 * - EVALUATORS-1: Every evaluator sees the state before the update, so the order of the list has no effect.
 * - EVALUATORS-2: Events are in the order of the evaluators' ranks.
 * - EVALUATORS-3: The safe zone lies within the safe zone of every evaluator, and ends when a user leaves a segment.
 * - EVALUATORS-4: Within what is left of a zone, its evaluators would change nothing, so they are not run.
 */
export function createEvaluators(): readonly Evaluator[] {
  return [
    // It comes first, because it may refuse the update.
    new CountryEvaluator(),
    new BeaconEvaluator(),
    new GeofenceEvaluator(),
    new RegionEvaluator(),
    new PlaceEvaluator(),
    new FraudEvaluator(),
  ]
}

/** The result of evaluating an update. */
export interface Evaluated {
  readonly state: DeviceState
  /** The transitions in the order of their events. */
  readonly transitions: readonly Transition[]
  readonly zone: SafeZone
  /** The limits by {@link ZONE}; undefined if only geofences and beacons limit the device. */
  readonly limits: readonly ZoneLimits[] | undefined
}

/** The transitions of one evaluator. */
interface Ranked {
  readonly rank: number
  readonly transitions: readonly Transition[]
}

const NO_TRANSITIONS: readonly Transition[] = []
const NO_ZONE_LIMITS: readonly ZoneLimits[] = Array.from({ length: ZONE_KINDS }, () => NO_LIMITS)

/** Evaluates an update, and changes nothing. It may return {@link Unready}; see {@link Evaluator.facts}. */
export function evaluate(
  evaluators: readonly Evaluator[],
  before: DeviceState,
  situation: Situation,
): Evaluated | Unready {
  const { left, update, now } = situation
  const draft: Draft = {
    state: before.crossed.length === 0 ? before : withChange(before, { crossed: NO_STATE.crossed }),
    happened: undefined,
    limits: left === undefined ? NO_ZONE_LIMITS.slice() : left.map((one) => one ?? NO_LIMITS),
  }
  const { limits } = draft
  for (const evaluator of evaluators) {
    if (left?.[evaluator.zone] !== undefined) continue
    const unready = run(evaluator, before, situation, draft)
    if (unready !== undefined) return unready
  }
  // Segments depend on what all evaluators made of the update.
  const isKept = left?.[ZONE.regions] !== undefined
  const { segments } = now.settings
  const happened = draft.happened?.flatMap(({ transitions }) => transitions) ?? NO_TRANSITIONS
  const regroups = !isKept || mayRegroup(segments, before, draft.state, happened)
  if (isKept && regroups) {
    // The time until which the user stays in its segments belongs to that zone, and is another one now.
    limits[ZONE.regions] = NO_LIMITS
    for (const evaluator of evaluators) {
      if (evaluator.zone !== ZONE.regions) continue
      const unready = run(evaluator, before, situation, draft)
      if (unready !== undefined) return unready
    }
  }
  const transitions = draft.happened === undefined ? NO_TRANSITIONS : inOrder(draft.happened)
  const grouped = regroups ? stepSegments(before.segments, draft.state, transitions, situation) : undefined
  if (grouped !== undefined) {
    if (grouped.segments !== before.segments)
      draft.state = withChange(draft.state, { segments: grouped.segments })
    limits[ZONE.regions] = smallest(limits[ZONE.regions]!, { ...NO_LIMITS, until: grouped.until })
  }
  const zone = zoneWithin(smallestOf(limits), update.latitude, now.time)
  const isAlone = limits.every((one, kind) => kind === ZONE.geofences || one === NO_LIMITS)
  return { state: draft.state, transitions, zone, limits: isAlone ? undefined : limits }
}

/** What the evaluators that were run so far made of an update. */
interface Draft {
  /** It is the state before the update as long as nothing has changed. */
  state: DeviceState
  happened: Ranked[] | undefined
  /** By {@link ZONE}. */
  readonly limits: ZoneLimits[]
}

/** Runs one evaluator. */
function run(
  evaluator: Evaluator,
  before: DeviceState,
  situation: Situation,
  draft: Draft,
): Unready | undefined {
  const facts = evaluator.facts(before, situation)
  if (facts === undefined) return undefined
  if (facts instanceof Unready) return facts
  const step = evaluator.step(before, facts, situation)
  if (step.state !== undefined) draft.state = withChange(draft.state, step.state)
  if (step.transitions.length > 0) {
    draft.happened ??= []
    draft.happened.push({ rank: evaluator.rank, transitions: step.transitions })
  }
  const { limits } = draft
  const { zone } = evaluator
  limits[zone] = smallest(limits[zone]!, evaluator.limits(before, facts, step, situation))
  return undefined
}

function withChange(state: DeviceState, change: Partial<DeviceState>): DeviceState {
  const { visits, approaches, crossed, beacons, regions, fraud, places, segments } = state
  return { visits, approaches, crossed, beacons, regions, fraud, places, segments, ...change }
}

function inOrder(happened: Ranked[]): readonly Transition[] {
  if (happened.length === 1) return happened[0]!.transitions
  return happened.sort((a, b) => a.rank - b.rank).flatMap(({ transitions }) => transitions)
}

/** What lies around a location that is not tied to a device. */
export function contextOf(evaluators: readonly Evaluator[], spot: Spot): Context | Unfetched | Barred {
  const context: Context = { geofences: [] }
  for (const evaluator of evaluators) {
    const part = evaluator.context?.(spot)
    if (part instanceof Unready) return part
    Object.assign(context, part)
  }
  return context
}

/**
 * Says why an update did or did not cause events.
 * @param before the state before it, except that `crossed` is the one after it
 */
export function explain(
  evaluators: readonly Evaluator[],
  before: DeviceState,
  situation: Situation,
): Explanation | Unfetched {
  const explanation: Partial<Explanation> = {}
  for (const evaluator of evaluators) {
    const part = evaluator.explain?.(before, situation)
    if (part instanceof Unready) return part
    Object.assign(explanation, part)
  }
  const { candidates = [], ...rest } = explanation
  return { ...rest, candidates }
}
