import type { HttpRequest } from 'uWebSockets.js'

/** What a proxy in front of us says of a request. */
export interface ProxyHeaders {
  /** All lines of X-Forwarded-For as one: some proxies add a line where others append to the last. */
  readonly forwardedFor: string
  /**
   * There are Content-Lengths that differ. uWebSockets.js believes the first; a proxy that believed another would take
   * the rest for a request of somebody else (request smuggling; RFC 9112, section 6.3).
   */
  readonly isAmbiguous: boolean
}

/** Looks at every header, which costs a microsecond: without a proxy there is nobody to differ with. */
export function readProxyHeaders(req: HttpRequest): ProxyHeaders {
  let forwardedFor = ''
  let length = ''
  let isAmbiguous = false
  req.forEach((name, value) => {
    if (name === 'x-forwarded-for') forwardedFor = forwardedFor === '' ? value : `${forwardedFor},${value}`
    else if (name === 'content-length') {
      isAmbiguous ||= length !== '' && length !== value
      length = value
    }
  })
  return { forwardedFor, isAmbiguous }
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
