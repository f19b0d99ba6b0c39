import type { PlaceFilters } from '../model/settings.ts'
import { passesFilters } from '../model/place.ts'
import { AROUND_METERS, type PlaceNear, type PlacesHere } from './atlas.ts'
import type { Circumstances } from './circumstances.ts'

/** A place whose edge is farther away than this is not a candidate. */
export const CANDIDATE_METERS = 75
/** Beyond this distance, a stay ends. */
export const LEAVE_METERS = AROUND_METERS
/** An update that is less accurate than this has no candidates. */
export const CANDIDATE_ACCURACY_METERS = 200

const SURE_ACCURACY_METERS = 20
const SURE_METERS = 20
const FAIR_ACCURACY_METERS = 65

/**
 * The candidates for a location, the most likely first (docs/spec.md, "Places"). The code is pure.
 * @param accuracy the accuracy of the location in metres
 */
export function candidatesAmong({ near }: PlacesHere, filters: PlaceFilters, accuracy: number): PlaceNear[] {
  if (accuracy > CANDIDATE_ACCURACY_METERS) return []
  return near
    .filter(({ meters, place }) => meters <= CANDIDATE_METERS && passesFilters(place, filters))
    .sort(byLikelihood)
}

function byLikelihood(a: PlaceNear, b: PlaceNear): number {
  return (
    Math.max(0, a.meters) - Math.max(0, b.meters) ||
    a.area - b.area ||
    Number(b.place.chain !== undefined) - Number(a.place.chain !== undefined) ||
    a.pointMeters - b.pointMeters ||
    (a.place.id < b.place.id ? -1 : 1)
  )
}

/** How certain it is that the user is in the first candidate and in no other. */
export function visitConfidence(
  first: PlaceNear,
  second: PlaceNear | undefined,
  now: Pick<Circumstances, 'accuracy' | 'accuracyKnown'>,
): 1 | 2 | 3 {
  const isAlone = second === undefined || second.meters - first.meters >= SURE_METERS
  const confidence = accuracyConfidence(now)
  return confidence === 3 && !isAlone ? 2 : confidence
}

/** How certain it is that the user has left a place. */
export function accuracyConfidence({
  accuracy,
  accuracyKnown,
}: Pick<Circumstances, 'accuracy' | 'accuracyKnown'>): 1 | 2 | 3 {
  if (!accuracyKnown || accuracy > FAIR_ACCURACY_METERS) return 1
  return accuracy <= SURE_ACCURACY_METERS ? 3 : 2
}

/**
 * How far the user may move while the first candidate stays the first, or while there is still none. Every distance
 * changes by at most as much as the user moves.
 * @param first undefined if there are no candidates
 */
export function firstStaysFor(
  first: PlaceNear | undefined,
  { near, restMeters }: PlacesHere,
  filters: PlaceFilters,
): number {
  let meters = first === undefined ? restMeters - CANDIDATE_METERS : CANDIDATE_METERS - first.meters
  for (const one of near) {
    if (one === first || !passesFilters(one.place, filters)) continue
    meters = Math.min(meters, first === undefined ? one.meters - CANDIDATE_METERS : staysBehind(one, first))
  }
  return first === undefined ? meters : Math.min(meters, outside(restMeters, first.meters))
}

/** How far the user may move before `other` may come before `first`. */
function staysBehind(other: PlaceNear, first: PlaceNear): number {
  if (other.meters > 0 || first.meters > 0) return outside(other.meters, first.meters)
  // The user is in both. Which one is smaller, and whether they belong to chains, does not change.
  const isFixed =
    other.area !== first.area || (other.place.chain === undefined) !== (first.place.chain === undefined)
  const meters = isFixed ? Infinity : (other.pointMeters - first.pointMeters) / 2
  return Math.min(-first.meters, meters)
}

/**
 * How far the user may move before a place that is `other` metres away may be as near as the one that is `first`
 * metres away.
 */
function outside(other: number, first: number): number {
  return Math.min(other, (other - first) / 2)
}
