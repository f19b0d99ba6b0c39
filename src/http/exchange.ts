import type { HttpRequest, HttpResponse } from 'uWebSockets.js'
import { ApiError } from '../runtime/errors.ts'
import {
  isManyKilobytes,
  JSON_CONTENT_TYPE,
  packedAnswerBytes,
  successBytes,
  successText,
} from './answerText.ts'
import { ownTurn } from '../runtime/slices.ts'
import type { Endpoint } from './endpoint.ts'
import { errorAnswer, shuttingDown } from './errors.ts'
import { IncomingRequest } from './incomingRequest.ts'
import { LATER, type Answer, type AnswerStream, type Reply } from './route.ts'
import type { Shared } from './shared.ts'
import { StreamOut } from './streamOut.ts'
import type { UnreadAnswer } from './unreadAnswers.ts'
import { endHead, hasVersion, headerLines, isLarge, readNoMore, writeHead, writeLarge } from './wire.ts'

/** Status of a request whose client disconnected before the answer. */
export const CLIENT_CLOSED = 499

/** A body that is longer may wait for a turn of its own. Shorter ones take less than a tenth of a millisecond. */
const LONG_BODY_BYTES = 16 * 1024
/** A client that goes on sending its body in more pieces than this after the answer is disconnected. */
const MOST_DROPPED_PIECES = 10_000

/**
 * The answer to one {@link IncomingRequest}: the handler is called once the request has arrived, and what it answers is
 * written as the state of the connection allows. It is the handler's {@link Reply}.
 *
 * Owns: the counters of {@link Shared} for this request. Does not own: what is read of the request.
 *
 * Invariants
 * - EXCHANGE-1: It is settled exactly once: when the whole answer has been handed over, or when the client has
 *   disconnected. Settling releases everything that was counted for it.
 * - EXCHANGE-2: After that `res` is not touched, because uWebSockets.js throws on any access.
 */
export class Exchange implements Reply, UnreadAnswer {
  aborted = false
  unreadBytes = 0
  readonly #request: IncomingRequest
  readonly #shared: Shared
  readonly #endpoint: Endpoint
  readonly #res: HttpResponse
  readonly #isHead: boolean
  /** Whether the request is being read. An answer now would be written in the same turn. */
  #isArriving = true
  /** Ends the answer. It is set between an answer and the end of the body, if the answer comes first. */
  #endAnswer: (() => void) | undefined = undefined
  /** How many bytes of the body came after such an answer, and in how many pieces. */
  #droppedBytes = 0
  #droppedPieces = 0
  #answered = false
  #handling = false
  /** How many promises of the handler and of its stream have not settled. */
  #running = 0
  #settled = false
  #streamOut: StreamOut | undefined = undefined

  constructor(shared: Shared, endpoint: Endpoint, res: HttpResponse, requestId: string, isHead: boolean) {
    this.#shared = shared
    this.#endpoint = endpoint
    this.#res = res
    this.#isHead = isHead
    this.#request = new IncomingRequest(shared, endpoint, requestId, this)
    shared.inFlight++
  }

  /** Admits the request, reads its body, and calls the handler as soon as it may begin. */
  start(req: HttpRequest, segments: readonly string[]): void {
    const res = this.#res
    const { takesBody, route } = this.#endpoint
    try {
      this.#request.admit(req, res, segments)
    } catch (error) {
      res.onAborted(() => this.#abort())
      this.fail(error)
      this.#isArriving = false
      return
    }
    res.onAborted(() => this.#abort())
    if (takesBody) {
      res.onData((chunk, isEnd) => {
        this.#receive(chunk, isEnd)
        this.#isArriving = !isEnd
      })
      return
    }
    if (route.upload !== undefined) {
      this.#request.openUpload(res, (chunk, isEnd) => this.#drop(chunk, isEnd))
    }
    this.#begin()
    this.#handle()
    this.#isArriving = false
  }

  /** Whether the answer is written in the next turn, because nothing after the request must be read before. */
  #isForLater(): boolean {
    return this.#request.isLast || (this.#isArriving && this.#shared.turn.isTooLong())
  }

  #receive(chunk: ArrayBuffer, isEnd: boolean): void {
    this.#request.isWhole = isEnd
    if (this.#answered || this.aborted) return this.#drop(chunk, isEnd)
    try {
      const bytes = this.#request.collect(chunk, isEnd)
      if (bytes !== undefined) this.#complete(bytes)
    } catch (error) {
      this.fail(error)
    }
  }

  /** Drops a piece of a body that was answered before its end. */
  #drop(chunk: ArrayBuffer, isEnd: boolean): void {
    const end = this.#endAnswer
    if (end === undefined || this.aborted) return
    this.#droppedBytes += chunk.byteLength
    const isTooMuch =
      this.#droppedBytes > this.#request.maxBytes || ++this.#droppedPieces > MOST_DROPPED_PIECES
    if (isTooMuch || this.#request.isOneOfTooManyPieces()) this.#res.close()
    else if (isEnd) {
      this.#endAnswer = undefined
      end()
    }
  }

  #complete(bytes: Buffer): void {
    if (this.#shared.draining) throw shuttingDown()
    this.#request.endArrival()
    this.#begin()
    // Fifty bodies of a megabyte may be whole in one turn, and each takes milliseconds to read.
    if (bytes.length > LONG_BODY_BYTES && this.#shared.turn.isTaken) void this.#readLater(Buffer.from(bytes))
    else this.#read(bytes)
  }

  /** @param bytes a copy, because uWebSockets.js uses the memory of a piece again */
  async #readLater(bytes: Buffer): Promise<void> {
    this.#running++
    await ownTurn()
    try {
      if (!this.#answered && !this.aborted) this.#read(bytes)
    } catch (error) {
      this.fail(error)
    }
    this.#running--
    this.#leave()
  }

  #read(bytes: Buffer): void {
    const request = this.#request
    const { route } = this.#endpoint
    if (request.isJson && route.handleBytes !== undefined) {
      const result = route.handleBytes(bytes, request.asCall, this)
      if (result !== undefined) {
        request.dropBytes()
        if (result !== LATER) this.send(result)
        return
      }
    }
    request.readBody(bytes)
    this.#handle()
  }

  /** Calls the handler, because everything that it needs has arrived. */
  #begin(): void {
    this.#handling = true
    this.#shared.handling++
    this.#request.receivedAt = this.#shared.clock.now()
  }

  #handle(): void {
    try {
      const result = this.#endpoint.route.handler(this.#request.asCall, this)
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
    const sending = this.#send(answer)
    if (answer.sent === undefined) return
    if (sending === undefined) answer.sent()
    else void sending.finally(answer.sent)
  }

  /** Sends an answer. Returns what resolves once its pieces are joined, if they are joined in turns. */
  #send(answer: Answer): Promise<void> | undefined {
    const { status = 200, stream, bytes, text, pieces, packedJson } = answer
    // A stream that nobody reads is left alone, because it holds nothing yet.
    if (this.#answered || this.aborted) return undefined
    let content: string
    let headers: string | undefined
    try {
      headers = headerLines(answer)
      if (stream !== undefined) {
        if (this.#isHead) this.#headAlone(status, stream.contentType, headers)
        else void this.#stream(status, stream, headers)
        return undefined
      }
      if (bytes !== undefined) {
        if (bytes.etag !== undefined && hasVersion(this.#request.ifNoneMatch, bytes.etag))
          this.#headAlone(304, JSON_CONTENT_TYPE, headers)
        else this.#writeBytes(status, bytes.contentType, bytes.content, headers)
        return undefined
      }
      if (packedJson !== undefined) {
        const packed = packedAnswerBytes(status, answer, packedJson)
        this.#writeBytes(status, JSON_CONTENT_TYPE, packed, headers)
        return undefined
      }
      if (pieces !== undefined && isManyKilobytes(pieces))
        return this.#sendPieces(status, { ...answer, pieces }, headers)
      content = text === undefined ? successText(status, answer) : text.content
    } catch (error) {
      // An answer that cannot be written as JSON must not leave the request without one.
      this.fail(error)
      return undefined
    }
    this.#write(status, text === undefined ? JSON_CONTENT_TYPE : text.contentType, content, headers)
    return undefined
  }

  /** Writes bytes that are only valid during the call. */
  #writeBytes(status: number, contentType: string, content: Uint8Array, headers: string | undefined): void {
    const isLater = this.#isForLater()
    this.#write(status, contentType, isLater ? Uint8Array.from(content) : content, headers, isLater)
  }

  async #sendPieces(
    status: number,
    answer: Answer & { readonly pieces: Iterable<string> },
    headers: string | undefined,
  ): Promise<void> {
    this.#running++
    // Nothing else may answer while the pieces are being joined.
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
        writeHead(res, status, contentType, this.#request.requestId, headers)
        res.endWithoutBody()
      })
      this.#settle(status)
    }
    if (isLater) this.#shared.later.add(write)
    else write()
  }

  /**
   * Sends a stream. The first piece is made before the head is written, because until then an error can be answered
   * like any other.
   */
  async #stream(status: number, stream: AnswerStream, headers: string | undefined): Promise<void> {
    const res = this.#res
    const out = new StreamOut(res, stream, (bytes) => this.#countUnread(bytes))
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
        res.cork(() => writeHead(res, status, stream.contentType, this.#request.requestId, headers))
        await out.writeAll()
        // Other answers close the connection with their end in a shutdown. That would cut off the end of a chunked
        // answer.
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

  /** Cuts the connection, because a part of the answer was already sent. */
  #breakOff(error: unknown): void {
    // An aborted stream may well throw.
    if (this.aborted) return
    this.#report(error)
    this.#settle(500)
    this.#res.close()
  }

  #report(error: unknown): void {
    const { method, path } = this.#endpoint.route
    const fields = { err: error, requestId: this.#request.requestId, route: `${method} ${path}` }
    this.#shared.log?.error(fields, 'request failed')
  }

  fail(error: unknown): void {
    const { status, json, retryAfter } = errorAnswer(error)
    if (status === 500) this.#report(error)
    if (this.#answered || this.aborted) return
    if (status === 429 || status >= 500) this.#request.giveBack()
    this.#write(
      status,
      JSON_CONTENT_TYPE,
      json,
      retryAfter === undefined ? undefined : `Retry-After: ${retryAfter}`,
    )
  }

  #beginAnswer(): void {
    this.#answered = true
    this.#request.upload?.detach()
    this.#request.release()
  }

  /**
   * Writes the answer.
   * @param content with `isLater`, bytes that nobody changes until they are written
   */
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
    const { isLast, isWhole, isCutOff } = this.#request
    const { later, draining } = this.#shared
    if (!isLast || isWhole || isCutOff || status === 413 || draining) later.add(write)
    // It is not begun before the end of the body, because an answer that has begun cannot close the connection.
    else this.#endAnswer = () => later.add(write)
  }

  #writeNow(
    status: number,
    contentType: string,
    content: string | Uint8Array,
    headers: string | undefined,
  ): void {
    if (this.aborted) return
    const res = this.#res
    const { isLast, isWhole } = this.#request
    // After a refused upload, the rest of it is still coming, so the connection is useless.
    const close = status === 413 || isLast || this.#shared.draining
    let unread = 0
    res.cork(() => {
      writeHead(res, status, contentType, this.#request.requestId, headers)
      if (!isWhole && !close) {
        // If the answer ends before the body, uWebSockets.js lets the connection be idle without a time limit.
        res.write(content)
        this.#endAnswer = () => res.cork(() => res.end())
        return
      }
      // Only the end of an answer with a body can close.
      if (this.#isHead && isLast) res.end('', true)
      else if (this.#isHead) endHead(res, content)
      else if (isLarge(content)) {
        if (isLast) readNoMore(res)
        unread = writeLarge(
          res,
          content,
          () => this.aborted,
          () => this.#settle(status),
        )
      } else res.end(content, close)
    })
    if (unread === 0) this.#settle(status)
    else this.#countUnread(unread)
  }

  #countUnread(bytes: number): void {
    if (!this.#settled) this.#shared.unread.count(this, bytes)
  }

  close(): void {
    this.#res.close()
  }

  #abort(): void {
    this.aborted = true
    const request = this.#request
    request.upload?.detach(
      new ApiError(400, 'body: The connection closed before its end.', { param: 'body' }),
    )
    this.#streamOut?.abort()
    // A running handler still uses the body.
    if (this.#running === 0) request.release()
    else request.endArrival()
    this.#settle(CLIENT_CLOSED)
  }

  #settle(status: number): void {
    if (this.#settled) return
    this.#settled = true
    const shared = this.#shared
    shared.inFlight--
    shared.unread.count(this, 0)
    this.#endpoint.observe(status, this.#request.ageMs)
    this.#leave()
  }

  /** The request's work is over once it and its promises are settled. */
  #leave(): void {
    if (!this.#settled || !this.#handling || this.#running > 0) return
    this.#request.release()
    this.#handling = false
    if (--this.#shared.handling === 0) this.#shared.onIdle?.()
  }
}
