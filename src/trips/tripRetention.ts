import type { CommandKind } from '../actor/command.ts'
import type { ScopeId } from '../model/scope.ts'
import { TRIPS } from './tripActor.ts'
import { OF_TRIP, type TripRef } from './tripRef.ts'
import type { TripTable } from './tripTable.ts'

/** A trip that may be old. It is removed, or loses its locations, if it has not changed since these times, in epoch milliseconds. */
export interface OldTrip extends TripRef, OldTimes {}

export interface OldTimes {
  /** For a trip that has ended to be removed. */
  readonly tripsBefore: number
  /** For its locations to be removed. */
  readonly locationsBefore: number
}

/**
 * Removes a trip that ended long ago, or the locations of one that has not changed for long. It looks at the trip again,
 * because a call may have begun it again since the job saw it, or an update may have moved it, also in the same batch.
 * The result says whether something was removed.
 */
export const TRIP_RETENTION: CommandKind<OldTrip, boolean> = {
  name: 'trip.retention',
  isBounded: false,
  isBeforeUpdates: false,
  nowhere: false,

  partitionOf: OF_TRIP.partitionOf,

  encode: ({ scope, id, tripsBefore, locationsBefore }) => [scope, id, tripsBefore, locationsBefore],
  decode(packed) {
    const [scope, id, tripsBefore, locationsBefore] = packed as [ScopeId, string, number, number]
    return { scope, id, tripsBefore, locationsBefore }
  },

  apply(partition, { scope, id, ...times }, { writer }) {
    const table = partition.tableOf(TRIPS)
    const row = table.find(scope, id)
    if (row < 0) return false
    const old = whatIsOld(table, row, times)
    if (old === 'trip') table.remove(writer, row)
    else if (old === 'locations') table.put(writer, table.get(row), { isCleared: true })
    return old !== undefined
  },

  repeat: (apply) => apply(),
}

/** The part of a trip that is so old that it is removed; undefined if there is none. */
export function whatIsOld(
  table: TripTable,
  row: number,
  { tripsBefore, locationsBefore }: OldTimes,
): 'trip' | 'locations' | undefined {
  const updatedAt = table.updatedAt(row)
  if (updatedAt < tripsBefore && !table.isActive(row)) return 'trip'
  return updatedAt < locationsBefore && table.hasTrail(row) ? 'locations' : undefined
}
