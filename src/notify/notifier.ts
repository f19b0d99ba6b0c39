import { createHash } from 'node:crypto'
import { isLive, projectOf, type ScopeId } from '../model/scope.ts'
import type {
  Notification,
  NotificationCause,
  NotificationState,
} from '../registry/notifications/notificationRows.ts'
import type { NotificationRegistry } from '../registry/notifications/notificationRegistry.ts'
import type { Change } from '../registry/store/editLog.ts'
import type { Clock } from '../runtime/clock.ts'
import { ApiError } from '../runtime/errors.ts'
import { newId } from '../runtime/newId.ts'
import { testMail, type MailEnvironment, type MailText } from './mailTexts.ts'
import type { Mailer } from './port.ts'

const TESTS_AN_HOUR = 5
const HOUR_MS = 3_600_000
/** The time limit of a test, for whose answer somebody waits. */
const TEST_MS = 20_000

export interface NotifierParts {
  readonly notifications: NotificationRegistry
  /** The mail server. If absent, there is none. */
  readonly mailer: Mailer | undefined
  readonly projectName: (project: number) => string
  /** The address of the dashboard; '' if there is none. */
  readonly publicUrl: string
  readonly clock: Clock
}

/** Something that people are told by e-mail. */
export interface Notice {
  readonly cause: NotificationCause
  /** What the cause is about. Two causes with the same text count as one. */
  readonly of: string
  readonly scope: ScopeId
  readonly to: readonly string[]
  readonly run?: string
  readonly mail: MailText
}

/** Queues e-mails. Owns: whether there is one. Does not own: sending ({@link MailJob}). */
export class Notifier {
  readonly #parts: NotifierParts

  constructor(parts: NotifierParts) {
    this.#parts = parts
  }

  get isConfigured(): boolean {
    return this.#parts.mailer !== undefined
  }

  environmentOf(scope: ScopeId): MailEnvironment {
    const { projectName, publicUrl } = this.#parts
    return {
      project: projectName(projectOf(scope)),
      live: isLive(scope),
      publicUrl: publicUrl === '' ? undefined : publicUrl.replace(/\/$/, ''),
    }
  }

  /** Whether a cause was told before. */
  isTold({ cause, of, scope }: Pick<Notice, 'cause' | 'of' | 'scope'>): boolean {
    return this.#parts.notifications.has(scope, idOf(cause, of))
  }

  /** Returns the changes that queue an e-mail, and its state afterwards, within an edit. */
  queue(notice: Notice): { readonly state: NotificationState; readonly changes: readonly Change[] } {
    const { notifications, clock } = this.#parts
    const { cause, of, scope, to, run, mail } = notice
    if (to.length === 0) return { state: { status: 'off' }, changes: [] }
    if (!this.isConfigured) return { state: { status: 'notConfigured' }, changes: [] }
    if (!notifications.hasRoom(scope, cause))
      return { state: { status: 'failed', error: 'Too many e-mails are waiting.' }, changes: [] }
    const now = clock.now()
    const notification: Notification = {
      ...waiting({ id: idOf(cause, of), scope, createdAt: now, cause, to, mail }),
      ...(run !== undefined && { run }),
    }
    return { state: { status: 'waiting' }, changes: [notifications.stored(notification)] }
  }

  /** Queues an e-mail unless its cause was told before. */
  async tell(notice: Notice): Promise<void> {
    const { edits } = this.#parts.notifications
    await edits.edit(() => {
      if (this.isTold(notice)) return
      const { changes } = this.queue(notice)
      if (changes.length > 0) edits.commit(changes)
    })
  }

  /**
   * Sends an e-mail to see whether that works.
   * @throws {ApiError} 429
   */
  async test(scope: ScopeId, email: string): Promise<NotificationState> {
    const { notifications, mailer, clock } = this.#parts
    if (mailer === undefined)
      return { status: 'notConfigured', error: 'The operator has not set a mail server (smtpUrl).' }
    const now = clock.now()
    const id = newId(now)
    const mail = testMail(this.environmentOf(scope))
    const to = [email]
    // It is stored as sent before it is sent, because it counts, and nobody else must send it.
    await notifications.edits.edit(() => {
      const lately = notifications.createdOf(scope, 'test').filter((at) => at > now - HOUR_MS)
      if (lately.length >= TESTS_AN_HOUR)
        throw new ApiError(429, `There are at most ${TESTS_AN_HOUR} test e-mails an hour.`, {
          retryAfter: Math.ceil((lately[0]! + HOUR_MS - now) / 1000),
        })
      const { nextAttemptAt: _, ...sent } = waiting({ id, scope, createdAt: now, cause: 'test', to, mail })
      notifications.edits.commit([notifications.stored({ ...sent, pending: [], text: '' })])
    })
    const { refused, later } = await mailer.send({ id, to, recipients: to, ...mail }, TEST_MS)
    const [problem] = [...refused, ...later]
    return problem === undefined ? { status: 'sent' } : { status: 'failed', error: `${problem.reason}.` }
  }
}

function waiting(parts: {
  readonly id: string
  readonly scope: ScopeId
  readonly createdAt: number
  readonly cause: NotificationCause
  readonly to: readonly string[]
  readonly mail: MailText
}): Notification {
  const { mail, to, createdAt, ...rest } = parts
  return {
    ...rest,
    createdAt,
    to,
    pending: to,
    refusals: [],
    ...mail,
    attempts: 0,
    nextAttemptAt: createdAt,
  }
}

function idOf(cause: NotificationCause, of: string): string {
  return createHash('sha256').update(`${cause} ${of}`).digest('hex').slice(0, 24)
}
