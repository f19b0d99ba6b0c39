import type { ScopeId } from '../../model/scope.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { RegistryDatabase } from '../store/database.ts'
import type { Change, EditLog } from '../store/editLog.ts'
import type { RegistryReplica } from '../store/replica.ts'
import type { Notification, NotificationCause, NotificationRow } from './notificationRows.ts'

/** How many e-mails of one cause an environment may have, waiting and remembered. */
const MOST_OF_A_CAUSE = 100
/** How long an e-mail that was sent is remembered, so that its cause makes no second one. */
const REMEMBERED_MS = 48 * 3_600_000

/** The part of an e-mail that is kept in memory. */
interface Known {
  readonly key: string
  readonly scope: ScopeId
  readonly cause: NotificationCause
  readonly createdAt: number
  /** Infinity if nothing more is done. */
  readonly nextAttemptAt: number
}

/**
 * E-mails as rows of the registry: those that wait, and for two days those that were sent.
 *
 * Owns: that a cause has one e-mail, how many there may be. Does not own: what makes one, and how it is sent.
 *
 * Invariants
 * - NOTIFICATIONS-1: A cause that is queued twice, however long it lasts and by whichever process, is one e-mail: its
 *   id follows from the cause, and the edit that queues it sees the others.
 */
export class NotificationRegistry {
  readonly edits: EditLog
  readonly #clock: Clock
  readonly #statements: ReturnType<typeof prepareStatements>
  readonly #known = new Map<string, Known>()
  /** Called after each change. */
  changed = (): void => {}

  constructor(replica: RegistryReplica, edits: EditLog, clock: Clock) {
    this.edits = edits
    this.#clock = clock
    this.#statements = prepareStatements(replica.database)
    replica.keep<NotificationRow, Notification>('notifications', {
      recordOf: notificationOf,
      put: (notification) => {
        this.#remember(notification)
        this.changed()
      },
      remove: (key) => void this.#known.delete(key),
    })
  }

  /** Fills the memory from the file, once. */
  load(): void {
    for (const row of this.#statements.all.all() as NotificationRow[]) this.#remember(notificationOf(row))
  }

  has(scope: ScopeId, id: string): boolean {
    return this.#known.has(keyOf(scope, id))
  }

  /** Whether another e-mail of this cause may be queued, within an edit. */
  hasRoom(scope: ScopeId, cause: NotificationCause): boolean {
    return this.createdOf(scope, cause).length < MOST_OF_A_CAUSE
  }

  /** When the e-mails of a cause were queued, in epoch milliseconds, oldest first. */
  createdOf(scope: ScopeId, cause: NotificationCause): readonly number[] {
    const times: number[] = []
    for (const known of this.#known.values())
      if (known.scope === scope && known.cause === cause) times.push(known.createdAt)
    return times.sort((a, b) => a - b)
  }

  /** When the next attempt is due, in epoch milliseconds; Infinity if none is. */
  get nextDue(): number {
    let next = Infinity
    for (const { nextAttemptAt } of this.#known.values()) next = Math.min(next, nextAttemptAt)
    return next
  }

  /** The e-mails whose attempt is due, oldest first. */
  due(limit: number): Notification[] {
    const now = this.#clock.now()
    const due = [...this.#known.values()].filter(({ nextAttemptAt }) => nextAttemptAt <= now)
    return due
      .sort((a, b) => a.createdAt - b.createdAt)
      .slice(0, limit)
      .flatMap(({ key, scope }) => this.get(scope, key.slice(key.indexOf('.') + 1)) ?? [])
  }

  get(scope: ScopeId, id: string): Notification | undefined {
    const row = this.#statements.get.get(scope, id) as NotificationRow | undefined
    return row && notificationOf(row)
  }

  /** The change that stores an e-mail. */
  stored(notification: Notification): Change {
    const { scope, id, createdAt, ...rest } = notification
    const row: NotificationRow = { scope, id, createdAt, record: JSON.stringify(rest) }
    return { kind: 'notifications', key: keyOf(scope, id), row }
  }

  /** The change that forgets one. */
  forgotten({ scope, id }: Pick<Notification, 'scope' | 'id'>): Change {
    return { kind: 'notifications', key: keyOf(scope, id), row: undefined }
  }

  /** Forgets e-mails that were sent two days ago, within an edit. */
  sweep(): void {
    const before = this.#clock.now() - REMEMBERED_MS
    const old = [...this.#known.values()]
      .filter(({ createdAt, nextAttemptAt }) => nextAttemptAt === Infinity && createdAt < before)
      .slice(0, MOST_OF_A_CAUSE)
    if (old.length === 0) return
    this.edits.commit(old.map(({ key }) => ({ kind: 'notifications', key, row: undefined })))
  }

  #remember({ scope, id, cause, createdAt, nextAttemptAt = Infinity }: Notification): void {
    const key = keyOf(scope, id)
    this.#known.set(key, { key, scope, cause, createdAt, nextAttemptAt })
  }
}

function keyOf(scope: ScopeId, id: string): string {
  return `${scope}.${id}`
}

function notificationOf({ scope, id, createdAt, record }: NotificationRow): Notification {
  return { scope, id, createdAt, ...JSON.parse(record) }
}

function prepareStatements(database: RegistryDatabase) {
  const columns = 'scope, id, createdAt, record'
  return {
    all: database.prepare(`SELECT ${columns} FROM notifications`),
    get: database.prepare(`SELECT ${columns} FROM notifications WHERE scope = ? AND id = ?`),
  }
}
