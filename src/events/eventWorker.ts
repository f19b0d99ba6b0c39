import type { MessagePort } from 'node:worker_threads'
import type { ScopeId } from '../model/scope.ts'
import { EventDatabase } from './eventDatabase.ts'
import type { PackedEvents } from './eventDatabase.ts'
import type { EventQuery, Scopes, Verdict } from './port.ts'

/** What the index asks of its thread; answered in order, but for a prune, which lets others pass. */
export type EventRequest =
  | { readonly do: 'add'; readonly position: number; readonly rows: PackedEvents; readonly bytes: number }
  | { readonly do: 'list'; readonly call: number; readonly scope: ScopeId; readonly query: EventQuery }
  | {
      readonly do: 'read'
      readonly call: number
      readonly scopes: Scopes
      readonly after: number
      readonly limit: number
    }
  | { readonly do: 'placeOf'; readonly call: number; readonly scope: ScopeId; readonly id: string }
  | { readonly do: 'get'; readonly call: number; readonly scope: ScopeId; readonly id: string }
  | {
      readonly do: 'verify'
      readonly call: number
      readonly scope: ScopeId
      readonly id: string
      readonly verdict: Verdict
    }
  | { readonly do: 'delete'; readonly call: number; readonly scope: ScopeId; readonly id: string }
  | { readonly do: 'prune'; readonly call: number; readonly before: number }
  | { readonly do: 'copy'; readonly call: number; readonly file: string; readonly pause: number }
  | { readonly do: 'endCopy'; readonly call: number }
  | { readonly do: 'close' }

export type EventReply =
  | { readonly is: 'added'; readonly bytes: number }
  /** While an older file is brought up to date: places that are done, of how many. */
  | { readonly is: 'upgrading'; readonly done: number; readonly places: number }
  | { readonly is: 'opened'; readonly position: number; readonly place: number }
  | { readonly is: 'durable'; readonly position: number }
  | { readonly is: 'answer'; readonly call: number; readonly value: unknown }
  | { readonly is: 'copied'; readonly call: number; readonly copied: number; readonly total: number }
  /** A copy that did not come about; all else goes on. */
  | { readonly is: 'refused'; readonly call: number; readonly message: string }
  /** The last word: an error whose class is told by its name. */
  | { readonly is: 'failed'; readonly name: string; readonly message: string; readonly stack: string }

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
  const reply = (message: EventReply): void => port.postMessage(message)
  let timer: NodeJS.Timeout | undefined
  let unflushedBytes = 0

  const guard = (work: () => void): void => {
    try {
      work()
    } catch (error) {
      clearTimeout(timer)
      const { name, message, stack } = error as Error
      reply({ is: 'failed', name, message, stack: stack ?? message })
      port.close()
    }
  }

  guard(() => {
    const database = new EventDatabase(file, (done, places) => reply({ is: 'upgrading', done, places }))
    // What a killed process left may be in the page cache only.
    reply({ is: 'opened', position: database.checkpoint(), place: database.place })

    const checkpoint = (): void => {
      clearTimeout(timer)
      timer = undefined
      unflushedBytes = 0
      reply({ is: 'durable', position: database.checkpoint() })
    }

    const prune = (call: number, before: number, removed: number): void => {
      const some = database.pruneSome(before)
      if (some === 0) reply({ is: 'answer', call, value: removed })
      else setImmediate(() => guard(() => prune(call, before, removed + some)))
    }

    const breathe = (): void => void Atomics.wait(NEVER, 0, 0, BREATH)
    const hurry = (): void => {}

    let endedCopy = 0
    const copy = async (call: number, path: string, pause: number): Promise<void> => {
      let told = 0
      try {
        const value = await database.copy(path, (copied, total) => {
          if (endedCopy === call) throw new Error('The copy was canceled.')
          if (copied - told >= COPY_WORD_BYTES) reply({ is: 'copied', call, copied: (told = copied), total })
          Atomics.wait(NEVER, 0, 0, pause)
        })
        reply({ is: 'answer', call, value })
      } catch (error) {
        reply({ is: 'refused', call, message: (error as Error).message })
      }
    }

    const serve = (request: EventRequest): void => {
      switch (request.do) {
        case 'add':
          database.add(request.position, request.rows, request.bytes < HURRIED_BYTES ? breathe : hurry)
          reply({ is: 'added', bytes: request.bytes })
          unflushedBytes += request.bytes
          if (unflushedBytes >= CHECKPOINT_BYTES) checkpoint()
          else timer ??= setTimeout(() => guard(checkpoint), CHECKPOINT_AFTER)
          return
        case 'list':
          reply({ is: 'answer', call: request.call, value: database.list(request.scope, request.query) })
          return
        case 'read': {
          const value = database.read(request.scopes, request.after, request.limit)
          reply({ is: 'answer', call: request.call, value })
          return
        }
        case 'placeOf':
          reply({ is: 'answer', call: request.call, value: database.placeOf(request.scope, request.id) })
          return
        case 'get':
          reply({ is: 'answer', call: request.call, value: database.get(request.scope, request.id) })
          return
        case 'verify': {
          const value = database.verify(request.scope, request.id, request.verdict)
          reply({ is: 'answer', call: request.call, value })
          return
        }
        case 'delete':
          reply({ is: 'answer', call: request.call, value: database.delete(request.scope, request.id) })
          return
        case 'prune':
          prune(request.call, request.before, 0)
          return
        case 'copy':
          void copy(request.call, request.file, request.pause)
          return
        case 'endCopy':
          endedCopy = request.call
          return
        case 'close':
          checkpoint()
          database.close()
          port.close()
      }
    }
    port.on('message', (request: EventRequest) => guard(() => serve(request)))
  })
}
