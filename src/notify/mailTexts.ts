/** The texts of e-mails. Pure. */
import { isoDate } from '../model/isoDate.ts'

const MAX_SUBJECT = 200
const MAX_LINE = 400
const MOST_ROWS = 10

/** The subject and text of an e-mail. */
export interface MailText {
  readonly subject: string
  readonly text: string
}

/** The environment that an e-mail is about. */
export interface MailEnvironment {
  readonly project: string
  readonly live: boolean
  /** The URL of the dashboard, without a slash at the end. If undefined, the text has no links. */
  readonly publicUrl: string | undefined
}

/** What an e-mail says of a source of a geofence sync. */
interface SourceLine {
  readonly name: string
  readonly status?: string
  readonly error?: { readonly message: string }
  readonly rows: number
  readonly created: number
  readonly updated: number
  readonly unchanged: number
  readonly repeated: number
  readonly refused: number
}

/** A run of a geofence sync that has ended. */
export interface EndedRun {
  readonly id: string
  readonly status: string
  readonly trigger: 'nightly' | 'save' | 'manual'
  readonly by?: string
  readonly message?: string
  readonly createdAt: number
  readonly startedAt?: number
  readonly finishedAt?: number
  readonly sources: readonly SourceLine[]
  readonly deleted: number
  readonly deletionHeld?: { readonly count: number; readonly of: number }
}

interface RefusedRow {
  readonly source: string
  readonly line: number
  readonly message: string
  readonly value?: string | undefined
}

/** One line without control characters, which could be taken for headers or colour a terminal. */
export function oneLine(text: string, most = MAX_LINE): string {
  const line = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ').trim()
  return line.length <= most ? line : `${line.slice(0, most - 1)}…`
}

const OUTCOMES: Readonly<Record<string, string>> = { succeeded: 'succeeded', partial: 'partly succeeded' }

/**
 * The e-mail about a run.
 * @param refused all refused rows that are kept, of `total`
 */
export function runMail(
  run: EndedRun,
  refused: readonly RefusedRow[],
  total: number,
  environment: MailEnvironment,
): MailText {
  const begun = run.startedAt ?? run.createdAt
  const seconds = Math.round(((run.finishedAt ?? begun) - begun) / 1000)
  const triggers = { nightly: 'nightly', save: 'settings were saved', manual: 'run now' }
  const held = run.deletionHeld
  return mail(environment, `geofence sync ${OUTCOMES[run.status] ?? 'failed'}`, [
    `Environment: ${nameOf(environment)}`,
    `Trigger: ${triggers[run.trigger]}${run.by === undefined ? '' : `, by ${run.by}`}`,
    `Started: ${isoDate(begun)}`,
    `Duration: ${seconds} s`,
    ...(run.status === 'interrupted' ? ['Interrupted: the process that did the run ended.'] : []),
    ...(run.message === undefined ? [] : [`Reason: ${run.message}`]),
    '',
    ...run.sources.map(sourceLine),
    `Deleted: ${run.deleted}`,
    ...(held === undefined
      ? []
      : [
          `Held back: ${held.count} of ${held.of} geofences would have been deleted, which is more than the settings ` +
            'allow. A run with force deletes them.',
        ]),
    ...(total === 0 ? [] : ['', `Refused rows: ${total}`]),
    ...refused
      .slice(0, MOST_ROWS)
      .map(
        ({ source, line, message, value }) =>
          `  ${source}, line ${line}: ${message}${value === undefined ? '' : ` (${value})`}`,
      ),
    ...(total > MOST_ROWS ? [`  and ${total - MOST_ROWS} more`] : []),
    ...link(environment, `sync/runs/${run.id}`),
  ])
}

function sourceLine(source: SourceLine): string {
  const { name, status = 'not read', error, rows } = source
  if (error !== undefined) return `${name}: ${status}. ${error.message}`
  if (status !== 'read') return `${name}: ${status}`
  const kinds = ['created', 'updated', 'unchanged', 'repeated', 'refused'] as const
  return `${name}: ${rows} rows, ${kinds.map((kind) => `${source[kind]} ${kind}`).join(', ')}`
}

export function webhookMail(
  webhook: { readonly id: string; readonly url: string; readonly since: number; readonly reason: string },
  environment: MailEnvironment,
): MailText {
  return mail(environment, 'a webhook is paused', [
    `Environment: ${nameOf(environment)}`,
    `Webhook: ${webhook.url}`,
    `Since: ${isoDate(webhook.since)}`,
    `Reason: ${webhook.reason}`,
    '',
    'Its events are kept, and are delivered once it is enabled again.',
    ...link(environment, `webhooks/${webhook.id}`),
  ])
}

/**
 * The e-mail about a quota.
 * @param usage the requests of this month in both environments
 */
export function quotaMail(
  project: string,
  usage: { readonly requests: number; readonly quota: number },
): MailText {
  const { requests, quota } = usage
  const share = quota === 0 ? 100 : Math.min(100, Math.floor((requests / quota) * 100))
  return {
    subject: oneLine(`[Ringfence] ${project}: ${share} % of the monthly quota is used`, MAX_SUBJECT),
    text: linesText([
      `Project: ${project}`,
      `Requests this month: ${requests} of ${quota}`,
      '',
      'Requests beyond the quota are answered with 402 until the month ends (UTC), or the operator raises it.',
    ]),
  }
}

export function diskMail(
  host: string,
  disk: { readonly folder: string; readonly free: number; readonly size: number },
): MailText {
  const share = Math.floor((disk.free / disk.size) * 100)
  return {
    subject: oneLine(`[Ringfence] ${host}: the disk is nearly full`, MAX_SUBJECT),
    text: linesText([
      `Host: ${host}`,
      `Data folder: ${disk.folder}`,
      `Free: ${Math.floor(disk.free / 1024 ** 2)} MiB of ${Math.floor(disk.size / 1024 ** 2)} MiB (${share} %)`,
      '',
      'Once the disk is full, updates are refused.',
    ]),
  }
}

export function testMail(environment: MailEnvironment): MailText {
  return mail(environment, 'a test', [
    `Environment: ${nameOf(environment)}`,
    'Somebody asked for this e-mail, to see whether notifications arrive. They do.',
  ])
}

function mail(environment: MailEnvironment, what: string, lines: readonly string[]): MailText {
  return {
    subject: oneLine(`[Ringfence] ${nameOf(environment)}: ${what}`, MAX_SUBJECT),
    text: linesText(lines),
  }
}

function nameOf({ project, live }: MailEnvironment): string {
  // The end must not be cut off because of a long name.
  return `${oneLine(project, 100)} (${live ? 'live' : 'test'})`
}

function link({ publicUrl, live }: MailEnvironment, page: string): string[] {
  return publicUrl === undefined ? [] : ['', `${publicUrl}/${live ? 'live' : 'test'}/${page}`]
}

/** Joins lines. Their indents stay; everything else of a line is data. */
function linesText(lines: readonly string[]): string {
  return `${lines.map((line) => (line.startsWith('  ') ? `  ${oneLine(line)}` : oneLine(line))).join('\n')}\n`
}
