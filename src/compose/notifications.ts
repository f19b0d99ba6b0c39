/** E-mails, the same in both engines. This file is part of the composition roots. */
import { statfs, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { OptionError } from '../../config/option.ts'
import type { Options } from '../../config/options.ts'
import type { Webhooks } from '../delivery/webhooks.ts'
import type { Route } from '../http/route.ts'
import type { Job } from '../jobs/port.ts'
import { runMail } from '../notify/mailTexts.ts'
import { MailJob } from '../notify/mailJob.ts'
import { diskNotices, quotaNotices, webhookNotices } from '../notify/notices.ts'
import { notificationRoutes } from '../notify/notificationRoutes.ts'
import { Notifier } from '../notify/notifier.ts'
import type { Registry } from '../registry/registry.ts'
import { systemClock as clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { SyncRunnerParts } from '../sync/syncRunner.ts'

export interface Notifications {
  readonly routes: readonly Route[]
  /** Reports the results of the geofence sync's runs. */
  readonly tellRun: SyncRunnerParts['tell']
  /** Jobs of processes that answer requests. */
  readonly jobs: readonly Job[]
  /** The job of every process that watches the disk. */
  readonly disk: Job
  /** The job of the process that delivers webhooks. */
  webhookJob(webhooks: Webhooks): Job
}

export async function openNotifications(parts: {
  readonly options: Options
  readonly logger: Logger
  readonly registry: Registry
}): Promise<Notifications> {
  const { options, logger, registry } = parts
  const { smtpUrl, smtpFrom, publicUrl, operatorEmails, data } = options
  if (smtpUrl !== '' && smtpFrom === '')
    throw new OptionError(
      'smtpUrl needs the address that e-mails come from: --smtp-from (RINGFENCE_SMTP_FROM)',
    )
  const { notifications, syncs, settings, projects } = registry
  // The mail package is loaded only if it is needed.
  const mailer =
    smtpUrl === '' ? undefined : (await import('../notify/smtpMailer.ts')).openSmtpMailer(smtpUrl, smtpFrom)
  const projectName = (id: number) => projects.list().find((project) => project.id === id)?.name ?? `${id}`
  const notifier = new Notifier({ notifications, mailer, projectName, publicUrl, clock })
  const emailsOf = (scope: number) => settings.of(scope).notificationEmails
  return {
    routes: notificationRoutes(notifier),
    tellRun(run, refused, { emails, notify }) {
      const isTold = !run.dryRun && run.status !== 'canceled'
      const isWanted = isTold && (notify === 'always' || run.status !== 'succeeded')
      const total = run.sources.reduce((sum, source) => sum + source.refused, 0)
      return notifier.queue({
        cause: 'run',
        of: `${run.scope} ${run.id}`,
        run: run.id,
        scope: run.scope,
        to: isWanted ? emails : [],
        mail: runMail(run, refused, total, notifier.environmentOf(run.scope)),
      })
    },
    jobs: [
      new MailJob({
        notifications,
        mailer,
        clock,
        logger,
        settled: ({ scope, run }, state) => (run === undefined ? [] : syncs.toldChange(scope, run, state)),
      }),
      quotaNotices({ notifier, projects: () => projects.list(), emailsOf, clock }),
    ],
    disk: diskNotices({
      notifier,
      host: hostname(),
      folder: data,
      disk: async () => {
        const { bavail, blocks, bsize } = await statfs(data)
        return { device: `${(await stat(data)).dev}`, free: bavail * bsize, size: blocks * bsize }
      },
      emails: operatorEmails,
      clock,
    }),
    webhookJob: (webhooks) =>
      webhookNotices({
        notifier,
        paused: () =>
          registry.webhooks.all().flatMap((webhook) => {
            const { status, since, reason = '' } = webhooks.standing(webhook)
            const { scope, id, url } = webhook
            return status === 'paused' && since !== undefined ? [{ scope, id, url, since, reason }] : []
          }),
        emailsOf,
        clock,
      }),
  }
}
