/**
 * Sends the e-mails that wait.
 *
 * Owns: when an e-mail is tried, and when it is given up. Does not own: what is in it, and who queues it.
 *
 * Invariants
 * - MAIL-1: What an attempt achieved is written down before the next one: an address that accepted an e-mail, or refused
 *   it for good, is not tried again. If the process ends in between it is, with the same Message-ID.
 */
import type { Job } from '../jobs/port.ts'
import type { Notification, NotificationState } from '../registry/notifications/notificationRows.ts'
import type { NotificationRegistry } from '../registry/notifications/notificationRegistry.ts'
import type { Change } from '../registry/store/editLog.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Mailer } from './port.ts'

/** How long an e-mail is tried. */
const TRIED_MS = 24 * 3_600_000
/**
 * The pauses after failed attempts; the last one repeats. When mail servers ask to try again, they mean some minutes.
 */
const PAUSES_MS = [1, 5, 15, 30, 60].map((minutes) => minutes * 60_000)
const ATTEMPT_MS = 60_000
/** How many e-mails are sent at a time, so that one server that hangs does not delay all of them. */
const AT_ONCE = 4
const SWEEP_MS = 3_600_000

export interface MailJobParts {
  readonly notifications: NotificationRegistry
  /** The mail server. If absent, this process has none and leaves the job to others. */
  readonly mailer: Mailer | undefined
  readonly clock: Clock
  readonly logger: Pick<Logger, 'info' | 'warn'>
  /** Returns changes that are made together with the end of an e-mail, in the same edit. */
  readonly settled: (notification: Notification, state: NotificationState) => readonly Change[]
}

export class MailJob implements Job {
  readonly name = 'e-mail'
  readonly isShared = true
  readonly #parts: MailJobParts
  #sweptAt = 0

  constructor(parts: MailJobParts) {
    this.#parts = parts
  }

  isAble(): boolean {
    return this.#parts.mailer !== undefined
  }

  begin(wake: () => void): () => void {
    const { notifications } = this.#parts
    notifications.changed = wake
    return () => (notifications.changed = () => {})
  }

  dueAt(): number {
    // The only process has the lease even if it has no mail server.
    if (!this.isAble()) return Infinity
    return Math.min(this.#parts.notifications.nextDue, this.#sweptAt + SWEEP_MS)
  }

  async run(signal: AbortSignal): Promise<void> {
    const { notifications, clock } = this.#parts
    if (this.#sweptAt + SWEEP_MS <= clock.now()) {
      await notifications.edits.edit(() => notifications.sweep())
      this.#sweptAt = clock.now()
    }
    if (signal.aborted) return
    await Promise.all(notifications.due(AT_ONCE).map((notification) => this.#try(notification)))
  }

  async #try(notification: Notification): Promise<void> {
    const { mailer, notifications, logger } = this.#parts
    const { id, scope, to, pending: recipients, subject, text, cause } = notification
    const { refused, later } = await mailer!.send({ id, to, recipients, subject, text }, ATTEMPT_MS)
    const told = await notifications.edits.edit(() => {
      const seen = notifications.get(scope, id)
      if (seen === undefined) return undefined
      const { next, state } = afterAttempt(seen, { refused, later }, this.#parts.clock.now())
      // The run remembers whether its e-mail was sent.
      const isOver = next.nextAttemptAt === undefined
      const kept = isOver && cause === 'run' ? notifications.forgotten(seen) : notifications.stored(next)
      notifications.edits.commit([kept, ...this.#parts.settled(next, state)])
      return state
    })
    // Addresses are not logged, because they only concern the receiver.
    if (told?.status === 'sent') logger.info({ notification: id, cause }, 'e-mail sent')
    else if (told !== undefined)
      logger.warn({ notification: id, cause, status: told.status }, 'e-mail not sent')
  }
}

/** An e-mail after an attempt. Pure. */
export function afterAttempt(
  notification: Notification,
  { refused, later }: Awaited<ReturnType<Mailer['send']>>,
  now: number,
): { readonly next: Notification; readonly state: NotificationState } {
  const { nextAttemptAt: _, ...rest } = notification
  const attempts = rest.attempts + 1
  const end = rest.createdAt + TRIED_MS
  const sentences = refused.map(({ email, reason }) => `${email}: ${reason}.`)
  const refusals = [...rest.refusals, ...sentences]
  const isOver = later.length === 0 || now >= end
  const missed = later.map(({ email, reason }) => `${email}: ${reason}.`)
  const problems = [...refusals, ...missed].join(' ')
  const error = problems === '' ? {} : { error: problems }
  if (!isOver) {
    const pause = PAUSES_MS[Math.min(attempts, PAUSES_MS.length) - 1]!
    const pending = later.map(({ email }) => email)
    const next = { ...rest, attempts, refusals, pending, nextAttemptAt: Math.min(now + pause, end) }
    return { next, state: { status: 'waiting', ...error } }
  }
  const isAnySent = refusals.length + missed.length < rest.to.length
  return {
    next: { ...rest, attempts, refusals, pending: [], text: '' },
    state: { status: isAnySent ? 'sent' : 'failed', ...error },
  }
}
