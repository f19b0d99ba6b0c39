/** Sends generated requests and checks the answers. */
import type { Api, Json } from '../e2e/contract.ts'
import { progress } from '../kit/waiting.ts'
import { identityOf } from './callers.ts'
import type { ScopeName } from './known.ts'
import { filledBytes, filledText } from './placeholders.ts'
import type { DrawnRequest } from './requests.ts'
import { Tally } from './tally.ts'
import { Closed, Connection, type WireAnswer } from './wire.ts'
import { checkMarks, MARKS, GIVE_UP_MS, Violation } from './world.ts'

const CONNECTIONS = 8
/** The statuses that requests may get. A 503 must say when to try again. */
const STATUSES = new Set([
  200, 201, 202, 204, 304, 400, 401, 402, 403, 404, 405, 409, 413, 415, 426, 429, 451, 503,
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
  remember(body: Json, headers: Headers, scope: ScopeName | undefined): void
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
  /** Whether its answer may show both environments. */
  readonly isOfProject: boolean
}

/** Replaces the placeholders of a generated request by ids, marks and keys. */
export function render(drawn: DrawnRequest, target: Pick<Target, 'id'>): Rendered {
  const path = drawn.target.split('?')[0]!
  const pick: Target['id'] = (kind, draw, of) => target.id(kind, draw, of)
  const { scope, lines: identity } = identityOf(drawn.caller, drawn.method, path, pick)
  // The names of map regions are the operator's. /readyz shows them to everybody, so they carry nobody's mark.
  const isMarked = scope !== undefined && !path.includes('/map-regions')
  const mark = isMarked ? MARKS[scope] : 'nobody'
  const lookUp = (kind: string, draw: number) => target.id(kind, draw, scope)
  const filled = (text: string) => filledText(text, mark, lookUp)
  const lines = [`${drawn.method} ${filled(drawn.target)} HTTP/1.1`, 'Host: x', ...identity]
  if (drawn.contentType !== undefined) lines.push(`Content-Type: ${drawn.contentType}`)
  for (const [name, value] of drawn.headers) lines.push(`${name}: ${filled(value)}`)
  const body = filledBytes(drawn.body, mark, lookUp)
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
    // The audit is that of the project.
    isOfProject: path.includes('/audit'),
  }
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
  readonly tally = new Tally()

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
      progress()
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
          checkMarks(connection.received.toString(), rendered.scope, rendered.isOfProject)
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

  #judge(drawn: DrawnRequest, { head, isHead, scope, isOfProject }: Rendered, answer: WireAnswer): void {
    const { status, headers, text } = answer
    this.tally.countStatus(status)
    const start = text.slice(0, 1000)
    if (status === 431 && head.length > SURE_HEAD_BYTES) return
    if (!STATUSES.has(status)) throw new Violation(`answered ${status} ${start}`)
    // The engine is missing, so trying again does not help.
    if (status === 503 && !headers.has('retry-after') && !text.includes('There is no'))
      throw new Violation(`503 without Retry-After: ${start}`)
    if (status === 429 && !headers.has('retry-after'))
      throw new Violation(`429 without Retry-After: ${start}`)
    checkMarks(text, scope, isOfProject)
    for (const [name, value] of headers) {
      checkMarks(value, scope, isOfProject)
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
    this.tally.count(operation, status, body?.meta?.message ?? start)
    if (status < 300) this.#target.remember(body, headers, scope)
  }
}

function isLast({ status, headers }: WireAnswer): boolean {
  return headers.get('connection') === 'close' || status === 431
}
