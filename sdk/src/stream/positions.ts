import type { Position } from './messages.ts'
import { merged, WatchListener } from './watchListener.ts'

/**
 * The devices in an area as they enter, move and leave: whoever applies the changes in turn knows who is inside.
 *
 * Of each device only the newest change waits to be taken, so that a slow reader falls behind in detail and never in time.
 */
export class PositionIterator extends WatchListener<Position> {
  /** By device: what waits to be taken. */
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
