import type { Position } from './messages.ts'
import { merged, WatchListener } from './watchListener.ts'

/**
 * The devices in an area as they enter, move and leave. If the changes are applied in order, the result is always who
 * is inside.
 *
 * Only the newest change of each device waits to be taken, so a slow reader misses details but is never late.
 */
export class PositionIterator extends WatchListener<Position> {
  /** The changes that wait to be taken, by device. */
  readonly #waiting = new Map<string, Position>()

  protected put(positions: readonly Position[]): void {
    for (const position of positions) {
      const { deviceId } = position.user
      const waiting = this.#waiting.get(deviceId)
      const newer = waiting === undefined ? position : merged(waiting, position)
      if (newer === undefined) this.#waiting.delete(deviceId)
      else this.#waiting.set(deviceId, newer)
    }
    this.inlet.wake()
  }

  protected take(): Position | undefined {
    for (const [deviceId, position] of this.#waiting) {
      this.#waiting.delete(deviceId)
      return position
    }
    return undefined
  }

  protected clear(): void {
    this.#waiting.clear()
  }
}
