import { Worker } from 'node:worker_threads'
import { EVENT_INDEX_WORKER } from '../../workers/urls.ts'
import type { ScopeId } from '../model/scope.ts'
import { packEvents } from './eventDatabase.ts'
import type { PackedEvents, PlacedJsons } from './eventDatabase.ts'
import { EventIndexDamaged, EventIndexTooNew } from './eventTables.ts'
import type { EventReply, EventRequest } from './eventWorker.ts'
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

interface Pending {
  resolve(value: unknown): void
  reject(error: Error): void
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
export function openEventIndex(options: {
  readonly file: string
  readonly failed: (error: Error) => void
  readonly upgrading?: (done: number, places: number) => void
}): Promise<EventIndex & CopyableEventIndex> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(EVENT_INDEX_WORKER, { workerData: options.file })
    let opened = false
    worker.on('message', (reply: EventReply) => {
      if (reply.is === 'upgrading') options.upgrading?.(reply.done, reply.places)
    })
    const index = new ThreadedEventIndex(
      worker,
      options.file,
      () => {
        opened = true
        resolve(index)
      },
      (error) => (opened ? options.failed(error) : reject(error)),
    )
  })
}

/**
 * Added events gather in a batch for some milliseconds, and for as long as the thread is busy with the one before:
 * the more there is, the fewer transactions. A query sends what has gathered before itself, and the thread answers in
 * order, so that it sees all that was added before it.
 */
class ThreadedEventIndex implements EventIndex, CopyableEventIndex {
  durablePosition = 0
  pendingBytes = 0
  lastPlace = 0
  #position = 0
  readonly #worker: Worker
  #batches: Batch[] = []
  /** Batches that the thread has not stored yet. */
  #underWay = 0
  #timer: NodeJS.Timeout | undefined
  #soon: NodeJS.Immediate | undefined
  readonly #calls = new Map<number, Pending>()
  /** Of the copy under way: one at a time. */
  #copyProgress: CopyOptions['progress'] | undefined
  #lastCall = 0
  #ended: Error | undefined
  readonly #exited: Promise<void>
  readonly #failed: (error: Error) => void

  constructor(worker: Worker, file: string, opened: () => void, failed: (error: Error) => void) {
    this.#worker = worker
    this.#failed = failed
    worker.on('message', (reply: EventReply) => {
      if (reply.is === 'added') {
        this.pendingBytes -= reply.bytes
        this.#underWay--
        if (this.#underWay === 0 && this.#batches.length > 0) this.#gather()
      } else if (reply.is === 'durable') {
        this.durablePosition = reply.position
      } else if (reply.is === 'opened') {
        this.durablePosition = this.#position = reply.position
        this.lastPlace = reply.place
        opened()
      } else if (reply.is === 'answer') {
        this.#calls.get(reply.call)?.resolve(reply.value)
        this.#calls.delete(reply.call)
      } else if (reply.is === 'copied') {
        this.#copyProgress?.(reply.copied, reply.total)
      } else if (reply.is === 'refused') {
        this.#calls.get(reply.call)?.reject(new EventCopyFailed(reply.message))
        this.#calls.delete(reply.call)
      } else if (reply.is === 'failed') {
        this.#fail(errorOf(reply, file))
      }
    })
    worker.on('error', (cause) => {
      this.#fail(new EventIndexFailed(`The event index's thread failed: ${String(cause)}.`, { cause }))
    })
    this.#exited = new Promise((resolve) => {
      worker.on('exit', (code) => {
        this.#fail(new EventIndexFailed(`The event index's thread ended with code ${code}.`))
        resolve()
      })
    })
  }

  add(position: number, events: readonly StoredEvent[], place = this.lastPlace + 1): void {
    if (position <= this.#position || this.#ended !== undefined) return
    this.#position = position
    let batch = this.#batches.at(-1)
    if (batch === undefined || batch.bytes >= BATCH_BYTES) {
      batch = { position, rows: [], bytes: 0 }
      this.#batches.push(batch)
    }
    batch.position = position
    packEvents(events, place - 1, batch.rows)
    if (events.length > 0) this.lastPlace = place - 1 + events.length
    let bytes = 0
    for (const event of events) bytes += EVENT_BYTES + event.json.length
    batch.bytes += bytes
    this.pendingBytes += bytes
    if (this.#underWay === 0) this.#gather()
  }

  list(scope: ScopeId, query: EventQuery): Promise<{ readonly events: string[]; readonly hasMore: boolean }> {
    return this.#ask((call) => ({ do: 'list', call, scope, query }))
  }

  async read(scopes: Scopes, after: number, limit: number): Promise<EventPage> {
    const { events, place } = await this.#ask<PlacedJsons>((call) => ({
      do: 'read',
      call,
      scopes,
      after,
      limit,
    }))
    return {
      events: events.map((row) => ({ place: row.place, event: readEvent(row.scope, row.json) })),
      place,
    }
  }

  placeOf(scope: ScopeId, id: string): Promise<number | undefined> {
    return this.#ask((call) => ({ do: 'placeOf', call, scope, id }))
  }

  get(scope: ScopeId, id: string): Promise<string | undefined> {
    return this.#ask((call) => ({ do: 'get', call, scope, id }))
  }

  verify(scope: ScopeId, id: string, verdict: Verdict): Promise<string | undefined> {
    return this.#ask((call) => ({ do: 'verify', call, scope, id, verdict }))
  }

  delete(scope: ScopeId, id: string): Promise<boolean> {
    return this.#ask((call) => ({ do: 'delete', call, scope, id }))
  }

  prune(before: number): Promise<number> {
    return this.#ask((call) => ({ do: 'prune', call, before }))
  }

  copy(file: string, { pause, progress, signal }: CopyOptions): Promise<number> {
    this.#copyProgress = progress
    return this.#ask<number>((call) => {
      signal.addEventListener('abort', () => {
        if (this.#calls.has(call)) this.#worker.postMessage({ do: 'endCopy', call } satisfies EventRequest)
      })
      return { do: 'copy', call, file, pause }
    })
  }

  close(): Promise<void> {
    if (this.#ended === undefined) {
      this.#send()
      this.#worker.postMessage({ do: 'close' } satisfies EventRequest)
      this.#ended = new EventIndexFailed('The event index is closed.')
    }
    return this.#exited
  }

  #ask<T>(request: (call: number) => EventRequest): Promise<T> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended)
    this.#send()
    const call = ++this.#lastCall
    this.#worker.postMessage(request(call))
    return new Promise<T>((resolve, reject) => {
      this.#calls.set(call, { resolve: resolve as (value: unknown) => void, reject })
    })
  }

  #gather(): void {
    if (this.#batches.length > 1 || this.#batches[0]!.bytes >= BATCH_BYTES) {
      // To hand much over takes milliseconds: not in the turn that told of it, and one batch at a time.
      this.#soon ??= setImmediate(() => this.#sendFirst())
    } else this.#timer ??= setTimeout(() => this.#sendFirst(), GATHER)
  }

  #send(): void {
    while (this.#batches.length > 0) this.#sendFirst()
  }

  #sendFirst(): void {
    clearTimeout(this.#timer)
    clearImmediate(this.#soon)
    this.#timer = this.#soon = undefined
    const batch = this.#batches.shift()
    if (batch === undefined) return
    this.#underWay++
    this.#worker.postMessage({ do: 'add', ...batch } satisfies EventRequest)
  }

  #fail(error: Error): void {
    const unexpected = this.#ended === undefined
    this.#ended ??= error
    clearTimeout(this.#timer)
    clearImmediate(this.#soon)
    this.#batches = []
    for (const { reject } of this.#calls.values()) reject(this.#ended)
    this.#calls.clear()
    if (unexpected) this.#failed(error)
  }
}

function errorOf(
  reply: { readonly name: string; readonly message: string; readonly stack: string },
  file: string,
): Error {
  if (reply.name === 'EventIndexDamaged') return new EventIndexDamaged(reply.message)
  if (reply.name === 'EventIndexTooNew') return new EventIndexTooNew(reply.message)
  const error = new EventIndexFailed(`The event index ${file} failed: ${reply.message}.`)
  error.stack = reply.stack
  return error
}
