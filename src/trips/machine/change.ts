import type { TravelMode } from '../../model/geofence.ts'
import { sameMetadata, type Metadata } from '../../model/metadata.ts'
import { currentLeg, isEnded, type Destination, type Trip, type TripUser } from '../../model/trip.ts'
import { ApiError, badParam } from '../../runtime/errors.ts'
import { withLegDrafts, type LegDraft } from './legs.ts'
import { isSamePlace, seen, type KnownGeofences } from './places.ts'
import { cleared, withStatus } from './status.ts'
import { CALLS, ENDS, inOrder, type Letter, type WantedStatus } from './table.ts'

/** What a call wants to change in a trip. Fields that are absent stay. */
export interface TripChange {
  readonly userId?: string | undefined
  /** The tag and externalId of a geofence. */
  readonly destination?: { readonly tag: string; readonly externalId: string } | undefined
  readonly mode?: TravelMode | undefined
  /** In minutes, more than 0 and up to 1440. */
  readonly approachingThreshold?: number | undefined
  /** In epoch milliseconds. */
  readonly scheduledArrivalAt?: number | undefined
  readonly metadata?: Metadata | undefined
  readonly legs?: readonly LegDraft[] | undefined
  readonly status?: WantedStatus | undefined
}

/** A trip after a step, and the events of the step in order. */
export interface Stepped {
  readonly trip: Trip
  readonly events: readonly Letter[]
}

/** What a call knows besides what it wants. */
export interface CallSurroundings {
  readonly geofences: KnownGeofences
  /** The server time, in epoch milliseconds. */
  readonly now: number
}

/** A new trip, pending. */
export function created(
  identity: Pick<Trip, 'id' | 'scope' | 'externalId' | 'userId' | 'deviceId'>,
  user: TripUser | undefined,
  now: number,
): Trip {
  return {
    ...identity,
    user,
    mode: 'car',
    status: 'pending',
    createdAt: now,
    updatedAt: now,
    isThere: false,
    isDelayTold: false,
    isEstimateStale: false,
    heard: [],
    told: [],
  }
}

/**
 * A call on a trip: first its fields are changed, then its status.
 * @returns the same trip if nothing changes; an error if the call is refused
 */
export function changed(trip: Trip, change: TripChange, surroundings: CallSurroundings): Stepped | ApiError {
  const { now } = surroundings
  const { status: wanted } = change
  const { to, events, is } = CALLS[wanted ?? 'changed'][trip.status]
  if (is === 'refused')
    return badParam('status', `This trip is ${trip.status}. That does not change any more.`)
  if (change.userId !== undefined && trip.userId !== undefined && change.userId !== trip.userId)
    return badParam('userId', 'This trip belongs to another user.')
  const isOver = isEnded(trip.status) && is !== 'restart'
  const before = is === 'restart' ? cleared(trip, now) : trip
  const fields = isOver ? withMetadata(before, change.metadata) : withFields(before, change, surroundings)
  if (fields instanceof ApiError) return fields
  const isChanged = fields !== before
  const next = isChanged ? { ...fields, updatedAt: now } : fields
  if (to !== 'same') {
    // If it was restarted, it has this status already.
    const after = to === next.status ? next : withStatus(next, to, now, now)
    return { trip: after, events: inOrder(events) }
  }
  if (!isChanged) return { trip, events: [] }
  const isTold = trip.status !== 'pending' && !isEnded(trip.status)
  return { trip: next, events: isTold ? ['U'] : [] }
}

/**
 * Ends a trip without a call.
 * @param at when it happened, in epoch milliseconds
 */
export function endedBy(trip: Trip, cause: keyof typeof ENDS, at: number, now: number): Stepped {
  const { to, events } = ENDS[cause][trip.status]
  return { trip: to === 'same' ? trip : withStatus(trip, to, at, now), events }
}

function withMetadata(trip: Trip, metadata: Metadata | undefined): Trip {
  return metadata === undefined || sameMetadata(metadata, trip.metadata) ? trip : { ...trip, metadata }
}

/** The same trip if no field changes. */
function withFields(trip: Trip, change: TripChange, surroundings: CallSurroundings): Trip | ApiError {
  const { userId, mode, approachingThreshold, scheduledArrivalAt } = change
  let next = withMetadata(trip, change.metadata)
  if (userId !== undefined && userId !== next.userId) next = { ...next, userId }
  if (approachingThreshold !== undefined && approachingThreshold !== next.approachingThreshold)
    next = { ...next, approachingThreshold }
  if (scheduledArrivalAt !== undefined && scheduledArrivalAt !== next.scheduledArrivalAt)
    next = { ...next, scheduledArrivalAt }
  if (mode !== undefined && mode !== next.mode) next = { ...next, mode, isEstimateStale: true }
  const to = withDestination(next, change, surroundings)
  return to instanceof ApiError || change.legs === undefined
    ? to
    : withLegDrafts(to, change.legs, surroundings)
}

function withDestination(
  trip: Trip,
  { destination: wanted, status, legs }: TripChange,
  { geofences }: CallSurroundings,
): Trip | ApiError {
  if (wanted === undefined) return trip
  const { tag, externalId } = wanted
  const present = trip.legs === undefined ? trip.destination : currentLeg(trip)?.destination
  // Clients send back the destination that they were answered.
  if (present?.tag === tag && present.externalId === externalId) return trip
  if (trip.legs !== undefined)
    return badParam(
      'destinationGeofenceTag',
      'The destination of a trip with legs is that of its current leg.',
    )
  if (legs !== undefined) return badParam('legs', 'A trip has either a destination or legs.')
  const known = geofences.named(tag, externalId)
  if (known === undefined) {
    // A trip that ends does not need one any more.
    if (status === 'completed' || status === 'canceled') return trip
    return badParam('destinationGeofenceExternalId', 'There is no geofence with this tag and externalId.')
  }
  const destination = seen({ type: 'geofence', tag, externalId }, geofences)
  return movedTo(trip, destination)
}

/** The trip with another destination. The next update finds out whether the device is there. */
function movedTo(trip: Trip, destination: Destination): Trip {
  if (isSamePlace(trip.destination, destination)) return trip
  return { ...trip, destination, isThere: false, isEstimateStale: true }
}
