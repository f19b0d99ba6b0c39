import type { EventFeed } from '../events/feed.ts'
import type { EventIndex, LoggedEvent } from '../events/port.ts'
import type { ScopeId } from '../model/scope.ts'
import type { Webhook } from '../model/webhook.ts'
import type { ByteBound } from '../runtime/byteBound.ts'
import type { Time } from '../runtime/clock.ts'
import { ApiError } from '../runtime/errors.ts'
import type { Logger } from '../runtime/logger.ts'
import { WebhookLines, type Line } from './webhookLines.ts'
import { bundle, messageBody, type Bundle } from './webhookMessage.ts'
import type { Delivery, DeliveryStore, Message, AttemptOutcome } from './webhookPort.ts'
import type { Redelivery, Send, WebhookState } from './webhookPort.ts'
import { conclude } from './webhookRetry.ts'

/**
 * One webhook at work: a cursor over the event log whose events become deliveries, and deliveries requests.
 *
 * The naive way sends one event after the other: exact order, but one slow answer holds up the fleet, and one event
 * that the receiver cannot digest stops it. Here order is kept where it means something, within a device: each device
 * is a line of its own, whose head is sent until it is through, while other lines go on.
 *
 * Owns: which delivery is sent when, what counts as failing. Does not own: requests (Send), what is kept (DeliveryStore).
 *
 * Invariants
 * - WEBHOOK-1: A delivery is stored, with the cursor past it, before it is sent. So it is neither lost nor given
 *   another id when the process ends, however it ends.
 * - WEBHOOK-2: At most one delivery of a device is in flight. The next one is sent once it is delivered or given up.
 * - WEBHOOK-3: Nothing is given up while the whole endpoint fails. Instead the endpoint is paused, and keeps its
 *   deliveries and its cursor.
 * - WEBHOOK-4: The number of deliveries that wait in memory is bounded: at {@link WINDOW} deliveries the cursor stops.
 */

/** Deliveries that are taken out of the log ahead of their turn. */
const WINDOW = 10_000
/** Events looked at between two transactions. */
const STRETCH = 200
/** Offsets that may be read again after a crash where none of their events was wanted. */
const UNSAVED_PLACES = 1000
/** Requests under way to one endpoint. */
const CONCURRENCY = 20
/** From so many failures in a row on an endpoint gets one request at a time. */
const SICK_FAILURES = 10
/** However long a receiver asks to be left alone. */
const LONGEST_QUIET_MS = 3_600_000
/** For the user of an event, who could not be had. */
const ASK_AGAIN_MS = 1000
/** How long the end of the process waits for answers that are under way. */
const GRACE_MS = 3000
/** The event log's times may run back a little: where the machine's clock was set, and while updates wait in lines of their own. */
export const CLOCK_SLACK_MS = 60_000

export interface EndpointParts {
  readonly feed: Pick<EventFeed, 'follow' | 'read' | 'lastOffset' | 'forgotten'>
  readonly events: Pick<EventIndex, 'get'>
  readonly store: DeliveryStore
  readonly send: Send
  /** JSON of a user record as it stands; undefined where it is gone. Rejects with ApiError 503 where nobody can say. */
  readonly userJson: (scope: ScopeId, recordId: string) => Promise<string | undefined>
  readonly time: Time
  /** From 0 to below 1. */
  readonly random: () => number
  /** How long a delivery is tried, milliseconds. */
  readonly retryMilliseconds: number
  /** How long the event log keeps events, milliseconds. */
  readonly retentionMilliseconds: number
  /** For the events that wait in memory; past it they are read again when their turn comes. */
  readonly memory: ByteBound
  readonly counters: EndpointCounters
  readonly logger: Logger
}

/** Of all endpoints together; they only rise. */
export interface EndpointCounters {
  delivered: number
  failedAttempts: number
  /** Given up after all retries. */
  givenUp: number
}

export class WebhookEndpoint {
  readonly #parts: EndpointParts
  #webhook: Webhook
  #state: WebhookState
  #savedOffset: number
  readonly #lines: WebhookLines
  /** Deliveries that are stored and not through, in memory or not. */
  #pending = 0
  #inFlight = 0
  /** Failed attempts since the last that went well. */
  #failures = 0
  #lastError: string | undefined
  #quietUntil = 0
  #wake: (() => void) | undefined
  /** Aborted: nothing more is taken in or sent. */
  #run = new AbortController()
  /** Aborted: what is under way is cut off. */
  #cut = new AbortController()
  readonly #waiting = new Set<() => void>()
  #turn: Promise<unknown> = Promise.resolve()

  constructor(parts: EndpointParts, webhook: Webhook, state: WebhookState) {
    this.#parts = parts
    this.#webhook = webhook
    // After a loss of the log's end, which `durability: os` admits, the cursor would be ahead of it.
    this.#state = { ...state, offset: Math.min(state.offset, parts.feed.lastOffset) }
    this.#savedOffset = this.#state.offset
    this.#run.abort()
    this.#lines = new WebhookLines(parts.time, parts.memory, () => this.#pump())
  }

  get state(): WebhookState {
    return this.#state
  }

  /** Whether events are taken in. */
  get running(): boolean {
    return !this.#run.signal.aborted
  }

  /** Deliveries taken in and not through. */
  get pending(): number {
    return this.#pending
  }

  /** Why the last attempt failed, while the last did. */
  get lastError(): string | undefined {
    return this.#lastError
  }

  /** When undelivered events would be gone, from what is known now; see {@link WebhookState.lostBefore}. */
  get lostBefore(): number | undefined {
    const { pause, lostBefore } = this.#state
    const oldest = this.#parts.time.now() - this.#parts.retentionMilliseconds
    return pause !== undefined && pause.since < oldest ? oldest : lostBefore
  }

  /** Goes to work, unless the webhook is disabled or paused. */
  start(): Promise<void> {
    return this.#inTurn(() => this.#start(false))
  }

  /** Waits for what is under way, some seconds, and cuts the rest off; it is sent again after the next start. */
  stop(): Promise<void> {
    return this.#inTurn(() => this.#stop())
  }

  /** Puts another definition in place of the one so far; `change` is what makes it durable. */
  change(change: () => Promise<Webhook>): Promise<Webhook> {
    return this.#inTurn(async () => {
      const { enabled, url } = this.#webhook
      // What the old filter has passed over stays passed over, even if the process ends now.
      await this.#save({})
      this.#webhook = await change()
      if (url !== this.#webhook.url) await this.#goElsewhere()
      if (enabled && !this.#webhook.enabled) await this.#stop()
      if (!enabled && this.#webhook.enabled) {
        // While it was off nothing was tried, so that time is none in which it failed.
        const resumedAt = this.#parts.time.now()
        await this.#save({ offset: this.#parts.feed.lastOffset, failingSince: undefined, resumedAt })
        await this.#start(true)
      }
      return this.#webhook
    })
  }

  /** Ends a pause: what waited is sent, with all its retries ahead of it. */
  resume(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#state.pause === undefined) return
      await this.#idle()
      const { lostBefore } = this
      const resumedAt = this.#parts.time.now()
      await this.#save({ pause: undefined, failingSince: undefined, lostBefore, resumedAt })
      this.#endQuiet()
      await this.#start(true)
    })
  }

  /** Sends a delivery once more, or now where it waits. */
  redeliver(delivery: Delivery): Promise<Delivery> {
    return this.#inTurn(async () => {
      if (delivery.status === 'pending') {
        this.#lines.hasten(delivery)
        this.#pump()
        return delivery
      }
      const again: Delivery = {
        ...delivery,
        status: 'pending',
        failures: 0,
        triedSince: undefined,
        nextAttemptAt: undefined,
      }
      await this.#parts.store.save(again)
      this.#pending++
      if (this.running) this.#lines.push({ delivery: again })
      this.#pump()
      return again
    })
  }

  /** Sends a stretch of the log once more; whether there was none under way. */
  redeliverRange(redelivery: Redelivery): Promise<boolean> {
    return this.#inTurn(async () => {
      if (this.#state.redelivery !== undefined) return false
      await this.#save({ redelivery })
      if (this.running) this.#inBackground(this.#readAgain(this.#run.signal))
      return true
    })
  }

  /** One change after the other. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work)
    this.#turn = done.catch(() => {})
    return done
  }

  /** @param anew what waits for a retry is due now */
  async #start(anew: boolean): Promise<void> {
    const pending = await this.#parts.store.pending(this.#webhook.id)
    this.#pending = pending.length
    if (!this.#webhook.enabled || this.#state.pause !== undefined) return
    this.#run = new AbortController()
    this.#cut = new AbortController()
    this.#failures = 0
    for (const delivery of pending)
      this.#lines.push({ delivery: anew ? { ...delivery, failures: 0, nextAttemptAt: undefined } : delivery })
    this.#pump()
    this.#inBackground(this.#read(this.#run.signal))
    this.#inBackground(this.#readAgain(this.#run.signal))
  }

  async #stop(): Promise<void> {
    this.#halt()
    const cancel = this.#parts.time.after(GRACE_MS, () => this.#cut.abort())
    await this.#idle()
    cancel()
    if (this.#savedOffset !== this.#state.offset) await this.#save({})
  }

  /** Stops taking in and sending, and forgets what waits: it is stored. */
  #halt(): void {
    this.#run.abort()
    this.#wake?.()
    this.#wake = undefined
    this.#lines.clear()
    this.#tellWaiting()
  }

  /** Resolves when nothing is under way. */
  async #idle(): Promise<void> {
    while (this.#inFlight > 0) await this.#something()
  }

  /** Resolves when a delivery is through, or work ends. */
  #something(): Promise<void> {
    return new Promise((resolve) => this.#waiting.add(resolve))
  }

  #tellWaiting(): void {
    for (const resolve of this.#waiting) resolve()
    this.#waiting.clear()
  }

  #inBackground(work: Promise<void>): void {
    work.catch((err: unknown) => {
      if (this.#run.signal.aborted) return
      this.#parts.logger.error({ err, webhook: this.#webhook.id }, 'a webhook has stopped working')
    })
  }

  /** Takes in events as they come. */
  async #read(signal: AbortSignal): Promise<void> {
    const { feed } = this.#parts
    for await (const { events, offset } of feed.follow(
      this.#webhook.scope,
      this.#state.offset,
      STRETCH,
      signal,
    )) {
      const taken = await this.#takeIn(
        signal,
        events,
        { offset },
        offset - this.#savedOffset < UNSAVED_PLACES,
      )
      if (!taken) return
    }
  }

  /** Takes in the stretch that is asked for once more. */
  async #readAgain(signal: AbortSignal): Promise<void> {
    for (;;) {
      const { redelivery } = this.#state
      if (redelivery === undefined) return
      const { after, until, from, to } = redelivery
      const { events, offset } = await this.#parts.feed.read(this.#webhook.scope, after, STRETCH)
      const meant = events.filter(
        ({ offset: each, event: { actualCreatedAt } }) =>
          each <= until && from <= actualCreatedAt && actualCreatedAt < to,
      )
      const last = events.at(-1)?.event.actualCreatedAt ?? Infinity
      const ends = offset >= until || last >= to + CLOCK_SLACK_MS
      const next = { redelivery: ends ? undefined : { ...redelivery, after: offset } }
      if (!(await this.#takeIn(signal, meant, next, false))) return
    }
  }

  /**
   * Makes deliveries of events once there is room.
   * @param lazy where none is wanted, the change of state need not be stored
   * @returns false once work has ended
   */
  async #takeIn(
    signal: AbortSignal,
    events: readonly LoggedEvent[],
    change: Partial<WebhookState>,
    lazy: boolean,
  ): Promise<boolean> {
    const { forgotten } = this.#parts.feed
    while (this.#pending >= WINDOW && !signal.aborted) await this.#something()
    if (signal.aborted) return false
    const bundles = bundle(this.#webhook, events, this.#parts.time.now())
    if (bundles.length === 0 && lazy) this.#state = { ...this.#state, ...change }
    else await this.#save(change, bundles)
    this.#pending += bundles.length
    if (signal.aborted) return false
    for (const each of bundles) this.#lines.push(each, forgotten)
    this.#pump()
    return true
  }

  async #save(change: Partial<WebhookState>, bundles: readonly Bundle[] = []): Promise<void> {
    this.#state = { ...this.#state, ...change }
    this.#savedOffset = this.#state.offset
    const deliveries = bundles.map(({ delivery }) => delivery)
    await this.#parts.store.take(this.#webhook.id, this.#state, deliveries)
  }

  /** What the old address did says nothing about the new one, which gets what waits at once. */
  async #goElsewhere(): Promise<void> {
    this.#failures = 0
    this.#lastError = undefined
    await this.#save({ failingSince: undefined, resumedAt: this.#parts.time.now() })
    this.#lines.hasten()
    this.#endQuiet()
  }

  /** Whoever asked to be left alone is not asked any more. */
  #endQuiet(): void {
    this.#quietUntil = 0
    this.#wake?.()
    this.#wake = undefined
    this.#pump()
  }

  #pump(): void {
    if (this.#run.signal.aborted) return
    const quiet = this.#quietUntil - this.#parts.time.now()
    // Longer than ever is asked for: the clock was set back.
    if (quiet > 0 && quiet <= LONGEST_QUIET_MS) {
      this.#wake ??= this.#parts.time.after(quiet, () => {
        this.#wake = undefined
        this.#pump()
      })
      return
    }
    const limit = this.#failures >= SICK_FAILURES ? 1 : CONCURRENCY
    while (this.#inFlight < limit) {
      const line = this.#lines.take()
      if (line === undefined) return
      this.#inBackground(this.#attempt(line))
    }
  }

  async #attempt(line: Line): Promise<void> {
    const { delivery, jsons: held, forgotten } = line.entries[0]!
    // It may wait for a day, and one that somebody has deleted in that time is not sent: the index knows which.
    const jsons = forgotten === this.#parts.feed.forgotten ? held : undefined
    const { signal } = this.#run
    this.#inFlight++
    try {
      let message: Message | undefined
      try {
        message = await this.#message(delivery, jsons)
      } catch (error) {
        // The user cannot be asked for at the moment: that says nothing about the endpoint.
        if (!(error instanceof ApiError) || error.code !== 503) throw error
        this.#lastError = error.message
        const nextAttemptAt = this.#parts.time.now() + ASK_AGAIN_MS
        if (!signal.aborted) this.#lines.postpone(line, { ...delivery, nextAttemptAt })
        return
      }
      if (message === undefined) return this.#move(signal, line, { ...delivery, status: 'dropped' })
      const cut = this.#cut.signal
      const { url } = this.#webhook
      const outcome = await this.#parts.send(this.#webhook, message, cut)
      // Cut off by us: it says nothing about the endpoint, and the delivery stays as it is.
      if (outcome.error !== undefined && cut.aborted) return
      // Nor does what an address says that is not asked any more.
      if (outcome.error !== undefined && url !== this.#webhook.url) {
        if (!signal.aborted) this.#lines.postpone(line, { ...delivery, nextAttemptAt: undefined })
        return
      }
      this.#conclude(signal, line, delivery, outcome)
    } finally {
      this.#inFlight--
      this.#tellWaiting()
      this.#pump()
    }
  }

  /** Undefined where none of the events is left. */
  async #message(delivery: Delivery, jsons: readonly string[] | undefined): Promise<Message | undefined> {
    const { scope } = this.#webhook
    const { events, userJson } = this.#parts
    const found = jsons ?? (await Promise.all(delivery.eventIds.map((id) => events.get(scope, id))))
    const there = found.filter((json) => json !== undefined)
    if (there.length === 0) return undefined
    const user = delivery.userRecordId === '' ? undefined : await userJson(scope, delivery.userRecordId)
    return { id: delivery.messageId, body: messageBody(delivery.multiple, there, user) }
  }

  /** Notes how an attempt went, and what comes next. */
  #conclude(signal: AbortSignal, line: Line, before: Delivery, outcome: AttemptOutcome): void {
    const { time, random, counters, retryMilliseconds } = this.#parts
    const { failingSince, resumedAt } = this.#state
    const now = time.now()
    const context = { now, failingSince, resumedAt, retryMilliseconds, random: random() }
    const { delivery, pauseReason } = conclude(before, outcome, context)
    this.#lastError = outcome.error
    if (outcome.error === undefined) {
      counters.delivered++
      if (failingSince !== undefined) this.#inBackground(this.#save({ failingSince: undefined }))
      // An endpoint that is back gets what waits for a retry at once: the outage was its own.
      if (this.#failures >= SICK_FAILURES) this.#lines.hasten()
      this.#failures = 0
    } else {
      counters.failedAttempts++
      if (delivery.status === 'failed') counters.givenUp++
      this.#failures++
      if (failingSince === undefined) this.#inBackground(this.#save({ failingSince: outcome.at }))
      const quiet = Math.min(outcome.retryAfter ?? 0, LONGEST_QUIET_MS)
      this.#quietUntil = Math.max(this.#quietUntil, now + quiet)
    }
    this.#move(signal, line, delivery)
    if (pauseReason !== undefined) this.#pause(pauseReason, now)
  }

  /** Stores what became of the first of a line, and lets the line go on. */
  #move(signal: AbortSignal, line: Line, delivery: Delivery): void {
    this.#inBackground(this.#parts.store.save(delivery))
    if (delivery.status !== 'pending') this.#pending--
    // With nothing left to try nothing fails any more: else the next failure, days later, would look like the end of them.
    if (this.#pending === 0 && this.#state.failingSince !== undefined)
      this.#inBackground(this.#save({ failingSince: undefined }))
    if (signal.aborted) return
    if (delivery.status === 'pending') this.#lines.postpone(line, delivery)
    else this.#lines.settle(line)
  }

  #pause(reason: string, since: number): void {
    if (this.#state.pause !== undefined) return
    const { id: webhook, url } = this.#webhook
    this.#parts.logger.warn({ webhook, url, reason }, 'a webhook is paused until it is enabled again')
    this.#inBackground(this.#save({ pause: { since, reason } }))
    this.#halt()
  }
}
