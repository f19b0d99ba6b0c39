import type { RegistryDatabase } from './database.ts'
import type { Change, KindReplica } from './editLog.ts'
import type { RowKind } from './rowKind.ts'
import { RowTable } from './rowTable.ts'
import { UnreadableEntries } from './unreadableEntries.ts'

/**
 * What a process has of the registry: rows in SQLite, and the records that they stand for in memory.
 *
 * Owns: that both change together. Does not own: what may be changed, and when.
 *
 * Invariants
 * - REPLICA-1: Changes go to SQLite in one transaction with the revision, and then to memory, without yielding in
 *   between. So memory is never ahead of the disk, and whoever reads between two turns of the event loop sees one
 *   revision.
 */
export class RegistryReplica {
  readonly database: RegistryDatabase
  /** The unreadable entries of the log that the file follows, if it follows one. */
  readonly unreadable: UnreadableEntries
  readonly kinds: readonly RowKind[]
  readonly #tables: ReadonlyMap<string, RowTable>
  readonly #replicas = new Map<string, KindReplica<object, unknown>>()

  /**
   * Keeps some kinds.
   * @param kinds in an order in which each kind only refers to kinds before it
   */
  constructor(database: RegistryDatabase, kinds: readonly RowKind[]) {
    this.database = database
    this.kinds = kinds
    this.unreadable = new UnreadableEntries(database)
    this.#tables = database.atOnce(
      () => new Map(kinds.map((kind) => [kind.name, new RowTable(database, kind)])),
    )
  }

  /** Increases with every {@link apply}. */
  get revision(): number {
    return this.database.revision
  }

  /** Registers the replica of the records of a kind. */
  keep<Row extends object, Record>(kind: string, replica: KindReplica<Row, Record>): void {
    this.#replicas.set(kind, replica as unknown as KindReplica<object, unknown>)
  }

  /**
   * Applies changes.
   * @throws {ApiError} 503 if the disk does not accept it; nothing is changed then
   */
  apply(changes: readonly Change[], revision: number): void {
    this.applyRows(changes, revision)
    for (const { kind, key, row, record } of changes) {
      const replica = this.#replicas.get(kind)
      if (replica === undefined) continue
      if (row === undefined) replica.remove(key, revision)
      else replica.put(record ?? replica.recordOf(row), revision)
    }
  }

  /** The change together with the record of its row, so that {@link apply} need not make it. */
  withRecord(change: Change): Change {
    const replica = this.#replicas.get(change.kind)
    if (change.row === undefined || replica === undefined) return change
    return { ...change, record: replica.recordOf(change.row) }
  }

  /** Applies changes like {@link apply}, before anything is in memory. */
  applyRows(changes: readonly Change[], revision: number): void {
    this.database.write(() => {
      for (const { kind, key, row } of changes) {
        if (row === undefined) this.#tables.get(kind)!.remove(key)
        else this.#tables.get(kind)!.put(row)
      }
    }, revision)
  }

  /** The present row under the key of a change. */
  rowOf(kind: string, key: string): object | undefined {
    return this.#tables.get(kind)!.get(key)
  }

  /** The changes that would create all present rows. */
  *allChanges(): Generator<Change> {
    for (const table of this.#tables.values()) yield* table.changes()
  }

  /** The displaced record; see {@link KindReplica.displaced}. */
  displaced({ kind, key }: Change): Change | undefined {
    return this.#replicas.get(kind)?.displaced?.(key)
  }
}
