import type { EventFeed } from '../events/feed.ts'
import type { EventIndex, PlacedEvent } from '../events/port.ts'
import type { ScopeId } from '../model/scope.ts'
import type { Webhook } from '../model/webhook.ts'
import type { ByteBound } from '../runtime/byteBound.ts'
import type { Time } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import { bundle, messageBody, type Bundle } from './webhookMessage.ts'
import type { Attempt, Delivery, DeliveryStore, Message, Outcome } from './webhookPort.ts'
import type { Redelivery, Send, WebhookState } from './webhookPort.ts'
import { KEPT_ATTEMPTS } from './webhookPort.ts'

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
 * 1. What is sent is stored before, with the cursor past it, so that no end of the process loses or renames it.
 * 2. Of a device, one delivery is under way; the next is sent once it is delivered or given up.
 * 3. Nothing is given up while the whole endpoint fails: it is paused instead, and keeps what it has and its cursor.
 * 4. What waits in memory is bounded: past {@link WINDOW} deliveries the cursor rests.
 */

/** Deliveries that are taken out of the log ahead of their turn. */
const WINDOW = 10_000
/** Events looked at between two transactions. */
const STRETCH = 200
/** Places that may be read again after a crash where none of their events was wanted. */
const UNSAVED_PLACES = 1000
/** Requests under way to one endpoint. */
const CONCURRENCY = 10
/** From so many failures in a row on an endpoint gets one request at a time. */
const SICK_FAILURES = 10
/** The first retry comes within this time, the next within twice as much, and so on up to the longest. */
const FIRST_RETRY_MS = 1000
const LONGEST_RETRY_MS = 3_600_000
/** However long a receiver asks to be left alone. */
const LONGEST_QUIET_MS = 3_600_000
/** How long the end of the process waits for answers that are under way. */
const GRACE_MS = 3000
/** The event log's times may run back a little where the machine's clock was set. */
const CLOCK_SLACK_MS = 60_000

export interface EndpointParts {
  readonly feed: Pick<EventFeed, 'follow' | 'read' | 'lastPlace'>
  readonly events: Pick<EventIndex, 'get'>
  readonly store: DeliveryStore
  readonly send: Send
  /** JSON of a user record as it stands; undefined where it is gone. */
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

interface Entry {
  delivery: Delivery
  /** The events, where they are held. */
  jsons: readonly string[] | undefined
}

/** The deliveries of one device, in order. */
interface Line {
  readonly entries: Entry[]
  /** Ends the wait of the first for its next attempt. */
  cancel?: (() => void) | undefined
}

export class WebhookEndpoint {
  readonly #parts: EndpointParts
  #webhook: Webhook
  #state: WebhookState
  #savedPlace: number
  readonly #lines = new Map<string, Line>()
  /** Lines whose first delivery is due. */
  #ready: Line[] = []
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
    this.#state = { ...state, place: Math.min(state.place, parts.feed.lastPlace) }
    this.#savedPlace = this.#state.place
    this.#run.abort()
  }

  get state(): WebhookState {
    return this.#state
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
  change(change: () => Webhook): Promise<Webhook> {
    return this.#inTurn(async () => {
      const { enabled } = this.#webhook
      // What the old filter has passed over stays passed over, even if the process ends now.
      await this.#save({})
      this.#webhook = change()
      if (enabled && !this.#webhook.enabled) await this.#stop()
      if (!enabled && this.#webhook.enabled) {
        await this.#save({ place: this.#parts.feed.lastPlace })
        await this.#start(false)
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
      await this.#start(true)
    })
  }

  /** Sends a delivery once more, or now where it waits. */
  redeliver(delivery: Delivery): Promise<Delivery> {
    return this.#inTurn(async () => {
      if (delivery.status === 'pending') {
        const line = this.#lines.get(delivery.deviceId)
        if (line?.cancel !== undefined && line.entries[0]?.delivery.id === delivery.id) this.#hasten(line)
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
      if (!this.#run.signal.aborted) this.#enqueue([{ delivery: again, jsons: undefined }])
      return again
    })
  }

  /** Sends a stretch of the log once more; whether there was none under way. */
  redeliverRange(redelivery: Redelivery): Promise<boolean> {
    return this.#inTurn(async () => {
      if (this.#state.redelivery !== undefined) return false
      await this.#save({ redelivery })
      if (!this.#run.signal.aborted) this.#inBackground(this.#readAgain(this.#run.signal))
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
    if (!this.#webhook.enabled || this.#state.pause !== undefined) return
    this.#run = new AbortController()
    this.#cut = new AbortController()
    this.#failures = 0
    const { signal } = this.#run
    const pending = await this.#parts.store.pending(this.#webhook.id)
    this.#enqueue(
      pending.map((delivery) => ({
        delivery: anew ? { ...delivery, failures: 0, nextAttemptAt: undefined } : delivery,
        jsons: undefined,
      })),
    )
    this.#inBackground(this.#read(signal))
    this.#inBackground(this.#readAgain(signal))
  }

  async #stop(): Promise<void> {
    this.#halt()
    const cancel = this.#parts.time.after(GRACE_MS, () => this.#cut.abort())
    await this.#idle()
    cancel()
    if (this.#savedPlace !== this.#state.place) await this.#save({})
  }

  /** Stops taking in and sending, and forgets what waits: it is stored. */
  #halt(): void {
    this.#run.abort()
    this.#wake?.()
    this.#wake = undefined
    for (const { cancel, entries } of this.#lines.values()) {
      cancel?.()
      for (const entry of entries) this.#release(entry)
    }
    this.#lines.clear()
    this.#ready = []
    this.#pending = 0
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
      this.#parts.logger.error({ err, webhook: this.#webhook.id }, 'a webhook cannot read the event log')
    })
  }

  /** Takes in events as they come. */
  async #read(signal: AbortSignal): Promise<void> {
    const { feed } = this.#parts
    for await (const { events, place } of feed.follow(
      this.#webhook.scope,
      this.#state.place,
      STRETCH,
      signal,
    )) {
      const taken = await this.#takeIn(signal, events, { place }, place - this.#savedPlace < UNSAVED_PLACES)
      if (!taken) return
    }
  }

  /** Takes in the stretch that is asked for once more. */
  async #readAgain(signal: AbortSignal): Promise<void> {
    for (;;) {
      const { redelivery } = this.#state
      if (redelivery === undefined) return
      const { after, until, from, to } = redelivery
      const { events, place } = await this.#parts.feed.read(this.#webhook.scope, after, STRETCH)
      const meant = events.filter(
        ({ place: each, event: { actualCreatedAt } }) =>
          each <= until && from <= actualCreatedAt && actualCreatedAt < to,
      )
      const last = events.at(-1)?.event.actualCreatedAt ?? Infinity
      const ends = place >= until || last >= to + CLOCK_SLACK_MS
      const next = { redelivery: ends ? undefined : { ...redelivery, after: place } }
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
    events: readonly PlacedEvent[],
    change: Partial<WebhookState>,
    lazy: boolean,
  ): Promise<boolean> {
    while (this.#pending >= WINDOW && !signal.aborted) await this.#something()
    if (signal.aborted) return false
    const bundles = bundle(this.#webhook, events, this.#parts.time.now())
    if (bundles.length === 0 && lazy) this.#state = { ...this.#state, ...change }
    else await this.#save(change, bundles)
    if (signal.aborted) return false
    this.#enqueue(bundles.map((each) => this.#hold(each)))
    return true
  }

  /** Keeps the events in memory where there is room. */
  #hold({ delivery, jsons }: Bundle): Entry {
    return { delivery, jsons: this.#parts.memory.tryAcquire(bytesOf(jsons)) ? jsons : undefined }
  }

  #release(entry: Entry): void {
    if (entry.jsons !== undefined) this.#parts.memory.release(bytesOf(entry.jsons))
    entry.jsons = undefined
  }

  async #save(change: Partial<WebhookState>, bundles: readonly Bundle[] = []): Promise<void> {
    this.#state = { ...this.#state, ...change }
    this.#savedPlace = this.#state.place
    const deliveries = bundles.map(({ delivery }) => delivery)
    await this.#parts.store.take(this.#webhook.id, this.#state, deliveries)
  }

  #enqueue(entries: readonly Entry[]): void {
    for (const entry of entries) {
      const { deviceId } = entry.delivery
      this.#pending++
      const line = this.#lines.get(deviceId)
      if (line !== undefined) line.entries.push(entry)
      else {
        const begun: Line = { entries: [entry] }
        this.#lines.set(deviceId, begun)
        this.#await(begun)
      }
    }
    this.#pump()
  }

  /** Puts a line where its first delivery belongs: among those that are due, or to sleep. */
  #await(line: Line): void {
    const { nextAttemptAt = 0 } = line.entries[0]!.delivery
    const wait = nextAttemptAt - this.#parts.time.now()
    if (wait <= 0) this.#ready.push(line)
    else
      line.cancel = this.#parts.time.after(wait, () => {
        line.cancel = undefined
        this.#ready.push(line)
        this.#pump()
      })
  }

  #hasten(line: Line): void {
    line.cancel!()
    line.cancel = undefined
    this.#ready.push(line)
  }

  #pump(): void {
    if (this.#run.signal.aborted) return
    const quiet = this.#quietUntil - this.#parts.time.now()
    if (quiet > 0) {
      this.#wake ??= this.#parts.time.after(quiet, () => {
        this.#wake = undefined
        this.#pump()
      })
      return
    }
    const limit = this.#failures >= SICK_FAILURES ? 1 : CONCURRENCY
    while (this.#inFlight < limit && this.#ready.length > 0)
      this.#inBackground(this.#attempt(this.#ready.shift()!))
  }

  async #attempt(line: Line): Promise<void> {
    const entry = line.entries[0]!
    const { signal } = this.#run
    this.#inFlight++
    try {
      const message = await this.#message(entry)
      if (message === undefined) return this.#finish(signal, line, { ...entry.delivery, status: 'dropped' })
      const cut = this.#cut.signal
      const outcome = await this.#parts.send(this.#webhook, message, cut)
      // Cut off by us: it says nothing about the endpoint, and the delivery stays as it is.
      if (outcome.error !== undefined && cut.aborted) return
      this.#conclude(signal, line, entry.delivery, outcome)
    } finally {
      this.#inFlight--
      this.#tellWaiting()
      this.#pump()
    }
  }

  /** Undefined where none of the events is left. */
  async #message({ delivery, jsons }: Entry): Promise<Message | undefined> {
    const { scope } = this.#webhook
    const { events, userJson } = this.#parts
    const found = jsons ?? (await Promise.all(delivery.eventIds.map((id) => events.get(scope, id))))
    const there = found.filter((json) => json !== undefined)
    if (there.length === 0) return undefined
    const user = delivery.userRecordId === '' ? undefined : await userJson(scope, delivery.userRecordId)
    return { id: delivery.messageId, body: messageBody(delivery.multiple, there, user) }
  }

  /** Notes how an attempt went, and what comes next. */
  #conclude(signal: AbortSignal, line: Line, before: Delivery, outcome: Outcome): void {
    const { time, counters, retryMilliseconds } = this.#parts
    const { body, retryAfter, ...attempt } = outcome
    const tried: Delivery = {
      ...before,
      attempts: [...before.attempts, attempt as Attempt].slice(-KEPT_ATTEMPTS),
      attemptCount: before.attemptCount + 1,
      lastBody: body,
      triedSince: before.triedSince ?? attempt.at,
      nextAttemptAt: undefined,
    }
    if (attempt.error === undefined) {
      counters.delivered++
      this.#wentWell()
      return this.#finish(signal, line, { ...tried, status: 'delivered' })
    }

    counters.failedAttempts++
    this.#failures++
    this.#lastError = attempt.error
    const now = time.now()
    const failingSince = this.#state.failingSince ?? attempt.at
    if (this.#state.failingSince === undefined) this.#inBackground(this.#save({ failingSince }))
    if (retryAfter !== undefined)
      this.#quietUntil = Math.max(this.#quietUntil, now + Math.min(retryAfter, LONGEST_QUIET_MS))
    const failed: Delivery = { ...tried, failures: before.failures + 1 }
    const since = Math.max(tried.triedSince!, this.#state.resumedAt ?? 0)

    const reason = pauseReason(attempt, now - failingSince, retryMilliseconds)
    if (reason !== undefined) {
      this.#retry(signal, line, failed, now)
      this.#pause(reason, now)
    } else if (now - since >= retryMilliseconds) {
      counters.givenUp++
      this.#finish(signal, line, { ...failed, status: 'failed' })
    } else {
      const ceiling = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** (failed.failures - 1))
      const delay = Math.ceil(this.#parts.random() * ceiling)
      // The last attempt is when its time is up.
      this.#retry(signal, line, failed, Math.min(now + delay, since + retryMilliseconds))
    }
  }

  /** An endpoint that is back gets what waits for a retry at once: its outage was theirs. */
  #wentWell(): void {
    this.#lastError = undefined
    if (this.#state.failingSince !== undefined) this.#inBackground(this.#save({ failingSince: undefined }))
    if (this.#failures >= SICK_FAILURES)
      for (const line of this.#lines.values()) if (line.cancel !== undefined) this.#hasten(line)
    this.#failures = 0
  }

  #retry(signal: AbortSignal, line: Line, delivery: Delivery, nextAttemptAt: number): void {
    const waiting = { ...delivery, nextAttemptAt }
    this.#inBackground(this.#parts.store.save(waiting))
    if (signal.aborted) return
    line.entries[0]!.delivery = waiting
    this.#await(line)
  }

  /** Done with the first of the line, one way or the other; the next is due. */
  #finish(signal: AbortSignal, line: Line, delivery: Delivery): void {
    this.#inBackground(this.#parts.store.save(delivery))
    if (signal.aborted) return
    this.#release(line.entries.shift()!)
    this.#pending--
    if (line.entries.length > 0) this.#await(line)
    else this.#lines.delete(delivery.deviceId)
  }

  #pause(reason: string, now: number): void {
    if (this.#state.pause !== undefined) return
    const { id: webhook, url } = this.#webhook
    this.#parts.logger.warn({ webhook, url, reason }, 'a webhook is paused until it is enabled again')
    this.#inBackground(this.#save({ pause: { since: now, reason } }))
    this.#halt()
  }
}

/** Why an attempt that failed is the last for now; undefined: it is not. */
function pauseReason(attempt: Attempt, failingMs: number, retryMs: number): string | undefined {
  if (attempt.status === 410) return 'The endpoint answered 410: it is gone.'
  if (failingMs < retryMs) return undefined
  return `Every attempt failed for ${durationText(failingMs)}; the last one: ${attempt.error}.`
}

function durationText(milliseconds: number): string {
  const hours = milliseconds / 3_600_000
  return hours >= 1 ? `${Math.floor(hours)} h` : `${Math.round(milliseconds / 1000)} s`
}

function bytesOf(jsons: readonly string[]): number {
  return jsons.reduce((sum, json) => sum + json.length, 0)
}
