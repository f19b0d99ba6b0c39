import type { RegistryDatabase } from './database.ts'
import type { Kind } from './editLog.ts'

/** The rows of one kind in SQLite; within a transaction of {@link RegistryDatabase.write}. */
interface RowTable {
  /** @param row its columns by name */
  put(row: object): void
  remove(key: string): void
}

export type RowTables = Readonly<Record<Kind, RowTable>>

/**
 * The statements that change rows. In a file that is this process's own, a row keeps its place, which is the order of creation.
 * In one that follows a log, a row may come before the one whose pair it has is known to have given it away: it takes it.
 */
export function rowTables(database: RegistryDatabase): RowTables {
  return {
    projects: table(database, 'projects', ['id', 'name', 'createdAt', 'disabled', 'quota'], ['id']),
    keys: table(
      database,
      'keys',
      ['project', 'kind', 'digest', 'lastFour', 'createdAt'],
      ['project', 'kind'],
      // Blobs, which JSON has not.
      (column) => (column === 'digest' ? 'unhex(@digest)' : `@${column}`),
    ),
    settings: table(database, 'settings', ['scope', 'definition'], ['scope']),
    geofences: recordTable(database, 'geofences', ['tag', 'externalId']),
    beacons: recordTable(database, 'beacons', ['tag', 'externalId']),
    webhooks: recordTable(database, 'webhooks', []),
    imports: table(database, 'imports', ['id', 'scope', 'kind', 'createdAt', 'record', 'errors'], ['id']),
  }
}

function recordTable(database: RegistryDatabase, name: Kind, pair: readonly string[]): RowTable {
  const columns = ['id', 'scope', ...pair, 'createdAt', 'updatedAt', 'definition']
  return table(database, name, columns, ['id'])
}

/** @param names columns that name a row; they end its key */
function table(
  database: RegistryDatabase,
  name: Kind,
  columns: readonly string[],
  names: readonly string[],
  valueOf = (column: string) => `@${column}`,
): RowTable {
  const values = `(${columns.join(', ')}) VALUES (${columns.map(valueOf).join(', ')})`
  const changed = columns.filter((column) => !names.includes(column))
  const put = database.prepare(
    database.origin === undefined
      ? `INSERT INTO ${name} ${values} ON CONFLICT (${names.join(', ')}) DO UPDATE SET
           ${changed.map((column) => `${column} = excluded.${column}`).join(', ')}`
      : `INSERT OR REPLACE INTO ${name} ${values}`,
  )
  const remove = database.prepare(
    `DELETE FROM ${name} WHERE ${names.map((column) => `${column} = ?`).join(' AND ')}`,
  )
  return {
    put: (row) => void put.run(row),
    remove: (key) => void remove.run(...key.split('.').slice(-names.length)),
  }
}
