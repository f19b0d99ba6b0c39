import { Worker } from 'node:worker_threads'
import { EVENT_INDEX_WORKER } from '../../workers/urls.ts'
import type { ScopeId } from '../model/scope.ts'
import { CallRefused, WorkerCalls, type ThreadEnd } from '../runtime/workerCalls.ts'
import { packEvents } from './eventDatabase.ts'
import type { PackedEvents } from './eventDatabase.ts'
import { EventIndexDamaged, EventIndexTooNew } from './eventTables.ts'
import type { EventNotice, EventThread, OpenedEvents } from './eventWorker.ts'
import type {
  CopyableEventIndex,
  CopyOptions,
  EventIndex,
  EventQuery,
  Scopes,
  StoredEvent,
  EventPage,
  Verdict,
} from './port.ts'
import { readEvent } from './record.ts'

/**
 * Milliseconds that added events wait for more of them; a query does not wait. Each transaction writes every page that
 * it touches once more, so fewer and larger ones write less.
 */
const GATHER = 200
/** Bytes of events in one transaction: some twenty milliseconds of the thread. */
const BATCH_BYTES = 2 << 20
/** Bytes of an event beside its JSON, about. */
const EVENT_BYTES = 150

/** The thread ended or its database failed; the index answers no more. The log still has what was not durable. */
export class EventIndexFailed extends Error {
  override readonly name = 'EventIndexFailed'
}

/** The index could not be copied; it goes on. */
export class EventCopyFailed extends Error {
  override readonly name = 'EventCopyFailed'
}

interface Batch {
  position: number
  readonly rows: PackedEvents
  bytes: number
}

/**
 * Opens the event index: SQLite in a thread of its own, so that neither inserting nor a long query holds up an update.
 *
 * Where `durablePosition` stands after opening, the log is to be read on from there. The file is never removed or
 * rebuilt: once the log is trimmed, nothing else has its events.
 * @param options.file created where absent
 * @param options.failed told once, when the thread or the database fails later on: add() then does nothing, all
 * queries reject
 * @param options.upgrading told, while an older file is brought up to date, how many of its places are done
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
 * Added events gather in a batch for some milliseconds, and for as long as the thread is busy with the one before:
 * the more there is, the fewer transactions. A query sends what has gathered before itself, and the thread answers in
 * order, so that it sees all that was added before it.
 */
class ThreadedEventIndex implements EventIndex, CopyableEventIndex {
  durablePosition = 0
  pendingBytes = 0
  lastOffset = 0
  #position = 0
  readonly #options: EventIndexOptions
  readonly #calls: WorkerCalls<EventThread, OpenedEvents, EventNotice>
  #batches: Batch[] = []
  /** Batches that the thread has not stored yet. */
  #underWay = 0
  #timer: NodeJS.Timeout | undefined
  #soon: NodeJS.Immediate | undefined
  /** Of the copy under way: one at a time. */
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
    const { position, offset } = await this.#calls.opened
    this.durablePosition = this.#position = position
    this.lastOffset = offset
  }

  #hear(notice: EventNotice): void {
    if (notice.is === 'durable') this.durablePosition = notice.position
    else if (notice.is === 'copied') this.#copyProgress?.(notice.copied, notice.total)
    else this.#options.upgrading?.(notice.done, notice.offsets)
  }

  add(position: number, events: readonly StoredEvent[], offset = this.lastOffset + 1): void {
    if (position <= this.#position || this.#calls.isEnded) return
    this.#position = position
    let batch = this.#batches.at(-1)
    if (batch === undefined || batch.bytes >= BATCH_BYTES) {
      batch = { position, rows: [], bytes: 0 }
      this.#batches.push(batch)
    }
    batch.position = position
    packEvents(events, offset - 1, batch.rows)
    if (events.length > 0) this.lastOffset = offset - 1 + events.length
    let bytes = 0
    for (const event of events) bytes += EVENT_BYTES + event.json.length
    batch.bytes += bytes
    this.pendingBytes += bytes
    if (this.#underWay === 0) this.#gather()
  }

  list(scope: ScopeId, query: EventQuery): Promise<{ readonly events: string[]; readonly hasMore: boolean }> {
    return this.#behindAdded().call('list', scope, query)
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

  verify(scope: ScopeId, id: string, verdict: Verdict): Promise<string | undefined> {
    return this.#behindAdded().call('verify', scope, id, verdict)
  }

  delete(scope: ScopeId, id: string): Promise<boolean> {
    return this.#behindAdded().call('delete', scope, id)
  }

  prune(before: number): Promise<number> {
    return this.#behindAdded().call('prune', before)
  }

  async copy(file: string, { pause, progress, signal }: CopyOptions): Promise<number> {
    this.#copyProgress = progress
    const end = (): void => void this.#calls.call('endCopy').catch(() => {})
    signal.addEventListener('abort', end)
    try {
      return await this.#behindAdded().call('copy', file, pause)
    } catch (error) {
      throw error instanceof CallRefused ? new EventCopyFailed(error.message) : error
    } finally {
      signal.removeEventListener('abort', end)
    }
  }

  close(): Promise<void> {
    // What a thread that fails while it closes has not made durable, the log still has.
    return this.#behindAdded()
      .close(new EventIndexFailed('The event index is closed.'))
      .catch(() => {})
  }

  /** The thread's calls, after all that was added. */
  #behindAdded(): WorkerCalls<EventThread, OpenedEvents, EventNotice> {
    while (this.#batches.length > 0) this.#sendFirst()
    return this.#calls
  }

  #gather(): void {
    if (this.#batches.length > 1 || this.#batches[0]!.bytes >= BATCH_BYTES) {
      // To hand much over takes milliseconds: not in the turn that told of it, and one batch at a time.
      this.#soon ??= setImmediate(() => this.#sendFirst())
    } else this.#timer ??= setTimeout(() => this.#sendFirst(), GATHER)
  }

  #sendFirst(): void {
    this.#dropTimers()
    const batch = this.#batches.shift()
    if (batch === undefined) return
    this.#underWay++
    const { position, rows, bytes } = batch
    this.#calls.call('add', position, rows, bytes).then(
      () => this.#stored(bytes),
      // All calls fail together, and the end of the thread is told once.
      () => {},
    )
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
