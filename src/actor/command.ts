import type { StoreSalt } from '../events/ids.ts'
import type { ScopeId } from '../model/scope.ts'
import type { RegistryView } from '../rules/port.ts'
import type { ApiError } from '../runtime/errors.ts'
import type { FrameWriter } from './commitCodec.ts'
import type { Partition } from './partition.ts'

/**
 * The commands that a partition accepts. Mailbox, gateway, protocol and owner carry commands, and know their kinds
 * only through this interface. The kinds of an actor type are listed in it (actorType.ts).
 *
 * Updates do not go this way: there are thousands of them for each command, so they have their own mail, batches and
 * codec (host.ts, updateRows.ts), which allocate nothing per update.
 */
export interface CommandKind<A = unknown, R = unknown> {
  /** The name of the kind in messages between gateway and owner. No other kind may ever use it. */
  readonly name: string
  /** Whether its waiting commands count against the mailbox's bound. Past the bound, commands are refused. */
  readonly isBounded: boolean
  /** Whether it is applied before the updates of its batch; otherwise after those that came before it. */
  readonly isBeforeUpdates: boolean
  /** The result if no partition has what the command names; unused if every command of the kind has a partition. */
  readonly nowhere?: R
  /** The number of the partition for the command; undefined if none has what it names. */
  partitionOf(args: A, store: StoreShape): number | undefined
  /** The arguments as something that MessagePack can encode; the result must be encodable as it is. */
  encode(args: A): unknown
  decode(packed: unknown): A
  /**
   * Applies it: changes the state, and writes the rows and events that make the change durable. An error is a
   * refusal; then nothing was changed or written.
   */
  apply(partition: Partition, args: A, commit: CommandCommit): R | ApiError
  /**
   * What an owner does with a repeated command if it does not know the first outcome.
   * @param apply applies it as if for the first time
   */
  repeat(apply: () => Promise<R>): Promise<R>
}

/** What determines the partition of a command. */
export interface StoreShape {
  readonly partitions: number
  readonly salt: StoreSalt
}

/** The commit in which a command is applied. */
export interface CommandCommit {
  readonly writer: FrameWriter
  /** The server's time, in epoch milliseconds. */
  readonly time: number
  readonly registry: RegistryView
  /** Records that are gone once the commit is durable; observers of positions are told then. */
  readonly removed: RemovedRecord[]
}

export interface RemovedRecord {
  readonly scope: ScopeId
  readonly deviceId: string
  readonly recordId: string
}

/** A command without its result. */
export interface Command<A = unknown, R = unknown> {
  readonly kind: CommandKind<A, R>
  readonly args: A
}
