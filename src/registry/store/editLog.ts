/**
 * The way in which the registry is changed. localEdits.ts implements it with the SQLite file of this process, and
 * replicatedEdits.ts with a JetStream stream that all processes follow. test/registry/replicated.test.ts tests it,
 * besides the tests of the registry itself.
 */

/** The change of one row. */
export interface Change {
  /** The {@link RowKind.name} of the row. */
  readonly kind: string
  /**
   * Identifies the row within its kind. It consists of its scope or project and its identifier there, with dots
   * between them.
   */
  readonly key: string
  /** The columns in the form that SQLite takes; undefined if the row is removed. */
  readonly row: object | undefined
  /** The result of {@link KindReplica.recordOf} for the row, if it is known already. */
  readonly record?: unknown
}

/** The records in memory of the rows of one kind. They always correspond to the rows. */
export interface KindReplica<Row = never, Record = never> {
  /**
   * The record of a row.
   * @throws if the row was not written by this program
   */
  recordOf(row: Row): Record
  /** Adds a record, or replaces the one with its key. */
  put(record: Record, revision: number): void
  /** Removes a record. It is also called for unknown keys. */
  remove(key: string, revision: number): void
  /**
   * The record under a key, changed so that it conflicts with no other one; undefined if it conflicts with none. It is
   * for changes that are not known one by one, in which later changes may take what earlier ones release.
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
   * Commits all of these changes or none, within an edit. If an edit commits twice, the result of the first commit is
   * there when the edit runs again, and must not be committed again.
   */
  commit(changes: readonly Change[]): void
  /**
   * Whether other processes also make edits. Then the times of creation must define the order of creation by
   * themselves.
   */
  readonly isShared: boolean
  /** Accepts no more edits. */
  close(): void
  /** Whether edits can be made; the sentence says why not, or what they depend on. */
  readonly health: { readonly ok: boolean; readonly detail: string }
}

/** The most entries of an atomic batch. */
export const MAX_ENTRIES = 1000
/** The most changes of one {@link EditLog.commit}, because the audit adds an entry for each. */
export const MAX_CHANGES = MAX_ENTRIES / 2
