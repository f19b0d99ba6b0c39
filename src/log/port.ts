import type { ScopeId } from '../model/scope.ts'

/**
 * The ports of durable state. Their one contract suite is test/log/contract.ts.
 * Embedded technologies: commitLog.ts (segments, one log for all partitions) and snapshots.ts (files).
 * Distributed ones: jetStreamLog.ts (a log per partition) and jetStreamSnapshots.ts (an object store).
 */

/** A frame read back from the log. */
export interface LogFrame {
  /** The offset of the frame. Offsets ascend by one per frame, from 1, over the life of the store. */
  readonly offset: number
  readonly payload: Uint8Array
}

/** An event of a frame. */
export interface LogEvent {
  readonly scope: ScopeId
  /** 24 hex digits. */
  readonly id: string
  readonly type: string
  readonly deviceId: string
  readonly json: string
}

/**
 * A frame that its log hands out once it is durable: the only source of replies, readers of events and the publisher,
 * in both engines. The states in memory are then those directly after the frame. In the embedded engine, its events
 * are then in the index and the feed. In the distributed engine, they are there once the publisher has brought them
 * into the stream that all gateways follow, as frames of one event each.
 *
 * Invariants
 * - COMMITTED-1: When a frame is handed out, it is durable, and nobody outside has seen anything of it (G1, G5).
 * - COMMITTED-2: A process hands out each frame once, in the order of offsets, and to everybody before the next is
 *   appended (G3).
 * - COMMITTED-3: Whoever passes events on is handed a frame before replies to its updates go out.
 * - COMMITTED-4: After a crash, a consumer is handed again what the log has behind the offset that it kept, and
 *   ignores offsets that it has (G2).
 */
export interface Committed<E = LogEvent> {
  /** The offset of the frame in its log. */
  readonly offset: number
  /** The events of the frame, in order. */
  readonly events: readonly E[]
  /**
   * The offset of the first event among all events, if the log knows it; otherwise they follow the events before
   * them.
   */
  readonly firstEventOffset?: number
}

/** Gets the frames of a log that have events; see {@link Committed}. It must not throw. */
export interface CommittedConsumer<E = LogEvent> {
  committed(frame: Committed<E>): void
}

/** Append-only, with one writer. A frame is atomic: after recovery, it is complete or absent. */
export interface AppendLog {
  /** The offset of the last durable frame; 0 if there is none. */
  readonly offset: number
  /** Bytes that the log occupies where it is stored. */
  readonly bytes: number
  /**
   * Appends one frame out of the given parts, and hands it to `done` once it is durable. One append is in flight at a
   * time: calling again before `done` is a programming error. A frame that cannot be made durable never calls `done`;
   * it calls the handler that the log was opened with, after which the states behind the log must not be used.
   * @param events the frame's events, in their order; the caller must not change them afterwards. A log with a
   * publisher hands the frame to it before `done`
   * @param areKept whether nobody changes the parts before `done` is called, so that a log need not copy them at once
   */
  append<E extends LogEvent>(
    parts: readonly Uint8Array[],
    done: (frame: Committed<E>) => void,
    events?: readonly E[],
    areKept?: boolean,
  ): void
  /** Removes everything that only holds frames before `offset`, in the background. */
  trim(offset: number): void
  /** Waits for the append in flight. */
  close(): Promise<void>
}

/** The log on this machine, of all partitions. */
export interface CommitLog extends AppendLog {
  /**
   * The frames from `offset` on, in order.
   * @throws {LogDamaged} with the name of the file
   */
  read(offset: number): Iterable<LogFrame>
}

/** The log of one partition on other machines, while this process owns the partition. */
export interface PartitionLog extends AppendLog {
  /** Increases with each owner of the partition. */
  readonly epoch: number
  /** Like {@link CommitLog.read}, for frames on other machines. */
  read(offset: number): AsyncIterable<LogFrame>
}

/** The files that hold a log up to an offset. They can be copied from outside for as long as nothing is trimmed. */
export interface LogFiles {
  readonly offset: number
  /** How many of the first bytes of each file are copied; the name is relative to the data folder, with slashes. */
  readonly files: readonly { readonly name: string; readonly bytes: number }[]
  /** What the copy's MANIFEST must contain, because the folder's MANIFEST is rewritten whenever a segment is added. */
  readonly manifest: { readonly name: string; readonly text: string }
}

/** A log whose files can be copied while it is appended to. */
export interface CopyableLog {
  /** The files with all frames that are durable when it resolves, after running rotations and trims have finished. */
  files(): Promise<LogFiles>
}

/** A state of one partition as bytes. It is the state right after the frame at `offset` was applied. */
export interface Snapshot {
  readonly offset: number
  readonly bytes: Uint8Array
}

/** Snapshots that can be copied from outside while none is being written. */
export interface CopyableSnapshots {
  /** The names of all stored snapshots, relative to the data folder, with slashes. */
  files(): string[]
}

/** Keeps the two newest snapshots of each partition. */
export interface SnapshotStore {
  /** Writes a snapshot, which is durable when this resolves. The third newest one of the partition is removed. */
  write(partition: number, snapshot: Snapshot): Promise<void>
  /** The newest undamaged snapshot; undefined if there is none. */
  newest(partition: number): Snapshot | undefined
  /** No kept snapshot of the partition needs frames before this offset. It is 0 if fewer than two are kept. */
  trimOffset(partition: number): number
}

/**
 * A store like {@link SnapshotStore} on other machines. Any host may write and read the snapshots of any partition.
 */
export interface SharedSnapshotStore {
  write(partition: number, snapshot: Snapshot): Promise<void>
  newest(partition: number): Promise<Snapshot | undefined>
  trimOffset(partition: number): Promise<number>
}

/** The owner of a partition, as far as it is known. */
export interface Owner {
  readonly host: string
  /** The epoch of the log that it opened. A higher one is newer. */
  readonly epoch: number
}

/**
 * Which host evaluates which partition. It is only a hint, so that hosts find each other and do not compete: two
 * hosts may believe for a while that they own the same partition. The fence of the log decides.
 */
export interface Ownership {
  /**
   * Whether the other hosts know of this one. While they do not, they take its partitions, and what it would answer
   * from its memory may be old.
   */
  readonly isLive: boolean
  /** The owner of a partition. Undefined while nobody owns it, or nobody has said so yet. */
  ownerOf(partition: number): Owner | undefined
  /** Called when the host was fenced out of a partition and has dropped it. */
  lost(partition: number): void
  /** Gives all partitions to the other hosts. Resolves when they are released. */
  leave(): Promise<void>
}

/** What a host does when it becomes or ceases to be an owner. For each partition, one call runs at a time. */
export interface OwnershipHandlers {
  /** Opens the partition's log and brings its states up to it; resolves to the log's epoch. */
  acquire(partition: number): Promise<number>
  /** Finishes the running work and closes the log. */
  release(partition: number): Promise<void>
}
