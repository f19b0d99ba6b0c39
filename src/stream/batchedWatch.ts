import type { BatchedScope } from './batchedScope.ts'
import { DUE, INSIDE, MOVED, OVER, RESTING, TOLD, type BatchedStays } from './batchedStays.ts'
import { StayQueue } from './stayQueue.ts'
import { Watch, type WatchOwner, type WatchTerms } from './watch.ts'

/**
 * How many positions one message may have, which is about a megabyte, in about a millisecond. Further ones wait for the
 * next message.
 */
const BATCH_POSITIONS = 4000

/**
 * A watch that sends one message with all that is due, at each tick.
 *
 * {@link SingleWatch} decides for each position, at once, whether it is in the area, and makes an object and a text of
 * it: 4.5 µs a position. Here a movement only marks its device. At a tick the position of each marked device is read and
 * looked at once (batchedScope.ts), and the codec writes what is due into one buffer.
 *
 * Owns: which stays are due or rest. Does not own: which devices are in the area (batchedScope.ts), how positions are
 * written (the codec), when ticks are (watches.ts).
 */
export class BatchedWatch extends Watch {
  readonly isBatched = true
  /** The stays that are not forgotten, by device. */
  readonly stays = new Map<number, number>()
  readonly #scope: BatchedScope
  readonly #table: BatchedStays
  /** The stays with a message that is due, in the order in which they became due, and some for which it no longer is. */
  readonly #due: StayQueue
  /** The stays with a message less than an interval ago, in the order of those messages. */
  readonly #resting: StayQueue

  constructor(terms: WatchTerms, owner: WatchOwner, scope: BatchedScope) {
    super(terms, owner)
    this.#scope = scope
    this.#table = scope.stays
    this.#due = new StayQueue(scope.stays, DUE, DUE | RESTING)
    this.#resting = new StayQueue(scope.stays, RESTING, DUE | RESTING)
  }

  /** The device is in the area and was not before. */
  enter(device: number): void {
    const stay = this.#table.add(device, this)
    this.#table.mark(stay, INSIDE)
    this.stays.set(device, stay)
    this.#due.put(stay)
  }

  /** The device is still in the area, or came back before the client was told that it had left. */
  move(stay: number, now: number): void {
    const table = this.#table
    const marks = table.marks(stay) | INSIDE
    const isDue = (marks & TOLD) === 0 || !this.rests(table.restsUntil(stay), now)
    table.setMarks(stay, isDue ? marks : marks | MOVED)
    if (isDue && (marks & DUE) === 0) this.#due.put(stay)
  }

  /** The device is no longer in the area. */
  leave(stay: number): void {
    const marks = this.#table.marks(stay) & ~INSIDE
    this.#table.setMarks(stay, marks)
    if ((marks & TOLD) === 0) this.#drop(stay)
    else if ((marks & DUE) === 0) this.#due.put(stay)
  }

  override send(now: number): void {
    if (this.isEnded) return
    const table = this.#table
    for (let stay = this.#resting.first; stay !== undefined; stay = this.#resting.first) {
      if (this.rests(table.restsUntil(stay), now)) break
      this.#resting.take()
      if ((table.marks(stay) & (MOVED | DUE)) === MOVED) this.#due.put(stay)
    }
    if (this.#due.first === undefined || !this.maySend) return
    const { connection } = this.owner
    const { batch } = connection.codec
    batch.begin(this.id)
    let count = 0
    while (count < BATCH_POSITIONS) {
      const stay = this.#due.take()
      if (stay === undefined) break
      const change = changeOf(table.marks(stay))
      // It left and came back, so what was due is the leave.
      if (change === 'move' && this.rests(table.restsUntil(stay), now)) continue
      batch.add(change, this.#scope.devices.shown(table.device(stay)))
      count++
      this.#told(stay, now)
    }
    if (count > 0) connection.sendEncoded([batch.end()])
  }

  protected override get stayCount(): number {
    return this.stays.size
  }

  /** The client has been sent the stay's change. */
  #told(stay: number, now: number): void {
    const table = this.#table
    const marks = table.marks(stay)
    if ((marks & INSIDE) === 0) return this.#drop(stay)
    table.setMarks(stay, (marks | TOLD) & ~MOVED)
    table.setRestsUntil(stay, now + this.intervalMs)
    if (this.intervalMs > 0 && (marks & RESTING) === 0) this.#resting.put(stay)
  }

  #drop(stay: number): void {
    const table = this.#table
    this.stays.delete(table.device(stay))
    this.#scope.forget(stay)
    table.mark(stay, OVER)
    if (!table.has(stay, DUE | RESTING)) return table.free(stay)
    this.#due.forget(stay)
    this.#resting.forget(stay)
  }
}

/** What the client is told about a stay with these marks. */
function changeOf(marks: number): 'enter' | 'move' | 'leave' {
  if ((marks & INSIDE) === 0) return 'leave'
  return (marks & TOLD) === 0 ? 'enter' : 'move'
}
