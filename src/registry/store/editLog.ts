/**
 * How the registry is changed. Technologies: localEdits.ts (the SQLite file of this process), replicatedEdits.ts (a JetStream
 * stream that all processes follow). Their tests: test/registry/replicated.test.ts beside those of the registry itself.
 */

/** What becomes of one row. */
export interface Change {
  /** {@link RowKind.name} */
  readonly kind: string
  /** Names the row within its kind: its scope or project, and what names it there, with dots between them. */
  readonly key: string
  /** The columns as SQLite takes them; undefined: it is removed. */
  readonly row: object | undefined
  /** What {@link KindReplica.recordOf} makes of the row, where somebody has it at hand. */
  readonly record?: unknown
}

/** The image in memory of the rows of one kind: always what the rows say. */
export interface KindReplica<Row = never, Record = never> {
  /** @throws where the row is not what we wrote */
  recordOf(row: Row): Record
  /** The record was added, or takes the place of the one with its key. */
  put(record: Record, revision: number): void
  /** Of unknown keys it is told too. */
  remove(key: string, revision: number): void
  /**
   * The record that is there under a key, moved out of the way of all others; undefined where it is in nobody's. For
   * changes that are not known one by one: of those the later ones may take what the former ones give away.
   */
  displaced?(key: string): Change | undefined
}

/**
 * Takes up edits.
 *
 * An edit is a function that looks at the image, decides, and commits changes. It runs without yielding, and perhaps more
 * than once: its changes are made only if what it looked at is still so when they are; else it runs again. So it does
 * nothing else, and draws anew what it draws.
 */
export interface EditLog {
  /**
   * Makes an edit; resolves once it is durable and in the image of this process.
   * @throws what the edit throws, and ApiError 503 where it cannot be made durable
   */
  edit<T>(work: () => T): Promise<T>
  /**
   * Within an edit: all of these changes, or none. Where an edit commits twice, what the first one brought about is there
   * when the edit runs again, and must then not be committed again.
   */
  commit(changes: readonly Change[]): void
  /** Whether other processes edit too: then the times of creation must tell the order of creation by themselves. */
  readonly isShared: boolean
  /** Takes up no more edits. */
  close(): void
  /** Whether edits can be made; the sentence says why not, or on what they rest. */
  readonly health: { readonly ok: boolean; readonly detail: string }
}

/** Changes of one {@link EditLog.commit}, at most, where it must fit into an atomic batch. */
export const MAX_CHANGES = 1000
