import { JSON_CONTENT_TYPE } from '../http/answerText.ts'
import type { Reply } from '../http/route.ts'
import type { Update } from '../model/update.ts'
import { MAX_EVENT_CHARACTERS } from '../actor/refusal.ts'
import type { ShortcutOutcome } from '../actor/feedShortcut.ts'
import { charactersOf } from '../runtime/textPieces.ts'
import type { Outcome, Submitter } from '../actor/port.ts'
import { nearbyBeaconsJson } from '../registry/beacons/beaconRecord.ts'
import type { RegistryView } from '../rules/port.ts'
import { COUNTRY_BARRED_CODE } from '../runtime/countryErrors.ts'
import type { ApiError } from '../runtime/errors.ts'
import type { Share } from '../runtime/keyedBound.ts'
import type { FeedOutcome } from '../trips/feedOutcome.ts'
import type { UserTrips } from '../trips/userTrips.ts'
import { trackAnswer } from './trackAnswer.ts'
import { answer, around, userOf } from './updateAnswer.ts'

/** The requests of tracks and replays while their updates are applied: each answers when all of them are durable. */
export interface ExchangeParts {
  readonly registry: RegistryView
  readonly trips: UserTrips
  /** Whether a device may send only one update per second. */
  readonly rateLimits: boolean
}

const NO_TRIP: ShortcutOutcome = { trip: null, events: [] }

/** An update whose result is reported to nobody. */
export class Unreported implements Submitter {
  readonly rateLimited: boolean
  readonly wantsUser = false
  readonly wantsEvents = false
  isBehind = false

  constructor(rateLimited: boolean) {
    this.rateLimited = rateLimited
  }

  applied(): void {}
  refused(): void {}
}

/** The request of a single update. */
export class TrackExchange implements Submitter {
  readonly rateLimited: boolean
  readonly wantsUser = true
  readonly wantsEvents = true
  isBehind = false
  readonly #reply: Reply
  readonly #registry: RegistryView
  readonly #trips: UserTrips
  readonly #nearby: number

  /**
   * Waits for the result.
   * @param nearby how many geofences to list; 0 means no list
   */
  constructor(reply: Reply, parts: ExchangeParts, nearby: number) {
    this.#reply = reply
    this.rateLimited = parts.rateLimits
    this.#registry = parts.registry
    this.#trips = parts.trips
    this.#nearby = nearby
  }

  applied(outcome: Outcome, update: Update): void {
    const { feed, trips } = outcome
    if (feed === undefined || trips !== undefined) this.#answer(outcome, update, trips ?? NO_TRIP)
    else void this.#appliedToTrips(outcome, update, feed)
  }

  /** Answers once its trips have moved, too. */
  async #appliedToTrips(outcome: Outcome, update: Update, feed: number): Promise<void> {
    try {
      this.#answer(outcome, update, await this.#trips.after(update, feed))
    } catch (error) {
      this.#reply.fail(error as Error)
    }
  }

  #answer(outcome: Outcome, update: Update, ofTrips: ShortcutOutcome): void {
    const { parts, verdict } = outcome
    const trip = ofTrips.moving ?? ofTrips.trip
    const events = ofTrips.events.length === 0 ? outcome.events : [...outcome.events, ...ofTrips.events]
    const isPlain = this.#nearby === 0 && verdict === undefined
    const content = isPlain && parts && trackAnswer(parts, events, this.#beaconsAround(update), trip)
    if (content) {
      this.#reply.send({ bytes: { contentType: JSON_CONTENT_TYPE, content } })
      return
    }
    const surroundings = around(this.#registry, update, this.#nearby, verdict)
    void answer(this.#reply, events, userOf(outcome, ofTrips.trip), surroundings)
  }

  #beaconsAround({ scope, latitude, longitude }: Update): string {
    return nearbyBeaconsJson(this.#registry.scope(scope), latitude, longitude)
  }

  refused(error: ApiError): void {
    this.#reply.fail(error)
  }
}

/** The request of a replay: answers when the last of its updates is durable. */
export class ReplayExchange implements Submitter {
  readonly rateLimited = false
  readonly wantsUser = true
  readonly wantsEvents = true
  /** The updates are not urgent, because they were recorded earlier. */
  isBehind = true
  readonly #reply: Reply
  readonly #registry: RegistryView
  readonly #trips: UserTrips
  readonly #nearby: number
  readonly #indexes: Map<Update, number>
  readonly #kept: Share
  readonly #leave: () => void
  /** The events of the updates, ordered by time. */
  readonly #events: (readonly string[])[] = []
  /** The latest update that was applied. */
  #last: { readonly outcome: Outcome; readonly update: Update; readonly trip: string | null } | undefined
  #open: number
  #characters = 0
  #hasFailed = false
  #omitted = 0
  #barred = 0
  /** The index of the latest update that was applied. */
  #latest = -1

  /**
   * Waits for the results.
   * @param updates ordered by time
   * @param nearby how many geofences around the latest update to list
   * @param kept counts the events until they are sent
   * @param leave called when all updates are applied, or one has failed
   */
  constructor(
    reply: Reply,
    parts: ExchangeParts,
    updates: readonly Update[],
    nearby: number,
    kept: Share,
    leave: () => void,
  ) {
    this.#reply = reply
    this.#registry = parts.registry
    this.#trips = parts.trips
    this.#nearby = nearby
    this.#kept = kept
    this.#leave = leave
    this.#indexes = new Map(updates.map((update, i) => [update, i]))
    this.#open = updates.length
  }

  applied(outcome: Outcome, update: Update): void {
    const { feed, trips } = outcome
    if (feed === undefined || trips !== undefined) return this.#take(outcome, update, trips ?? NO_TRIP)
    void this.#trips.after(update, feed).then(
      (ofTrips) => this.#take(outcome, update, ofTrips),
      (error: Error) => this.#fail(error),
    )
  }

  /** Nobody receives the events then. */
  #fail(error: Error): void {
    if (!this.#hasFailed) this.#leave()
    this.#hasFailed = true
    this.#events.length = 0
    this.#forget()
    this.#reply.fail(error)
  }

  readonly #forget = (): void => this.#kept.release(this.#kept.used)

  #take(outcome: Outcome, update: Update, ofTrips: FeedOutcome): void {
    const events = ofTrips.events.length === 0 ? outcome.events : [...outcome.events, ...ofTrips.events]
    const index = this.#indexes.get(update)!
    const characters = charactersOf(events)
    this.#characters += characters
    const isWanted = !this.#hasFailed && !this.#reply.aborted && this.#characters <= MAX_EVENT_CHARACTERS
    const fits = isWanted && this.#kept.tryAcquire(characters) === undefined
    if (!fits) this.#omitted += events.length
    this.#events[index] = fits ? events : []
    const dropped = index > this.#latest ? this.#last?.outcome : outcome
    dropped?.forget?.()
    if (index > this.#latest) {
      this.#latest = index
      this.#last = { outcome, update, trip: ofTrips.trip }
    }
    this.#finished()
  }

  /** An update that is refused because of its country does not affect the others. */
  refused(error: ApiError): void {
    if (error.code !== COUNTRY_BARRED_CODE) return this.#fail(error)
    this.#barred++
    this.#finished()
  }

  #finished(): void {
    if (--this.#open > 0 || this.#hasFailed) return
    this.#leave()
    const reply = this.#reply
    const registry = this.#registry
    const nearby = this.#nearby
    const omitted = this.#omitted
    const barred = this.#barred
    if (this.#last === undefined)
      return reply.send({ meta: { refusedUpdates: barred }, body: { events: [] } })
    const { outcome, update, trip } = this.#last
    const surroundings = around(registry, update, nearby, outcome.verdict)
    const events = this.#events.flat()
    this.#events.length = 0
    void answer(reply, events, userOf(outcome, trip), surroundings, omitted, barred, this.#forget)
  }
}
