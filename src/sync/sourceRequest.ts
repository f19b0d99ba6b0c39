import { createHash } from 'node:crypto'
import type { SyncSettings } from '../registry/sync/syncRows.ts'
import { shownUrl, type SyncSecrets } from './syncFields.ts'

/** A source of a run: what is asked for, and how it is called. */
export interface Source {
  /** Tells it from others without telling its secrets: 16 hex. */
  readonly id: string
  /** For people: the URL with its query as `…`, or bucket/key. */
  readonly name: string
  readonly url: string
  /**
   * The headers of a request, secrets included; only for the origin of `url`.
   * @param conditions such as If-None-Match
   */
  headers(conditions: Readonly<Record<string, string>>): Promise<Readonly<Record<string, string>>>
  /** What a refusal means, if the body of the answer says it. */
  readonly refusal?: (
    status: number,
    headers: Readonly<Record<string, unknown>>,
    body: string,
  ) => string | undefined
}

/** The sources that settings name, in order. */
export function sourcesOf(settings: Pick<SyncSettings, 'http' | 's3'>, secrets: SyncSecrets): Source[] {
  const { username } = settings.http ?? {}
  const { password, headers = {} } = secrets
  const basic =
    username === undefined && password === undefined
      ? {}
      : { authorization: `Basic ${Buffer.from(`${username ?? ''}:${password ?? ''}`).toString('base64')}` }
  return (secrets.urls ?? []).map((url) => ({
    id: idOf(url),
    name: shownUrl(url),
    url,
    headers: async (conditions) => ({ ...basic, ...headers, ...conditions }),
  }))
}

function idOf(name: string): string {
  return createHash('sha256').update(name).digest('hex').slice(0, 16)
}
