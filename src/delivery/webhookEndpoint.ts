import { isDeepStrictEqual } from 'node:util'
import type { LoggedEvent } from '../events/port.ts'
import type { Webhook } from '../model/webhook.ts'
import { ConcurrencyLimit } from '../runtime/concurrencyLimit.ts'
import { DeliveryAttempts, type AttemptOwner } from './deliveryAttempts.ts'
import type { EndpointParts } from './endpointParts.ts'
import { bundle, type Bundle } from './webhookMessage.ts'
import type { Delivery, DeliveryTarget, Redelivery, WebhookState } from './webhookPort.ts'

/**
 * One webhook or hook at work: a cursor over the event log whose events become deliveries, and deliveries requests.
 *
 * The obvious way sends one event after the other. The order is exact, but one slow response delays all devices, and
 * one event that the receiver cannot process stops them. Here, the order is kept where it matters, within a device:
 * each device has its own line, whose first delivery is sent until it succeeds, while other lines continue.
 *
 * Owns: the cursor, the state of the endpoint, which events become deliveries. Does not own: which delivery is sent
 * when ({@link DeliveryAttempts}), requests (Send), what is kept (DeliveryStore).
 *
 * Invariants
 * - WEBHOOK-1: A delivery is stored, with the cursor past it, before it is sent. So it is neither lost nor given
 *   another id when the process ends, however it ends.
 * - WEBHOOK-2: At most one delivery of a device is in flight. The next one is sent once it is delivered or given up.
 * - WEBHOOK-3: Nothing is given up while the whole endpoint fails. Instead the endpoint is paused, and keeps its
 *   deliveries and its cursor.
 * - WEBHOOK-4: The number of deliveries that wait in memory is bounded: at {@link WINDOW} deliveries the cursor
 *   stops.
 */

/** How many deliveries may be in memory at a time. */
const WINDOW = 10_000
/** How many events are read between two transactions. */
const READ_EVENTS = 200
/** How many offsets may be read again after a crash if none of their events was wanted. */
const MAX_UNSAVED_OFFSETS = 1000
/** How long the end of the process waits for running requests, in milliseconds. */
const GRACE_MS = 3000
/**
 * Times in the event log may run backwards a little: if the machine's clock was set, and because updates wait in
 * separate lines.
 */
export const CLOCK_SLACK_MS = 60_000

export class WebhookEndpoint<D extends DeliveryTarget = Webhook> {
  readonly #parts: EndpointParts<D>
  #webhook: D
  #state: WebhookState
  #savedOffset: number
  readonly #attempts: DeliveryAttempts<D>
  /** Deliveries that are stored and not finished, whether in memory or not. */
  #pending = 0
  /** Once this is aborted, no more events are taken in or sent. */
  #run = new AbortController()
  readonly #waiting = new Set<() => void>()
  /** Changes are made one after the other. */
  readonly #changes = new ConcurrencyLimit(1)

  constructor(parts: EndpointParts<D>, webhook: D, state: WebhookState) {
    this.#parts = parts
    this.#webhook = webhook
    // After a loss of the log's end, which is possible with `durability: os`, the cursor would be ahead of it.
    this.#state = { ...state, offset: Math.min(state.offset, parts.feed.lastOffset) }
    this.#savedOffset = this.#state.offset
    this.#run.abort()
    this.#attempts = new DeliveryAttempts(parts, this.#attemptOwner())
  }

  get state(): WebhookState {
    return this.#state
  }

  /** Whether events are taken in. */
  get running(): boolean {
    return !this.#run.signal.aborted
  }

  /** Events of the log that it has not read yet, wanted or not; 0 while it reads none. */
  get lag(): number {
    return this.running ? this.#parts.feed.lastOffset - this.#state.offset : 0
  }

  /** Deliveries that were taken in and are not finished. */
  get pending(): number {
    return this.#pending
  }

  /** Why the last attempt failed; undefined if it succeeded. */
  get lastError(): string | undefined {
    return this.#attempts.lastError
  }

  /** When the last successful attempt of this run began, epoch milliseconds. */
  get lastDeliveredAt(): number | undefined {
    return this.#attempts.lastDeliveredAt
  }

  /** When undelivered events would be gone, as far as is known now; see {@link WebhookState.lostBefore}. */
  get lostBefore(): number | undefined {
    const { pause, lostBefore } = this.#state
    const oldest = this.#parts.time.now() - this.#parts.retentionMs
    return pause !== undefined && pause.since < oldest ? oldest : lostBefore
  }

  /** Starts working, unless the webhook is disabled or paused. */
  start(): Promise<void> {
    return this.#changes.run(() => this.#start(false))
  }

  /** Waits some seconds for running requests, and cuts off the others, which are sent again after the next start. */
  stop(): Promise<void> {
    return this.#changes.run(() => this.#stop())
  }

  /**
   * Replaces the definition.
   * @param change makes the new definition durable
   */
  change(change: () => Promise<D>): Promise<D> {
    return this.#changes.run(async () => {
      const { enabled, url, endpoint } = this.#webhook
      // Events that the old filter skipped stay skipped, even if the process ends now.
      await this.#save({})
      this.#webhook = await change()
      const isSame = url === this.#webhook.url && isDeepStrictEqual(endpoint, this.#webhook.endpoint)
      if (!isSame) await this.#goElsewhere()
      if (enabled && !this.#webhook.enabled) await this.#stop()
      if (!enabled && this.#webhook.enabled) {
        // Nothing was tried while it was off, so that time does not count as failing.
        const resumedAt = this.#parts.time.now()
        await this.#save({ offset: this.#parts.feed.lastOffset, failingSince: undefined, resumedAt })
        await this.#start(true)
      }
      return this.#webhook
    })
  }

  /** Ends a pause: waiting deliveries are sent, with all their retries. */
  resume(): Promise<void> {
    return this.#changes.run(async () => {
      if (this.#state.pause === undefined) return
      await this.#idle()
      const { lostBefore } = this
      const resumedAt = this.#parts.time.now()
      await this.#save({ pause: undefined, failingSince: undefined, lostBefore, resumedAt })
      this.#attempts.endQuiet()
      await this.#start(true)
    })
  }

  /** Sends nothing until {@link resume}. */
  pause(reason: string): Promise<void> {
    return this.#changes.run(async () => this.#pause(reason, this.#parts.time.now()))
  }

  /** Sends a delivery once more, or a waiting one now. */
  redeliver(delivery: Delivery): Promise<Delivery> {
    return this.#changes.run(async () => {
      if (delivery.status === 'pending') {
        this.#attempts.lines.makeDue(delivery)
        this.#attempts.pump()
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
      if (this.running) this.#attempts.lines.push({ delivery: again })
      this.#attempts.pump()
      return again
    })
  }

  /** Sends a range of the log once more; returns false if another one is being sent. */
  redeliverRange(redelivery: Redelivery): Promise<boolean> {
    return this.#changes.run(async () => {
      if (this.#state.redelivery !== undefined) return false
      await this.#save({ redelivery })
      if (this.running) this.#inBackground(this.#readAgain(this.#run.signal))
      return true
    })
  }

  /**
   * Starts to read and to send.
   * @param anew whether waiting retries are due now
   */
  async #start(anew: boolean): Promise<void> {
    const pending = await this.#parts.store.pending(this.#webhook.id)
    this.#pending = pending.length
    if (!this.#webhook.enabled || this.#state.pause !== undefined) return
    this.#run = new AbortController()
    this.#attempts.start(this.#run.signal)
    for (const delivery of pending)
      this.#attempts.lines.push({
        delivery: anew ? { ...delivery, failures: 0, nextAttemptAt: undefined } : delivery,
      })
    this.#attempts.pump()
    this.#inBackground(this.#read(this.#run.signal))
    this.#inBackground(this.#readAgain(this.#run.signal))
  }

  async #stop(): Promise<void> {
    this.#halt()
    const cancel = this.#parts.time.after(GRACE_MS, () => this.#attempts.cutOff())
    await this.#idle()
    cancel()
    if (this.#savedOffset !== this.#state.offset) await this.#save({})
  }

  /** Stops reading and sending, and forgets the waiting deliveries in memory, which remain stored. */
  #halt(): void {
    this.#run.abort()
    this.#attempts.halt()
    this.#tellWaiting()
  }

  /** Resolves when no request is running. */
  async #idle(): Promise<void> {
    while (this.#attempts.inFlight > 0) await this.#something()
  }

  /** Resolves when a delivery is finished, or when the work ends. */
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
      const { logger, singular } = this.#parts
      logger.error({ err, [singular]: this.#webhook.id }, `a ${singular} has stopped working`)
    })
  }

  /** Turns new events into deliveries as they come. */
  async #read(signal: AbortSignal): Promise<void> {
    const { feed } = this.#parts
    for await (const { events, offset } of feed.follow(
      this.#webhook.scope,
      this.#state.offset,
      READ_EVENTS,
      signal,
    )) {
      const taken = await this.#takeIn(
        signal,
        events,
        { offset },
        offset - this.#savedOffset < MAX_UNSAVED_OFFSETS,
      )
      if (!taken) return
    }
  }

  /** Turns the events of a range that was requested again into deliveries. */
  async #readAgain(signal: AbortSignal): Promise<void> {
    for (;;) {
      const { redelivery } = this.#state
      if (redelivery === undefined) return
      const { after, until, from, to } = redelivery
      const { events, offset } = await this.#parts.feed.read(this.#webhook.scope, after, READ_EVENTS)
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
   * Turns events into deliveries once there is room.
   * @param lazy whether the change of state need not be stored if no event is wanted
   * @returns false once the work has ended
   */
  async #takeIn(
    signal: AbortSignal,
    events: readonly LoggedEvent[],
    change: Partial<WebhookState>,
    lazy: boolean,
  ): Promise<boolean> {
    const { forgotten } = this.#parts.feed
    while (this.#pending >= WINDOW && !signal.aborted) await this.#something()
    await this.#parts.turns.next()
    if (signal.aborted) return false
    const bundles = bundle(this.#webhook, events, this.#parts.time.now())
    if (bundles.length === 0 && lazy) this.#state = { ...this.#state, ...change }
    else await this.#save(change, bundles)
    this.#pending += bundles.length
    if (signal.aborted) return false
    for (const each of bundles) this.#attempts.lines.push(each, forgotten)
    this.#attempts.pump()
    return true
  }

  async #save(change: Partial<WebhookState>, bundles: readonly Bundle[] = []): Promise<void> {
    this.#state = { ...this.#state, ...change }
    this.#savedOffset = this.#state.offset
    const deliveries = bundles.map(({ delivery }) => delivery)
    await this.#parts.store.take(this.#webhook.id, this.#state, deliveries)
  }

  /** Failures of the old address do not count for the new one, which gets waiting deliveries at once. */
  async #goElsewhere(): Promise<void> {
    this.#attempts.forgetFailures()
    await this.#save({ failingSince: undefined, resumedAt: this.#parts.time.now() })
    this.#attempts.lines.makeDue()
    this.#attempts.endQuiet()
  }

  /** What the attempts of this endpoint may use of it. */
  #attemptOwner(): AttemptOwner<D> {
    const target = (): D => this.#webhook
    const state = (): WebhookState => this.#state
    return {
      get target() {
        return target()
      },
      get state() {
        return state()
      },
      note: (change) => this.#inBackground(this.#save(change)),
      attempted: (delivery) => this.#attempted(delivery),
      requestEnded: () => this.#tellWaiting(),
      pause: (reason, since) => this.#pause(reason, since),
      inBackground: (work) => this.#inBackground(work),
    }
  }

  #attempted(delivery: Delivery): void {
    this.#inBackground(this.#parts.store.save(delivery))
    if (delivery.status !== 'pending') this.#pending--
    // With nothing left to try, nothing fails any more. Otherwise the next failure, days later, would count as the
    // end of a long outage.
    if (this.#pending === 0 && this.#state.failingSince !== undefined)
      this.#inBackground(this.#save({ failingSince: undefined }))
  }

  #pause(reason: string, since: number): void {
    if (this.#state.pause !== undefined) return
    const { id, url } = this.#webhook
    const { logger, singular } = this.#parts
    logger.warn({ [singular]: id, url, reason }, `a ${singular} is paused until it is enabled again`)
    this.#inBackground(this.#save({ pause: { since, reason } }))
    this.#halt()
  }
}
