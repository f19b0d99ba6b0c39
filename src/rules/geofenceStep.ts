import type { Approach, Visit } from '../model/device.ts'
import type { GeofenceEventType, GeofenceTransition } from '../model/event.ts'
import { crossingOf, type CrossedGeofence } from './crossing.ts'
import { decide, type Decision, type Fact } from './geofenceRules.ts'
import { type Circumstances } from './circumstances.ts'

/**
 * The device actor's step: stays and facts in, stays and transitions out. Pure: time is in the circumstances.
 *
 * Owns: which stays and approaches follow from one update, and the order of its transitions.
 * Does not own: the rules of one geofence (geofenceRules.ts, crossing.ts), beacons (beacons.ts), positions
 * and profile (the host), ids.
 *
 * Invariants
 * - STEP-1: Crossings come first, by time, each as an entry and an exit, because they happened before the update. Then
 *   come exits, entries and dwells. Within a kind, exits and dwells are in the order of entry, and entries are in the
 *   order of geofence ids: the same for every engine, in whatever order its index answers.
 * - STEP-2: Where nothing changes, the same arrays of visits and approaches are returned.
 * - STEP-3: A visit whose geofence has been removed from the registry is removed from the state without an event.
 */

/** The geofences in which a user stays, and those that it is about to enter. */
export interface Stays {
  /** The visits in the order of entry. */
  readonly visits: readonly Visit[]
  /** The approaches in the order of geofence ids. */
  readonly approaches: readonly Approach[]
}

export interface StepFacts {
  /** Facts of the device's stays, index by index; undefined if the geofence is gone from the registry. */
  readonly visited: readonly (Fact | undefined)[]
  /** Facts of every other geofence that the update may enter, each once. */
  readonly candidates: readonly Fact[]
  /** Every other geofence between the last update and this one, each once. */
  readonly crossed: readonly CrossedGeofence[]
}

export interface StepResult extends Stays {
  /** Ids of the geofences that were crossed. */
  readonly crossed: readonly string[]
  readonly transitions: readonly GeofenceTransition[]
}

const NO_TRANSITIONS: readonly GeofenceTransition[] = []
const NONE_CROSSED: readonly string[] = []

export function step(before: Stays, facts: StepFacts, now: Circumstances): StepResult {
  const { visits } = before
  const exits: GeofenceTransition[] = []
  const entries: GeofenceTransition[] = []
  const dwells: GeofenceTransition[] = []
  const stays: Visit[] = []
  let changed = false

  for (let i = 0; i < visits.length; i++) {
    const visit = visits[i]!
    const fact = facts.visited[i]
    if (fact === undefined) {
      changed = true
      continue
    }
    const decision = decide(visit, fact, now)
    let stay = leavingSince(visit, decision.since)
    switch (decision.outcome) {
      case 'inside':
      case 'exitWithheld':
        stays.push(stay)
        break
      case 'dwelled':
        stay = { ...stay, dwelled: true }
        stays.push(stay)
        dwells.push(transition('user.dwelled_in_geofence', fact, decision))
        break
      case 'exited':
        exits.push(transition('user.exited_geofence', fact, decision, minutesSince(visit, now)))
        changed = true
        break
      default:
        changed = true
    }
    changed ||= stay !== visit
  }

  const approaches: Approach[] = []
  for (const fact of facts.candidates) {
    const { id } = fact.geofence
    const decision = decide(undefined, fact, now, approachingSince(before.approaches, id))
    if (decision.outcome === 'entered') entries.push(transition('user.entered_geofence', fact, decision))
    else if (decision.since !== undefined) approaches.push({ geofenceId: id, since: decision.since })
  }
  if (entries.length > 0) {
    entries.sort((a, b) => (a.geofence.id < b.geofence.id ? -1 : 1))
    for (const entry of entries) {
      stays.push({ geofenceId: entry.geofence.id, enteredAt: now.time, dwelled: false })
    }
    changed = true
  }
  const crossings = facts.crossed.length === 0 ? [] : crossingsOf(facts.crossed, entries, approaches, now)
  return {
    visits: changed ? stays : visits,
    approaches: sameOrSorted(before.approaches, approaches),
    crossed: crossings.length === 0 ? NONE_CROSSED : crossings.map(([entered]) => entered.geofence.id),
    transitions: joined(crossings, exits, entries, dwells),
  }
}

/** All transitions, one list after the other. There may be thousands, so the only list that has some is not copied. */
function joined(
  crossings: readonly (readonly GeofenceTransition[])[],
  ...lists: readonly GeofenceTransition[][]
): readonly GeofenceTransition[] {
  // Most updates that are evaluated change nothing.
  if (crossings.length === 0 && lists.every(({ length }) => length === 0)) return NO_TRANSITIONS
  const full = [crossings.flat(), ...lists].filter(({ length }) => length > 0)
  return full.length > 1 ? full.flat() : full[0]!
}

/** The crossings in the order of entry, and then of geofence ids. */
function crossingsOf(
  crossed: readonly CrossedGeofence[],
  entries: readonly GeofenceTransition[],
  approaches: readonly Approach[],
  now: Circumstances,
) {
  // A geofence that is being entered with a buffer does not also count as crossed, or one visit would become two.
  const entering = new Set(entries.map(({ geofence }) => geofence.id))
  for (const { geofenceId } of approaches) entering.add(geofenceId)
  return crossed
    .filter(({ geofence }) => !entering.has(geofence.id))
    .map((crossing) => crossingOf(crossing, now))
    .filter((pair) => pair !== undefined)
    .sort(([a], [b]) => a.at!.time - b.at!.time || (a.geofence.id < b.geofence.id ? -1 : 1))
}

/** The visit with another `leavingSince`. It is the same object if nothing changes. */
function leavingSince(visit: Visit, since: number | undefined): Visit {
  if (visit.leavingSince === since) return visit
  const { leavingSince: _, ...rest } = visit
  return since === undefined ? rest : { ...rest, leavingSince: since }
}

/**
 * The time since which a geofence is approached. It is a binary search, because approaches are sorted by id and there
 * may be thousands.
 */
function approachingSince(approaches: readonly Approach[], geofenceId: string): number | undefined {
  let low = 0
  let high = approaches.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (approaches[middle]!.geofenceId < geofenceId) low = middle + 1
    else high = middle
  }
  const found = approaches[low]
  return found?.geofenceId === geofenceId ? found.since : undefined
}

function sameOrSorted(before: readonly Approach[], after: Approach[]): readonly Approach[] {
  after.sort((a, b) => (a.geofenceId < b.geofenceId ? -1 : 1))
  const isSame =
    before.length === after.length &&
    after.every(
      ({ geofenceId, since }, i) => before[i]!.geofenceId === geofenceId && before[i]!.since === since,
    )
  return isSame ? before : after
}

function minutesSince(visit: Visit, now: Circumstances): number {
  return (now.time - visit.enteredAt) / 60_000
}

/** There may be ten thousand transitions in one update, so nothing is made besides each of them. */
function transition(
  type: GeofenceEventType,
  { geofence }: Fact,
  { confidence, currentlyOperating }: Decision,
  duration?: number,
): GeofenceTransition {
  if (currentlyOperating === undefined)
    return duration === undefined ? { type, geofence, confidence } : { type, geofence, confidence, duration }
  return duration === undefined
    ? { type, geofence, confidence, currentlyOperating }
    : { type, geofence, confidence, currentlyOperating, duration }
}
