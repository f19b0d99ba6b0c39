import type { Sync } from './runWords.ts'

/** What people write to remove a secret. */
export const EMPTY_SECRET = '-'

/** The settings as the form has them: texts, until the server reads them. */
export interface SyncDraft {
  readonly enabled: boolean
  readonly protocol: 'http' | 's3'
  readonly urls: string
  readonly username: string
  readonly password: string
  readonly headers: string
  readonly region: string
  readonly bucket: string
  readonly keys: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly endpoint: string
  readonly time: string
  readonly timeZone: string
  readonly deleteMissing: boolean
  readonly maxDeleteShare: string
  readonly emails: string
  readonly notify: 'always' | 'failures'
}

export function syncDraftOf({ http, s3, protocol = 'http', ...sync }: Sync): SyncDraft {
  return {
    enabled: sync.enabled,
    protocol,
    urls: (http?.urls ?? []).join('\n'),
    username: http?.username ?? '',
    password: '',
    headers: '',
    region: s3?.region ?? '',
    bucket: s3?.bucket ?? '',
    keys: (s3?.keys ?? []).join('\n'),
    accessKeyId: s3?.accessKeyId ?? '',
    secretAccessKey: '',
    endpoint: s3?.endpoint ?? '',
    time: sync.time,
    timeZone: sync.timeZone,
    deleteMissing: sync.deleteMissing,
    maxDeleteShare: String(sync.maxDeleteShare),
    emails: sync.emails.join(', '),
    notify: sync.notify,
  }
}

/** The body to send. Secrets that nobody typed are left out, so they stay. */
export function settingsOf(draft: SyncDraft) {
  const { enabled, protocol, time, timeZone, deleteMissing, maxDeleteShare, notify } = draft
  return {
    enabled,
    protocol,
    ...(protocol === 'http'
      ? {
          http: {
            urls: linesOf(draft.urls),
            ...(draft.username && { username: draft.username }),
            ...secretOf('password', draft.password),
            ...headersOf(draft.headers),
          },
        }
      : {
          s3: {
            region: draft.region,
            bucket: draft.bucket,
            keys: linesOf(draft.keys),
            accessKeyId: draft.accessKeyId,
            ...secretOf('secretAccessKey', draft.secretAccessKey),
            ...(draft.endpoint && { endpoint: draft.endpoint }),
          },
        }),
    time,
    timeZone,
    deleteMissing,
    ...(maxDeleteShare.trim() && { maxDeleteShare }),
    emails: draft.emails
      .split(',')
      .map((email) => email.trim())
      .filter((email) => email !== ''),
    notify,
  }
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}

function secretOf(name: string, text: string): object {
  if (text === '') return {}
  return { [name]: text === EMPTY_SECRET ? null : text }
}

function headersOf(text: string): object {
  const lines = linesOf(text)
  if (lines.length === 0) return {}
  if (lines.length === 1 && lines[0] === EMPTY_SECRET) return { headers: null }
  const entries = lines.map((line) => {
    const at = line.indexOf(':')
    return at < 0 ? [line, ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()]
  })
  return { headers: Object.fromEntries(entries) }
}
