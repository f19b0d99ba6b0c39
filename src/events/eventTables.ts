import Database from 'better-sqlite3'
import { OWNERS_SCHEMA } from './ownedEvents.ts'

/** The file of the event index: its tables, its versions, and how it is opened. */

/** "RfEv": tells an event index from any other SQLite file. */
const APPLICATION_ID = 0x52664576
const SCHEMA_VERSION = 4
const CACHE_KIB = 32_768
/** Of a new file. Events come one behind the other: pages of 4 KB, twice as many to write, make them a ninth dearer. */
const PAGE_BYTES = 8192

/**
 * The row number of an event is its place in the order of the log: given by us, never twice, so that a reader's cursor
 * stays true whatever is deleted. Among events of one time it tells which came later; every index ends in it by
 * itself. The ids tell nothing: they are mixed with the store's.
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

/** Brings a file of version 1, where SQLite numbered the rows, up to date. */
const TO_VERSION_2 = `INSERT INTO meta SELECT 'place', coalesce(max(rowid), 0) FROM events`
/** And one of version 2, where the few events of a scope were looked for among all. */
const TO_VERSION_3 = 'CREATE INDEX eventsByScope ON events (scope)'
/** And one of version 3, where each event was put among those of its device and of its user at once. */
const TO_VERSION_4 = `DROP INDEX eventsByUser; DROP INDEX eventsByDevice; ${OWNERS_SCHEMA}`

const INDEXES = ['eventsByScope', 'eventsByTime', 'eventsByType', 'eventsByServerTime']
const META = ['position', 'place', 'owned']

/** The file is no event index, or is damaged. It is left as it is: events before the log's start exist nowhere else. */
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
    database = new Database(file)
    prepareFile(database, file)
    return database
  } catch (error) {
    database?.close()
    if (error instanceof EventIndexDamaged || error instanceof EventIndexTooNew) throw error
    throw new EventIndexDamaged(`The event index ${file} cannot be opened: ${(error as Error).message}.`, {
      cause: error,
    })
  }
}

function prepareFile(database: Database.Database, file: string): void {
  const application = database.pragma('application_id', { simple: true }) as number
  const version = database.pragma('user_version', { simple: true }) as number
  const tables = database.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() as number
  const fresh = application === 0 && version === 0 && tables === 0
  if (!fresh && application !== APPLICATION_ID) {
    throw new EventIndexDamaged(`The file ${file} is not an event index.`)
  }
  if (version > SCHEMA_VERSION) {
    throw new EventIndexTooNew(
      `The event index ${file} has format ${version}; this version of Ringfence reads up to ${SCHEMA_VERSION}.`,
    )
  }
  if (fresh) database.pragma(`page_size = ${PAGE_BYTES}`)
  database.pragma('journal_mode = WAL')
  database.pragma('synchronous = NORMAL')
  // Checkpoints are made on purpose, by checkpoint(): the durable position depends on them.
  database.pragma('wal_autocheckpoint = 0')
  database.pragma(`cache_size = -${CACHE_KIB}`)
  if (version < SCHEMA_VERSION) {
    database.transaction(() => {
      if (fresh) database.exec(EVENTS_SCHEMA + OWNERS_SCHEMA)
      else {
        if (version < 2) database.exec(TO_VERSION_2)
        if (version < 3) database.exec(TO_VERSION_3)
        database.exec(TO_VERSION_4)
      }
      database.pragma(`application_id = ${APPLICATION_ID}`)
      database.pragma(`user_version = ${SCHEMA_VERSION}`)
    })()
  }
  const names = database.prepare('SELECT name FROM sqlite_schema').pluck().all()
  const known = database.prepare(`SELECT name FROM meta WHERE typeof(value) = 'integer'`).pluck().all()
  // A statement that inserts some events keeps copies of the pages that it changes, to be able to take itself
  // back, and writes them into a temporary file once they are over 64 KB. Not before the upgrade, which may have an
  // index of all events to sort.
  database.pragma('temp_store = MEMORY')
  const isWhole = INDEXES.every((name) => names.includes(name)) && META.every((name) => known.includes(name))
  if (!isWhole) throw new Error('parts of it are missing')
}
