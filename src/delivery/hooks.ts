import type { EventFeed } from '../events/feed.ts'
import { isoDate } from '../model/isoDate.ts'
import type { Hook } from '../model/hook.ts'
import type { HookDirectory, HookFollower } from '../registry/hooks/hookDirectory.ts'
import { ByteBound } from '../runtime/byteBound.ts'
import { failureFields } from '../runtime/errors.ts'
import { destinationOf, type HookDestination, type HookSender } from './hookSender.ts'
import { WebhookEndpoint, type EndpointParts } from './webhookEndpoint.ts'
import type { DeliveryStore, WebhookState } from './webhookPort.ts'

/** Bytes of waiting events in memory for all hooks together. */
const MEMORY_BYTES = 64 * 1024 * 1024

export interface HookParts extends Omit<
  EndpointParts<HookDestination>,
  'singular' | 'store' | 'memory' | 'counters' | 'feed' | 'send' | 'userJson'
> {
  readonly feed: EventFeed
  readonly registry: HookDirectory
  readonly sender: HookSender
  /** Opens the deliveries; called when there is a hook. */
  readonly openStore: () => Promise<DeliveryStore>
}

/**
 * All hooks of all scopes at work. They share the lines, retries and store of webhooks ({@link WebhookEndpoint}).
 *
 * Owns: a cursor for each hook, in step with the registry. Does not own: definitions (registry), requests and
 * messages (HookSender).
 *
 * Invariants
 * - HOOK-1: A hook gets each event that happens after its PUT was answered and that it wants, at least once, and
 *   those of a device in order. The cursor is the end of the log at the moment at which the hook exists, and edits
 *   are answered once it is durable.
 */
export class Hooks implements HookFollower {
  readonly name = 'hooks'
  readonly counters = { delivered: 0, failedAttempts: 0, givenUp: 0 }
  readonly #parts: HookParts
  readonly #memory = new ByteBound(MEMORY_BYTES)
  readonly #running = new Map<string, { hook: Hook; readonly endpoint: WebhookEndpoint<HookDestination> }>()
  #store: Promise<DeliveryStore> | undefined
  #work: Promise<void> = Promise.resolve()

  constructor(parts: HookParts) {
    this.#parts = parts
  }

  /** Continues where the previous process ended, or this one at its last {@link stop}. */
  async start(): Promise<void> {
    const { registry, feed } = this.#parts
    const hooks = [...registry.all()]
    if (hooks.length > 0) {
      const store = await this.#open()
      const states = await store.states()
      const ids = new Set(hooks.map(({ id }) => id))
      for (const id of states.keys()) if (!ids.has(id)) await store.remove(id)
      // A restored backup has hooks without cursors: they begin with new events.
      for (const hook of hooks) await this.#add(hook, states.get(hook.id), feed.lastOffset)
    }
    registry.follower = this
    this.changed()
    await this.settled()
  }

  async stop(): Promise<void> {
    this.#parts.registry.follower = undefined
    await this.#work
    await Promise.all([...this.#running.values()].map(({ endpoint }) => endpoint.stop()))
    await Promise.all([...this.#running.keys()].map((id) => this.#parts.sender.release(id)))
    this.#running.clear()
    const store = await this.#store
    this.#store = undefined
    await store?.close()
  }

  /** Hooks that are paused now. */
  get paused(): number {
    return this.#count(({ state }) => (state.pause === undefined ? 0 : 1))
  }

  /** Hooks whose last attempts failed, without paused ones. */
  get failing(): number {
    return this.#count(({ state }) => (state.failingSince !== undefined && state.pause === undefined ? 1 : 0))
  }

  /** Messages of all hooks that wait. */
  get pending(): number {
    return this.#count(({ pending }) => pending)
  }

  /** Events of the log, in any scope, that the slowest running hook has not read yet. */
  get lag(): number {
    const { lastOffset } = this.#parts.feed
    const lags = [...this.#running.values()].map(({ endpoint }) =>
      endpoint.running ? lastOffset - endpoint.state.offset : 0,
    )
    return Math.max(0, ...lags)
  }

  settled(): Promise<void> {
    return this.#work
  }

  /** The state of a hook, as its record shows it. */
  standing(hook: Hook): Record<string, unknown> {
    const endpoint = this.#running.get(hook.id)?.endpoint
    const pending = endpoint?.pending ?? 0
    const deliveredAt = endpoint?.lastDeliveredAt
    const more = { pending, lastDeliveredAt: deliveredAt && isoDate(deliveredAt) }
    const { pause, failingSince } = endpoint?.state ?? {}
    if (!hook.enabled) return { status: 'disabled', ...more }
    if (pause !== undefined)
      return { status: 'paused', since: isoDate(pause.since), reason: pause.reason, ...more }
    if (failingSince !== undefined)
      return { status: 'failing', since: isoDate(failingSince), reason: endpoint?.lastError, ...more }
    return { status: 'active', ...more }
  }

  /** Brings the endpoints in step with the registry. */
  changed(): void {
    const { feed, logger } = this.#parts
    const offset = feed.lastOffset
    this.#work = this.#work
      .then(() => this.#catchUp(offset))
      .catch((error: unknown) => logger.error(failureFields(error), 'a change of a hook has failed'))
  }

  async #catchUp(offset: number): Promise<void> {
    const { registry, sender } = this.#parts
    const hooks = new Map([...registry.all()].map((hook) => [hook.id, hook]))
    for (const [id, { endpoint }] of this.#running) {
      if (hooks.has(id)) continue
      this.#running.delete(id)
      await endpoint.stop()
      await sender.release(id)
      await (await this.#open()).remove(id)
    }
    for (const hook of hooks.values()) {
      const running = this.#running.get(hook.id)
      if (running === undefined) await this.#add(hook, undefined, offset)
      else if (running.hook !== hook) {
        running.hook = hook
        await running.endpoint.change(async () => destinationOf(hook))
        await running.endpoint.resume()
      }
    }
  }

  async #add(hook: Hook, known: WebhookState | undefined, offset: number): Promise<void> {
    const store = await this.#open()
    const state = known ?? { offset }
    if (known === undefined) await store.begin(hook.id, state)
    const endpoint = new WebhookEndpoint<HookDestination>(
      {
        ...this.#parts,
        singular: 'hook',
        store,
        memory: this.#memory,
        counters: this.counters,
        send: this.#parts.sender.send,
        // An event says who its user is.
        userJson: async () => undefined,
      },
      destinationOf(hook),
      state,
    )
    this.#running.set(hook.id, { hook, endpoint })
    await endpoint.start()
  }

  #count(count: (endpoint: WebhookEndpoint<HookDestination>) => number): number {
    let sum = 0
    for (const { endpoint } of this.#running.values()) sum += count(endpoint)
    return sum
  }

  #open(): Promise<DeliveryStore> {
    this.#store ??= this.#parts.openStore()
    return this.#store
  }
}
