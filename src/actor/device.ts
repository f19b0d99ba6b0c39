import type { Visit } from '../model/device.ts'
import type { GeofenceEventType, Transition } from '../model/event.ts'
import { decide, type Circumstances, type Decision, type Fact } from '../events/transitions.ts'

/**
 * The device actor's step: stays and facts in, stays and transitions out. Pure: time is in the circumstances.
 *
 * Owns: which stays follow from one update, and the order of its transitions.
 * Does not own: the rules of one geofence (events/transitions.ts), positions and profile (the host), ids.
 *
 * Invariants
 * 1. Exits come before entries, entries before dwells (clients.md section 4); within a kind, exits and dwells in
 *    the order of entry, entries by geofence id: the same for every engine, whatever order its index answers in.
 * 2. Where nothing changes, the same array of visits is returned.
 * 3. A visit whose geofence is gone from the registry is gone from the state, without an event.
 */
export interface StepResult {
  readonly visits: readonly Visit[]
  readonly transitions: readonly Transition[]
}

const NO_TRANSITIONS: readonly Transition[] = []

/**
 * @param visits current stays, in the order of entry
 * @param visited the facts of those stays, index by index; undefined where the geofence is gone from the registry
 * @param candidates every other geofence that the update may enter, each once
 */
export function step(
  visits: readonly Visit[],
  visited: readonly (Fact | undefined)[],
  candidates: readonly Fact[],
  now: Circumstances,
): StepResult {
  const exits: Transition[] = []
  const entries: Transition[] = []
  const dwells: Transition[] = []
  const stays: Visit[] = []
  let changed = false

  for (let i = 0; i < visits.length; i++) {
    const visit = visits[i]!
    const fact = visited[i]
    if (fact === undefined) {
      changed = true
      continue
    }
    const decision = decide(visit, fact, now)
    switch (decision.outcome) {
      case 'inside':
      case 'exitWithheld':
        stays.push(visit)
        break
      case 'dwelled':
        stays.push({ ...visit, dwelled: true })
        dwells.push(transition('user.dwelled_in_geofence', fact, decision))
        changed = true
        break
      case 'exited':
        exits.push(transition('user.exited_geofence', fact, decision, minutesSince(visit, now)))
        changed = true
        break
      default:
        changed = true
    }
  }

  for (const fact of candidates) {
    const decision = decide(undefined, fact, now)
    if (decision.outcome === 'entered') entries.push(transition('user.entered_geofence', fact, decision))
  }
  if (entries.length > 0) {
    entries.sort((a, b) => (a.geofence.id < b.geofence.id ? -1 : 1))
    for (const entry of entries) {
      stays.push({ geofenceId: entry.geofence.id, enteredAt: now.time, dwelled: false })
    }
    changed = true
  }
  if (!changed) return { visits, transitions: NO_TRANSITIONS }
  return { visits: stays, transitions: [...exits, ...entries, ...dwells] }
}

function minutesSince(visit: Visit, now: Circumstances): number {
  return (now.time - visit.enteredAt) / 60_000
}

function transition(type: GeofenceEventType, fact: Fact, decision: Decision, duration?: number): Transition {
  return {
    type,
    geofence: fact.geofence,
    confidence: decision.confidence,
    ...(decision.currentlyOperating !== undefined && { currentlyOperating: decision.currentlyOperating }),
    ...(duration !== undefined && { duration }),
  }
}
