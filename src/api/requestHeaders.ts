import type { HttpRequest } from 'uWebSockets.js'

/** All lines of X-Forwarded-For as one: some proxies add a line where others append to the last. */
export function forwardedFor(req: HttpRequest): string {
  let hops = req.getHeader('x-forwarded-for')
  if (hops === '') return hops
  hops = ''
  req.forEach((name, value) => {
    if (name === 'x-forwarded-for') hops = hops === '' ? value : `${hops},${value}`
  })
  return hops
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
