import type { CommandKind } from './command.ts'
import type { FrameBytes, FrameWriter } from './commitCodec.ts'
import type { DeviceMemory } from './deviceMemory.ts'

/**
 * A type of actors: what a partition stores of them, how that becomes durable, and which commands they accept.
 * Recovery, snapshots and commits go through the types in the list (trips/tripTypes.ts).
 */
export interface ActorType<T extends ActorTable = ActorTable> {
  readonly name: string
  /** The number of the type in the rows of commits and snapshots, 0 to 255. No other type may ever use it. */
  readonly number: number
  readonly commands: readonly CommandKind[]
  /** The actors of an empty partition. */
  createTable(): T
}

/** The actors of one type in one partition. */
export interface ActorTable {
  /**
   * Applies a row as data, from a commit during recovery or from a snapshot.
   * @param frame has the row's bytes from `at` to `end`; they are valid during the call
   * @param time the server's time of the commit, epoch milliseconds
   */
  readRow(frame: FrameBytes, at: number, end: number, time: number): void
  /** Writes the rows that turn an empty table into this one: a snapshot. */
  writeAll(writer: FrameWriter): void
  /**
   * Reserves room for rows that are about to be read.
   * @param rows an upper bound of their number
   */
  expect?(rows: number): void
  /**
   * Called when all rows have been read.
   * @param now the server's time
   */
  recovered?(now: number): void
  /**
   * Limits the memory of the actors' objects. Further actors are packed, and reading those takes more time.
   * @param bytes approximate bytes for all types of actors of the partition
   */
  limitUnpacked?(bytes: number): void
  /** From now on, the memory of the actors is counted here, and no longer in the object before. */
  countIn?(memory: DeviceMemory): void
}
