import type { ClientAddress } from './clientAddress.ts'

/** How the sender of a request reaches this server. */
export interface Site {
  /** The URL, such as `https://fleet.example.com`, without a slash at the end. */
  readonly url: string
  readonly isSecure: boolean
}

/** The request headers that say how the sender reaches this server. */
export interface SiteHeaders {
  readonly host: string
  /** The value of X-Forwarded-Proto. */
  readonly forwardedProto: string
}

const COOKIE = 'ringfence_session'
/**
 * The name of the cookie over HTTPS. Browsers accept such a cookie only over HTTPS, and only from this host itself,
 * not from its subdomains.
 */
const SECURE_COOKIE = `__Host-${COOKIE}`
/** The characters that a Host header may contain, because links are made of it. */
const HOST = /^[\w.:[\]-]{1,255}$/

/**
 * Which pages belong to this server, and how its session cookie is called.
 *
 * The setting `publicUrl` says how people reach the server. Without it, the Host header does, and a trusted proxy says
 * whether the connection is encrypted. A page cannot choose the Host header of the requests that it makes.
 */
export class Sites {
  readonly #publicUrl: string
  readonly #addresses: ClientAddress

  /**
   * Takes the setting.
   * @param publicUrl the origin that people see in their browsers; '' if it is not set
   */
  constructor(publicUrl: string, addresses: ClientAddress) {
    this.#publicUrl = publicUrl === '' ? '' : new URL(publicUrl).origin
    this.#addresses = addresses
  }

  /**
   * How the sender of a request reaches this server.
   * @param peer the address of the connection's other end
   */
  of({ host, forwardedProto }: SiteHeaders, peer: string): Site {
    if (this.#publicUrl !== '')
      return { url: this.#publicUrl, isSecure: this.#publicUrl.startsWith('https:') }
    const isSecure = this.#addresses.trusts(peer) && forwardedProto.trim().toLowerCase() === 'https'
    return {
      url: `${isSecure ? 'https' : 'http'}://${HOST.test(host) ? host : 'localhost'}`,
      isSecure,
    }
  }

  /** Whether a page of this server sent a request with this Origin header. */
  isOwn(origin: string, site: Site): boolean {
    if (origin === site.url) return true
    // A proxy that is not trusted may have decrypted the request, so the scheme is not known.
    return this.#publicUrl === '' && !site.isSecure && origin === site.url.replace('http:', 'https:')
  }
}

/** The value of the session cookie in a Cookie header; '' if it is not there. */
export function sessionToken(cookie: string, site: Site): string {
  const prefix = `${cookieName(site)}=`
  for (const pair of cookie.split(';')) {
    const text = pair.trim()
    if (text.startsWith(prefix)) return text.slice(prefix.length)
  }
  return ''
}

/** Whether a Cookie header has that of a session, by either of its names. */
export function hasSessionCookie(cookie: string): boolean {
  return cookie.includes(`${COOKIE}=`)
}

/**
 * The value of a Set-Cookie header.
 * @param token of the session; '' removes the cookie
 */
export function sessionCookie(token: string, site: Site, maxAgeSeconds: number): string {
  const secure = site.isSecure ? '; Secure' : ''
  return `${cookieName(site)}=${token}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict${secure}`
}

function cookieName(site: Site): string {
  return site.isSecure ? SECURE_COOKIE : COOKIE
}
