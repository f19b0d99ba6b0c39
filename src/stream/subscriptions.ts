import Type from 'typebox'
import { Name } from '../http/schemas.ts'
import type { ErrorLog } from '../runtime/logger.ts'
import type { FanoutGroups, Encoded, Outlet } from '../events/fanoutGroup.ts'
import { EventReader } from '../events/eventReader.ts'
import type { EventFeed } from '../events/feed.ts'
import { FILTER_LISTS, filterBytes, type EventFilter } from '../events/filter.ts'
import type { StoredEvent } from '../events/port.ts'
import { ApiError, badParam, notFound } from '../runtime/errors.ts'
import { CLOSE } from './closeCodes.ts'
import type { RawMessage, SubscribeMessage } from './messages.ts'
import { SlowReaderTimer } from './slowReader.ts'
import type { ResumeTokens } from './resumeTokens.ts'
import type { StreamConnection, StreamFeature, StreamFeatureKind } from './port.ts'

/** How many subscriptions a connection may have at a time. */
const MAX_SUBSCRIPTIONS = 100
/** How many items a list of a filter may have. */
const MAX_ITEMS = 1000
const MAX_ID_LENGTH = 64
/** Approximate memory of a subscription besides its filter. */
const SUBSCRIPTION_BYTES = 2048

const Items = Type.Optional(Type.Array(Name(256), { minItems: 1, maxItems: MAX_ITEMS }))

/** Other members are refused, because a misspelt filter would select all events. */
const STRICT = { additionalProperties: false }

export const Subscribe = Type.Object(
  {
    type: Type.Literal('subscribe'),
    id: Name(MAX_ID_LENGTH),
    filter: Type.Optional(
      Type.Object(
        {
          types: Items,
          tags: Items,
          externalIds: Items,
          userIds: Items,
          deviceIds: Items,
          placeIds: Items,
          chains: Items,
          categories: Items,
          regions: Items,
          failureReasons: Items,
        },
        STRICT,
      ),
    ),
    from: Type.Optional(Name(MAX_ID_LENGTH)),
    batch: Type.Optional(
      Type.Boolean({
        description:
          'If true, events wait for up to 100 ms, and many come in one message (`events` instead of `event`).',
      }),
    ),
  },
  STRICT,
)
export const Unsubscribe = Type.Object({ id: Name(MAX_ID_LENGTH) })

/**
 * `subscribe` and `unsubscribe`: events as they happen, each once and in the order of the log, starting now or after
 * an event that the client already has.
 *
 * Owns: which connection has which subscriptions. Does not own: the events (the feed), readers and fan-out (events/).
 */
export class Subscriptions implements StreamFeatureKind {
  readonly messages = { subscribe: Subscribe, unsubscribe: Unsubscribe }
  readonly names = 'subscription'
  /** How many subscriptions there are. */
  count = 0
  readonly fanoutGroups: FanoutGroups
  readonly tokens: ResumeTokens
  readonly #feed: EventFeed
  readonly #log: ErrorLog

  constructor(feed: EventFeed, fanoutGroups: FanoutGroups, log: ErrorLog, tokens: ResumeTokens) {
    this.#feed = feed
    this.fanoutGroups = fanoutGroups
    this.#log = log
    this.tokens = tokens
  }

  open(connection: StreamConnection): StreamFeature {
    return new ConnectionSubscriptions(connection, this.#feed, this)
  }

  failed(error: unknown): void {
    this.#log.error({ err: error }, 'events cannot be read for a subscription')
  }
}

/** Sends the events of one subscription as messages of its connection. */
class SubscriptionOutlet implements Outlet {
  readonly format: string
  readonly gather: ((events: readonly Encoded[]) => Encoded) | undefined
  readonly #id: string
  readonly #connection: StreamConnection
  readonly #slowReader: SlowReaderTimer
  readonly #all: Subscriptions

  /**
   * Sends to a connection.
   * @param message contains the id that the client has chosen, which is in each message
   */
  constructor(
    { id, batch = false }: SubscribeMessage,
    connection: StreamConnection,
    slowReader: SlowReaderTimer,
    all: Subscriptions,
  ) {
    this.format = `${connection.codec.protocol} ${id}`
    // Gathered events are the texts of their records.
    if (batch)
      this.gather = (events) =>
        connection.codec.encode({ type: 'events', subscription: id, events: events as readonly string[] })
    this.#id = id
    this.#connection = connection
    this.#slowReader = slowReader
    this.#all = all
  }

  get isBehind(): boolean {
    return this.#slowReader.isTried
  }

  encode({ json }: StoredEvent): Encoded {
    if (this.gather !== undefined) return json
    return this.#connection.codec.encode({ type: 'event', subscription: this.#id, event: json })
  }

  send(messages: readonly Encoded[]): void {
    this.#connection.sendEncoded(messages)
  }

  fail(error: unknown): void {
    this.#all.failed(error)
    this.#connection.close(CLOSE.internalError, 'The events cannot be read.')
  }
}

/** What was asked for, with a filter that may be kept. */
type Terms = SubscribeMessage & { readonly filter: EventFilter }

/** One subscription of a connection. */
interface Subscription {
  /** Its share of the counted bytes. */
  readonly bytes: number
  /** The reader; undefined while its start position is being looked up. */
  reader: EventReader | undefined
  isEnded: boolean
}

/** The subscriptions of one connection. */
class ConnectionSubscriptions implements StreamFeature {
  readonly #connection: StreamConnection
  readonly #feed: EventFeed
  readonly #all: Subscriptions
  readonly #slowReader: SlowReaderTimer
  readonly #subscriptions = new Map<string, Subscription>()

  constructor(connection: StreamConnection, feed: EventFeed, all: Subscriptions) {
    this.#connection = connection
    this.#feed = feed
    this.#all = all
    this.#slowReader = new SlowReaderTimer(connection)
  }

  receive(message: RawMessage): void {
    if (message.type === 'subscribe') this.#subscribe(message as unknown as SubscribeMessage)
    else this.#unsubscribe(message.id as string)
  }

  drained(): void {
    this.#slowReader.restore()
    for (const { reader } of this.#subscriptions.values()) reader?.advance()
  }

  closed(): void {
    this.#slowReader.restore()
    for (const id of this.#subscriptions.keys()) this.#end(id)
  }

  #subscribe(message: SubscribeMessage): void {
    const { id, filter = {}, from = 'now' } = message
    if (this.#subscriptions.has(id))
      throw badParam('id', 'Another subscription of this connection has this id.')
    if (this.#subscriptions.size === MAX_SUBSCRIPTIONS)
      throw badParam('id', `A connection may have ${MAX_SUBSCRIPTIONS} subscriptions at one time.`)
    if (!this.#connection.isSecret && filter.deviceIds === undefined && filter.userIds === undefined)
      throw new ApiError(403, 'filter: A publishable key must name deviceIds or userIds.', {
        param: 'filter',
      })
    const bytes = SUBSCRIPTION_BYTES + filterBytes(filter)
    this.#connection.kept.acquire(bytes, 'filter')
    const subscription: Subscription = { bytes, reader: undefined, isEnded: false }
    this.#subscriptions.set(id, subscription)
    const kept = keptFilter(filter)
    const { lastOffset } = this.#feed
    const offset = from === 'now' ? lastOffset : this.#all.tokens.open(this.#connection.scope, from)
    const terms = { ...message, filter: kept }
    if (offset !== undefined && offset <= lastOffset) this.#begin(terms, subscription, offset)
    else void this.#beginLater(terms, subscription, () => this.#look(from, offset))
  }

  #look(from: string, offset: number | undefined): Promise<number | undefined> {
    if (offset !== undefined) return this.#feed.within(offset)
    return this.#feed.offsetOf(this.#connection.scope, from)
  }

  /**
   * Begins once the start is known.
   * @param look resolves to the offset after which to begin, or to undefined if there is no such event
   */
  async #beginLater(
    terms: Terms,
    subscription: Subscription,
    look: () => Promise<number | undefined>,
  ): Promise<void> {
    const { id } = terms
    let refusal = new ApiError(404, 'from: No event has this `_id`, or it has been deleted.', {
      param: 'from',
    })
    let offset: number | undefined
    try {
      offset = await look()
    } catch (error) {
      if (!(error instanceof ApiError)) this.#all.failed(error)
      refusal = error instanceof ApiError ? error : new ApiError(500, 'Internal server error.')
    }
    // Its memory counts until here. Otherwise a client could fill the index's queue by subscribing and unsubscribing
    // over and over.
    if (subscription.isEnded) this.#connection.kept.release(subscription.bytes)
    else if (offset !== undefined) this.#begin(terms, subscription, offset)
    else {
      this.#subscriptions.delete(id)
      this.#connection.kept.release(subscription.bytes)
      const { code, param, message, retryAfter } = refusal
      this.#connection.send({ type: 'error', subscription: id, code, param, message, retryAfter })
    }
  }

  #begin(terms: Terms, subscription: Subscription, offset: number): void {
    const { id, filter } = terms
    const { scope } = this.#connection
    const outlet = new SubscriptionOutlet(terms, this.#connection, this.#slowReader, this.#all)
    const reader = new EventReader(scope, filter, offset, outlet, this.#all.fanoutGroups)
    subscription.reader = reader
    this.#all.count++
    this.#connection.send({ type: 'subscribed', id, from: this.#all.tokens.seal(scope, offset) })
    reader.advance()
  }

  #unsubscribe(id: string): void {
    if (!this.#subscriptions.has(id)) throw notFound('Subscription')
    this.#end(id)
    this.#connection.send({ type: 'unsubscribed', id })
  }

  #end(id: string): void {
    const subscription = this.#subscriptions.get(id)!
    this.#subscriptions.delete(id)
    subscription.isEnded = true
    const { reader, bytes } = subscription
    if (reader === undefined) return
    reader.end()
    this.#all.count--
    this.#connection.kept.release(bytes)
  }
}

/**
 * A copy of the filter with its own strings, because the decoder's strings may be views that keep the whole message
 * alive.
 */
function keptFilter(filter: EventFilter): EventFilter {
  return Object.fromEntries(
    FILTER_LISTS.flatMap((list) => {
      const items = filter[list]
      return items === undefined ? [] : [[list, items.map(ownText)]]
    }),
  )
}

function ownText(text: string): string {
  return text.isWellFormed() ? Buffer.from(text).toString() : text
}
