import type { EventFeed } from '../events/feed.ts'
import type { EventIndex } from '../events/port.ts'
import type { ScopeId } from '../model/scope.ts'
import type { Webhook } from '../model/webhook.ts'
import type { ByteBound } from '../runtime/byteBound.ts'
import type { Time } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { TurnQueue } from '../runtime/turnQueue.ts'
import type { DeliveryStore, DeliveryTarget, Send } from './webhookPort.ts'

/** What an endpoint works with. All endpoints of one kind share most of it. */
export interface EndpointParts<D extends DeliveryTarget = Webhook> {
  /** What log lines call an endpoint: `webhook` or `hook`. */
  readonly singular: string
  readonly feed: Pick<EventFeed, 'follow' | 'read' | 'lastOffset' | 'forgotten'>
  readonly events: Pick<EventIndex, 'get'>
  readonly store: DeliveryStore
  readonly send: Send<D>
  /**
   * Returns the JSON of the present user record; undefined if the record is gone. Rejects with ApiError 503 if nobody
   * can tell.
   */
  readonly userJson: (scope: ScopeId, recordId: string) => Promise<string | undefined>
  readonly time: Time
  /** Returns a random number from 0 to below 1. */
  readonly random: () => number
  /** How long a delivery is tried, milliseconds. */
  readonly retryMs: number
  /** How long the event log keeps events, milliseconds. */
  readonly retentionMs: number
  /** Limits the memory for waiting events. Beyond it, events are read again when their turn comes. */
  readonly memory: ByteBound
  /** Shared by all endpoints, because one event starts work for all of them. */
  readonly turns: TurnQueue
  readonly counters: EndpointCounters
  readonly logger: Logger
}

/** Counters of all endpoints together. They only increase. */
export interface EndpointCounters {
  delivered: number
  failedAttempts: number
  /** Deliveries that were given up after all retries. */
  givenUp: number
}
