/**
 * The policy of the server refuses all HTML and scripts that are made from texts (Trusted Types). The only exception is
 * the thread of the map, which is a file of this server.
 */
interface Policies {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): unknown
}

;(window as { trustedTypes?: Policies }).trustedTypes?.createPolicy('default', {
  createScriptURL(url) {
    const { origin, pathname } = new URL(url, location.href)
    if (origin === location.origin && pathname.startsWith('/assets/')) return url
    throw new TypeError(`Not a script of this server: ${url}`)
  },
})
