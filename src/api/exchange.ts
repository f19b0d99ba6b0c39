import type { HttpRequest, HttpResponse } from 'uWebSockets.js'
import type { Clock } from '../runtime/clock.ts'
import { ApiError } from '../runtime/errors.ts'
import type { Credentials } from '../registry/port.ts'
import { authenticate, type KeyLookup } from './authenticate.ts'
import type { ClientAddress, Peers } from './clientAddress.ts'
import { bodyFormat, type BodyFormat, type Endpoint } from './endpoint.ts'
import { errorAnswer } from './errors.ts'
import { endHead, isLarge, JSON_CONTENT_TYPE, successText, writeHead, writeLarge } from './wire.ts'
import { LATER, type Answer, type Call, type Reply } from './route.ts'

/** Where errors that are nobody's fault but ours are reported; a pino logger fits. */
export interface ErrorLog {
  error(fields: Readonly<Record<string, unknown>>, message: string): void
}

/** Status under which a request counts whose client hung up before the answer. */
const CLIENT_CLOSED = 499

/** A started buffer has room for a usual body, and grows by doubling. */
const FIRST_BUFFER_BYTES = 4096

/** What all requests of a server share. */
export interface Shared {
  readonly keys: KeyLookup
  readonly addresses: ClientAddress
  readonly peers: Peers
  readonly clock: Clock
  readonly log: ErrorLog | undefined
  readonly maxBodyBytes: number
  readonly maxHeldBytes: number
  readonly maxUnreadBytes: number
  /** Bytes of buffers in which bodies are being collected. */
  heldBytes: number
  /** Bytes of answers that their clients have not read whole. */
  unreadBytes: number
  /** The requests of those answers, the longest waiting first. */
  readonly readers: Set<Exchange>
  /** Requests neither answered nor given up by their client. */
  inFlight: number
  /** Of them, those that have arrived whole: a drain finishes these. */
  handling: number
  /** Of them, those whose body came in more than one piece and is not yet whole. */
  readonly uploads: Set<Exchange>
  draining: boolean
  /** Called when nothing is being handled any more; set while the server drains. */
  onIdle: (() => void) | undefined
}

/**
 * One request and its answer: the only object made for it. It is the handler's {@link Call} and its {@link Reply}.
 *
 * Owns: the body's buffer, the counters of {@link Shared} for this request. Invariants:
 * 1. It is settled exactly once: when the answer has been handed over whole, or when the client has hung up.
 *    Settling gives back all that it counted for.
 * 2. After that `res` is not touched: uWebSockets.js throws where it is.
 * 3. `req` is not kept: it lives during the first callback only.
 */
export class Exchange implements Reply {
  params: unknown = undefined
  query: unknown = undefined
  body: unknown = undefined
  credentials: Credentials | undefined = undefined
  ip = ''
  receivedAt = 0
  fromSdk = false
  aborted = false
  readonly requestId: string
  readonly #shared: Shared
  readonly #endpoint: Endpoint
  readonly #res: HttpResponse
  readonly #startedAt = performance.now()
  readonly #isHead: boolean
  #format: BodyFormat = 'json'
  #answered = false
  #handling = false
  #settled = false
  #buffer: Buffer | undefined = undefined
  #length = 0
  #unread = 0

  constructor(shared: Shared, endpoint: Endpoint, res: HttpResponse, requestId: string, isHead: boolean) {
    this.#shared = shared
    this.#endpoint = endpoint
    this.#res = res
    this.#isHead = isHead
    this.requestId = requestId
    shared.inFlight++
  }

  /** Reads all that is needed of the request while it lives, and lets the body come. */
  start(req: HttpRequest, segments: readonly string[]): void {
    const res = this.#res
    try {
      this.#admit(req, segments)
    } catch (error) {
      this.fail(error)
      return
    }
    res.onAborted(() => this.#abort())
    if (this.#endpoint.takesBody) res.onData((chunk, isLast) => this.#receive(chunk, isLast))
    else this.#run()
  }

  /** Credentials before limits before parameters: who may not call learns nothing of what would be valid. */
  #admit(req: HttpRequest, segments: readonly string[]): void {
    const shared = this.#shared
    const endpoint = this.#endpoint
    const { auth } = endpoint.route
    if (shared.draining) throw shuttingDown()
    if (auth !== 'none') this.credentials = authenticate(req.getHeader('authorization'), auth, shared.keys)
    const peer = shared.peers.sole ?? shared.addresses.peer(this.#res.getRemoteAddress())
    this.ip = shared.addresses.trustsAnybody ? shared.addresses.requester(peer, forwardedFor(req)) : peer
    if (endpoint.limiter !== undefined) endpoint.limiter.take(this.#caller(), shared.clock.now())
    this.fromSdk = req.getHeader('x-radar-sdk-version') !== ''
    if (!endpoint.isFixed) this.params = endpoint.readParams(segments)
    if (endpoint.takesQuery) this.query = endpoint.readQuery(req.getQuery() ?? '')
    if (endpoint.takesBody) this.#format = bodyFormat(req.getHeader('content-type'))
  }

  /** Whom the rate limit counts for. */
  #caller(): string {
    const credentials = this.credentials
    if (credentials === undefined || this.#endpoint.route.limit?.by === 'address') return this.ip
    return `${credentials.scope} ${credentials.keyId}`
  }

  #receive(chunk: ArrayBuffer, isLast: boolean): void {
    if (this.#answered || this.aborted) return
    try {
      if (this.#length + chunk.byteLength > this.#shared.maxBodyBytes) throw this.#tooLarge()
      if (this.#buffer === undefined && isLast) {
        this.#complete(new Uint8Array(chunk))
        return
      }
      this.#hold(chunk)
      if (isLast) this.#complete(this.#buffer!.subarray(0, this.#length))
    } catch (error) {
      this.fail(error)
    }
  }

  #tooLarge(): ApiError {
    return new ApiError(413, `The body must be at most ${this.#shared.maxBodyBytes} bytes.`)
  }

  /** Copies a piece of the body: its memory belongs to the socket. */
  #hold(chunk: ArrayBuffer): void {
    const needed = this.#length + chunk.byteLength
    if (this.#buffer === undefined || this.#buffer.length < needed) {
      const shared = this.#shared
      const held = this.#buffer?.length ?? 0
      const size = Math.min(Math.max(FIRST_BUFFER_BYTES, held * 2, needed), shared.maxBodyBytes)
      if (shared.heldBytes + size - held > shared.maxHeldBytes) {
        throw new ApiError(503, 'Too many uploads at once.', { retryAfter: 1 })
      }
      const grown = Buffer.allocUnsafeSlow(size)
      this.#buffer?.copy(grown, 0, 0, this.#length)
      this.#buffer = grown
      shared.heldBytes += size - held
      if (held === 0) shared.uploads.add(this)
    }
    this.#buffer.set(new Uint8Array(chunk), this.#length)
    this.#length = needed
  }

  #complete(bytes: Uint8Array): void {
    if (this.#shared.draining) throw shuttingDown()
    const body = this.#endpoint.readBody(bytes, this.#format)
    this.#release()
    this.body = body
    this.fromSdk ||= typeof body?.sdkVersion === 'string'
    this.#run()
  }

  /** Gives back the body's buffer. */
  #release(): void {
    if (this.#buffer === undefined) return
    this.#shared.heldBytes -= this.#buffer.length
    this.#shared.uploads.delete(this)
    this.#buffer = undefined
  }

  #run(): void {
    this.#handling = true
    this.#shared.handling++
    this.receivedAt = this.#shared.clock.now()
    try {
      const result = this.#endpoint.route.handler(
        this as unknown as Call<undefined, undefined, undefined>,
        this,
      )
      if (result === LATER) return
      if (result instanceof Promise) this.#await(result)
      else this.send(result)
    } catch (error) {
      this.fail(error)
    }
  }

  async #await(result: Promise<Answer>): Promise<void> {
    try {
      this.send(await result)
    } catch (error) {
      this.fail(error)
    }
  }

  send(answer: Answer): void {
    if (this.#answered || this.aborted) return
    const { status = 200, text } = answer
    let content: string
    try {
      content = text === undefined ? successText(status, answer) : text.content
    } catch (error) {
      // An answer that cannot be written as JSON must not leave the request without one.
      this.fail(error)
      return
    }
    this.#write(status, text === undefined ? JSON_CONTENT_TYPE : text.contentType, content, undefined)
  }

  fail(error: unknown): void {
    const { status, json, retryAfter } = errorAnswer(error)
    if (status === 500) {
      const { method, path } = this.#endpoint.route
      const fields = { err: error, requestId: this.requestId, route: `${method} ${path}` }
      this.#shared.log?.error(fields, 'request failed')
    }
    if (this.#answered || this.aborted) return
    this.#write(
      status,
      JSON_CONTENT_TYPE,
      json,
      retryAfter === undefined ? undefined : `Retry-After: ${retryAfter}`,
    )
  }

  #write(status: number, contentType: string, content: string, headers: string | undefined): void {
    const res = this.#res
    this.#answered = true
    // After a refused upload the rest of it is still coming: the connection is of no more use.
    const close = status === 413 || this.#shared.draining
    this.#release()
    let unread = 0
    res.cork(() => {
      writeHead(res, status, contentType, this.requestId, headers)
      if (this.#isHead) endHead(res, content)
      else if (isLarge(content)) unread = writeLarge(res, content, () => this.#settle(status))
      else res.end(content, close)
    })
    if (unread === 0) this.#settle(status)
    else this.#awaitReader(unread)
  }

  /** Counts an answer that its client is slow to read; past the bound the slowest others are cut off (G7). */
  #awaitReader(bytes: number): void {
    const shared = this.#shared
    this.#unread = bytes
    shared.unreadBytes += bytes
    shared.readers.add(this)
    for (const reader of shared.readers) {
      if (shared.unreadBytes <= shared.maxUnreadBytes || reader === this) break
      reader.#res.close()
    }
  }

  #abort(): void {
    this.aborted = true
    this.#release()
    this.#settle(CLIENT_CLOSED)
  }

  #settle(status: number): void {
    if (this.#settled) return
    this.#settled = true
    const shared = this.#shared
    shared.inFlight--
    shared.unreadBytes -= this.#unread
    shared.readers.delete(this)
    if (this.#handling) shared.handling--
    this.#endpoint.observe(status, performance.now() - this.#startedAt)
    if (shared.handling === 0) shared.onIdle?.()
  }
}

/** All lines of X-Forwarded-For as one: some proxies add a line where others append to the last. */
function forwardedFor(req: HttpRequest): string {
  let hops = req.getHeader('x-forwarded-for')
  if (hops === '') return hops
  hops = ''
  req.forEach((name, value) => {
    if (name === 'x-forwarded-for') hops = hops === '' ? value : `${hops},${value}`
  })
  return hops
}

/** 503: this process takes no more requests; another, or the next one, will. */
export function shuttingDown(): ApiError {
  return new ApiError(503, 'Shutting down.', { retryAfter: 1 })
}
