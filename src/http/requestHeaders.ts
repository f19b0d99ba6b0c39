import type { HttpRequest } from 'uWebSockets.js'
import { ApiError, badParam } from '../runtime/errors.ts'

/** uWebSockets.js refuses more digits too, but only after the request has been handled. */
const LENGTH = /^\d{1,15}$/

/**
 * The request headers that the server itself reads, taken in one pass, because there is no other way to see that a
 * header was sent twice. It costs as much as reading four headers by name.
 *
 * One object serves all requests, each during its first callback. It holds the first value of a header that was sent
 * twice.
 */
export class RequestHeaders {
  authorization = ''
  contentType = ''
  contentLength = ''
  sdkVersion = ''
  ifNoneMatch = ''
  /** All lines of X-Forwarded-For as one: some proxies add a line, others append to the last. */
  forwardedFor = ''
  forwardedProto = ''
  host = ''
  origin = ''
  /** The value of X-Ringfence-Environment. */
  environment = ''
  /** All lines of Cookie as one. */
  cookie = ''
  userAgent = ''
  #transferEncoding = ''
  #hosts = 0
  #lengths = 0
  #transferEncodings = 0
  readonly #visit = (name: string, value: string): void => this.#take(name, value)

  /** Replaces the values of the previous request. */
  read(req: HttpRequest): this {
    this.authorization = this.contentType = this.contentLength = this.sdkVersion = ''
    this.ifNoneMatch = this.forwardedFor = this.forwardedProto = this.#transferEncoding = ''
    this.host = this.origin = this.environment = this.cookie = this.userAgent = ''
    this.#hosts = this.#lengths = this.#transferEncodings = 0
    req.forEach(this.#visit)
    return this
  }

  #take(name: string, value: string): void {
    switch (name) {
      case 'authorization':
        this.authorization ||= value
        break
      case 'content-type':
        this.contentType ||= value
        break
      case 'content-length':
        if (this.#lengths++ === 0) this.contentLength = value
        break
      case 'transfer-encoding':
        if (this.#transferEncodings++ === 0) this.#transferEncoding = value
        break
      case 'host':
        if (this.#hosts++ === 0) this.host = value
        break
      case 'origin':
        this.origin ||= value
        break
      case 'cookie':
        this.cookie = this.cookie === '' ? value : `${this.cookie};${value}`
        break
      case 'user-agent':
        this.userAgent ||= value
        break
      case 'x-ringfence-environment':
        this.environment ||= value
        break
      case 'if-none-match':
        this.ifNoneMatch ||= value
        break
      case 'x-radar-sdk-version':
        this.sdkVersion ||= value
        break
      case 'x-forwarded-for':
        this.forwardedFor = this.forwardedFor === '' ? value : `${this.forwardedFor},${value}`
        break
      case 'x-forwarded-proto':
        this.forwardedProto ||= value
        break
    }
  }

  /**
   * Whether the body is chunked. uWebSockets.js interprets invalid framing in its own way (bare LF, extensions,
   * trailers), and this cannot be seen from here. So the end of the body is not certain, and no request that follows
   * on the connection may be trusted.
   */
  get isChunked(): boolean {
    return this.#transferEncodings > 0
  }

  /**
   * The fault of the headers that define where the request ends and whom it is for. A proxy that reads them
   * differently would take a part of the body for another client's request (request smuggling; RFC 9112, sections
   * 3.2, 6 and 11.2). uWebSockets.js uses the first of several, takes every Transfer-Encoding for chunked, and
   * ignores an empty value.
   * @param mayHaveBody GET, HEAD and OPTIONS have none in chunks
   * @returns 400, after which the connection must be closed
   */
  fault(mayHaveBody: boolean): ApiError | undefined {
    if (this.#hosts > 1) return badParam('Host', 'Must be sent once.')
    if (this.#lengths > 1) return badParam('Content-Length', 'Must be sent once.')
    if (this.#lengths === 1 && !LENGTH.test(this.contentLength))
      return badParam('Content-Length', 'Must be a number of bytes.')
    if (this.#transferEncodings === 0) return undefined
    if (this.#transferEncodings > 1) return badParam('Transfer-Encoding', 'Must be sent once.')
    if (this.#lengths > 0) return badParam('Transfer-Encoding', 'Must not be sent with Content-Length.')
    if (this.#transferEncoding.toLowerCase() !== 'chunked')
      return badParam('Transfer-Encoding', 'Must be chunked.')
    if (!mayHaveBody) return badParam('Transfer-Encoding', 'Must not be sent with a method that has no body.')
    return undefined
  }
}

/**
 * The named headers that were sent.
 * @param isForwarded whether a trusted proxy sent them, so that what it says about the request is true
 */
export function readHeaders(
  req: HttpRequest,
  names: readonly string[],
  isForwarded: () => boolean,
): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const name of names) {
    if (name.startsWith('x-forwarded-') && !isForwarded()) continue
    const value = req.getHeader(name)
    if (value !== '') headers[name] = value
  }
  return headers
}
