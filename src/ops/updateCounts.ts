import type { CommandKind } from '../actor/command.ts'
import type { Intake, Submitter } from '../actor/port.ts'
import type { ScopeId } from '../model/scope.ts'
import type { Update } from '../model/update.ts'
import type { CountedUpdates, CountQuestion, UpdateTotals } from '../model/updateTotals.ts'
import type { Clock } from '../runtime/clock.ts'

/** The number of minutes that are counted, which is the last day. */
const MINUTES = 1440
const MINUTE_MS = 60_000

/** The minutes of one scope as a ring buffer. */
interface Ring {
  readonly counts: Uint32Array
  /** The newest minute in it, counted since 1970. */
  newest: number
}

/** Counts the updates that an intake accepts, by scope and minute. Each scope takes six kilobytes. */
export class UpdateCounts implements Intake, UpdateTotals {
  readonly #since: number
  readonly #intake: Intake
  readonly #clock: Clock
  readonly #rings = new Map<ScopeId, Ring>()

  constructor(intake: Intake, clock: Clock) {
    this.#intake = intake
    this.#clock = clock
    this.#since = clock.now()
  }

  get hasRoom(): boolean {
    return this.#intake.hasRoom
  }

  submit(updates: readonly Update[], bytes: number, submitter: Submitter): void {
    this.#intake.submit(updates, bytes, submitter)
    // All updates of one call have one sender.
    if (updates.length > 0) this.#add(updates[0]!.scope, updates.length)
  }

  submitOne(update: Update, bytes: number, submitter: Submitter): void {
    this.#intake.submitOne(update, bytes, submitter)
    this.#add(update.scope, 1)
  }

  execute<A, R>(kind: CommandKind<A, R>, args: A, bytes: number): Promise<R> {
    return this.#intake.execute(kind, args, bytes)
  }

  async count({ scope, from, to, stepMs }: CountQuestion): Promise<CountedUpdates> {
    const counts = Array.from({ length: Math.ceil((to - from) / stepMs) }, (_, i) => {
      const start = from + i * stepMs
      return this.#between(scope, start, Math.min(start + stepMs, to))
    })
    return { since: this.#since, counts }
  }

  /** The updates of the minutes that begin at `from` or later and before `to`, epoch milliseconds. */
  #between(scope: ScopeId, from: number, to: number): number {
    const ring = this.#rings.get(scope)
    if (ring === undefined) return 0
    const first = Math.max(Math.ceil(from / MINUTE_MS), ring.newest - MINUTES + 1)
    const last = Math.min(Math.ceil(to / MINUTE_MS) - 1, ring.newest)
    let sum = 0
    for (let minute = first; minute <= last; minute++) sum += ring.counts[minute % MINUTES]!
    return sum
  }

  #add(scope: ScopeId, count: number): void {
    const minute = Math.floor(this.#clock.now() / MINUTE_MS)
    let ring = this.#rings.get(scope)
    if (ring === undefined) {
      ring = { counts: new Uint32Array(MINUTES), newest: minute }
      this.#rings.set(scope, ring)
    }
    if (minute > ring.newest) {
      const passed = Math.min(minute - ring.newest, MINUTES)
      for (let i = 0; i < passed; i++) ring.counts[(minute - i) % MINUTES] = 0
      ring.newest = minute
    }
    // If the clock was set back, they count in the newest minute.
    ring.counts[ring.newest % MINUTES]! += count
  }
}
