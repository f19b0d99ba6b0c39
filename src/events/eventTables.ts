import type Database from 'better-sqlite3'
import { openSqlite, SqliteFileForeign, SqliteFileTooNew } from '../runtime/sqlite.ts'
import type { SqliteFormat } from '../runtime/sqlite.ts'
import { OWNERS_SCHEMA } from './ownedEvents.ts'

/** The file of the event index: its tables, its versions, and how it is opened. */

const CACHE_BYTES = 32 * 1024 * 1024
/**
 * The page size of a new file. Events are appended one after the other: with pages of 4 KB, twice as many must be
 * written, and events cost a ninth more.
 */
const PAGE_BYTES = 8192

/**
 * The row number of an event is its offset in the order of the log: we assign it, and never twice, so a reader's
 * cursor stays valid whatever is deleted. Among events of the same time, it tells which came later, and every index
 * ends with it automatically. The ids do not tell, because they are mixed with the store's id.
 */
const EVENTS_SCHEMA = `
  CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE events (
    id BLOB NOT NULL UNIQUE,
    scope INTEGER NOT NULL,
    type TEXT NOT NULL,
    deviceId TEXT NOT NULL,
    userId TEXT,
    userRecordId TEXT NOT NULL,
    createdAt INTEGER NOT NULL,
    actualCreatedAt INTEGER NOT NULL,
    json TEXT NOT NULL
  );
  CREATE INDEX eventsByScope ON events (scope);
  CREATE INDEX eventsByTime ON events (scope, createdAt, actualCreatedAt);
  CREATE INDEX eventsByType ON events (scope, type, createdAt);
  CREATE INDEX eventsByServerTime ON events (actualCreatedAt);
  INSERT INTO meta VALUES ('position', 0), ('place', 0);
`

/** Upgrades a file of version 1, in which SQLite numbered the rows. */
const TO_VERSION_2 = `INSERT INTO meta SELECT 'place', coalesce(max(rowid), 0) FROM events`
/** Upgrades a file of version 2, which had no index of a scope's events. */
const TO_VERSION_3 = 'CREATE INDEX eventsByScope ON events (scope)'
/**
 * Upgrades a file of version 3, in which each event was added at once to the indexes of its device and of its user.
 */
const TO_VERSION_4 = `DROP INDEX eventsByUser; DROP INDEX eventsByDevice; ${OWNERS_SCHEMA}`

const FORMAT: SqliteFormat = {
  // These bytes are "RfEv".
  applicationId: 0x52664576,
  schema: EVENTS_SCHEMA + OWNERS_SCHEMA,
  upgrades: [TO_VERSION_2, TO_VERSION_3, TO_VERSION_4],
  pageBytes: PAGE_BYTES,
  settings: [
    'synchronous = NORMAL',
    // Checkpoints are only made by checkpoint(), because the durable position depends on them.
    'wal_autocheckpoint = 0',
    `cache_size = -${CACHE_BYTES / 1024}`,
  ],
}

const INDEXES = ['eventsByScope', 'eventsByTime', 'eventsByType', 'eventsByServerTime']
const META = ['position', 'place', 'owned']

/**
 * The file is not an event index, or is damaged. It is left unchanged, because events older than the log's start exist
 * nowhere else.
 */
export class EventIndexDamaged extends Error {
  override readonly name = 'EventIndexDamaged'
}

/** The file was written by a newer version of this program. */
export class EventIndexTooNew extends Error {
  override readonly name = 'EventIndexTooNew'
}

/**
 * Opens or creates the file, with tables of the current version.
 * @throws {@link EventIndexDamaged}, {@link EventIndexTooNew}
 */
export function openEventTables(file: string): Database.Database {
  let database: Database.Database | undefined
  try {
    database = openSqlite(file, FORMAT)
    checkWhole(database)
    // A statement that inserts several events keeps copies of the pages that it changes, to be able to roll back, and
    // writes them into a temporary file once they exceed 64 KB. This is not set before the upgrade, which may have to
    // sort an index of all events.
    database.pragma('temp_store = MEMORY')
    return database
  } catch (error) {
    database?.close()
    if (error instanceof SqliteFileForeign)
      throw new EventIndexDamaged(`The file ${file} is not an event index.`)
    if (error instanceof SqliteFileTooNew) {
      const { version, known } = error
      throw new EventIndexTooNew(
        `The event index ${file} has format ${version}; this version of Ringfence reads up to ${known}.`,
      )
    }
    throw new EventIndexDamaged(`The event index ${file} cannot be opened: ${(error as Error).message}.`, {
      cause: error,
    })
  }
}

function checkWhole(database: Database.Database): void {
  const names = database.prepare('SELECT name FROM sqlite_schema').pluck().all()
  const known = database.prepare(`SELECT name FROM meta WHERE typeof(value) = 'integer'`).pluck().all()
  const isWhole = INDEXES.every((name) => names.includes(name)) && META.every((name) => known.includes(name))
  if (!isWhole) throw new Error('parts of it are missing')
}
