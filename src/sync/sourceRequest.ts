import { createHash } from 'node:crypto'
import type { SyncSettings } from '../registry/sync/syncRows.ts'
import { objectRefusal, objectUrl, signedHeaders } from './objectSource.ts'
import { shownUrl, type SyncSecrets } from './syncFields.ts'

/** A source of a run: what is requested, and what people call it. */
export interface Source {
  /** An id that distinguishes it from others without revealing its secrets: 16 hex digits. */
  readonly id: string
  /** A name for people: the URL with its query as `…`, or bucket/key. */
  readonly name: string
  readonly url: string
  /**
   * The headers of a request, secrets included; only for the origin of `url`.
   * @param conditions such as If-None-Match
   */
  headers(conditions: Readonly<Record<string, string>>): Promise<Readonly<Record<string, string>>>
  /**
   * Of an object store: what its refusal means, if the answer says it. Its redirects are refusals, too, because a
   * signature is good for one host.
   */
  readonly refusal?: (headers: Readonly<Record<string, unknown>>, body: string) => string | undefined
}

/** The sources that settings name, in order. */
export function sourcesOf(settings: Pick<SyncSettings, 'http' | 's3'>, secrets: SyncSecrets): Source[] {
  const { s3 } = settings
  if (s3 !== undefined) {
    const bucket = { s3, secretAccessKey: secrets.secretAccessKey ?? '' }
    return s3.keys.map((key) => {
      const url = objectUrl(s3, key)
      return {
        id: idOf(url),
        name: `${s3.bucket}/${key}`,
        url,
        headers: (conditions) => signedHeaders(bucket, url, conditions),
        refusal: (headers, body) => objectRefusal(s3, headers, body),
      }
    })
  }
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
