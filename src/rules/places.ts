import { pointDistance } from '../geometry/distance.ts'
import type { PlaceTransition } from '../model/event.ts'
import { passesFilters, shownPlace, type Place, type PlaceStay, type PlaceStays } from '../model/place.ts'
import type { Settings } from '../model/settings.ts'
import type { Update } from '../model/update.ts'
import {
  AROUND_METERS,
  Unfetched,
  Unknown,
  type Atlas,
  type NearestOfChain,
  type PlacesHere,
} from './atlas.ts'
import type { Circumstances } from './circumstances.ts'
import type { DeviceState } from './deviceState.ts'
import type { Context, Evaluator, Explanation, Situation, Spot, Step } from './evaluator.ts'
import { nearbyLimits, stepNearby } from './nearbyChains.ts'
import { MOST_EXPLAINED, placeExplanation } from './placeExplanation.ts'
import {
  CANDIDATE_ACCURACY_METERS,
  CANDIDATE_METERS,
  candidatesAmong,
  firstStaysFor,
  LEAVE_METERS,
} from './placeOrder.ts'
import {
  decideFirst,
  MOST_NEEDED,
  placesWith,
  stepPlaces,
  type PlaceFacts,
  type StayPosition,
} from './placeStep.ts'
import { NOWHERE_SAFE, NO_LIMITS, smallest, ZONE, type ZoneLimits } from './safeZone.ts'

/** How far away the places are that {@link closeFacts} looks at, in metres. */
const CLOSE_METERS = 50

interface Facts {
  /** Undefined if places are off. */
  readonly place: PlaceFacts | Unknown | undefined
  /** Undefined if no chain is watched. */
  readonly chains: readonly NearestOfChain[] | Unknown | undefined
}

/**
 * Decides which place the user is in, and which watched chains are near (docs/spec.md, "Places").
 *
 * Owns: `places` of the state. Does not own: where places are (atlas.ts), their order (placeOrder.ts), what happens
 * (placeStep.ts, nearbyChains.ts).
 */
export class PlaceEvaluator implements Evaluator<Facts> {
  readonly rank = 3
  readonly zone = ZONE.places

  isOff({ places, nearbyPlaceChains }: Settings): boolean {
    return !places && nearbyPlaceChains.length === 0
  }

  facts({ places }: DeviceState, { update, view, now }: Situation): Facts | Unfetched | undefined {
    const { settings } = now
    const hasNone = places.stay === undefined && places.first === undefined && places.nearby.length === 0
    if (hasNone && this.isOff(settings)) return undefined
    const { latitude, longitude } = update
    const place = settings.places
      ? (closeFacts(places, view.atlas, update, now) ??
        placeFacts(
          view.atlas.placesAt(latitude, longitude),
          places.stay,
          view.atlas,
          update,
          now,
          MOST_NEEDED,
        ))
      : undefined
    if (place instanceof Unfetched) return place
    const { nearbyPlaceChains } = settings
    const chains =
      nearbyPlaceChains.length === 0 ? undefined : view.atlas.chainsAt(nearbyPlaceChains, latitude, longitude)
    return chains instanceof Unfetched ? chains : { place, chains }
  }

  step({ places: before }: DeviceState, { place, chains }: Facts, { now }: Situation): Step {
    let places = before
    let transitions: readonly PlaceTransition[] = []
    if (place === undefined) {
      // Places were turned off, so the stay disappears without an event.
      if (places.stay !== undefined || places.first !== undefined)
        places = placesWith({ ...places, stay: undefined, first: undefined })
    } else if (!(place instanceof Unknown)) ({ places, transitions } = stepPlaces(before, place, now))
    if (!(chains instanceof Unknown)) {
      const near = chains === undefined ? WITHOUT : stepNearby(before.nearby, chains, now)
      if (near.nearby !== before.nearby && near.nearby.length + before.nearby.length > 0)
        places = placesWith({ ...places, nearby: near.nearby })
      if (near.transitions.length > 0) transitions = [...transitions, ...near.transitions]
    }
    return places === before ? { transitions } : { state: { places }, transitions }
  }

  limits({ places: before }: DeviceState, { place, chains }: Facts, { state }: Step, { now }: Situation) {
    const places = state?.places ?? before
    let limits = NO_LIMITS
    if (place instanceof Unknown) limits = { ...NO_LIMITS, untilReceived: place.until }
    else if (place !== undefined) limits = placeLimits(places, place, now)
    if (chains instanceof Unknown) return smallest(limits, { ...NO_LIMITS, untilReceived: chains.until })
    const ofChains = chains === undefined ? NO_LIMITS : nearbyLimits(places.nearby, chains, now.settings)
    const within = smallest(limits, ofChains)
    if (place === undefined || place instanceof Unknown) return within
    const passingMeters = Math.min(ofChains.meters, staysFor(places, place, now.settings))
    return { ...within, passingMeters }
  }

  explain({ places }: DeviceState, { update, view, now }: Situation): Partial<Explanation> | Unfetched {
    if (!now.settings.places) return {}
    const here = view.atlas.placesAround(update.latitude, update.longitude)
    const facts = placeFacts(here, places.stay, view.atlas, update, now, MOST_EXPLAINED)
    if (facts instanceof Unfetched) return facts
    if (facts instanceof Unknown)
      return { placesNote: 'The data of places cannot be read at the moment: the user stays where it was.' }
    return { place: placeExplanation(places, facts, now) }
  }

  /** The place at a point. The only settings that apply are the filters. */
  context({ view, latitude, longitude }: Spot): Partial<Context> | Unfetched {
    const here = view.atlas.placesAt(latitude, longitude)
    if (here instanceof Unfetched) return here
    if (here instanceof Unknown) return here.isFailure ? { isBroken: true } : {}
    const [first] = candidatesAmong(here, view.settings.placeFilters, 0, 1)
    return first === undefined ? {} : { place: shownPlace(first.place, view.settings) }
  }
}

const WITHOUT = { nearby: [], transitions: [] }

/**
 * The facts from the places close by, of which there are far fewer in a dense town. They are enough for an update that goes
 * past places.
 * @returns undefined if they are not enough
 */
function closeFacts(
  places: PlaceStays,
  atlas: Atlas,
  { latitude, longitude }: Pick<Update, 'latitude' | 'longitude'>,
  now: Circumstances,
): PlaceFacts | undefined {
  const here = atlas.placesAt(latitude, longitude, CLOSE_METERS)
  if (here instanceof Unknown || here instanceof Unfetched) return undefined
  const { stay } = places
  const stayAt = stay && here.near.find(({ place }) => place.id === stay.place.id)?.meters
  if (stay !== undefined && stayAt === undefined) return undefined
  const candidates = candidatesAmong(here, now.settings.placeFilters, now.accuracy, 1)
  const [likeliest] = candidates
  if (likeliest === undefined || likeliest.meters >= here.restMeters) return undefined
  const { first, isStop } = decideFirst(places, candidates, now)
  if (first === undefined || !isStop) return { here, candidates, stayAt }
  // An entry tells the next candidates.
  const entered = candidatesAmong(here, now.settings.placeFilters, now.accuracy, MOST_NEEDED)
  const last = entered[MOST_NEEDED - 1]
  return last !== undefined && Math.max(0, last.meters) < here.restMeters
    ? { here, candidates: entered, stayAt }
    : undefined
}

/** The update must be evaluated. */
export const EVALUATE: unique symbol = Symbol('evaluate')

/**
 * The place that is the first candidate after an update within the device's passing zone (`passingMeters` of safeZone.ts), unless the
 * user is in it. The update leaves no place, so all that it may change is which candidate is the first. In a town, that is most
 * updates of a device that drives, so it makes no objects.
 * @param before that of before the update, and the time since which it is the first
 * @returns undefined if there is none; {@link EVALUATE} if more may happen
 */
export function firstPast(
  stay: PlaceStay | undefined,
  before: string | undefined,
  since: number,
  atlas: Atlas,
  { latitude, longitude, stopped, foreground }: Passing,
  time: number,
  accuracy: number,
  settings: Settings,
): Place | undefined | typeof EVALUATE {
  const isInNone = stay === undefined
  if (isInNone && (stopped || foreground)) return EVALUATE
  if (accuracy > CANDIDATE_ACCURACY_METERS) return undefined
  const { chain, category } = settings.placeFilters
  const first =
    chain.length + category.length === 0
      ? atlas.firstAt(latitude, longitude)
      : firstWanted(atlas, latitude, longitude, settings)
  if (first instanceof Unknown || first instanceof Unfetched) return EVALUATE
  if (first === undefined || first.id === stay?.place.id) return undefined
  // Within the passing zone of a stay, the user stays in its place, even if another one is the first candidate of a stop.
  const isStop =
    isInNone && time - (first.id === before ? since : time) >= settings.placeMinimumStaySeconds * 1000
  return isStop ? EVALUATE : first
}

type Passing = Pick<Update, 'latitude' | 'longitude' | 'stopped' | 'foreground'>

/** The first candidate among the places that pass the filters. */
function firstWanted(
  atlas: Atlas,
  latitude: number,
  longitude: number,
  { placeFilters: filters }: Settings,
): Place | undefined | Unknown | Unfetched {
  const closest = atlas.closestAt(latitude, longitude, (place) => passesFilters(place, filters))
  if (closest instanceof Unknown || closest instanceof Unfetched) return closest
  return closest.length <= 1 ? closest[0]?.place : candidatesAmong({ near: closest }, filters, 0, 1)[0]!.place
}

/** @param most how many candidates are needed */
function placeFacts(
  here: PlacesHere | Unknown | Unfetched,
  stay: PlaceStay | undefined,
  atlas: Atlas,
  { latitude, longitude }: Pick<Update, 'latitude' | 'longitude'>,
  { accuracy, settings }: Circumstances,
  most: number,
): PlaceFacts | Unknown | Unfetched {
  if (here instanceof Unknown || here instanceof Unfetched) return here
  const candidates = candidatesAmong(here, settings.placeFilters, accuracy, most)
  if (stay === undefined) return { here, candidates, stayAt: undefined }
  const stayAt = positionOf(stay, here, atlas, latitude, longitude)
  return stayAt instanceof Unfetched ? stayAt : { here, candidates, stayAt }
}

/** Where the user is in relation to the place of the stay. */
function positionOf(
  { place }: PlaceStay,
  here: PlacesHere,
  atlas: Atlas,
  latitude: number,
  longitude: number,
): StayPosition | Unfetched {
  const found = here.near.find((one) => one.place.id === place.id)
  if (found !== undefined) return found.meters
  // The place is farther away, or has left the data. The data at its own point decide that.
  const [x, y] = place.position
  // Its point is no farther from its edge than it extends.
  const there = atlas.placesAt(y, x, Math.min(AROUND_METERS, place.extentMeters))
  if (there instanceof Unfetched) return there
  if (!(there instanceof Unknown) && there.isCovered) {
    if (there.near.some((one) => one.place.id === place.id)) return Infinity
    // An import may also have moved it.
    const moved = atlas.placeById(place.id)
    if (moved instanceof Unfetched) return moved
    if (moved instanceof Unknown) return 'unknown'
    return moved === undefined ? 'gone' : Infinity
  }
  // Without its data, only a user who is beyond its whole area has left it.
  const least = pointDistance(latitude, longitude, y, x) - place.extentMeters
  return least > LEAVE_METERS ? least : 'unknown'
}

/**
 * The limits of the zone.
 * @param places those after the update
 */
function placeLimits(
  places: PlaceStays,
  { here, candidates, stayAt }: PlaceFacts,
  now: Circumstances,
): ZoneLimits {
  const { settings } = now
  const { placeFilters: filters } = settings
  const { stay } = places
  if (stay !== undefined && !passesFilters(stay.place, filters)) return NOWHERE_SAFE
  const { first, isStop } = decideFirst(places, candidates, now)
  if (first !== places.first) return NOWHERE_SAFE
  const [likeliest] = candidates
  let meters = firstStaysFor(likeliest, here, filters)
  let isHeld = false
  if (stay !== undefined) {
    const at = likeliest?.place.id === stay.place.id ? likeliest.meters : metersTo(stay, here, stayAt)
    if (at === undefined) return NOWHERE_SAFE
    isHeld = at <= CANDIDATE_METERS
    meters = Math.min(
      meters,
      isHeld ? CANDIDATE_METERS - at : Math.min(at - CANDIDATE_METERS, LEAVE_METERS - at),
    )
  }
  if (likeliest === undefined) return { ...NO_LIMITS, meters }
  const limits = { ...NO_LIMITS, meters, accuracy: CANDIDATE_ACCURACY_METERS }
  if (first === undefined || isHeld) return limits
  // An entry that is only held back may happen at the next update.
  if (isStop) return NOWHERE_SAFE
  // An entry that is about to happen does so at the first update at or after that time.
  const until = first.since + settings.placeMinimumStaySeconds * 1000 - 1
  return { ...limits, until, onlyMoving: true }
}

/**
 * How far the user may move before the stay may end. 0 or less if that is not known.
 * @param places those after the update
 */
function staysFor(
  { stay }: PlaceStays,
  { here, candidates, stayAt }: PlaceFacts,
  { placeFilters }: Settings,
): number {
  if (stay === undefined) return Infinity
  if (!passesFilters(stay.place, placeFilters)) return 0
  const [likeliest] = candidates
  const at = likeliest?.place.id === stay.place.id ? likeliest.meters : metersTo(stay, here, stayAt)
  return at === undefined ? 0 : CANDIDATE_METERS - at
}

/** The distance to a place in metres; undefined if it is not known. */
function metersTo(
  { place }: PlaceStay,
  { near }: PlacesHere,
  stayAt: StayPosition | undefined,
): number | undefined {
  const found = near.find((one) => one.place.id === place.id)
  if (found !== undefined) return found.meters
  return typeof stayAt === 'number' && stayAt <= LEAVE_METERS ? stayAt : undefined
}
