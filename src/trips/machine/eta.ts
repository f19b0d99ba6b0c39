import { pointDistance } from '../../geometry/distance.ts'
import type { Position, TravelMode } from '../../model/geofence.ts'
import {
  currentLeg,
  isEnded,
  type Destination,
  type Estimate,
  type Eta,
  type Leg,
  type Section,
  type Trip,
} from '../../model/trip.ts'

/**
 * How far a trip is from its stops. The way is measured from time to time, by the road engine or in a straight line.
 * In between, the measured way is scaled with the straight line to the next stop. On a winding way, the result would
 * sometimes be wrong by half, so a point ahead on the way takes the place of the stop there. Measuring takes time, so
 * the sender of the update does it, and the result comes back here as an {@link Estimate}.
 */

/** The factor by which a way is longer than the straight line, and the speed on it in kilometres per hour. */
const DETOUR = 1.3
const KILOMETERS_AN_HOUR: Readonly<Record<TravelMode, number>> = {
  car: 40,
  motorbike: 40,
  truck: 35,
  bike: 15,
  foot: 5,
}
/** An estimate is valid within this distance in metres, however old it is. */
const MOVED_METERS = 50
/** An estimate that is older than this is made again before a trip becomes approaching. */
const FRESH_MS = 5000
/** The scaled way is at most this many times as long as the measured one. */
const MAX_FACTOR = 2
/**
 * If the straight line to the stop differs by more than this share, an ETA on the measured way is scaled along this way,
 * because the way winds and leads away from the stop for a while.
 */
const STRAIGHT_ENOUGH = 0.05
/** A point counts as on the way if going through it is a detour of no more than this, as a factor and in metres. */
const ON_THE_WAY = 1.3
const ON_THE_WAY_METERS = 50

/** A stop ahead. */
export interface Stop {
  /** The id of the leg; empty for a trip without legs. */
  readonly legId: string
  readonly destination: Destination
  readonly stopMinutes: number
}

/** What to measure: the way from a point through stops. */
export interface EtaQuestion {
  readonly mode: TravelMode
  readonly latitude: number
  readonly longitude: number
  readonly stops: readonly { readonly legId: string; readonly location: Position }[]
}

/** A section of a way, as it was measured. */
export interface MeasuredSection {
  readonly minutes: number
  readonly meters: number
  /** As in `Section` of a trip. */
  readonly ahead?: Section['ahead']
}

/** The stops ahead in the order in which they are visited: the current one first, without one that was reached. */
export function stopsAhead(trip: Trip): readonly Stop[] {
  const { legs, destination, status } = trip
  if (legs === undefined) {
    const isAhead = destination !== undefined && status !== 'arrived'
    return isAhead ? [{ legId: '', destination, stopMinutes: 0 }] : []
  }
  const current = currentLeg(trip)
  const open = legs.filter((leg) => !isEnded(leg.status))
  const inOrder = [current, ...open.filter((leg) => leg !== current)]
  return inOrder
    .filter((leg): leg is Leg => leg !== undefined && !isEnded(leg.status) && leg.status !== 'arrived')
    .map(({ id, destination: to, stopDuration }) => ({
      legId: id,
      destination: to,
      stopMinutes: stopDuration,
    }))
}

/** What must be measured; undefined if the position of the next stop is not known. */
export function questionOf(trip: Trip, latitude: number, longitude: number): EtaQuestion | undefined {
  const stops = []
  for (const { legId, destination } of stopsAhead(trip)) {
    if (destination.location === undefined) break
    stops.push({ legId, location: destination.location })
  }
  return stops.length === 0 ? undefined : { mode: trip.mode, latitude, longitude, stops }
}

/** Whether two questions have the same stops and mode, so that the answer to one is an answer to the other. */
export function isSameQuestion(a: EtaQuestion, b: EtaQuestion): boolean {
  return (
    a.mode === b.mode &&
    a.latitude === b.latitude &&
    a.longitude === b.longitude &&
    a.stops.length === b.stops.length &&
    a.stops.every(({ legId, location: [lon, lat] }, i) => {
      const other = b.stops[i]!
      return legId === other.legId && lon === other.location[0] && lat === other.location[1]
    })
  )
}

/**
 * Makes an estimate of an answer.
 * @param measured a section for each stop; if undefined, the road engine does not know, and straight lines count
 */
export function estimateOf(
  question: EtaQuestion,
  time: number,
  measured: readonly MeasuredSection[] | undefined,
): Estimate {
  const { mode, latitude, longitude, stops } = question
  let from: Position = [longitude, latitude]
  const sections = stops.map(({ legId, location }, i): Section => {
    const straightMeters = pointDistance(from[1], from[0], location[1], location[0])
    from = location
    const section = measured === undefined ? asTheCrowFlies(mode, straightMeters) : measured[i]!
    return { legId, ...section, straightMeters }
  })
  return { time, latitude, longitude, source: measured === undefined ? 'straight' : 'road', sections }
}

/** The way for a distance in metres in a straight line. */
export function asTheCrowFlies(mode: TravelMode, straightMeters: number): MeasuredSection {
  const meters = straightMeters * DETOUR
  return { meters, minutes: meters / ((KILOMETERS_AN_HOUR[mode] * 1000) / 60) }
}

/**
 * Whether the way must be measured again at an update of time t, although nothing about the trip has changed.
 * @param minutes to the next stop by the present estimate
 * @param threshold the minutes at which the trip is approaching; undefined if it never is, or is already
 */
export function isOutdated(
  estimate: Estimate,
  {
    time,
    latitude,
    longitude,
  }: { readonly time: number; readonly latitude: number; readonly longitude: number },
  etaSeconds: number,
  minutes: number,
  threshold: number | undefined,
): boolean {
  const age = time - estimate.time
  if (threshold !== undefined && minutes <= threshold && age > FRESH_MS) return true
  return (
    age >= etaSeconds * 1000 &&
    pointDistance(latitude, longitude, estimate.latitude, estimate.longitude) >= MOVED_METERS
  )
}

/** The minutes and metres to each stop ahead, by the id of its leg. */
export type Etas = ReadonlyMap<string, { readonly minutes: number; readonly meters: number }>

/**
 * How far it is to each stop ahead from a point, at time t.
 * @param trip the trip after the update; a stop that is not in the estimate ends the list, together with all later
 * ones
 */
export function etasAt(
  trip: Trip,
  estimate: Estimate,
  {
    time,
    latitude,
    longitude,
  }: { readonly time: number; readonly latitude: number; readonly longitude: number },
): Etas {
  const etas = new Map<string, { minutes: number; meters: number }>()
  const current = currentLeg(trip)
  const isAtStop = trip.status === 'arrived'
  // This begins with the rest of the stop's duration. The way continues after it.
  let minutes = 0
  if (isAtStop && current !== undefined) {
    const stayed = (time - (current.arrivedAt ?? time)) / 60_000
    minutes = Math.max(0, current.stopDuration - Math.max(0, stayed))
  }
  let meters = 0
  let isFirst = true
  for (const { legId, destination, stopMinutes } of stopsAhead(trip)) {
    const section = estimate.sections.find((one) => one.legId === legId)
    if (section === undefined || destination.location === undefined) break
    const isUnderWay = isFirst && !isAtStop
    const factor = isUnderWay ? factorOf(section, estimate, destination.location, latitude, longitude) : 1
    isFirst = false
    minutes += section.minutes * factor
    meters += section.meters * factor
    etas.set(legId, { minutes, meters })
    minutes += stopMinutes
  }
  return etas
}

/** What is left of a section, as a share of it. */
export function factorOf(
  section: Section,
  estimate: Estimate,
  [longitude, latitude]: Position,
  fromLatitude: number,
  fromLongitude: number,
): number {
  const { straightMeters } = section
  if (straightMeters < 1) return 1
  const left = pointDistance(fromLatitude, fromLongitude, latitude, longitude)
  const straight = Math.min(MAX_FACTOR, left / straightMeters)
  const along = factorAlong(section, estimate, fromLatitude, fromLongitude)
  return along === undefined || Math.abs(straight - along) <= STRAIGHT_ENOUGH * along ? straight : along
}

/** The same for a point between the beginning of the section and the point ahead; undefined for all others. */
function factorAlong(
  { ahead }: Section,
  estimate: Estimate,
  latitude: number,
  longitude: number,
): number | undefined {
  if (ahead === undefined) return undefined
  const { location, share } = ahead
  const length = pointDistance(estimate.latitude, estimate.longitude, location[1], location[0])
  const done = pointDistance(estimate.latitude, estimate.longitude, latitude, longitude)
  const left = pointDistance(latitude, longitude, location[1], location[0])
  if (length < 1 || done + left > ON_THE_WAY * length + ON_THE_WAY_METERS) return undefined
  return 1 - share + share * Math.min(1, left / length)
}

/** The ETA in the form of records. */
export function etaOf(
  { minutes, meters }: { readonly minutes: number; readonly meters: number },
  source: Eta['source'],
): Eta {
  return { duration: oneDecimal(minutes), distance: Math.round(meters), source }
}

export function oneDecimal(value: number): number {
  return Math.round(value * 10) / 10
}
