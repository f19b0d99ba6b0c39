import type { Webhook } from '../model/webhook.ts'
import { ByteBound } from '../runtime/byteBound.ts'
import { TurnQueue } from '../runtime/turnQueue.ts'
import type { EndpointParts } from './endpointParts.ts'
import type { MessageSource } from './hookLog.ts'
import { WebhookEndpoint } from './webhookEndpoint.ts'
import type { DeliveryStore, DeliveryTarget, WebhookState } from './webhookPort.ts'

/** How many bytes of waiting events all endpoints together keep in memory. */
const MEMORY_BYTES = 64 * 1024 * 1024

export interface EndpointsParts<D extends DeliveryTarget> extends Omit<
  EndpointParts<D>,
  'store' | 'memory' | 'turns' | 'counters'
> {
  /** Opens the store of deliveries. It is called when there is an endpoint. */
  readonly openStore: () => Promise<DeliveryStore>
  /** What an endpoint reads instead of the event log; undefined if it reads the event log. */
  readonly sourceOf?: (target: D) => Promise<MessageSource> | undefined
}

/**
 * All endpoints of one kind, webhooks or hooks, and what they share: the store, the memory for waiting events and the
 * figures. Does not own: which of them should exist (webhooks.ts, hooks.ts).
 */
export class Endpoints<D extends DeliveryTarget = Webhook> {
  readonly counters = { delivered: 0, failedAttempts: 0, givenUp: 0 }
  readonly #parts: EndpointsParts<D>
  readonly #memory = new ByteBound(MEMORY_BYTES)
  readonly #turns = new TurnQueue()
  readonly #byId = new Map<string, WebhookEndpoint<D>>()
  #store: Promise<DeliveryStore> | undefined

  constructor(parts: EndpointsParts<D>) {
    this.#parts = parts
  }

  /** Endpoints that are paused now. */
  get paused(): number {
    return this.#count(({ state }) => (state.pause === undefined ? 0 : 1))
  }

  /** Endpoints whose last attempts failed, without paused ones. */
  get failing(): number {
    return this.#count(({ state }) => (state.failingSince !== undefined && state.pause === undefined ? 1 : 0))
  }

  /** Deliveries of all endpoints that were taken in and are not finished. */
  get pending(): number {
    return this.#count(({ pending }) => pending)
  }

  /** Events of the log, in any scope, that the slowest running endpoint has not read yet. */
  get lag(): number {
    let lag = 0
    for (const endpoint of this.#byId.values()) lag = Math.max(lag, endpoint.lag)
    return lag
  }

  get(id: string): WebhookEndpoint<D> | undefined {
    return this.#byId.get(id)
  }

  /** Opens the store, if it is not open yet. */
  store(): Promise<DeliveryStore> {
    this.#store ??= this.#parts.openStore()
    return this.#store
  }

  /**
   * Starts the given endpoints where the previous process left them, or this one at its last {@link stop}. The
   * deliveries of all other endpoints are removed.
   */
  async start(targets: readonly D[]): Promise<void> {
    if (targets.length === 0) return
    const store = await this.store()
    const states = await store.states()
    const ids = new Set(targets.map(({ id }) => id))
    for (const id of states.keys()) if (!ids.has(id)) await store.remove(id)
    // Endpoints of a restored backup have no cursors. They begin with new events.
    for (const target of targets) await this.add(target, states.get(target.id))
  }

  /**
   * Adds an endpoint.
   * @param known its state if it has one; otherwise it begins with events after `offset`, or at the end
   */
  async add(target: D, known: WebhookState | undefined, offset?: number): Promise<void> {
    const { feed, events } = (await this.#parts.sourceOf?.(target)) ?? this.#parts
    const begin = offset ?? feed.lastOffset
    const store = await this.store()
    const state = known ?? { offset: begin }
    if (known === undefined) await store.begin(target.id, state)
    const shared = { memory: this.#memory, turns: this.#turns, counters: this.counters }
    const parts = { ...this.#parts, ...shared, feed, events, store }
    const endpoint = new WebhookEndpoint<D>(parts, target, state)
    this.#byId.set(target.id, endpoint)
    await endpoint.start()
  }

  /** Ends an endpoint and removes its deliveries. */
  async remove(id: string): Promise<void> {
    const endpoint = this.#byId.get(id)
    this.#byId.delete(id)
    await endpoint?.stop()
    await (await this.store()).remove(id)
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#byId.values()].map((endpoint) => endpoint.stop()))
    this.#byId.clear()
    const store = await this.#store
    this.#store = undefined
    await store?.close()
  }

  #count(count: (endpoint: WebhookEndpoint<D>) => number): number {
    let sum = 0
    for (const endpoint of this.#byId.values()) sum += count(endpoint)
    return sum
  }
}
