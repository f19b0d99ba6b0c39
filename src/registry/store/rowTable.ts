import type { RegistryDatabase } from './database.ts'
import type { Change } from './editLog.ts'
import type { RowKind } from './rowKind.ts'

/**
 * The rows of one kind in SQLite; changed only within a transaction of {@link RegistryDatabase.write}. In a file that
 * is the registry itself, a row keeps its position, which is the order of creation. In a file that follows a log, a
 * row may come before it is known that another row has released its pair: then it takes the pair.
 */
export class RowTable {
  readonly #kind: string
  readonly #key: readonly string[]
  readonly #unique: readonly string[]
  readonly #put
  readonly #remove
  readonly #all
  readonly #get

  constructor(database: RegistryDatabase, kind: RowKind) {
    const { name, columns, key, unique = key, createTable } = kind
    if (createTable !== undefined) database.prepare(createTable).run()
    this.#kind = name
    this.#key = key
    this.#unique = unique
    const values = columns.map((column) => written(column, `@${column}`))
    const changed = columns.filter((column) => !unique.includes(column))
    const row = `${name} (${columns.join(', ')}) VALUES (${values.join(', ')})`
    this.#put = database.prepare(
      database.origin === undefined
        ? `INSERT INTO ${row} ON CONFLICT (${unique.join(', ')}) DO UPDATE SET
             ${changed.map((column) => `${column} = excluded.${column}`).join(', ')}`
        : `INSERT OR REPLACE INTO ${row}`,
    )
    this.#remove = database.prepare(
      `DELETE FROM ${name} WHERE ${unique.map((column) => `${column} = ${written(column, '?')}`).join(' AND ')}`,
    )
    const read = columns.map((column) => (column === DIGEST ? `lower(hex(${DIGEST})) AS ${DIGEST}` : column))
    this.#all = database.prepare(`SELECT ${read.join(', ')} FROM ${name}`)
    this.#get = database.prepare(
      `SELECT ${read.join(', ')} FROM ${name} WHERE ${unique.map((column) => `${column} = ${written(column, '?')}`).join(' AND ')}`,
    )
  }

  /**
   * Writes a row.
   * @param row its columns by name
   */
  put(row: object): void {
    this.#put.run(row)
  }

  remove(key: string): void {
    this.#remove.run(...key.split('.').slice(-this.#unique.length))
  }

  /** The row under the key of a change. */
  get(key: string): object | undefined {
    return this.#get.get(...key.split('.').slice(-this.#unique.length)) as object | undefined
  }

  /** The changes that would create its rows, in order. */
  *changes(): Generator<Change> {
    for (const row of this.#all.iterate() as Iterable<Readonly<Record<string, unknown>>>) {
      yield { kind: this.#kind, key: this.#key.map((column) => row[column]).join('.'), row }
    }
  }
}

/** The column with a blob, which JSON cannot contain. In changes it is hex. */
const DIGEST = 'digest'

/**
 * The expression for a column's value in a statement.
 * @param value the parameter
 */
function written(column: string, value: string): string {
  return column === DIGEST ? `unhex(${value})` : value
}
