/**
 * The Content-Security-Policy of pages with maps: they load and request only from this server, may start the thread of
 * the map, which is a file of this server, and read pictures that the thread has made. Scripts may not turn texts into
 * HTML or code.
 */
export const MAP_PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "worker-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types default',
].join('; ')
