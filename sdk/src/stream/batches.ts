import type { Position } from './messages.ts'
import { merged, WatchListener } from './watchListener.ts'

/**
 * The changes in an area, many at a time: for maps with thousands of devices, where one step of a loop for each would cost
 * more than all else.
 *
 * Whoever is slow gets one batch with the newest change of each device.
 */
export class BatchIterator extends WatchListener<readonly Position[]> {
  /** The last message, unchanged, while nothing else waits. */
  #message: readonly Position[] | undefined
  /** The positions that wait beyond that, by device. */
  readonly #waiting = new Map<string, Position>()

  protected put(positions: readonly Position[]): void {
    if (this.#message === undefined && this.#waiting.size === 0) this.#message = positions
    else {
      if (this.#message !== undefined) this.#add(this.#message)
      this.#message = undefined
      this.#add(positions)
    }
    this.inlet.wake()
  }

  protected take(): readonly Position[] | undefined {
    const batch = this.#message ?? [...this.#waiting.values()]
    this.clear()
    return batch.length === 0 ? undefined : batch
  }

  protected clear(): void {
    this.#message = undefined
    this.#waiting.clear()
  }

  #add(positions: readonly Position[]): void {
    for (const position of positions) {
      const { deviceId } = position.user
      const waiting = this.#waiting.get(deviceId)
      const newer = waiting === undefined ? position : merged(waiting, position)
      if (newer === undefined) this.#waiting.delete(deviceId)
      else this.#waiting.set(deviceId, newer)
    }
  }
}
