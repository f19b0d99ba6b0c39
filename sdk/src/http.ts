import { backoffMs, sleep } from './backoff.ts'
import { ConnectionError, RingfenceError } from './errors.ts'
import { identityHeaders, type Identity } from './identity.ts'
import type { Servers } from './servers.ts'

/** One call, as it goes out. */
export interface Call {
  /** The HTTP method in upper case. */
  readonly method: string
  readonly path: string
  /** The values of the parts of the path, by name: `{id}`. */
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, unknown>>
  /** The body. Texts and Blobs are sent as CSV, everything else as JSON. */
  readonly body?: unknown
  readonly signal?: AbortSignal | undefined
}

const ATTEMPTS = 4
const BASE_MS = 250
const CAP_MS = 5000
/** The longest wait in seconds. If the server asks for a longer one, the caller gets an error that says so. */
const MAX_RETRY_AFTER_SECONDS = 30

/**
 * Makes the call and reads its answer. What may be sent twice is sent again, up to three times, when the server cannot
 * be reached, is overloaded (503) or limits its rate (429): after `Retry-After`, else with exponential backoff. A
 * server that cannot be reached, or is overloaded, is not used again while another one works.
 * @throws RingfenceError what the server refuses; ConnectionError; the signal's reason
 */
export async function call(servers: Servers, identity: Identity, request: Call): Promise<unknown> {
  for (let attempt = 0; ; attempt++) {
    const { url } = servers
    try {
      return await callOnce(url, identity, request)
    } catch (error) {
      if (isOfServer(error)) servers.failed(url)
      const waitMs = retryMs(error, attempt)
      if (waitMs === undefined || attempt + 1 === ATTEMPTS || !isRepeatable(request)) throw error
      await sleep(waitMs, request.signal)
    }
  }
}

/** Whether another server may answer differently. */
function isOfServer(error: unknown): boolean {
  if (error instanceof ConnectionError) return true
  return error instanceof RingfenceError && error.status >= 502 && error.status <= 504
}

/**
 * One attempt of {@link call}.
 * @param url of the server, without a slash at its end
 */
export async function callOnce(
  url: string,
  identity: Identity,
  { method, path, params, query, body, signal }: Call,
) {
  const headers = identityHeaders(identity)
  const init: RequestInit = { method, headers }
  if (signal !== undefined) init.signal = signal
  if (body !== undefined) {
    const isText = typeof body === 'string' || body instanceof Blob
    headers['content-type'] = isText ? 'text/csv' : 'application/json'
    init.body = isText ? body : JSON.stringify(body)
  }
  const address = url + pathOf(path, params) + queryOf(query)
  let answer: Response
  let text: string
  try {
    answer = await fetch(address, init)
    text = await answer.text()
  } catch (error) {
    if (signal?.aborted) throw signal.reason
    throw new ConnectionError(`${method} ${path}: no answer from ${url}`, error)
  }
  const isJson = answer.headers.get('content-type')?.startsWith('application/json') ?? false
  if (!answer.ok) throw refusal(answer, isJson ? text : '{}')
  return isJson ? JSON.parse(text) : text
}

/** Makes an error of an answer; one that does not come from Ringfence has no `meta`. */
function refusal(answer: Response, json: string): RingfenceError {
  const { meta = {} } = JSON.parse(json) as {
    readonly meta?: { readonly message?: string; readonly param?: string; readonly type?: string }
  }
  const seconds = Number(answer.headers.get('retry-after') ?? undefined)
  return new RingfenceError(answer.status, meta.message ?? `${answer.status} ${answer.statusText}`, {
    param: meta.param,
    type: meta.type,
    retryAfter: Number.isNaN(seconds) ? undefined : seconds,
  })
}

/** The milliseconds to wait before another attempt; undefined if it would fail again. */
function retryMs(error: unknown, attempt: number): number | undefined {
  const backoff = backoffMs(attempt, BASE_MS, CAP_MS)
  if (error instanceof ConnectionError) return backoff
  if (!(error instanceof RingfenceError)) return undefined
  const { status, retryAfter } = error
  if (status === 502 || status === 504) return backoff
  if (status !== 429 && status !== 503) return undefined
  if (retryAfter === undefined) return backoff
  return retryAfter <= MAX_RETRY_AFTER_SECONDS ? retryAfter * 1000 + backoff : undefined
}

/** Whether a call may be made twice with the same result. An update with its number in a stream is applied once. */
function isRepeatable({ method, path, body }: Call): boolean {
  if (method === 'GET' || method === 'PUT' || method === 'DELETE') return true
  return path === '/v1/track' && (body as { readonly stream?: string }).stream !== undefined
}

function pathOf(path: string, params: Call['params']): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = params?.[name]
    if (value === undefined || value === '') throw new TypeError(`params.${name} of ${path} is missing`)
    return encodeURIComponent(value)
  })
}

/** Writes the query, such as `?a=1&b=x,y&metadata[k]=v`. Undefined values are left out. */
function queryOf(query: Call['query'] = {}): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      for (const [key, item] of Object.entries(value)) search.append(`${name}[${key}]`, String(item))
    } else search.append(name, String(value))
  }
  return search.size === 0 ? '' : `?${search.toString()}`
}
