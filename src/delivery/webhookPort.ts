import type { EventFilter } from '../events/filter.ts'
import type { ScopeId } from '../model/scope.ts'
import type { Webhook } from '../model/webhook.ts'

/** The common types of webhooks and hooks: deliveries, their store, and the sender. */

/** What a webhook and a hook have in common: which events go where. Every {@link Webhook} fits this type. */
export interface DeliveryTarget extends EventFilter {
  /** 24 hex. */
  readonly id: string
  readonly scope: ScopeId
  /** The URL, without credentials. */
  readonly url: string
  /**
   * Whatever else decides whether messages arrive at the URL, such as credentials. If it changes, that counts as a
   * change of the URL.
   */
  readonly endpoint?: unknown
  readonly enabled: boolean
  readonly mode: 'single' | 'multiple'
}

/**
 * The states of a delivery. `dropped` means that the event was gone before it could be sent, because its retention was
 * over or somebody deleted it.
 */
export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed', 'dropped'] as const
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]

/** One request and its result. */
export interface Attempt {
  /** Epoch milliseconds. */
  readonly at: number
  /** Milliseconds from the first byte sent to the last byte received, or to the failure. */
  readonly latency: number
  /** HTTP status; absent if there was no response. */
  readonly status?: number
  /** Why it counts as failed. */
  readonly error?: string
}

/** How many attempts a delivery keeps. */
export const KEPT_ATTEMPTS = 20

/** One message to one webhook: some events of one user, and its state. */
export interface Delivery {
  /** 24 hex. */
  readonly id: string
  readonly webhookId: string
  /** The header `webhook-id`: the same for the same events, however often they are sent. */
  readonly messageId: string
  readonly deviceId: string
  /** The `_id` of the user record. It is empty if the events have none. */
  readonly userRecordId: string
  readonly eventIds: readonly string[]
  readonly types: readonly string[]
  /** Whether the body has `events` instead of `event`. */
  readonly multiple: boolean
  /** Epoch milliseconds. */
  readonly createdAt: number
  readonly status: DeliveryStatus
  /** How often the delivery was sent in all. */
  readonly attemptCount: number
  /** The latest attempts, oldest first. */
  readonly attempts: readonly Attempt[]
  /**
   * The time since which it has been tried, in epoch milliseconds. It starts again when somebody requests another
   * sending.
   */
  readonly triedSince?: number | undefined
  /** The number of failed attempts since then. */
  readonly failures: number
  /** When the next attempt is due, epoch milliseconds. */
  readonly nextAttemptAt?: number | undefined
  /** The beginning of the last response's body. */
  readonly lastBody?: string | undefined
}

/** Why nothing is sent until somebody enables the webhook again. */
export interface WebhookPause {
  /** Epoch milliseconds. */
  readonly since: number
  readonly reason: string
}

/** A range of the event log that is being sent once more. */
export interface Redelivery {
  /** The offset up to which the range was turned into deliveries. */
  readonly after: number
  /** The last offset that it may reach. */
  readonly until: number
  /** Server times of the events, epoch milliseconds: `from` included, `to` not. */
  readonly from: number
  readonly to: number
}

/** The progress of a webhook, which makes it a cursor over the event log. */
export interface WebhookState {
  /** The offset up to which all events have been taken into deliveries. */
  readonly offset: number
  /** The time since which every attempt has failed, in epoch milliseconds. */
  readonly failingSince?: number | undefined
  readonly pause?: WebhookPause | undefined
  /** When the last pause ended, or the webhook was enabled again or got another address, in epoch milliseconds. */
  readonly resumedAt?: number | undefined
  readonly redelivery?: Redelivery | undefined
  /** Undelivered events that the server made before this time (epoch milliseconds) are gone. */
  readonly lostBefore?: number | undefined
}

export interface DeliveryQuery {
  readonly status?: DeliveryStatus | undefined
  /** In epoch milliseconds, exclusive. */
  readonly createdBefore?: number | undefined
  readonly createdAfter?: number | undefined
  /** The delivery after which the page begins; if there is none with that id, the page is empty. */
  readonly before?: string | undefined
  readonly limit: number
}

/**
 * The store of deliveries and of each webhook's progress. Everything survives `kill -9` once its promise has resolved.
 * A power failure may undo the latest changes, cursor and deliveries together, so that no event is left out.
 */
export interface DeliveryStore {
  states(): Promise<ReadonlyMap<string, WebhookState>>
  /** Stores the first state of a webhook. It is on the disk when this resolves. */
  begin(webhookId: string, state: WebhookState): Promise<void>
  setState(webhookId: string, state: WebhookState): Promise<void>
  /** Adds deliveries and sets the state, both or neither. */
  take(webhookId: string, state: WebhookState, deliveries: readonly Delivery[]): Promise<void>
  /** Replaces a delivery. */
  save(delivery: Delivery): Promise<void>
  /** All pending deliveries, in the order in which they were added. */
  pending(webhookId: string): Promise<Delivery[]>
  get(webhookId: string, id: string): Promise<Delivery | undefined>
  /** A page of deliveries, newest first. */
  list(webhookId: string, query: DeliveryQuery): Promise<{ deliveries: Delivery[]; hasMore: boolean }>
  /** Removes the webhook and all of its deliveries. */
  remove(webhookId: string): Promise<void>
  close(): Promise<void>
}

/** What is sent: an id that is the same for all retries, and the exact body. */
export interface Message {
  readonly id: string
  readonly body: string
}

/** The response, or the reason why there is none. */
export interface AttemptOutcome extends Attempt {
  /** The beginning of the response's body; empty if there is none. */
  readonly body: string
  /** The receiver's `Retry-After`, in milliseconds from the end of the attempt. */
  readonly retryAfterMs?: number | undefined
}

/** Sends a message to its target, once; never rejects. */
export type Send<D extends DeliveryTarget = Webhook> = (
  target: D,
  message: Message,
  signal: AbortSignal,
) => Promise<AttemptOutcome>
