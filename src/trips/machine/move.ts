import { evaluatedAccuracy, type Confidence } from '../../geometry/confidence.ts'
import { lensShare } from '../../geometry/discOverlap.ts'
import { pointDistance } from '../../geometry/distance.ts'
import { isActiveAt, type GeofenceProperties } from '../../model/geofence.ts'
import type { Settings } from '../../model/settings.ts'
import { PLAIN_OFFSETS } from '../../model/zoneOffsets.ts'
import {
  currentLeg,
  destinationOf,
  isEnded,
  type ActiveStatus,
  type Destination,
  type Trip,
  type TripPlace,
  type TripUser,
} from '../../model/trip.ts'
import type { Circumstances } from '../../rules/circumstances.ts'
import { decide, isMeantFor } from '../../rules/geofenceRules.ts'
import type { CallSurroundings } from './change.ts'
import { delayOf } from './delay.ts'
import {
  estimateOf,
  etaOf,
  etasAt,
  isOutdated,
  isSameQuestion,
  questionOf,
  stopsAhead,
  type EtaQuestion,
  type MeasuredSection,
} from './eta.ts'
import { hears, withHeard } from './heard.ts'
import { nextLeg } from './legs.ts'
import { seen } from './places.ts'
import { legWith, withLeg, withStatus } from './status.ts'
import { inOrder, UPDATES, type Letter, type UpdateInput } from './table.ts'

/** An update of a device, as trips see it. */
export interface TripMove {
  readonly deviceId: string
  /** A number that ascends with the updates of the device. */
  readonly number: number
  readonly user: TripUser
  /** The time t, in epoch milliseconds. */
  readonly time: number
  /** The server time, in epoch milliseconds. */
  readonly receivedAt: number
  readonly latitude: number
  readonly longitude: number
  /** In metres, as it was sent. */
  readonly accuracy: number | undefined
  readonly foreground: boolean
  readonly stopped: boolean
  /** Whether the accuracy is worse than `maxAccuracyMeters`. */
  readonly isInaccurate: boolean
  /** The `_id`s of the geofences that the device is in after the update. */
  readonly inside: readonly string[]
  /** The geofences that the device entered with this update. */
  readonly entered: readonly EnteredGeofence[]
}

export interface EnteredGeofence {
  readonly id: string
  readonly confidence: Confidence
}

export interface MoveSurroundings extends CallSurroundings {
  readonly settings: Settings
  /** The confidence with which the device is in a geofence that it is in. */
  confidenceIn(geofence: GeofenceProperties, move: TripMove): Confidence
}

/** A way that was measured for a move. If it has no sections, the road engine does not know it. */
export interface MeasuredWay {
  readonly question: EtaQuestion
  readonly sections: readonly MeasuredSection[] | undefined
}

/** A trip after an update. */
export interface Moved {
  readonly trip: Trip
  readonly events: readonly Letter[]
  /** The confidence of an arrival. */
  readonly confidence: Confidence | undefined
  /** For each W, in order, the geofence that was entered. */
  readonly wrong: readonly WrongGeofence[]
}

/** How many events `user.arrived_at_wrong_trip_destination` one update makes for a trip at most: for the first geofences that it entered. */
export const MOST_WRONG = 100

export interface WrongGeofence {
  readonly geofence: GeofenceProperties
  readonly confidence: Confidence
}

/**
 * Moves a trip by an update.
 * @param way the answer to the question that an earlier attempt returned
 * @returns undefined if the update leaves the trip as it is; a question if a way must be measured first
 */
export function moved(
  trip: Trip,
  move: TripMove,
  surroundings: MoveSurroundings,
  way: MeasuredWay | undefined,
): Moved | EtaQuestion | undefined {
  if (isEnded(trip.status) || (trip.movedAt !== undefined && move.time < trip.movedAt)) return undefined
  if (!hears(trip, move)) return undefined
  const { now, settings } = surroundings
  const status: ActiveStatus = trip.status
  const { user, time } = move
  const base = { ...withHeard(trip, move), user, movedAt: time, updatedAt: now }
  if (move.isInaccurate) {
    if (status !== 'pending') return undefined
    return {
      trip: withStatus(base, 'started', move.time, now),
      events: ['S'],
      confidence: undefined,
      wrong: [],
    }
  }
  const before = looked(base, surroundings)
  const arrival = arrivalAt(before, move, surroundings)
  const isThere = arrival !== undefined
  const hasLeft = !isThere && status === 'arrived' && trip.isThere && stopsAhead(before).length > 0
  let next = before
  if (isThere) next = withStatus(before, 'arrived', status === 'arrived' ? before.arrivedAt! : move.time, now)
  else if (hasLeft) next = afterStop(before, move.time, now)
  else if (status === 'pending') next = withStatus(before, 'started', move.time, now)

  const threshold = isThere || hasLeft ? undefined : thresholdOf(before, status, surroundings)
  const withWay = measured(before, next, move, { settings, threshold, way })
  if ('stops' in withWay) return withWay
  next = { ...withWay, isThere, place: placeOf(move) }
  if (next.estimate !== trip.estimate && !hasLeft) next = { ...next, isEstimateStale: false }

  const isNear = threshold !== undefined && minutesToNext(next) <= threshold
  const wrong = isThere ? [] : wrongGeofences(before, status, move, surroundings)
  const input: UpdateInput = isThere ? 'inside' : hasLeft ? 'left' : isNear ? 'near' : 'outside'
  const { to, events } = UPDATES[input][status]
  const letters = [...events, ...wrong.flatMap(() => UPDATES.wrong[status].events)]
  if (to === 'approaching') next = withStatus(next, 'approaching', move.time, now)
  if (isDelayedNow(next, settings)) {
    letters.push('D')
    next = { ...next, isDelayTold: true }
  }
  const told = inOrder(letters).filter(
    (letter) => letter !== 'U' || hasLeft || mayTell(trip, move.time, settings.tripUpdateSeconds),
  )
  if (told.includes('U')) next = { ...next, toldAt: move.time }
  return { trip: next, events: told, confidence: arrival, wrong }
}

function placeOf({ latitude, longitude, accuracy }: TripMove): TripPlace {
  return { latitude, longitude, accuracy }
}

/** The trip with the present state of its geofences. */
function looked(trip: Trip, { geofences }: MoveSurroundings): Trip {
  let isElsewhere = false
  const look = (destination: Destination): Destination => {
    const found = seen(destination, geofences)
    isElsewhere ||= found.location !== destination.location
    return found
  }
  const { destination, legs } = trip
  if (legs === undefined) {
    const found = destination && look(destination)
    if (found === destination) return trip
    return { ...trip, destination: found, isEstimateStale: trip.isEstimateStale || isElsewhere }
  }
  const found = legs.map((leg) => {
    const to = isEnded(leg.status) ? leg.destination : look(leg.destination)
    return to === leg.destination ? leg : { ...leg, destination: to }
  })
  if (found.every((leg, i) => leg === legs[i])) return trip
  return { ...trip, legs: found, isEstimateStale: trip.isEstimateStale || isElsewhere }
}

/** The confidence with which the device is at the destination; undefined if it is not. */
function arrivalAt(trip: Trip, move: TripMove, surroundings: MoveSurroundings): Confidence | undefined {
  const destination = destinationOf(trip)
  if (destination === undefined) return undefined
  const known = geofenceOf(destination, surroundings)
  if (known === undefined || !counts(known, move))
    return arrivalAtPoint(trip, destination, move, surroundings)
  if (!move.inside.includes(known.id)) return undefined
  const entry = move.entered.find(({ id }) => id === known.id)
  return entry?.confidence ?? surroundings.confidenceIn(known, move)
}

/** The present geofence of a destination. */
function geofenceOf(
  { tag, externalId }: Destination,
  { geofences }: MoveSurroundings,
): GeofenceProperties | undefined {
  if (tag === undefined || externalId === undefined) return undefined
  return geofences.named(tag, externalId)?.geofence
}

/** Whether the user can be in the geofence; otherwise it counts as a point. */
export function counts(
  geofence: GeofenceProperties,
  { user, receivedAt }: Pick<TripMove, 'user' | 'receivedAt'>,
): boolean {
  return isActiveAt(geofence, receivedAt) && isMeantFor(geofence, user.userId)
}

/**
 * Handles a destination that is a point. It is treated like a circle without its own rules, which is entered and left
 * without delays and events.
 */
function arrivalAtPoint(
  { isThere }: Trip,
  { location, radius }: Destination,
  move: TripMove,
  { settings }: MoveSurroundings,
): Confidence | undefined {
  if (location === undefined || radius === undefined) return undefined
  const accuracy = evaluatedAccuracy(move.accuracy)
  const toCenter = pointDistance(move.latitude, move.longitude, location[1], location[0])
  const now: Circumstances = {
    time: move.time,
    receivedAt: move.receivedAt,
    accuracy,
    accuracyKnown: move.accuracy !== undefined,
    userId: move.user.userId,
    ip: '',
    stopped: move.stopped,
    foreground: move.foreground,
    settings: { ...settings, entryDelaySeconds: 0, exitDelaySeconds: 0, dwellEvents: false },
    // The circle has no operating hours.
    zones: PLAIN_OFFSETS,
  }
  const distance = toCenter - radius
  const coverage = accuracy === 0 ? (distance <= 0 ? 1 : 0) : lensShare(accuracy, radius, toCenter)
  const visit = isThere ? { geofenceId: '', enteredAt: move.time, dwelled: true } : undefined
  const { outcome, confidence } = decide(visit, { geofence: CIRCLE, distance, coverage }, now)
  return outcome === 'entered' || outcome === 'inside' || outcome === 'exitWithheld' ? confidence : undefined
}

const CIRCLE: GeofenceProperties = {
  id: '',
  scope: 0,
  tag: '',
  externalId: '',
  description: '',
  type: 'circle',
  enabled: true,
  timeZone: 'UTC',
  createdAt: 0,
  updatedAt: 0,
}

/** The device has left an arrived leg's destination. */
function afterStop(trip: Trip, time: number, now: number): Trip {
  const leg = currentLeg(trip)!
  return nextLeg(withLeg(trip, legWith(leg, 'completed', time, now)), time, now)
}

/** The minutes at which the trip is approaching; undefined if it cannot become so. */
function thresholdOf(trip: Trip, status: ActiveStatus, surroundings: MoveSurroundings): number | undefined {
  if (status !== 'pending' && status !== 'started') return undefined
  const destination = destinationOf(trip)
  const ofGeofence = destination && geofenceOf(destination, surroundings)?.tripApproachingThreshold
  return (
    trip.approachingThreshold ?? ofGeofence ?? surroundings.settings.tripApproachingThreshold ?? undefined
  )
}

/** The trip with the estimate and the ETAs after the update, or the question whose answer they need. */
function measured(
  before: Trip,
  next: Trip,
  move: TripMove,
  known: {
    readonly settings: Settings
    readonly threshold: number | undefined
    readonly way: MeasuredWay | undefined
  },
): Trip | EtaQuestion {
  const { settings, threshold, way } = known
  const { estimate } = before
  const present = withEtas(next, move)
  const isNeeded =
    estimate === undefined ||
    before.isEstimateStale ||
    isOutdated(estimate, move, settings.tripEtaSeconds, minutesToNext(present), threshold)
  if (!isNeeded) return present
  const question = questionOf(next, move.latitude, move.longitude)
  if (question === undefined) return present
  if (way === undefined || !isSameQuestion(way.question, question)) return question
  return withEtas({ ...next, estimate: estimateOf(question, move.time, way.sections) }, move)
}

/** The trip and its open legs with the ETAs of the update. */
function withEtas(trip: Trip, move: TripMove): Trip {
  const { estimate, legs } = trip
  if (estimate === undefined) return trip
  const etas = etasAt(trip, estimate, move)
  const etaTo = (legId: string) => {
    const eta = etas.get(legId)
    return eta && etaOf(eta, estimate.source)
  }
  if (legs === undefined) return trip.status === 'arrived' ? trip : { ...trip, eta: etaTo('') }
  const ahead = stopsAhead(trip)
  const last = ahead.at(-1)
  return {
    ...trip,
    eta: last === undefined ? trip.eta : etaTo(last.legId),
    legs: legs.map((leg) =>
      ahead.some(({ legId }) => legId === leg.id) ? { ...leg, eta: etaTo(leg.id) } : leg,
    ),
  }
}

/** The minutes to the destination; Infinity if they are not known. */
function minutesToNext(trip: Trip): number {
  const eta = trip.legs === undefined ? trip.eta : currentLeg(trip)?.eta
  return eta?.duration ?? Infinity
}

/** The geofences of the destination's tag that the device has entered instead. */
function wrongGeofences(
  trip: Trip,
  status: ActiveStatus,
  { entered }: TripMove,
  { settings, geofences }: MoveSurroundings,
): readonly WrongGeofence[] {
  const destination = destinationOf(trip)
  if (!settings.tripWrongDestinationEvents || destination?.tag === undefined || status === 'arrived')
    return []
  const meant = new Set([destination.externalId])
  for (const leg of trip.legs ?? [])
    if (!isEnded(leg.status) && leg.destination.tag === destination.tag) meant.add(leg.destination.externalId)
  const wrong: WrongGeofence[] = []
  for (const { id, confidence } of entered) {
    if (wrong.length === MOST_WRONG) break
    const geofence = geofences.withId(id)?.geofence
    if (geofence?.tag === destination.tag && !meant.has(geofence.externalId))
      wrong.push({ geofence, confidence })
  }
  return wrong
}

/** Whether the trip is late for the first time. */
function isDelayedNow(trip: Trip, { tripDelayThreshold }: Settings): boolean {
  return !trip.isDelayTold && delayOf(trip, -Infinity, tripDelayThreshold)?.delayed === true
}

export function mayTell({ toldAt }: Pick<Trip, 'toldAt'>, time: number, seconds: number): boolean {
  return toldAt === undefined || time - toldAt >= seconds * 1000
}
