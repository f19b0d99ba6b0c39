import { PART_BYTES, type Encoded } from '../events/fanoutGroup.ts'
import { positionOf } from './shownDevice.ts'
import { changeOf, Watch, type LiveDevice, type Stay } from './watch.ts'

/** How many parts are sent in one turn. Writing a position takes about two microseconds, and 100,000 may be due. */
const PARTS_A_TURN = 2

/**
 * A watch that sends a message for each position, at once.
 *
 * Invariants
 * - WATCH-3: A stay is in `#due` when a message about it is to be sent at once, and in `#resting` during the interval
 *   after its last message.
 */
export class SingleWatch extends Watch {
  readonly isBatched = false
  readonly looksAtTicks = false
  /** The stays with a message that is due, in the order in which they became due. */
  readonly #due = new Set<Stay>()
  /** The stays with a message less than an interval ago, in the order of those messages. */
  readonly #resting = new Set<Stay>()
  /** The time of the last {@link send}, or earlier. */
  #now = 0
  /** Whether more due messages are sent in the next turn. */
  #isContinuing = false

  /** Sends what is due. If it is much, that takes several turns. */
  override send(now: number): void {
    if (this.isEnded) return
    this.#now = now
    for (const stay of this.#resting) {
      if (this.rests(stay, now)) break
      this.#resting.delete(stay)
      if (stay.hasMoved) this.#due.add(stay)
    }
    if (!this.#isContinuing) this.#sendParts()
  }

  protected override due(stay: Stay): void {
    this.#due.add(stay)
  }

  protected override notDue(stay: Stay): void {
    this.#due.delete(stay)
  }

  protected override rest(stay: Stay): void {
    // It is inserted at the end, even if it was there before, because the order is that of `restsUntil`.
    this.#resting.delete(stay)
    this.#resting.add(stay)
  }

  protected override over(stay: Stay): void {
    this.#due.delete(stay)
    this.#resting.delete(stay)
  }

  #sendParts(): void {
    for (let parts = 0; this.#due.size > 0 && this.maySend; parts++) {
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
      this.told(stay, now)
      if (bytes > PART_BYTES) break
    }
    connection.sendEncoded(messages)
  }
}

/** What codecs keep for the other watches of a device. If there is only one watch, nobody else would read it. */
function writtenOf(device: LiveDevice): LiveDevice['written'] {
  if (device.stays.size > 1) device.written ??= { json: undefined }
  return device.written
}
