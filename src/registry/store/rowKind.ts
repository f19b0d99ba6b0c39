import type { TSchema } from 'typebox'

/**
 * A kind of rows in the registry, as its owner describes it: the table, and the valid content of rows from other
 * processes.
 */
export interface RowKind {
  /** The name of the table, and of the kind's entries in a replicated registry. */
  readonly name: string
  readonly columns: readonly string[]
  /** Columns whose values, with dots between them, are the key of a {@link Change}. */
  readonly key: readonly string[]
  /** The last columns of `key` that identify a row by themselves; all of them if absent. */
  readonly unique?: readonly string[]
  /** Columns that contain JSON text. */
  readonly json: readonly string[]
  /** The contents of the columns, with JSON as values. Rows from other processes are validated with it. */
  readonly schema: TSchema
  /**
   * Checks what the schema cannot express.
   * @throws if the row is not one that this process would write
   */
  check?(row: object): void
  /** SQL that creates the table, if the migrations in database.ts do not. */
  readonly createTable?: string
}
