import type { CommandCommit, CommandKind } from '../actor/command.ts'
import type { FeedRow, FeedUpdate } from '../actor/feedTable.ts'
import type { Partition } from '../actor/partition.ts'
import { entryConfidence, evaluatedAccuracy, type Confidence } from '../geometry/confidence.ts'
import { Probe } from '../geometry/probe.ts'
import type { GeofenceProperties } from '../model/geofence.ts'
import { isEnded, type Trip, type TripOptions, type TripStatus } from '../model/trip.ts'
import type { ScopeView } from '../rules/port.ts'
import { created } from './machine/change.ts'
import type { EtaQuestion } from './machine/eta.ts'
import { moved, type MeasuredWay, type MoveSurroundings, type TripMove } from './machine/move.ts'
import { seen } from './machine/places.ts'
import { commitStep, knownGeofences, tripAtCommit } from './step.ts'
import { TRIPS } from './tripActor.ts'
import { tripJson } from './tripRecord.ts'
import { OF_TRIP, type TripRef } from './tripRef.ts'
import { isFreed, type Reservation } from './reservation.ts'

/** An update that the feed of its device reports to one trip. */
export interface TripMoveCall extends TripRef {
  readonly row: FeedRow & { readonly update: FeedUpdate }
  /** Whether the options of the update name the trip. Otherwise it is one of the user's. */
  readonly isNamed: boolean
  /** Creates the trip if it does not exist. Its name was reserved for it. */
  readonly create?: Reservation & { readonly externalId: string }
  /** The answer to the question that an earlier attempt returned. */
  readonly way?: MeasuredWay
}

/** The result. Its texts are finished JSON. */
export type TripMoveResult =
  /** A way must be measured first. */
  | { readonly is: 'question'; readonly question: EtaQuestion }
  /** There is no such trip, or it belongs to others, or it has ended. */
  | { readonly is: 'absent' | 'foreign' | 'ended' }
  /** The name that was reserved for the trip is free again. */
  | { readonly is: 'stale' }
  | MovedTrip

/** The trip after the update, which may not have changed it. */
export interface MovedTrip {
  readonly is: 'moved'
  readonly status: TripStatus
  /** In epoch milliseconds. */
  readonly createdAt: number
  readonly startedAt: number | null
  readonly userId: string | null
  readonly hasEnded: boolean
  /**
   * Whether the trip knows the row from now on, so that it ignores the row when it is told again, whatever happens in
   * the meantime.
   */
  readonly isHeard: boolean
  readonly trip: string
  readonly events: readonly string[]
}

/**
 * Moves a trip by an update. The same row moves it once: it remembers the number of the device's last row.
 */
export const TRIP_MOVE: CommandKind<TripMoveCall, TripMoveResult> = {
  name: 'trip.move',
  isBounded: false,
  isBeforeUpdates: false,
  nowhere: { is: 'absent' },

  partitionOf: OF_TRIP.partitionOf,

  /** The call is sent as JSON, because metadata may have any keys. */
  encode: (call) => JSON.stringify(call),
  decode: (json) => JSON.parse(json as string) as TripMoveCall,

  apply(partition, call, commit) {
    const found = tripOf(partition, call, commit)
    if (!('isNew' in found)) return found
    const { isNew } = found
    const { user, number, update } = call.row
    let { trip } = found
    const heard = trip.heard.find(({ deviceId }) => deviceId === user.deviceId)
    if (heard !== undefined && heard.number >= number) {
      // The row was told before, and the answer was lost.
      const isLast = heard === trip.heard[0] && heard.number === number
      return { ...resultOf(trip, commit, isLast ? trip.told : []), isHeard: true }
    }
    if (isEnded(trip.status)) return { is: 'ended' }
    if (!isTheirs(trip, call)) return { is: 'foreign' }
    if (call.isNamed) trip = { ...trip, deviceId: user.deviceId, userId: trip.userId ?? user.userId }
    const view = commit.registry.scope(trip.scope)
    const stepped = moved(trip, moveOf(call.row), moveSurroundings(view, commit.time), call.way)
    if (stepped !== undefined && 'stops' in stepped) return { is: 'question', question: stepped }
    if (stepped === undefined) {
      if (isNew) commitStep(partition, commit, trip, { events: [] }, causeOfRow(call.row))
      return resultOf(trip, commit, [])
    }
    const { time, latitude, longitude, isInaccurate } = update
    const events = commitStep(partition, commit, stepped.trip, stepped, causeOfRow(call.row), {
      isTold: true,
      trail: { added: isInaccurate ? undefined : { time, latitude, longitude } },
    })
    return { ...resultOf(stepped.trip, commit, events), isHeard: true }
  },

  repeat: (apply) => apply(),
}

function tripOf(
  partition: Partition,
  { scope, id, create, row: { user, update } }: TripMoveCall,
  commit: CommandCommit,
): { readonly trip: Trip; readonly isNew: boolean } | TripMoveResult {
  const table = partition.tableOf(TRIPS)
  const row = table.find(scope, id)
  if (row >= 0) return { trip: tripAtCommit(partition, commit, table.get(row)), isNew: false }
  if (create === undefined || update.options === undefined) return { is: 'absent' }
  if (isFreed(commit, scope, id, create)) return { is: 'stale' }
  // Without room there is no trip, but the update counts.
  if (!table.hasRoom(scope)) return { is: 'absent' }
  const { externalId } = create
  const { userId, deviceId } = user
  const trip = created({ id, scope, externalId, userId, deviceId }, user, commit.time)
  return { trip: withOptions(trip, update.options, commit.registry.scope(scope)), isNew: true }
}

/** The trip with options. A destination that does not exist yet counts once it exists. */
function withOptions(trip: Trip, options: TripOptions, view: ScopeView): Trip {
  const { destination, mode, approachingThreshold, scheduledArrivalAt, metadata } = options
  return {
    ...trip,
    mode: mode ?? trip.mode,
    approachingThreshold,
    scheduledArrivalAt,
    metadata,
    destination: destination && seen({ type: 'geofence', ...destination }, knownGeofences(view)),
  }
}

/** Whether the device may move the trip. */
export function isTheirs(
  trip: Trip,
  { row: { user }, isNamed }: Pick<TripMoveCall, 'row' | 'isNamed'>,
): boolean {
  if (trip.userId !== undefined) return trip.userId === user.userId
  return isNamed && (trip.deviceId === undefined || trip.deviceId === user.deviceId)
}

/** The update as trips see it. */
export function moveOf({ user: { id, userId, deviceId }, number, update }: TripMoveCall['row']): TripMove {
  return { deviceId, number, user: { id, userId, deviceId }, accuracy: undefined, ...update }
}

/** The update as the cause of events. */
export function causeOfRow({ user, update }: TripMoveCall['row']) {
  const { metadata, latitude, longitude, accuracy, time, receivedAt } = update
  const { replayed, foreground, stopped } = update
  return {
    user: { ...user, metadata },
    place: { latitude, longitude, accuracy },
    time,
    receivedAt,
    flags: { replayed, foreground, stopped },
  }
}

const probe = new Probe()

/**
 * What a trip depends on besides the update.
 * @param now the server's time
 */
export function moveSurroundings(view: ScopeView, now: number): MoveSurroundings {
  const { index, settings } = view
  return {
    now,
    settings,
    geofences: knownGeofences(view),
    confidenceIn({ id }: GeofenceProperties, { latitude, longitude, accuracy }: TripMove): Confidence {
      const slot = index.slotOf(id)
      if (slot < 0 || accuracy === undefined) return 1
      const meters = evaluatedAccuracy(accuracy)
      probe.set(latitude, longitude)
      const distance = index.distance(slot, probe)
      const coverage = distance <= -meters || meters === 0 ? 1 : index.coverage(slot, probe, meters)
      return entryConfidence(distance, coverage, meters)
    },
  }
}

function resultOf(trip: Trip, { registry }: CommandCommit, events: readonly string[]): MovedTrip {
  const { settings } = registry.scope(trip.scope)
  return {
    is: 'moved',
    status: trip.status,
    createdAt: trip.createdAt,
    startedAt: trip.startedAt ?? null,
    userId: trip.userId ?? null,
    hasEnded: isEnded(trip.status),
    isHeard: false,
    trip: tripJson(trip, settings),
    events,
  }
}
