import type { ByteBound } from '../runtime/byteBound.ts'
import type { Time } from '../runtime/clock.ts'
import { Fifo } from '../runtime/fifo.ts'
import type { Bundle } from './webhookMessage.ts'
import type { Delivery } from './webhookPort.ts'
import { LONGEST_RETRY_MS } from './webhookRetry.ts'

/** A delivery that waits for its turn. */
interface Entry {
  delivery: Delivery
  /** The JSON of its events, if there is memory for it. */
  jsons: readonly string[] | undefined
  /** How many events had been deleted from the log when these were read. */
  readonly forgotten: number
}

/** The deliveries of one device, in order. The first one is due, sleeping until its next attempt, or being sent. */
export interface Line {
  readonly entries: Fifo<Entry>
  /** Ends the sleep of the first delivery. */
  wake?: (() => void) | undefined
}

/**
 * The waiting deliveries of one endpoint, with a line for each device. The first delivery of each line is sent until
 * it succeeds, while other lines continue.
 */
export class WebhookLines {
  readonly #time: Time
  readonly #memory: ByteBound
  readonly #due: () => void
  readonly #lines = new Map<string, Line>()
  /** Lines whose first delivery is due. */
  readonly #ready = new Fifo<Line>()

  /**
   * Starts without deliveries.
   * @param memory limits the events in memory; beyond it, they are read again when their turn comes
   * @param due called when a delivery's sleep is over
   */
  constructor(time: Time, memory: ByteBound, due: () => void) {
    this.#time = time
    this.#memory = memory
    this.#due = due
  }

  /**
   * Adds a delivery at the end of its device's line.
   * @param forgotten how many events had been deleted when its events were read
   */
  push(
    { delivery, jsons }: Bundle | { readonly delivery: Delivery; readonly jsons?: undefined },
    forgotten = 0,
  ): void {
    const held = jsons !== undefined && this.#memory.tryAcquire(bytesOf(jsons)) ? jsons : undefined
    const entry: Entry = { delivery, jsons: held, forgotten }
    const line = this.#lines.get(delivery.deviceId)
    if (line !== undefined) {
      line.entries.push(entry)
      return
    }
    const begun: Line = { entries: new Fifo() }
    begun.entries.push(entry)
    this.#lines.set(delivery.deviceId, begun)
    this.#place(begun)
  }

  /** Takes a line whose first delivery is due; it stays out until {@link settle} or {@link postpone}. */
  take(): Line | undefined {
    return this.#ready.shift()
  }

  /** Removes the first delivery of a taken line, because it is finished. */
  settle(line: Line): void {
    const { delivery, jsons } = line.entries.shift()!
    this.#release(jsons)
    if (line.entries.length > 0) this.#place(line)
    else this.#lines.delete(delivery.deviceId)
  }

  /** Puts a taken line back, because its first delivery must be sent again at its `nextAttemptAt`. */
  postpone(line: Line, delivery: Delivery): void {
    line.entries.first!.delivery = delivery
    this.#place(line)
  }

  /** Ends the sleep of all deliveries, or of the given one. */
  makeDue(delivery?: Delivery): void {
    const lines = delivery === undefined ? this.#lines.values() : [this.#lines.get(delivery.deviceId)]
    for (const line of lines) {
      if (line?.wake === undefined) continue
      if (delivery !== undefined && line.entries.first!.delivery.id !== delivery.id) continue
      line.wake()
      line.wake = undefined
      this.#ready.push(line)
    }
  }

  /** Forgets all waiting deliveries. */
  clear(): void {
    for (const { wake, entries } of this.#lines.values()) {
      wake?.()
      for (const { jsons } of entries) this.#release(jsons)
    }
    this.#lines.clear()
    this.#ready.clear()
  }

  /** Puts a line where its first delivery belongs: among those that are due, or among those that sleep. */
  #place(line: Line): void {
    const { nextAttemptAt = 0 } = line.entries.first!.delivery
    // If the clock was set back, it must not make the wait longer than the longest wait.
    const wait = Math.min(nextAttemptAt - this.#time.now(), LONGEST_RETRY_MS)
    if (wait <= 0) {
      this.#ready.push(line)
      return
    }
    line.wake = this.#time.after(wait, () => {
      line.wake = undefined
      this.#ready.push(line)
      this.#due()
    })
  }

  #release(jsons: readonly string[] | undefined): void {
    if (jsons !== undefined) this.#memory.release(bytesOf(jsons))
  }
}

function bytesOf(jsons: readonly string[]): number {
  return jsons.reduce((sum, json) => sum + json.length, 0)
}
