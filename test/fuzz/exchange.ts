/** Sends generated requests and checks the answers. */
import type { Api, Json } from '../e2e/contract.ts'
import { ID, MARK, type DrawnRequest } from './requests.ts'
import { Closed, Connection, type WireAnswer } from './wire.ts'
import { checkMarks, keyOf, MARKS, GIVE_UP_MS, Violation, type ScopeName } from './world.ts'

const CONNECTIONS = 8
/** The statuses that requests may get. A 503 must say when to try again. */
const STATUSES = new Set([
  200, 201, 202, 204, 400, 401, 402, 403, 404, 405, 409, 413, 415, 426, 429, 451, 503,
])
/** If a body is this long, the server may refuse it and close the connection before all of it was sent. */
const MAX_BODY_BYTES = 1024 * 1024
/** uWebSockets.js may refuse longer heads, and then closes the connection. */
const SURE_HEAD_BYTES = 32_000
/** How long the client reads an endless answer. */
const STREAM_MS = 60

/** What is fuzzed, and the ids that a request may use. */
export interface Target {
  readonly port: number
  readonly api: Pick<Api, 'operationOf' | 'check'>
  /** One of the known ids of a kind. Four of five draws return one of the scope's own ids, if there are any. */
  id(kind: string, draw: number, scope: ScopeName | undefined): string
  /** Keeps the ids in an answer to that scope for later requests. */
  remember(body: Json, scope: ScopeName | undefined): void
  /** The error of the canary, if it has had one. */
  readonly canaryError: Error | undefined
}

/** A request as it is sent. */
export interface Rendered {
  readonly head: string
  readonly body: Buffer
  /** Including the framing, if the body is sent in chunks. */
  readonly bytes: Buffer
  readonly isHead: boolean
  readonly scope: ScopeName | undefined
}

/** Replaces the placeholders of a generated request by ids, marks and keys. */
export function render(drawn: DrawnRequest, target: Pick<Target, 'id'>): Rendered {
  const { scope, authorization } = callerOf(drawn)
  const mark = scope === undefined ? 'nobody' : MARKS[scope]
  const filled = (text: string) =>
    text.replaceAll(MARK, mark).replace(ID, (_, kind, number) => target.id(kind, Number(number), scope))
  const lines = [`${drawn.method} ${filled(drawn.target)} HTTP/1.1`, 'Host: x']
  if (authorization !== undefined) lines.push(`Authorization: ${authorization}`)
  if (drawn.contentType !== undefined) lines.push(`Content-Type: ${drawn.contentType}`)
  for (const [name, value] of drawn.headers) lines.push(`${name}: ${filled(value)}`)
  const body = withMark(drawn.body, mark)
  if (drawn.chunks !== undefined) lines.push('Transfer-Encoding: chunked')
  else if (body.length > 0 || drawn.method === 'POST') lines.push(`Content-Length: ${body.length}`)
  const head = `${lines.join('\r\n')}\r\n\r\n`
  const framed = drawn.chunks === undefined ? body : chunked(body, drawn.chunks)
  return {
    head,
    body,
    bytes: Buffer.concat([Buffer.from(head), framed]),
    isHead: drawn.method === 'HEAD',
    scope,
  }
}

function callerOf({ caller, target }: DrawnRequest): { scope?: ScopeName; authorization?: string } {
  // The rest of the run needs the existing keys, so only callers without the right to replace them try to.
  const isRotation = /\/v1\/keys\/.*\/rotate$/.test(target.split('?')[0]!)
  if (caller.kind === 'none' || (isRotation && caller.kind === 'secret')) return {}
  if (caller.kind === 'odd') return { authorization: caller.text }
  const { key, scope } = keyOf(caller.kind, caller.live)
  return { scope, authorization: caller.bearer ? `Bearer ${key}` : key }
}

const MARK_BYTES = Buffer.from(MARK)
const ESCAPED_MARK_BYTES = Buffer.from(encodeURIComponent(MARK))

/** The body may not be valid text, so placeholders are searched in its bytes. */
function withMark(body: Uint8Array | undefined, mark: string): Buffer {
  if (body === undefined) return Buffer.alloc(0)
  let bytes = Buffer.from(body)
  for (const placeholder of [MARK_BYTES, ESCAPED_MARK_BYTES]) {
    for (let at = bytes.indexOf(placeholder); at >= 0; at = bytes.indexOf(placeholder, at))
      bytes = Buffer.concat([
        bytes.subarray(0, at),
        Buffer.from(mark),
        bytes.subarray(at + placeholder.length),
      ])
  }
  return bytes
}

function chunked(body: Buffer, sizes: readonly number[]): Buffer {
  const pieces: Buffer[] = []
  let at = 0
  // A thousand pieces of one byte are enough; a megabyte of them shows nothing more.
  for (let i = 0; at < body.length; i++) {
    const size = i < 1000 ? sizes[i % sizes.length]! : body.length
    const piece = body.subarray(at, at + size)
    pieces.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'))
    at += size
  }
  return Buffer.concat([...pieces, Buffer.from('0\r\n\r\n')])
}

/** Sends requests over a few connections and checks the answers. */
export class Exchanges {
  readonly #target: Target
  readonly #idle: Connection[] = []
  /** Answers by status. */
  readonly statuses = new Map<number, number>()
  /** Operations that were answered with 2xx at least once. */
  readonly reached = new Set<string>()

  constructor(target: Target) {
    this.#target = target
  }

  /**
   * Sends several at once.
   * @throws Violation for the first wrong answer
   */
  async play(batch: readonly DrawnRequest[]): Promise<void> {
    const queue = batch.values()
    const outcomes = await Promise.allSettled(
      Array.from({ length: Math.min(CONNECTIONS, batch.length) }, async () => {
        for (const drawn of queue) await this.#one(drawn)
      }),
    )
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
    if (this.#target.canaryError !== undefined) throw this.#target.canaryError
  }

  close(): void {
    for (const connection of this.#idle.splice(0)) connection.destroy()
  }

  async #one(drawn: DrawnRequest): Promise<void> {
    const rendered = render(drawn, this.#target)
    try {
      const answer = await this.#exchange(rendered)
      if (answer !== undefined) this.#judge(drawn, rendered, answer)
    } catch (error) {
      const request = JSON.stringify(rendered.bytes.toString('latin1', 0, 3000))
      throw new Violation(
        `${(error as Error).message}\n  after the request (${rendered.bytes.length} bytes) ${request}`,
        {
          cause: error,
        },
      )
    }
  }

  /** Undefined if the server may have closed the connection because the request was too large. */
  async #exchange(rendered: Rendered): Promise<WireAnswer | undefined> {
    for (;;) {
      const connection = this.#idle.pop() ?? (await Connection.open(this.#target.port))
      const wasUsed = connection.used
      try {
        connection.write(rendered.bytes)
        const answer = await connection.answer(GIVE_UP_MS, rendered.isHead)
        if (answer === undefined) throw new Violation(`no answer within ${GIVE_UP_MS} ms`)
        if (answer.headers.get('content-type') === 'text/event-stream' && !rendered.isHead) {
          await connection.closes(STREAM_MS)
          checkMarks(connection.received.toString(), rendered.scope)
          connection.destroy()
        } else if (isLast(answer) || connection.closed || rendered.body.length > MAX_BODY_BYTES)
          connection.destroy()
        else if (connection.received.length > 0) throw new Violation('there is more than one answer')
        else this.#idle.push(connection)
        return answer
      } catch (error) {
        connection.destroy()
        if (!(error instanceof Closed)) throw error
        // The server closes idle connections, possibly while a request is on its way.
        if (wasUsed && connection.received.length === 0) continue
        if (rendered.body.length > MAX_BODY_BYTES) return undefined
        throw error
      }
    }
  }

  #judge(drawn: DrawnRequest, { head, isHead, scope }: Rendered, answer: WireAnswer): void {
    const { status, headers, text } = answer
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1)
    const start = text.slice(0, 1000)
    if (status === 431 && head.length > SURE_HEAD_BYTES) return
    if (!STATUSES.has(status)) throw new Violation(`answered ${status} ${start}`)
    // The engine is missing, so trying again does not help.
    if (status === 503 && !headers.has('retry-after') && !text.includes('There is no'))
      throw new Violation(`503 without Retry-After: ${start}`)
    if (status === 429 && !headers.has('retry-after'))
      throw new Violation(`429 without Retry-After: ${start}`)
    checkMarks(text, scope)
    for (const [name, value] of headers) {
      checkMarks(value, scope)
      if (name === 'x-injected') throw new Violation('a header was injected')
    }
    if (drawn.method === 'OPTIONS' || isHead) return
    const isJson = headers.get('content-type')?.startsWith('application/json') === true
    const body: Json = isJson ? JSON.parse(text) : text
    const path = drawn.target.split('?')[0]!.replaceAll(/§[^§]*§/g, 'x')
    const operation = this.#target.api.operationOf(drawn.method, path)
    if (operation === undefined) {
      if (body?.meta?.code !== status || typeof body.meta.message !== 'string')
        throw new Violation(`the error is not the API's: ${start}`)
      return
    }
    this.#target.api.check(drawn.method, path, { status, body, headers })
    if (status < 300) {
      this.reached.add(`${operation.method} ${operation.path}`)
      this.#target.remember(body, scope)
    }
  }
}

function isLast({ status, headers }: WireAnswer): boolean {
  return headers.get('connection') === 'close' || status === 431
}
