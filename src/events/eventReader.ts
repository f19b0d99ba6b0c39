import type { ScopeId } from '../model/scope.ts'
import {
  PART_BYTES,
  turn,
  type FanoutGroups,
  type Encoded,
  type Member,
  type Outlet,
  type EventBatch,
  type Seat,
} from './fanoutGroup.ts'
import { wants, type EventFilter } from './filter.ts'
import type { PlacedEvent } from './port.ts'

/**
 * One reader of events, of a stream's subscription or of server-sent events: a place in the event log that moves on as its
 * client reads.
 *
 * It is a member of its scope's audience as long as the client takes everything at once. It is behind when the client
 * has not read what was sent, or comes back: then it reads the log by itself, a stretch when the client has read the
 * one before, and joins the audience where it meets it. Nothing is kept for it in memory either way.
 */
export class EventReader implements Member {
  readonly filter: EventFilter
  readonly outlet: Outlet
  place: number
  readonly #scope: ScopeId
  readonly #audiences: FanoutGroups
  /** While it is a member. */
  #seat: Seat | undefined
  #isReading = false
  #isEnded = false

  /** @param place of the last event that it need not get */
  constructor(scope: ScopeId, filter: EventFilter, place: number, outlet: Outlet, audiences: FanoutGroups) {
    this.filter = filter
    this.place = place
    this.outlet = outlet
    this.#scope = scope
    this.#audiences = audiences
  }

  take({ places, messages }: EventBatch): void {
    const first = places[0]!
    const last = places.at(-1)!
    if (last <= this.place) return
    if (this.outlet.isBehind) {
      this.place = Math.max(this.place, first - 1)
      this.#leave()
      return
    }
    const after = first > this.place ? 0 : places.findIndex((place) => place > this.place)
    this.place = last
    this.outlet.send(after === 0 ? messages : messages.slice(after))
  }

  /** Goes on where it is behind: at the start, and whenever the client has read what was sent. */
  advance(): void {
    if (this.#isReading || this.#isEnded || this.#seat !== undefined) return
    this.#catchUp().catch((error: unknown) => this.fail(error))
  }

  fail(error: unknown): void {
    if (!this.#isEnded) this.outlet.fail(error)
  }

  /** Sends nothing any more. */
  end(): void {
    this.#isEnded = true
    this.#leave()
  }

  async #catchUp(): Promise<void> {
    this.#isReading = true
    while (!this.#isEnded && !this.outlet.isBehind) {
      this.#seat = this.#audiences.join(this.#scope, this)
      if (this.#seat !== undefined) break
      const { events, place } = await this.#audiences.read(this.#scope, this.place)
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
      messages.push(this.outlet.encode(event))
      bytes += event.json.length
      if (bytes <= PART_BYTES) continue
      this.outlet.send(messages)
      this.place = place
      if (this.outlet.isBehind) return false
      messages = []
      bytes = 0
    }
    if (messages.length > 0) this.outlet.send(messages)
    return true
  }

  #leave(): void {
    const seat = this.#seat
    if (seat === undefined) return
    this.#seat = undefined
    this.#audiences.leave(this.#scope, this, seat)
  }
}
