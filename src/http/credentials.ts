import type { Role } from '../model/role.ts'
import type { ScopeId } from '../model/scope.ts'

/** The caller: who has the key or the session that was sent, in one environment. */
export interface Credentials {
  readonly scope: ScopeId
  readonly level: 'publishable' | 'secret'
  /**
   * Names the caller without revealing a secret, for rate limits and logs. Of a key: environment, level and last four
   * characters; of a person: the account.
   */
  readonly keyId: string
  /** Undefined: a program, which sent the key itself. */
  readonly session?: SignedIn
}

/** A person who has signed in. */
export interface SignedIn {
  /** The `_id` of the session. */
  readonly id: string
  readonly role: Role
  /** Undefined: the session was opened with a secret key. */
  readonly account?: { readonly id: string; readonly email: string }
}
