import type { RegistryDatabase } from './database.ts'
import { type Change, type Kind, type KindImage, KINDS } from './editLog.ts'
import { rowTables, type RowTables } from './rowTables.ts'
import { UnreadableEntries } from './unreadableEntries.ts'

/**
 * What a process has of the registry: rows in SQLite, and the records that they stand for in memory.
 *
 * Owns: that both change together. Does not own: what may be changed, and when.
 *
 * Invariants
 * - IMAGE-1: Changes go to SQLite in one transaction with the revision, and then to memory, without yielding in
 *   between. So memory is never ahead of the disk, and whoever reads between two turns of the event loop sees one
 *   revision.
 */
export class RegistryImage {
  readonly database: RegistryDatabase
  /** Of the log that the file follows, where it follows one. */
  readonly unreadable: UnreadableEntries
  readonly #tables: RowTables
  readonly #kinds = new Map<Kind, KindImage<object, unknown>>()

  constructor(database: RegistryDatabase) {
    this.database = database
    this.unreadable = new UnreadableEntries(database)
    this.#tables = rowTables(database)
  }

  /** Rises with every {@link apply}. */
  get revision(): number {
    return this.database.revision
  }

  /** Whose the records of a kind are. */
  keep<Row extends object, Record>(kind: Kind, image: KindImage<Row, Record>): void {
    this.#kinds.set(kind, image as unknown as KindImage<object, unknown>)
  }

  /** @throws ApiError 503 when the disk does not take it: then nothing is changed */
  apply(changes: readonly Change[], revision: number): void {
    this.applyRows(changes, revision)
    for (const { kind, key, row, record } of changes) {
      const image = this.#kinds.get(kind)
      if (image === undefined) continue
      if (row === undefined) image.remove(key, revision)
      else image.put(record ?? image.recordOf(row), revision)
    }
  }

  /** As {@link apply}, before there is anything in memory. */
  applyRows(changes: readonly Change[], revision: number): void {
    this.database.write(() => {
      for (const { kind, key, row } of changes) {
        if (row === undefined) this.#tables[kind].remove(key)
        else this.#tables[kind].put(row)
      }
    }, revision)
  }

  /** What would make all that is there. */
  *allChanges(): Generator<Change> {
    for (const kind of KINDS) yield* this.#tables[kind].changes()
  }

  /** See {@link KindImage.parked}. */
  parked({ kind, key }: Change): Change | undefined {
    return this.#kinds.get(kind)?.parked?.(key)
  }
}
