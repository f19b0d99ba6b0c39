import { sameMetadata, type Metadata } from '../../model/metadata.ts'
import { isEnded, type ActiveStatus, type Destination, type Leg, type Trip } from '../../model/trip.ts'
import { ApiError, badParam, notFound } from '../../runtime/errors.ts'
import type { CallSurroundings, Stepped } from './change.ts'
import { isSamePlace, seen } from './places.ts'
import { firstOpen, legWith, withCurrent, withLeg, withStatus } from './status.ts'
import { CALLS, inOrder, type Letter, type WantedStatus } from './table.ts'

/**
 * The legs of a trip: replaced, put into another order, and given a status one by one.
 *
 * Invariants
 * - LEGS-1: A trip with legs that has not ended has an open current leg, whose status is the trip's. All other open
 *   legs are pending.
 */

/** How many legs a trip may have, including closed ones. */
const MAX_LEGS = 100

/** A leg in the form in which a call gives it. */
export interface LegDraft {
  /** The id that was given. If the trip has this leg, it keeps its state. */
  readonly id?: string | undefined
  /** The id of a leg that the trip does not have yet. Each call draws its own, so a trip that has it has had the call. */
  readonly newId: string
  /** The destination. A geofence is named by its pair or its `_id`, and others have their position. */
  readonly destination?: Destination | undefined
  readonly stopDuration?: number | undefined
  readonly metadata?: Metadata | undefined
}

/**
 * The trip with other open legs. Closed ones stay. It is the same trip if nothing changes, and if the call was made before:
 * a copy of it may arrive after updates have moved the trip, and would begin its legs again.
 */
export function withLegDrafts(
  trip: Trip,
  drafts: readonly LegDraft[],
  surroundings: CallSurroundings,
): Trip | ApiError {
  const before = trip.legs ?? []
  if (drafts.some(({ newId }) => before.some(({ id }) => id === newId))) return trip
  const closed = before.filter(({ status }) => isEnded(status))
  const open: Leg[] = []
  const names = new Set<string>()
  for (const [i, draft] of drafts.entries()) {
    const known = before.find(({ id }) => id === draft.id)
    if (known !== undefined && names.has(known.id))
      return badParam(`legs.${i}._id`, 'This leg is named twice.')
    if (known !== undefined) names.add(known.id)
    const leg = legOf(draft, known, i, surroundings)
    if (leg instanceof ApiError) return leg
    const at = closed.findIndex(({ id }) => id === leg.id)
    if (at >= 0) closed[at] = leg
    else open.push(leg)
  }
  if (open.length === 0) return badParam('legs', 'At least one leg must be open.')
  const legs = [...closed, ...open]
  if (legs.length > MAX_LEGS)
    return badParam('legs', `A trip has at most ${MAX_LEGS} legs, closed ones included.`)
  if (legs.length === before.length && legs.every((leg, i) => leg === before[i])) return trip
  const next: Trip = { ...trip, legs, destination: undefined, isEstimateStale: true }
  return settled(next, surroundings.now)
}

function legOf(
  { newId, destination, stopDuration, metadata }: LegDraft,
  known: Leg | undefined,
  index: number,
  { geofences, now }: CallSurroundings,
): Leg | ApiError {
  let to = known?.destination
  if (destination !== undefined) {
    const { geofenceId, tag, externalId } = destination
    const byId = tag === undefined && geofenceId !== undefined
    const found = byId ? geofences.withId(geofenceId) : undefined
    const pair = found === undefined ? { tag, externalId } : found.geofence
    const isPresent = to?.type === 'geofence' && to.tag === pair.tag && to.externalId === pair.externalId
    if (destination.type === 'geofence' && !isPresent) {
      const { tag: ofPair, externalId: name } = pair
      if (ofPair === undefined || name === undefined || geofences.named(ofPair, name) === undefined) {
        const param = byId ? 'destinationGeofenceId' : 'destinationGeofenceExternalId'
        return badParam(`legs.${index}.destination.${param}`, 'There is no such geofence.')
      }
      to = seen({ type: 'geofence', tag: ofPair, externalId: name }, geofences)
    } else if (destination.type !== 'geofence' && !isSamePlace(to, destination)) to = destination
  }
  if (to === undefined) return badParam(`legs.${index}.destination`, 'Required.')
  if (known === undefined) {
    return {
      id: newId,
      status: 'pending',
      createdAt: now,
      updatedAt: now,
      stopDuration: stopDuration ?? 0,
      metadata,
      destination: to,
    }
  }
  const isSame =
    to === known.destination &&
    (stopDuration ?? known.stopDuration) === known.stopDuration &&
    (metadata === undefined || sameMetadata(metadata, known.metadata))
  if (isSame) return known
  return {
    ...known,
    updatedAt: now,
    destination: to,
    stopDuration: stopDuration ?? known.stopDuration,
    metadata: metadata ?? known.metadata,
  }
}

/** The trip with a current leg that is open. If it is another one than before, it is started. */
function settled(trip: Trip, now: number): Trip {
  const legs = trip.legs!
  const current = legs.find(({ id }) => id === trip.currentLegId)
  if (current !== undefined && !isEnded(current.status)) return { ...trip, isThere: false }
  const to: ActiveStatus = trip.status === 'pending' ? 'pending' : 'started'
  return withCurrent(trip, firstOpen(legs)!.id, to, now, now)
}

/** Makes the next open leg the current one, and starts it. The trip must have an open leg. */
export function nextLeg(trip: Trip, at: number, now: number): Trip {
  return withCurrent(
    trip,
    firstOpen(trip.legs!)!.id,
    trip.status === 'pending' ? 'pending' : 'started',
    at,
    now,
  )
}

/** Changes the order of the open legs, for PUT legs. */
export function withOrder(trip: Trip, ids: readonly string[], { now }: CallSurroundings): Stepped | ApiError {
  if (isEnded(trip.status))
    return badParam('legs', `This trip is ${trip.status}. Its legs do not change any more.`)
  const legs = trip.legs ?? []
  const named = ids.map((id) => legs.find((leg) => leg.id === id))
  if (new Set(ids).size < ids.length) return badParam('legs', 'A leg is named twice.')
  if (named.includes(undefined)) return badParam('legs', 'Must contain the `_id`s of legs of this trip.')
  const missing = legs.find(({ id, status }) => !isEnded(status) && !ids.includes(id))
  if (missing !== undefined || legs.length === 0)
    return badParam('legs', 'Must name every leg of this trip that is not closed.')
  const ordered = [...legs.filter(({ id }) => !ids.includes(id)), ...(named as Leg[])]
  if (ordered.every((leg, i) => leg === legs[i])) return { trip, events: [] }
  const next: Trip = { ...trip, legs: ordered, updatedAt: now, isEstimateStale: true }
  if (trip.status === 'arrived') return { trip: next, events: ['U'] }
  const isPending = trip.status === 'pending'
  const after = withCurrent(next, firstOpen(ordered)!.id, isPending ? 'pending' : 'started', now, now)
  return { trip: after, events: isPending ? [] : ['U'] }
}

/** Changes the status of a leg, for PATCH of a leg. */
export function withLegStatus(
  trip: Trip,
  legId: string,
  wanted: WantedStatus,
  { now }: CallSurroundings,
): Stepped | ApiError {
  const leg = trip.legs?.find(({ id }) => id === legId)
  if (leg === undefined) return notFound('Leg')
  if (isEnded(trip.status))
    return badParam('status', `This trip is ${trip.status}. Its legs do not change any more.`)
  if (leg.status === wanted) return { trip, events: [] }
  const isCurrent = leg.id === trip.currentLegId
  switch (wanted) {
    case 'pending':
      if (isCurrent) return badParam('status', 'The current leg cannot be pending. Make another one current.')
      return told(trip, { ...withLeg(trip, legWith(leg, 'pending', now, now)), isEstimateStale: true }, now)
    case 'completed':
    case 'canceled':
      return closing(trip, leg, wanted, now)
    default: {
      // The status of another leg is not that of the trip. It begins as a leg that was started.
      const from = isCurrent || trip.status === 'pending' ? trip.status : 'started'
      const { events } = CALLS[wanted][from]
      const next = withCurrent(trip, leg.id, wanted, now, now)
      return { trip: { ...next, updatedAt: now }, events: events.length > 0 ? events : ['U'] }
    }
  }
}

function closing(trip: Trip, leg: Leg, wanted: 'completed' | 'canceled', now: number): Stepped {
  const next = { ...withLeg(trip, legWith(leg, wanted, now, now)), isEstimateStale: true }
  if (firstOpen(next.legs!) === undefined) {
    const end = next.legs!.every(({ status }) => status === 'canceled') ? 'canceled' : 'completed'
    return { trip: withStatus(next, end, now, now), events: ['X'] }
  }
  return told(trip, leg.id === trip.currentLegId ? nextLeg(next, now, now) : next, now)
}

function told(before: Trip, trip: Trip, now: number): Stepped {
  const events: readonly Letter[] = before.status === 'pending' ? [] : ['U']
  return { trip: { ...trip, updatedAt: now }, events: inOrder(events) }
}
