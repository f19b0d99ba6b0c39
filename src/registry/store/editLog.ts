/**
 * The way in which the registry is changed. Technologies: localEdits.ts (the SQLite file of this process),
 * replicatedEdits.ts (a JetStream stream that all processes follow). Tests: test/registry/replicated.test.ts, besides
 * those of the registry itself.
 */

/** The change of one row. */
export interface Change {
  /** {@link RowKind.name} */
  readonly kind: string
  /** Identifies the row within its kind: its scope or project and its identifier there, with dots between them. */
  readonly key: string
  /** The columns as SQLite takes them; undefined if it is removed. */
  readonly row: object | undefined
  /** The result of {@link KindReplica.recordOf} for the row, if it is known already. */
  readonly record?: unknown
}

/** The replica in memory of the rows of one kind: always the same as the rows. */
export interface KindReplica<Row = never, Record = never> {
  /** @throws if the row was not written by us */
  recordOf(row: Row): Record
  /** The record was added, or replaces the one with its key. */
  put(record: Record, revision: number): void
  /** Also called for unknown keys. */
  remove(key: string, revision: number): void
  /**
   * The record under a key, changed so that it conflicts with no other; undefined if it conflicts with none. For
   * changes that are not known one by one: later changes may take what earlier ones release.
   */
  displaced?(key: string): Change | undefined
}

/**
 * Accepts edits.
 *
 * An edit is a function that reads the replica, decides, and commits changes. It runs without yielding, and perhaps
 * more than once: its changes are only made if what it read is still true then; otherwise it runs again. So it must
 * have no other effect, and must draw random values again.
 */
export interface EditLog {
  /**
   * Makes an edit; resolves once it is durable and in the replica of this process.
   * @throws the error of the edit, and ApiError 503 if it cannot be made durable
   */
  edit<T>(work: () => T): Promise<T>
  /**
   * Within an edit: all of these changes, or none. If an edit commits twice, the result of the first commit is there
   * when the edit runs again, and must not be committed again.
   */
  commit(changes: readonly Change[]): void
  /** Whether other processes edit too: then the times of creation must define the order of creation by themselves. */
  readonly isShared: boolean
  /** Accepts no more edits. */
  close(): void
  /** Whether edits can be made; the sentence says why not, or what they depend on. */
  readonly health: { readonly ok: boolean; readonly detail: string }
}

/** The largest number of entries of an atomic batch. */
export const MAX_ENTRIES = 1000
/** The largest number of changes of one {@link EditLog.commit}: the audit adds an entry for each. */
export const MAX_CHANGES = MAX_ENTRIES / 2
