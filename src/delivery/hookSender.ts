import { hookTypes, type Hook } from '../model/hook.ts'
import type { Outgoing } from '../runtime/outgoing.ts'
import { postThrough, standardHeaders, type PostOptions } from './webhookMessage.ts'
import type { NatsPublisher } from './natsPublisher.ts'
import type { AttemptOutcome, DeliveryTarget, Message, Send } from './webhookPort.ts'

/** A hook as a target of events. */
export interface HookTarget extends DeliveryTarget {
  readonly endpoint: Hook['endpoint']
  readonly hook: Hook
}

/** Makes the target of a hook: which events, or messages of its own, go where. */
export function targetOf(hook: Hook): HookTarget {
  const { id, scope, enabled, geofence, userIds, deviceIds, endpoint } = hook
  // All other messages are made for their own hook, so they need no filter.
  const filter = geofence && {
    tags: [geofence.tag],
    ...(geofence.externalId !== undefined && { externalIds: [geofence.externalId] }),
    userIds,
    deviceIds,
  }
  const { url } = endpoint
  return { id, scope, url, endpoint, enabled, mode: 'single', types: hookTypes(hook), ...filter, hook }
}

export interface HookSenderOptions extends PostOptions {
  readonly outgoing: Outgoing
  /** Loads the NATS client when a hook needs it. */
  readonly loadNats: () => Promise<{ readonly NatsPublisher: typeof NatsPublisher }>
}

/** Sends the messages of hooks: POST requests, or messages in NATS. */
export class HookSender {
  readonly #options: HookSenderOptions
  readonly #post: ReturnType<typeof postThrough>
  readonly #publishers = new Map<string, { endpoint: Hook['endpoint']; publisher: Promise<NatsPublisher> }>()

  constructor(options: HookSenderOptions) {
    this.#options = options
    this.#post = postThrough(options.outgoing, options)
  }

  /** Sends a message; see {@link Send}. */
  readonly send: Send<HookTarget> = (target, given, signal) => {
    const { url, hook } = target
    const message = messageOf(hook, given)
    if (!isNats(url)) {
      const { secret } = hook.endpoint
      const secrets = secret === undefined ? [] : [secret]
      return this.#post(url, message.body, (now) => standardHeaders(message, secrets, now), signal)
    }
    return this.#publish(hook, message, signal)
  }

  /** Ends the connection of a hook to its NATS server. */
  async release(hookId: string): Promise<void> {
    const known = this.#publishers.get(hookId)
    this.#publishers.delete(hookId)
    await (await known?.publisher)?.close()
  }

  async #publish(hook: Hook, message: Message, signal: AbortSignal): Promise<AttemptOutcome> {
    const at = this.#options.clock.now()
    const began = performance.now()
    const latency = () => Math.round(performance.now() - began)
    try {
      const publisher = await this.#publisherOf(hook)
      await untilAborted(publisher.publish(message), signal)
      return { at, latency: latency(), body: '' }
    } catch (error) {
      return { at, latency: latency(), error: (error as Error).message, body: '' }
    }
  }

  async #publisherOf({ id, endpoint }: Hook): Promise<NatsPublisher> {
    const known = this.#publishers.get(id)
    if (known?.endpoint === endpoint) return known.publisher
    const { outgoing, timeoutMs, loadNats } = this.#options
    const publisher = loadNats().then(({ NatsPublisher }) => new NatsPublisher(endpoint, outgoing, timeoutMs))
    this.#publishers.set(id, { endpoint, publisher })
    void known?.publisher.then((old) => old.close())
    return publisher
  }
}

/**
 * The message of one hook. Its id differs from that of other hooks, because a stream would take equal ids for the
 * same message.
 */
function messageOf({ id, tag, externalId }: Hook, message: Message): Message {
  const hook = JSON.stringify({ _id: id, tag, externalId })
  return { id: `${id}.${message.id}`, body: `{"hook":${hook},${message.body.slice(1)}` }
}

function isNats(url: string): boolean {
  return url.startsWith('nats:') || url.startsWith('tls:')
}

async function untilAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  let stop!: () => void
  const aborted = new Promise<void>((_, reject) => {
    stop = () => reject(new Error('cut off'))
    signal.addEventListener('abort', stop)
    if (signal.aborted) stop()
  })
  try {
    await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
    work.catch(() => {})
  }
}
