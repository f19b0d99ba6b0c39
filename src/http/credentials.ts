import type { Role } from '../model/role.ts'
import type { ScopeId } from '../model/scope.ts'

/** The caller: who has the key or the session that was sent, in one environment. */
export interface Credentials {
  readonly scope: ScopeId
  readonly level: 'publishable' | 'secret'
  /**
   * A name of the caller that reveals no secret, for rate limits and logs. For a key, it consists of environment,
   * level and last four characters; for a person, of the account.
   */
  readonly keyId: string
  /** The person's session. Undefined for a program, which sent the key itself. */
  readonly session?: SignedIn
}

/** A person who has signed in. */
export interface SignedIn {
  /** The `_id` of the session. */
  readonly id: string
  readonly role: Role
  /** The account. Undefined if the session was opened with a secret key. */
  readonly account?: { readonly id: string; readonly email: string }
}
