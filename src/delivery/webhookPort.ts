import type { Webhook } from '../model/webhook.ts'

/** What the parts of webhooks agree on: deliveries, where they are kept, and what sends them. */

/** `dropped`: the event was gone (its retention was over, or somebody deleted it) before it could be sent. */
export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed', 'dropped'] as const
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]

/** One request and what came of it. */
export interface Attempt {
  /** Epoch milliseconds. */
  readonly at: number
  /** Milliseconds from the first byte out to the last byte in, or to the failure. */
  readonly latency: number
  /** HTTP status; absent if there was no response. */
  readonly status?: number
  /** Why it counts as failed. */
  readonly error?: string
}

/** How many attempts a delivery remembers. */
export const KEPT_ATTEMPTS = 20

/** One message to one webhook: some events of one user, and how far it is. */
export interface Delivery {
  /** 24 hex. */
  readonly id: string
  readonly webhookId: string
  /** The header `webhook-id`: the same for the same events, however often they are sent. */
  readonly messageId: string
  readonly deviceId: string
  /** Empty where the events have no user record. */
  readonly userRecordId: string
  readonly eventIds: readonly string[]
  readonly types: readonly string[]
  /** The body has `events`, not `event`. */
  readonly multiple: boolean
  /** Epoch milliseconds. */
  readonly createdAt: number
  readonly status: DeliveryStatus
  /** How often it was sent, in all. */
  readonly attemptCount: number
  /** The latest of them, oldest first. */
  readonly attempts: readonly Attempt[]
  /** Since when it is tried, epoch milliseconds: begins anew when it is sent again on request. */
  readonly triedSince?: number | undefined
  /** Failed attempts since then. */
  readonly failures: number
  /** When it is due again, epoch milliseconds. */
  readonly nextAttemptAt?: number | undefined
  /** The beginning of the last answer's body. */
  readonly lastBody?: string | undefined
}

/** Why nothing is sent until somebody enables the webhook again. */
export interface WebhookPause {
  /** Epoch milliseconds. */
  readonly since: number
  readonly reason: string
}

/** A stretch of the event log that is being sent once more. */
export interface Redelivery {
  /** The offset up to which it is taken in. */
  readonly after: number
  /** The last offset that it may reach. */
  readonly until: number
  /** Server times of the events, epoch milliseconds: `from` included, `to` not. */
  readonly from: number
  readonly to: number
}

/** How far a webhook is: what makes it a cursor over the event log. */
export interface WebhookState {
  /** The offset up to which all events have been taken into deliveries. */
  readonly offset: number
  /** Since when every attempt has failed, epoch milliseconds. */
  readonly failingSince?: number | undefined
  readonly pause?: WebhookPause | undefined
  /** When the last pause was ended, it was turned on again, or went elsewhere, epoch milliseconds. */
  readonly resumedAt?: number | undefined
  readonly redelivery?: Redelivery | undefined
  /** Undelivered events that the server made before this time (epoch milliseconds) are gone. */
  readonly lostBefore?: number | undefined
}

export interface DeliveryQuery {
  readonly status?: DeliveryStatus | undefined
  /** Exclusive, epoch milliseconds. */
  readonly createdBefore?: number | undefined
  readonly createdAfter?: number | undefined
  /** The delivery after which the page begins; where there is none with that id, the page is empty. */
  readonly before?: string | undefined
  readonly limit: number
}

/**
 * Where deliveries are kept, beside how far each webhook is. Everything survives `kill -9` once its promise has
 * resolved; a power loss may take back the last of it, cursor and deliveries alike, so that nothing is left out.
 */
export interface DeliveryStore {
  states(): Promise<ReadonlyMap<string, WebhookState>>
  /** On the disk when it resolves. */
  begin(webhookId: string, state: WebhookState): Promise<void>
  setState(webhookId: string, state: WebhookState): Promise<void>
  /** Adds deliveries and sets the state, both or neither. */
  take(webhookId: string, state: WebhookState, deliveries: readonly Delivery[]): Promise<void>
  /** Replaces a delivery. */
  save(delivery: Delivery): Promise<void>
  /** All that are pending, in the order in which they were added. */
  pending(webhookId: string): Promise<Delivery[]>
  get(webhookId: string, id: string): Promise<Delivery | undefined>
  /** Newest first. */
  list(webhookId: string, query: DeliveryQuery): Promise<{ deliveries: Delivery[]; hasMore: boolean }>
  /** Forgets the webhook and all of its deliveries. */
  remove(webhookId: string): Promise<void>
  close(): Promise<void>
}

/** What is sent: an id that stays over retries, and the exact body. */
export interface Message {
  readonly id: string
  readonly body: string
}

/** What came back, or why nothing did. */
export interface AttemptOutcome extends Attempt {
  /** The beginning of the answer's body; empty where there is none. */
  readonly body: string
  /** What the receiver asks for in `Retry-After`, milliseconds from the end of the attempt. */
  readonly retryAfter?: number | undefined
}

/** Sends a message to a webhook, once; never rejects. */
export type Send = (webhook: Webhook, message: Message, signal: AbortSignal) => Promise<AttemptOutcome>
