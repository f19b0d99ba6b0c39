import { Worker } from 'node:worker_threads'
import { EVENT_INDEX_WORKER } from '../../workers/urls.ts'
import type { ScopeId } from '../model/scope.ts'
import { CallRefused, WorkerCalls, type ThreadEnd } from '../runtime/workerCalls.ts'
import { PackingQueue, type PackedEvents } from './packedEvents.ts'
import { EventIndexDamaged, EventIndexTooNew } from './eventTables.ts'
import type { EventNotice, EventThread, OpenedEvents } from './eventWorker.ts'
import { looksInto } from './eventSearch.ts'
import type { OwnedEvent } from './ownedEvents.ts'
import { PAGE_CHARACTERS, TooManyEvents } from './port.ts'
import type {
  CopyableEventIndex,
  CopyOptions,
  CountQuery,
  EventFilters,
  EventIndex,
  EventList,
  EventQuery,
  IntervalCounts,
  Scopes,
  StoredEvent,
  EventPage,
  Verification,
} from './port.ts'
import { readEvent } from './record.ts'

/**
 * How long added events wait for more of them, in milliseconds; a query does not wait. Each transaction writes every
 * page that it changes once more, so fewer and larger transactions write less.
 */
const GATHER_MS = 200
/** The bytes of events in one transaction, which keep the thread busy for about twenty milliseconds. */
const BATCH_BYTES = 2 << 20
/**
 * The characters of events that are handed to the thread at a time, which takes half a millisecond. The events of one
 * update may have thirty million. So many are handed over at once, although their batch still gathers: texts that wait
 * here are moved twice by the garbage collector.
 */
const PIECE_CHARACTERS = 128 * 1024
/**
 * How many steps one search has; then its page ends with what was found. A step takes some ten milliseconds of the
 * thread.
 */
const SEARCH_STEPS = 50
/** How many events one call counts, which takes some seconds of the thread, in steps. */
const MOST_COUNTED = 1_000_000
/** Approximate bytes of an event besides its JSON. */
const EVENT_BYTES = 150

/**
 * The thread has ended or its database failed. The index answers no more queries. The log still has everything that
 * was not durable.
 */
export class EventIndexFailed extends Error {
  override readonly name = 'EventIndexFailed'
}

/** The index could not be copied; it continues to work. */
export class EventCopyFailed extends Error {
  override readonly name = 'EventCopyFailed'
}

interface Batch {
  logOffset: number
  /** The events that the thread has not received yet. */
  readonly rows: PackingQueue
  /** The approximate size of all its events. */
  bytes: number
}

/**
 * Opens the event index: SQLite in a thread of its own, so that neither inserting nor a long query delays an update.
 *
 * After opening, the log must be read from `durableLogOffset` on. The file is never removed or rebuilt, because once
 * the log is trimmed, nothing else has its events.
 * @param options.file created if it does not exist
 * @param options.failed called once, if the thread or the database fails later; then add() does nothing, and all
 * queries reject
 * @param options.upgrading called while an older file is upgraded, with how many of its offsets are done
 * @throws {@link EventIndexDamaged}, {@link EventIndexTooNew}, {@link EventIndexFailed}
 */
export async function openEventIndex(options: EventIndexOptions): Promise<EventIndex & CopyableEventIndex> {
  const index = new ThreadedEventIndex(options)
  await index.opened()
  return index
}

interface EventIndexOptions {
  readonly file: string
  readonly failed: (error: Error) => void
  readonly upgrading?: (done: number, offsets: number) => void
}

/**
 * Added events are gathered into a batch for some milliseconds, and while the thread is busy with the previous batch:
 * the more events there are, the fewer transactions. A query first sends what has been gathered, and the thread
 * answers in order, so the query sees everything that was added before it.
 */
class ThreadedEventIndex implements EventIndex, CopyableEventIndex {
  durableLogOffset = 0
  pendingBytes = 0
  lastOffset = 0
  #logOffset = 0
  readonly #options: EventIndexOptions
  readonly #calls: WorkerCalls<EventThread, OpenedEvents, EventNotice>
  #batches: Batch[] = []
  /** Batches that the thread has not stored yet. */
  #underWay = 0
  /** Whether the first batch takes no more events, because its last pieces are being sent. */
  #isComplete = false
  #timer: NodeJS.Timeout | undefined
  #soon: NodeJS.Immediate | undefined
  #handsOver = false
  /** The callback of the copy in progress; there is at most one copy at a time. */
  #copyProgress: CopyOptions['progress'] | undefined

  constructor(options: EventIndexOptions) {
    this.#options = options
    const worker = new Worker(EVENT_INDEX_WORKER, { workerData: options.file })
    this.#calls = new WorkerCalls(worker, {
      errorOf: (end) => errorOf(end, options.file),
      failed: (error) => this.#fail(error),
      noticed: (notice) => this.#hear(notice),
    })
  }

  async opened(): Promise<void> {
    const { logOffset, offset } = await this.#calls.opened
    this.durableLogOffset = this.#logOffset = logOffset
    this.lastOffset = offset
  }

  #hear(notice: EventNotice): void {
    if (notice.is === 'durable') this.durableLogOffset = notice.logOffset
    else if (notice.is === 'copied') this.#copyProgress?.(notice.copied, notice.total)
    else this.#options.upgrading?.(notice.done, notice.offsets)
  }

  add(logOffset: number, events: readonly StoredEvent[], offset = this.lastOffset + 1): void {
    if (logOffset <= this.#logOffset || this.#calls.isEnded) return
    this.#logOffset = logOffset
    const last = this.#batches.at(-1)
    const isFull = last === undefined || last.bytes >= BATCH_BYTES
    if (isFull || (this.#isComplete && this.#batches.length === 1))
      this.#batches.push({ logOffset, rows: new PackingQueue(), bytes: 0 })
    const batch = this.#batches.at(-1)!
    batch.logOffset = logOffset
    let characters = 0
    for (const event of events) characters += event.json.length
    if (events.length > 0) {
      batch.rows.add(events, offset - 1, characters)
      this.lastOffset = offset - 1 + events.length
    }
    const bytes = characters + EVENT_BYTES * events.length
    batch.bytes += bytes
    this.pendingBytes += bytes
    if (this.#underWay === 0 && !this.#isComplete) this.#gather()
    this.#handOverSoon()
  }

  list(scope: ScopeId, query: EventQuery): Promise<EventList> {
    const isOfOwner = query.userId !== undefined || query.deviceId !== undefined
    return isOfOwner || !looksInto(query)
      ? this.#behindAdded().call('list', scope, query)
      : this.#search(scope, query)
  }

  /** Searches step by step, so that the thread answers others in between. */
  async #search(scope: ScopeId, query: EventQuery): Promise<EventList> {
    const events: string[] = []
    let characters = 0
    let cursor: OwnedEvent | undefined
    for (let step = 0; ; step++) {
      const limit = query.limit - events.length
      const found = await this.#behindAdded().call('search', scope, { ...query, limit }, cursor)
      for (const json of found.events) {
        if (events.length === query.limit || characters >= PAGE_CHARACTERS) return { events, hasMore: true }
        events.push(json)
        characters += json.length
      }
      cursor = found.cursor
      if (cursor === undefined) return { events, hasMore: false }
      if (step === SEARCH_STEPS) return { events, hasMore: true, next: found.lastId! }
    }
  }

  async total(scope: ScopeId, filters: EventFilters): Promise<number> {
    let cursor: OwnedEvent | undefined
    let count = 0
    let examined = 0
    do {
      const step = await this.#behindAdded().call('total', scope, filters, cursor)
      count += step.count
      cursor = step.cursor
      examined += step.examined
      if (examined > MOST_COUNTED) throw new TooManyEvents(`more than ${MOST_COUNTED}`)
    } while (cursor !== undefined)
    return count
  }

  async count(scope: ScopeId, query: CountQuery): Promise<IntervalCounts[]> {
    const { from, to, stepMs } = query
    // Maps, because an event of one's own may be named like something that every object has: `constructor`.
    const intervals = Array.from({ length: Math.ceil((to - from) / stepMs) }, () => new Map<string, number>())
    let cursor: OwnedEvent | undefined
    let examined = 0
    do {
      const step = await this.#behindAdded().call('count', scope, query, cursor)
      for (const [interval, type, count] of step.counts) {
        const counts = intervals[interval]!
        counts.set(type, (counts.get(type) ?? 0) + count)
      }
      cursor = step.cursor
      examined += step.examined
      if (examined > MOST_COUNTED) throw new TooManyEvents(`more than ${MOST_COUNTED}`)
    } while (cursor !== undefined)
    return intervals.map((counts) => Object.fromEntries(counts))
  }

  async read(scopes: Scopes, after: number, limit: number): Promise<EventPage> {
    const { events, offset } = await this.#behindAdded().call('read', scopes, after, limit)
    return {
      events: events.map((row) => ({ offset: row.offset, event: readEvent(row.scope, row.json) })),
      offset,
    }
  }

  offsetOf(scope: ScopeId, id: string): Promise<number | undefined> {
    return this.#behindAdded().call('offsetOf', scope, id)
  }

  get(scope: ScopeId, id: string): Promise<string | undefined> {
    return this.#behindAdded().call('get', scope, id)
  }

  verify(scope: ScopeId, id: string, verdict: Verification): Promise<string | undefined> {
    return this.#behindAdded().call('verify', scope, id, verdict)
  }

  delete(scope: ScopeId, id: string): Promise<boolean> {
    return this.#behindAdded().call('delete', scope, id)
  }

  prune(before: number): Promise<number> {
    return this.#behindAdded().call('prune', before)
  }

  async copy(file: string, { pauseMs, progress, signal }: CopyOptions): Promise<number> {
    this.#copyProgress = progress
    const end = (): void => void this.#calls.call('endCopy').catch(() => {})
    signal.addEventListener('abort', end)
    try {
      return await this.#behindAdded().call('copy', file, pauseMs)
    } catch (error) {
      throw error instanceof CallRefused ? new EventCopyFailed(error.message) : error
    } finally {
      signal.removeEventListener('abort', end)
    }
  }

  close(): Promise<void> {
    // If a thread fails while it closes, the log still has what was not durable.
    return this.#behindAdded()
      .close(new EventIndexFailed('The event index is closed.'))
      .catch(() => {})
  }

  /** The thread's calls. They come after all events that were added. */
  #behindAdded(): WorkerCalls<EventThread, OpenedEvents, EventNotice> {
    while (this.#batches.length > 0) this.#sendPiece()
    return this.#calls
  }

  #gather(): void {
    if (this.#batches.length > 1 || this.#batches[0]!.bytes >= BATCH_BYTES) {
      // Sending a large batch takes milliseconds, so it is not done in the turn that reported it, and only one batch
      // is sent at a time.
      this.#soon ??= setImmediate(() => this.#sendPiece())
    } else this.#timer ??= setTimeout(() => this.#sendPiece(), GATHER_MS)
  }

  /** Sends the pieces of the first batch that are full, one in a turn, while more events may still come to it. */
  #handOverSoon(): void {
    const batch = this.#batches[0]
    if (this.#handsOver || this.#isComplete || batch === undefined) return
    if (batch.rows.characters < PIECE_CHARACTERS) return
    this.#handsOver = true
    setImmediate(this.#handOver)
  }

  readonly #handOver = (): void => {
    this.#handsOver = false
    const batch = this.#batches[0]
    // It may have been sent in the meantime, or the rest of it is being sent.
    if (this.#isComplete || batch === undefined || batch.rows.characters < PIECE_CHARACTERS) return
    this.#sendLater(batch.rows.take(PIECE_CHARACTERS))
    this.#handOverSoon()
  }

  #sendLater(piece: PackedEvents): void {
    this.#calls.call('addLater', piece).catch(() => {})
  }

  /** Sends a piece of the first batch. Its last one has it stored; further pieces follow in turns of their own. */
  #sendPiece(): void {
    this.#dropTimers()
    const batch = this.#batches[0]
    if (batch === undefined) return
    const piece = batch.rows.take(PIECE_CHARACTERS)
    if (!batch.rows.isEmpty) {
      this.#isComplete = true
      this.#sendLater(piece)
      this.#soon = setImmediate(() => this.#sendPiece())
      return
    }
    this.#isComplete = false
    this.#batches.shift()
    this.#underWay++
    const { logOffset, bytes } = batch
    this.#calls.call('add', logOffset, piece, bytes).then(
      () => this.#stored(bytes),
      // All calls fail together, but the thread's end is reported only once.
      () => {},
    )
    this.#handOverSoon()
  }

  #stored(bytes: number): void {
    this.pendingBytes -= bytes
    this.#underWay--
    if (this.#underWay === 0 && this.#batches.length > 0) this.#gather()
  }

  #dropTimers(): void {
    clearTimeout(this.#timer)
    clearImmediate(this.#soon)
    this.#timer = this.#soon = undefined
  }

  #fail(error: Error): void {
    this.#dropTimers()
    this.#batches = []
    this.#options.failed(error)
  }
}

function errorOf(end: ThreadEnd, file: string): Error {
  if (end.is === 'thrown') {
    const { cause } = end
    return new EventIndexFailed(`The event index's thread failed: ${String(cause)}.`, { cause })
  }
  if (end.is === 'exited')
    return new EventIndexFailed(`The event index's thread ended with code ${end.code}.`)
  const { name, message, stack } = end.failure
  if (name === 'EventIndexDamaged') return new EventIndexDamaged(message)
  if (name === 'EventIndexTooNew') return new EventIndexTooNew(message)
  const error = new EventIndexFailed(`The event index ${file} failed: ${message}.`)
  error.stack = stack ?? message
  return error
}
