import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { once } from 'node:events'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import type { SourceState } from '../registry/sync/syncRows.ts'
import { AddressRefused, publicReason, type Outgoing, type OutgoingStream } from '../runtime/outgoing.ts'
import { SourceFailed } from './sourceFailed.ts'
import type { Source } from './sourceRequest.ts'

/** The limits of one request. */
export interface FetchLimits {
  readonly maxBytes: number
  readonly idleMs: number
  readonly totalMs: number
}

export const FETCH_LIMITS = { idleMs: 30_000, totalMs: 30 * 60_000 }
const MAX_REDIRECTS = 5
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
const AGAIN: ReadonlySet<number> = new Set([408, 425, 429])
/** The codes of undici's errors if the server has properly ended the connection before everything had arrived. */
const ORDERLY_ENDS: ReadonlySet<string | undefined> = new Set([
  'UND_ERR_SOCKET',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
])
/** The most bytes of a refusal: enough for the name of an error. */
const MAX_REFUSAL_BYTES = 16 * 1024
const MAX_ETAG_LENGTH = 1024

/** A source that has arrived whole, or did not change. */
export interface Fetched {
  readonly httpStatus: number
  /** The content. It is absent after a 304, because the source has not changed. */
  readonly content?: { readonly bytes: number; readonly sha256: string }
  readonly etag?: string
  readonly lastModified?: string
}

/**
 * Fetches a source into a file, completely and unpacked. Until this returns, nothing of it counts.
 * @param known the state of the source when it was last taken; if undefined, it is fetched even if it has not changed
 * @throws {SourceFailed}, or the reason of the signal
 */
export async function fetchSource(
  outgoing: Outgoing,
  source: Source,
  file: string,
  known: SourceState | undefined,
  limits: FetchLimits,
  signal: AbortSignal,
): Promise<Fetched> {
  const watch = new Watch(limits, signal)
  try {
    const { answer, url } = await follow(outgoing, source, conditionsOf(known), watch)
    const { status, headers } = answer
    const etag = oneOf(headers.etag)
    const lastModified = oneOf(headers['last-modified'])
    const versions = {
      ...(etag !== undefined && etag.length <= MAX_ETAG_LENGTH && { etag }),
      ...(lastModified !== undefined && lastModified.length <= MAX_ETAG_LENGTH && { lastModified }),
    }
    if (status === 304 && known !== undefined) {
      answer.body.destroy()
      return { httpStatus: status, ...versions }
    }
    if (status !== 200) throw await refused(source, answer, watch)
    const content = await keep(answer, isPacked(url, headers), file, limits.maxBytes, watch)
    return { httpStatus: status, content, ...versions }
  } catch (error) {
    signal.throwIfAborted()
    throw watch.reason ?? failureOf(error)
  } finally {
    watch.end()
  }
}

/**
 * The first bytes of a source, unpacked.
 * @throws {SourceFailed}
 */
export async function peekSource(
  outgoing: Outgoing,
  source: Source,
  most: number,
  limits: Omit<FetchLimits, 'maxBytes'>,
): Promise<{ readonly bytes: Buffer; readonly isWhole: boolean }> {
  const watch = new Watch({ ...limits, maxBytes: most }, new AbortController().signal)
  try {
    const { answer, url } = await follow(outgoing, source, {}, watch)
    if (answer.status !== 200) throw await refused(source, answer, watch)
    const chunks: Buffer[] = []
    let length = 0
    const unpacked = isPacked(url, answer.headers) ? unpack(answer.body) : answer.body
    for await (const chunk of unpacked) {
      watch.heard()
      chunks.push(chunk)
      length += chunk.length
      if (length > most) break
    }
    return { bytes: Buffer.concat(chunks).subarray(0, most), isWhole: length <= most }
  } catch (error) {
    throw watch.reason ?? failureOf(error)
  } finally {
    watch.end()
  }
}

/** Follows redirects. Every address on the way is checked when it is connected to. */
async function follow(
  outgoing: Outgoing,
  source: Source,
  conditions: Readonly<Record<string, string>>,
  watch: Watch,
): Promise<{ readonly answer: OutgoingStream; readonly url: URL }> {
  let url = new URL(source.url)
  const { origin } = url
  for (let redirects = 0; ; redirects++) {
    const own = url.origin === origin ? await source.headers(conditions) : conditions
    const headers = {
      'user-agent': 'Ringfence',
      accept: 'text/csv, */*;q=0.5',
      'accept-encoding': 'gzip',
      ...own,
    }
    const answer = await outgoing.stream(url.href, headers, watch.signal)
    watch.heard()
    if (!REDIRECTS.has(answer.status) || source.refusal !== undefined) return { answer, url }
    answer.body.destroy()
    const next = URL.parse(oneOf(answer.headers.location) ?? '', url.href)
    const httpStatus = answer.status
    const failed = (sentence: string) => new SourceFailed('redirect', sentence, { httpStatus })
    if (next === null || (next.protocol !== 'http:' && next.protocol !== 'https:'))
      throw failed('The answer is a redirect without an address.')
    if (redirects === MAX_REDIRECTS) throw failed(`There are more than ${MAX_REDIRECTS} redirects.`)
    if (url.protocol === 'https:' && next.protocol === 'http:')
      throw failed('A redirect leads from https to http.')
    if (next.username + next.password !== '') throw failed('A redirect leads to an address with a user name.')
    url = next
  }
}

async function keep(
  { headers, body, arrivedBytes, networkError }: OutgoingStream,
  packed: boolean,
  file: string,
  maxBytes: number,
  watch: Watch,
): Promise<{ bytes: number; sha256: string }> {
  const encoding = oneOf(headers['content-encoding'])?.trim().toLowerCase() ?? 'identity'
  if (!['identity', 'gzip', 'x-gzip', ''].includes(encoding))
    throw new SourceFailed(
      'encoding',
      `The answer is encoded as ${encoding.slice(0, 40)}; only gzip is read.`,
    )
  const told = oneOf(headers['content-length'])
  const tooLarge = () => new SourceFailed('tooLarge', `The source has more than ${maxBytes} bytes.`)
  if (told !== undefined && Number(told) > maxBytes) throw tooLarge()
  let arrived = 0
  const counted = async function* (): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of body) {
        watch.heard()
        arrived += chunk.length
        if (arrived > maxBytes) throw tooLarge()
        yield chunk
      }
    } catch (error) {
      const isCut = told !== undefined && ORDERLY_ENDS.has((error as { code?: string }).code)
      throw networkError() ?? (isCut ? lengthFailed(arrived, told, error) : error)
    }
  }
  const hash = createHash('sha256')
  let bytes = 0
  const unpacked = async function* (): AsyncGenerator<Buffer> {
    for await (const chunk of packed ? unpack(counted()) : counted()) {
      bytes += chunk.length
      if (bytes > maxBytes) throw tooLarge()
      hash.update(chunk)
      yield chunk
    }
  }
  await pipeline(unpacked, createWriteStream(file, { mode: 0o600 }))
  if (told !== undefined && arrived !== Number(told)) throw lengthFailed(arrived, told)
  // The source has sent more than it announced. The rows in the rest would be missing.
  if (told !== undefined && arrivedBytes() > arrived) throw lengthFailed(arrivedBytes(), told)
  return { bytes, sha256: hash.digest('hex') }
}

function lengthFailed(arrived: number, told: string, cause?: unknown): SourceFailed {
  const detail = cause === undefined ? {} : { cause }
  return new SourceFailed('length', `${arrived} bytes arrived, but ${told} were announced.`, detail)
}

async function* unpack(packed: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const gunzip = createGunzip()
  // An error is thrown where the chunks are read.
  gunzip.on('error', () => {})
  let failure: unknown
  const feeding = (async () => {
    try {
      for await (const chunk of packed) if (!gunzip.write(chunk)) await once(gunzip, 'drain')
      gunzip.end()
    } catch (error) {
      failure = error
      gunzip.destroy(error as Error)
    }
  })()
  try {
    for await (const chunk of gunzip) yield chunk as Buffer
    await feeding
  } catch (error) {
    if (failure !== undefined && failure !== error) throw failure
    if (!String((error as { code?: string }).code).startsWith('Z_')) throw error
    throw new SourceFailed('gzip', 'The gzip data are broken or incomplete.', { cause: error })
  } finally {
    // With an error, so that whoever feeds it does not wait any longer.
    gunzip.destroy(new Error('nobody reads any more'))
  }
}

/** Whether the source is packed, according to the headers or the name. If both say so, it is only packed once. */
function isPacked(url: URL, headers: OutgoingStream['headers']): boolean {
  const encoding = oneOf(headers['content-encoding'])?.trim().toLowerCase()
  const type = oneOf(headers['content-type'])?.split(';', 1)[0]!.trim().toLowerCase()
  return (
    encoding === 'gzip' ||
    encoding === 'x-gzip' ||
    type === 'application/gzip' ||
    type === 'application/x-gzip' ||
    url.pathname.endsWith('.gz')
  )
}

function conditionsOf(known: SourceState | undefined): Readonly<Record<string, string>> {
  if (known?.etag !== undefined) return { 'if-none-match': known.etag }
  return known?.lastModified === undefined ? {} : { 'if-modified-since': known.lastModified }
}

/** What an answer other than 200 means. Its body is not shown to anybody. */
async function refused(source: Source, answer: OutgoingStream, watch: Watch): Promise<SourceFailed> {
  const { status, headers, body } = answer
  let said: string | undefined
  if (source.refusal !== undefined) {
    let text = ''
    for await (const chunk of body) {
      watch.heard()
      text += chunk.toString('latin1')
      if (text.length > MAX_REFUSAL_BYTES) break
    }
    said = source.refusal(headers, text)
  }
  body.destroy()
  const isPassing = AGAIN.has(status) || status >= 500
  const after = Number(oneOf(headers['retry-after']))
  return new SourceFailed(`http${status}`, said ?? sentenceOf(status), {
    httpStatus: status,
    isPassing,
    ...(isPassing && after > 0 && { retryAfterMs: after * 1000 }),
  })
}

function sentenceOf(status: number): string {
  if (status === 401)
    return 'The server asks for a user name and password, or refuses those that it got (401).'
  if (status === 403) return 'The server refuses access (403).'
  if (status === 404) return 'The server has no such file (404).'
  return `The server answered with ${status}.`
}

function failureOf(error: unknown): SourceFailed | Error {
  if (error instanceof SourceFailed) return error
  const { code, syscall } = error as { code?: string; syscall?: string }
  if (syscall === 'write' || syscall === 'open' || code === 'ENOSPC')
    return new SourceFailed(
      'disk',
      'The source cannot be stored here: the disk is full or cannot be written.',
    )
  // A name with a private address is tried again like one that does not exist, so that runs do not tell them apart.
  const isPassing = !(error instanceof AddressRefused) || error.isOfName
  return new SourceFailed(isPassing ? 'connection' : 'address', `${capital(publicReason(error))}.`, {
    isPassing,
    cause: error,
  })
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function oneOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}

/** Ends a request that takes too long, or that brings nothing for some time. */
class Watch {
  readonly signal: AbortSignal
  reason: SourceFailed | undefined
  readonly #controller = new AbortController()
  readonly #total: NodeJS.Timeout
  readonly #idle: NodeJS.Timeout

  constructor({ idleMs, totalMs }: FetchLimits, outer: AbortSignal) {
    this.signal = AbortSignal.any([this.#controller.signal, outer])
    const late = (milliseconds: number, sentence: (seconds: number) => string) =>
      setTimeout(() => {
        this.reason = new SourceFailed('timeout', sentence(milliseconds / 1000), { isPassing: true })
        this.#controller.abort(this.reason)
      }, milliseconds)
    this.#total = late(totalMs, (seconds) => `The source did not arrive within ${seconds} s.`)
    this.#idle = late(idleMs, (seconds) => `Nothing came from the server for ${seconds} s.`)
  }

  heard(): void {
    this.#idle.refresh()
  }

  end(): void {
    clearTimeout(this.#total)
    clearTimeout(this.#idle)
    this.#controller.abort(new Error('the request has ended'))
  }
}
