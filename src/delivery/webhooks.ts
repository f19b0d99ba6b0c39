import type { ScopeId } from '../model/scope.ts'
import type { Webhook } from '../model/webhook.ts'
import type { EventFeed } from '../events/feed.ts'
import type { WebhookDirectory } from '../registry/webhooks/webhookDirectory.ts'
import { newId } from '../runtime/newId.ts'
import type { WebhookChange, WebhookDefinition } from '../registry/webhooks/webhookSchema.ts'
import { ApiError } from '../runtime/errors.ts'
import { Endpoints, type EndpointsParts } from './endpoints.ts'
import { CLOCK_SLACK_MS } from './webhookEndpoint.ts'
import { messageBody } from './webhookMessage.ts'
import type { Delivery, DeliveryQuery, AttemptOutcome, WebhookState } from './webhookPort.ts'
import { sampleEvent, sampleUser } from './webhookSample.ts'

const TEST_ID_CHARACTERS = 12

export interface WebhookParts extends Omit<EndpointsParts<Webhook>, 'singular' | 'feed'> {
  readonly feed: EventFeed
  readonly registry: WebhookDirectory
}

/** The state of a webhook, as its record shows it. */
export interface WebhookStanding {
  readonly status: 'active' | 'failing' | 'paused' | 'disabled'
  /** Since when it is failing or paused, epoch milliseconds. */
  readonly since?: number | undefined
  readonly reason?: string | undefined
  /** Deliveries that were taken in and are not finished. */
  readonly pending: number
  readonly lostBefore?: number | undefined
  readonly redelivery?: WebhookState['redelivery']
}

/**
 * All webhooks of all scopes at work.
 *
 * Owns: an endpoint for each webhook, in step with the registry. Does not own: definitions (registry), the work of a
 * webhook (WebhookEndpoint).
 */
export class Webhooks {
  readonly name = 'webhooks'
  readonly endpoints: Endpoints
  readonly #parts: WebhookParts
  readonly #tests = new AbortController()

  constructor(parts: WebhookParts) {
    this.#parts = parts
    this.endpoints = new Endpoints({ ...parts, singular: 'webhook' })
  }

  start(): Promise<void> {
    return this.endpoints.start(this.#parts.registry.all())
  }

  stop(): Promise<void> {
    return this.endpoints.stop()
  }

  list(scope: ScopeId): readonly Webhook[] {
    return this.#parts.registry.all().filter((webhook) => webhook.scope === scope)
  }

  get(scope: ScopeId, id: string): Webhook | undefined {
    return this.#parts.registry.get(scope, id)
  }

  standing(webhook: Webhook): WebhookStanding {
    const endpoint = this.endpoints.get(webhook.id)
    if (endpoint === undefined) return { status: webhook.enabled ? 'active' : 'disabled', pending: 0 }
    const { state, pending, lastError, lostBefore } = endpoint
    const { pause, failingSince, redelivery } = state
    const more = { pending, lostBefore, redelivery }
    if (!webhook.enabled) return { status: 'disabled', ...more }
    if (pause !== undefined) return { status: 'paused', ...pause, ...more }
    if (failingSince !== undefined)
      return { status: 'failing', since: failingSince, reason: lastError, ...more }
    return { status: 'active', ...more }
  }

  /** Creates a webhook, which gets events from now on. */
  async create(scope: ScopeId, definition: WebhookDefinition): Promise<Webhook> {
    const { registry, feed, time } = this.#parts
    registry.refuseFull(scope)
    const id = newId(time.now())
    const state = { offset: feed.lastOffset }
    // The cursor is stored first, so that an existing webhook always has one, whenever the process ends.
    const store = await this.endpoints.store()
    await store.begin(id, state)
    try {
      const webhook = await registry.create(id, scope, definition)
      await this.endpoints.add(webhook, state)
      return webhook
    } catch (error) {
      await store.remove(id)
      throw error
    }
  }

  async change(webhook: Webhook, change: WebhookChange): Promise<Webhook | undefined> {
    const endpoint = this.endpoints.get(webhook.id)
    if (endpoint === undefined) return undefined
    return endpoint.change(async () => gone(await this.#parts.registry.change(webhook, change)))
  }

  async rotate(webhook: Webhook): Promise<Webhook | undefined> {
    const endpoint = this.endpoints.get(webhook.id)
    return endpoint?.change(async () => gone(await this.#parts.registry.rotate(webhook)))
  }

  /** Ends the pause of a webhook, and enables it if it was disabled. */
  async enable(webhook: Webhook): Promise<Webhook | undefined> {
    const endpoint = this.endpoints.get(webhook.id)
    if (endpoint === undefined) return undefined
    await endpoint.resume()
    return webhook.enabled ? webhook : this.change(webhook, { enabled: true })
  }

  async remove(webhook: Webhook): Promise<void> {
    const { id } = webhook
    if (this.endpoints.get(id) === undefined || !(await this.#parts.registry.delete(webhook))) return
    await this.endpoints.remove(id)
  }

  /**
   * Sends an invented event, whatever the state of the webhook, and returns the result. Nothing about it is stored.
   */
  async test(webhook: Webhook): Promise<AttemptOutcome> {
    const { send, time } = this.#parts
    const now = time.now()
    const id = newId(now)
    const event = sampleEvent(webhook, id, now)
    const message = {
      id: `msg_test_${id.slice(-TEST_ID_CHARACTERS)}`,
      body: messageBody(webhook.mode === 'multiple', [event], sampleUser(webhook, now)),
    }
    return send(webhook, message, this.#tests.signal)
  }

  /** Cuts off {@link test} requests that are running, so that they do not delay the end of the process. */
  endTests(): void {
    this.#tests.abort()
  }

  async deliveries(webhook: Webhook, query: DeliveryQuery) {
    return (await this.endpoints.store()).list(webhook.id, query)
  }

  async delivery(webhook: Webhook, id: string): Promise<Delivery | undefined> {
    return (await this.endpoints.store()).get(webhook.id, id)
  }

  /** Sends a delivery again; undefined if there is none with that id. */
  async redeliver(webhook: Webhook, deliveryId: string): Promise<Delivery | undefined> {
    const delivery = await this.delivery(webhook, deliveryId)
    return delivery && this.endpoints.get(webhook.id)?.redeliver(delivery)
  }

  /**
   * Sends again those events that match the filters and that the server made from `from` on and before `to`, epoch
   * milliseconds.
   * @throws {ApiError} 409 if another time range is being sent
   */
  async redeliverRange(webhook: Webhook, from: number, to: number): Promise<void> {
    const { feed } = this.#parts
    const until = feed.lastOffset
    const after = await offsetBefore(feed, webhook.scope, from - CLOCK_SLACK_MS)
    const endpoint = this.endpoints.get(webhook.id)
    if (endpoint === undefined || (await endpoint.redeliverRange({ after, until, from, to }))) return
    throw new ApiError(409, 'Another time range is being redelivered. Wait until it is finished.')
  }
}

/** Throws if somebody else has deleted the webhook in the meantime. */
function gone(webhook: Webhook | undefined): Webhook {
  if (webhook === undefined) throw new ApiError(404, 'Webhook not found.')
  return webhook
}

/**
 * An offset before the first event of a scope that the server made at that time or later, found by bisection. It is
 * approximate if times run backwards.
 */
async function offsetBefore(feed: EventFeed, scope: ScopeId, time: number): Promise<number> {
  let low = 0
  let high = feed.lastOffset
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const [next] = (await feed.read(scope, middle, 1)).events
    if (next === undefined || next.event.actualCreatedAt >= time) high = middle
    else low = next.offset
  }
  return low
}
