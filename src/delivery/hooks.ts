import { isoDate } from '../model/isoDate.ts'
import { hookSubject, type Hook } from '../model/hook.ts'
import type { HookDirectory, HookFollower } from '../registry/hooks/hookDirectory.ts'
import { failureFields } from '../runtime/errors.ts'
import { Endpoints, type EndpointsParts } from './endpoints.ts'
import { HookLog, type HookStore } from './hookLog.ts'
import { HookWatches, type HookPositions } from './hookWatches.ts'
import { eventIdOf } from './webhookMessage.ts'
import { targetOf, type HookTarget, type HookSender } from './hookSender.ts'

export interface HookParts extends Omit<EndpointsParts<HookTarget>, 'singular' | 'send' | 'userJson'> {
  readonly registry: HookDirectory
  readonly sender: HookSender
  /** Opens the messages of areas and roaming. It is called when there is such a hook. */
  readonly openLog: () => Promise<HookStore>
  /** The positions of devices. Undefined without Tile38: then hooks of areas and roaming send no messages. */
  readonly places: HookPositions | undefined
}

/** Why a hook of an area or of roaming does not work, or cannot be created. */
export const NEEDS_TILE38 = 'Hooks of areas and of devices that roam need Tile38: set RINGFENCE_TILE38_URL.'

/**
 * All hooks of all scopes at work. Those of geofences read the event log, the others messages of their own
 * ({@link HookWatches}). They share the lines, retries and store of webhooks ({@link WebhookEndpoint}).
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
  /** The hooks that are at work, with the definitions that were read last. */
  readonly #hooks = new Map<string, Hook>()
  #work: Promise<void> = Promise.resolve()
  /** The first looks of hooks that were put and are not finished. */
  readonly #looks = new Set<Promise<void>>()
  #log: Promise<HookLog> | undefined
  #watches: HookWatches | undefined

  constructor(parts: HookParts) {
    this.#parts = parts
    this.endpoints = new Endpoints<HookTarget>({
      ...parts,
      singular: 'hook',
      sourceOf: ({ hook }) => (isOfEvents(hook) ? undefined : this.#source(hook)),
      send: async (target, message, signal) => {
        const outcome = await parts.sender.send(target, message, signal)
        if (outcome.error === undefined) this.#delivered(target.hook, message.id)
        return outcome
      },
      // These events contain their user.
      userJson: async () => undefined,
    })
  }

  /** Whether there can be hooks of areas and roaming. */
  get hasPlaces(): boolean {
    return this.#parts.places !== undefined
  }

  /** Continues where the previous process ended, or this process at its last {@link stop}. */
  async start(): Promise<void> {
    const { registry } = this.#parts
    const hooks = [...registry.all()]
    for (const hook of hooks) this.#hooks.set(hook.id, hook)
    await this.endpoints.start(hooks.map(targetOf))
    registry.follower = this
    // The process may become ready before the positions of devices are known.
    for (const hook of hooks) await this.#watch(hook)
    this.changed()
    await this.#work
  }

  async stop(): Promise<void> {
    this.#parts.registry.follower = undefined
    await this.#work
    await this.#watches?.stop()
    await this.endpoints.stop()
    this.#watches = undefined
    const log = await this.#log
    this.#log = undefined
    await log?.close()
    await Promise.all([...this.#hooks.keys()].map((id) => this.#parts.sender.release(id)))
    this.#hooks.clear()
  }

  async settled(): Promise<void> {
    await this.#work
    await Promise.all(this.#looks)
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
    const trouble = isOfEvents(hook)
      ? undefined
      : this.#parts.places === undefined
        ? NEEDS_TILE38
        : this.#watches?.trouble(hook.id)
    if (trouble !== undefined && failingSince === undefined)
      return { status: 'failing', reason: trouble, ...more }
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
      await this.#forget(id)
      await sender.release(id)
    }
    for (const hook of hooks.values()) {
      const before = this.#hooks.get(hook.id)
      if (before === hook) continue
      // Its cursor belongs to another log now.
      if (before !== undefined && isOfEvents(before) !== isOfEvents(hook)) await this.#forget(hook.id)
      this.#hooks.set(hook.id, hook)
      const endpoint = this.endpoints.get(hook.id)
      const begin = isOfEvents(hook) ? offset : undefined
      if (endpoint === undefined) await this.endpoints.add(targetOf(hook), undefined, begin)
      else {
        await endpoint.change(async () => targetOf(hook))
        await endpoint.resume()
      }
      await this.#watch(hook)
    }
  }

  async #forget(id: string): Promise<void> {
    const hook = this.#hooks.get(id)
    this.#hooks.delete(id)
    await this.endpoints.remove(id)
    if (hook === undefined || isOfEvents(hook)) return
    if (this.#watches === undefined) await (await this.#openLog()).forget(id, true)
    else await this.#watches.remove(id)
  }

  /** Begins to watch for a hook of an area or of roaming. */
  async #watch(hook: Hook): Promise<void> {
    const { places } = this.#parts
    if (isOfEvents(hook) || places === undefined) return
    this.#watches ??= new HookWatches({
      ...this.#parts,
      ...places,
      log: await this.#openLog(),
      pause: (id, reason) => void this.endpoints.get(id)?.pause(reason),
    })
    const look = this.#watches.put(hook).finally(() => this.#looks.delete(look))
    this.#looks.add(look)
  }

  #openLog(): Promise<HookLog> {
    this.#log ??= this.#parts.openLog().then((store) => HookLog.open(store))
    return this.#log
  }

  async #source({ id, scope }: Hook) {
    return (await this.#openLog()).source(id, scope)
  }

  /** Removes a message that was delivered. */
  #delivered(hook: Hook, messageId: string): void {
    if (isOfEvents(hook)) return
    void this.#log?.then((log) => log.delivered(hook.id, eventIdOf(messageId))).catch(() => {})
  }
}

function isOfEvents(hook: Hook): boolean {
  return hookSubject(hook) === 'geofence'
}
