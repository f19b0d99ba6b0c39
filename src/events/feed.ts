import type { Committed, CommittedConsumer } from '../log/port.ts'
import type { ScopeId } from '../model/scope.ts'
import { ConcurrencyLimit } from '../runtime/concurrencyLimit.ts'
import { STRETCH_CHARACTERS } from './port.ts'
import type { EventIndex, LoggedEvent, Scopes, StoredEvent, EventPage } from './port.ts'

/**
 * The event log as its readers see it: whoever delivers events is a cursor, an offset in the log that it moves on when
 * its receiver has what came before. So nobody's slowness holds up anybody else, and nothing is kept per reader.
 *
 * As long as somebody follows, the last events are in memory, where readers that keep up find them at once; those that
 * fall behind, or come back, read the index. While nobody does, none are kept: to hold them for some seconds makes the
 * garbage collector move each of them twice, which is half of what an event costs here.
 *
 * Invariants
 * - FEED-1: Events come in the order of the log, each once for a cursor that is kept.
 * - FEED-2: An event is in the feed only once its frame is durable (G5): the host adds it then.
 */

/** Bytes, about, of the events that are kept in memory. */
const RECENT_BYTES = 32 * 1024 * 1024
const EVENT_BYTES = 300
/**
 * Stretches that are read from the index at one time: after a restart all readers come back together, and neither memory
 * nor the queue of the index's thread, where queries wait too, must be of the size of their crowd.
 */
const READS_AT_ONCE = 16

export class EventFeed implements CommittedConsumer<StoredEvent> {
  /** How many events {@link forget} was told of: who keeps events can see by it whether they may be deleted by now. */
  forgotten = 0
  readonly #index: EventIndex
  readonly #recentBytes: number
  readonly #reads = new ConcurrencyLimit(READS_AT_ONCE)
  /** Ascending offsets, all from the first on; those before `#first` are dropped from time to time. */
  #recent: LoggedEvent[] = []
  #first = 0
  #bytes = 0
  /** Cursors under way in {@link follow}. */
  #followers = 0
  readonly #waiting = new Set<() => void>()

  constructor(index: EventIndex, recentBytes = RECENT_BYTES) {
    this.#index = index
    this.#recentBytes = recentBytes
  }

  /** The offset of the last event. */
  get lastOffset(): number {
    return this.#index.lastOffset
  }

  get pendingBytes(): number {
    return this.#index.pendingBytes
  }

  /** Adds events, to the index too: see {@link EventIndex.add}. */
  committed({ position, events, firstOffset }: Committed<StoredEvent>): void {
    this.#index.add(position, events, firstOffset)
    let offset = this.#index.lastOffset - events.length
    if (this.#followers === 0) {
      this.#recent = []
      this.#first = this.#bytes = 0
      return
    }
    for (const event of events) {
      this.#recent.push({ offset: ++offset, event })
      this.#bytes += bytesOf(event)
    }
    this.#forget()
    for (const wake of this.#waiting) wake()
    this.#waiting.clear()
  }

  /** Drops an event that somebody has deleted from the index: readers from memory do not meet it either. */
  forget(scope: ScopeId, id: string): void {
    this.forgotten++
    const at = this.#recent.findLastIndex(({ event }) => event.id === id && event.scope === scope)
    if (at < this.#first) return
    const [dropped] = this.#recent.splice(at, 1)
    this.#bytes -= bytesOf(dropped!.event)
  }

  /** The offset of an event, to go on from; undefined where there is none with that id in the scope. */
  offsetOf(scope: ScopeId, id: string): Promise<number | undefined> {
    return this.#index.offsetOf(scope, id)
  }

  /**
   * At most `limit` events from after an offset on, or as many as reach {@link STRETCH_CHARACTERS}.
   * @param signal of a reader that may end while it waits: then nothing is read for it
   */
  async read(scopes: Scopes, after: number, limit: number, signal?: AbortSignal): Promise<EventPage> {
    const oldest = this.#recent[this.#first]?.offset ?? this.lastOffset + 1
    if (after >= oldest - 1) return this.#readRecent(scopes, after, limit)
    return this.#reads.run(async () =>
      signal?.aborted ? { events: [], offset: after } : this.#index.read(scopes, after, limit),
    )
  }

  /**
   * The events from after an offset on, those yet to come included, until `signal` ends it.
   * Stretches may be empty: they tell a reader that skips what it does not want how far it has come.
   */
  async *follow(
    scopes: Scopes,
    after: number,
    limit: number,
    signal: AbortSignal,
  ): AsyncGenerator<EventPage> {
    let offset = after
    this.#followers++
    try {
      while (!signal.aborted) {
        if (offset >= this.lastOffset) {
          await this.#more(signal)
          continue
        }
        const stretch = await this.read(scopes, offset, limit, signal)
        offset = stretch.offset
        if (!signal.aborted) yield stretch
      }
    } finally {
      this.#followers--
    }
  }

  #readRecent(scopes: Scopes, after: number, limit: number): EventPage {
    const events: LoggedEvent[] = []
    let at = this.#indexBehind(after)
    let characters = 0
    for (; at < this.#recent.length && events.length < limit && characters < STRETCH_CHARACTERS; at++) {
      const placed = this.#recent[at]!
      if (scopes !== 'all' && placed.event.scope !== scopes) continue
      events.push(placed)
      characters += placed.event.json.length
    }
    // Behind the last one here there is none, though there may have been.
    const offset = at === this.#recent.length ? this.lastOffset : this.#recent[at - 1]!.offset
    return { events, offset: Math.max(after, offset) }
  }

  /** Where in {@link #recent} the first event behind an offset is. */
  #indexBehind(offset: number): number {
    let low = this.#first
    let high = this.#recent.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#recent[middle]!.offset > offset) high = middle
      else low = middle + 1
    }
    return low
  }

  /** Resolves when something is added or the signal ends. */
  #more(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        signal.removeEventListener('abort', wake)
        this.#waiting.delete(wake)
        resolve()
      }
      this.#waiting.add(wake)
      signal.addEventListener('abort', wake)
    })
  }

  #forget(): void {
    while (this.#bytes > this.#recentBytes) this.#bytes -= bytesOf(this.#recent[this.#first++]!.event)
    if (this.#first * 2 <= this.#recent.length) return
    this.#recent = this.#recent.slice(this.#first)
    this.#first = 0
  }
}

function bytesOf(event: StoredEvent): number {
  return EVENT_BYTES + event.json.length
}
