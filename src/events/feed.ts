import type { Committed, CommittedConsumer } from '../log/port.ts'
import type { ScopeId } from '../model/scope.ts'
import { ConcurrencyLimit } from '../runtime/concurrencyLimit.ts'
import { READ_CHARACTERS } from './port.ts'
import type { EventIndex, LoggedEvent, Scopes, StoredEvent, EventPage } from './port.ts'

/**
 * The event log as its readers see it. Every delivery is a cursor: an offset in the log that advances when the
 * receiver has everything before it. So a slow receiver delays nobody else, and nothing is kept per reader.
 *
 * While somebody follows, the last events are in memory, where readers that keep up find them at once. Readers that
 * fall behind, or come back, read the index. While nobody follows, no events are kept, because holding them for some
 * seconds makes the garbage collector move each of them twice, which is half of an event's cost here.
 *
 * Invariants
 * - FEED-1: Events come in the order of the log, each once for a cursor that is kept.
 * - FEED-2: An event is in the feed only once its frame is durable (G5): the host adds it then.
 */

/** Approximate bytes of the events that are kept in memory at most, while a cursor has not read them. */
const RECENT_BYTES = 32 * 1024 * 1024
/**
 * Approximate bytes of those that every cursor has read. They are for readers that come back soon. More would live long
 * enough for the garbage collector to move them, which takes a twelfth of the CPU of an update.
 */
const SPARE_BYTES = 256 * 1024
const EVENT_BYTES = 300
/**
 * How many parts of the log are read from the index at a time. After a restart, all readers come back together. Neither
 * memory nor the queue of the index's thread, where queries also wait, may grow with their number.
 */
const READS_AT_ONCE = 16

export class EventFeed implements CommittedConsumer<StoredEvent> {
  /**
   * How many events were passed to {@link forget}. Code that keeps events can tell from it whether some of them may
   * have been deleted.
   */
  forgotten = 0
  readonly #index: EventIndex
  readonly #recentBytes: number
  readonly #complete: () => Promise<void>
  readonly #reads = new ConcurrencyLimit(READS_AT_ONCE)
  /**
   * The latest events by ascending offset, complete from the first one on. Entries before `#first` are dropped from
   * time to time.
   */
  #recent: LoggedEvent[] = []
  #first = 0
  #bytes = 0
  /** The cursors of {@link follow}. */
  readonly #cursors = new Set<{ offset: number }>()
  readonly #waiting = new Set<Waiter>()

  /**
   * A feed over an index.
   * @param complete resolves once everything is here that was in the log when it was called; for a feed that follows a
   * log of several processes
   */
  constructor(
    index: EventIndex,
    recentBytes = RECENT_BYTES,
    complete: () => Promise<void> = () => Promise.resolve(),
  ) {
    this.#index = index
    this.#recentBytes = recentBytes
    this.#complete = complete
  }

  /** The offset of the last event. */
  get lastOffset(): number {
    return this.#index.lastOffset
  }

  get pendingBytes(): number {
    return this.#index.pendingBytes
  }

  /** Adds events, to the index as well; see {@link EventIndex.add}. */
  committed({ offset, events, firstEventOffset }: Committed<StoredEvent>): void {
    this.#index.add(offset, events, firstEventOffset)
    const before = this.#index.lastOffset - events.length
    if (this.#cursors.size === 0) {
      this.#recent = []
      this.#first = this.#bytes = 0
      return
    }
    let eventOffset = before
    for (const event of events) {
      this.#recent.push({ offset: ++eventOffset, event })
      this.#bytes += bytesOf(event)
    }
    this.#forget(before)
    for (const waiter of this.#waiting) waiter.wake()
    this.#waiting.clear()
  }

  /** Drops an event that was deleted from the index, so that readers that read from memory do not get it either. */
  forget(scope: ScopeId, id: string): void {
    this.forgotten++
    const at = this.#recent.findLastIndex(({ event }) => event.id === id && event.scope === scope)
    if (at < this.#first) return
    const [dropped] = this.#recent.splice(at, 1)
    this.#bytes -= bytesOf(dropped!.event)
  }

  /**
   * The offset of an event after which to continue; undefined if there is none with that id in the scope. A client may
   * have got the event from another process, before it arrived here.
   */
  async offsetOf(scope: ScopeId, id: string): Promise<number | undefined> {
    const offset = await this.#index.offsetOf(scope, id)
    if (offset !== undefined) return offset
    await this.#complete()
    return this.#index.offsetOf(scope, id)
  }

  /**
   * The offset itself, or the end of the log if that comes before it, as after a restore. Offsets may come from any
   * process.
   */
  async within(offset: number): Promise<number> {
    if (offset > this.lastOffset) await this.#complete()
    return Math.min(offset, this.lastOffset)
  }

  /**
   * Reads at most `limit` events after an offset, or as many as reach {@link READ_CHARACTERS}.
   * @param signal of a reader that may end while it waits; nothing is read for it then
   */
  async read(scopes: Scopes, after: number, limit: number, signal?: AbortSignal): Promise<EventPage> {
    const oldest = this.#recent[this.#first]?.offset ?? this.lastOffset + 1
    if (after >= oldest - 1) return this.#readRecent(scopes, after, limit)
    return this.#reads.run(async () =>
      signal?.aborted ? { events: [], offset: after } : this.#index.read(scopes, after, limit),
    )
  }

  /**
   * The events after an offset, including those yet to come, until `signal` is aborted. Parts may be empty; they
   * tell a reader that skips unwanted events how far it has come.
   */
  async *follow(
    scopes: Scopes,
    after: number,
    limit: number,
    signal: AbortSignal,
  ): AsyncGenerator<EventPage> {
    const cursor = { offset: after }
    const waiter: Waiter = { wake: () => {} }
    const ended = () => waiter.wake()
    this.#cursors.add(cursor)
    signal.addEventListener('abort', ended)
    try {
      while (!signal.aborted) {
        if (cursor.offset >= this.lastOffset) {
          await this.#more(waiter)
          continue
        }
        const part = await this.read(scopes, cursor.offset, limit, signal)
        cursor.offset = part.offset
        if (!signal.aborted) yield part
      }
    } finally {
      this.#cursors.delete(cursor)
      this.#waiting.delete(waiter)
      signal.removeEventListener('abort', ended)
    }
  }

  #readRecent(scopes: Scopes, after: number, limit: number): EventPage {
    const events: LoggedEvent[] = []
    let at = this.#indexBehind(after)
    let characters = 0
    for (; at < this.#recent.length && events.length < limit && characters < READ_CHARACTERS; at++) {
      const placed = this.#recent[at]!
      if (scopes !== 'all' && placed.event.scope !== scopes) continue
      events.push(placed)
      characters += placed.event.json.length
    }
    // After the last event in memory there are no others, although there may have been some that were deleted.
    const offset = at === this.#recent.length ? this.lastOffset : this.#recent[at - 1]!.offset
    return { events, offset: Math.max(after, offset) }
  }

  /** The index in {@link #recent} of the first event after an offset. */
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

  /** Resolves when something is added, or somebody else wakes the waiter. */
  #more(waiter: Waiter): Promise<void> {
    return new Promise((resolve) => {
      waiter.wake = resolve
      this.#waiting.add(waiter)
    })
  }

  /**
   * Forgets what need not be kept.
   * @param before the offset behind which nobody can have read yet
   */
  #forget(before: number): void {
    let read = before
    for (const { offset } of this.#cursors) read = Math.min(read, offset)
    const spareBytes = Math.min(SPARE_BYTES, this.#recentBytes)
    while (this.#bytes > spareBytes) {
      const { offset, event } = this.#recent[this.#first]!
      if (offset > read && this.#bytes <= this.#recentBytes) break
      this.#bytes -= bytesOf(event)
      this.#first++
    }
    if (this.#first * 2 <= this.#recent.length) return
    this.#recent = this.#recent.slice(this.#first)
    this.#first = 0
  }
}

/** Who waits for events. Listening to a signal anew at each wait would cost more than the wait. */
interface Waiter {
  wake: () => void
}

function bytesOf(event: StoredEvent): number {
  return EVENT_BYTES + event.json.length
}
