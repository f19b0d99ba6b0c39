import type { Visit } from '../model/device.ts'
import type { GeofenceProperties } from '../model/geofence.ts'
import { isTooInaccurate, type Circumstances } from './circumstances.ts'
import type { DeviceState } from './deviceState.ts'
import type { Candidate, Explanation, Situation } from './evaluator.ts'
import type { GeofenceFacts } from './geofenceFinder.ts'
import { decide, dwellMinutes, isDwellDue, type Decision, type Fact } from './geofenceRules.ts'
import type { ScopeView } from './port.ts'

/**
 * Every candidate geofence of an update with its distance, coverage, confidence and eligibility, and a sentence that
 * says what follows.
 * @param before the state before that update, except that `crossed` is the one after it
 * @param facts those of every candidate, including those out of reach
 */
export function explainGeofences(
  { visits, approaches, crossed: ways }: DeviceState,
  facts: GeofenceFacts,
  { update, view, now }: Situation,
): Explanation {
  const since = new Map(approaches.map((one) => [one.geofenceId, one.since]))
  const crossed = new Set(ways)
  const rows: Row[] = []
  for (let i = 0; i < visits.length; i++) {
    const visit = visits[i]!
    const fact = facts.visited[i]
    rows.push(
      fact === undefined
        ? { distance: 0, describe: () => goneCandidate(visit) }
        : { distance: fact.distance, describe: () => candidate(visit, fact, now) },
    )
  }
  for (const fact of facts.candidates) {
    const { id } = fact.geofence
    const isCrossed = crossed.delete(id)
    const describe = () => {
      const one = candidate(undefined, fact, now, since.get(id))
      return isCrossed ? { ...one, ...CROSSED } : one
    }
    rows.push({ distance: fact.distance, describe })
  }
  for (const id of crossed) rows.push({ distance: 0, describe: () => crossedCandidate(id, view) })
  rows.sort((a, b) => a.distance - b.distance)
  if (!isTooInaccurate(update, now.settings)) return { candidates: described(rows) }
  const note = `The accuracy of ${update.accuracy} m is above maxAccuracyMeters (${now.settings.maxAccuracyMeters} m): the update moved the device but touched no geofence.`
  return { note, candidates: described(rows, (one) => untouched(one, note)) }
}

/** A candidate, which is described only when it is read. */
interface Row {
  /** In metres; 0 if it is not known. */
  readonly distance: number
  readonly describe: () => Candidate
}

function* described(
  rows: readonly Row[],
  change: (one: Candidate) => Candidate = (one) => one,
): Generator<Candidate, void> {
  for (const { describe } of rows) yield change(describe())
}

function goneCandidate(visit: Visit): Candidate {
  return {
    geofence: { _id: visit.geofenceId },
    wasInside: true,
    distance: undefined,
    outcome: 'dropped',
    reason: 'The geofence has been deleted; the stay ended without an event.',
  }
}

/**
 * The explanation of a geofence that the device has crossed between two updates, so that its present position says
 * nothing about it.
 */
const CROSSED = {
  outcome: 'crossed' as const,
  reason:
    'It lies on the line from the previous location, which was outside too: entered and exited in between (detectCrossings).',
}

/** A crossed geofence that is not near the position of the update. */
function crossedCandidate(id: string, view: ScopeView): Candidate {
  const geofence = view.geofence(id)
  return {
    geofence: geofence === undefined ? { _id: id } : naming(geofence),
    wasInside: false,
    distance: undefined,
    ...CROSSED,
  }
}

function naming(geofence: GeofenceProperties) {
  const { id: _id, tag, externalId, description } = geofence
  return { _id, tag, externalId, description }
}

function candidate(
  visit: Visit | undefined,
  fact: Fact,
  now: Circumstances,
  approachingSince?: number,
): Candidate {
  const { geofence, distance, coverage } = fact
  const decision = decide(visit, fact, now, approachingSince)
  return {
    geofence: naming(geofence),
    wasInside: visit !== undefined,
    ...(visit !== undefined && { enteredAt: new Date(visit.enteredAt).toISOString() }),
    distance,
    coverage,
    confidence: decision.confidence,
    eligible: decision.ineligible === undefined,
    ...(decision.ineligible !== undefined && { ineligible: decision.ineligible }),
    ...(decision.currentlyOperating !== undefined && { currentlyOperating: decision.currentlyOperating }),
    outcome: decision.outcome,
    ...(decision.event !== undefined && { event: decision.event }),
    reason: sentence(decision, visit, fact, now),
    ...(geofence.updatedAt > now.receivedAt && { changedSince: new Date(geofence.updatedAt).toISOString() }),
  }
}

/** The candidate of an update that is ignored for geofences. There is no event, whatever the rules say. */
function untouched(one: Candidate, reason: string) {
  const outcome = one.wasInside ? ('inside' as const) : ('outside' as const)
  return { ...one, event: undefined, outcome, reason }
}

/** Puts a decision into words. */
function sentence(decision: Decision, visit: Visit | undefined, fact: Fact, now: Circumstances): string {
  const { settings } = now
  const place = describePlace(fact.distance)
  const level = `confidence ${decision.confidence}`
  switch (decision.outcome) {
    case 'outside':
      return settings.bufferEntries
        ? `${place}, which is more than the accuracy of ${metres(now.accuracy)}: no entry.`
        : `${place}: no entry.`
    case 'entered':
      return `${place}: entered with ${level}.`
    case 'entryWithheld':
      return `${place}, but ${withheldBecause(decision, now)}: no entry yet.`
    case 'exited':
      return `${place}: exited with ${level}.`
    case 'leftSilently':
      return `${place}, but ${withheldBecause(decision, now)}: the stay ended without an event.`
    case 'exitWithheld': {
      const because = `${place}, but ${withheldBecause(decision, now)}: no exit yet.`
      return isDwellDue(visit!, fact.geofence, now) ? `${because} ${DWELL_WAITS}` : because
    }
    case 'dwelled':
      return `${place}, and has stayed longer than ${dwellMinutes(fact.geofence, settings)} minutes: dwelled with ${level}.`
    case 'dropped':
      return `The geofence ${INELIGIBLE[decision.ineligible!]}: the stay ended without an event.`
    case 'inside':
      return insideSentence(place, decision, visit!, fact, now)
  }
}

function insideSentence(
  place: string,
  decision: Decision,
  visit: Visit,
  fact: Fact,
  now: Circumstances,
): string {
  if (decision.withheld !== undefined && decision.withheld !== 'outside')
    return `${place} and due for a dwell event, but ${withheldBecause(decision, now)}: no dwell event yet.`
  if (fact.distance > 0) {
    const buffered = `${place}, within the accuracy of ${metres(now.accuracy)}, and exits are buffered: still inside.`
    return decision.withheld === 'outside' ? `${buffered} ${DWELL_WAITS}` : buffered
  }
  const minutes = dwellMinutes(fact.geofence, now.settings)
  if (visit.dwelled) return `${place}, has entered and dwelled before: still inside.`
  if (minutes === undefined)
    return `${place} and has entered before: still inside, no second entry without an exit.`
  const stayed = (now.time - visit.enteredAt) / 60_000
  return `${place}, for ${stayed.toFixed(1)} of ${minutes} minutes until a dwell event: still inside.`
}

const DWELL_WAITS = 'A dwell event is due, but needs a location that lies inside.'

const INELIGIBLE = {
  disabled: 'is disabled',
  expired: 'is past its disableAfter or deleteAfter date',
  otherUser: 'is not meant for this user (userIds)',
  otherAddress: 'is not meant for the requester’s address (ip)',
  closed: 'is outside its operating hours',
} as const

function withheldBecause(decision: Decision, now: Circumstances): string {
  switch (decision.withheld) {
    case 'notStopped':
      return 'stop detection is on and the device was neither stopped nor in the foreground'
    case 'delayed': {
      const isEntry = decision.outcome === 'entryWithheld'
      const seconds = isEntry ? now.settings.entryDelaySeconds : now.settings.exitDelaySeconds
      const held = Math.round((now.time - decision.since!) / 1000)
      return `only for ${held} of ${seconds} seconds (${isEntry ? 'entryDelaySeconds' : 'exitDelaySeconds'})`
    }
    case 'lowConfidence':
      return `confidence ${decision.confidence} is below the minimum of ${now.settings.minimumConfidence}`
    case 'outside':
      return 'the location lies outside'
    default:
      return `the geofence ${INELIGIBLE[decision.withheld!]}`
  }
}

function describePlace(distance: number): string {
  if (distance > 0) return `The location is ${metres(distance)} outside the boundary`
  if (distance < 0) return `The location is ${metres(-distance)} inside the boundary`
  return 'The location is on the boundary'
}

function metres(value: number): string {
  return `${value < 100 ? value.toFixed(1) : Math.round(value)} m`
}
