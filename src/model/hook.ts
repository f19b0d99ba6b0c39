import type { ScopeId } from './scope.ts'

/** The transitions that a hook can be about, and the type of the event of each. */
export const HOOK_EVENTS = {
  enter: 'user.entered_geofence',
  exit: 'user.exited_geofence',
  dwell: 'user.dwelled_in_geofence',
} as const

export type HookTransition = keyof typeof HOOK_EVENTS

/** The destination of a hook's messages. Optional fields are absent if the definition leaves them out. */
export interface HookEndpoint {
  /** http or https; or `nats://HOST:PORT`, or `tls://HOST:PORT` for NATS with TLS. No credentials, no fragment. */
  readonly url: string
  /** http and https: `whsec_` and base64 of the key that signs. */
  readonly secret?: string
  /** NATS: the subject of all messages; always present for NATS. */
  readonly subject?: string
  /** NATS: whether a stream must confirm each message. */
  readonly jetStream?: boolean
  readonly user?: string
  readonly password?: string
  readonly token?: string
  /** The text of a credentials file, or the seed of a user's nkey. */
  readonly credentials?: string
  /** TLS: PEM. */
  readonly tlsCa?: string
  readonly tlsCertificate?: string
  readonly tlsKey?: string
}

/**
 * A destination for the messages about some geofences, as in the registry: validated, immutable, replaced as a whole
 * by an edit.
 */
export interface Hook {
  /** 24 hex. */
  readonly id: string
  readonly scope: ScopeId
  readonly tag: string
  readonly externalId: string
  readonly description?: string
  /** If off, nothing is sent, not even later. */
  readonly enabled: boolean
  /** The geofence, or without `externalId` all geofences with the tag. They need not exist. */
  readonly geofence: { readonly tag: string; readonly externalId?: string }
  readonly detect: readonly HookTransition[]
  /** Only events of these users; absent: all. */
  readonly userIds?: readonly string[]
  /** Only events of these devices; absent: all. */
  readonly deviceIds?: readonly string[]
  readonly endpoint: HookEndpoint
  /** Epoch milliseconds. */
  readonly createdAt: number
  /** Epoch milliseconds. */
  readonly updatedAt: number
}
