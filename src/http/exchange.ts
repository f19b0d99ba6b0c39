import type { HttpRequest, HttpResponse } from 'uWebSockets.js'
import { ApiError } from '../runtime/errors.ts'
import type { Credentials } from './credentials.ts'
import { authenticate, authenticateSession, checkOrigin, keyName, publishableKey } from './authenticate.ts'
import { bodyFormat, checkUpload, type BodyFormat, type Endpoint } from './endpoint.ts'
import { errorAnswer, shuttingDown, tooLarge } from './errors.ts'
import { readHeaders } from './requestHeaders.ts'
import { LATER, type Answer, type AnswerStream, type Call, type Reply } from './route.ts'
import type { BodyHolder } from './bodyRoom.ts'
import type { RequestHeaders } from './requestHeaders.ts'
import type { Shared } from './shared.ts'
import type { Site } from './site.ts'
import { StreamOut } from './streamOut.ts'
import { Upload, UPLOAD_MEMORY_BYTES } from './upload.ts'
import { JSON_CONTENT_TYPE, successBytes, successText } from './answerText.ts'
import { endHead, hasVersion, headerLines, isLarge, readNoMore, writeHead, writeLarge } from './wire.ts'

/** Status of a request whose client disconnected before the answer. */
export const CLIENT_CLOSED = 499

const NO_HEADERS: Readonly<Record<string, string>> = {}

/** An answer in pieces up to this length is joined at once, which takes a fraction of a millisecond. */
const WHOLE_CHARACTERS = 256 * 1024

/** The first buffer has room for a usual body, and grows by doubling. */
const FIRST_BUFFER_BYTES = 4096
/** A body up to this length that came in one piece is not counted: it is small, or gone when its handler returns. */
const SMALL_BODY_BYTES = 16 * 1024

/**
 * One request and its answer: the only object made for it. It is the handler's {@link Call} and its {@link Reply}.
 *
 * Owns: the body's buffer, the counters of {@link Shared} for this request.
 *
 * Invariants
 * - EXCHANGE-1: It is settled exactly once: when the whole answer has been handed over, or when the client has
 *   disconnected. Settling releases everything that was counted for it.
 * - EXCHANGE-2: After that `res` is not touched, because uWebSockets.js throws on any access.
 * - EXCHANGE-3: `req` is not kept, because it is valid only during the first callback.
 */
export class Exchange implements Reply, BodyHolder {
  params: unknown = undefined
  query: unknown = undefined
  body: unknown = undefined
  upload: Upload | undefined = undefined
  credentials: Credentials | undefined = undefined
  site: Site | undefined = undefined
  ip = ''
  receivedAt = 0
  fromSdk = false
  headers: Readonly<Record<string, string>> = NO_HEADERS
  aborted = false
  readonly requestId: string
  readonly #shared: Shared
  readonly #endpoint: Endpoint
  readonly #res: HttpResponse
  readonly #startedAt = performance.now()
  readonly #isHead: boolean
  #format: BodyFormat = 'json'
  #ifNoneMatch = ''
  /**
   * The connection is closed after the answer, because the end of the request is not certain, or no more of it is
   * wanted.
   */
  #isLast = false
  #isCutOff = false
  /** It is being read: an answer now would be written in the same turn. */
  #isArriving = true
  /** The end of the body has arrived, or none is read. */
  #isWhole = true
  /** Ends the answer. Set between an answer and the end of the body, if the answer comes first. */
  #endAnswer: (() => void) | undefined = undefined
  /** Bytes of the body that came after such an answer. */
  #dropped = 0
  /** Counted as a request of its project. */
  #counted = false
  #answered = false
  #handling = false
  /** Promises of the handler, and of its stream, that have not settled. */
  #running = 0
  #settled = false
  #buffer: Buffer | undefined = undefined
  #length = 0
  #held = 0
  #unread = 0
  #streamOut: StreamOut | undefined = undefined

  constructor(shared: Shared, endpoint: Endpoint, res: HttpResponse, requestId: string, isHead: boolean) {
    this.#shared = shared
    this.#endpoint = endpoint
    this.#res = res
    this.#isHead = isHead
    this.requestId = requestId
    shared.inFlight++
  }

  /** Reads everything that is needed of the request while it is valid, and lets the body come. */
  start(req: HttpRequest, segments: readonly string[]): void {
    const res = this.#res
    try {
      this.#admit(req, segments)
    } catch (error) {
      res.onAborted(() => this.#abort())
      this.fail(error)
      this.#isArriving = false
      return
    }
    res.onAborted(() => this.#abort())
    if (this.#endpoint.takesBody) {
      this.#isWhole = false
      res.onData((chunk, isLast) => {
        this.#receive(chunk, isLast)
        this.#isArriving = !isLast
      })
    } else {
      if (this.#endpoint.route.upload !== undefined) this.#openUpload(this.#endpoint.route.upload.maxBytes)
      this.#begin()
      this.#handle()
      this.#isArriving = false
    }
  }

  /** Whether the answer is written in the next turn, because nothing behind the request is to be read before. */
  #isForLater(): boolean {
    return this.#isLast || (this.#isArriving && this.#shared.turn.isTooLong())
  }

  /**
   * Credentials before quotas before limits before parameters: a caller without permission learns nothing about
   * validity.
   */
  #admit(req: HttpRequest, segments: readonly string[]): void {
    const shared = this.#shared
    const endpoint = this.#endpoint
    const { auth, method, keyInQuery, isFree } = endpoint.route
    const headers = shared.headers.read(req)
    const fault = headers.fault(method !== 'GET')
    this.#isLast = fault !== undefined || headers.isChunked
    if (fault !== undefined) throw fault
    if (shared.draining) throw shuttingDown()
    const peer = shared.peers.sole ?? shared.addresses.peer(this.#res.getRemoteAddress())
    if (endpoint.route.forPages) {
      this.site = shared.sites.of(headers, peer)
      if (headers.origin !== '') checkOrigin(headers.origin, this.site, shared.sites)
    }
    if (auth !== 'none') {
      const inQuery = keyInQuery === true ? publishableKey(req.getQuery('publishableKey')) : ''
      const credentials = this.#authenticate(headers, inQuery, peer)
      this.credentials = credentials
      // People can always sign out, and see who they are.
      if (isFree !== true && auth !== 'session' && auth !== 'account') {
        shared.quotas?.take(credentials.scope, shared.clock.now())
        this.#counted = true
      }
    }
    this.ip = shared.addresses.trustsAnybody ? shared.addresses.requester(peer, headers.forwardedFor) : peer
    const isSecret = this.credentials?.level === 'secret'
    const limiter = isSecret ? endpoint.secretLimiter : endpoint.limiter
    if (limiter !== undefined) limiter.take(this.#caller(isSecret), shared.clock.now())
    this.fromSdk = headers.sdkVersion !== ''
    if (endpoint.route.headers !== undefined)
      this.headers = readHeaders(req, endpoint.route.headers, () => shared.addresses.trusts(peer))
    if (!endpoint.isFixed) this.params = endpoint.readParams(segments)
    if (endpoint.takesQuery) this.query = endpoint.readQuery(req.getQuery() ?? '')
    if (endpoint.takesBody) this.#format = bodyFormat(headers.contentType)
    else if (endpoint.route.upload !== undefined) {
      checkUpload(endpoint.route.upload, headers.contentType, headers.contentLength)
      this.#hold(UPLOAD_MEMORY_BYTES)
    }
    if (method === 'GET') this.#ifNoneMatch = headers.ifNoneMatch
  }

  /** A key counts before a cookie; a cookie only counts beside the environment header. */
  #authenticate(headers: RequestHeaders, inQuery: string, peer: string): Credentials {
    const { keys, sessions, sites } = this.#shared
    const { route } = this.#endpoint
    const authorization = headers.authorization || inQuery
    if (authorization === '' && headers.environment !== '' && sessions !== undefined)
      return authenticateSession(headers, route, this.site ?? sites.of(headers, peer), sites, sessions)
    if (route.auth === 'session' || route.auth === 'account')
      throw new ApiError(401, 'Unauthorized. This is for people: sign in. A key cannot do this.')
    return authenticate(authorization, route.auth === 'secret' ? 'secret' : 'publishable', keys)
  }

  /** The name under which the rate limit counts. */
  #caller(isSecret: boolean): string {
    const credentials = this.credentials
    const { limit } = this.#endpoint.route
    const { by } = (isSecret && limit?.secret) || limit!
    if (credentials === undefined || by === 'address') return this.ip
    return keyName(credentials)
  }

  #receive(chunk: ArrayBuffer, isLast: boolean): void {
    this.#isWhole = isLast
    if (this.#answered || this.aborted) {
      this.#drop(chunk, isLast)
      return
    }
    try {
      const maxBodyBytes = this.#maxBodyBytes
      if (this.#length + chunk.byteLength > maxBodyBytes) throw tooLarge(maxBodyBytes)
      if (this.#buffer === undefined && isLast) {
        if (chunk.byteLength > SMALL_BODY_BYTES) this.#hold(chunk.byteLength)
        this.#complete(Buffer.from(chunk))
        return
      }
      this.#collect(chunk)
      if (isLast) this.#complete(this.#buffer!.subarray(0, this.#length))
    } catch (error) {
      this.fail(error)
    }
  }

  /** Passes the body on to the handler as it comes. */
  #openUpload(maxBytes: number): void {
    const upload = new Upload(this.#res, maxBytes)
    this.upload = upload
    this.#shared.bodies.arriving.add(this)
    this.#isWhole = false
    this.#res.onData((chunk, isLast) => {
      this.#isWhole = isLast
      upload.receive(chunk, isLast)
      if (isLast) this.#shared.bodies.arriving.delete(this)
      if (this.#answered) this.#drop(chunk, isLast)
    })
  }

  /** A piece of a body that was answered before its end. */
  #drop(chunk: ArrayBuffer, isLast: boolean): void {
    const end = this.#endAnswer
    if (end === undefined || this.aborted) return
    this.#dropped += chunk.byteLength
    const mostBytes = this.#endpoint.route.upload?.maxBytes ?? this.#maxBodyBytes
    if (this.#dropped > mostBytes) this.#res.close()
    else if (isLast) {
      this.#endAnswer = undefined
      end()
    }
  }

  /** The body is incomplete, and no more of it is wanted. */
  cutOff(error: ApiError): void {
    // The rest of it still comes.
    this.#isLast = this.#isCutOff = true
    this.#release()
    // The handler learns of it first: it has begun, and decides what to say about the part.
    if (this.upload === undefined) this.fail(error)
    else this.upload.destroy(error)
  }

  get keyName(): string {
    return this.credentials === undefined ? '' : keyName(this.credentials)
  }

  get ageMs(): number {
    return performance.now() - this.#startedAt
  }

  get arrivalRate(): number {
    const { upload } = this
    if (upload === undefined) return this.#length / this.ageMs
    return upload.isWaiting ? Infinity : upload.received / (this.ageMs - upload.waitedMs)
  }

  get #maxBodyBytes(): number {
    return Math.max(this.#shared.maxBodyBytes, this.#endpoint.route.maxBodyBytes ?? 0)
  }

  /** Copies a piece of the body, because its memory belongs to the socket. */
  #collect(chunk: ArrayBuffer): void {
    const needed = this.#length + chunk.byteLength
    if (this.#buffer === undefined || this.#buffer.length < needed) {
      const size = Math.max(FIRST_BUFFER_BYTES, (this.#buffer?.length ?? 0) * 2, needed)
      this.#hold(Math.min(size, this.#maxBodyBytes))
      const grown = Buffer.allocUnsafeSlow(this.#held)
      this.#buffer?.copy(grown, 0, 0, this.#length)
      this.#buffer = grown
      this.#shared.bodies.arriving.add(this)
    }
    this.#buffer.set(new Uint8Array(chunk), this.#length)
    this.#length = needed
  }

  /**
   * Counts the memory of this request's body.
   * @throws ApiError 503 if all bodies would take too much
   */
  #hold(bytes: number): void {
    this.#shared.bodies.acquire(this, bytes - this.#held)
    this.#held = bytes
  }

  #complete(bytes: Buffer): void {
    if (this.#shared.draining) throw shuttingDown()
    if (this.#held > 0) this.#shared.bodies.arriving.delete(this)
    this.#begin()
    const { route } = this.#endpoint
    if (this.#format === 'json' && route.handleBytes !== undefined) {
      const result = route.handleBytes(bytes, this as unknown as Call<undefined, undefined, undefined>, this)
      if (result !== undefined) {
        this.#buffer = undefined
        if (result !== LATER) this.send(result)
        return
      }
    }
    const body = this.#endpoint.readBody(bytes, this.#format)
    // Its result takes its place until the answer.
    this.#buffer = undefined
    this.body = body
    this.fromSdk ||= typeof body?.sdkVersion === 'string'
    this.#handle()
  }

  /** Releases the body's memory. */
  #release(): void {
    if (this.#held === 0) return
    this.#shared.bodies.release(this, this.#held)
    this.#held = 0
    this.#shared.bodies.arriving.delete(this)
    this.#buffer = undefined
  }

  /** Everything for the handler has arrived. */
  #begin(): void {
    this.#handling = true
    this.#shared.handling++
    this.receivedAt = this.#shared.clock.now()
  }

  #handle(): void {
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
    const { turn } = this.#shared
    const { number } = turn
    this.#running++
    try {
      const answer = await result
      // Promises that are settled before the next turn resume before the rest of a pipeline is read.
      this.#isArriving = turn.number === number
      this.send(answer)
    } catch (error) {
      this.#isArriving = turn.number === number
      this.fail(error)
    }
    this.#isArriving = false
    this.#running--
    this.#leave()
  }

  send(answer: Answer): void {
    const { status = 200, stream, bytes, text, pieces } = answer
    // A stream that nobody reads is left as it is: it holds nothing yet.
    if (this.#answered || this.aborted) return
    let content: string
    let headers: string | undefined
    try {
      headers = headerLines(answer)
      if (stream !== undefined && this.#isHead) {
        this.#headAlone(status, stream.contentType, headers)
        return
      }
      if (stream !== undefined) {
        void this.#stream(status, stream, headers)
        return
      }
      if (bytes !== undefined) {
        if (bytes.etag !== undefined && hasVersion(this.#ifNoneMatch, bytes.etag))
          this.#headAlone(304, JSON_CONTENT_TYPE, headers)
        else {
          // They are valid during the call only.
          const isLater = this.#isForLater()
          const kept = isLater ? Uint8Array.from(bytes.content) : bytes.content
          this.#write(status, bytes.contentType, kept, headers, isLater)
        }
        return
      }
      if (pieces !== undefined && isManyKilobytes(pieces)) {
        void this.#sendPieces(status, { ...answer, pieces }, headers)
        return
      }
      content = text === undefined ? successText(status, answer) : text.content
    } catch (error) {
      // An answer that cannot be written as JSON must not leave the request without one.
      this.fail(error)
      return
    }
    this.#write(status, text === undefined ? JSON_CONTENT_TYPE : text.contentType, content, headers)
  }

  async #sendPieces(
    status: number,
    answer: Answer & { readonly pieces: readonly string[] },
    headers: string | undefined,
  ): Promise<void> {
    this.#running++
    // Nothing else may answer while the pieces are joined.
    this.#answered = true
    try {
      const content = await successBytes(status, answer)
      if (!this.aborted) this.#write(status, JSON_CONTENT_TYPE, content, headers)
    } catch (error) {
      this.#answered = false
      this.fail(error)
    }
    this.#running--
    this.#leave()
  }

  #headAlone(status: number, contentType: string, headers: string | undefined): void {
    const res = this.#res
    const isLater = this.#isForLater()
    this.#beginAnswer()
    const write = (): void => {
      if (this.aborted) return
      res.cork(() => {
        writeHead(res, status, contentType, this.requestId, headers)
        res.endWithoutBody()
      })
      this.#settle(status)
    }
    if (isLater) setImmediate(write)
    else write()
  }

  /** The first piece is made before the head is written, because until then an error can be answered like any other. */
  async #stream(status: number, stream: AnswerStream, headers: string | undefined): Promise<void> {
    const res = this.#res
    const out = new StreamOut(res, stream, (bytes) => this.#awaitReader(bytes))
    this.#streamOut = out
    this.#running++
    // Nothing else may answer while the first piece is being made.
    this.#answered = true
    let begun = false
    try {
      await out.prepare()
      if (!this.aborted) {
        this.#beginAnswer()
        begun = true
        res.cork(() => writeHead(res, status, stream.contentType, this.requestId, headers))
        await out.writeAll()
        // Closing with the end, as other answers do in a shutdown, would cut off the end of a chunked answer.
        if (!this.aborted) res.cork(() => res.end())
      }
      this.#settle(status)
    } catch (error) {
      if (begun) this.#breakOff(error)
      else {
        this.#answered = false
        this.fail(error)
      }
    }
    out.letGo()
    this.#running--
    this.#leave()
  }

  /** A part of the answer was sent already: all that remains is to cut the connection. */
  #breakOff(error: unknown): void {
    // An aborted stream may well throw.
    if (this.aborted) return
    this.#report(error)
    this.#settle(500)
    this.#res.close()
  }

  #report(error: unknown): void {
    const { method, path } = this.#endpoint.route
    const fields = { err: error, requestId: this.requestId, route: `${method} ${path}` }
    this.#shared.log?.error(fields, 'request failed')
  }

  fail(error: unknown): void {
    const { status, json, retryAfter } = errorAnswer(error)
    if (status === 500) this.#report(error)
    if (this.#answered || this.aborted) return
    if (this.#counted && (status === 429 || status >= 500)) {
      this.#shared.quotas?.giveBack(this.credentials!.scope)
    }
    this.#write(
      status,
      JSON_CONTENT_TYPE,
      json,
      retryAfter === undefined ? undefined : `Retry-After: ${retryAfter}`,
    )
  }

  #beginAnswer(): void {
    this.#answered = true
    this.upload?.detach()
    this.#release()
  }

  /** @param content with `isLater`, bytes that nobody changes until they are written */
  #write(
    status: number,
    contentType: string,
    content: string | Uint8Array,
    headers: string | undefined,
    isLater = this.#isForLater(),
  ): void {
    this.#beginAnswer()
    if (!isLater) return this.#writeNow(status, contentType, content, headers)
    const write = (): void => this.#writeNow(status, contentType, content, headers)
    // While it waits for its answer, uWebSockets.js disconnects clients that send another request. So nothing after
    // this one is read.
    if (!this.#isLast || this.#isWhole || this.#isCutOff || status === 413 || this.#shared.draining)
      setImmediate(write)
    // Not begun before the end of the body, because an answer that has begun cannot close the connection.
    else this.#endAnswer = () => setImmediate(write)
  }

  #writeNow(
    status: number,
    contentType: string,
    content: string | Uint8Array,
    headers: string | undefined,
  ): void {
    if (this.aborted) return
    const res = this.#res
    // After a refused upload, the rest of it is still coming, so the connection is useless.
    const close = status === 413 || this.#isLast || this.#shared.draining
    let unread = 0
    res.cork(() => {
      writeHead(res, status, contentType, this.requestId, headers)
      if (!this.#isWhole && !close) {
        // If the answer ends before the body, uWebSockets.js lets the connection be idle without a time limit.
        res.write(content)
        this.#endAnswer = () => res.cork(() => res.end())
        return
      }
      // Only the end of an answer with a body closes.
      if (this.#isHead && this.#isLast) res.end('', true)
      else if (this.#isHead) endHead(res, content)
      else if (isLarge(content)) {
        if (this.#isLast) readNoMore(res)
        unread = writeLarge(res, content, () => this.#settle(status))
      } else res.end(content, close)
    })
    if (unread === 0) this.#settle(status)
    else this.#awaitReader(unread)
  }

  /**
   * Counts the part of an answer that its client has not read; beyond the bound, the slowest others are disconnected
   * (G7).
   */
  #awaitReader(bytes: number): void {
    const shared = this.#shared
    if (this.#settled) return
    shared.unreadBytes += bytes - this.#unread
    this.#unread = bytes
    shared.readers.delete(this)
    if (bytes === 0) return
    shared.readers.add(this)
    for (const reader of shared.readers) {
      if (shared.unreadBytes <= shared.maxUnreadBytes || reader === this) break
      reader.#res.close()
    }
  }

  #abort(): void {
    this.aborted = true
    this.upload?.detach(new ApiError(400, 'body: The connection closed before its end.', { param: 'body' }))
    this.#streamOut?.abort()
    // A running handler still has the body.
    if (this.#running === 0) this.#release()
    else this.#shared.bodies.arriving.delete(this)
    this.#settle(CLIENT_CLOSED)
  }

  #settle(status: number): void {
    if (this.#settled) return
    this.#settled = true
    const shared = this.#shared
    shared.inFlight--
    shared.unreadBytes -= this.#unread
    shared.readers.delete(this)
    this.#endpoint.observe(status, performance.now() - this.#startedAt)
    this.#leave()
  }

  /** The request's work is over once it and its promises are settled. */
  #leave(): void {
    if (!this.#settled || !this.#handling || this.#running > 0) return
    this.#release()
    this.#handling = false
    if (--this.#shared.handling === 0) this.#shared.onIdle?.()
  }
}

/** Whether the pieces of an answer deserve more than one turn. */
function isManyKilobytes(pieces: readonly string[]): boolean {
  let characters = 0
  for (const piece of pieces) if ((characters += piece.length) > WHOLE_CHARACTERS) return true
  return false
}
