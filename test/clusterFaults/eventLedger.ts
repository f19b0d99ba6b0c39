import type { Load } from './load.ts'
import type { EventRecord, Mover } from './movers.ts'

/** What is known of the events of one device. */
interface Account {
  readonly mover: Mover
  count: number
  createdAt: string
  /** The number and the text of the first event that is not the expected one. */
  differs?: { readonly at: number; readonly text: string }
  /** The number of the first event whose time is before that of the one before. */
  isBack?: number
}

/**
 * Compares events with those that the updates of the movers must have caused, one after the other as they are read:
 * G2 (each once), G3 (in their order) and G5 (those in answers are there). Of each event only its id is kept, because
 * an hour of whole events does not fit into memory.
 */
export class EventLedger {
  /** The ids of all events. */
  readonly ids = new Set<string>()
  count = 0
  readonly #load: Load
  readonly #accounts: ReadonlyMap<string, Account>
  readonly #fault: (sentence: string) => void

  constructor(load: Load, fault: (sentence: string) => void) {
    this.#load = load
    this.#fault = fault
    this.#accounts = new Map(load.movers.map((mover) => [mover.deviceId, { mover, count: 0, createdAt: '' }]))
  }

  /** The next event in the order of the stream. */
  take(event: EventRecord): void {
    this.count++
    if (this.ids.has(event._id)) this.#fault(`G2 event ${event._id} is twice in EVENTS`)
    this.ids.add(event._id)
    // A call on a trip that nobody has moved.
    if (event.user?.deviceId === undefined) return
    const account = this.#accounts.get(event.user.deviceId)
    if (account === undefined) {
      this.#fault(`event ${event._id} is of ${event.user.deviceId}, which nobody sent`)
      return
    }
    const at = account.count++
    const text = account.mover.textOf(event)
    if (text !== account.mover.events[at]) account.differs ??= { at, text }
    if (event.createdAt < account.createdAt) account.isBack ??= at
    account.createdAt = event.createdAt
  }

  /** Called behind the last event: reports what differs, and what is missing. */
  finish(): void {
    for (const id of this.#load.answered)
      if (!this.ids.has(id)) this.#fault(`G5 event ${id} was answered, and is not in EVENTS`)
    for (const { mover, count, differs, isBack } of this.#accounts.values()) {
      const { deviceId, events } = mover
      const at = differs?.at ?? (count < events.length ? count : undefined)
      if (at !== undefined)
        this.#fault(
          `G2, G3 event ${at} of the ${count} of ${deviceId} is ${differs?.text}, expected ` +
            `${events[at]} of ${events.length}`,
        )
      if (isBack !== undefined)
        this.#fault(`G3 the time of event ${isBack} of ${deviceId} is before that of the one before`)
    }
  }
}
