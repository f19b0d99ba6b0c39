import type Database from 'better-sqlite3'
import { openSqlite, SqliteFileForeign, SqliteFileTooNew, withFlush } from '../runtime/sqlite.ts'
import type { SqliteFormat } from '../runtime/sqlite.ts'
import type { Delivery, DeliveryQuery, WebhookState } from './webhookPort.ts'

/** How many deliveries are removed at a time, so that other work waits only milliseconds. */
const CHUNK = 1000

/** The column `number` is the order in which deliveries were made. No number is given twice. */
const SCHEMA = `
  CREATE TABLE webhooks (id TEXT PRIMARY KEY, state TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE deliveries (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    webhookId TEXT NOT NULL,
    status TEXT NOT NULL,
    createdAt INTEGER NOT NULL,
    record TEXT NOT NULL
  );
  CREATE INDEX deliveriesByWebhook ON deliveries (webhookId, number);
  CREATE INDEX deliveriesByStatus ON deliveries (webhookId, status, number);
  CREATE INDEX deliveriesByTime ON deliveries (createdAt);
`

const FORMAT: SqliteFormat = {
  // These bytes are "RfDl".
  applicationId: 0x5266446c,
  schema: SCHEMA,
  upgrades: [],
  settings: ['synchronous = NORMAL'],
}

/** The file belongs to another program or a newer version, or is damaged. */
export class DeliveriesUnreadable extends Error {
  override readonly name = 'DeliveriesUnreadable'

  constructor(file: string, cause: unknown) {
    super(
      `${file} cannot be used: ${(cause as Error).message}. If you move the file away, webhooks send the events that happen from then on.`,
      { cause },
    )
  }
}

/** How long, and how many, finished deliveries of each webhook are kept. */
export interface DeliveryRetention {
  readonly deliveriesDays: number
  readonly deliveriesRows: number
}

interface Row {
  readonly id: string
  readonly webhookId: string
  readonly status: string
  readonly createdAt: number
  readonly record: string
}

/**
 * The SQLite side of deliveries, synchronous. Changes are gathered in a transaction until {@link commit}, with WAL and
 * synchronous = NORMAL. So a commit survives the end of the process, and a power failure undoes whole transactions,
 * the latest first.
 */
export class WebhookDatabase {
  readonly #database: Database.Database
  readonly #retention: DeliveryRetention
  readonly #statements: ReturnType<typeof prepareStatements>
  /** Whether there may be deliveries of deleted webhooks. A killed process also leaves some. */
  #orphans = true

  /** @throws {DeliveriesUnreadable} */
  constructor(file: string, retention: DeliveryRetention) {
    this.#retention = retention
    this.#database = open(file)
    this.#statements = prepareStatements(this.#database)
  }

  states(): Map<string, WebhookState> {
    const rows = this.#statements.states.all() as { id: string; state: string }[]
    return new Map(rows.map(({ id, state }) => [id, readState(state)]))
  }

  begin(webhookId: string, state: WebhookState): void {
    this.commit()
    withFlush(this.#database, () => {
      this.setState(webhookId, state)
      this.commit()
    })
  }

  setState(webhookId: string, state: WebhookState): void {
    this.#change()
    this.#statements.setState.run(webhookId, writeState(state))
  }

  take(webhookId: string, state: WebhookState, deliveries: readonly Delivery[]): void {
    this.setState(webhookId, state)
    for (const delivery of deliveries) this.#statements.insert.run(toRow(delivery))
  }

  save(delivery: Delivery): void {
    this.#change()
    this.#statements.save.run(toRow(delivery))
  }

  pending(webhookId: string): Delivery[] {
    return (this.#statements.pending.all(webhookId) as Row[]).map(fromRow)
  }

  get(webhookId: string, id: string): Delivery | undefined {
    const row = this.#statements.get.get(id, webhookId) as Row | undefined
    return row && fromRow(row)
  }

  list(webhookId: string, query: DeliveryQuery): { deliveries: Delivery[]; hasMore: boolean } {
    const { status, createdBefore = Number.MAX_SAFE_INTEGER, createdAfter = -1, before, limit } = query
    const number =
      before === undefined
        ? Number.MAX_SAFE_INTEGER
        : ((this.#statements.numberOf.get(before, webhookId) as number | undefined) ?? 0)
    const bounds = [number, createdBefore, createdAfter, limit + 1]
    const rows = (
      status === undefined
        ? this.#statements.list.all(webhookId, ...bounds)
        : this.#statements.listByStatus.all(webhookId, status, ...bounds)
    ) as Row[]
    return { deliveries: rows.slice(0, limit).map(fromRow), hasMore: rows.length > limit }
  }

  /** Removes a webhook's state. {@link tidySome} removes its deliveries. */
  remove(webhookId: string): void {
    this.#change()
    this.#statements.remove.run(webhookId)
    this.#orphans = true
  }

  /**
   * Removes some finished deliveries past their retention, and some of deleted webhooks.
   * @returns whether there may be more
   */
  tidySome(now: number): boolean {
    const { deliveriesDays, deliveriesRows } = this.#retention
    const { removeOrphans, removeOld, removeMany } = this.#statements
    this.#change()
    const orphans = this.#orphans ? removeOrphans.run(CHUNK).changes : 0
    this.#orphans = orphans === CHUNK
    const old = removeOld.run(now - deliveriesDays * 86_400_000, CHUNK).changes
    let removed = Math.max(orphans, old)
    for (const webhookId of this.states().keys())
      removed = Math.max(removed, removeMany.run(webhookId, webhookId, deliveriesRows, CHUNK).changes)
    this.commit()
    return removed === CHUNK
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

function toRow(delivery: Delivery): Row {
  const { id, webhookId, status, createdAt, ...rest } = delivery
  return { id, webhookId, status, createdAt, record: JSON.stringify(rest) }
}

function fromRow({ id, webhookId, status, createdAt, record }: Row): Delivery {
  return { id, webhookId, status, createdAt, ...JSON.parse(record) }
}

/** Writes the state. The offset is stored as `place`, the name that the first version gave it. */
function writeState({ offset, ...state }: WebhookState): string {
  return JSON.stringify({ place: offset, ...state })
}

function readState(text: string): WebhookState {
  const { place, ...state } = JSON.parse(text)
  return { offset: place, ...state }
}

function prepareStatements(database: Database.Database) {
  const page = 'number < ? AND createdAt < ? AND createdAt > ? ORDER BY number DESC LIMIT ?'
  const removeWhere = (condition: string) =>
    database.prepare(
      `DELETE FROM deliveries WHERE number IN (SELECT number FROM deliveries WHERE ${condition} LIMIT ?)`,
    )
  return {
    states: database.prepare('SELECT id, state FROM webhooks'),
    setState: database.prepare(
      'INSERT INTO webhooks VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET state = excluded.state',
    ),
    remove: database.prepare('DELETE FROM webhooks WHERE id = ?'),
    insert: database.prepare(
      `INSERT INTO deliveries (id, webhookId, status, createdAt, record)
       VALUES (@id, @webhookId, @status, @createdAt, @record)`,
    ),
    save: database.prepare('UPDATE deliveries SET status = @status, record = @record WHERE id = @id'),
    pending: database.prepare(
      `SELECT * FROM deliveries WHERE webhookId = ? AND status = 'pending' ORDER BY number`,
    ),
    get: database.prepare('SELECT * FROM deliveries WHERE id = ? AND webhookId = ?'),
    numberOf: database.prepare('SELECT number FROM deliveries WHERE id = ? AND webhookId = ?').pluck(),
    list: database.prepare(`SELECT * FROM deliveries WHERE webhookId = ? AND ${page}`),
    listByStatus: database.prepare(`SELECT * FROM deliveries WHERE webhookId = ? AND status = ? AND ${page}`),
    removeOrphans: removeWhere('webhookId NOT IN (SELECT id FROM webhooks)'),
    removeOld: removeWhere(`status <> 'pending' AND createdAt < ?`),
    // Pending deliveries stay, and count among those that are kept.
    removeMany: removeWhere(
      `webhookId = ? AND status <> 'pending' AND number <=
         (SELECT number FROM deliveries WHERE webhookId = ? ORDER BY number DESC LIMIT 1 OFFSET ?)`,
    ),
  }
}

function open(file: string): Database.Database {
  try {
    return openSqlite(file, FORMAT)
  } catch (error) {
    throw new DeliveriesUnreadable(file, reasonOf(error as Error))
  }
}

function reasonOf(error: Error): Error {
  if (error instanceof SqliteFileForeign) return new Error('it holds something else')
  if (error instanceof SqliteFileTooNew)
    return new Error(`it has format ${error.version} of a newer Ringfence`)
  return error
}
