import type { AnswerOf, Arguments, Method, PathOf } from '../../../sdk/src/types.ts'
import { compareClocks } from '../clock.ts'
import { environment } from './environment.ts'

/** An answer that is an error; its message is that of the server. */
export class CallFailure extends Error {
  override readonly name = 'CallFailure'
  /** The status of the answer; 0 if there was none. */
  readonly status: number
  /** The name of the field that is wrong, if the error is about one. */
  readonly param: string | undefined
  readonly requestId: string | undefined

  constructor(message: string, status: number, param?: string, requestId?: string) {
    super(message)
    this.status = status
    this.param = param
    this.requestId = requestId
  }
}

interface LooseOptions {
  readonly params?: Readonly<Record<string, unknown>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
  readonly signal?: AbortSignal
}

/** Called when the session has ended. */
let onSignedOut: () => void = () => {}
export function whenSignedOut(listener: () => void): void {
  onSignedOut = listener
}

/** Called when the server has refused what the page offered, because the role may have changed. */
let onForbidden: () => void = () => {}
export function whenForbidden(listener: () => void): void {
  onForbidden = listener
}

/**
 * One call of the API, with the cookie of the session and in the current environment. What it takes and returns follows
 * from the OpenAPI document.
 * @throws CallFailure
 */
export async function call<M extends Method, P extends PathOf<M> & string>(
  method: M,
  path: P,
  ...options: Arguments<P, M>
): Promise<AnswerOf<P, M>> {
  const answer: unknown = await send(
    method.toUpperCase(),
    path,
    ((options as readonly unknown[])[0] ?? {}) as LooseOptions,
  )
  return answer as AnswerOf<P, M>
}

/** The address of a call, relative to this server. */
export function addressOf(path: string, { params, query }: LooseOptions): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(params?.[name])),
  )
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query ?? {}))
    if (value !== undefined && value !== '' && value !== null) search.set(name, String(value))
  const text = search.toString()
  return text === '' ? filled : `${filled}?${text}`
}

async function send(method: string, path: string, options: LooseOptions): Promise<unknown> {
  const { body, signal } = options
  const isText = typeof body === 'string' || body instanceof Blob
  const headers: Record<string, string> = { 'X-Ringfence-Environment': environment.value }
  if (body !== undefined)
    headers['Content-Type'] =
      body instanceof Blob && body.type !== '' ? body.type : isText ? 'text/csv' : 'application/json'
  let answer: Response
  try {
    answer = await fetch(addressOf(path, options), {
      method,
      headers,
      ...(body !== undefined && { body: isText ? (body as BodyInit) : JSON.stringify(body) }),
      ...(signal && { signal }),
    })
  } catch (error) {
    if ((error as Error).name === 'AbortError') throw error
    throw new CallFailure('The server did not answer. Is it running, and are you connected?', 0)
  }
  compareClocks(answer.headers.get('date'))
  const text = await answer.text()
  const json = (answer.headers.get('content-type') ?? '').startsWith('application/json')
  const content: unknown = json && text !== '' ? JSON.parse(text) : text
  if (answer.ok) return content
  const { meta } = (json ? content : {}) as { meta?: { message?: string; param?: string } }
  if (answer.status === 401 && path !== '/v1/sessions' && path !== '/v1/sessions/current') onSignedOut()
  if (answer.status === 403 && path !== '/v1/sessions/current') onForbidden()
  throw new CallFailure(
    meta?.message ?? `The server answered ${answer.status}.`,
    answer.status,
    meta?.param,
    answer.headers.get('x-request-id') ?? undefined,
  )
}
