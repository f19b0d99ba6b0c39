/**
 * How SQLite files are opened: the server's own data, which lasts and grows ({@link openSqlite}), and the files that an
 * import writes once ({@link createSqlite}) and everybody afterwards only reads ({@link openFinishedSqlite}).
 *
 * Three files are opened where they are used, because nothing here fits them: the lock of the log's folder, the borders
 * that a tool of Valhalla has written, and the files in a backup, which are checked without an upgrade.
 */
import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'better-sqlite3'

/** The size of the shared-memory file of a database that has just been opened. */
const SHARED_MEMORY_BYTES = 32 * 1024

/**
 * Parameters for statements that run often. SQLite prepares a statement anew whenever a parameter that its planner looks
 * at gets a value: each `LIMIT ?`, what must equal the first column of an index whose values may repeat, and in a file
 * with statistics also what is only compared. That takes 5 to 20 µs, some ten times as long as finding a row. The planner
 * does not look into a cast.
 */
export const INTEGER_PARAMETER = 'CAST(? AS INTEGER)'
export const TEXT_PARAMETER = 'CAST(? AS TEXT)'

/** How the files of one kind are recognised, and how their tables are created. */
export interface SqliteFormat {
  /** Four letters in the header of each file. */
  readonly applicationId: number
  /** Statements that create the tables of a new file, in the newest version. */
  readonly schema: string
  /** Statements that bring an older file from version 1 to 2, from 2 to 3, and so on to the newest version. */
  readonly upgrades: readonly string[]
  /** The page size of a new file; 4096 if absent. */
  readonly pageBytes?: number
  /** Pragmas of each connection, set before the tables are created or upgraded. */
  readonly settings: readonly string[]
}

/** The file belongs to another program, or is of another kind. */
export class SqliteFileForeign extends Error {
  override readonly name = 'SqliteFileForeign'
}

/** The file was written by a newer version of this program. */
export class SqliteFileTooNew extends Error {
  override readonly name = 'SqliteFileTooNew'
  readonly version: number
  /** The newest version that this program knows. */
  readonly known: number

  constructor(version: number, known: number) {
    super(`format ${version} is newer than ${known}`)
    this.version = version
    this.known = known
  }
}

/**
 * Opens or creates a file with a write-ahead log, and brings its tables to the newest version in one transaction. A
 * file that is refused is left unchanged.
 * @param lockWaitMs if given, only this connection may use the file until it is closed, and another process gets this
 * long to close it; undefined: the file is shared as usual
 * @throws {SqliteFileForeign} {@link SqliteFileTooNew} and the errors of SQLite
 */
export function openSqlite(file: string, format: SqliteFormat, lockWaitMs?: number): Database.Database {
  const database = new Database(file, lockWaitMs === undefined ? {} : { timeout: lockWaitMs })
  try {
    // This comes before the first access, so that the lock is taken once and for all, and needs no shared-memory file.
    if (lockWaitMs !== undefined) database.pragma('locking_mode = EXCLUSIVE')
    const version = database.pragma('user_version', { simple: true }) as number
    const owner = database.pragma('application_id', { simple: true })
    const tables = database.prepare('SELECT count(*) FROM sqlite_schema').pluck().get()
    const isNew = owner === 0 && version === 0 && tables === 0
    const newest = format.upgrades.length + 1
    if (!isNew && owner !== format.applicationId) throw new SqliteFileForeign(`${file} holds something else`)
    if (version > newest) throw new SqliteFileTooNew(version, newest)
    if (isNew && format.pageBytes !== undefined) database.pragma(`page_size = ${format.pageBytes}`)
    database.pragma('journal_mode = WAL')
    for (const setting of format.settings) database.pragma(setting)
    if (version < newest) upgrade(database, format, version)
    // Reading has only taken a shared lock.
    else if (lockWaitMs !== undefined) database.exec('BEGIN EXCLUSIVE; COMMIT')
    return database
  } catch (error) {
    database.close()
    if (error instanceof Database.SqliteError && isWithoutRoom(error.code, file))
      throw new Database.SqliteError(`${error.message}, because the disk is full`, error.code)
    throw error
  }
}

/** SQLite reports it as an I/O error if the disk has no room for the shared-memory file. */
function isWithoutRoom(code: string, file: string): boolean {
  if (!code.startsWith('SQLITE_IOERR')) return false
  const { bavail, bsize } = statfsSync(dirname(file))
  return bavail * bsize < SHARED_MEMORY_BYTES
}

/** Creates or upgrades the tables. What is not committed is undone when the connection closes. */
function upgrade(database: Database.Database, format: SqliteFormat, from: number): void {
  const { applicationId, schema, upgrades } = format
  database.exec('BEGIN EXCLUSIVE')
  for (const statements of from === 0 ? [schema] : upgrades.slice(from - 1)) database.exec(statements)
  database.pragma(`application_id = ${applicationId}`)
  database.pragma(`user_version = ${upgrades.length + 1}`)
  database.exec('COMMIT')
}

/**
 * Creates a file that is written once. It has no journal and is not flushed, so it is lost if the process ends early;
 * the caller gives it its final name after it is complete.
 * @param file must not exist yet
 * @param pageBytes 4096 if absent
 */
export function createSqlite(file: string, pageBytes?: number): Database.Database {
  const database = new Database(file)
  if (pageBytes !== undefined) database.pragma(`page_size = ${pageBytes}`)
  database.pragma('journal_mode = OFF')
  database.pragma('synchronous = OFF')
  return database
}

/**
 * Opens a complete file for reading. It is not mapped into memory, because the system would end the process if a mapped
 * file were cut off.
 * @param cacheBytes how much of the file is kept in memory; 2 MB if absent
 * @throws the errors of SQLite, also if the file does not exist
 */
export function openFinishedSqlite(file: string, cacheBytes?: number): Database.Database {
  const database = new Database(file, { readonly: true, fileMustExist: true })
  if (cacheBytes !== undefined) database.pragma(`cache_size = -${cacheBytes / 1024}`)
  return database
}

/**
 * Opens the bytes of a complete file for reading. They stay in memory until the database is closed.
 * @throws the errors of SQLite
 */
export function openSqliteBytes(bytes: Buffer): Database.Database {
  return new Database(bytes, { readonly: true })
}

/**
 * Makes a change that is on the disk when this returns, on a connection that otherwise flushes commits only at
 * checkpoints.
 */
export function withFlush<T>(database: Database.Database, change: () => T): T {
  database.pragma('synchronous = FULL')
  try {
    return change()
  } finally {
    database.pragma('synchronous = NORMAL')
  }
}
