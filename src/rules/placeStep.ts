import type { PlaceTransition } from '../model/event.ts'
import {
  NO_PLACES,
  passesFilters,
  shownPlace,
  visitedAfter,
  type PlaceStay,
  type PlaceStays,
} from '../model/place.ts'
import type { PlaceNear, PlacesHere } from './atlas.ts'
import type { Circumstances } from './circumstances.ts'
import { accuracyConfidence, CANDIDATE_METERS, visitConfidence, LEAVE_METERS } from './placeOrder.ts'

/** What happens to a user's place at an update: the state table of docs/spec.md, "Places". Pure. */

/** How many places besides the entered one an event names. */
const MOST_ALTERNATES = 4
/** How many candidates a step needs. */
export const MOST_NEEDED = 1 + MOST_ALTERNATES
/** The confidence that an entry needs while the previous place is near. */
const CLOSE_CONFIDENCE = 2

/** Where the user is in relation to the place of the stay. */
export type StayPosition =
  /** The distance from its edge in metres; Infinity if it is far away. */
  | number
  /** The data of the place are gone. */
  | 'gone'
  /** This process does not have the data of the place, and the user may still be in it. */
  | 'unknown'

export interface PlaceFacts {
  readonly here: PlacesHere
  /**
   * The candidates, the most likely first; at least {@link MOST_NEEDED} if there are as many, or only the first if the update
   * enters no place.
   */
  readonly candidates: readonly PlaceNear[]
  /** Undefined if the user is in no place. */
  readonly stayAt: StayPosition | undefined
}

export interface PlaceStep {
  /** The places. It is the same object if nothing changed. */
  readonly places: PlaceStays
  readonly transitions: readonly PlaceTransition[]
}

/** What is decided about the first candidate of an update. */
export interface FirstCandidate {
  /** The first candidate if the user is not in it, and the time since which it is the first. */
  readonly first: PlaceStays['first']
  readonly confidence: 1 | 2 | 3
  /** Whether the stop rule is met for it. */
  readonly isStop: boolean
}

export function decideFirst(
  { stay, first }: PlaceStays,
  [likeliest, second]: readonly PlaceNear[],
  now: Circumstances,
): FirstCandidate {
  const { time, stopped, foreground, settings } = now
  if (likeliest === undefined) return { first: undefined, confidence: 1, isStop: false }
  const confidence = visitConfidence(likeliest, second, now)
  if (likeliest.place.id === stay?.place.id) return { first: undefined, confidence, isStop: false }
  const { id } = likeliest.place
  const since = first?.id === id ? first : { id, since: time }
  const isStop = stopped || foreground || time - since.since >= settings.placeMinimumStaySeconds * 1000
  return { first: since, confidence, isStop }
}

export function stepPlaces(
  before: PlaceStays,
  { candidates, stayAt }: PlaceFacts,
  now: Circumstances,
): PlaceStep {
  const { settings } = now
  const { stay } = before
  const { first, confidence, isStop } = decideFirst(before, candidates, now)
  const mayEnter = first !== undefined && isStop && confidence >= settings.minimumConfidence
  if (stay === undefined)
    return mayEnter
      ? entered(before, candidates, confidence, now, [])
      : { places: withFirst(before, first), transitions: [] }
  if (stayAt === 'gone' || !passesFilters(stay.place, settings.placeFilters)) {
    return { places: placesWith({ ...before, stay: undefined, first }), transitions: [] }
  }
  if (stayAt === 'unknown' || (stayAt as number) <= CANDIDATE_METERS)
    return { places: withFirst(before, first), transitions: [] }
  const isLeft = (stayAt as number) > LEAVE_METERS
  if (mayEnter && (isLeft || confidence >= CLOSE_CONFIDENCE))
    return entered(before, candidates, confidence, now, [exited(stay, now)])
  if (isLeft)
    return { places: placesWith({ ...before, stay: undefined, first }), transitions: [exited(stay, now)] }
  return { places: withFirst(before, first), transitions: [] }
}

function exited({ place, enteredAt }: PlaceStay, now: Circumstances): PlaceTransition {
  return {
    type: 'user.exited_place',
    place: shownPlace(place, now.settings),
    confidence: accuracyConfidence(now),
    duration: (now.time - enteredAt) / 60_000,
  }
}

function entered(
  before: PlaceStays,
  candidates: readonly PlaceNear[],
  confidence: 1 | 2 | 3,
  { time, settings }: Circumstances,
  exits: readonly PlaceTransition[],
): PlaceStep {
  const [{ place }, ...others] = candidates as readonly [PlaceNear, ...PlaceNear[]]
  const { chain } = place
  const alternatePlaces = others.slice(0, MOST_ALTERNATES).map((one) => shownPlace(one.place, settings))
  const entry: PlaceTransition = {
    type: 'user.entered_place',
    place: shownPlace(place, settings),
    alternatePlaces,
    confidence,
  }
  const visited = chain === undefined ? before.visited : visitedAfter(before.visited, chain)
  const places = { ...before, stay: { place, enteredAt: time }, first: undefined, visited }
  return { places, transitions: [...exits, entry] }
}

/** The places with another first candidate; the same object if it is the same one. */
function withFirst(before: PlaceStays, first: PlaceStays['first']): PlaceStays {
  return first === before.first ? before : placesWith({ ...before, first })
}

/** The places, or the one object that stands for none at all. */
export function placesWith(places: PlaceStays): PlaceStays {
  const { stay, first, nearby, visited } = places
  const isEmpty = stay === undefined && first === undefined && nearby.length + visited.length === 0
  return isEmpty ? NO_PLACES : places
}
