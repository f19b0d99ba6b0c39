import type { CommandKind } from './command.ts'
import type { FrameBytes, FrameWriter } from './commitCodec.ts'

/**
 * A type of actors: what a partition holds of them, how that becomes durable, and what they can be asked to do. Recovery,
 * snapshots and commits go over the types of the list (actorTypes.ts).
 */
export interface ActorType<T extends ActorTable = ActorTable> {
  readonly name: string
  /** In the rows of commits and snapshots, 0 to 255; no other type has it, also later. */
  readonly number: number
  readonly commands: readonly CommandKind[]
  /** The actors of an empty partition. */
  createTable(): T
}

/** The actors of one type in one partition. */
export interface ActorTable {
  /**
   * Applies a row, as data: of a commit when the partition is recovered, or of a snapshot.
   * @param frame the row has its bytes from `at` to `end`; they are valid during the call
   * @param time the server's of the commit, epoch milliseconds
   */
  readRow(frame: FrameBytes, at: number, end: number, time: number): void
  /** Writes the rows that make an empty table as this one is: a snapshot. */
  writeAll(writer: FrameWriter): void
  /** Makes room before so many rows are read at once, at most. */
  expect?(rows: number): void
  /** All rows have been read; `now` is the server's time. */
  recovered?(now: number): void
}
