import type { Webhook } from '../model/webhook.ts'
import { ApiError } from '../runtime/errors.ts'
import type { EndpointParts } from './endpointParts.ts'
import { WebhookLines, type Line } from './webhookLines.ts'
import { messageBody } from './webhookMessage.ts'
import type { AttemptOutcome, Delivery, DeliveryTarget, Message, WebhookState } from './webhookPort.ts'
import { conclude } from './webhookRetry.ts'

/** How many requests to one endpoint may run at a time. */
const CONCURRENCY = 20
/** After this many consecutive failures, an endpoint gets one request at a time. */
const MANY_FAILURES = 10
/** The longest pause that a receiver can request. */
const LONGEST_QUIET_MS = 3_600_000
/** The pause before a delivery is tried again whose user could not be read. */
const ASK_AGAIN_MS = 1000

/** What attempts need from the endpoint that they belong to. */
export interface AttemptOwner<D> {
  /** The present definition of the endpoint. */
  readonly target: D
  readonly state: WebhookState
  /** Stores a change of the state while other work continues. */
  note(change: Partial<WebhookState>): void
  /** Stores a delivery after an attempt while other work continues. */
  attempted(delivery: Delivery): void
  /** A request has ended, whatever its result. */
  requestEnded(): void
  /** Pauses the endpoint, so that nothing more is sent. `since` is in epoch milliseconds. */
  pause(reason: string, since: number): void
  /** Reports the failure of work that nobody awaits. */
  inBackground(work: Promise<void>): void
}

/**
 * The requests of one endpoint: which waiting delivery is sent next, and what follows from the result.
 *
 * Owns: the waiting deliveries in memory, how many requests run, pauses that the receiver requested. Does not own:
 * which events become deliveries, what is stored ({@link WebhookEndpoint}).
 */
export class DeliveryAttempts<D extends DeliveryTarget = Webhook> {
  readonly lines: WebhookLines
  readonly #parts: EndpointParts<D>
  readonly #owner: AttemptOwner<D>
  #inFlight = 0
  /** Failed attempts since the last successful one. */
  #failures = 0
  #lastError: string | undefined
  #lastDeliveredAt: number | undefined
  #quietUntil = 0
  #wake: (() => void) | undefined
  /** Once this is aborted, nothing more is sent. */
  #run = AbortSignal.abort()
  /** Once this is aborted, running requests are cut off. */
  #cut = new AbortController()

  constructor(parts: EndpointParts<D>, owner: AttemptOwner<D>) {
    this.#parts = parts
    this.#owner = owner
    this.lines = new WebhookLines(parts.time, parts.memory, () => this.pump())
  }

  get inFlight(): number {
    return this.#inFlight
  }

  /** Why the last attempt failed; undefined if it succeeded. */
  get lastError(): string | undefined {
    return this.#lastError
  }

  /** When the last successful attempt of this run began, epoch milliseconds. */
  get lastDeliveredAt(): number | undefined {
    return this.#lastDeliveredAt
  }

  /**
   * Starts to send.
   * @param run aborted when nothing more is to be sent
   */
  start(run: AbortSignal): void {
    this.#run = run
    this.#cut = new AbortController()
    this.#failures = 0
  }

  /** Forgets the waiting deliveries in memory. They remain stored. */
  halt(): void {
    this.#wake?.()
    this.#wake = undefined
    this.lines.clear()
  }

  /** Cuts off running requests. */
  cutOff(): void {
    this.#cut.abort()
  }

  /** Forgets the failures so far, because they were those of another address. */
  forgetFailures(): void {
    this.#failures = 0
    this.#lastError = undefined
  }

  /** The pause that the receiver requested no longer applies. */
  endQuiet(): void {
    this.#quietUntil = 0
    this.#wake?.()
    this.#wake = undefined
    this.pump()
  }

  /** Sends what is due, as far as more requests may run. */
  pump(): void {
    if (this.#run.aborted) return
    const quiet = this.#quietUntil - this.#parts.time.now()
    // A longer pause than any receiver can request: the clock was set back.
    if (quiet > 0 && quiet <= LONGEST_QUIET_MS) {
      this.#wake ??= this.#parts.time.after(quiet, () => {
        this.#wake = undefined
        this.pump()
      })
      return
    }
    const limit = this.#failures >= MANY_FAILURES ? 1 : CONCURRENCY
    while (this.#inFlight < limit) {
      const line = this.lines.take()
      if (line === undefined) return
      this.#owner.inBackground(this.#attempt(line))
    }
  }

  async #attempt(line: Line): Promise<void> {
    const { delivery, jsons: held, forgotten } = line.entries.first!
    // The delivery may wait for a day. If the event is deleted in that time, it is not sent; the index knows
    // whether it was.
    const jsons = forgotten === this.#parts.feed.forgotten ? held : undefined
    const signal = this.#run
    this.#inFlight++
    try {
      let message: Message | undefined
      try {
        message = await this.#message(delivery, jsons)
      } catch (error) {
        // The user cannot be read at the moment; that is not the endpoint's fault.
        if (!(error instanceof ApiError) || error.code !== 503) throw error
        this.#lastError = error.message
        const nextAttemptAt = this.#parts.time.now() + ASK_AGAIN_MS
        if (!signal.aborted) this.lines.postpone(line, { ...delivery, nextAttemptAt })
        return
      }
      if (message === undefined) return this.#move(signal, line, { ...delivery, status: 'dropped' })
      const cut = this.#cut.signal
      const { url } = this.#owner.target
      const outcome = await this.#parts.send(this.#owner.target, message, cut)
      // We cut it off ourselves. That is not the endpoint's fault, and the delivery stays as it is.
      if (outcome.error !== undefined && cut.aborted) return
      // A failure of an address that is no longer used does not count either.
      if (outcome.error !== undefined && url !== this.#owner.target.url) {
        if (!signal.aborted) this.lines.postpone(line, { ...delivery, nextAttemptAt: undefined })
        return
      }
      this.#conclude(signal, line, delivery, outcome)
    } finally {
      this.#inFlight--
      this.#owner.requestEnded()
      this.pump()
    }
  }

  /** The message of a delivery; undefined if none of its events is left. */
  async #message(delivery: Delivery, jsons: readonly string[] | undefined): Promise<Message | undefined> {
    const { scope } = this.#owner.target
    const { events, userJson } = this.#parts
    const found = jsons ?? (await Promise.all(delivery.eventIds.map((id) => events.get(scope, id))))
    const there = found.filter((json) => json !== undefined)
    if (there.length === 0) return undefined
    // Its user may be in thousands of geofences, and the signature covers all of it. All webhooks may wait for the same batch before
    // they can read the user, so there is another turn after that.
    await this.#parts.turns.next()
    const user = delivery.userRecordId === '' ? undefined : await userJson(scope, delivery.userRecordId)
    if (user !== undefined) await this.#parts.turns.next()
    return { id: delivery.messageId, body: messageBody(delivery.multiple, there, user) }
  }

  /** Records the result of an attempt, and what comes next. */
  #conclude(signal: AbortSignal, line: Line, before: Delivery, outcome: AttemptOutcome): void {
    const { time, random, counters, retryMs } = this.#parts
    const { failingSince, resumedAt } = this.#owner.state
    const now = time.now()
    const context = { now, failingSince, resumedAt, retryMs, random: random() }
    const { delivery, pauseReason } = conclude(before, outcome, context)
    this.#lastError = outcome.error
    if (outcome.error === undefined) {
      counters.delivered++
      this.#lastDeliveredAt = outcome.at
      if (failingSince !== undefined) this.#owner.note({ failingSince: undefined })
      // An endpoint that has recovered gets waiting retries at once, because the outage was its own.
      if (this.#failures >= MANY_FAILURES) this.lines.makeDue()
      this.#failures = 0
    } else {
      counters.failedAttempts++
      if (delivery.status === 'failed') counters.givenUp++
      this.#failures++
      if (failingSince === undefined) this.#owner.note({ failingSince: outcome.at })
      const quiet = Math.min(outcome.retryAfterMs ?? 0, LONGEST_QUIET_MS)
      this.#quietUntil = Math.max(this.#quietUntil, now + quiet)
    }
    this.#move(signal, line, delivery)
    if (pauseReason !== undefined) this.#owner.pause(pauseReason, now)
  }

  /** Passes on the result of a line's first delivery, and lets the line continue. */
  #move(signal: AbortSignal, line: Line, delivery: Delivery): void {
    this.#owner.attempted(delivery)
    if (signal.aborted) return
    if (delivery.status === 'pending') this.lines.postpone(line, delivery)
    else this.lines.settle(line)
  }
}
