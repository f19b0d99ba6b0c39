import type { HttpRequest } from 'uWebSockets.js'
import { ApiError, badParam } from '../runtime/errors.ts'

/** More digits are refused by uWebSockets.js too, but only after the request has been handled. */
const LENGTH = /^\d{1,15}$/

/**
 * The headers of a request that the server itself reads, taken in one walk: no other way shows that a header was sent
 * twice. It costs as much as to ask for four headers by name.
 *
 * One object serves all requests, each during its first callback. Of a header that was sent twice it holds the first.
 */
export class RequestHeaders {
  authorization = ''
  contentType = ''
  contentLength = ''
  sdkVersion = ''
  ifNoneMatch = ''
  /** All lines of X-Forwarded-For as one: some proxies add a line where others append to the last. */
  forwardedFor = ''
  #transferEncoding = ''
  #hosts = 0
  #lengths = 0
  #transferEncodings = 0
  readonly #visit = (name: string, value: string): void => this.#take(name, value)

  /** Replaces what was read of the request before. */
  read(req: HttpRequest): this {
    this.authorization = this.contentType = this.contentLength = this.sdkVersion = ''
    this.ifNoneMatch = this.forwardedFor = this.#transferEncoding = ''
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
        this.#hosts++
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
    }
  }

  /**
   * The body comes in chunks. What of their framing is wrong uWebSockets.js reads in its own way (bare LF, extensions,
   * trailers), and nobody can see it from here: so where the body ends is not known for certain, and no request that
   * follows on the connection may be believed.
   */
  get isChunked(): boolean {
    return this.#transferEncodings > 0
  }

  /**
   * What is wrong with the headers that say where the request ends and whom it is for. A proxy that reads them otherwise
   * would take a part of the body for a request of somebody else (request smuggling; RFC 9112, sections 3.2, 6 and 11.2).
   * uWebSockets.js believes the first of several, takes every Transfer-Encoding for chunked, and ignores an empty value.
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

/** Of the named headers, those that were sent. */
export function readHeaders(req: HttpRequest, names: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const name of names) {
    const value = req.getHeader(name)
    if (value !== '') headers[name] = value
  }
  return headers
}
