import type { StreamMark } from '../model/device.ts'
import type { Update } from '../model/update.ts'
import type { DeviceTable } from './deviceTable.ts'

/** The fields of an update or a conversion that identify its record. */
export type IdentityFields = Pick<
  Update,
  'scope' | 'deviceId' | 'userId' | 'installId' | 'stream' | 'sequence'
>

/** Which record of a device an update belongs to (docs/spec.md, "Identity"). */
export interface Identity {
  /** The row of the record; −1 for a new record. */
  readonly row: number
  /** The first record of the device; −1 if it has none. */
  readonly first: number
  /** The latest time t of any record of the device, epoch milliseconds; −Infinity if it has none. */
  readonly latestTime: number
  /** How many records the device has. */
  readonly records: number
  /** A record of the device that has applied this very update before (G9); −1: it is new. */
  readonly repeatOf: number
}

/**
 * An existing record of (deviceId, userId or none) wins. Otherwise, the first userId on an anonymous record is
 * attached to it. Otherwise, it is a new record. installId separates records only if both sides have one and they
 * differ. Among several matches, the one with the same installId wins, then the one that was last updated, received,
 * created.
 */
export function identify(table: DeviceTable, update: IdentityFields): Identity {
  let latestTime = -Infinity
  let same = -1
  let anonymous = -1
  let repeatOf = -1
  let records = 0
  const first = table.firstOf(update.scope, update.deviceId)
  for (let row = first; row >= 0; row = table.nextOf(row)) {
    records++
    latestTime = Math.max(latestTime, table.updatedAt(row))
    const { userId, installId, marks } = table.profile(row)
    // Checked on every record of the device, because a login between sending and resending changes the record.
    if (update.stream !== undefined && isMarked(marks, update.stream, update.sequence!)) repeatOf = row
    if (installId !== undefined && update.installId !== undefined && installId !== update.installId) continue
    if (userId === update.userId) same = preferred(table, same, row, update)
    else if (userId === undefined) anonymous = preferred(table, anonymous, row, update)
  }
  return { row: same >= 0 ? same : anonymous, first, latestTime, records, repeatOf }
}

function isMarked(marks: readonly StreamMark[], stream: string, sequence: number): boolean {
  for (const mark of marks) if (mark.stream === stream) return sequence <= mark.sequence
  return false
}

function preferred(table: DeviceTable, held: number, row: number, update: IdentityFields): number {
  if (held < 0) return row
  const heldMatches = table.profile(held).installId === update.installId
  const rowMatches = table.profile(row).installId === update.installId
  if (heldMatches !== rowMatches) return rowMatches ? row : held
  return isLater(table, row, held) ? row : held
}

/**
 * Whether a record comes after another one, in the order that reads use (users/userQueries.ts). Chains may be in
 * another order after a recovery.
 */
function isLater(table: DeviceTable, row: number, held: number): boolean {
  const difference =
    table.updatedAt(row) - table.updatedAt(held) ||
    table.receivedAt(row) - table.receivedAt(held) ||
    table.createdAt(row) - table.createdAt(held) ||
    held - row
  return difference > 0
}

/**
 * The time t of an update: the time that was sent, unless it is missing or before the device's last time. Otherwise it
 * is the server's time, but never before the last time.
 */
export function timeOf(update: Update, latestTime: number): number {
  if (update.updatedAt !== undefined && update.updatedAt >= latestTime) return update.updatedAt
  return Math.max(update.receivedAt, latestTime)
}
