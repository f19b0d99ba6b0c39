import type { MessagePort } from 'node:worker_threads'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { CallRefused, serveCalls } from '../runtime/workerCalls.ts'
import { EventDatabase } from './eventDatabase.ts'
import type { PackedEvents } from './eventDatabase.ts'

/** What the index asks of its thread; answered in order, but for a prune and a copy, which let others pass. */
export interface EventThread extends Pick<
  EventDatabase,
  'list' | 'read' | 'offsetOf' | 'get' | 'verify' | 'delete'
> {
  add(position: number, rows: PackedEvents, bytes: number): void
  /** How many events were removed. */
  prune(before: number): Promise<number>
  /**
   * The copy's position.
   * @throws {CallRefused} a copy that did not come about; all else goes on
   */
  copy(file: string, pause: number): Promise<number>
  /** Ends the copy under way. */
  endCopy(): void
}

/** Where the index stands when it is open. */
export interface OpenedEvents {
  readonly position: number
  readonly offset: number
}

export type EventNotice =
  /** While an older file is brought up to date: offsets that are done, of how many. */
  | { readonly is: 'upgrading'; readonly done: number; readonly offsets: number }
  | { readonly is: 'durable'; readonly position: number }
  | { readonly is: 'copied'; readonly copied: number; readonly total: number }

/**
 * Milliseconds that something added waits for its checkpoint at most, or so many bytes of events. A checkpoint writes
 * each page that changed once, so that fewer of them write less; all they hold up is the trimming of the log.
 */
const CHECKPOINT_AFTER = 5_000
const CHECKPOINT_BYTES = 32 << 20
/** Bytes between two words about how far a copy is. */
const COPY_WORD_BYTES = 4 << 20
/**
 * Milliseconds of rest between the statements of a transaction. On one processor a thread that goes on is taken off it only
 * after its slice, 4 ms, for which an update would wait; one that rests lets it in at once.
 */
const BREATH = 1
/** What gathers so many bytes comes so fast that there is no time to rest. */
const HURRIED_BYTES = 1 << 20
const NEVER = new Int32Array(new SharedArrayBuffer(4))

/** Serves an event database to the thread at the other end of the port until it is closed or fails. */
export function serveEventDatabase(port: MessagePort, file: string): void {
  serveCalls<EventThread, OpenedEvents, EventNotice>(port, ({ notice, guard }) => {
    const database = new EventDatabase(file, (done, offsets) => notice({ is: 'upgrading', done, offsets }))
    let timer: NodeJS.Timeout | undefined
    let unflushedBytes = 0
    let isCopyEnded = false

    const checkpoint = (): void => {
      clearTimeout(timer)
      timer = undefined
      unflushedBytes = 0
      notice({ is: 'durable', position: database.checkpoint() })
    }
    const breathe = (): void => void Atomics.wait(NEVER, 0, 0, BREATH)
    const hurry = (): void => {}

    return {
      // What a killed process left may be in the page cache only.
      opened: { position: database.checkpoint(), offset: database.offset },
      methods: {
        add(position, rows, bytes) {
          database.add(position, rows, bytes < HURRIED_BYTES ? breathe : hurry)
          unflushedBytes += bytes
          if (unflushedBytes >= CHECKPOINT_BYTES) checkpoint()
          // A thread whose port is closed ends.
          else timer ??= setTimeout(() => guard(checkpoint), CHECKPOINT_AFTER).unref()
        },
        list: (scope, query) => database.list(scope, query),
        read: (scopes, after, limit) => database.read(scopes, after, limit),
        offsetOf: (scope, id) => database.offsetOf(scope, id),
        get: (scope, id) => database.get(scope, id),
        verify: (scope, id, verdict) => database.verify(scope, id, verdict),
        delete: (scope, id) => database.delete(scope, id),
        async prune(before) {
          for (let removed = 0; ; await nextTurn()) {
            const some = database.pruneSome(before)
            if (some === 0) return removed
            removed += some
          }
        },
        async copy(path, pause) {
          let told = 0
          isCopyEnded = false
          try {
            return await database.copy(path, (copied, total) => {
              if (isCopyEnded) throw new Error('The copy was canceled.')
              if (copied - told >= COPY_WORD_BYTES) notice({ is: 'copied', copied: (told = copied), total })
              Atomics.wait(NEVER, 0, 0, pause)
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
