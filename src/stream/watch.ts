import type { ApiError } from '../runtime/errors.ts'
import type { Share } from '../runtime/keyedBound.ts'
import type { ShownDevice, WrittenPosition } from './messages.ts'
import type { StreamConnection } from './port.ts'
import type { SlowReaderTimer } from './slowReader.ts'
import type { DeviceTest } from './watchFilter.ts'

/** A device's current position, or its last one if its record is gone. */
export interface LiveDevice extends ShownDevice {
  recordId: string
  userId: string | undefined
  latitude: number
  longitude: number
  accuracy: number
  updatedAt: number
  /** The watched areas that contain it. */
  readonly stays: Map<Watch, Stay>
  /** What codecs have made of this position, for the next watch. It is undefined after a move. */
  written: WrittenPosition | undefined
  /** Whether it has moved since the watches that look at ticks last looked at it. */
  isStirred: boolean
}

/** A device in the area of a watch, until the client knows that it left. */
export interface Stay {
  readonly watch: Watch
  readonly device: LiveDevice
  isInside: boolean
  /** Whether the client was sent an enter, and no leave since then. */
  isTold: boolean
  /** Whether it has moved during its interval. */
  hasMoved: boolean
  /** No move is sent before this time, in epoch milliseconds. */
  restsUntil: number
  /** Whether the watch has dropped it. */
  isOver: boolean
  /** Whether it is in the queue of what is due, if the watch has one. */
  isDue: boolean
  /** Whether it is in the queue of what rests, if the watch has one. */
  isResting: boolean
}

/** What a watch needs from its owner. */
export interface WatchOwner {
  readonly connection: StreamConnection
  readonly slowReader: SlowReaderTimer
  /** The memory of the devices in its areas. */
  readonly devices: Share
  /** Called when the stay is over, and the client knows it. */
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
 * One watched area of one client: which devices are in it, and what the client does not know yet. Subclasses decide how
 * a client is told.
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
  /** All stays that are not forgotten. */
  readonly stays = new Set<Stay>()
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

  /**
   * Whether it only looks at the latest position of a device, at each tick. Other watches look at each position at
   * once.
   */
  abstract readonly looksAtTicks: boolean

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

  /** The device is in the area and was not before. */
  enter(device: LiveDevice): void {
    const stay: Stay = {
      watch: this,
      device,
      isInside: true,
      isTold: false,
      hasMoved: false,
      restsUntil: 0,
      isOver: false,
      isDue: false,
      isResting: false,
    }
    device.stays.set(this, stay)
    this.stays.add(stay)
    this.due(stay)
  }

  /** The device is still in the area, or came back before the client was told that it had left. */
  move(stay: Stay, now: number): void {
    stay.isInside = true
    if (!stay.isTold || !this.rests(stay, now)) {
      this.due(stay)
      return
    }
    stay.hasMoved = true
    // The device was in the area, at the position where it left.
    this.notDue(stay)
  }

  /** The device is no longer in the area. */
  leave(stay: Stay): void {
    stay.isInside = false
    if (stay.isTold) this.due(stay)
    else this.#drop(stay)
  }

  /** Sends what is due. */
  abstract send(now: number): void

  /** A message about the stay is to be sent, if it is not already. */
  protected abstract due(stay: Stay): void
  /** No message about the stay is to be sent any more. */
  protected abstract notDue(stay: Stay): void
  /** The interval of the stay begins. */
  protected abstract rest(stay: Stay): void
  /** The stay is over. Nothing about it is to be sent. */
  protected abstract over(stay: Stay): void

  /** Whether there may be something to send, and it may be sent. */
  protected get maySend(): boolean {
    return !this.isEnded && !this.owner.slowReader.isTried
  }

  /**
   * Whether a stay is still in its interval. If the clock was set back, nothing is delayed for longer than the
   * interval.
   */
  protected rests({ restsUntil }: Stay, now: number): boolean {
    return now < restsUntil && restsUntil <= now + this.intervalMs
  }

  /** The client has been sent the stay's change. */
  protected told(stay: Stay, now: number): void {
    if (!stay.isInside) return this.#drop(stay)
    stay.isTold = true
    stay.hasMoved = false
    stay.restsUntil = now + this.intervalMs
    this.rest(stay)
  }

  #drop(stay: Stay): void {
    stay.isOver = true
    this.over(stay)
    this.stays.delete(stay)
    this.owner.forget(stay)
  }
}

/** What the client is told about a stay. */
export function changeOf({ isInside, isTold }: Stay): 'enter' | 'move' | 'leave' {
  if (!isInside) return 'leave'
  return isTold ? 'move' : 'enter'
}
