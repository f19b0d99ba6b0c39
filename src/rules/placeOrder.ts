import type { PlaceFilters } from '../model/settings.ts'
import { passesFilters } from '../model/place.ts'
import { AROUND_METERS, CLOSEST_METERS, type PlaceNear, type PlacesHere } from './atlas.ts'
import type { Circumstances } from './circumstances.ts'
import { movedMeters, zoneCosine } from './safeZone.ts'

/** A place whose edge is farther away than this is not a candidate. */
export const CANDIDATE_METERS = CLOSEST_METERS
/** Beyond this distance, a stay ends. */
export const LEAVE_METERS = AROUND_METERS
/** An update that is less accurate than this has no candidates. */
export const CANDIDATE_ACCURACY_METERS = 200

const SURE_ACCURACY_METERS = 20
const SURE_METERS = 20
const FAIR_ACCURACY_METERS = 65

/**
 * The candidates for a location, the most likely first (docs/spec.md, "Places"). The code is pure.
 *
 * In a dense town there are dozens, and few of them are needed. So they are not sorted, but the first ones are picked.
 * @param accuracy the accuracy of the location in metres
 * @param most how many of them are needed, at least 1
 */
export function candidatesAmong(
  { near }: Pick<PlacesHere, 'near'>,
  filters: PlaceFilters,
  accuracy: number,
  most: number,
): PlaceNear[] {
  if (accuracy > CANDIDATE_ACCURACY_METERS) return []
  const first: PlaceNear[] = []
  for (const one of near) {
    if (one.meters > CANDIDATE_METERS || !passesFilters(one.place, filters)) continue
    let at = first.length
    if (at === most && byLikelihood(one, first[--at]!) > 0) continue
    for (; at > 0 && byLikelihood(one, first[at - 1]!) < 0; at--) first[at] = first[at - 1]!
    first[at] = one
  }
  return first
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
    // Most are too far away to come first before another one does, as each gains at most two metres for each of the user's.
    if (first !== undefined && one.meters >= meters && one.meters - first.meters >= 2 * meters) continue
    meters = Math.min(meters, first === undefined ? one.meters - CANDIDATE_METERS : staysBehind(one, first))
  }
  return first === undefined ? meters : Math.min(meters, outside(restMeters, first.meters))
}

/** How far the user may move before `other` may come before `first`. */
function staysBehind(other: PlaceNear, first: PlaceNear): number {
  // Which one is smaller, and whether they belong to chains, does not change.
  const isFixed =
    other.area !== first.area || (other.place.chain === undefined) !== (first.place.chain === undefined)
  const areRound = other.isRound === true && first.isRound === true
  const byPoint = (): number => leadLasts(other.pointMeters - first.pointMeters, other, first)
  // Of two equal circles, the one with the nearer point comes first, outside and inside.
  if (areRound && !isFixed) return byPoint()
  if (other.meters <= 0 && first.meters <= 0) return Math.min(-first.meters, isFixed ? Infinity : byPoint())
  const lead = other.meters - first.meters
  return Math.min(other.meters, areRound ? leadLasts(lead, other, first) : lead / 2)
}

/**
 * How far the user may move while one point stays nearer than another by more than some difference.
 *
 * Half the lead is always possible, because each distance changes by at most as much as the user moves. But two shops
 * in a house are never much nearer than each other, from wherever one looks: with d1 and d2 the distances and D the one
 * between the points, the difference changes by at most 2 D / (d1 + d2) of each metre (C. F. Dunkl and K. S. Williams,
 * A simple norm inequality, American Mathematical Monthly 71, 1964), and after m metres d1 + d2 is at most 2 m smaller.
 * @param lead by how many metres it is nearer now, less that difference
 */
function leadLasts(lead: number, other: PlaceNear, first: PlaceNear): number {
  const [x, y] = other.place.position
  const [firstX, firstY] = first.place.position
  // An upper bound. Two places at the same point never change their order.
  const apart = movedMeters(firstY, firstX, zoneCosine(firstY), y, x)
  if (apart === 0) return Infinity
  const both = other.pointMeters + first.pointMeters
  return lead * Math.max(1 / 2, both / (2 * (apart + lead)))
}

/**
 * How far the user may move before a place that is `other` metres away may be as near as the one that is `first`
 * metres away.
 */
function outside(other: number, first: number): number {
  return Math.min(other, (other - first) / 2)
}
