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
import { NO_LIMITS, smallest, zoneOfWorld, zoneWithin, type SafeZone } from './safeZone.ts'
import { stepSegments } from './segments.ts'
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
 * - EVALUATORS-4: Within what is left of the zone of the world, its evaluators would change nothing, so they are not run.
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
  /**
   * The zone of the world; undefined if the device keeps the one that it has, or needs none, because nothing of the world is
   * turned on.
   */
  readonly worldZone: SafeZone | undefined
}

/** The transitions of one evaluator. */
interface Ranked {
  readonly rank: number
  readonly transitions: readonly Transition[]
}

const NO_TRANSITIONS: readonly Transition[] = []

/** Evaluates an update, and changes nothing. It may return {@link Unready}; see {@link Evaluator.facts}. */
export function evaluate(
  evaluators: readonly Evaluator[],
  before: DeviceState,
  situation: Situation,
): Evaluated | Unready {
  const { visits, approaches, beacons, regions, fraud, places, segments } = before
  const state: { -readonly [K in keyof DeviceState]: DeviceState[K] } = {
    visits,
    approaches,
    crossed: NO_STATE.crossed,
    beacons,
    regions,
    fraud,
    places,
    segments,
  }
  const { worldLimits, update, now } = situation
  const hasSegments = now.settings.segments.length > 0
  let happened: Ranked[] | undefined
  let limits = NO_LIMITS
  let world = worldLimits ?? NO_LIMITS
  let isWorldKept = worldLimits !== undefined
  let isWorldOn = hasSegments
  const run = (evaluator: Evaluator): Unready | undefined => {
    const facts = evaluator.facts(before, situation)
    if (facts === undefined) return undefined
    if (facts instanceof Unready) return facts
    const step = evaluator.step(before, facts, situation)
    if (step.state !== undefined) Object.assign(state, step.state)
    if (step.transitions.length > 0) {
      happened ??= []
      happened.push({ rank: evaluator.rank, transitions: step.transitions })
    }
    const own = evaluator.limits(before, facts, step, situation)
    if (evaluator.isOfWorld) {
      world = smallest(world, own)
      isWorldOn = true
    } else limits = smallest(limits, own)
    return undefined
  }
  for (const evaluator of evaluators) {
    const unready = isWorldKept && evaluator.isOfWorld ? undefined : run(evaluator)
    if (unready !== undefined) return unready
  }
  if (isWorldKept && hasSegments && (happened !== undefined || state.visits !== visits)) {
    // They may be in other segments now, which have limits of their own.
    isWorldKept = false
    world = NO_LIMITS
    for (const evaluator of evaluators) {
      const unready = evaluator.isOfWorld ? run(evaluator) : undefined
      if (unready !== undefined) return unready
    }
  }
  const transitions = happened === undefined ? NO_TRANSITIONS : inOrder(happened)
  // Segments depend on what all evaluators made of the update.
  const grouped = isWorldKept ? undefined : stepSegments(segments, state, transitions, situation)
  if (grouped !== undefined) {
    state.segments = grouped.segments
    world = smallest(world, { ...NO_LIMITS, until: grouped.until })
  }
  const { latitude } = update
  return {
    state,
    transitions,
    zone: zoneWithin(smallest(limits, world), latitude, now),
    worldZone: isWorldKept || !isWorldOn ? undefined : zoneOfWorld(world, latitude, now),
  }
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
