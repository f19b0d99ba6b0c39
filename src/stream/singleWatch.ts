import { PART_BYTES, type Encoded } from '../events/fanoutGroup.ts'
import type { ShownDevice, WrittenPosition } from './messages.ts'
import { positionOf } from './shownDevice.ts'
import { Watch } from './watch.ts'

/** How many parts are sent in one turn. Writing a position takes about two microseconds, and 100,000 may be due. */
const PARTS_A_TURN = 2
/** How many stays are woken in one turn. That of one takes a third of a microsecond, and 100,000 may rest. */
const WOKEN_A_TURN = 10_000

/** A device's current position, or its last one if its record is gone. */
export interface LiveDevice extends ShownDevice {
  recordId: string
  userId: string | undefined
  latitude: number
  longitude: number
  accuracy: number
  updatedAt: number
  /** The areas that contain it, of watches that are told at once. */
  readonly stays: Map<SingleWatch, Stay>
  /** What codecs have made of this position, for the next watch. It is undefined after a move. */
  written: WrittenPosition | undefined
}

/** A device in the area of a watch, until the client knows that it left. */
export interface Stay {
  readonly watch: SingleWatch
  readonly device: LiveDevice
  isInside: boolean
  /** Whether the client was sent an enter, and no leave since then. */
  isTold: boolean
  /** Whether it has moved during its interval. */
  hasMoved: boolean
  /** No move is sent before this time, in epoch milliseconds. */
  restsUntil: number
  /** Its index in the stays of the watch. */
  place: number
}

/**
 * A watch that sends a message for each position, at once.
 *
 * Invariants
 * - WATCH-3: A stay is in `#due` when a message about it is to be sent at once, and in `#resting` during the interval
 *   after its last message.
 */
export class SingleWatch extends Watch {
  readonly isBatched = false
  /** All stays that are not forgotten, in no order. A Set of 65,000 takes milliseconds to grow. */
  readonly stays: Stay[] = []
  /** The stays with a message that is due, in the order in which they became due. */
  readonly #due = new Set<Stay>()
  /** The stays with a message less than an interval ago, in the order of those messages. */
  readonly #resting = new Set<Stay>()
  /** The time of the last {@link send}, or earlier. */
  #now = 0
  /** Whether more due messages are sent in the next turn. */
  #isContinuing = false

  /** The device is in the area and was not before. */
  enter(device: LiveDevice): void {
    const stay: Stay = {
      watch: this,
      device,
      isInside: true,
      isTold: false,
      hasMoved: false,
      restsUntil: 0,
      place: this.stays.length,
    }
    device.stays.set(this, stay)
    this.stays.push(stay)
    this.#due.add(stay)
  }

  /** The device is still in the area, or came back before the client was told that it had left. */
  move(stay: Stay, now: number): void {
    stay.isInside = true
    if (!stay.isTold || !this.rests(stay.restsUntil, now)) {
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

  /** Removes a stay from the stays, unless it is not one of them any more. */
  remove(stay: Stay): void {
    const { place } = stay
    if (this.stays[place] !== stay) return
    const last = this.stays.pop()!
    if (last === stay) return
    this.stays[place] = last
    last.place = place
  }

  /** Sends what is due. If it is much, that takes several turns. */
  override send(now: number): void {
    if (this.isEnded) return
    this.#now = now
    if (!this.#isContinuing) this.#sendTurn()
  }

  protected override get stayCount(): number {
    return this.stays.length
  }

  #sendTurn(): void {
    this.#isContinuing = false
    if (this.isEnded) return
    const isMoreToWake = this.#wake()
    let parts = 0
    while (this.#due.size > 0 && this.maySend && parts++ < PARTS_A_TURN) this.#sendPart(this.#now)
    if (!isMoreToWake && (this.#due.size === 0 || !this.maySend)) return
    this.#isContinuing = true
    setImmediate(() => this.#sendTurn())
  }

  /** Ends the rest of stays whose interval is over. Returns whether there may be more of them. */
  #wake(): boolean {
    let left = WOKEN_A_TURN
    for (const stay of this.#resting) {
      if (this.rests(stay.restsUntil, this.#now)) return false
      if (left-- === 0) return true
      this.#resting.delete(stay)
      if (stay.hasMoved) this.#due.add(stay)
    }
    return false
  }

  #sendPart(now: number): void {
    const { connection } = this.owner
    const messages: Encoded[] = []
    let bytes = 0
    for (const stay of this.#due) {
      const position = positionOf(changeOf(stay), stay.device, writtenOf(stay.device))
      const message = connection.codec.encode({ type: 'position', watch: this.id, ...position })
      messages.push(message)
      bytes += message.length
      this.#due.delete(stay)
      this.#told(stay, now)
      if (bytes > PART_BYTES) break
    }
    connection.sendEncoded(messages)
  }

  /** The client has been sent the stay's change. */
  #told(stay: Stay, now: number): void {
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
    this.remove(stay)
    this.owner.forget(stay)
  }
}

/** What the client is told about a stay. */
function changeOf({ isInside, isTold }: Stay): 'enter' | 'move' | 'leave' {
  if (!isInside) return 'leave'
  return isTold ? 'move' : 'enter'
}

/** What codecs keep for the other watches of a device. If there is only one watch, nobody else would read it. */
function writtenOf(device: LiveDevice): LiveDevice['written'] {
  if (device.stays.size > 1) device.written ??= { json: undefined }
  return device.written
}
