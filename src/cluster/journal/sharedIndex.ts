import type { ScopeId } from '../../model/scope.ts'
import { ApiError } from '../../runtime/errors.ts'
import { keepRunning, type Pause, type RetryPauses } from '../../runtime/retry.ts'
import { Slice } from '../../runtime/slices.ts'
import type { EventFeed } from '../../events/feed.ts'
import type {
  CountQuery,
  EventChange,
  EventIndex,
  EventList,
  EventFilters,
  EventQueries,
  EventQuery,
  IntervalCounts,
  SharedEvents,
  SharedMessage,
  StoredEvent,
  Verification,
} from '../../events/port.ts'
import { readEvent } from '../../events/record.ts'

/**
 * The events of the distributed engine in one of its processes: its own index, which follows the shared stream and
 * only gets what is in there. Its log offset, and the offset of an event, is the stream's sequence. So a start
 * continues where the last run ended, and an offset means the same to all processes.
 *
 * Clients' changes to events go into the stream too, and from there into each index. So all indices say the same, and
 * a new one needs nothing but the stream.
 *
 * Owns: the way from the stream into the feed. Does not own: the index and the feed.
 *
 * Invariants
 * - SHARED-INDEX-1: Each message is applied once, in the order of the stream (G2, G3). A change may be applied again,
 *   which has no effect.
 * - SHARED-INDEX-2: A change is answered once it is durable in the stream and applied here.
 */
export interface SharedIndexParts {
  readonly shared: SharedEvents
  readonly index: EventIndex
  /** The feed that reads the index. */
  readonly feed: EventFeed
  /** Called for each failure that is tried again. */
  readonly troubled: (error: Error) => void
  readonly pause: Pause
}

/** The index is ahead of the end of the stream. */
export class EventsMissing extends Error {
  override readonly name = 'EventsMissing'

  constructor(index: number, stream: number) {
    super(
      `The event index of the data folder has the shared events up to ${index}, but the stream EVENTS ends at ${stream}: events are ` +
        'missing there, perhaps after a restore. Remove events-<store>.sqlite; it is created again from the stream.',
    )
  }
}

const PAUSES: RetryPauses = { firstMs: 500, lastMs: 500 }
/** How many bytes may wait for the index before reading pauses. */
const PENDING_BYTES = 32 * 1024 * 1024
const PENDING_PAUSE_MS = 10
/** How long an entry of the stream may take to arrive here. */
const LATE_MS = 5000
const RETRY = { retryAfter: 1 }

export class SharedIndex implements EventQueries {
  readonly name = 'shared events'
  readonly #parts: SharedIndexParts
  readonly #stopped = new AbortController()
  readonly #waiting = new Set<() => void>()
  #sequence: number
  /** The sequence of the newest event when following began. */
  readonly #newestAtFirst: number
  /** How many messages are missing. Infinity until it has everything that existed when it began. */
  #behind = Infinity
  #isFollowing = false
  #running: Promise<void> = Promise.resolve()

  private constructor(parts: SharedIndexParts, newest: number) {
    this.#parts = parts
    this.#sequence = parts.index.durableLogOffset
    this.#newestAtFirst = newest
    if (newest <= this.#sequence) this.#behind = 0
  }

  /**
   * Opens the index, and follows the stream.
   * @throws {EventsMissing}
   */
  static async open(parts: SharedIndexParts): Promise<SharedIndex> {
    const { shared, index } = parts
    const last = await shared.lastSequence()
    if (last < index.durableLogOffset) throw new EventsMissing(index.durableLogOffset, last)
    return new SharedIndex(parts, await shared.newestEvent())
  }

  /** Whether it has everything that existed when it began, and receives more. */
  get status(): { readonly ok: boolean; readonly detail: string } {
    const offset = `at ${this.#sequence} of the stream EVENTS`
    if (!this.#isFollowing) return { ok: false, detail: `out of reach, ${offset}` }
    if (this.#behind === Infinity) return { ok: false, detail: `reading what there is, ${offset}` }
    return { ok: true, detail: `${offset}, ${this.#behind} behind` }
  }

  /** Resolves once it has everything that existed when it began, or is stopped. */
  async caughtUp(): Promise<void> {
    while (this.#behind === Infinity && !this.#stopped.signal.aborted)
      await new Promise<void>((resolve) => this.#waiting.add(resolve))
  }

  /**
   * Resolves once every event is here that is in the stream now.
   * @throws {ApiError} 503 if that takes too long
   */
  async upToDate(): Promise<void> {
    let newest: number
    try {
      newest = await this.#parts.shared.newestEvent()
    } catch (cause) {
      throw this.#outOfReach(cause as Error)
    }
    await this.#reached(newest, 'The newest events are not visible here yet. Try again.')
  }

  start(): void {
    this.#running = this.#run()
  }

  async stop(): Promise<void> {
    this.#stopped.abort()
    this.#wake()
    await this.#running
  }

  list(scope: ScopeId, query: EventQuery): Promise<EventList> {
    return this.#parts.index.list(scope, query)
  }

  total(scope: ScopeId, filters: EventFilters): Promise<number> {
    return this.#parts.index.total(scope, filters)
  }

  count(scope: ScopeId, query: CountQuery): Promise<IntervalCounts[]> {
    return this.#parts.index.count(scope, query)
  }

  get(scope: ScopeId, id: string): Promise<string | undefined> {
    return this.#parts.index.get(scope, id)
  }

  offsetOf(scope: ScopeId, id: string): Promise<number | undefined> {
    return this.#parts.index.offsetOf(scope, id)
  }

  async verify(scope: ScopeId, id: string, verdict: Verification): Promise<string | undefined> {
    if ((await this.get(scope, id)) === undefined) return undefined
    await this.#change({ scope, id, verdict })
    return this.get(scope, id)
  }

  async delete(scope: ScopeId, id: string): Promise<boolean> {
    if ((await this.get(scope, id)) === undefined) return false
    await this.#change({ scope, id })
    return true
  }

  /**
   * Publishes a client's change, and waits until it is applied here.
   * @throws {ApiError} 503 if it is not known whether it was made
   */
  async #change(change: EventChange): Promise<void> {
    let sequence: number
    try {
      sequence = await this.#parts.shared.append(change)
    } catch (cause) {
      throw this.#outOfReach(cause as Error)
    }
    await this.#reached(sequence, 'The change was made but is not visible here yet.')
  }

  #outOfReach(cause: Error): ApiError {
    this.#parts.troubled(cause)
    return new ApiError(503, 'The event log cannot be reached. Try again.', RETRY)
  }

  /**
   * Waits until the index has reached a sequence.
   * @throws {ApiError} 503 with the message if that takes too long
   */
  async #reached(sequence: number, otherwise: string): Promise<void> {
    const { pause } = this.#parts
    let isLate = false
    void pause(LATE_MS).then(() => {
      isLate = true
      this.#wake()
    })
    while (this.#sequence < sequence) {
      if (isLate || this.#stopped.signal.aborted) throw new ApiError(503, otherwise, RETRY)
      await new Promise<void>((resolve) => this.#waiting.add(resolve))
    }
  }

  #run(): Promise<void> {
    const { troubled, pause } = this.#parts
    const { signal } = this.#stopped
    return keepRunning(() => this.#follow(signal), { pauses: PAUSES, signal, failed: troubled, pause })
  }

  async #follow(signal: AbortSignal): Promise<void> {
    try {
      const messages = await this.#parts.shared.follow(this.#sequence, signal)
      this.#isFollowing = true
      // A thousand messages may be here already, and then nothing in this loop waits for the event loop.
      const slice = new Slice()
      for await (const message of messages) {
        await this.#take(message)
        if (signal.aborted) return
        if (slice.isOver) await slice.next()
      }
    } finally {
      this.#isFollowing = false
    }
  }

  async #take({ sequence, behind, event, change }: SharedMessage): Promise<void> {
    const { index, feed, pause } = this.#parts
    if (sequence <= this.#sequence) return
    // This must happen before the offset moves. After a crash, the change comes again.
    if (change?.verdict !== undefined) await index.verify(change.scope, change.id, change.verdict)
    else if (change !== undefined) {
      await index.delete(change.scope, change.id)
      feed.forget(change.scope, change.id)
    }
    feed.committed({
      offset: sequence,
      events: event === undefined ? [] : this.#read(event),
      firstEventOffset: sequence,
    })
    this.#sequence = sequence
    // Under load, there may always be something that the index lacks.
    if (behind === 0 || sequence >= this.#newestAtFirst) this.#behind = behind
    if (this.#waiting.size > 0) this.#wake()
    while (index.pendingBytes > PENDING_BYTES) await pause(PENDING_PAUSE_MS)
  }

  /** Reads an event. Undefined if it is not one of ours, because anybody with the permission may publish there. */
  #read({ scope, json }: { readonly scope: ScopeId; readonly json: string }): StoredEvent[] {
    try {
      return [readEvent(scope, json)]
    } catch (error) {
      this.#parts.troubled(error as Error)
      return []
    }
  }

  #wake(): void {
    for (const woken of this.#waiting) woken()
    this.#waiting.clear()
  }
}
