import { LogTrimmed } from '../log/errors.ts'
import type { PartitionLog, SharedSnapshotStore } from '../log/port.ts'
import { readFrame } from './commitCodec.ts'
import type { Partition } from './partition.ts'
import { RecoveryError } from './recovery.ts'

/**
 * Recovers one partition from the data that all hosts share: its newest snapshot and the frames after it, applied as
 * data and never evaluated again.
 */

export interface RecoveredPartition {
  readonly partition: Partition
  /** Frames read from the log, and their bytes. */
  readonly frames: number
  readonly bytes: number
  /** The highest registry revision with which a commit was made (G10). */
  readonly revision: number
}

/**
 * The partition at the end of its log.
 * @param create makes an empty one; called again if a trim removes frames that are being read, because the reading
 * starts again then
 * @param now server time, epoch milliseconds
 * @throws {RecoveryError} if the log does not reach back to the end of the newest snapshot
 */
export async function recoverPartition(
  create: () => Partition,
  log: PartitionLog,
  snapshots: SharedSnapshotStore,
  now: number,
): Promise<RecoveredPartition> {
  for (let newestBefore = -1; ;) {
    const partition = create()
    const { number } = partition
    const snapshot = await snapshots.newest(number)
    const start = snapshot?.offset ?? 0
    if (start > log.offset)
      throw new RecoveryError(
        `the snapshot of partition ${number} is at offset ${start}, but its log ends at ${log.offset}: frames are missing`,
      )
    let revision = 0
    let isSnapshot = true
    const visitor = {
      commit(of: number, sequence: number, madeWith: number, rows: number): boolean {
        if (of !== number) throw new RecoveryError(`the log of partition ${number} has a commit of ${of}`)
        revision = Math.max(revision, madeWith)
        partition.sequence = sequence
        if (isSnapshot) partition.expect(rows)
        return true
      },
      tableOf: (type: number) => partition.tableOfNumber(type),
      // The log has published these events already.
      wantsEvents: false,
      event(): void {},
    }
    if (snapshot !== undefined) readFrame(snapshot.bytes, visitor)
    isSnapshot = false
    let offset = start
    let bytes = 0
    try {
      for await (const frame of log.read(start + 1)) {
        if (frame.offset !== offset + 1)
          throw new RecoveryError(
            `the log of partition ${number} goes on at offset ${frame.offset}, not ${offset + 1}`,
          )
        offset = frame.offset
        bytes += frame.payload.length
        readFrame(frame.payload, visitor)
      }
    } catch (error) {
      // A former owner may trim the log while it is read. Then there is a newer snapshot.
      if (!(error instanceof LogTrimmed) || start === newestBefore) throw error
      newestBefore = start
      continue
    }
    if (offset !== log.offset)
      throw new RecoveryError(
        `the log of partition ${number} ends at offset ${log.offset}, but reading stopped at ${offset}`,
      )
    partition.recovered(now)
    return { partition, frames: offset - start, bytes, revision }
  }
}
