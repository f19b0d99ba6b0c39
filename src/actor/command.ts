import type { StoreSalt } from '../events/ids.ts'
import type { ScopeId } from '../model/scope.ts'
import type { ApiError } from '../runtime/errors.ts'
import type { FrameWriter } from './commitCodec.ts'
import type { Partition } from './partition.ts'

/**
 * What a partition can be asked to do. Mailbox, gateway, protocol and owner carry commands, and know the kinds by this
 * interface only. The kinds of an actor type are listed in it (actorType.ts).
 *
 * Updates are the one kind that does not go this way: there are thousands of them for each command, so they have mail, batches
 * and a codec of their own (host.ts, updateRows.ts), in which nothing is allocated per update.
 */
export interface CommandKind<A = unknown, R = unknown> {
  /** On the wire between gateway and owner; no other kind has it, also later. */
  readonly name: string
  /** Whether what waits of it counts against the mailbox's bound, past which it is refused. */
  readonly isBounded: boolean
  /** Whether it is applied before the updates of its batch; else after those that came before it. */
  readonly isBeforeUpdates: boolean
  /** The result where no partition has what the command names; of kinds of which every command has a partition, it is unused. */
  readonly nowhere?: R
  /** The number of the partition that the command goes to; undefined: none has what it names. */
  partitionOf(args: A, store: StoreShape): number | undefined
  /** The arguments as something that MessagePack can hold; the result must be such by itself. */
  encode(args: A): unknown
  decode(packed: unknown): A
  /**
   * Applies it: changes the state and writes the rows and events that make the change durable. An error is a refusal, and
   * then nothing is changed or written.
   */
  apply(partition: Partition, args: A, commit: CommandCommit): R | ApiError
  /**
   * What an owner does with a command that was asked for before, when it does not know what came of it.
   * @param apply applies it, as if for the first time
   */
  repeat(apply: () => Promise<R>): Promise<R>
}

/** What decides which partition has what. */
export interface StoreShape {
  readonly partitions: number
  readonly salt: StoreSalt
}

/** The commit that a command is applied in. */
export interface CommandCommit {
  readonly writer: FrameWriter
  /** The server's, epoch milliseconds. */
  readonly time: number
  /** Records that are gone once the commit is durable: observers of positions are then told. */
  readonly removed: RemovedRecord[]
}

export interface RemovedRecord {
  readonly scope: ScopeId
  readonly deviceId: string
  readonly recordId: string
}

/** A command without its answer. */
export interface Command<A = unknown, R = unknown> {
  readonly kind: CommandKind<A, R>
  readonly args: A
}
