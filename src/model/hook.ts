import type { Area } from './area.ts'
import type { ScopeId } from './scope.ts'

/** The subjects of hooks. For each transition that a subject can detect, the type of its messages. */
export const HOOK_EVENTS = {
  geofence: {
    enter: 'user.entered_geofence',
    exit: 'user.exited_geofence',
    dwell: 'user.dwelled_in_geofence',
  },
  area: {
    enter: 'user.entered_area',
    exit: 'user.exited_area',
    cross: 'user.crossed_area',
    inside: 'user.inside_area',
  },
  roam: {
    nearby: 'user.nearby',
    faraway: 'user.faraway',
  },
} as const

export type HookSubject = keyof typeof HOOK_EVENTS

/** A word of `detect`; which ones are possible depends on the subject. */
export type HookTransition = {
  [S in HookSubject]: keyof (typeof HOOK_EVENTS)[S]
}[HookSubject]

/** The destination of a hook's messages. Optional fields are absent if the definition leaves them out. */
export interface HookEndpoint {
  /**
   * An http or https URL, or `nats://HOST:PORT`, or `tls://HOST:PORT` for NATS with TLS. It has no credentials and no
   * fragment.
   */
  readonly url: string
  /** For http and https: `whsec_` and base64 of the key that signs. */
  readonly secret?: string
  /** For NATS: the subject of all messages, which is always present. */
  readonly subject?: string
  /** For NATS: whether a stream must confirm each message. */
  readonly jetStream?: boolean
  readonly user?: string
  readonly password?: string
  readonly token?: string
  /** The text of a credentials file, or the seed of a user's nkey. */
  readonly credentials?: string
  /** Certificates for TLS as PEM. */
  readonly tlsCa?: string
  readonly tlsCertificate?: string
  readonly tlsKey?: string
}

/**
 * A destination for the messages about some geofences, an area, or devices that come near each other, as in the
 * registry: validated, immutable, replaced as a whole by an edit. It has exactly one of `geofence`, `area` and `roam`.
 */
export interface Hook {
  /** 24 hex digits. */
  readonly id: string
  readonly scope: ScopeId
  readonly tag: string
  readonly externalId: string
  readonly description?: string
  /** If this is false, nothing is sent, not even later. */
  readonly enabled: boolean
  /** The geofence, or without `externalId` all geofences with the tag. They need not exist. */
  readonly geofence?: { readonly tag: string; readonly externalId?: string }
  readonly area?: Area
  /** Two devices are near each other up to this distance, in metres. */
  readonly roam?: { readonly meters: number }
  readonly detect: readonly HookTransition[]
  /**
   * Only events of these users count. If absent, all do. For two devices, one must match. If both lists are given,
   * both must match.
   */
  readonly userIds?: readonly string[]
  /** Only these devices count. If absent, all do. */
  readonly deviceIds?: readonly string[]
  readonly endpoint: HookEndpoint
  /** In epoch milliseconds. */
  readonly createdAt: number
  /** In epoch milliseconds. */
  readonly updatedAt: number
}

export function hookSubject({ area, roam }: Pick<Hook, 'area' | 'roam'>): HookSubject {
  return area !== undefined ? 'area' : roam !== undefined ? 'roam' : 'geofence'
}

/** The types of the messages that the hook is about. */
export function hookTypes(hook: Pick<Hook, 'area' | 'roam' | 'detect'>): string[] {
  const types: Readonly<Record<string, string>> = HOOK_EVENTS[hookSubject(hook)]
  return hook.detect.map((transition) => types[transition]!)
}
