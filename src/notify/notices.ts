/**
 * The jobs that notice what people are told by e-mail: paused webhooks, quotas that are nearly used up, full disks.
 */
import { every, type Job } from '../jobs/port.ts'
import { scopeId, type ScopeId } from '../model/scope.ts'
import type { Clock } from '../runtime/clock.ts'
import { diskMail, quotaMail, webhookMail } from './mailTexts.ts'
import type { Notifier } from './notifier.ts'

const WEBHOOKS_MS = 5000
const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
/** Nobody gets an e-mail about something that is older than this. */
const NEWS_MS = DAY_MS
/** The share of a quota from which on people are told. */
const QUOTA_SHARE = 0.9
/** The share of free space on a disk below which people are told. */
const FREE_SHARE = 0.1

interface PausedWebhook {
  readonly scope: ScopeId
  readonly id: string
  readonly url: string
  /** In epoch milliseconds. */
  readonly since: number
  readonly reason: string
}

/**
 * The job of the process that delivers webhooks.
 * @param paused returns the webhooks that are paused now
 */
export function webhookNotices(parts: {
  readonly notifier: Notifier
  readonly paused: () => readonly PausedWebhook[]
  readonly emailsOf: (scope: ScopeId) => readonly string[]
  readonly clock: Clock
}): Job {
  const { notifier, paused, emailsOf, clock } = parts
  return {
    name: 'webhook-notices',
    isShared: false,
    dueAt: every(WEBHOOKS_MS),
    async run() {
      if (!notifier.isConfigured) return
      for (const webhook of paused()) {
        const { scope, id, since } = webhook
        const to = emailsOf(scope)
        const told = { cause: 'webhook', of: `${id} ${since}`, scope } as const
        if (to.length === 0 || since < clock.now() - NEWS_MS || notifier.isTold(told)) continue
        await notifier.tell({ ...told, to, mail: webhookMail(webhook, notifier.environmentOf(scope)) })
      }
    },
  }
}

/** Tells once a day (UTC) of projects that have used most of their month. */
export function quotaNotices(parts: {
  readonly notifier: Notifier
  readonly projects: () => readonly {
    readonly id: number
    readonly name: string
    readonly quota: number | null
    readonly requests: number
  }[]
  readonly emailsOf: (scope: ScopeId) => readonly string[]
  readonly clock: Clock
}): Job {
  const { notifier, projects, emailsOf, clock } = parts
  return {
    name: 'quota-notices',
    isShared: true,
    isAble: () => notifier.isConfigured,
    dueAt: every(MINUTE_MS),
    async run() {
      if (!notifier.isConfigured) return
      for (const { id, name, quota, requests } of projects()) {
        if (quota === null || requests < quota * QUOTA_SHARE) continue
        const scope = scopeId(id, true)
        const to = [...new Set([...emailsOf(scope), ...emailsOf(scopeId(id, false))])]
        const told = { cause: 'quota', of: `${id} ${dayOf(clock.now())}`, scope } as const
        if (to.length === 0 || notifier.isTold(told)) continue
        await notifier.tell({ ...told, to, mail: quotaMail(name, { requests, quota }) })
      }
    },
  }
}

/** Tells once a day (UTC) that the disk of the data folder is nearly full; in each process, of its own disk. */
export function diskNotices(parts: {
  readonly notifier: Notifier
  readonly host: string
  readonly folder: string
  /** Returns bytes, and a text that distinguishes the disk from others of the host. */
  readonly disk: () => Promise<{ readonly device: string; readonly free: number; readonly size: number }>
  readonly emails: readonly string[]
  readonly clock: Clock
}): Job {
  const { notifier, host, folder, disk, emails, clock } = parts
  return {
    name: 'disk-notices',
    isShared: false,
    dueAt: every(MINUTE_MS),
    async run() {
      if (!notifier.isConfigured || emails.length === 0) return
      const { device, free, size } = await disk()
      if (size === 0 || free >= size * FREE_SHARE) return
      const of = `${host} ${device} ${dayOf(clock.now())}`
      const mail = diskMail(host, { folder, free, size })
      await notifier.tell({ cause: 'disk', of, scope: 0, to: emails, mail })
    },
  }
}

function dayOf(now: number): number {
  return Math.floor(now / DAY_MS)
}
