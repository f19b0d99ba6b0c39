import type { ScopeId } from '../model/scope.ts'
import type { Webhook } from '../model/webhook.ts'
import type { EventFeed } from '../events/feed.ts'
import type { WebhookDirectory } from '../registry/webhooks/webhookDirectory.ts'
import { newId } from '../runtime/newId.ts'
import type { WebhookChange, WebhookDefinition } from '../registry/webhooks/webhookSchema.ts'
import { ByteBound } from '../runtime/byteBound.ts'
import { ApiError } from '../runtime/errors.ts'
import { CLOCK_SLACK_MS, WebhookEndpoint, type EndpointParts } from './webhookEndpoint.ts'
import { messageBody } from './webhookMessage.ts'
import type { Delivery, DeliveryQuery, DeliveryStore, AttemptOutcome, WebhookState } from './webhookPort.ts'
import { sampleEvent, sampleUser } from './webhookSample.ts'

/** Bytes of waiting events in memory for all endpoints together. */
const MEMORY_BYTES = 64 * 1024 * 1024
const TEST_ID_CHARACTERS = 12

export interface WebhookParts extends Omit<
  EndpointParts,
  'singular' | 'store' | 'memory' | 'counters' | 'feed'
> {
  readonly feed: EventFeed
  readonly registry: WebhookDirectory
  /** Opens the deliveries; called when there is a webhook. */
  readonly openStore: () => Promise<DeliveryStore>
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
  readonly counters = { delivered: 0, failedAttempts: 0, givenUp: 0 }
  readonly #parts: WebhookParts
  readonly #memory = new ByteBound(MEMORY_BYTES)
  readonly #endpoints = new Map<string, WebhookEndpoint>()
  readonly #tests = new AbortController()
  #store: Promise<DeliveryStore> | undefined

  constructor(parts: WebhookParts) {
    this.#parts = parts
  }

  /** Continues where the previous process ended, or this one at its last {@link stop}. */
  async start(): Promise<void> {
    const webhooks = this.#parts.registry.all()
    if (webhooks.length === 0) return
    const store = await this.#open()
    const states = await store.states()
    const ids = new Set(webhooks.map(({ id }) => id))
    for (const id of states.keys()) if (!ids.has(id)) await store.remove(id)
    for (const webhook of webhooks) await this.#add(store, webhook, states.get(webhook.id))
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#endpoints.values()].map((endpoint) => endpoint.stop()))
    this.#endpoints.clear()
    const store = await this.#store
    this.#store = undefined
    await store?.close()
  }

  /** Webhooks that are paused now. */
  get paused(): number {
    return this.#count(({ state }) => (state.pause === undefined ? 0 : 1))
  }

  /** Webhooks whose last attempts failed, without paused ones. */
  get failing(): number {
    return this.#count(({ state }) => (state.failingSince !== undefined && state.pause === undefined ? 1 : 0))
  }

  /** Deliveries of all webhooks that were taken in and are not finished. */
  get pending(): number {
    return this.#count(({ pending }) => pending)
  }

  /** Events of the log, in any scope, that the slowest running webhook has not read yet. */
  get lag(): number {
    let lag = 0
    for (const { state, running } of this.#endpoints.values())
      if (running) lag = Math.max(lag, this.#parts.feed.lastOffset - state.offset)
    return lag
  }

  list(scope: ScopeId): readonly Webhook[] {
    return this.#parts.registry.all().filter((webhook) => webhook.scope === scope)
  }

  get(scope: ScopeId, id: string): Webhook | undefined {
    return this.#parts.registry.get(scope, id)
  }

  standing(webhook: Webhook): WebhookStanding {
    const endpoint = this.#endpoints.get(webhook.id)
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

  /** Sends events from now on. */
  async create(scope: ScopeId, definition: WebhookDefinition): Promise<Webhook> {
    const { registry, feed, time } = this.#parts
    registry.refuseFull(scope)
    const id = newId(time.now())
    const state = { offset: feed.lastOffset }
    // The cursor first, so that an existing webhook always has one, whenever the process ends.
    const store = await this.#open()
    await store.begin(id, state)
    try {
      const webhook = await registry.create(id, scope, definition)
      await this.#add(store, webhook, state)
      return webhook
    } catch (error) {
      await store.remove(id)
      throw error
    }
  }

  async change(webhook: Webhook, change: WebhookChange): Promise<Webhook | undefined> {
    const endpoint = this.#endpoints.get(webhook.id)
    if (endpoint === undefined) return undefined
    return endpoint.change(async () => gone(await this.#parts.registry.change(webhook, change)))
  }

  async rotate(webhook: Webhook): Promise<Webhook | undefined> {
    const endpoint = this.#endpoints.get(webhook.id)
    return endpoint?.change(async () => gone(await this.#parts.registry.rotate(webhook)))
  }

  /** Ends a pause, and enables it if it was disabled. */
  async enable(webhook: Webhook): Promise<Webhook | undefined> {
    const endpoint = this.#endpoints.get(webhook.id)
    if (endpoint === undefined) return undefined
    await endpoint.resume()
    return webhook.enabled ? webhook : this.change(webhook, { enabled: true })
  }

  async remove(webhook: Webhook): Promise<void> {
    const { id } = webhook
    const endpoint = this.#endpoints.get(id)
    if (endpoint === undefined || !(await this.#parts.registry.delete(webhook))) return
    this.#endpoints.delete(id)
    await endpoint.stop()
    await (await this.#open()).remove(id)
  }

  /** Sends a made-up event, whatever the state of the webhook, and returns the result. Nothing of it is stored. */
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

  /** Cuts off waiting {@link test} requests, so that they do not delay the end of the process. */
  endTests(): void {
    this.#tests.abort()
  }

  async deliveries(webhook: Webhook, query: DeliveryQuery) {
    return (await this.#open()).list(webhook.id, query)
  }

  async delivery(webhook: Webhook, id: string): Promise<Delivery | undefined> {
    return (await this.#open()).get(webhook.id, id)
  }

  /** Sends a delivery again; undefined if there is none with that id. */
  async redeliver(webhook: Webhook, deliveryId: string): Promise<Delivery | undefined> {
    const delivery = await this.delivery(webhook, deliveryId)
    return delivery && this.#endpoints.get(webhook.id)?.redeliver(delivery)
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
    const endpoint = this.#endpoints.get(webhook.id)
    if (endpoint === undefined || (await endpoint.redeliverRange({ after, until, from, to }))) return
    throw new ApiError(409, 'Another time range is being redelivered. Wait until it is finished.')
  }

  #open(): Promise<DeliveryStore> {
    this.#store ??= this.#parts.openStore()
    return this.#store
  }

  async #add(store: DeliveryStore, webhook: Webhook, known: WebhookState | undefined): Promise<void> {
    // A restored backup has webhooks without cursors: they begin with new events.
    const state = known ?? { offset: this.#parts.feed.lastOffset }
    if (known === undefined) await store.begin(webhook.id, state)
    const parts = {
      ...this.#parts,
      singular: 'webhook',
      store,
      memory: this.#memory,
      counters: this.counters,
    }
    const endpoint = new WebhookEndpoint(parts, webhook, state)
    this.#endpoints.set(webhook.id, endpoint)
    await endpoint.start()
  }

  #count(count: (endpoint: WebhookEndpoint) => number): number {
    let sum = 0
    for (const endpoint of this.#endpoints.values()) sum += count(endpoint)
    return sum
  }
}

/** Deleted by somebody else in the meantime. */
function gone(webhook: Webhook | undefined): Webhook {
  if (webhook === undefined) throw new ApiError(404, 'Webhook not found.')
  return webhook
}

/**
 * An offset before the first event of a scope that the server made at that time or later, by bisection; approximate
 * if times run backwards.
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
