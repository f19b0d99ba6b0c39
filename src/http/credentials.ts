import type { ScopeId } from '../model/scope.ts'

/** The caller: the result of a key look-up. */
export interface Credentials {
  readonly scope: ScopeId
  readonly level: 'publishable' | 'secret'
  /** Names the key without revealing it, for rate limits and logs: environment, level and last four characters. */
  readonly keyId: string
}
