import { closeSync, fsyncSync, openSync } from 'node:fs'
import type Database from 'better-sqlite3'
import { isRecordId } from '../model/recordId.ts'
import type { ScopeId } from '../model/scope.ts'
import { INTEGER_PARAMETER, TEXT_PARAMETER, withFlush } from '../runtime/sqlite.ts'
import { openEventTables } from './eventTables.ts'
import {
  afterCursor,
  contentConditions,
  EventSearch,
  orderOf,
  type CountStep,
  type TotalStep,
} from './eventSearch.ts'
import { OwnedEvents, type OwnedEvent } from './ownedEvents.ts'
import { COLUMNS, type PackedEvents } from './packedEvents.ts'
import { PAGE_CHARACTERS, READ_CHARACTERS } from './port.ts'
import type { CountQuery, EventFilters, EventQuery, Scopes, Verification } from './port.ts'

/** How many events one transaction of a prune removes, so that whatever waits for it waits only milliseconds. */
const PRUNE_CHUNK = 1_000
/** Events of one device or user that are counted in one step. */
const OWNED_STEP = 4_000
/** How much is copied at a time. */
const COPIED_BYTES = 256 * 1024

/**
 * The query of {@link EventDatabase.read} for one scope: the index leads to its events, however many events other
 * scopes have.
 */
export const READ_OF_SCOPE = `SELECT rowid AS offset, scope, json FROM events INDEXED BY eventsByScope
  WHERE scope = ${INTEGER_PARAMETER} AND rowid > ? ORDER BY rowid LIMIT ${INTEGER_PARAMETER}`

/**
 * The SQLite side of the event index, synchronous; one connection, one owner.
 *
 * Durability: events and the log offset up to which they are complete change in one transaction, so that whatever
 * a crash leaves is a prefix of the log together with its log offset, and replaying from there is right. A commit is
 * not flushed (WAL, synchronous = NORMAL): losing power may lose the last of them, which the log still has.
 * {@link EventDatabase.checkpoint} flushes the write-ahead log and then the file; only the log offset that it returns
 * allows the log to be trimmed. Deletes and verdicts are flushed at once (FULL): the log could not repeat them. The
 * write-ahead log is one file in order, so the flush takes along the event and the log offset past it, and no replay
 * can bring back what was before.
 */
export class EventDatabase {
  readonly #database: Database.Database
  readonly #owned: OwnedEvents
  readonly #search: EventSearch
  readonly #insertOne: Database.Statement
  readonly #insertMany: Database.Statement
  readonly #setMeta: Database.Statement
  readonly #readAll: Database.Statement<[number, number], PlacedJson>
  readonly #readScope: Database.Statement<[ScopeId, number, number], PlacedJson>
  readonly #offsetOf: Database.Statement<[Buffer, ScopeId], number>
  readonly #timeOf: Database.Statement<[number], number>
  readonly #jsonAt: Database.Statement<[number], string>
  readonly #idAt: Database.Statement<[number], string>
  readonly #get: Database.Statement<[Buffer, ScopeId], string>
  readonly #setJson: Database.Statement
  readonly #delete: Database.Statement
  readonly #prune: Database.Statement
  readonly #lists = new Map<string, Database.Statement<unknown[], number>>()
  #logOffset: number
  #offset: number

  /**
   * Opens or creates the file, and upgrades an older one.
   * @param progress called after each few thousand offsets of an older file with how many are done, and of how many
   * @throws {@link EventIndexDamaged}, {@link EventIndexTooNew}
   */
  constructor(file: string, progress: (done: number, offsets: number) => void = () => {}) {
    this.#database = openEventTables(file)
    const database = this.#database
    this.#insertOne = insertOf(database, 1)
    this.#insertMany = insertOf(database, MANY)
    this.#setMeta = database.prepare('UPDATE meta SET value = ? WHERE name = ?')
    this.#readAll = database.prepare(
      `SELECT rowid AS offset, scope, json FROM events WHERE rowid > ? ORDER BY rowid LIMIT ${INTEGER_PARAMETER}`,
    )
    this.#readScope = database.prepare(READ_OF_SCOPE)
    this.#offsetOf = database
      .prepare<[Buffer, ScopeId], number>('SELECT rowid FROM events WHERE id = ? AND scope = ?')
      .pluck()
    this.#timeOf = database.prepare<[number], number>('SELECT createdAt FROM events WHERE rowid = ?').pluck()
    this.#jsonAt = database.prepare<[number], string>('SELECT json FROM events WHERE rowid = ?').pluck()
    this.#idAt = database
      .prepare<[number], string>('SELECT lower(hex(id)) FROM events WHERE rowid = ?')
      .pluck()
    this.#get = database
      .prepare<[Buffer, ScopeId], string>('SELECT json FROM events WHERE id = ? AND scope = ?')
      .pluck()
    this.#setJson = database.prepare('UPDATE events SET json = ? WHERE id = ? AND scope = ?')
    this.#delete = database.prepare('DELETE FROM events WHERE id = ? AND scope = ?')
    this.#prune = database.prepare(
      `DELETE FROM events WHERE rowid IN (SELECT rowid FROM events WHERE actualCreatedAt < ? LIMIT ${PRUNE_CHUNK})`,
    )
    const meta = database.prepare<[string], number>('SELECT value FROM meta WHERE name = ?').pluck()
    this.#logOffset = meta.get('position')!
    this.#offset = meta.get('place')!
    this.#owned = new OwnedEvents(database)
    this.#search = new EventSearch(database)
    this.#owned.putIn(this.#offset, (owned) => progress(owned, this.#offset))
  }

  /** Log offset up to which every event is stored, as of the last committed transaction. */
  get logOffset(): number {
    return this.#logOffset
  }

  /** The offset of the last event in the order of the log, as of the last committed transaction. */
  get offset(): number {
    return this.#offset
  }

  /**
   * Adds events and moves the log offset, in one transaction. An event with a known id is ignored, but still uses its
   * offset.
   * @param rows made by packEvents; their offsets continue from {@link offset}
   * @param breathe called between statements
   */
  add(logOffset: number, rows: PackedEvents, breathe: () => void = () => {}): void {
    const database = this.#database
    const offset = (rows.at(-COLUMNS) as number | undefined) ?? this.#offset
    database.exec('BEGIN')
    try {
      let at = 0
      for (; at + MANY * COLUMNS <= rows.length; at += MANY * COLUMNS) {
        this.#insertMany.run(rows.slice(at, at + MANY * COLUMNS))
        breathe()
      }
      for (; at < rows.length; at += COLUMNS) this.#insertOne.run(rows.slice(at, at + COLUMNS))
      this.#setMeta.run(logOffset, 'position')
      this.#setMeta.run(offset, 'place')
      database.exec('COMMIT')
    } catch (error) {
      if (database.inTransaction) database.exec('ROLLBACK')
      throw error
    }
    this.#logOffset = logOffset
    this.#offset = offset
    this.#owned.putInMany(offset)
  }

  /** Events in the order of the log, after an offset, like {@link EventIndex.read}. */
  read(scopes: Scopes, after: number, limit: number): PlacedJsons {
    const rows =
      scopes === 'all' ? this.#readAll.iterate(after, limit) : this.#readScope.iterate(scopes, after, limit)
    const events: PlacedJson[] = []
    let characters = 0
    for (const row of rows) {
      events.push(row)
      characters += row.json.length
      if (events.length === limit || characters >= READ_CHARACTERS) return { events, offset: row.offset }
    }
    return { events, offset: this.#offset }
  }

  offsetOf(scope: ScopeId, id: string): number | undefined {
    return isRecordId(id) ? this.#offsetOf.get(Buffer.from(id, 'hex'), scope) : undefined
  }

  /** Makes all added events durable; returns the log offset. */
  checkpoint(): number {
    const [done] = this.#database.pragma('wal_checkpoint(PASSIVE)') as [Checkpointed]
    // If another process reads the file, SQLite does not copy the pages that this process needs, and they are not
    // flushed either.
    if (done.busy !== 0 || done.checkpointed < done.log) this.#flushLog()
    return this.#logOffset
  }

  /** A page of events, like {@link EventIndex.list}. */
  list(scope: ScopeId, query: EventQuery): { readonly events: string[]; readonly hasMore: boolean } {
    const cursor = this.#cursorOf(scope, query)
    if (cursor === null) return { events: [], hasMore: false }
    const offsets =
      query.userId === undefined && query.deviceId === undefined
        ? this.#offsetsOfAll(scope, query, cursor)
        : this.#offsetsOfOwner(scope, { ...query, limit: query.limit + 1 }, cursor)
    const events: string[] = []
    let characters = 0
    // The offsets are read first, so that rows which are sorted but lie behind the page's end are not read.
    for (const offset of offsets) {
      if (events.length === query.limit || characters >= PAGE_CHARACTERS) return { events, hasMore: true }
      const json = this.#jsonAt.get(offset)!
      events.push(json)
      characters += json.length
    }
    return { events, hasMore: false }
  }

  /**
   * One step of a search by the contents of events, after the cursor.
   * @param before the cursor of the previous step; undefined for the first step
   */
  search(scope: ScopeId, query: EventQuery, before: OwnedEvent | undefined): FoundEvents {
    const start = before ?? this.#cursorOf(scope, query)
    if (start === null) return { events: [], cursor: undefined, lastId: undefined }
    const { offsets, cursor } = this.#search.find(scope, query, start)
    const events = offsets.map((offset) => this.#jsonAt.get(offset)!)
    return { events, cursor, lastId: cursor && this.#idAt.get(cursor.offset)! }
  }

  /** One step of a count, after the cursor of the previous step. */
  count(scope: ScopeId, query: CountQuery, cursor: OwnedEvent | undefined): CountStep {
    return this.#search.count(scope, query, cursor)
  }

  /** One step of counting the events of a list, after the cursor of the step before. */
  total(scope: ScopeId, filters: EventFilters, cursor: OwnedEvent | undefined): TotalStep {
    if (filters.userId === undefined && filters.deviceId === undefined)
      return this.#search.total(scope, filters, cursor)
    const offsets = this.#offsetsOfOwner(scope, { ...filters, limit: OWNED_STEP }, cursor)
    const last = offsets.length < OWNED_STEP ? undefined : offsets.at(-1)
    return {
      count: offsets.length,
      examined: offsets.length,
      cursor: last === undefined ? undefined : { offset: last, createdAt: this.#timeOf.get(last)! },
    }
  }

  /** Where the page begins; null if its `before` does not exist. */
  #cursorOf(scope: ScopeId, { before }: EventQuery): OwnedEvent | undefined | null {
    if (before === undefined) return undefined
    const offset = this.offsetOf(scope, before)
    return offset === undefined ? null : { offset, createdAt: this.#timeOf.get(offset)! }
  }

  #offsetsOfOwner(scope: ScopeId, query: EventQuery, cursor: OwnedEvent | undefined): number[] {
    this.#owned.putIn(this.#offset)
    const conditions = new Conditions()
    const isUser = query.userId !== undefined
    if (isUser) conditions.add('e.deviceId = ?', query.deviceId)
    conditions.add('e.type = ?', query.type)
    conditions.add('e.actualCreatedAt < ?', query.updatedBefore)
    conditions.add('e.actualCreatedAt > ?', query.updatedAfter)
    for (const [condition, value] of contentConditions(query, 'e.type', 'e.json'))
      conditions.add(condition, value)
    const { createdBefore, createdAfter } = query
    return this.#owned.find({
      scope,
      isUser,
      owner: query.userId ?? query.deviceId!,
      createdBefore,
      createdAfter,
      cursor,
      isAscending: query.isAscending,
      ...conditions,
      limit: query.limit,
    })
  }

  #offsetsOfAll(scope: ScopeId, query: EventQuery, cursor: OwnedEvent | undefined): number[] {
    const conditions = new Conditions()
    conditions.add(`scope = ${INTEGER_PARAMETER}`, scope)
    conditions.add(`type = ${TEXT_PARAMETER}`, query.type)
    conditions.add('createdAt < ?', query.createdBefore)
    conditions.add('createdAt > ?', query.createdAfter)
    conditions.add('actualCreatedAt < ?', query.updatedBefore)
    conditions.add('actualCreatedAt > ?', query.updatedAfter)
    const { isAscending = false } = query
    const [from, after] = afterCursor(isAscending)
    conditions.add(from, cursor?.createdAt)
    conditions.add(after, cursor?.createdAt, cursor?.offset)
    const where = conditions.conditions.join(' AND ')
    const index = indexFor(query)
    const key = `${index} ${isAscending} ${where}`
    let statement = this.#lists.get(key)
    if (statement === undefined) {
      statement = this.#database
        .prepare<unknown[], number>(
          `SELECT rowid FROM events INDEXED BY ${index} WHERE ${where} ORDER BY ${orderOf(isAscending)} LIMIT ${INTEGER_PARAMETER}`,
        )
        .pluck()
      this.#lists.set(key, statement)
    }
    return statement.all(...conditions.values, query.limit + 1)
  }

  get(scope: ScopeId, id: string): string | undefined {
    return isRecordId(id) ? this.#get.get(Buffer.from(id, 'hex'), scope) : undefined
  }

  /** Deletes an event durably. Returns whether it existed. */
  delete(scope: ScopeId, id: string): boolean {
    if (!isRecordId(id)) return false
    return withFlush(this.#database, () => this.#delete.run(Buffer.from(id, 'hex'), scope)).changes > 0
  }

  /**
   * Stores the verdict about an event, durably. Returns the event's JSON with the verdict; undefined if there is no
   * such event.
   */
  verify(scope: ScopeId, id: string, verdict: Verification): string | undefined {
    const before = this.get(scope, id)
    if (before === undefined) return undefined
    const json = JSON.stringify({ ...JSON.parse(before), verifiedPlaceId: undefined, ...verdict })
    withFlush(this.#database, () => this.#setJson.run(json, Buffer.from(id, 'hex'), scope))
    return json
  }

  /**
   * Removes some of the events that the server created before that time. Returns their number, which is 0 if none are
   * left.
   */
  pruneSome(before: number): number {
    const { changes } = this.#prune.run(before)
    if (changes === 0) this.#owned.forgetBlocks()
    return changes
  }

  /** Flushes the write-ahead log. SQLite locks only its other files, so closing this one releases no lock. */
  #flushLog(): void {
    const descriptor = openSync(`${this.#database.name}-wal`, 'r')
    try {
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
  }

  /**
   * Copies the database into a new file, durably, while it is read and written between the steps. Changes of pages
   * that are copied already are added to the copy. Resolves to the copy's log offset.
   * @param step called after each step of some hundred microseconds; ends the copy by throwing
   */
  async copy(file: string, step: (copied: number, total: number) => void): Promise<number> {
    const pageBytes = this.#database.pragma('page_size', { simple: true }) as number
    await this.#database.backup(file, {
      progress: ({ totalPages, remainingPages }) => {
        step((totalPages - remainingPages) * pageBytes, totalPages * pageBytes)
        return COPIED_BYTES / pageBytes
      },
    })
    return this.#logOffset
  }

  /** Makes everything durable and closes. */
  close(): void {
    this.checkpoint()
    this.#database.close()
  }
}

/** SQLite's answer to a checkpoint: how many pages the write-ahead log has, and how many of them are in the file. */
interface Checkpointed {
  readonly busy: number
  readonly log: number
  readonly checkpointed: number
}

/** What a step of a search has found, and where the next step continues. Without a cursor, it was the last step. */
export interface FoundEvents {
  readonly events: readonly string[]
  readonly cursor: OwnedEvent | undefined
  /** The `_id` of the event at the cursor. */
  readonly lastId: string | undefined
}

/** An event's JSON with its offset in the order of the log. */
export interface PlacedJson {
  readonly offset: number
  readonly scope: ScopeId
  readonly json: string
}

/** Some events of the log in order, and the offset up to which there are no others. */
export interface PlacedJsons {
  readonly events: readonly PlacedJson[]
  readonly offset: number
}

/** How many events one statement inserts. This costs a quarter less than one by one. */
const MANY = 40

/** The conditions of a query and their values. A condition whose value is undefined is left out. */
class Conditions {
  readonly conditions: string[] = []
  readonly values: unknown[] = []

  add(condition: string, ...values: unknown[]): void {
    if (values[0] === undefined) return
    this.conditions.push(condition)
    this.values.push(...values)
  }
}

/**
 * The index that a query should use. SQLite would choose only by the shape of the query, because it keeps no
 * statistics here.
 */
function indexFor(query: EventQuery): string {
  // A client that polls asks for the last minutes of server time. In the order of createdAt, those events could be
  // anywhere.
  if (query.updatedAfter !== undefined) return 'eventsByServerTime'
  if (query.type !== undefined) return 'eventsByType'
  return 'eventsByTime'
}

const INSERT =
  'INSERT INTO events (rowid, id, scope, type, deviceId, userId, userRecordId, createdAt, actualCreatedAt, json) VALUES '

/** A statement that inserts this many packed events. */
function insertOf(database: Database.Database, events: number): Database.Statement<unknown[]> {
  const rows = Array.from({ length: events }, () => '(?, unhex(?), ?, ?, ?, ?, ?, ?, ?, ?)')
  return database.prepare(`${INSERT} ${rows.join(', ')} ON CONFLICT (id) DO NOTHING`)
}
