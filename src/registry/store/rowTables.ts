import type { RegistryDatabase } from './database.ts'
import type { Change, Kind } from './editLog.ts'

/** The rows of one kind in SQLite; within a transaction of {@link RegistryDatabase.write}. */
interface RowTable {
  /** @param row its columns by name */
  put(row: object): void
  remove(key: string): void
  /** What would make its rows, in their order. */
  changes(): Iterable<Change>
}

export type RowTables = Readonly<Record<Kind, RowTable>>

/**
 * The statements that change rows. In a file that is this process's own, a row keeps its place, which is the order of creation.
 * In one that follows a log, a row may come before the one whose pair it has is known to have given it away: it takes it.
 */
export function rowTables(database: RegistryDatabase): RowTables {
  const table = (kind: Kind, columns: readonly string[], key: readonly string[], names = key): RowTable =>
    new Table(database, kind, columns, key, names)
  const records = (kind: Kind, pair: readonly string[]): RowTable =>
    table(kind, ['id', 'scope', ...pair, 'createdAt', 'updatedAt', 'definition'], ['scope', 'id'], ['id'])
  return {
    projects: table('projects', ['id', 'name', 'createdAt', 'disabled', 'quota'], ['id']),
    keys: table('keys', ['project', 'kind', 'digest', 'lastFour', 'createdAt'], ['project', 'kind']),
    oldKeys: table(
      'oldKeys',
      ['project', 'kind', 'digest', 'lastFour', 'createdAt', 'validUntil'],
      ['project', 'kind', 'digest'],
      ['digest'],
    ),
    settings: table('settings', ['scope', 'definition'], ['scope']),
    geofences: records('geofences', ['tag', 'externalId']),
    beacons: records('beacons', ['tag', 'externalId']),
    webhooks: records('webhooks', []),
    imports: table(
      'imports',
      ['id', 'scope', 'kind', 'createdAt', 'record', 'errors'],
      ['scope', 'id'],
      ['id'],
    ),
  }
}

class Table implements RowTable {
  readonly #kind: Kind
  readonly #key: readonly string[]
  readonly #names: readonly string[]
  readonly #put
  readonly #remove
  readonly #all

  /**
   * @param key the columns that make up the key of a change
   * @param names the last of them, which name the row by themselves
   */
  constructor(
    database: RegistryDatabase,
    kind: Kind,
    columns: readonly string[],
    key: readonly string[],
    names: readonly string[],
  ) {
    this.#kind = kind
    this.#key = key
    this.#names = names
    const values = columns.map((column) => written(column, `@${column}`))
    const changed = columns.filter((column) => !names.includes(column))
    const row = `${kind} (${columns.join(', ')}) VALUES (${values.join(', ')})`
    this.#put = database.prepare(
      database.origin === undefined
        ? `INSERT INTO ${row} ON CONFLICT (${names.join(', ')}) DO UPDATE SET
             ${changed.map((column) => `${column} = excluded.${column}`).join(', ')}`
        : `INSERT OR REPLACE INTO ${row}`,
    )
    this.#remove = database.prepare(
      `DELETE FROM ${kind} WHERE ${names.map((column) => `${column} = ${written(column, '?')}`).join(' AND ')}`,
    )
    const read = columns.map((column) => (column === DIGEST ? `lower(hex(${DIGEST})) AS ${DIGEST}` : column))
    this.#all = database.prepare(`SELECT ${read.join(', ')} FROM ${kind}`)
  }

  put(row: object): void {
    this.#put.run(row)
  }

  remove(key: string): void {
    this.#remove.run(...key.split('.').slice(-this.#names.length))
  }

  *changes(): Generator<Change> {
    for (const row of this.#all.iterate() as Iterable<Readonly<Record<string, unknown>>>) {
      yield { kind: this.#kind, key: this.#key.map((column) => row[column]).join('.'), row }
    }
  }
}

/** A blob, which JSON has not: in changes it is hex. */
const DIGEST = 'digest'

/** @param value the parameter that stands for the column's value in a statement */
function written(column: string, value: string): string {
  return column === DIGEST ? `unhex(${value})` : value
}
