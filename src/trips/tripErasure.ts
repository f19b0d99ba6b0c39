import type { CommandKind } from '../actor/command.ts'
import type { ScopeId } from '../model/scope.ts'
import { isEnded, type Trip } from '../model/trip.ts'
import { endedBy } from './machine/change.ts'
import { forgotten } from './machine/heard.ts'
import { causeOf, commitStep } from './step.ts'
import { TRIPS } from './tripActor.ts'
import type { TripTable } from './tripTable.ts'

/** The trips of one partition that the removal of a record concerns. */
export interface TripErasure {
  readonly partition: number
  readonly scope: ScopeId
  readonly recordId: string
  readonly userId: string | undefined
}

/**
 * The rows of the trips that the removal of a record concerns: those that it moved last, and those of its user that know
 * no record at all.
 */
export function concernedBy(
  table: TripTable,
  scope: ScopeId,
  { recordId, userId }: { readonly recordId: string; readonly userId?: string | undefined },
): number[] {
  const ofUser = userId === undefined ? [] : table.withoutRecord(scope, userId)
  return [...table.ofRecord(scope, recordId), ...ofUser]
}

/** How many trips are changed in one commit. */
const AT_ONCE = 50

/**
 * After the removal of a user's record: cancels its active trips, and removes the data of the user from all its trips.
 * Returns the `_id`s of the trips that it canceled, and whether there are more to change.
 */
export const TRIP_ERASURE: CommandKind<
  TripErasure,
  { readonly canceled: readonly string[]; readonly hasMore: boolean }
> = {
  name: 'trip.erasure',
  isBounded: false,
  isBeforeUpdates: false,

  partitionOf: ({ partition }) => partition,

  encode: ({ partition, scope, recordId, userId }) => [partition, scope, recordId, userId ?? null],
  decode(packed) {
    const [partition, scope, recordId, userId] = packed as [number, ScopeId, string, string | null]
    return { partition, scope, recordId, userId: userId ?? undefined }
  },

  apply(partition, { scope, ...record }, commit) {
    const table = partition.tableOf(TRIPS)
    const rows = concernedBy(table, scope, record)
    const canceled: string[] = []
    for (const row of rows.slice(0, AT_ONCE)) {
      const trip = table.get(row)
      if (!isEnded(trip.status)) canceled.push(trip.id)
      const stepped = endedBy(trip, 'userRemoved', commit.time, commit.time)
      const erased = withoutUser(stepped.trip)
      const cause = causeOf(erased, commit.time)
      commitStep(partition, commit, erased, stepped, cause, { trail: { isCleared: true } })
    }
    return { canceled, hasMore: rows.length > AT_ONCE }
  },

  repeat: (apply) => apply(),
}

function withoutUser(trip: Trip): Trip {
  return {
    ...forgotten(trip),
    user: undefined,
    userId: undefined,
    deviceId: undefined,
    place: undefined,
    estimate: undefined,
    told: [],
  }
}
