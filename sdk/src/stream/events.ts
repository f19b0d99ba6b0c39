import { RingfenceError } from '../errors.ts'
import type { Event } from '../types.ts'
import { Inlet } from './inlet.ts'
import type { Listener, ListenerHost } from './listener.ts'
import type { EventFilter, ServerMessage } from './messages.ts'

/** How many events may wait to be taken, besides those of the last message; with more, the subscription is given up until they are. */
const MAX_WAITING = 1000

/**
 * Events as they happen, each once and in the order of the log. After a lost connection they go on where they were.
 *
 * Whoever is slow to take them does not fill the memory: the subscription is given up, and taken up again after the last
 * event that came, once the others are taken.
 */
export class EventIterator implements AsyncIterableIterator<Event, undefined>, Listener {
  /** Resolves when the server has begun to follow: what happens from then on will come. */
  readonly ready: Promise<void>
  readonly #host: ListenerHost
  readonly #filter: EventFilter
  readonly #isBatched: boolean
  readonly #inlet: Inlet<Event>
  #waiting: Event[] = []
  /** Where to continue: after an event, or at a place that the server has named. */
  #from: string
  /**
   * The name of the present subscription. A new one gets a new name, so that late events of the old one are not mixed
   * up with it.
   */
  #name: string | undefined
  /** Whether the subscription is given up until the waiting events are taken. */
  #isPaused = false
  /** The timer of a subscription for which the server had no room, or was not ready. */
  #retryTimer: ReturnType<typeof setTimeout> | undefined

  constructor(host: ListenerHost, filter: EventFilter, from: string, isBatched: boolean) {
    this.#host = host
    this.#filter = filter
    this.#isBatched = isBatched
    this.#from = from
    this.#inlet = new Inlet(
      () => this.#take(),
      () => this.#leave(),
    )
    this.ready = this.#inlet.begun
  }

  next(): Promise<IteratorResult<Event, undefined>> {
    return this.#inlet.next()
  }

  /** Ends the subscription. */
  return(): Promise<IteratorResult<Event, undefined>> {
    return this.#inlet.return()
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  opened(): void {
    if (!this.#isPaused) this.#subscribe()
  }

  lost(): void {
    clearTimeout(this.#retryTimer)
    if (this.#name !== undefined) this.#host.forget(this.#name)
    this.#name = undefined
  }

  received(message: ServerMessage): void {
    if (message.type === 'event') this.#add([message.event])
    else if (message.type === 'events') this.#add(message.events)
    else if (message.type === 'subscribed') {
      this.#from = message.from
      this.#inlet.begin()
    } else if (message.type === 'error' && message.code === 503) {
      this.lost()
      this.#retryTimer = setTimeout(() => this.#subscribeAgain(), (message.retryAfter ?? 1) * 1000)
    } else if (message.type === 'error') {
      const error = new RingfenceError(message.code, message.message, message)
      this.#host.remove(this)
      this.lost()
      this.ended({ error })
    }
  }

  #add(events: readonly Event[]): void {
    if (events.length === 0) return
    this.#from = events.at(-1)!._id
    this.#waiting.push(...events)
    if (this.#waiting.length >= MAX_WAITING) {
      this.#unsubscribe()
      this.#isPaused = true
    }
    this.#inlet.wake()
  }

  ended(end: { readonly error?: unknown }): void {
    clearTimeout(this.#retryTimer)
    this.#unsubscribe()
    this.#isPaused = false
    this.#inlet.end(end)
  }

  #take(): Event | undefined {
    const event = this.#waiting.shift()
    if (this.#isPaused && this.#waiting.length === 0) {
      this.#isPaused = false
      if (this.#host.isOpen) this.#subscribe()
    }
    return event
  }

  #subscribeAgain(): void {
    if (this.#host.isOpen && this.#name === undefined && !this.#isPaused) this.#subscribe()
  }

  #subscribe(): void {
    this.#name = this.#host.register(this)
    this.#host.send({
      type: 'subscribe',
      id: this.#name,
      filter: this.#filter,
      from: this.#from,
      ...(this.#isBatched && { batch: true }),
    })
  }

  #unsubscribe(): void {
    if (this.#name === undefined) return
    this.#host.send({ type: 'unsubscribe', id: this.#name })
    this.lost()
  }

  #leave(): void {
    clearTimeout(this.#retryTimer)
    this.#unsubscribe()
    this.#isPaused = false
    this.#waiting = []
    this.#host.remove(this)
  }
}
