import {
  currentLeg,
  isEnded,
  type ActiveStatus,
  type EndedStatus,
  type Eta,
  type Leg,
  type Trip,
  type TripStatus,
} from '../../model/trip.ts'
import { stopsAhead } from './eta.ts'

/** What a status means for the times of a trip and for its legs. All times are in epoch milliseconds. */

/**
 * The trip with another status.
 * @param at when it happened: the time t of an update, or now
 * @param now the server's time
 */
export function withStatus(trip: Trip, to: TripStatus, at: number, now: number): Trip {
  return isEnded(to) ? ended(trip, to, at, now) : active(trip, to, at, now)
}

function active(trip: Trip, to: ActiveStatus, at: number, now: number): Trip {
  const wasThere = trip.status === 'arrived'
  const isThere = to === 'arrived'
  const next: Trip = {
    ...trip,
    status: to,
    updatedAt: now,
    startedAt: to === 'pending' ? undefined : (trip.startedAt ?? at),
    arrivedAt: isThere ? (wasThere ? trip.arrivedAt : at) : undefined,
    // If the arrival was taken back, nobody knows how far it is. The next update finds out.
    eta: wasThere && !isThere ? undefined : trip.eta,
  }
  const withLegs = withCurrentLeg(next, (leg) => legWith(leg, to, at, now))
  return isThere ? withoutWay(withLegs) : withLegs
}

/** The trip with an empty way, because it has arrived. With legs, the trip's way is the one to the last leg. */
function withoutWay(trip: Trip): Trip {
  const eta: Eta = { duration: 0, distance: 0, source: trip.eta?.source ?? 'straight' }
  const next = withCurrentLeg(trip, (leg) => ({ ...leg, eta }))
  return stopsAhead(next).length === 0 ? { ...next, eta } : next
}

function ended(trip: Trip, to: EndedStatus, at: number, now: number): Trip {
  return {
    ...trip,
    status: to,
    updatedAt: now,
    endedAt: at,
    completedAt: to === 'completed' ? at : undefined,
    legs: trip.legs?.map((leg) => (isEnded(leg.status) ? leg : legWith(leg, to, at, now))),
  }
}

/** A leg with another status. */
export function legWith(leg: Leg, to: TripStatus, at: number, now: number): Leg {
  if (leg.status === to) return leg
  return {
    ...leg,
    status: to,
    updatedAt: now,
    arrivedAt: to === 'arrived' ? at : isEnded(to) ? leg.arrivedAt : undefined,
    completedAt: to === 'completed' ? at : undefined,
    eta: isEnded(to) ? undefined : leg.eta,
  }
}

/** The trip with its current leg changed. */
function withCurrentLeg(trip: Trip, change: (leg: Leg) => Leg): Trip {
  const current = currentLeg(trip)
  return current === undefined ? trip : withLeg(trip, change(current))
}

/** The trip with the leg in the place of the one with its id. */
export function withLeg(trip: Trip, leg: Leg): Trip {
  return { ...trip, legs: trip.legs!.map((one) => (one.id === leg.id ? leg : one)) }
}

/** The first leg that is not closed. */
export function firstOpen(legs: readonly Leg[]): Leg | undefined {
  return legs.find(({ status }) => !isEnded(status))
}

/**
 * Makes an open leg the current one, with the status of the trip. The previous one becomes pending again if it is
 * open.
 */
export function withCurrent(trip: Trip, id: string, to: ActiveStatus, at: number, now: number): Trip {
  const legs = trip.legs!.map((leg) =>
    leg.id !== id && leg.id === trip.currentLegId && !isEnded(leg.status)
      ? legWith(leg, 'pending', at, now)
      : leg,
  )
  const isOther = trip.currentLegId !== id
  const next: Trip = {
    ...trip,
    legs,
    currentLegId: id,
    isEstimateStale: trip.isEstimateStale || isOther,
    isThere: trip.isThere && !isOther,
  }
  // The arrival at another leg does not count for this one.
  const base = isOther && next.status === 'arrived' ? { ...next, status: 'started' as const } : next
  return active({ ...base, arrivedAt: isOther ? undefined : next.arrivedAt }, to, at, now)
}

/** The trip before its next run, with the same `_id` and without what belongs to the last run. */
export function cleared(trip: Trip, now: number): Trip {
  const legs = trip.legs?.map((leg): Leg => {
    const { arrivedAt: _, completedAt: __, eta: ___, ...rest } = leg
    return { ...rest, status: 'pending', updatedAt: now }
  })
  return {
    ...trip,
    status: 'pending',
    updatedAt: now,
    restartedAt: now,
    startedAt: undefined,
    arrivedAt: undefined,
    completedAt: undefined,
    endedAt: undefined,
    eta: undefined,
    movedAt: undefined,
    place: undefined,
    isThere: false,
    toldAt: undefined,
    isDelayTold: false,
    estimate: undefined,
    isEstimateStale: false,
    ...(legs !== undefined && { legs, currentLegId: legs[0]!.id }),
  }
}

/**
 * When a trip that has not ended expires; Infinity if it never does.
 * @param minutes the setting; null means never
 */
export function expiresAt(trip: Trip, minutes: number | null): number {
  if (minutes === null || isEnded(trip.status)) return Infinity
  return lifeBegan(trip) + minutes * 60_000
}

/** The time from which the expiration of a trip counts. */
export function lifeBegan({
  createdAt,
  restartedAt = 0,
  startedAt = 0,
  scheduledArrivalAt = 0,
}: Trip): number {
  return Math.max(createdAt, restartedAt, startedAt, scheduledArrivalAt)
}
