import { ApiError } from '../runtime/errors.ts'
import type { Share } from '../runtime/keyedBound.ts'
import type { StreamConnection } from './port.ts'
import type { Stay } from './singleWatch.ts'
import type { SlowReaderTimer } from './slowReader.ts'
import type { DeviceTest } from './watchFilter.ts'

/** How many devices a watched area may have. */
const MAX_STAYS = 100_000
/** Approximate bytes for a device in an area, with its share of the text that several watches are sent. */
const STAY_BYTES = 600

/** What a watch needs from its owner. */
export interface WatchOwner {
  readonly connection: StreamConnection
  readonly slowReader: SlowReaderTimer
  /** The memory of the devices in its areas. */
  readonly devices: Share
  /** Called when the stay of a single watch is over, and the client knows it. */
  forget(stay: Stay): void
  /** Called when the watch cannot continue. It must be ended, and the client told. */
  failed(watch: Watch, error: ApiError): void
}

/** How a client wants to be told. */
export interface WatchTerms {
  /** A name that the client chooses. */
  readonly id: string
  readonly intervalMs: number
  /** The test of devices; undefined if all are wanted. */
  readonly test: DeviceTest | undefined
  /** The memory of the test in bytes. */
  readonly testBytes: number
}

/**
 * One watched area of one client. Subclasses decide which devices are in it, and what the client does not know yet.
 *
 * Positions are not queued for a client that is slow, or that got one a moment ago. The device is marked as changed,
 * and its latest position is sent later. So the number of devices in the area limits what waits.
 *
 * Invariants
 * - WATCH-1: For each device the client is told an enter, then moves, then a leave, and then perhaps an enter again.
 * - WATCH-2: Moves of a device are at least the interval apart. Enters and leaves are not delayed, except until the
 *   next message of a batched watch.
 */
export abstract class Watch {
  readonly id: string
  readonly intervalMs: number
  readonly test: DeviceTest | undefined
  readonly owner: WatchOwner
  readonly #testBytes: number
  isEnded = false
  /** The number of the last position that lies in the area. */
  foundBy = 0
  /** The memory of its area and its test in bytes. */
  #bytes = 0

  constructor({ id, intervalMs, test, testBytes }: WatchTerms, owner: WatchOwner) {
    this.id = id
    this.intervalMs = intervalMs
    this.test = test
    this.#testBytes = testBytes
    this.owner = owner
  }

  /** Whether one message has many positions, and is sent at ticks. */
  abstract readonly isBatched: boolean

  /** How many stays are not forgotten. */
  protected abstract readonly stayCount: number

  /** Sends what is due. */
  abstract send(now: number): void

  /**
   * Counts the memory of a new area instead of the old one. 0 means that nothing is kept any more.
   * @throws {ApiError} that names the limit; nothing has changed then
   */
  keep(areaBytes: number): void {
    const { kept } = this.owner.connection
    const bytes = areaBytes === 0 ? 0 : areaBytes + this.#testBytes
    if (bytes > this.#bytes) kept.acquire(bytes - this.#bytes, 'area')
    else kept.release(this.#bytes - bytes)
    this.#bytes = bytes
  }

  /** Counts the memory of one more device. If there is no room for it, the watch fails, and false is returned. */
  hasRoom(): boolean {
    if (this.stayCount === MAX_STAYS) {
      const sentence = `area: More than ${MAX_STAYS} devices are in it. Watch a smaller one.`
      this.owner.failed(this, new ApiError(400, sentence, { param: 'area' }))
      return false
    }
    try {
      this.owner.devices.acquire(STAY_BYTES, 'area')
      return true
    } catch (error) {
      this.owner.failed(this, error as ApiError)
      return false
    }
  }

  /** A device is forgotten. Its memory no longer counts. */
  giveRoom(): void {
    this.owner.devices.release(STAY_BYTES)
  }

  /** Whether there may be something to send, and it may be sent. */
  protected get maySend(): boolean {
    return !this.isEnded && !this.owner.slowReader.isTried
  }

  /**
   * Whether an interval that ends at `restsUntil` is not over. If the clock was set back, nothing is delayed for longer
   * than the interval.
   */
  protected rests(restsUntil: number, now: number): boolean {
    return now < restsUntil && restsUntil <= now + this.intervalMs
  }
}
