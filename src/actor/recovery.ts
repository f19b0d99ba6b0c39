import type { EventIndex, StoredEvent } from '../events/port.ts'
import { readEvent } from '../events/record.ts'
import type { CommitLog, SnapshotStore } from '../log/port.ts'
import { FrameWriter, readFrame, type CommittedEvent } from './commitCodec.ts'
import type { Partition } from './partition.ts'

/**
 * Recovery: the newest snapshot of each partition and the commits after it, applied as data and never evaluated
 * again.
 *
 * A snapshot's bytes are a frame of one commit with every row of the partition.
 */

/** The files on disk do not fit together; the message names the part. */
export class RecoveryError extends Error {
  override name = 'RecoveryError'
}

export interface Recovered {
  /** How many frames were read from the log. */
  readonly frames: number
  /** The highest registry revision with which a commit was made (G10). */
  readonly revision: number
}

/**
 * Fills the partitions' tables, and gives the index the events that it lacks.
 * @param now server time, epoch milliseconds
 * @param progress called after each frame with its offset and that of the last
 * @throws {RecoveryError} if the log does not reach back to the end of a snapshot or of the event index
 */
export function recover(
  partitions: readonly Partition[],
  log: CommitLog,
  snapshots: SnapshotStore,
  events: EventIndex,
  now: number,
  progress: (offset: number, last: number) => void = () => {},
): Recovered {
  let revision = 0
  let partition: Partition | undefined
  let onlyAfter: readonly number[] = partitions.map(() => -1)
  let offset = 0
  let frameEvents: StoredEvent[] = []
  const visitor = {
    commit(number: number, sequence: number, madeWith: number, rows: number): boolean {
      partition = partitions[number]
      if (partition === undefined)
        throw new RecoveryError(`commit of partition ${number}: there is no such partition`)
      revision = Math.max(revision, madeWith)
      if (offset <= onlyAfter[number]!) return false
      partition.sequence = sequence
      // A snapshot has all rows in one commit.
      if (offset === 0) partition.expect(rows)
      return true
    },
    tableOf: (type: number) => partition!.tableOfNumber(type),
    get wantsEvents() {
      return offset > events.durableLogOffset
    },
    event(event: CommittedEvent): void {
      frameEvents.push(readEvent(event.scope, event.json))
    },
  }

  const snapshotOffsets = partitions.map((p) => {
    const snapshot = snapshots.newest(p.number)
    if (snapshot === undefined) return 0
    if (snapshot.offset > log.offset)
      throw new RecoveryError(
        `the snapshot of partition ${p.number} is at offset ${snapshot.offset}, but the log ends at ${log.offset}: frames are missing`,
      )
    readFrame(snapshot.bytes, visitor)
    return snapshot.offset
  })
  onlyAfter = snapshotOffsets

  if (events.durableLogOffset > log.offset)
    throw new RecoveryError(
      `the event index is at offset ${events.durableLogOffset}, but the log ends at ${log.offset}: frames are missing`,
    )
  const from = Math.min(events.durableLogOffset, ...snapshotOffsets) + 1
  let frames = 0
  for (const frame of log.read(from)) {
    if (frame.offset !== from + frames)
      throw new RecoveryError(
        `the log goes on at offset ${frame.offset}, but frames from ${from + frames} are needed`,
      )
    offset = frame.offset
    frameEvents = []
    readFrame(frame.payload, visitor)
    if (frameEvents.length > 0) events.add(offset, frameEvents)
    frames++
    progress(offset, log.offset)
  }
  if (from + frames - 1 !== log.offset)
    throw new RecoveryError(
      `the log ends at offset ${log.offset}, but reading stopped at ${from + frames - 1}`,
    )
  for (const p of partitions) p.recovered(now)
  return { frames, revision }
}

/** The partition's states as a snapshot. It must be taken between batches. */
export function snapshotOf(partition: Partition, revision: number, now: number): Uint8Array {
  const writer = new FrameWriter()
  writer.begin(now)
  // A commit without rows would be removed, and the sequence with it; an empty partition still has one.
  writer.beginCommit(partition.number, partition.sequence, revision)
  partition.writeAll(writer)
  writer.sealCommit()
  return writer.take()
}
