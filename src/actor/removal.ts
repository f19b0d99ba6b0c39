import { locateUserRecord } from '../events/ids.ts'
import type { ScopeId } from '../model/scope.ts'
import type { CommandKind } from './command.ts'
import { writeRemoved } from './deviceRows.ts'

export interface Removal {
  readonly scope: ScopeId
  /** The `_id` of the user's record. */
  readonly recordId: string
}

/** Removes a user's record, and returns whether it existed. */
export const REMOVAL: CommandKind<Removal, boolean> = {
  name: 'removal',
  // It is never refused, because it frees room.
  isBounded: false,
  // It comes first, so that an update of the same batch belongs to a record that stays.
  isBeforeUpdates: true,
  nowhere: false,

  partitionOf({ recordId }, { partitions, salt }) {
    const partition = locateUserRecord(salt, recordId)?.partition
    return partition !== undefined && partition < partitions ? partition : undefined
  },

  encode: ({ scope, recordId }) => [scope, recordId],
  decode(packed) {
    const [scope, recordId] = packed as [ScopeId, string]
    return { scope, recordId }
  },

  apply(partition, { scope, recordId }, { writer, time, removed }) {
    const { table, number, salt, feed } = partition
    const located = locateUserRecord(salt, recordId)
    if (located === undefined || located.partition !== number) return false
    const { row } = located
    // The row may have been freed and used again, so everything is compared.
    if (!table.exists(row) || table.scope(row) !== scope || table.peek(row).id !== recordId) return false
    const { userId, deviceId } = table.peek(row)
    removed.push({ scope, deviceId, recordId })
    table.remove(row, time)
    writeRemoved(writer, row)
    // Trips that have ended may contain the user too, in any partition.
    feed.put(writer, { scope, user: { id: recordId, userId, deviceId } })
    return true
  },

  /** // The record existed at the first request, or the gateway would not repeat it. */
  repeat: async (apply) => (await apply()) || true,
}
