import Type from 'typebox'
import { Name } from '../api/schemas.ts'
import type { ErrorLog } from '../runtime/logger.ts'
import type { EventFeed } from '../events/feed.ts'
import type { Stretch } from '../events/port.ts'
import type { ScopeId } from '../model/scope.ts'
import { ApiError, badParam, notFound } from '../runtime/errors.ts'
import { Audience, STRETCH } from './audience.ts'
import type { RawMessage, SubscribeMessage } from './messages.ts'
import { Patience } from './patience.ts'
import type { PlaceTokens } from './placeTokens.ts'
import type { StreamConnection, StreamFeature, StreamFeatureKind } from './port.ts'
import { Subscription, type EventSource } from './subscription.ts'

/** Subscriptions of one connection at one time. */
const MAX_SUBSCRIPTIONS = 100
/** Items of one list of a filter. */
const MAX_ITEMS = 1000
const MAX_ID_LENGTH = 64

const Items = Type.Optional(Type.Array(Name(256), { minItems: 1, maxItems: MAX_ITEMS }))

const Subscribe = Type.Object({
  id: Name(MAX_ID_LENGTH),
  filter: Type.Optional(
    Type.Object({ types: Items, tags: Items, externalIds: Items, userIds: Items, deviceIds: Items }),
  ),
  from: Type.Optional(Name(MAX_ID_LENGTH)),
})
const Unsubscribe = Type.Object({ id: Name(MAX_ID_LENGTH) })

/**
 * `subscribe` and `unsubscribe`: events as they happen, each once and in the order of the log, from now on or from
 * after an event that the client has.
 *
 * Owns: the audiences of the scopes. Does not own: what happened (the feed).
 */
export class Subscriptions implements StreamFeatureKind, EventSource {
  readonly messages = { subscribe: Subscribe, unsubscribe: Unsubscribe }
  readonly names = 'subscription'
  /** How many there are. */
  count = 0
  readonly #feed: EventFeed
  readonly #log: ErrorLog
  readonly tokens: PlaceTokens
  readonly #audiences = new Map<ScopeId, Audience>()

  constructor(feed: EventFeed, log: ErrorLog, tokens: PlaceTokens) {
    this.#feed = feed
    this.#log = log
    this.tokens = tokens
  }

  open(connection: StreamConnection): StreamFeature {
    return new ConnectionSubscriptions(connection, this.#feed, this)
  }

  read({ connection, place }: Subscription): Promise<Stretch> {
    return this.#feed.read(connection.scope, place, STRETCH)
  }

  join(subscription: Subscription): Audience | undefined {
    const { scope } = subscription.connection
    let audience = this.#audiences.get(scope)
    if (subscription.place < (audience?.place ?? this.#feed.lastPlace)) return undefined
    if (audience === undefined) {
      audience = new Audience(this.#feed, scope)
      this.#audiences.set(scope, audience)
    }
    audience.add(subscription)
    return audience
  }

  leave(subscription: Subscription, audience: Audience): void {
    audience.remove(subscription)
    if (!audience.isEmpty) return
    audience.end()
    this.#audiences.delete(subscription.connection.scope)
  }

  failed(error: unknown): void {
    this.#log.error({ err: error }, 'events cannot be read for a subscription')
  }
}

/** The subscriptions of one connection. */
class ConnectionSubscriptions implements StreamFeature {
  readonly #connection: StreamConnection
  readonly #feed: EventFeed
  readonly #all: Subscriptions
  readonly #patience: Patience
  /** By id: a subscription, or the search for the place where it is to begin. */
  readonly #subscriptions = new Map<string, Subscription | Promise<number | undefined>>()

  constructor(connection: StreamConnection, feed: EventFeed, all: Subscriptions) {
    this.#connection = connection
    this.#feed = feed
    this.#all = all
    this.#patience = new Patience(connection)
  }

  receive(message: RawMessage): void {
    if (message.type === 'subscribe') this.#subscribe(message as unknown as SubscribeMessage)
    else this.#unsubscribe(message.id as string)
  }

  drained(): void {
    this.#patience.restore()
    for (const subscription of this.#subscriptions.values())
      if (subscription instanceof Subscription) subscription.advance()
  }

  closed(): void {
    this.#patience.restore()
    for (const id of this.#subscriptions.keys()) this.#end(id)
  }

  #subscribe(message: SubscribeMessage): void {
    const { id, filter = {}, from = 'now' } = message
    if (this.#subscriptions.has(id)) throw badParam('id', 'Another subscription of this connection has it.')
    if (this.#subscriptions.size === MAX_SUBSCRIPTIONS)
      throw badParam('id', `A connection may have ${MAX_SUBSCRIPTIONS} subscriptions at one time.`)
    if (!this.#connection.isSecret && filter.deviceIds === undefined && filter.userIds === undefined)
      throw new ApiError(403, 'filter: A publishable key must name deviceIds or userIds.', {
        param: 'filter',
      })
    if (from === 'now') {
      this.#begin(message, this.#feed.lastPlace)
      return
    }
    const place = this.#all.tokens.open(this.#connection.scope, from)
    if (place === undefined) this.#beginAfter(message, from)
    else this.#begin(message, Math.min(place, this.#feed.lastPlace))
  }

  #beginAfter(message: SubscribeMessage, eventId: string): void {
    const { id } = message
    const search = this.#feed.placeOf(this.#connection.scope, eventId)
    this.#subscriptions.set(id, search)
    const isWanted = () => this.#subscriptions.get(id) === search
    search.then(
      (place) => {
        if (!isWanted()) return
        if (place !== undefined) this.#begin(message, place)
        else
          this.#refuse(
            id,
            new ApiError(404, 'from: There is no such event, or no longer.', { param: 'from' }),
          )
      },
      (error: unknown) => {
        if (!isWanted()) return
        this.#all.failed(error)
        this.#refuse(id, new ApiError(500, 'Internal server error.'))
      },
    )
  }

  #refuse(id: string, { code, param, message }: ApiError): void {
    this.#subscriptions.delete(id)
    this.#connection.send({ type: 'error', subscription: id, code, param, message })
  }

  #begin({ id, filter = {} }: SubscribeMessage, place: number): void {
    const subscription = new Subscription(id, filter, place, this.#connection, this.#patience, this.#all)
    this.#subscriptions.set(id, subscription)
    this.#all.count++
    const from = this.#all.tokens.seal(this.#connection.scope, place)
    this.#connection.send({ type: 'subscribed', id, from })
    subscription.advance()
  }

  #unsubscribe(id: string): void {
    if (!this.#subscriptions.has(id)) throw notFound('Subscription')
    this.#end(id)
    this.#connection.send({ type: 'unsubscribed', id })
  }

  #end(id: string): void {
    const subscription = this.#subscriptions.get(id)
    this.#subscriptions.delete(id)
    if (!(subscription instanceof Subscription)) return
    subscription.end()
    this.#all.count--
  }
}
