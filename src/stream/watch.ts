import { isoDate } from '../model/isoDate.ts'
import { PART_BYTES, type Encoded } from '../events/fanoutGroup.ts'
import type { ApiError } from '../runtime/errors.ts'
import type { Share } from '../runtime/keyedBound.ts'
import type { WatchedPosition, WrittenPosition } from './messages.ts'
import type { SlowReaderTimer } from './slowReader.ts'
import type { StreamConnection } from './port.ts'
import type { DeviceTest } from './watchFilter.ts'

/** How many parts are sent in one turn. Writing a position takes about two microseconds, and 100,000 may be due. */
const PARTS_A_TURN = 2
/**
 * How many positions one message of a batched watch may have, which is about half a megabyte, in a few milliseconds.
 * Further ones wait for the next message.
 */
const BATCH_POSITIONS = 4000

/**
 * One watched area of one client: which devices are in it, and what the client does not know yet.
 *
 * Positions are not queued for a client that is slow, or that got one a moment ago. The device is marked as changed,
 * and its latest position is sent later. So the number of devices in the area limits what waits.
 *
 * Invariants
 * - WATCH-1: For each device the client is told an enter, then moves, then a leave, and then perhaps an enter again.
 * - WATCH-2: Moves of a device are at least the interval apart. Enters and leaves are not delayed, except until the
 *   next message of a batched watch.
 * - WATCH-3: A stay is in `#due` when a message about it is to be sent at once, and in `#resting` during the interval
 *   after its last message.
 */

/** A device's current position, or its last one if its record is gone. */
export interface LiveDevice {
  readonly deviceId: string
  recordId: string
  userId: string | undefined
  latitude: number
  longitude: number
  /** In metres; NaN if it is unknown. */
  accuracy: number
  /** The time t, in epoch milliseconds. */
  updatedAt: number
  /** The watched areas that contain it. */
  readonly stays: Map<Watch, Stay>
  /** What codecs have made of this position, for the next watch. It is undefined after a move. */
  written: WrittenPosition | undefined
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
  /** Whether one message has many positions. The owner decides when it is sent. */
  readonly isBatched: boolean
  /** The test of devices; undefined if all are wanted. */
  readonly test: DeviceTest | undefined
  /** The memory of the test in bytes. */
  readonly testBytes: number
}

export class Watch {
  readonly id: string
  readonly intervalMs: number
  readonly isBatched: boolean
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
  /** The stays with a message that is due, in the order in which they became due. */
  readonly #due = new Set<Stay>()
  /** The time of the last {@link send}, or earlier. */
  #now = 0
  /** Whether more due messages are sent in the next turn. */
  #isContinuing = false
  /** The stays with a message less than an interval ago, in the order of those messages. */
  readonly #resting = new Set<Stay>()

  constructor({ id, intervalMs, isBatched, test, testBytes }: WatchTerms, owner: WatchOwner) {
    this.id = id
    this.intervalMs = intervalMs
    this.isBatched = isBatched
    this.test = test
    this.#testBytes = testBytes
    this.owner = owner
  }

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
    const stay: Stay = { watch: this, device, isInside: true, isTold: false, hasMoved: false, restsUntil: 0 }
    device.stays.set(this, stay)
    this.stays.add(stay)
    this.#due.add(stay)
  }

  /** The device is still in the area, or came back before the client was told that it had left. */
  move(stay: Stay, now: number): void {
    stay.isInside = true
    if (!stay.isTold || !this.#rests(stay, now)) {
      this.#due.add(stay)
      return
    }
    stay.hasMoved = true
    // The device was in the area, at the position where it left.
    this.#due.delete(stay)
  }

  /** The device is no longer in the area. */
  leave(stay: Stay): void {
    stay.isInside = false
    if (stay.isTold) this.#due.add(stay)
    else this.#drop(stay)
  }

  /** Sends what is due. If it is much, that takes several turns. */
  send(now: number): void {
    if (this.isEnded) return
    this.#now = now
    for (const stay of this.#resting) {
      if (this.#rests(stay, now)) break
      this.#resting.delete(stay)
      if (stay.hasMoved) this.#due.add(stay)
    }
    if (this.isBatched) this.#sendBatch()
    else if (!this.#isContinuing) this.#sendParts()
  }

  #sendBatch(): void {
    if (!this.#hasToSend) return
    const positions: WatchedPosition[] = []
    for (const stay of this.#due) {
      positions.push(positionOf(stay))
      this.#told(stay, this.#now)
      if (positions.length === BATCH_POSITIONS) break
    }
    this.owner.connection.send({ type: 'positions', watch: this.id, positions })
  }

  #sendParts(): void {
    for (let parts = 0; this.#hasToSend; parts++) {
      if (parts === PARTS_A_TURN) {
        this.#isContinuing = true
        setImmediate(() => {
          this.#isContinuing = false
          this.#sendParts()
        })
        return
      }
      this.#sendPart(this.#now)
    }
  }

  get #hasToSend(): boolean {
    return this.#due.size > 0 && !this.isEnded && !this.owner.slowReader.isTried
  }

  /**
   * Whether a stay is still in its interval. If the clock was set back, nothing is delayed for longer than the
   * interval.
   */
  #rests({ restsUntil }: Stay, now: number): boolean {
    return now < restsUntil && restsUntil <= now + this.intervalMs
  }

  #sendPart(now: number): void {
    const { connection } = this.owner
    const messages: Encoded[] = []
    let bytes = 0
    for (const stay of this.#due) {
      const message = connection.codec.encode({ type: 'position', watch: this.id, ...positionOf(stay) })
      messages.push(message)
      bytes += message.length
      this.#told(stay, now)
      if (bytes > PART_BYTES) break
    }
    connection.sendEncoded(messages)
  }

  #told(stay: Stay, now: number): void {
    this.#due.delete(stay)
    if (!stay.isInside) return this.#drop(stay)
    stay.isTold = true
    stay.hasMoved = false
    stay.restsUntil = now + this.intervalMs
    // It is inserted at the end, even if it was there before, because the order is that of `restsUntil`.
    this.#resting.delete(stay)
    this.#resting.add(stay)
  }

  #drop(stay: Stay): void {
    this.#due.delete(stay)
    this.#resting.delete(stay)
    this.stays.delete(stay)
    this.owner.forget(stay)
  }
}

function positionOf({ device, isInside, isTold }: Stay): WatchedPosition {
  const { recordId, userId, deviceId, longitude, latitude, accuracy, updatedAt, stays } = device
  // If there is only one watch, nobody else would read what is kept.
  if (stays.size > 1) device.written ??= { json: undefined }
  return {
    change: !isInside ? 'leave' : isTold ? 'move' : 'enter',
    user: { _id: recordId, userId, deviceId },
    location: { type: 'Point', coordinates: [longitude, latitude] },
    locationAccuracy: Number.isNaN(accuracy) ? undefined : accuracy,
    updatedAt: isoDate(updatedAt),
    written: device.written,
  }
}
