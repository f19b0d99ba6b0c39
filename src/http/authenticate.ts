import { includes, type Role } from '../model/role.ts'
import type { ScopeId } from '../model/scope.ts'
import { ApiError, badParam } from '../runtime/errors.ts'
import type { Credentials } from './credentials.ts'
import type { Route } from './route.ts'
import { hasSessionCookie, sessionToken, type Site, type SiteHeaders, type Sites } from './site.ts'

/** Looks up a key. Returns undefined if nobody has it. It is called for every request, so it must be fast. */
export type KeyLookup = (key: string) => Credentials | undefined

/** The sessions of people. Called for every request of one, so it must be fast. */
export interface SessionLookup {
  /**
   * The credentials of a session.
   * @param token as the cookie contains it
   * @throws {ApiError} 403 if the session is not for this environment
   */
  find(token: string, live: boolean): Credentials | undefined
  /**
   * Takes a ticket, which is then used up. Returns undefined for an unknown one. If another process has given it out,
   * that process must be asked.
   */
  takeTicket(ticket: string): Credentials | undefined | Promise<Credentials | undefined>
}

/** Who may make requests, and how many. Called for every authenticated request, so it must be fast. */
export interface RequestQuotas {
  /**
   * Counts one request of a scope.
   * @param now epoch milliseconds
   * @throws ApiError 402 if none is allowed; it is not counted then
   */
  take(scope: ScopeId, now: number): void
  /**
   * Takes back a counted request that failed through no fault of its own: it exceeded a rate limit, or the server
   * failed.
   */
  giveBack(scope: ScopeId): void
}

/**
 * The credentials of a request with a key.
 * @param authorization the value of the Authorization header: the key itself, or `Bearer` and the key
 * @throws {ApiError} 401 if the key is missing or unknown, 403 if its level does not suffice
 */
export function authenticate(
  authorization: string,
  level: 'publishable' | 'secret',
  lookUp: KeyLookup,
): Credentials {
  const key = keyOf(authorization)
  if (key === '') throw new ApiError(401, 'Unauthorized. Send your API key in the Authorization header.')
  const credentials = lookUp(key)
  if (credentials === undefined) throw new ApiError(401, 'Unauthorized. Invalid API key.')
  if (level === 'secret' && credentials.level !== 'secret') {
    throw new ApiError(403, 'Forbidden. This endpoint needs a secret key.')
  }
  return credentials
}

/**
 * The key in a URL, as the value of an Authorization header.
 * @param key the value of the query parameter `publishableKey`, if there is one
 * @throws {ApiError} 403 for a secret key, because URLs end up in logs and histories
 */
export function publishableKey(key = ''): string {
  if (/_sk_/.test(key))
    throw new ApiError(403, 'Forbidden. Send a secret key in the Authorization header only.')
  return key
}

/** The request headers that say who makes a request. A header that was not sent is ''. */
interface CallerHeaders extends SessionHeaders, SiteHeaders {
  readonly authorization: string
}

/** What is needed to look up who makes a request. */
interface Lookups {
  readonly keys: KeyLookup
  /** The sessions of people. Undefined if nobody can sign in. */
  readonly sessions: SessionLookup | undefined
  readonly sites: Sites
}

/**
 * The credentials of a request. A key counts before a cookie, and a cookie counts only beside the environment header.
 * @param keyInUrl the key in the URL; '' if there is none, or the route does not read it
 * @param site how the requester reaches the server, if that is known already
 * @param peer the address of the connection
 * @throws ApiError 400 for an unknown environment, 401 without valid credentials, 403 if they do not suffice
 */
export function authenticateRequest(
  headers: CallerHeaders,
  keyInUrl: string,
  route: Route,
  site: Site | undefined,
  peer: string,
  { keys, sessions, sites }: Lookups,
): Credentials {
  const authorization = headers.authorization || keyInUrl
  if (authorization === '' && headers.environment !== '' && sessions !== undefined)
    return authenticateSession(headers, route, site ?? sites.of(headers, peer), sites, sessions)
  if (authorization === '' && sessions !== undefined && hasSessionCookie(headers.cookie))
    throw new ApiError(
      401,
      'Unauthorized. A session counts only beside the header X-Ringfence-Environment: test or live.',
    )
  if (route.auth === 'session' || route.auth === 'account')
    throw new ApiError(401, 'Unauthorized. Sign in with an account: a key cannot do this.')
  return authenticate(authorization, route.auth === 'secret' ? 'secret' : 'publishable', keys)
}

/** The request headers that make a session count. A header that was not sent is ''. */
interface SessionHeaders {
  /** The value of X-Ringfence-Environment. */
  readonly environment: string
  readonly cookie: string
  readonly origin: string
}

/**
 * The credentials of a request with the cookie of a session. A page of another origin can only make browsers send the
 * cookie with requests that need no preflight. The environment header needs a preflight, which is refused. A request
 * that changes something must also say that it comes from a page of this server.
 * @throws {ApiError} 400 for an unknown environment, 401 without a session, 403 if it may not do this
 */
function authenticateSession(
  headers: SessionHeaders,
  route: Route,
  site: Site,
  sites: Sites,
  sessions: SessionLookup,
): Credentials {
  const { environment, cookie, origin } = headers
  if (environment !== 'test' && environment !== 'live')
    throw badParam('X-Ringfence-Environment', 'Must be test or live.')
  const token = sessionToken(cookie, site)
  const credentials = token === '' ? undefined : sessions.find(token, environment === 'live')
  if (credentials === undefined) throw new ApiError(401, 'Unauthorized. Sign in first, or send an API key.')
  if (route.method !== 'GET') checkOrigin(origin, site, sites)
  checkRole(route, credentials)
  return credentials
}

/**
 * Checks the origin.
 * @throws {ApiError} 403 for a request that no page of this server makes
 */
export function checkOrigin(origin: string, site: Site, sites: Sites): void {
  if (sites.isOwn(origin, site)) return
  throw new ApiError(
    403,
    `Forbidden. The Origin header must be ${site.url}. The setting publicUrl says how this server is reached.`,
  )
}

/** The role that a person needs for a route. A route that changes something and does not name a role is for admins. */
export function roleOf({ role, method }: Pick<Route, 'role' | 'method'>): Role {
  return role ?? (method === 'GET' ? 'read' : 'admin')
}

function checkRole(route: Route, { session }: Credentials): void {
  const { role, account } = session!
  const isForAccounts = route.auth === 'account' || route.keySession === false
  if (isForAccounts && account === undefined)
    throw new ApiError(403, 'Forbidden. You signed in with a key. Sign in with an account.')
  const needed = roleOf(route)
  if (!includes(role, needed))
    throw new ApiError(403, `Forbidden. This needs the role ${needed}. Your role is ${role}.`)
}

/** Keys contain no space, so a space means that there is a scheme before the key. */
function keyOf(authorization: string): string {
  const space = authorization.indexOf(' ')
  if (space < 0) return authorization
  return authorization.slice(0, space).toLowerCase() === 'bearer' ? authorization.slice(space + 1).trim() : ''
}

/** A name under which a caller's requests are counted, without the key itself. */
export function keyName({ scope, keyId }: Credentials): string {
  return `${scope} ${keyId}`
}
