import type { ScopeId } from './scope.ts'

/** The filters of a webhook: for each that is present, one item must match. */
export const WEBHOOK_FILTERS = [
  'types',
  'tags',
  'placeIds',
  'chains',
  'categories',
  'regions',
  'failureReasons',
] as const

/** The largest number of events in one request of mode `multiple`. */
export const MAX_WEBHOOK_EVENTS = 5

/**
 * The destination for events of an environment, as in the registry: validated, immutable, replaced as a whole by an
 * edit.
 */
export interface Webhook {
  /** 24 hex digits. */
  readonly id: string
  readonly scope: ScopeId
  /** An http or https URL without credentials and fragment. */
  readonly url: string
  readonly description?: string
  /** If this is false, events are not sent, not even later. */
  readonly enabled: boolean
  /** Whether a request has one event, or up to {@link MAX_WEBHOOK_EVENTS} of one user. */
  readonly mode: 'single' | 'multiple'
  /** Only events of these types are sent. If absent, all types are. */
  readonly types?: readonly string[]
  /**
   * Only events of geofences or beacons with these tags are sent. If absent, all events are, including those without
   * tags.
   */
  readonly tags?: readonly string[]
  /**
   * Only events of these places are sent, of places with such a chain or category, or of these regions (by code or
   * `_id`).
   */
  readonly placeIds?: readonly string[]
  readonly chains?: readonly string[]
  readonly categories?: readonly string[]
  readonly regions?: readonly string[]
  /** Only events of fraud with one of these reasons are sent. */
  readonly failureReasons?: readonly string[]
  /** `whsec_` and base64 of the key that signs. */
  readonly secret: string
  /** The previous secret, which also signs until that time (epoch milliseconds). */
  readonly previousSecret?: { readonly secret: string; readonly until: number }
  /** In epoch milliseconds. */
  readonly createdAt: number
  /** In epoch milliseconds. */
  readonly updatedAt: number
}
