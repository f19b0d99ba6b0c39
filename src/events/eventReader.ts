import type { ScopeId } from '../model/scope.ts'
import {
  messagesOf,
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
import type { LoggedEvent } from './port.ts'

/**
 * One reader of events, for a stream's subscription or server-sent events: an offset in the event log that advances as
 * its client reads.
 *
 * As long as the client reads everything at once, the reader is a member of its scope's fan-out. It is behind if the
 * client has not read what was sent, or comes back later. Then it reads the log by itself, each part after the
 * client has read the previous one, and joins the fan-out when it has reached it. In neither case is anything kept in
 * memory for it.
 */
export class EventReader implements Member {
  readonly filter: EventFilter
  readonly outlet: Outlet
  offset: number
  readonly #scope: ScopeId
  readonly #groups: FanoutGroups
  /** The reader's seat in the fan-out, while it is a member. */
  #seat: Seat | undefined
  /** Ends the reading of the log, while it is behind. */
  #reading: AbortController | undefined
  #isEnded = false

  /**
   * A reader that does not read yet.
   * @param offset the offset of the last event that it does not need
   */
  constructor(scope: ScopeId, filter: EventFilter, offset: number, outlet: Outlet, groups: FanoutGroups) {
    this.filter = filter
    this.offset = offset
    this.outlet = outlet
    this.#scope = scope
    this.#groups = groups
  }

  take({ offsets, items, messages }: EventBatch): void {
    const first = offsets[0]!
    const last = offsets.at(-1)!
    if (last <= this.offset) return
    if (this.outlet.isBehind) {
      this.offset = Math.max(this.offset, first - 1)
      this.#leave()
      return
    }
    const after = first > this.offset ? 0 : offsets.findIndex((offset) => offset > this.offset)
    this.offset = last
    this.outlet.send(after === 0 ? messages : messagesOf(this.outlet, items.slice(after)))
  }

  /** Continues if it is behind. It must be called at the start, and whenever the client has read what was sent. */
  advance(): void {
    if (this.#reading !== undefined || this.#isEnded || this.#seat !== undefined) return
    this.#catchUp().catch((error: unknown) => this.fail(error))
  }

  fail(error: unknown): void {
    if (!this.#isEnded) this.outlet.fail(error)
  }

  /** Ends the reader, so that nothing more is sent. */
  end(): void {
    this.#isEnded = true
    this.#reading?.abort()
    this.#leave()
  }

  async #catchUp(): Promise<void> {
    const { signal } = (this.#reading = new AbortController())
    while (!this.#isEnded && !this.outlet.isBehind) {
      this.#seat = this.#groups.join(this.#scope, this)
      if (this.#seat !== undefined) break
      const { events, offset } = await this.#groups.read(this.#scope, this.offset, signal)
      if (!this.#isEnded && this.#sendAll(events)) this.offset = offset
      await turn()
    }
    this.#reading = undefined
  }

  /** Sends events. Returns whether all have been sent; otherwise its offset is that of the last one sent. */
  #sendAll(events: readonly LoggedEvent[]): boolean {
    let items: Encoded[] = []
    let bytes = 0
    for (const { offset, event } of events) {
      if (!wants(this.filter, event)) continue
      items.push(this.outlet.encode(event))
      bytes += event.json.length
      if (bytes <= PART_BYTES) continue
      this.outlet.send(messagesOf(this.outlet, items))
      this.offset = offset
      if (this.outlet.isBehind) return false
      items = []
      bytes = 0
    }
    if (items.length > 0) this.outlet.send(messagesOf(this.outlet, items))
    return true
  }

  #leave(): void {
    const seat = this.#seat
    if (seat === undefined) return
    this.#seat = undefined
    this.#groups.leave(this.#scope, this, seat)
  }
}
