import type { ScopeId } from './scope.ts'

/** Events in one request of mode `multiple`, at most. */
export const MAX_WEBHOOK_EVENTS = 5

/** Where events of an environment are sent, as the registry holds it: validated, immutable, replaced whole by an edit. */
export interface Webhook {
  /** 24 hex. */
  readonly id: string
  readonly scope: ScopeId
  /** http or https, without credentials and fragment. */
  readonly url: string
  readonly description?: string
  /** Off: events that happen meanwhile are not sent, later neither. */
  readonly enabled: boolean
  /** One event a request, or up to {@link MAX_WEBHOOK_EVENTS} of one user. */
  readonly mode: 'single' | 'multiple'
  /** Only events of these types; absent: of all. */
  readonly types?: readonly string[]
  /** Only events of geofences or beacons with these tags; absent: of all, and those without. */
  readonly tags?: readonly string[]
  /** `whsec_` and base64 of the key that signs. */
  readonly secret: string
  /** The one before, which signs too until that time (epoch milliseconds). */
  readonly previousSecret?: { readonly secret: string; readonly until: number }
  /** Epoch milliseconds. */
  readonly createdAt: number
  /** Epoch milliseconds. */
  readonly updatedAt: number
}
