import { callOnce } from '../http.ts'
import { StreamClosedError, type ConnectionError, type RingfenceError } from '../errors.ts'
import type { Identity } from '../identity.ts'
import type { Update } from '../types.ts'
import { Servers } from '../servers.ts'
import { BatchIterator } from './batches.ts'
import { JSON_ENCODING, type StreamEncoding } from './encoding.ts'
import { EventIterator } from './events.ts'
import { Link } from './link.ts'
import type { Listener, ListenerHost } from './listener.ts'
import type { EventFilter, ServerMessage, WatchedArea, WatchFilter } from './messages.ts'
import { Outbox } from './outbox.ts'
import { PositionIterator } from './positions.ts'
import { openSocket, openSocketOfSession, type Socket, type WebSocketConstructor } from './socket.ts'

/** Where a stream connects, and how. */
export interface StreamTarget {
  /** The URL of the server, or the URLs of several servers if each of them serves all devices. */
  readonly url: string | readonly string[]
  readonly identity: Identity
  readonly WebSocket: WebSocketConstructor | undefined
}

export interface StreamOptions {
  /** The encoding of messages. If absent, it is JSON. */
  readonly encoding?: StreamEncoding | undefined
  /** When aborted, ends the stream at once, without waiting for what is not acknowledged. */
  readonly signal?: AbortSignal | undefined
  /** Called whenever the connection opens, closes or cannot be opened. */
  readonly onStateChange?: ((state: StreamState) => void) | undefined
}

/** The state of a stream's connection. */
export type StreamState =
  | { readonly status: 'open' }
  /**
   * It will connect again by itself, soon. `error` is the server's answer as a RingfenceError (with status 429 if the
   * key has too many streams), or says that the server could not be reached or how the connection ended.
   */
  | { readonly status: 'waiting'; readonly error: RingfenceError | ConnectionError }
  /** It is closed for good: by `close()`, or by an error, with which everything that waits is rejected. */
  | { readonly status: 'closed'; readonly error?: unknown }

export interface EventOptions {
  /** The `_id` of an event after which to continue. If absent, new events follow. */
  readonly from?: string | undefined
  /** Whether events may wait for up to 100 ms, so that many come in one message. This costs the server much less. */
  readonly batch?: boolean | undefined
  readonly signal?: AbortSignal | undefined
}

export interface WatchOptions {
  /** The shortest time between two `move` messages of a device, in milliseconds. The server has a default. */
  readonly minIntervalMs?: number | undefined
  /** Which devices are wanted. If absent, all are. */
  readonly filter?: WatchFilter | undefined
  readonly signal?: AbortSignal | undefined
}

/**
 * One connection for updates, events and positions. When it is lost, it reconnects by itself, to the next server if
 * there are several. Updates that were not acknowledged are sent again and applied once, and events continue where
 * they were.
 *
 * It fails for good if the key is not valid (401, 402, 403). Then everything that waits is rejected with that error.
 */
export class RingfenceStream {
  readonly #link: Link
  readonly #outbox = new Outbox(crypto.randomUUID())
  readonly #listeners = new Set<Listener>()
  readonly #byName = new Map<string, Listener>()
  readonly #host: ListenerHost
  readonly #onStateChange: (state: StreamState) => void
  #names = 0
  /** Why nothing more is accepted; undefined while the stream works. */
  #end: { readonly error: unknown } | undefined
  #closed: Promise<void> | undefined
  #pumpsSoon = false
  #busyTimer: ReturnType<typeof setTimeout> | undefined
  /** Callers that wait for room, or until everything is acknowledged. */
  #waiting: {
    readonly isDue: () => boolean
    readonly resolve: () => void
    readonly reject: (e: unknown) => void
  }[] = []

  constructor(
    target: StreamTarget,
    { encoding = JSON_ENCODING, signal, onStateChange = () => {} }: StreamOptions = {},
  ) {
    this.#onStateChange = onStateChange
    this.#link = new Link({
      encoding,
      servers: new Servers(target.url),
      open: (server, ended) => open(target, server, encoding.protocol, ended),
      ask: async (server, ended) => void (await ask(target, server, ended)),
      opened: () => this.#opened(),
      received: (message) => this.#received(message),
      lost: () => this.#lost(),
      waiting: (error) => this.#onStateChange({ status: 'waiting', error }),
      failed: (error) => this.#fail(error),
    })
    const link = this.#link
    this.#host = {
      get isOpen() {
        return link.isOpen
      },
      register: (listener) => {
        const name = String(++this.#names)
        this.#byName.set(name, listener)
        return name
      },
      forget: (name) => void this.#byName.delete(name),
      send: (message) => link.send(message),
      remove: (listener) => void this.#listeners.delete(listener),
    }
    onAbort(signal, (reason) => {
      if (link.hasEnded) return
      link.close()
      this.#fail(reason)
    })
    if (this.#end === undefined) link.connect()
  }

  /** Resolves when there is room for another update. */
  get ready(): Promise<void> {
    if (this.#end !== undefined) return Promise.reject(this.#end.error as Error)
    return this.#when(() => this.#outbox.hasRoom)
  }

  /**
   * Sends an update.
   * @returns resolves when it is durable
   * @throws RingfenceError if the server refuses it; StreamFullError; StreamClosedError; the error with which the
   * stream failed
   */
  async track(update: Update): Promise<void> {
    if (this.#end !== undefined) throw this.#end.error
    const durable = this.#outbox.add(update)
    this.#pumpSoon()
    await durable
  }

  /** Delivers events as they happen. A publishable key must name `deviceIds` or `userIds`. */
  events(
    filter: EventFilter = {},
    { from = 'now', batch = false, signal }: EventOptions = {},
  ): EventIterator {
    return this.#add(new EventIterator(this.#host, filter, from, batch), signal)
  }

  /** Delivers the devices in an area as they enter, move and leave. It needs a secret key. */
  watch(area: WatchedArea, { minIntervalMs, filter, signal }: WatchOptions = {}): PositionIterator {
    return this.#add(new PositionIterator(this.#host, { area, minIntervalMs, filter }, false), signal)
  }

  /** Does the same as {@link watch}, with many changes at a time, at most ten times a second. */
  watchBatches(area: WatchedArea, { minIntervalMs, filter, signal }: WatchOptions = {}): BatchIterator {
    return this.#add(new BatchIterator(this.#host, { area, minIntervalMs, filter }, true), signal)
  }

  /**
   * Accepts nothing more, waits until all updates are acknowledged, and ends. Iterators end after what they already
   * have.
   * @throws the error with which the stream failed before that
   */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    if (this.#end !== undefined) throw this.#end.error
    this.#end = { error: new StreamClosedError() }
    await this.#when(() => this.#outbox.isEmpty)
    this.#link.close()
    this.#endListeners({})
    this.#onStateChange({ status: 'closed' })
  }

  #add<T extends Listener>(listener: T, signal: AbortSignal | undefined): T {
    if (this.#end !== undefined) {
      listener.ended(this.#end)
      return listener
    }
    this.#listeners.add(listener)
    if (this.#link.isOpen) listener.opened()
    onAbort(signal, (error) => {
      if (this.#listeners.delete(listener)) listener.ended({ error })
    })
    return listener
  }

  #opened(): void {
    for (const listener of this.#listeners) listener.opened()
    this.#pump()
    this.#onStateChange({ status: 'open' })
  }

  #lost(): void {
    clearTimeout(this.#busyTimer)
    this.#outbox.disconnected()
    for (const listener of this.#listeners) listener.lost()
    // If a whole frame was refused, nothing of it is sent again, so no acknowledgement may ever come.
    if (!this.#link.hasEnded) this.#tellWaiting()
  }

  #received(message: ServerMessage): void {
    switch (message.type) {
      case 'ack':
        this.#outbox.acknowledged(message.id)
        this.#settled()
        return
      case 'busy':
        if (this.#outbox.busy(message.id)) this.#rewindLater(message.retryAfter)
        return
      case 'event':
      case 'events':
        this.#byName.get(message.subscription)?.received(message)
        return
      case 'position':
      case 'positions':
        this.#byName.get(message.watch)?.received(message)
        return
      case 'error': {
        const name = message.subscription ?? message.watch
        if (name !== undefined) this.#byName.get(name)?.received(message)
        else if (message.id !== undefined) this.#outbox.refused(message)
        return
      }
      case 'subscribed':
      case 'watching':
        this.#byName.get(message.id)?.received(message)
    }
  }

  #rewindLater(retryAfter: number): void {
    // Clients that were refused at the same time should not all return at the same time.
    const ms = retryAfter * 1000 * (1 + Math.random())
    this.#busyTimer = setTimeout(() => {
      this.#outbox.rewind()
      this.#pump()
    }, ms)
  }

  /** Updates of one turn share frames. */
  #pumpSoon(): void {
    if (this.#pumpsSoon) return
    this.#pumpsSoon = true
    queueMicrotask(() => {
      this.#pumpsSoon = false
      this.#pump()
    })
  }

  #pump(): void {
    if (!this.#link.isOpen) return
    for (let frame = this.#outbox.next(); frame !== undefined; frame = this.#outbox.next())
      this.#link.send(frame)
  }

  #settled(): void {
    this.#pump()
    this.#tellWaiting()
  }

  #tellWaiting(): void {
    const due = this.#waiting.filter(({ isDue }) => isDue())
    this.#waiting = this.#waiting.filter((waiting) => !due.includes(waiting))
    for (const { resolve } of due) resolve()
  }

  #when(isDue: () => boolean): Promise<void> {
    if (isDue()) return Promise.resolve()
    return new Promise((resolve, reject) => this.#waiting.push({ isDue, resolve, reject }))
  }

  #fail(error: unknown): void {
    this.#end = { error }
    this.#outbox.fail(error)
    for (const { reject } of this.#waiting.splice(0)) reject(error)
    this.#endListeners({ error })
    this.#onStateChange({ status: 'closed', error })
  }

  #endListeners(end: { readonly error?: unknown }): void {
    for (const listener of this.#listeners) listener.ended(end)
    this.#listeners.clear()
  }
}

/** Opens the connection. In a page of a signed-in person, it gets a ticket first. */
async function open(
  { identity, WebSocket }: StreamTarget,
  server: string,
  protocol: string,
  signal: AbortSignal,
): Promise<Socket> {
  if ('key' in identity) return openSocket(server, identity.key, protocol, WebSocket)
  const path = '/v1/sessions/current/ticket'
  const { ticket } = (await callOnce(server, identity, { method: 'POST', path, signal })) as {
    readonly ticket: string
  }
  return openSocketOfSession(server, ticket, protocol, WebSocket)
}

/** Finds out what prevents a connection. Without a ticket, it can only ask whether the session still exists. */
async function ask({ identity }: StreamTarget, server: string, signal: AbortSignal): Promise<unknown> {
  const path = 'key' in identity ? '/v1/stream' : '/v1/sessions/current'
  return callOnce(server, identity, { method: 'GET', path, signal })
}

function onAbort(signal: AbortSignal | undefined, abort: (reason: unknown) => void): void {
  if (signal?.aborted) abort(signal.reason)
  else signal?.addEventListener('abort', () => abort(signal.reason), { once: true })
}
