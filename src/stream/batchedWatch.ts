import { StayQueue } from './stayQueue.ts'
import { changeOf, Watch, type Stay } from './watch.ts'

/**
 * How many positions one message may have, which is about a megabyte, in about a millisecond. Further ones wait for the
 * next message.
 */
const BATCH_POSITIONS = 4000

/**
 * A watch that sends one message with all that is due, at each tick.
 *
 * The obvious way decides for each position, at once, whether it is in the area, and then makes an object and a text of
 * it: 5 µs a position. Here a movement only stores
 * the position (watchedScope.ts). At a tick the area is looked at once for each device, and the codec writes what is
 * due into one buffer.
 *
 * Owns: which stays are due or rest. Does not own: how they are written (the codec), when ticks are (watches.ts).
 */
export class BatchedWatch extends Watch {
  readonly isBatched = true
  /** The stays with a message that is due, in the order in which they became due, and some for which it no longer is. */
  readonly #due = new StayQueue('isDue')
  /** The stays with a message less than an interval ago, in the order of those messages. */
  readonly #resting = new StayQueue('isResting')

  /** A filter that reads records needs those of each update, which are gone at the next tick. */
  override get looksAtTicks(): boolean {
    return this.test?.readsRecords !== true
  }

  override send(now: number): void {
    if (this.isEnded) return
    for (let stay = this.#resting.first; stay !== undefined; stay = this.#resting.first) {
      if (this.rests(stay, now)) break
      this.#resting.take()
      if (stay.hasMoved) this.due(stay)
    }
    if (this.#due.first === undefined || !this.maySend) return
    const { connection } = this.owner
    const { batch } = connection.codec
    batch.begin(this.id)
    let count = 0
    while (count < BATCH_POSITIONS) {
      const stay = this.#due.take()
      if (stay === undefined) break
      const change = changeOf(stay)
      // It left and came back, so what was due is the leave.
      if (change === 'move' && this.rests(stay, now)) continue
      batch.add(change, stay.device)
      count++
      this.told(stay, now)
    }
    if (count > 0) connection.sendEncoded([batch.end()])
  }

  protected override due(stay: Stay): void {
    if (!stay.isDue) this.#due.put(stay)
  }

  /** It stays in the queue, and is skipped when it is taken. */
  protected override notDue(_stay: Stay): void {}

  protected override rest(stay: Stay): void {
    if (this.intervalMs > 0 && !stay.isResting) this.#resting.put(stay)
  }

  protected override over(stay: Stay): void {
    this.#due.forget(stay)
    this.#resting.forget(stay)
  }
}
