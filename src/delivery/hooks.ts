import { isoDate } from '../model/isoDate.ts'
import type { Hook } from '../model/hook.ts'
import type { HookDirectory, HookFollower } from '../registry/hooks/hookDirectory.ts'
import { failureFields } from '../runtime/errors.ts'
import { Endpoints, type EndpointsParts } from './endpoints.ts'
import { targetOf, type HookTarget, type HookSender } from './hookSender.ts'

export interface HookParts extends Omit<EndpointsParts<HookTarget>, 'singular' | 'send' | 'userJson'> {
  readonly registry: HookDirectory
  readonly sender: HookSender
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
  readonly endpoints: Endpoints<HookTarget>
  readonly #parts: HookParts
  /** The hooks that are at work, as they were last read. */
  readonly #hooks = new Map<string, Hook>()
  #work: Promise<void> = Promise.resolve()

  constructor(parts: HookParts) {
    this.#parts = parts
    this.endpoints = new Endpoints<HookTarget>({
      ...parts,
      singular: 'hook',
      send: parts.sender.send,
      // An event says who its user is.
      userJson: async () => undefined,
    })
  }

  /** Continues where the previous process ended, or this one at its last {@link stop}. */
  async start(): Promise<void> {
    const { registry } = this.#parts
    const hooks = [...registry.all()]
    for (const hook of hooks) this.#hooks.set(hook.id, hook)
    await this.endpoints.start(hooks.map(targetOf))
    registry.follower = this
    this.changed()
    await this.settled()
  }

  async stop(): Promise<void> {
    this.#parts.registry.follower = undefined
    await this.#work
    await this.endpoints.stop()
    await Promise.all([...this.#hooks.keys()].map((id) => this.#parts.sender.release(id)))
    this.#hooks.clear()
  }

  settled(): Promise<void> {
    return this.#work
  }

  /** The state of a hook, as its record shows it. */
  standing(hook: Hook): Record<string, unknown> {
    const endpoint = this.endpoints.get(hook.id)
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
    for (const id of this.#hooks.keys()) {
      if (hooks.has(id)) continue
      this.#hooks.delete(id)
      await this.endpoints.remove(id)
      await sender.release(id)
    }
    for (const hook of hooks.values()) {
      const before = this.#hooks.get(hook.id)
      if (before === hook) continue
      this.#hooks.set(hook.id, hook)
      const endpoint = this.endpoints.get(hook.id)
      if (endpoint === undefined) await this.endpoints.add(targetOf(hook), undefined, offset)
      else {
        await endpoint.change(async () => targetOf(hook))
        await endpoint.resume()
      }
    }
  }
}
