import Type from 'typebox'
import { keyName } from '../http/authenticate.ts'
import type { KeyHolder, KeyWatch } from '../http/keyWatch.ts'
import { route, type Route } from '../http/route.ts'
import { Text } from '../http/schemas.ts'
import type { FanoutGroups, Encoded, Outlet } from '../events/fanoutGroup.ts'
import { EventReader } from '../events/eventReader.ts'
import type { EventFeed } from '../events/feed.ts'
import { FILTER_LISTS, filterBytes, type EventFilter } from '../events/filter.ts'
import type { StoredEvent } from '../events/port.ts'
import type { Credentials } from '../http/credentials.ts'
import { notFound } from '../runtime/errors.ts'
import type { KeyedBound } from '../runtime/keyedBound.ts'

/** A reader that has not read this many bytes gets nothing more until it has read everything. */
const MAX_UNREAD_BYTES = 64 * 1024
/** Approximate memory of a reader besides its filter. It includes waiting events, most of which readers share. */
const READER_BYTES = 8 * 1024
/** A comment at this interval tells proxies and this server that the other side is still there. */
const HEARTBEAT_MS = 15_000

const List = (what: string) => Type.Optional(Text(4096, `Comma-separated; only events ${what}.`))

/** Other parameters are refused, because a mistyped filter would otherwise mean all events. */
const Query = Type.Object(
  {
    types: List('of these types'),
    tags: List('of geofences or beacons with these tags'),
    externalIds: List('of geofences or beacons with these externalIds'),
    userIds: List('of these users'),
    deviceIds: List('of these devices'),
    placeIds: List('of places with these `_id`s'),
    chains: List('of places of chains with these slugs'),
    categories: List('of places of categories with these slugs'),
    regions: List('of regions with these codes or `_id`s'),
    failureReasons: List('of fraud with one of these reasons'),
    from: Type.Optional(
      Text(
        64,
        'The `_id` of an event: the response continues after it. Without it, the response starts now. Last-Event-ID has precedence.',
      ),
    ),
  },
  { additionalProperties: false },
)

/**
 * Events as they happen, as server-sent events (the HTML standard, section 9.2). Each reader is an offset in the
 * event log, like those of streams: slow readers continue from disk, and a reader that comes back with Last-Event-ID
 * misses nothing.
 *
 * Owns: the connected readers, so that a shutdown ends them. Does not own: the events (the feed), how long a key is
 * valid (the key watch).
 */
export class ServerSentEvents {
  readonly name = 'event streams'
  readonly #feed: EventFeed
  readonly #groups: FanoutGroups
  readonly #keyWatch: KeyWatch
  readonly #kept: KeyedBound
  readonly #open = new Set<AbortController>()
  #stopped = false

  /**
   * Starts without readers.
   * @param kept limits the memory of readers and their filters, together with those of streams
   */
  constructor(feed: EventFeed, groups: FanoutGroups, keyWatch: KeyWatch, kept: KeyedBound) {
    this.#feed = feed
    this.#groups = groups
    this.#keyWatch = keyWatch
    this.#kept = kept
  }

  /** The number of connected readers. */
  get readers(): number {
    return this.#open.size
  }

  /** Ends all streams; a client that comes back continues where it was. */
  stop(): void {
    this.#stopped = true
    for (const controller of this.#open) controller.abort()
  }

  /** The route `GET /v1/events/stream`. */
  route(): Route {
    return route({
      method: 'GET',
      path: '/v1/events/stream',
      auth: 'secret',
      tag: 'Events',
      summary: 'Follow events as they happen',
      description:
        'Server-sent events: the `id` is the event’s `_id`, `event` its type, `data` the record. Resume with ' +
        'Last-Event-ID, or `from`, to get every later event once and in order. The stream ends within seconds ' +
        'when the key is rotated or its project may not make more requests; the next request gets the reason.\n\n' +
        'This page has no form for it, because the response does not end. In a terminal:\n\n' +
        '    curl -N "$URL/v1/events/stream" -H "Authorization: $SK"\n\n' +
        'See the guide [Following events](/docs/guides/events#following-events).',
      query: Query,
      headers: ['last-event-id'],
      answers: {
        200: Type.Object({}, { contents: { 'text/event-stream': Type.String() } }),
        404: Type.Object({}, { description: 'No event has this id, or it has been deleted.' }),
      },
      handler: async ({ credentials, query, headers }) => {
        const { scope } = credentials!
        const from = headers['last-event-id'] ?? query.from
        const offset = from === undefined ? this.#feed.lastOffset : await this.#feed.offsetOf(scope, from)
        if (offset === undefined) throw notFound('Event')
        const filter: EventFilter = Object.fromEntries(
          FILTER_LISTS.map((list) => [list, listOf(query[list])]),
        )
        return {
          stream: {
            contentType: 'text/event-stream',
            chunks: this.#chunks(credentials!, offset, filter),
            filler: ':\n',
          },
          headers: { 'Cache-Control': 'no-store' },
        }
      },
    })
  }

  #chunks(credentials: Credentials, offset: number, filter: EventFilter): AsyncIterable<Encoded> {
    const ended = new AbortController()
    const texts = this.#texts(credentials, offset, filter, ended)
    return {
      [Symbol.asyncIterator]: () => ({
        next: () => texts.next(),
        // A generator that is waiting for the next event would not notice return().
        return: () => {
          ended.abort()
          return texts.return(undefined)
        },
      }),
    }
  }

  async *#texts(
    credentials: Credentials,
    offset: number,
    filter: EventFilter,
    ended: AbortController,
  ): AsyncGenerator<Encoded, undefined> {
    // This happens only when the first piece is requested. Until then nobody may ever read, and no cleanup below
    // would run.
    const share = this.#kept.share(keyName(credentials))
    const listed = FILTER_LISTS.find((list) => filter[list] !== undefined)
    share.acquire(READER_BYTES + filterBytes(filter), listed)
    this.#open.add(ended)
    if (this.#stopped) ended.abort()
    const outlet = new PieceOutlet(ended.signal)
    const reader = new EventReader(credentials.scope, filter, offset, outlet, this.#groups)
    let refusal: string | undefined
    const holder: KeyHolder = {
      keyRefused: ({ message }) => {
        refusal = message
        ended.abort()
      },
    }
    this.#keyWatch.add(credentials, holder)
    try {
      yield ': connected\n\n'
      while (!ended.signal.aborted) {
        reader.advance()
        yield (await outlet.take()) ?? ': still here\n\n'
      }
      if (refusal !== undefined) yield `: ${refusal}\n\n`
      return undefined
    } finally {
      reader.end()
      ended.abort()
      this.#open.delete(ended)
      this.#keyWatch.remove(credentials, holder)
      share.release(share.used)
    }
  }
}

/** The events of one reader as pieces of its response, which are made on request. */
class PieceOutlet implements Outlet {
  readonly format = 'text/event-stream'
  readonly #ended: AbortSignal
  #messages: Encoded[] = []
  #bytes = 0
  #error: unknown
  #wake: () => void = () => undefined

  constructor(ended: AbortSignal) {
    this.#ended = ended
    ended.addEventListener('abort', () => this.#wake())
  }

  get isBehind(): boolean {
    return this.#bytes > MAX_UNREAD_BYTES
  }

  encode({ id, type, json }: StoredEvent): string {
    return frame(id, type, json)
  }

  send(messages: readonly Encoded[]): void {
    for (const message of messages) {
      this.#messages.push(message)
      this.#bytes += message.length
    }
    this.#wake()
  }

  fail(error: unknown): void {
    this.#error = error
    this.#wake()
  }

  /**
   * Everything that was sent, as soon as there is something. It is '' at the end, and undefined if nothing came for a
   * heartbeat.
   */
  async take(): Promise<Encoded | undefined> {
    if (this.#messages.length === 0 && this.#error === undefined && !this.#ended.aborted) await this.#more()
    if (this.#error !== undefined) throw this.#error
    if (this.#ended.aborted) return ''
    const messages = this.#messages
    this.#messages = []
    this.#bytes = 0
    if (messages.length <= 1) return messages[0]
    return Buffer.concat(
      messages.map((message) => (typeof message === 'string' ? Buffer.from(message) : message)),
    )
  }

  /** Resolves when something has come, the stream has ended, or a heartbeat is due. */
  #more(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, HEARTBEAT_MS)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}

/** JSON contains no line breaks, but the name of a conversion may. */
function frame(id: string, type: string, json: string): string {
  return `id: ${id}\nevent: ${type.replaceAll(/[\r\n]/g, ' ')}\ndata: ${json}\n\n`
}

function listOf(text: string | undefined): readonly string[] | undefined {
  const items = text
    ?.split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
  return items === undefined || items.length === 0 ? undefined : items
}
