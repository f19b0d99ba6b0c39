import type { MessagePort } from 'node:worker_threads'
import { CallRefused, serveCalls } from '../runtime/workerCalls.ts'
import { EventDatabase } from './eventDatabase.ts'
import type { PackedEvents } from './packedEvents.ts'

/** The index's calls to its thread. They are answered in order, except for a copy, which lets others pass. */
export interface EventThread extends Pick<
  EventDatabase,
  'list' | 'search' | 'total' | 'count' | 'read' | 'offsetOf' | 'get' | 'verify' | 'delete'
> {
  /** @param rows come after those of {@link addLater} */
  add(logOffset: number, rows: PackedEvents, bytes: number): void
  /** Takes events that belong to the next {@link add}, because a thread receives many events in pieces. */
  addLater(rows: PackedEvents): void
  /** Removes old events. Returns how many were removed. */
  prune(before: number): number
  /**
   * Copies the file. Returns the copy's log offset.
   * @throws {CallRefused} if the copy failed; everything else continues
   */
  copy(file: string, pauseMs: number): Promise<number>
  /** Ends the copy in progress. */
  endCopy(): void
}

/** The state of the index when it is open. */
export interface OpenedEvents {
  readonly logOffset: number
  readonly offset: number
}

export type EventNotice =
  /** Sent while an older file is upgraded: how many offsets are done, and of how many. */
  | { readonly is: 'upgrading'; readonly done: number; readonly offsets: number }
  | { readonly is: 'durable'; readonly logOffset: number }
  | { readonly is: 'copied'; readonly copied: number; readonly total: number }

/**
 * The longest time, in milliseconds, that added events wait for their checkpoint. It also happens after that many
 * bytes of events. A checkpoint writes each changed page once, so fewer checkpoints write less. They only delay the
 * trimming of the log.
 */
const CHECKPOINT_AFTER_MS = 5_000
const CHECKPOINT_BYTES = 32 << 20
/** How many bytes lie between two progress reports of a copy. */
const COPY_WORD_BYTES = 4 << 20
/**
 * How long the thread rests between the statements of a transaction, in milliseconds. On a single processor, the
 * system only interrupts a busy thread after its time slice of 4 ms, and an update would wait for it. A thread that
 * rests lets the update in at once.
 */
const REST_MS = 1
/** If this many bytes have been gathered, events come so fast that there is no time to rest. */
const HURRIED_BYTES = 1 << 20
const NEVER = new Int32Array(new SharedArrayBuffer(4))

/** Serves an event database to the thread at the other end of the port until it is closed or fails. */
export function serveEventDatabase(port: MessagePort, file: string): void {
  serveCalls<EventThread, OpenedEvents, EventNotice>(port, ({ notice, guard }) => {
    const database = new EventDatabase(file, (done, offsets) => notice({ is: 'upgrading', done, offsets }))
    let timer: NodeJS.Timeout | undefined
    let unflushedBytes = 0
    let isCopyEnded = false
    /** Events of the next call to add. */
    let earlier: PackedEvents[] = []

    const checkpoint = (): void => {
      clearTimeout(timer)
      timer = undefined
      unflushedBytes = 0
      notice({ is: 'durable', logOffset: database.checkpoint() })
    }
    const breathe = (): void => void Atomics.wait(NEVER, 0, 0, REST_MS)
    const hurry = (): void => {}

    return {
      // What a killed process has written may only be in the page cache, so it is flushed first.
      opened: { logOffset: database.checkpoint(), offset: database.offset },
      methods: {
        add(logOffset, rows, bytes) {
          const all = earlier.length === 0 ? rows : ([] as PackedEvents).concat(...earlier, rows)
          earlier = []
          database.add(logOffset, all, bytes < HURRIED_BYTES ? breathe : hurry)
          unflushedBytes += bytes
          if (unflushedBytes >= CHECKPOINT_BYTES) checkpoint()
          // A thread ends when its port is closed.
          else timer ??= setTimeout(() => guard(checkpoint), CHECKPOINT_AFTER_MS).unref()
        },
        addLater: (rows) => void earlier.push(rows),
        list: (scope, query) => database.list(scope, query),
        search: (scope, query, cursor) => database.search(scope, query, cursor),
        total: (scope, filters, cursor) => database.total(scope, filters, cursor),
        count: (scope, query, cursor) => database.count(scope, query, cursor),
        read: (scopes, after, limit) => database.read(scopes, after, limit),
        offsetOf: (scope, id) => database.offsetOf(scope, id),
        get: (scope, id) => database.get(scope, id),
        verify: (scope, id, verdict) => database.verify(scope, id, verdict),
        delete: (scope, id) => database.delete(scope, id),
        prune: (before) => database.pruneSome(before),
        async copy(path, pauseMs) {
          let told = 0
          isCopyEnded = false
          try {
            return await database.copy(path, (copied, total) => {
              if (isCopyEnded) throw new Error('The copy was canceled.')
              if (copied - told >= COPY_WORD_BYTES) notice({ is: 'copied', copied: (told = copied), total })
              Atomics.wait(NEVER, 0, 0, pauseMs)
            })
          } catch (error) {
            throw new CallRefused((error as Error).message, { cause: error })
          }
        },
        endCopy() {
          isCopyEnded = true
        },
      },
      close() {
        checkpoint()
        database.close()
      },
    }
  })
}
