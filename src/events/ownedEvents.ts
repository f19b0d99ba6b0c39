import type Database from 'better-sqlite3'
import type { ScopeId } from '../model/scope.ts'
import { INTEGER_PARAMETER, TEXT_PARAMETER } from '../runtime/sqlite.ts'

/**
 * The events of a device, and of a user, found among all.
 *
 * The obvious way is an index by device and time. Devices send in any order, so each event is on another page of it:
 * of the 13 µs that an event cost, 4 µs were for writing those pages twice, for some 30 bytes each. Here the events
 * of 32,768 successive offsets (a block) have their own index, which is small enough to be rewritten, and some
 * thousand events at a time are added to it, in its order. A query searches the blocks whose times can match, in the
 * order of its list; usually these are few.
 *
 * Owns: the tables `owners` and `blocks`, and up to which offset they are complete (`owned` in `meta`). Does not own:
 * events. When an event is deleted, a trigger removes its rows.
 *
 * Invariants
 * - OWNED-EVENTS-1: Every event up to `owned` has a row for its device and, if it has a user, one for its user, and
 *   lies within the times of its block. There are no other rows.
 */

/** A block has 2^15 offsets, which is about 1.5 MB of rows. */
const BLOCK_BITS = 15
/** How many events may wait to be put in. */
const WAITING_EVENTS = 8_192
/** A time in milliseconds that is later than any time in JavaScript. */
const END_OF_TIME = 1e16

export const OWNERS_SCHEMA = `
  CREATE TABLE owners (
    block INTEGER NOT NULL,
    scope INTEGER NOT NULL,
    isUser INTEGER NOT NULL,
    owner TEXT NOT NULL,
    createdAt INTEGER NOT NULL,
    place INTEGER NOT NULL,
    PRIMARY KEY (block, scope, isUser, owner, createdAt, place)
  ) WITHOUT ROWID;
  CREATE TABLE blocks (block INTEGER PRIMARY KEY, oldest INTEGER NOT NULL, newest INTEGER NOT NULL);
  CREATE TRIGGER eventDeleted AFTER DELETE ON events BEGIN
    DELETE FROM owners WHERE block = old.rowid >> ${BLOCK_BITS} AND scope = old.scope AND isUser = 0
      AND owner = old.deviceId AND createdAt = old.createdAt AND place = old.rowid;
    DELETE FROM owners WHERE block = old.rowid >> ${BLOCK_BITS} AND scope = old.scope AND isUser = 1
      AND owner = old.userId AND createdAt = old.createdAt AND place = old.rowid;
  END;
  INSERT INTO meta VALUES ('owned', 0);
`

/** Whose events are requested, and the other conditions. */
export interface OwnedQuery {
  readonly scope: ScopeId
  readonly isUser: boolean
  /** The id of the device or user. */
  readonly owner: string
  /** Bounds of the time, exclusive, in epoch milliseconds. */
  readonly createdBefore?: number | undefined
  readonly createdAfter?: number | undefined
  /** The event after which the list continues. */
  readonly cursor?: OwnedEvent | undefined
  /** Oldest first. */
  readonly isAscending?: boolean | undefined
  /** Conditions on the columns of the event, `e`, and their values. */
  readonly conditions: readonly string[]
  readonly values: readonly unknown[]
  readonly limit: number
}

/** An event's offset and time: lists are ordered by them. */
export interface OwnedEvent {
  readonly offset: number
  readonly createdAt: number
}

/** A block with the times of its events. */
interface Block {
  readonly block: number
  readonly oldest: number
  readonly newest: number
}

export class OwnedEvents {
  readonly #database: Database.Database
  readonly #putIn: (from: number, to: number) => void
  readonly #forgetBlocks: Database.Statement
  readonly #newestBlocks: Database.Statement<[number, number], Block>
  readonly #oldestBlocks: Database.Statement<[number, number], Block>
  readonly #finds = new Map<string, Database.Statement<unknown[], OwnedEvent>>()
  #owned: number

  constructor(database: Database.Database) {
    this.#database = database
    const events = 'FROM events WHERE rowid > @from AND rowid <= @to'
    const addOwners = database.prepare(
      `INSERT INTO owners
         SELECT rowid >> ${BLOCK_BITS}, scope, 0, deviceId, createdAt, rowid ${events}
         UNION ALL
         SELECT rowid >> ${BLOCK_BITS}, scope, 1, userId, createdAt, rowid ${events} AND userId IS NOT NULL
         ORDER BY 1, 2, 3, 4, 5, 6`,
    )
    const addBlocks = database.prepare(
      `INSERT INTO blocks
         SELECT rowid >> ${BLOCK_BITS}, min(createdAt), max(createdAt) ${events} GROUP BY 1
         ON CONFLICT (block) DO UPDATE SET
           oldest = min(oldest, excluded.oldest), newest = max(newest, excluded.newest)`,
    )
    const setOwned = database.prepare(`UPDATE meta SET value = ? WHERE name = 'owned'`)
    this.#putIn = database.transaction((from: number, to: number) => {
      addOwners.run({ from, to })
      addBlocks.run({ from, to })
      setOwned.run(to)
    })
    this.#forgetBlocks = database.prepare(
      `DELETE FROM blocks WHERE block < (SELECT min(rowid) >> ${BLOCK_BITS} FROM events)`,
    )
    const blocks = 'SELECT block, oldest, newest FROM blocks WHERE oldest < ? AND newest > ?'
    this.#newestBlocks = database.prepare(`${blocks} ORDER BY newest DESC`)
    this.#oldestBlocks = database.prepare(`${blocks} ORDER BY oldest`)
    this.#owned = database.prepare<[], number>(`SELECT value FROM meta WHERE name = 'owned'`).pluck().get()!
  }

  /**
   * Puts events in if enough of them wait.
   * @param offset the offset of the last event
   */
  putInMany(offset: number): void {
    if (offset - this.#owned >= WAITING_EVENTS) this.putIn(offset)
  }

  /**
   * Adds all waiting events up to an offset, some thousand per transaction.
   * @param progress called after each transaction with the offset up to which it is done
   */
  putIn(offset: number, progress: (owned: number) => void = () => {}): void {
    while (this.#owned < offset) {
      const to = Math.min(offset, this.#owned + WAITING_EVENTS)
      this.#putIn(this.#owned, to)
      this.#owned = to
      progress(to)
    }
  }

  /** Forgets the blocks before the first event's block. Their rows are removed together with their events. */
  forgetBlocks(): void {
    this.#forgetBlocks.run()
  }

  /** The offsets of the requested events that were put in, by createdAt and then offset. */
  find(query: OwnedQuery): number[] {
    const { scope, isUser, owner, values, limit, cursor, isAscending = false } = query
    const beginning = isAscending ? -END_OF_TIME : END_OF_TIME
    const { createdAt: cursorTime, offset: cursorOffset } = cursor ?? {
      createdAt: beginning,
      offset: beginning,
    }
    const before = Math.min(query.createdBefore ?? END_OF_TIME, isAscending ? END_OF_TIME : cursorTime + 1)
    const after = Math.max(query.createdAfter ?? -END_OF_TIME, isAscending ? cursorTime - 1 : -END_OF_TIME)
    const statement = this.#statementFor(query.conditions, isAscending)
    const blocks = isAscending ? this.#oldestBlocks : this.#newestBlocks
    const order = isAscending ? byTime : (a: OwnedEvent, b: OwnedEvent) => byTime(b, a)
    let found: OwnedEvent[] = []
    for (const { block, oldest, newest } of blocks.all(before, after)) {
      const last = found.length === limit ? found[limit - 1]!.createdAt : undefined
      // The blocks that follow have only later events than those of the page.
      if (last !== undefined && (isAscending ? last < oldest : last > newest)) break
      const key = [block, scope, isUser ? 1 : 0, owner]
      const rows = statement.all(...key, before, after, cursorTime, cursorOffset, ...values, limit)
      if (rows.length > 0) found = found.concat(rows).toSorted(order).slice(0, limit)
    }
    return found.map(({ offset }) => offset)
  }

  #statementFor(
    conditions: readonly string[],
    isAscending: boolean,
  ): Database.Statement<unknown[], OwnedEvent> {
    const key = conditions.join(' AND ')
    const name = `${isAscending} ${key}`
    let statement = this.#finds.get(name)
    if (statement === undefined) {
      const [beyond, direction] = isAscending ? ['>', 'ASC'] : ['<', 'DESC']
      // CROSS, so that the events are looked up by the rows, whatever the conditions are.
      const integer = INTEGER_PARAMETER
      const events = key === '' ? '' : 'CROSS JOIN events e ON e.rowid = o.place'
      statement = this.#database.prepare(
        `SELECT o.place AS offset, o.createdAt FROM owners o ${events}
           WHERE o.block = ${integer} AND o.scope = ${integer} AND o.isUser = ${integer} AND o.owner = ${TEXT_PARAMETER}
             AND o.createdAt < ? AND o.createdAt > ? AND (o.createdAt ${beyond} ? OR o.place ${beyond} ?)
             ${key === '' ? '' : `AND ${key}`}
           ORDER BY o.createdAt ${direction}, o.place ${direction} LIMIT ${integer}`,
      )
      this.#finds.set(name, statement)
    }
    return statement
  }
}

function byTime(a: OwnedEvent, b: OwnedEvent): number {
  return a.createdAt - b.createdAt || a.offset - b.offset
}
