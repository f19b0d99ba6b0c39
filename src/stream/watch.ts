import { isoDate } from '../model/isoDate.ts'
import { PART_BYTES, type Encoded } from '../events/fanoutGroup.ts'
import type { ApiError } from '../runtime/errors.ts'
import type { Share } from '../runtime/keyedBound.ts'
import type { WatchedPosition, WrittenPosition } from './messages.ts'
import type { SlowReaderTimer } from './slowReader.ts'
import type { StreamConnection } from './port.ts'
import type { DeviceTest } from './watchFilter.ts'

/** Parts that are sent in one turn. Writing a position takes about two microseconds, and 100,000 may be due. */
const PARTS_A_TURN = 2
/**
 * Positions in one message of a batched watch: about half a megabyte, in a few milliseconds. What is more waits for the
 * next message.
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
  /** Metres; NaN if unknown. */
  accuracy: number
  /** Epoch milliseconds, time t. */
  updatedAt: number
  /** The watched areas that contain it. */
  readonly stays: Map<Watch, Stay>
  /** What codecs have made of this position, for the next watch; undefined after a move. */
  written: WrittenPosition | undefined
}

/** A device in the area of a watch, until the client knows that it left. */
export interface Stay {
  readonly watch: Watch
  readonly device: LiveDevice
  isInside: boolean
  /** The client was sent an enter, and no leave since. */
  isTold: boolean
  /** It has moved during its interval. */
  hasMoved: boolean
  /** Epoch milliseconds; no move is sent before this. */
  restsUntil: number
}

/** What a watch needs from its owner. */
export interface WatchOwner {
  readonly connection: StreamConnection
  readonly slowReader: SlowReaderTimer
  /** Memory of the devices in its areas. */
  readonly devices: Share
  /** The stay is over, and the client knows it. */
  forget(stay: Stay): void
  /** The watch cannot continue. It must be ended and the client told. */
  failed(watch: Watch, error: ApiError): void
}

/** How a client wants to be told. */
export interface WatchTerms {
  /** Chosen by the client. */
  readonly id: string
  readonly intervalMs: number
  /** One message has many positions; its owner says when it is sent. */
  readonly isBatched: boolean
  /** Undefined: all devices. */
  readonly test: DeviceTest | undefined
  /** Memory of the test. */
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
  /** Number of the last position that lies in the area. */
  foundBy = 0
  /** Memory of its area and its test. */
  #bytes = 0
  /** Stays with a message due, in the order in which they became due. */
  readonly #due = new Set<Stay>()
  /** The time of the last {@link send}, or earlier. */
  #now = 0
  /** More due messages are sent in the next turn. */
  #isContinuing = false
  /** Stays with a message less than an interval ago, in the order of those messages. */
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
   * Counts the memory of a new area instead of the old one; 0: of nothing any more.
   * @throws ApiError that names the bound; then nothing has changed
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
    // It was in the area, at the position where it left.
    this.#due.delete(stay)
  }

  /** The device is no longer in the area. */
  leave(stay: Stay): void {
    stay.isInside = false
    if (stay.isTold) this.#due.add(stay)
    else this.#drop(stay)
  }

  /** Sends what is due. If that is much, it takes several turns. */
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

  /** If the clock was set back, nothing is delayed for longer than the interval. */
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
    // Inserted at the end, even if it was there before, because the order is that of `restsUntil`.
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
  // Nobody else would read what is kept for one watch alone.
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
