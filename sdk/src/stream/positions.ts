import { RingfenceError } from '../errors.ts'
import { Inlet } from './inlet.ts'
import type { Listener, ListenerHost } from './listener.ts'
import type { Position, ServerMessage, WatchedArea } from './messages.ts'

/**
 * The devices in an area as they enter, move and leave: whoever applies the changes in turn knows who is inside.
 *
 * Of each device only the newest change waits to be taken, so that a slow reader falls behind in detail and never in time.
 * When the connection is lost, all that were inside leave; those that still are enter again once it is back.
 */
export class PositionIterator implements AsyncIterableIterator<Position, undefined>, Listener {
  /** Resolves when the server has begun to watch. */
  readonly ready: Promise<void>
  readonly #host: ListenerHost
  readonly #area: WatchedArea
  readonly #minIntervalMs: number | undefined
  readonly #inlet: Inlet<Position>
  /** By device: what waits to be taken. */
  readonly #waiting = new Map<string, Position>()
  /** By device: where those are that the server has told of. */
  readonly #inside = new Map<string, Position>()
  #name: string | undefined

  constructor(host: ListenerHost, area: WatchedArea, minIntervalMs: number | undefined) {
    this.#host = host
    this.#area = area
    this.#minIntervalMs = minIntervalMs
    this.#inlet = new Inlet(
      () => this.#take(),
      () => this.#leave(),
    )
    this.ready = this.#inlet.begun
  }

  next(): Promise<IteratorResult<Position, undefined>> {
    return this.#inlet.next()
  }

  /** Watches no more. */
  return(): Promise<IteratorResult<Position, undefined>> {
    return this.#inlet.return()
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  opened(): void {
    this.#name = this.#host.register(this)
    const message = { type: 'watch', id: this.#name, area: this.#area } as const
    this.#host.send(
      this.#minIntervalMs === undefined ? message : { ...message, minIntervalMs: this.#minIntervalMs },
    )
  }

  lost(): void {
    if (this.#name !== undefined) this.#host.forget(this.#name)
    this.#name = undefined
    for (const position of this.#inside.values()) this.#put({ ...position, change: 'leave' })
    this.#inside.clear()
  }

  received(message: ServerMessage): void {
    if (message.type === 'position') {
      const { type: _type, watch: _watch, ...position } = message
      if (position.change === 'leave') this.#inside.delete(position.user.deviceId)
      else this.#inside.set(position.user.deviceId, position)
      this.#put(position)
    } else if (message.type === 'watching') {
      this.#inlet.begin()
    } else if (message.type === 'error') {
      this.#host.remove(this)
      this.lost()
      this.ended({ error: new RingfenceError(message.code, message.message, message) })
    }
  }

  ended(end: { readonly error?: unknown }): void {
    this.#unwatch()
    this.#inlet.end(end)
  }

  #put(position: Position): void {
    const { deviceId } = position.user
    const waiting = this.#waiting.get(deviceId)
    const newer = waiting === undefined ? position : merged(waiting, position)
    if (newer === undefined) this.#waiting.delete(deviceId)
    else this.#waiting.set(deviceId, newer)
    this.#inlet.wake()
  }

  #take(): Position | undefined {
    for (const [deviceId, position] of this.#waiting) {
      this.#waiting.delete(deviceId)
      return position
    }
    return undefined
  }

  #leave(): void {
    this.#unwatch()
    this.#waiting.clear()
    this.#host.remove(this)
  }

  #unwatch(): void {
    if (this.#name !== undefined) this.#host.send({ type: 'unwatch', id: this.#name })
    this.#inside.clear()
    this.lost()
  }
}

/** Two changes of one device as one; undefined where they come to nothing. */
function merged(earlier: Position, later: Position): Position | undefined {
  if (earlier.change === 'enter') return later.change === 'leave' ? undefined : { ...later, change: 'enter' }
  if (earlier.change === 'leave') return { ...later, change: 'move' }
  return later
}
