/**
 * Cross-origin rules: browsers call the API from any page, with a publishable key in `Authorization`. No cookies are
 * read, so any origin may be answered. Calls carry `X-Radar-*` headers and are therefore preflighted.
 */

/** These headers are sent with every answer. They are one string, because each header is a call into native code. */
export const CORS_HEADERS =
  'Access-Control-Allow-Origin: *\r\nAccess-Control-Expose-Headers: X-Radar-Request-Id, Retry-After'

const ALLOWED_METHODS = 'GET, POST, PUT, PATCH, DELETE, OPTIONS'
/** In seconds. Browsers have their own limits (two hours in Chromium). */
const MAX_AGE_SECONDS = '86400'
const ALWAYS_ALLOWED =
  'Authorization, Content-Type, X-Radar-Device-Type, X-Radar-SDK-Version, X-Radar-Product'
const NAME = /^(?:authorization|content-type|x-radar-[a-z0-9-]{1,64})$/i
/** How many names an answer repeats. It is more than any client sends, and prevents answers of any length. */
const MAX_NAMES = 32

/**
 * The headers of a preflight's answer, as lines joined by CRLF.
 * @param requested the value of Access-Control-Request-Headers; those that the API reads are repeated
 */
export function preflightHeaders(requested: string): string {
  const names = requested
    .split(',')
    .map((name) => name.trim())
    .filter((name) => NAME.test(name))
    .slice(0, MAX_NAMES)
  const allowed = names.length > 0 ? names.join(', ') : ALWAYS_ALLOWED
  return (
    `Access-Control-Allow-Methods: ${ALLOWED_METHODS}\r\nAccess-Control-Allow-Headers: ${allowed}\r\n` +
    `Access-Control-Max-Age: ${MAX_AGE_SECONDS}\r\nVary: Access-Control-Request-Headers`
  )
}
