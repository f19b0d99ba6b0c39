/**
 * The two ports of durable state. Their one contract suite is test/log/contract.ts.
 * Embedded technologies: commitLog.ts (segments) and snapshots.ts (files).
 */

/** A frame read back from the log. */
export interface LogFrame {
  /** Ascending by one per frame, from 1, over the life of the store. */
  readonly position: number
  readonly payload: Uint8Array
}

/** Append-only, one writer. A frame is atomic: after recovery it is there whole or not at all. */
export interface CommitLog {
  /** Position of the last durable frame; 0 when there is none. */
  readonly position: number
  /** Bytes of all segments on disk. */
  readonly bytes: number
  /**
   * Appends one frame out of the given parts; `done` is called once it is durable. One append is in flight at a
   * time: calling again before `done` is a programming error. A failed write or flush never calls `done`; it calls
   * the `failed` handler that the log was opened with, after which the process must end.
   */
  append(parts: readonly Uint8Array[], done: () => void): void
  /** The frames from `position` on, in order. Throws {@link LogDamaged} with the file's name. */
  read(position: number): Iterable<LogFrame>
  /** Unlinks segments that only hold frames before `position`. */
  trim(position: number): void
  close(): Promise<void>
}

/** The files that hold a log up to a position. They can be copied from outside for as long as nothing is trimmed. */
export interface LogFiles {
  readonly position: number
  /** Of each file the first so many bytes; the name is relative to the data folder, with slashes. */
  readonly files: readonly { readonly name: string; readonly bytes: number }[]
  /** What the copy's MANIFEST must hold: that of the folder is written anew whenever a segment comes. */
  readonly manifest: { readonly name: string; readonly text: string }
}

/** A log whose files can be copied while it is appended to. */
export interface CopyableLog {
  /** The files with all frames that are durable when it resolves, once rotations and trims under way are done. */
  files(): Promise<LogFiles>
}

/** A state of one partition, as bytes, valid right after the frame at `position` was applied. */
export interface Snapshot {
  readonly position: number
  readonly bytes: Uint8Array
}

/** Snapshots that can be copied from outside for as long as none is written. */
export interface CopyableSnapshots {
  /** Names of all that are kept, relative to the data folder, with slashes. */
  files(): string[]
}

/** Keeps the two newest snapshots of each partition. */
export interface SnapshotStore {
  /** Durable when it resolves; the third newest of the partition is removed. */
  write(partition: number, snapshot: Snapshot): Promise<void>
  /** The newest snapshot that is whole; an older one when the newest is damaged; undefined when there is none. */
  newest(partition: number): Snapshot | undefined
  /** Frames before this position are needed by no kept snapshot of the partition; 0 when fewer than two are kept. */
  trimPosition(partition: number): number
}
