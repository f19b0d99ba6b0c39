import type { CommandCommit, CommandKind } from '../actor/command.ts'
import type { Partition } from '../actor/partition.ts'
import type { Metadata } from '../model/metadata.ts'
import { isEnded, type ActiveStatus, type Trip, type TripPlace, type TripUser } from '../model/trip.ts'
import { ApiError, notFound } from '../runtime/errors.ts'
import { changed, created, type CallSurroundings, type Stepped, type TripChange } from './machine/change.ts'
import { withLegStatus, withOrder } from './machine/legs.ts'
import type { WantedStatus } from './machine/table.ts'
import { causeOf, commitStep, knownGeofences, tripAtCommit } from './step.ts'
import { TRIPS } from './tripActor.ts'
import { OF_TRIP, type TripRef } from './tripRef.ts'
import { isFreed, type Reservation } from './reservation.ts'
import { locationRecords, legRecord, tripJson, userRecord } from './tripRecord.ts'

/** The last record and position of a trip's user, as the caller found them. */
export interface Whereabouts {
  readonly user: TripUser & { readonly metadata?: Metadata | undefined }
  readonly place: TripPlace
}

/** A call of the API on one trip. */
export interface TripCall extends TripRef {
  /** Creates the trip if it does not exist. Its name was reserved for it. */
  readonly create?: Reservation & { readonly externalId: string; readonly userId?: string | undefined }
  /** Whether a trip that has ended stays as it is. */
  readonly isPost?: boolean
  /** Whether the trip has its name, so that it may be restarted. */
  readonly mayRestart?: boolean
  readonly seen?: Whereabouts | undefined
  readonly wantsLocations?: boolean
  /** The change. A call has exactly one of these members. */
  readonly change?: TripChange
  readonly leg?: { readonly legId: string; readonly status: WantedStatus }
  readonly order?: readonly string[]
  /** A number that is drawn for each call. */
  readonly callId?: number
  /** Whether it came in a message, so that there may be copies of it. */
  readonly isSent?: boolean
}

/** How many calls a trip remembers. Copies of earlier ones would have to be on the way while so many were answered. */
const MOST_CALLED = 8

/** The result of a call. Its texts are finished JSON. */
export interface TripCallResult {
  /** Whether nothing was done, because the trip has ended and the call needs another one, or its name. */
  readonly isOver: boolean
  readonly hasEnded: boolean
  readonly userId: string | null
  /** The trip without user and locations. */
  readonly trip: string
  readonly user: string | null
  readonly locations: string | null
  readonly leg: string | null
  readonly events: readonly string[]
}

/** Creates or changes a trip. */
export const TRIP_CALL: CommandKind<TripCall, TripCallResult> = {
  name: 'trip.call',
  isBounded: true,
  isBeforeUpdates: false,

  partitionOf: OF_TRIP.partitionOf,

  /** The call is sent as JSON, because metadata may have any keys. */
  encode: (call) => JSON.stringify({ ...call, isSent: true } satisfies TripCall),
  decode: (json) => JSON.parse(json as string) as TripCall,

  apply(partition, call, commit) {
    const { scope, id } = call
    const table = partition.tableOf(TRIPS)
    const row = table.find(scope, id)
    if (row >= 0) return changeOf(partition, commit, call, tripAtCommit(partition, commit, table.get(row)))
    if (call.create === undefined) return notFound('Trip')
    if (isFreed(commit, scope, id, call.create))
      return new ApiError(503, 'The trip could not be created in time. Try again.', { retryAfter: 1 })
    if (!table.hasRoom(scope)) return noRoom()
    const { externalId, userId } = call.create
    const trip = created({ id, scope, externalId, userId }, userOf(call.seen), commit.time)
    return changeOf(partition, commit, call, trip, true)
  },

  /** A repeated call changes nothing more, and makes no event. */
  repeat: (apply) => apply(),
}

function changeOf(
  partition: Partition,
  commit: CommandCommit,
  call: TripCall,
  trip: Trip,
  isNew = false,
): TripCallResult | ApiError {
  const { seen, isPost = false } = call
  const { time: now, registry } = commit
  if (call.callId !== undefined && trip.called?.includes(call.callId))
    return resultOf(partition, commit, call, trip, [])
  if (isEnded(trip.status) && (isPost || (wakes(call) && !call.mayRestart)))
    return resultOf(partition, commit, call, trip, [], true)
  // Before an update moves the trip, its record is the latest one of its user.
  const known = trip.movedAt === undefined && seen !== undefined ? { ...trip, user: userOf(seen) } : trip
  const stepped = stepOf(known, call, { geofences: knownGeofences(registry.scope(trip.scope)), now })
  if (stepped instanceof ApiError) return stepped
  if (!isNew && stepped.trip === known) {
    const same = withCall(trip, call)
    // A copy of it could change what comes after it.
    if (same !== trip) partition.tableOf(TRIPS).put(commit.writer, same)
    return resultOf(partition, commit, call, trip, [])
  }
  const isCleared = isEnded(trip.status) && !isEnded(stepped.trip.status)
  const cause = causeOf(stepped.trip, now, seen)
  const next = withCall(stepped.trip, call)
  const events = commitStep(partition, commit, next, stepped, cause, { trail: { isCleared } })
  return resultOf(partition, commit, call, next, events)
}

/**
 * The trip after a call, which it remembers if there may be copies of it. The process that has answered the call knows them.
 * But if the trip gets another owner, a copy that comes then would be done again, and would undo what came after the call.
 */
function withCall(trip: Trip, { callId, isSent }: TripCall): Trip {
  if (callId === undefined || isSent !== true) return trip
  return { ...trip, called: [callId, ...(trip.called ?? [])].slice(0, MOST_CALLED) }
}

function stepOf(trip: Trip, call: TripCall, surroundings: CallSurroundings): Stepped | ApiError {
  if (call.leg !== undefined) return withLegStatus(trip, call.leg.legId, call.leg.status, surroundings)
  if (call.order !== undefined) return withOrder(trip, call.order, surroundings)
  return changed(trip, call.change ?? {}, surroundings)
}

const ACTIVE: ReadonlySet<WantedStatus> = new Set<ActiveStatus>([
  'pending',
  'started',
  'approaching',
  'arrived',
])

/** Whether the call restarts a trip that has ended. */
function wakes({ change }: TripCall): boolean {
  return change?.status !== undefined && ACTIVE.has(change.status)
}

function userOf(seen: Whereabouts | undefined): TripUser | undefined {
  if (seen === undefined) return undefined
  const { id, userId, deviceId } = seen.user
  return { id, userId, deviceId }
}

function resultOf(
  partition: Partition,
  { registry }: CommandCommit,
  { leg: named, wantsLocations }: TripCall,
  trip: Trip,
  events: readonly string[],
  isOver = false,
): TripCallResult {
  const { settings } = registry.scope(trip.scope)
  const table = partition.tableOf(TRIPS)
  const leg = named && trip.legs?.find(({ id }) => id === named.legId)
  const trail = wantsLocations ? table.trail(table.find(trip.scope, trip.id)) : undefined
  return {
    isOver,
    hasEnded: isEnded(trip.status),
    userId: trip.userId ?? null,
    trip: tripJson(trip, settings),
    user: trip.user === undefined ? null : JSON.stringify(userRecord(trip.user)),
    locations: wantsLocations ? JSON.stringify(locationRecords(trail)) : null,
    leg: leg === undefined ? null : JSON.stringify(legRecord(leg)),
    events,
  }
}

/** An error for a lack of room. Its code is not 503, which would mean that the same call may succeed at once. */
function noRoom(): ApiError {
  const sentence =
    'externalId: No room for another trip: the users and trips of this environment or server take as much memory as they may (deviceBytes).'
  return new ApiError(429, sentence, { param: 'externalId', retryAfter: 60 })
}
