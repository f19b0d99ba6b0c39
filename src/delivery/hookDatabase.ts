import type Database from 'better-sqlite3'
import {
  INTEGER_PARAMETER,
  openSqlite,
  TEXT_PARAMETER,
  withFlush,
  type SqliteFormat,
} from '../runtime/sqlite.ts'
import type { HookEnds, HookEntry, HookMessage, KnownStays } from './hookLog.ts'

/** How many messages are removed at a time, so that other work waits only milliseconds. */
const CHUNK = 1000

/** The column `number` is the offset of a message. No number is given twice. */
const SCHEMA = `
  CREATE TABLE hooks (id TEXT PRIMARY KEY, definition TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE stays (
    hookId TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (hookId, key)
  ) WITHOUT ROWID;
  CREATE TABLE messages (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    hookId TEXT NOT NULL,
    type TEXT NOT NULL,
    deviceId TEXT NOT NULL,
    userRecordId TEXT NOT NULL,
    createdAt INTEGER NOT NULL,
    actualCreatedAt INTEGER NOT NULL,
    json TEXT NOT NULL
  );
  CREATE INDEX messagesByHook ON messages (hookId, number);
  CREATE INDEX messagesByTime ON messages (actualCreatedAt);
`

const FORMAT: SqliteFormat = {
  // These bytes are "RfHk".
  applicationId: 0x5266486b,
  schema: SCHEMA,
  upgrades: [],
  settings: ['synchronous = NORMAL'],
}

/**
 * The SQLite side of a hook log, synchronous. Changes are gathered in a transaction until {@link commit}, with WAL and
 * synchronous = NORMAL. So a commit survives the end of the process, and a power failure undoes whole transactions,
 * the latest first.
 */
export class HookDatabase {
  readonly #database: Database.Database
  readonly #keepMs: number
  readonly #statements: ReturnType<typeof prepareStatements>

  /**
   * Opens or creates the file.
   * @param keepMs how long messages are kept that cannot be delivered, in milliseconds
   */
  constructor(file: string, keepMs: number) {
    this.#keepMs = keepMs
    this.#database = openSqlite(file, FORMAT)
    this.#statements = prepareStatements(this.#database)
  }

  ends(): { ends: HookEnds; lastOffset: number } {
    const rows = this.#statements.ends.all() as { hookId: string; offset: number; count: number }[]
    const lastOffset = (this.#statements.last.get() as number | undefined) ?? 0
    return { ends: new Map(rows.map(({ hookId, ...end }) => [hookId, end])), lastOffset }
  }

  stays(hookId: string): KnownStays | undefined {
    const definition = this.#statements.definition.get(hookId) as string | undefined
    if (definition === undefined) return undefined
    return { definition, stays: this.#statements.stays.all(hookId) as [string, string][] }
  }

  begin(hookId: string, { definition, stays }: KnownStays): void {
    this.commit()
    withFlush(this.#database, () => {
      this.#change()
      this.#statements.removeStays.run(hookId)
      this.#statements.setDefinition.run(hookId, definition)
      for (const [key, value] of stays) this.#statements.setStay.run(hookId, key, value)
      this.commit()
    })
  }

  append(entries: readonly HookEntry[]): number {
    this.#change()
    const { setStay, removeStay, insert } = this.#statements
    let last = 0
    for (const { hookId, messages, stays } of entries) {
      for (const [key, value] of stays)
        if (value === null) removeStay.run(hookId, key)
        else setStay.run(hookId, key, value)
      for (const message of messages) last = Number(insert.run({ ...message, hookId }).lastInsertRowid)
    }
    return last
  }

  read(hookId: string, after: number, limit: number): (HookMessage & { offset: number })[] {
    return this.#statements.read.all(hookId, after, limit) as (HookMessage & { offset: number })[]
  }

  get(id: string): string | undefined {
    return this.#statements.get.get(id) as string | undefined
  }

  remove(ids: readonly string[]): void {
    this.#change()
    for (const id of ids) this.#statements.remove.run(id)
  }

  forget(hookId: string, whole: boolean): void {
    this.#change()
    this.#statements.removeStays.run(hookId)
    this.#statements.removeDefinition.run(hookId)
    if (whole) this.#statements.removeMessages.run(hookId)
  }

  /**
   * Removes some messages that are too old to be delivered.
   * @returns whether there may be more
   */
  tidySome(now: number): boolean {
    this.#change()
    const { changes } = this.#statements.removeOld.run(now - this.#keepMs, CHUNK)
    this.commit()
    return changes === CHUNK
  }

  /** Ends the current transaction. */
  commit(): void {
    if (this.#database.inTransaction) this.#database.exec('COMMIT')
  }

  close(): void {
    this.commit()
    this.#database.close()
  }

  #change(): void {
    if (!this.#database.inTransaction) this.#database.exec('BEGIN')
  }
}

function prepareStatements(database: Database.Database) {
  return {
    ends: database.prepare(
      'SELECT hookId, max(number) AS offset, count(*) AS count FROM messages GROUP BY hookId',
    ),
    last: database.prepare(`SELECT seq FROM sqlite_sequence WHERE name = 'messages'`).pluck(),
    definition: database.prepare('SELECT definition FROM hooks WHERE id = ?').pluck(),
    stays: database.prepare('SELECT key, value FROM stays WHERE hookId = ?').raw(),
    setDefinition: database.prepare('INSERT OR REPLACE INTO hooks VALUES (?, ?)'),
    removeDefinition: database.prepare('DELETE FROM hooks WHERE id = ?'),
    setStay: database.prepare('INSERT OR REPLACE INTO stays VALUES (?, ?, ?)'),
    removeStay: database.prepare('DELETE FROM stays WHERE hookId = ? AND key = ?'),
    removeStays: database.prepare('DELETE FROM stays WHERE hookId = ?'),
    insert: database.prepare(
      `INSERT INTO messages (id, hookId, type, deviceId, userRecordId, createdAt, actualCreatedAt, json)
       VALUES (@id, @hookId, @type, @deviceId, @userRecordId, @createdAt, @actualCreatedAt, @json)`,
    ),
    read: database.prepare(
      `SELECT number AS offset, id, type, deviceId, userRecordId, createdAt, actualCreatedAt, json
       FROM messages WHERE hookId = ${TEXT_PARAMETER} AND number > ? ORDER BY number LIMIT ${INTEGER_PARAMETER}`,
    ),
    get: database.prepare('SELECT json FROM messages WHERE id = ?').pluck(),
    remove: database.prepare('DELETE FROM messages WHERE id = ?'),
    removeMessages: database.prepare('DELETE FROM messages WHERE hookId = ?'),
    removeOld: database.prepare(
      'DELETE FROM messages WHERE number IN (SELECT number FROM messages WHERE actualCreatedAt < ? LIMIT ?)',
    ),
  }
}
