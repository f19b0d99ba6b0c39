import type { EventFeed } from '../events/feed.ts'
import type { EventIndex, EventPage, StoredEvent } from '../events/port.ts'
import type { ScopeId } from '../model/scope.ts'

/** The messages of hooks that are not events of the event log, and what is known of the devices that cause them. */

/** Something that a hook was told, or that it must remember. It is stored as a whole or not at all. */
export interface HookEntry {
  readonly hookId: string
  readonly messages: readonly HookMessage[]
  /** The stays by key. Null means that the stay has ended. */
  readonly stays: readonly (readonly [key: string, value: string | null])[]
}

/** A message; its id is 24 hex. */
export type HookMessage = Pick<
  StoredEvent,
  'id' | 'type' | 'deviceId' | 'userRecordId' | 'createdAt' | 'actualCreatedAt' | 'json'
>

/** The stays of a hook when its process ended. */
export interface KnownStays {
  /** The definition that was given to {@link HookStore.begin}. */
  readonly definition: string
  readonly stays: readonly (readonly [key: string, value: string])[]
}

/** For each hook with messages, the last offset and the number of messages. */
export type HookEnds = ReadonlyMap<string, { readonly offset: number; readonly count: number }>

/**
 * The store of a {@link HookLog}. Everything survives `kill -9` once its promise has resolved. A power failure may
 * undo the latest changes, messages and stays together.
 */
export interface HookStore {
  /** The ends of all hooks, and the last offset that was ever given. */
  ends(): Promise<{ readonly ends: HookEnds; readonly lastOffset: number }>
  /** The stays of a hook; undefined if the hook has not begun. */
  stays(hookId: string): Promise<KnownStays | undefined>
  /** Replaces all stays of a hook. */
  begin(hookId: string, known: KnownStays): Promise<void>
  /** Adds all entries or none. Returns the offset of the last message. */
  append(entries: readonly HookEntry[]): Promise<number>
  /** At most `limit` messages after an offset, oldest first. */
  read(hookId: string, after: number, limit: number): Promise<readonly (HookMessage & { offset: number })[]>
  get(id: string): Promise<string | undefined>
  /** Removes messages. */
  remove(ids: readonly string[]): Promise<void>
  /** Removes the stays of a hook, so that it starts again. If `whole` is set, its messages are removed, too. */
  forget(hookId: string, whole: boolean): Promise<void>
  close(): Promise<void>
}

/** What a hook's endpoint reads. `EventFeed` and `EventIndex` describe the methods. */
export interface MessageSource {
  readonly feed: Pick<EventFeed, 'follow' | 'read' | 'lastOffset' | 'forgotten'>
  readonly events: Pick<EventIndex, 'get'>
}

/**
 * The messages of hooks of areas and roaming, in the order in which they arose. An endpoint is a cursor over the
 * messages of its hook, as others are over the event log. A message is removed once it is delivered.
 *
 * Invariants
 * - HOOK-LOG-1: A message is stored with the stay that it is about, both or neither, so after the end of the process,
 *   however it ends, what was told and what is known agree.
 */
export class HookLog {
  readonly #store: HookStore
  #lastOffset = 0
  readonly #ends = new Map<string, { offset: number; count: number }>()
  readonly #waiting = new Map<string, Set<() => void>>()

  static async open(store: HookStore): Promise<HookLog> {
    const { ends, lastOffset } = await store.ends()
    const log = new HookLog(store)
    log.#lastOffset = lastOffset
    log.#take(ends)
    return log
  }

  private constructor(store: HookStore) {
    this.#store = store
  }

  /** Counts the messages again: those that were given up are removed when they are too old. */
  async recount(): Promise<void> {
    this.#take((await this.#store.ends()).ends)
  }

  #take(ends: HookEnds): void {
    this.#ends.clear()
    for (const [hookId, end] of ends) this.#ends.set(hookId, { ...end })
  }

  /** Messages of the hook that are not delivered yet. */
  count(hookId: string): number {
    return this.#ends.get(hookId)?.count ?? 0
  }

  stays(hookId: string): Promise<KnownStays | undefined> {
    return this.#store.stays(hookId)
  }

  begin(hookId: string, known: KnownStays): Promise<void> {
    return this.#store.begin(hookId, known)
  }

  async append(entries: readonly HookEntry[]): Promise<void> {
    const offset = await this.#store.append(entries)
    this.#lastOffset = Math.max(this.#lastOffset, offset)
    for (const { hookId, messages } of entries) {
      if (messages.length === 0) continue
      const { count } = this.#ends.get(hookId) ?? { count: 0 }
      this.#ends.set(hookId, { offset, count: count + messages.length })
      for (const wake of this.#waiting.get(hookId) ?? []) wake()
    }
  }

  /** Removes a message that was delivered. */
  async delivered(hookId: string, id: string): Promise<void> {
    const end = this.#ends.get(hookId)
    if (end !== undefined) end.count = Math.max(0, end.count - 1)
    await this.#store.remove([id])
  }

  /** Forgets the stays of a hook that starts again, or everything about one that was removed. */
  async forget(hookId: string, isGone: boolean): Promise<void> {
    if (isGone) this.#ends.delete(hookId)
    await this.#store.forget(hookId, isGone)
  }

  close(): Promise<void> {
    return this.#store.close()
  }

  /** The messages of a hook as its endpoint reads them. */
  source(hookId: string, scope: ScopeId): MessageSource {
    const last = () => this.#lastOffset
    return {
      feed: {
        forgotten: 0,
        get lastOffset() {
          return last()
        },
        follow: (_, after, limit, signal) => this.#follow(hookId, scope, after, limit, signal),
        read: (_, after, limit) => this.#read(hookId, scope, after, limit),
      },
      events: { get: (_, id) => this.#store.get(id) },
    }
  }

  async #read(hookId: string, scope: ScopeId, after: number, limit: number): Promise<EventPage> {
    const end = this.#lastOffset
    const found = await this.#store.read(hookId, after, limit)
    const events = found.map(({ offset, ...message }) => ({ offset, event: { ...message, scope } }))
    return { events, offset: found.length < limit ? Math.max(end, after) : events.at(-1)!.offset }
  }

  async *#follow(
    hookId: string,
    scope: ScopeId,
    after: number,
    limit: number,
    signal: AbortSignal,
  ): AsyncGenerator<EventPage> {
    let offset = after
    while (!signal.aborted) {
      if ((this.#ends.get(hookId)?.offset ?? 0) <= offset) {
        await this.#more(hookId, signal)
        continue
      }
      const page = await this.#read(hookId, scope, offset, limit)
      offset = page.offset
      if (!signal.aborted) yield page
    }
  }

  /** Resolves with the next message of the hook, or when `signal` ends it. */
  #more(hookId: string, signal: AbortSignal): Promise<void> {
    const waiting = this.#waiting.get(hookId) ?? new Set()
    this.#waiting.set(hookId, waiting)
    return new Promise((resolve) => {
      const done = (): void => {
        waiting.delete(done)
        if (waiting.size === 0 && this.#waiting.get(hookId) === waiting) this.#waiting.delete(hookId)
        signal.removeEventListener('abort', done)
        resolve()
      }
      waiting.add(done)
      signal.addEventListener('abort', done)
      if (signal.aborted) done()
    })
  }
}
