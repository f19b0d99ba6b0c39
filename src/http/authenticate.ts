import { ApiError } from '../runtime/errors.ts'
import type { ScopeId } from '../model/scope.ts'
import type { Credentials } from './credentials.ts'

/** Looks up a key; undefined if nobody has it. Called for every request, so it must be fast. */
export type KeyLookup = (key: string) => Credentials | undefined

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
 * The credentials of a request.
 * @param authorization value of the Authorization header: the key itself, or `Bearer` and the key
 * @throws ApiError 401 if the key is missing or unknown, 403 if its level does not suffice
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
 * @param key value of the query parameter `publishableKey`, if there is one
 * @throws ApiError 403 for a secret key: addresses end up in logs and histories
 */
export function publishableKey(key = ''): string {
  if (/_sk_/.test(key))
    throw new ApiError(403, 'Forbidden. Send a secret key in the Authorization header only.')
  return key
}

/** Keys contain no space, so a space means that there is a scheme before the key. */
function keyOf(authorization: string): string {
  const space = authorization.indexOf(' ')
  if (space < 0) return authorization
  return authorization.slice(0, space).toLowerCase() === 'bearer' ? authorization.slice(space + 1).trim() : ''
}

/** A name under which a key's requests are counted, without the key itself. */
export function keyName({ scope, keyId }: Credentials): string {
  return `${scope} ${keyId}`
}
