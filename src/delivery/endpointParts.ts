import type { EventFeed } from '../events/feed.ts'
import type { EventIndex } from '../events/port.ts'
import type { ScopeId } from '../model/scope.ts'
import type { Webhook } from '../model/webhook.ts'
import type { ByteBound } from '../runtime/byteBound.ts'
import type { Time } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { DeliveryStore, DeliveryTarget, Send } from './webhookPort.ts'

/** What an endpoint works with; all endpoints of one kind share most of it. */
export interface EndpointParts<D extends DeliveryTarget = Webhook> {
  /** `webhook`: what log lines call it. */
  readonly singular: string
  readonly feed: Pick<EventFeed, 'follow' | 'read' | 'lastOffset' | 'forgotten'>
  readonly events: Pick<EventIndex, 'get'>
  readonly store: DeliveryStore
  readonly send: Send<D>
  /** JSON of a user record as it is now; undefined if it is gone. Rejects with ApiError 503 if nobody can tell. */
  readonly userJson: (scope: ScopeId, recordId: string) => Promise<string | undefined>
  readonly time: Time
  /** From 0 to below 1. */
  readonly random: () => number
  /** How long a delivery is tried, milliseconds. */
  readonly retryMs: number
  /** How long the event log keeps events, milliseconds. */
  readonly retentionMs: number
  /** For waiting events in memory; beyond it, they are read again when their turn comes. */
  readonly memory: ByteBound
  readonly counters: EndpointCounters
  readonly logger: Logger
}

/** Of all endpoints together; they only increase. */
export interface EndpointCounters {
  delivered: number
  failedAttempts: number
  /** Given up after all retries. */
  givenUp: number
}
