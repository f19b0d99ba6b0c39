import type { PlacedEvent, Stretch } from '../events/port.ts'
import { wants, type EventFilter } from '../events/filter.ts'
import { encodeEvent, PART_BYTES, turn, type Audience, type Member, type Part } from './audience.ts'
import { CLOSE } from './closeCodes.ts'
import type { Patience } from './patience.ts'
import type { Codec, Encoded, StreamConnection } from './port.ts'

/**
 * One subscription: a place in the event log that moves on as its client reads.
 *
 * It is a member of its scope's audience as long as the client takes everything at once. It is behind when the client
 * has not read what was sent, or comes back: then it reads the log by itself, a stretch when the client has read the
 * one before, and joins the audience where it meets it. Nothing is kept for it in memory either way.
 */

/** Where a subscription finds events. */
export interface EventSource {
  /** Events of a scope after a place, from memory or disk; the answer may be some time in coming. */
  read(subscription: Subscription): Promise<Stretch>
  /** Makes it a member of its scope's audience; undefined while it is behind that. */
  join(subscription: Subscription): Audience | undefined
  leave(subscription: Subscription, audience: Audience): void
  failed(error: unknown): void
}

export class Subscription implements Member {
  readonly id: string
  readonly filter: EventFilter
  readonly connection: StreamConnection
  place: number
  readonly #patience: Patience
  readonly #source: EventSource
  /** While it is a member. */
  #audience: Audience | undefined
  #isReading = false
  #isEnded = false

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
    this.connection = connection
    this.#patience = patience
    this.#source = source
  }

  get codec(): Codec {
    return this.connection.codec
  }

  take({ places, messages }: Part): void {
    const first = places[0]!
    const last = places.at(-1)!
    if (last <= this.place) return
    if (this.#patience.isTried) {
      this.place = Math.max(this.place, first - 1)
      this.#leave()
      return
    }
    const after = first > this.place ? 0 : places.findIndex((place) => place > this.place)
    this.place = last
    this.connection.sendEncoded(after === 0 ? messages : messages.slice(after))
  }

  /** Goes on where it is behind: at the start, and whenever the client has read what was sent. */
  advance(): void {
    if (this.#isReading || this.#audience !== undefined) return
    this.#catchUp().catch((error: unknown) => this.fail(error))
  }

  fail(error: unknown): void {
    if (!this.#isEnded) this.#source.failed(error)
    this.connection.close(CLOSE.internalError, 'The events cannot be read.')
  }

  /** Sends nothing any more. */
  end(): void {
    this.#isEnded = true
    this.#leave()
  }

  async #catchUp(): Promise<void> {
    this.#isReading = true
    while (!this.#isEnded && !this.#patience.isTried) {
      this.#audience = this.#source.join(this)
      if (this.#audience !== undefined) break
      const { events, place } = await this.#source.read(this)
      if (!this.#isEnded && this.#sendAll(events)) this.place = place
      await turn()
    }
    this.#isReading = false
  }

  /** Whether all have been sent; else its place is that of the last. */
  #sendAll(events: readonly PlacedEvent[]): boolean {
    let messages: Encoded[] = []
    let bytes = 0
    for (const { place, event } of events) {
      if (!wants(this.filter, event)) continue
      messages.push(encodeEvent(this.codec, this.id, event))
      bytes += event.json.length
      if (bytes <= PART_BYTES) continue
      this.connection.sendEncoded(messages)
      this.place = place
      if (this.#patience.isTried) return false
      messages = []
      bytes = 0
    }
    if (messages.length > 0) this.connection.sendEncoded(messages)
    return true
  }

  #leave(): void {
    const audience = this.#audience
    if (audience === undefined) return
    this.#audience = undefined
    this.#source.leave(this, audience)
  }
}
