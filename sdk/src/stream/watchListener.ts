import { RingfenceError } from '../errors.ts'
import { Inlet } from './inlet.ts'
import type { Listener, ListenerHost } from './listener.ts'
import type { Position, ServerMessage, WatchedArea, WatchFilter } from './messages.ts'

/** What is watched, and how. */
export interface WatchTerms {
  readonly area: WatchedArea
  readonly minIntervalMs: number | undefined
  readonly filter: WatchFilter | undefined
}

/**
 * A watch of a stream, as an iterator over what a subclass makes of its positions.
 *
 * When the connection is lost, everybody inside leaves. Those who are still there enter again once the connection is
 * back.
 */
export abstract class WatchListener<T> implements AsyncIterableIterator<T, undefined>, Listener {
  /** Resolves when the server has begun to watch. */
  readonly ready: Promise<void>
  protected readonly inlet: Inlet<T>
  /** The last known positions of the devices inside, by device. */
  protected readonly inside = new Map<string, Position>()
  readonly #host: ListenerHost
  readonly #terms: WatchTerms
  readonly #isBatched: boolean
  #name: string | undefined

  constructor(host: ListenerHost, terms: WatchTerms, isBatched: boolean) {
    this.#host = host
    this.#terms = terms
    this.#isBatched = isBatched
    this.inlet = new Inlet(
      () => this.take(),
      () => this.#leave(),
    )
    this.ready = this.inlet.begun
  }

  /** Returns the next item that waits to be taken. */
  protected abstract take(): T | undefined
  /** Receives changes, also when everybody has left. */
  protected abstract put(positions: readonly Position[]): void
  /** Drops everything that waits, because it is not wanted any more. */
  protected abstract clear(): void

  next(): Promise<IteratorResult<T, undefined>> {
    return this.inlet.next()
  }

  /** Stops watching. */
  return(): Promise<IteratorResult<T, undefined>> {
    return this.inlet.return()
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  opened(): void {
    const { area, minIntervalMs, filter } = this.#terms
    this.#name = this.#host.register(this)
    this.#host.send({
      type: 'watch',
      id: this.#name,
      area,
      ...(minIntervalMs !== undefined && { minIntervalMs }),
      ...(filter !== undefined && { filter }),
      ...(this.#isBatched && { batch: true }),
    })
  }

  lost(): void {
    if (this.#name !== undefined) this.#host.forget(this.#name)
    this.#name = undefined
    const left = [...this.inside.values()].map((position) => ({ ...position, change: 'leave' }) as const)
    this.inside.clear()
    if (left.length > 0) this.put(left)
  }

  received(message: ServerMessage): void {
    if (message.type === 'position') {
      const { type: _type, watch: _watch, ...position } = message
      this.#take([position])
    } else if (message.type === 'positions') {
      this.#take(message.positions)
    } else if (message.type === 'watching') {
      this.inlet.begin()
    } else if (message.type === 'error') {
      this.#host.remove(this)
      this.lost()
      this.ended({ error: new RingfenceError(message.code, message.message, message) })
    }
  }

  ended(end: { readonly error?: unknown }): void {
    this.#unwatch()
    this.inlet.end(end)
  }

  #take(positions: readonly Position[]): void {
    for (const position of positions) {
      if (position.change === 'leave') this.inside.delete(position.user.deviceId)
      else this.inside.set(position.user.deviceId, position)
    }
    this.put(positions)
  }

  #leave(): void {
    this.#unwatch()
    this.clear()
    this.#host.remove(this)
  }

  #unwatch(): void {
    if (this.#name !== undefined) this.#host.send({ type: 'unwatch', id: this.#name })
    this.inside.clear()
    this.lost()
  }
}

/** Combines two changes of one device; undefined if together they change nothing. */
export function merged(earlier: Position, later: Position): Position | undefined {
  if (earlier.change === 'enter') return later.change === 'leave' ? undefined : { ...later, change: 'enter' }
  if (earlier.change === 'leave') return { ...later, change: 'move' }
  return later
}
