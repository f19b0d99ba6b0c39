import Database from 'better-sqlite3'
import type { ScopeId } from '../model/scope.ts'
import { PAGE_CHARACTERS, STRETCH_CHARACTERS } from './port.ts'
import type { EventQuery, Scopes, StoredEvent, Verdict } from './port.ts'

/** "RfEv": tells an event index from any other SQLite file. */
const APPLICATION_ID = 0x52664576
const SCHEMA_VERSION = 3
/** Events removed per transaction of a prune, so that what waits behind it waits for milliseconds. */
const PRUNE_CHUNK = 1_000
const CACHE_KIB = 32_768
/** Pages copied at a time: 256 KB. */
const COPIED_PAGES = 64

/**
 * The row number of an event is its place in the order of the log: given by us, never twice, so that a reader's cursor
 * stays true whatever is deleted. Among events of one time it tells which came later; every index ends in it by
 * itself. The ids tell nothing: they are mixed with the store's.
 */
const SCHEMA = `
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
  CREATE INDEX eventsByUser ON events (scope, userId, createdAt) WHERE userId IS NOT NULL;
  CREATE INDEX eventsByDevice ON events (scope, deviceId, createdAt);
  CREATE INDEX eventsByType ON events (scope, type, createdAt);
  CREATE INDEX eventsByServerTime ON events (actualCreatedAt);
  INSERT INTO meta VALUES ('position', 0), ('place', 0);
`

/** Brings a file of version 1, where SQLite numbered the rows, up to date. */
const TO_VERSION_2 = `INSERT INTO meta SELECT 'place', coalesce(max(rowid), 0) FROM events`
/** And one of version 2, where the few events of a scope were looked for among all. */
const TO_VERSION_3 = 'CREATE INDEX eventsByScope ON events (scope)'

/** What {@link EventDatabase.read} asks for one scope: the index leads to its events, however many there are of others. */
export const READ_OF_SCOPE = `SELECT rowid AS place, scope, json FROM events INDEXED BY eventsByScope
  WHERE scope = ? AND rowid > ? ORDER BY rowid LIMIT ?`

/** The file is no event index, or is damaged. It is left as it is: events before the log's start exist nowhere else. */
export class EventIndexDamaged extends Error {
  override readonly name = 'EventIndexDamaged'
}

/** The file was written by a newer version of this program. */
export class EventIndexTooNew extends Error {
  override readonly name = 'EventIndexTooNew'
}

/**
 * The SQLite side of the event index, synchronous; one connection, one owner.
 *
 * Durability: events and the log position up to which they are complete change in one transaction, so that whatever
 * a crash leaves is a prefix of the log together with its position, and replaying from there is right. A commit is
 * not flushed (WAL, synchronous = NORMAL): losing power may lose the last of them, which the log still has.
 * {@link EventDatabase.checkpoint} flushes the write-ahead log and then the file; only the position that it returns
 * allows the log to be trimmed. Deletes and verdicts are flushed at once (FULL): the log could not repeat them. The
 * write-ahead log is one file in order, so the flush takes along the event and the position past it, and no replay can
 * bring back what was before.
 */
export class EventDatabase {
  readonly #database: Database.Database
  readonly #insert: Database.Statement
  readonly #setMeta: Database.Statement
  readonly #readAll: Database.Statement<[number, number], PlacedJson>
  readonly #readScope: Database.Statement<[ScopeId, number, number], PlacedJson>
  readonly #placeOf: Database.Statement<[Buffer, ScopeId], number>
  readonly #timeOf: Database.Statement<[number], number>
  readonly #jsonAt: Database.Statement<[number], string>
  readonly #get: Database.Statement<[Buffer, ScopeId], string>
  readonly #setJson: Database.Statement
  readonly #delete: Database.Statement
  readonly #prune: Database.Statement
  readonly #lists = new Map<string, Database.Statement<unknown[], number>>()
  #position: number
  #place: number

  /**
   * Opens or creates the file.
   * @throws {@link EventIndexDamaged}, {@link EventIndexTooNew}
   */
  constructor(file: string) {
    this.#database = open(file)
    const database = this.#database
    this.#insert = database.prepare(
      `INSERT INTO events
         (id, scope, type, deviceId, userId, userRecordId, createdAt, actualCreatedAt, json, rowid)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
    )
    this.#setMeta = database.prepare('UPDATE meta SET value = ? WHERE name = ?')
    this.#readAll = database.prepare(
      'SELECT rowid AS place, scope, json FROM events WHERE rowid > ? ORDER BY rowid LIMIT ?',
    )
    this.#readScope = database.prepare(READ_OF_SCOPE)
    this.#placeOf = database
      .prepare<[Buffer, ScopeId], number>('SELECT rowid FROM events WHERE id = ? AND scope = ?')
      .pluck()
    this.#timeOf = database.prepare<[number], number>('SELECT createdAt FROM events WHERE rowid = ?').pluck()
    this.#jsonAt = database.prepare<[number], string>('SELECT json FROM events WHERE rowid = ?').pluck()
    this.#get = database
      .prepare<[Buffer, ScopeId], string>('SELECT json FROM events WHERE id = ? AND scope = ?')
      .pluck()
    this.#setJson = database.prepare('UPDATE events SET json = ? WHERE id = ? AND scope = ?')
    this.#delete = database.prepare('DELETE FROM events WHERE id = ? AND scope = ?')
    this.#prune = database.prepare(
      `DELETE FROM events WHERE rowid IN (SELECT rowid FROM events WHERE actualCreatedAt < ? LIMIT ${PRUNE_CHUNK})`,
    )
    const meta = database.prepare<[string], number>('SELECT value FROM meta WHERE name = ?').pluck()
    this.#position = meta.get('position')!
    this.#place = meta.get('place')!
  }

  /** Log position up to which every event is here, in the last committed transaction. */
  get position(): number {
    return this.#position
  }

  /** The place of the last event in the order of the log, in the last committed transaction. */
  get place(): number {
    return this.#place
  }

  /**
   * Adds events, each at the place after the one before, and moves the position, in one transaction. An id that is
   * known is ignored, but for its place.
   * @param rows see {@link packEvents}
   */
  add(position: number, rows: PackedEvents): void {
    const database = this.#database
    let place = this.#place
    database.exec('BEGIN')
    try {
      for (let i = 0; i < rows.length; i += COLUMNS) insertRow(this.#insert, rows, i, ++place)
      this.#setMeta.run(position, 'position')
      this.#setMeta.run(place, 'place')
      database.exec('COMMIT')
    } catch (error) {
      if (database.inTransaction) database.exec('ROLLBACK')
      throw error
    }
    this.#position = position
    this.#place = place
  }

  /** Events in the order of the log, from after a place on, as {@link EventIndex.read}. */
  read(scopes: Scopes, after: number, limit: number): PlacedJsons {
    const rows =
      scopes === 'all' ? this.#readAll.iterate(after, limit) : this.#readScope.iterate(scopes, after, limit)
    const events: PlacedJson[] = []
    let characters = 0
    for (const row of rows) {
      events.push(row)
      characters += row.json.length
      if (events.length === limit || characters >= STRETCH_CHARACTERS) return { events, place: row.place }
    }
    return { events, place: this.#place }
  }

  placeOf(scope: ScopeId, id: string): number | undefined {
    return isEventId(id) ? this.#placeOf.get(Buffer.from(id, 'hex'), scope) : undefined
  }

  /** Makes all that was added durable; returns the position. */
  checkpoint(): number {
    this.#database.pragma('wal_checkpoint(PASSIVE)')
    return this.#position
  }

  /** See {@link EventIndex.list}. */
  list(scope: ScopeId, query: EventQuery): { readonly events: string[]; readonly hasMore: boolean } {
    const conditions = ['scope = ?']
    const values: unknown[] = [scope]
    const narrow = (condition: string, value: unknown): void => {
      if (value === undefined) return
      conditions.push(condition)
      values.push(value)
    }
    narrow('userId = ?', query.userId)
    narrow('deviceId = ?', query.deviceId)
    narrow('type = ?', query.type)
    narrow('createdAt < ?', query.createdBefore)
    narrow('createdAt > ?', query.createdAfter)
    narrow('actualCreatedAt < ?', query.updatedBefore)
    narrow('actualCreatedAt > ?', query.updatedAfter)
    if (query.before !== undefined) {
      const place = this.placeOf(scope, query.before)
      if (place === undefined) return { events: [], hasMore: false }
      const time = this.#timeOf.get(place)!
      // The first alone would do for an index to begin there.
      narrow('createdAt <= ?', time)
      conditions.push('(createdAt < ? OR rowid < ?)')
      values.push(time, place)
    }
    const where = conditions.join(' AND ')
    const index = indexFor(query)
    const key = `${index} ${where}`
    let statement = this.#lists.get(key)
    if (statement === undefined) {
      statement = this.#database
        .prepare<unknown[], number>(
          `SELECT rowid FROM events INDEXED BY ${index} WHERE ${where} ORDER BY createdAt DESC, rowid DESC LIMIT ?`,
        )
        .pluck()
      this.#lists.set(key, statement)
    }
    const events: string[] = []
    let characters = 0
    // The places first: what is sorted, and is past the page's end, is not read.
    for (const place of statement.all(...values, query.limit + 1)) {
      if (events.length === query.limit || characters >= PAGE_CHARACTERS) return { events, hasMore: true }
      const json = this.#jsonAt.get(place)!
      events.push(json)
      characters += json.length
    }
    return { events, hasMore: false }
  }

  get(scope: ScopeId, id: string): string | undefined {
    return isEventId(id) ? this.#get.get(Buffer.from(id, 'hex'), scope) : undefined
  }

  /** Whether it was there. Durable when it returns. */
  delete(scope: ScopeId, id: string): boolean {
    if (!isEventId(id)) return false
    return this.#flushed(() => this.#delete.run(Buffer.from(id, 'hex'), scope)).changes > 0
  }

  /** The event's JSON with the verdict in it, durable when it returns; undefined where there is no such event. */
  verify(scope: ScopeId, id: string, verdict: Verdict): string | undefined {
    const before = this.get(scope, id)
    if (before === undefined) return undefined
    const json = JSON.stringify({ ...JSON.parse(before), verifiedPlaceId: undefined, ...verdict })
    this.#flushed(() => this.#setJson.run(json, Buffer.from(id, 'hex'), scope))
    return json
  }

  /** Removes some of the events that the server created before that time; returns how many, 0 when none are left. */
  pruneSome(before: number): number {
    return this.#prune.run(before).changes
  }

  /** Runs a change that is on the disk when it returns. */
  #flushed<T>(change: () => T): T {
    this.#database.pragma('synchronous = FULL')
    try {
      return change()
    } finally {
      this.#database.pragma('synchronous = NORMAL')
    }
  }

  /**
   * Copies the database into a new file, durably, while it is read and written between the steps: what is written to
   * pages that are copied already goes into the copy too. Resolves to the copy's position.
   * @param step called after each of some hundred microseconds; ends the copy by throwing
   */
  async copy(file: string, step: (copied: number, total: number) => void): Promise<number> {
    const pageBytes = this.#database.pragma('page_size', { simple: true }) as number
    await this.#database.backup(file, {
      progress: ({ totalPages, remainingPages }) => {
        step((totalPages - remainingPages) * pageBytes, totalPages * pageBytes)
        return COPIED_PAGES
      },
    })
    return this.#position
  }

  /** Makes all durable and closes. */
  close(): void {
    this.checkpoint()
    this.#database.close()
  }
}

/** An event's JSON at its place in the order of the log. */
export interface PlacedJson {
  readonly place: number
  readonly scope: ScopeId
  readonly json: string
}

/** A stretch of them, and the place up to which there are no others. */
export interface PlacedJsons {
  readonly events: readonly PlacedJson[]
  readonly place: number
}

/** Events for a transaction, as a flat list of values, {@link COLUMNS} each: crosses a thread faster than objects. */
export type PackedEvents = (string | number | null)[]

const COLUMNS = 9

/** Appends events to a packed list, in the order of the table's columns. */
export function packEvents(events: readonly StoredEvent[], into: PackedEvents): void {
  for (const event of events) {
    into.push(
      event.id,
      event.scope,
      event.type,
      event.deviceId,
      event.userId ?? null,
      event.userRecordId,
      event.createdAt,
      event.actualCreatedAt,
      event.json,
    )
  }
}

/** SQLite would choose by shape of the query alone: it keeps no statistics here. */
function indexFor(query: EventQuery): string {
  if (query.userId !== undefined) return 'eventsByUser'
  if (query.deviceId !== undefined) return 'eventsByDevice'
  // Somebody who polls asks for the last minutes of server time, where in the order of createdAt all could be in between.
  if (query.updatedAfter !== undefined) return 'eventsByServerTime'
  if (query.type !== undefined) return 'eventsByType'
  return 'eventsByTime'
}

function isEventId(id: string): boolean {
  return /^[0-9a-f]{24}$/.test(id)
}

function open(file: string): Database.Database {
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
  database.pragma('journal_mode = WAL')
  database.pragma('synchronous = NORMAL')
  // Checkpoints are made on purpose, by checkpoint(): the durable position depends on them.
  database.pragma('wal_autocheckpoint = 0')
  database.pragma(`cache_size = -${CACHE_KIB}`)
  if (version < SCHEMA_VERSION) {
    database.transaction(() => {
      if (fresh) database.exec(SCHEMA)
      else if (version < 2) database.exec(TO_VERSION_2)
      if (!fresh) database.exec(TO_VERSION_3)
      database.pragma(`application_id = ${APPLICATION_ID}`)
      database.pragma(`user_version = ${SCHEMA_VERSION}`)
    })()
  }
  const indexes = database
    .prepare(`SELECT count(*) FROM sqlite_schema WHERE name LIKE 'eventsBy%'`)
    .pluck()
    .get()
  const known = database.prepare(`SELECT count(*) FROM meta WHERE typeof(value) = 'integer'`).pluck().get()
  if (indexes !== 6 || known !== 2) throw new Error('parts of it are missing')
}

// Not inlined into the loop: V8 optimised the whole transaction over and over and threw it away each time.
function insertRow(insert: Database.Statement, rows: PackedEvents, i: number, place: number): void {
  insert.run(
    Buffer.from(rows[i] as string, 'hex'),
    rows[i + 1],
    rows[i + 2],
    rows[i + 3],
    rows[i + 4],
    rows[i + 5],
    rows[i + 6],
    rows[i + 7],
    rows[i + 8],
    place,
  )
}
