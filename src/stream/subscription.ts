import { wants, type EventFilter } from '../events/filter.ts'
import type { Stretch } from '../events/feed.ts'
import { encodeEvent, turn, type Audience, type Member, type Part } from './audience.ts'
import type { Patience } from './patience.ts'
import type { Codec, StreamConnection } from './port.ts'

/**
 * One subscription: a place in the event log that moves on as its client reads.
 *
 * It is `live`, a member of its scope's audience, as long as the client takes everything at once. It is `behind` when
 * the client has not read what was sent, or comes back: then it reads the log by itself, in stretches, each when the
 * client has read the one before, and joins the audience where it meets it. Nothing is kept for it in memory either way.
 */

/** Where a subscription finds the events. */
export interface EventSource {
  /** Events of the connection's scope after a place, from memory or disk; whoever asks may have to wait for a turn. */
  read(connection: StreamConnection, after: number): Promise<Stretch>
  /** Makes it a member of its audience; false where it is behind that. */
  join(subscription: Subscription): Audience | undefined
  /** To be called when a member has left. */
  left(connection: StreamConnection, audience: Audience): void
}

export class Subscription implements Member {
  readonly id: string
  readonly filter: EventFilter
  readonly codec: Codec
  place: number
  readonly #connection: StreamConnection
  readonly #patience: Patience
  readonly #source: EventSource
  /** While it is live. */
  #audience: Audience | undefined
  #reading = false
  #ended = false

  constructor(
    id: string,
    filter: EventFilter,
    place: number,
    connection: StreamConnection,
    patience: Patience,
    source: EventSource,
  ) {
    this.id = id
    this.filter = filter
    this.place = place
    this.codec = connection.codec
    this.#connection = connection
    this.#patience = patience
    this.#source = source
  }

  take({ places, messages }: Part): void {
    const first = places[0]!
    if (places.at(-1)! <= this.place) return
    if (this.#patience.isTried) {
      this.place = Math.max(this.place, first - 1)
      this.#leave()
      return
    }
    const after = first > this.place ? 0 : places.findIndex((place) => place > this.place)
    this.place = places.at(-1)!
    this.#connection.sendEncoded(after === 0 ? messages : messages.slice(after))
  }

  /** Goes on where it is behind: at the start, and whenever the client has read what was sent. */
  async advance(): Promise<void> {
    if (this.#reading || this.#audience !== undefined) return
    this.#reading = true
    while (!this.#ended && !this.#patience.isTried) {
      this.#audience = this.#source.join(this)
      if (this.#audience !== undefined) break
      const { events, place } = await this.#source.read(this.#connection, this.place)
      if (this.#ended) break
      const wanted = events.filter(({ event }) => wants(this.filter, event))
      this.place = place
      this.#connection.sendEncoded(wanted.map(({ event }) => encodeEvent(this.codec, this.id, event)))
      await turn()
    }
    this.#reading = false
  }

  /** Sends nothing any more. */
  end(): void {
    this.#ended = true
    this.#leave()
  }

  #leave(): void {
    const audience = this.#audience
    if (audience === undefined) return
    this.#audience = undefined
    audience.remove(this)
    this.#source.left(this.#connection, audience)
  }
}
