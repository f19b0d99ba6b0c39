import type { HttpRequest, HttpResponse } from 'uWebSockets.js'
import type { ApiError } from '../runtime/errors.ts'
import { authenticateRequest, checkOrigin, keyName, publishableKey } from './authenticate.ts'
import type { BodyHolder } from './bodyRoom.ts'
import type { Credentials } from './credentials.ts'
import { bodyFormat, checkUpload, type BodyFormat, type Endpoint } from './endpoint.ts'
import { shuttingDown, tooLarge, tooManyPieces, tooManyPiecesAtOnce } from './errors.ts'
import { readHeaders } from './requestHeaders.ts'
import type { Call, Reply } from './route.ts'
import type { Shared } from './shared.ts'
import type { Site } from './site.ts'
import { Upload, UPLOAD_MEMORY_BYTES } from './upload.ts'

const NO_HEADERS: Readonly<Record<string, string>> = {}

/** The first buffer has room for a usual body, and grows by doubling. */
const FIRST_BUFFER_BYTES = 4096
/**
 * A body in more pieces than this must have some bytes in each on average. uWebSockets.js hands over each chunk by itself,
 * in about a microsecond, and reads half a megabyte of a connection at a time, which may be 90,000 chunks of a byte.
 */
const MANY_PIECES = 10_000
const LEAST_PIECE_BYTES = 16
/**
 * If many connections send such bodies at the same time, all of it is read in the same turn of the event loop. Then those are
 * refused that have had more pieces than this in the turn. In pieces of 8 KB, half a megabyte has as many.
 */
const FEW_PIECES = 64
/** A body up to this length that came in one piece is not counted: it is small, or gone when its handler returns. */
const SMALL_BODY_BYTES = 16 * 1024

/**
 * What a client asks, from the head of its request to its body. It is the handler's {@link Call}.
 *
 * Owns: whether the request is admitted, the memory of its body. Does not own: the answer ({@link Exchange}).
 *
 * Invariants
 * - REQUEST-1: `req` is not kept, because it is valid only during the first callback.
 */
export class IncomingRequest implements BodyHolder {
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
  ifNoneMatch = ''
  /**
   * The connection is closed after the answer, because the end of the request is not certain, or no more of it is
   * wanted.
   */
  isLast = false
  isCutOff = false
  /** Whether the end of the body has arrived, or no body is read. */
  isWhole = true
  readonly requestId: string
  readonly #shared: Shared
  readonly #endpoint: Endpoint
  readonly #reply: Reply
  readonly #startedAt = performance.now()
  #format: BodyFormat = 'json'
  /** Whether the request counts towards its project's quota. */
  #isCounted = false
  #buffer: Buffer | undefined = undefined
  #length = 0
  #pieces = 0
  /** How many of them came in the turn with this number. */
  #piecesOfTurn = 0
  #turn = -1
  #heldBytes = 0

  constructor(shared: Shared, endpoint: Endpoint, requestId: string, reply: Reply) {
    this.#shared = shared
    this.#endpoint = endpoint
    this.#reply = reply
    this.requestId = requestId
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

  /** The request in the form that the handlers of all routes get. */
  get asCall(): Call<undefined, undefined, undefined> {
    return this as unknown as Call<undefined, undefined, undefined>
  }

  get isJson(): boolean {
    return this.#format === 'json'
  }

  /** The longest body that is read, in bytes. */
  get maxBytes(): number {
    const { upload, maxBodyBytes = 0 } = this.#endpoint.route
    return upload?.maxBytes ?? Math.max(this.#shared.maxBodyBytes, maxBodyBytes)
  }

  /**
   * Reads everything that is needed of the head while it is valid. Credentials are checked before quotas, quotas before
   * limits, and limits before parameters: a caller without permission learns nothing about validity.
   * @throws ApiError why it is refused
   */
  admit(req: HttpRequest, res: HttpResponse, segments: readonly string[]): void {
    const shared = this.#shared
    const endpoint = this.#endpoint
    const { auth, method, keyInQuery, isFree } = endpoint.route
    const headers = shared.headers.read(req)
    const fault = headers.fault(method !== 'GET')
    this.isLast = fault !== undefined || headers.isChunked
    if (fault !== undefined) throw fault
    if (shared.draining) throw shuttingDown()
    const peer = shared.peers.sole ?? shared.addresses.peer(res.getRemoteAddress())
    if (endpoint.route.forPages) {
      this.site = shared.sites.of(headers, peer)
      if (headers.origin !== '') checkOrigin(headers.origin, this.site, shared.sites)
    }
    if (auth !== 'none') {
      const keyInUrl = keyInQuery === true ? publishableKey(req.getQuery('publishableKey')) : ''
      const credentials = authenticateRequest(headers, keyInUrl, endpoint.route, this.site, peer, shared)
      this.credentials = credentials
      // People can always sign out, and see who they are.
      if (isFree !== true && auth !== 'session' && auth !== 'account') {
        shared.quotas?.take(credentials.scope, shared.clock.now())
        this.#isCounted = true
      }
    }
    this.ip = shared.addresses.trustsAnybody ? shared.addresses.requester(peer, headers.forwardedFor) : peer
    const isSecret = this.credentials?.level === 'secret'
    const limiter = isSecret ? endpoint.secretLimiter : endpoint.limiter
    if (limiter !== undefined) limiter.take(this.#limitedName(isSecret), shared.clock.now())
    this.fromSdk = headers.sdkVersion !== ''
    if (endpoint.route.headers !== undefined)
      this.headers = readHeaders(req, endpoint.route.headers, () => shared.addresses.trusts(peer))
    if (!endpoint.isFixed) this.params = endpoint.readParams(segments)
    if (endpoint.takesQuery) this.query = endpoint.readQuery(req.getQuery() ?? '')
    if (endpoint.takesBody) {
      this.#format = bodyFormat(headers.contentType)
      this.isWhole = false
    } else if (endpoint.route.upload !== undefined) {
      checkUpload(endpoint.route.upload, headers.contentType, headers.contentLength)
      this.#hold(UPLOAD_MEMORY_BYTES)
      this.isWhole = false
    }
    if (method === 'GET') this.ifNoneMatch = headers.ifNoneMatch
  }

  /** The name under which the rate limit counts the request. */
  #limitedName(isSecret: boolean): string {
    const { limit } = this.#endpoint.route
    const { by } = (isSecret && limit?.secret) || limit!
    return this.credentials === undefined || by === 'address' ? this.ip : this.keyName
  }

  /** Takes back the count of a request that failed through no fault of its own. */
  giveBack(): void {
    if (this.#isCounted) this.#shared.quotas?.giveBack(this.credentials!.scope)
  }

  /**
   * Passes the body on to the handler as it arrives.
   * @param passed called with each piece after it was passed on
   */
  openUpload(res: HttpResponse, passed: (chunk: ArrayBuffer, isEnd: boolean) => void): void {
    const upload = new Upload(res, this.maxBytes)
    this.upload = upload
    this.#shared.bodies.arriving.add(this)
    res.onData((chunk, isEnd) => {
      this.isWhole = isEnd
      const refusal = this.#refusalOfPiece(upload.received)
      if (refusal !== undefined) upload.destroy(refusal)
      upload.receive(chunk, isEnd)
      if (isEnd) this.endArrival()
      passed(chunk, isEnd)
    })
  }

  /** Marks that no more of the body comes. */
  endArrival(): void {
    if (this.#heldBytes > 0) this.#shared.bodies.arriving.delete(this)
  }

  /**
   * Collects the body.
   * @param chunk the socket's memory, which is copied
   * @returns the whole body with its last piece
   * @throws ApiError 413 if it is too long, 400 if it comes in too many pieces, 503 if too many pieces come at once, or
   * all bodies would take too much
   */
  collect(chunk: ArrayBuffer, isEnd: boolean): Buffer | undefined {
    const { maxBytes } = this
    const length = this.#length + chunk.byteLength
    if (length > maxBytes) throw tooLarge(maxBytes)
    const refusal = this.#refusalOfPiece(length)
    if (refusal !== undefined) throw refusal
    if (this.#buffer === undefined && isEnd) {
      if (chunk.byteLength > SMALL_BODY_BYTES) this.#hold(chunk.byteLength)
      return Buffer.from(chunk)
    }
    if (this.#buffer === undefined || this.#buffer.length < length) {
      const size = Math.max(FIRST_BUFFER_BYTES, (this.#buffer?.length ?? 0) * 2, length)
      this.#hold(Math.min(size, maxBytes))
      const grown = Buffer.allocUnsafeSlow(this.#heldBytes)
      this.#buffer?.copy(grown, 0, 0, this.#length)
      this.#buffer = grown
      this.#shared.bodies.arriving.add(this)
    }
    this.#buffer.set(new Uint8Array(chunk), this.#length)
    this.#length = length
    return isEnd ? this.#buffer.subarray(0, length) : undefined
  }

  /** Counts a piece of the body. @param bytes how long the body is by now */
  #refusalOfPiece(bytes: number): ApiError | undefined {
    if (++this.#pieces > MANY_PIECES && bytes < this.#pieces * LEAST_PIECE_BYTES)
      return tooManyPieces(LEAST_PIECE_BYTES)
    return this.isOneOfTooManyPieces() ? tooManyPiecesAtOnce() : undefined
  }

  /** Counts a piece that is read or dropped. Returns whether too many come in this turn, and many of them for this body. */
  isOneOfTooManyPieces(): boolean {
    // Most bodies have one.
    if (this.#pieces === 1) return false
    const { turn } = this.#shared
    if (this.#turn !== turn.number) {
      this.#turn = turn.number
      this.#piecesOfTurn = 0
    }
    const isTurnFull = turn.hasTooManyPieces()
    return ++this.#piecesOfTurn > FEW_PIECES && isTurnFull
  }

  /**
   * Parses and validates the whole body.
   * @throws ApiError 400 naming the parameter
   */
  readBody(bytes: Buffer): void {
    const body = this.#endpoint.readBody(bytes, this.#format)
    this.dropBytes()
    this.body = body
    this.fromSdk ||= typeof body?.sdkVersion === 'string'
  }

  /** The bytes have been read. What was made of them keeps their room until the answer. */
  dropBytes(): void {
    this.#buffer = undefined
  }

  cutOff(error: ApiError): void {
    // The rest of the body still comes.
    this.isLast = this.isCutOff = true
    this.release()
    // The handler learns of it first, because it has begun, and decides what to say about the part that it has read.
    if (this.upload === undefined) this.#reply.fail(error)
    else this.upload.destroy(error)
  }

  /**
   * Counts the memory of the body.
   * @throws ApiError 503 if all bodies would take too much
   */
  #hold(bytes: number): void {
    this.#shared.bodies.acquire(this, bytes - this.#heldBytes)
    this.#heldBytes = bytes
  }

  /** Releases the memory of the body. */
  release(): void {
    if (this.#heldBytes === 0) return
    this.#shared.bodies.release(this, this.#heldBytes)
    this.#heldBytes = 0
    this.#shared.bodies.arriving.delete(this)
    this.#buffer = undefined
  }
}
