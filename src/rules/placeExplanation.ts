import type { PlaceStays } from '../model/place.ts'
import type { PlaceNear } from './atlas.ts'
import type { Circumstances } from './circumstances.ts'
import type { PlaceCandidate, PlaceExplanation } from './evaluator.ts'
import { CANDIDATE_ACCURACY_METERS, CANDIDATE_METERS, LEAVE_METERS } from './placeOrder.ts'
import { decideFirst, stepPlaces, type FirstCandidate, type PlaceFacts } from './placeStep.ts'

/** How many candidates are explained. */
export const MOST_EXPLAINED = 10

/**
 * Why the user entered, kept or left a place at an update, or did not, and which other place came closest.
 * @param facts with {@link MOST_EXPLAINED} candidates
 */
export function placeExplanation(
  before: PlaceStays,
  facts: PlaceFacts,
  now: Circumstances,
): PlaceExplanation {
  const decision = decideFirst(before, facts.candidates, now)
  const { transitions } = stepPlaces(before, facts, now)
  const [first, second] = facts.candidates
  return {
    was: before.stay && { _id: before.stay.place.id, name: before.stay.place.name },
    distance: typeof facts.stayAt === 'number' && facts.stayAt !== Infinity ? facts.stayAt : undefined,
    confidence: first && decision.confidence,
    firstSince: decision.first && new Date(decision.first.since).toISOString(),
    runnerUpMeters: first && second && second.meters - first.meters,
    events: transitions.map(({ type }) => type),
    reason: reasonOf(before, facts, decision, now),
    candidates: facts.candidates.map(candidateOf),
  }
}

function candidateOf({ place, meters, pointMeters }: PlaceNear): PlaceCandidate {
  return {
    place: { _id: place.id, name: place.name, categories: place.categories, chain: place.chain?.slug },
    distance: meters,
    pointDistance: pointMeters,
  }
}

function reasonOf(
  { stay }: PlaceStays,
  facts: PlaceFacts,
  decision: FirstCandidate,
  now: Circumstances,
): string {
  const { stayAt } = facts
  const about = whyEntered(facts, decision, now)
  if (stay === undefined) return about
  const { name } = stay.place
  if (stayAt === 'gone') return `${name} is no longer in the data: it is left without an event.`
  if (stayAt === 'unknown') return `This server has no map region with ${name}: the user stays in it.`
  const meters = stayAt === Infinity ? 'far' : `${Math.round(stayAt as number)} m`
  if ((stayAt as number) <= CANDIDATE_METERS)
    return `The user is within ${CANDIDATE_METERS} m of ${name} and stays in it.`
  if ((stayAt as number) <= LEAVE_METERS)
    return `${name} is ${meters} away. Up to ${LEAVE_METERS} m, only entering another place ends the stay. ${about}`
  return `${name} is ${meters} away, more than ${LEAVE_METERS} m: left. ${about}`
}

function whyEntered(
  { candidates, here }: PlaceFacts,
  { first, confidence, isStop }: FirstCandidate,
  { accuracy, settings, time }: Circumstances,
): string {
  if (accuracy > CANDIDATE_ACCURACY_METERS)
    return `The accuracy of ${Math.round(accuracy)} m is above ${CANDIDATE_ACCURACY_METERS} m: no place is considered.`
  const [likeliest] = candidates
  if (likeliest === undefined)
    return here.isCovered
      ? `No place that passes the filters is within ${CANDIDATE_METERS} m.`
      : 'This server has no map region for this location: no place is entered.'
  const { name } = likeliest.place
  if (first === undefined) return `${name} is the most likely place.`
  if (!isStop) {
    const seconds = Math.round((time - first.since) / 1000)
    return `${name} is the most likely place, but the user has not stopped, and it has been the first for ${seconds} s of ${settings.placeMinimumStaySeconds} s.`
  }
  if (confidence < settings.minimumConfidence)
    return `${name} is the most likely place, but confidence ${confidence} is below the minimum of ${settings.minimumConfidence}.`
  return `${name} is the most likely place, with confidence ${confidence}.`
}
