import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from '../../runtime/errors.ts'
import type { Pause } from '../../runtime/retry.ts'
import { TurnQueue } from '../../runtime/turnQueue.ts'
import { Backlog } from '../../runtime/backlog.ts'
import { FetchedOutcome } from './fetchedOutcome.ts'
import { LargeResult } from '../protocol/largeResult.ts'
import { STILL_WAITING, TAKEN_BACK, type PartitionReply } from '../protocol/partitionProtocol.ts'
import {
  GIVE_UP_MS,
  RequestSequence,
  type RequestContents,
  type CommandMail,
  type OutgoingUpdate,
  type PartitionClientParts,
} from './requestSequence.ts'
import type { Outcome, Submitter } from '../../actor/port.ts'
import type { Update } from '../../model/update.ts'

/**
 * The way from a gateway to the owner of one partition.
 *
 * The obvious way sends each update as it comes, one message each, and later ones may overtake earlier ones that were
 * lost and are sent again. Here, one request is in flight, and updates that arrive in the meantime form the next one.
 * So batches grow with the load, and the order of a device's updates is kept whatever gets lost.
 *
 * Invariants
 * - SENDER-1: A request is sent again, unchanged and under its number, until it is answered, or until nobody has
 *   answered for {@link GIVE_UP_MS}. An answer to any of these attempts counts, because on a slow way each one comes
 *   after the next attempt.
 * - SENDER-2: Each update carries a stream and a number, so that sending it again applies it once (G9).
 * - SENDER-3: Updates that wait behind others (backlog.ts) go into requests of their own, beside those of the others, and
 *   only as many as make a request no slower than {@link BEHIND_MS}, but at least one. One whose device has an earlier
 *   update among the others waits until that is answered. An update that its owner gives back, because it would wait
 *   behind others there, waits here from then on, with all later ones of its device.
 * - SENDER-4: Every update that is accepted gets an answer: applied, refused, or 503 where the outcome is not known in
 *   time. In that case the updates behind it get 503 too, so nobody waits longer, and no later update of a device is
 *   applied before one that is sent again.
 * - SENDER-5: What waited for a request before its own has used up so much of its time: after {@link GIVE_UP_MS} in all,
 *   one more attempt is made. Those of a backlog wait for others on purpose: their time begins with their request, and
 *   again each time when the owner says that they still wait, up to half a minute. After that only the backlog is
 *   refused, because the owner does answer.
 * - SENDER-6: A result that is too large for a reply (owner/largeResults.ts) is fetched beside the requests that follow.
 */

/**
 * Decides when partition clients with many updates send: all clients of a gateway at the same time. A request costs
 * the same however little it contains. What many clients send together is written to each socket at once, on the way
 * to the owner and back. If their requests are long, some of them are packed in the next turn of the event loop (G7).
 */
export class Departures {
  readonly #pause: Pause
  readonly #turns = new TurnQueue()
  #next: Promise<void> | undefined

  constructor(pause: Pause = sleep) {
    this.#pause = pause
  }

  /** Resolves in the next turn of the event loop, or later if the requests of others take long. */
  soon(): Promise<void> {
    return this.#turns.next()
  }

  /** Resolves at the same time for all clients that wait, or one after the other if they take long. */
  async next(): Promise<void> {
    await (this.#next ??= this.#pause(GATHER_MS).then(() => {
      this.#next = undefined
    }))
    await this.#turns.next()
  }
}

/** How long a request with updates of the backlog may take, and the largest number of them. */
const BEHIND_MS = 20
const MOST_BEHIND = 256

/** See docs/adr/0035-requests-gather-and-senders-travel-as-bytes.md. */
const GATHER_MS = 10

const APPLIED: Outcome = { user: '', events: [], repeated: false }

export class PartitionClient {
  readonly #parts: PartitionClientParts
  readonly #departures: Departures
  readonly #requests: RequestSequence
  readonly #requestsBehind: RequestSequence
  #updates: OutgoingUpdate[] = []
  readonly #backlog = new Backlog<OutgoingUpdate>()
  /** How many updates of the backlog the next request may take. */
  #mostBehind = 1
  #commands: CommandMail[] = []
  /** The updates of the requests in flight. Those of the backlog stay in it until they are answered. */
  #inFlight: readonly OutgoingUpdate[] = []
  #behindInFlight: readonly OutgoingUpdate[] = []
  #running: Promise<void> | undefined
  #runningBehind: Promise<void> | undefined
  /** Called when the request in flight is answered. */
  #answered: (() => void)[] = []
  /** Results that were too large for a reply and are on their way. */
  readonly #fetched = new Set<Promise<void>>()
  /** The number of updates in the previous request. */
  #lastUpdates = 0

  constructor(subject: string, parts: PartitionClientParts, departures: Departures) {
    this.#parts = parts
    this.#departures = departures
    this.#requests = new RequestSequence(subject, parts.gateway, false, parts)
    this.#requestsBehind = new RequestSequence(subject, `${parts.gateway} behind`, true, parts)
  }

  /** Resolves when nothing waits. */
  async drained(): Promise<void> {
    while (this.#running !== undefined || this.#runningBehind !== undefined)
      await Promise.all([this.#running, this.#runningBehind])
    await Promise.all(this.#fetched)
  }

  update(mail: OutgoingUpdate): void {
    if (mail.wanted.isBehind || this.#backlog.has(mail.update.deviceId)) this.#backlog.push(mail)
    else this.#updates.push(mail)
    this.#start()
  }

  command(mail: CommandMail): void {
    this.#commands.push(mail)
    this.#start()
  }

  #start(): void {
    if (this.#updates.length + this.#commands.length > 0) this.#running ??= this.#run()
    if (!this.#backlog.isEmpty) this.#runningBehind ??= this.#runBehind()
  }

  async #run(): Promise<void> {
    do {
      // Under load, all clients send together. Otherwise a client sends after the sockets of this turn have been read,
      // so that updates that came together are sent together.
      if (this.#lastUpdates > 1) await this.#departures.next()
      else await this.#departures.soon()
      // What waited may have been refused in the meantime.
      if (this.#updates.length + this.#commands.length === 0) break
      const { batch, request } = this.#requests.next((budget) => this.#pick(budget))
      this.#updates = this.#updates.slice(batch.updates.length)
      this.#commands = this.#commands.slice(batch.commands.length)
      this.#inFlight = batch.updates
      this.#lastUpdates = batch.updates.length
      const began = performance.now()
      const reply = answerOf(await this.#requests.exchange(batch, request, acceptedAt(batch)))
      if (reply !== undefined) this.#parts.room.answered(bytesOf(batch), performance.now() - began)
      this.#inFlight = []
      this.#settle(batch, reply)
      if (reply === undefined) this.#refuseWaiting()
      for (const tell of this.#answered.splice(0)) tell()
    } while (this.#updates.length + this.#commands.length > 0)
    this.#running = undefined
  }

  async #runBehind(): Promise<void> {
    while (!this.#backlog.isEmpty) {
      await nextTurn()
      if (this.#behind().length === 0) {
        if (this.#backlog.isEmpty) break
        await new Promise<void>((resolve) => this.#answered.push(resolve))
        continue
      }
      const { batch, request } = this.#requestsBehind.next((budget) => ({
        updates: within(budget, this.#behind()),
        commands: [],
      }))
      this.#behindInFlight = batch.updates
      const began = performance.now()
      const said = await this.#requestsBehind.exchange(batch, request, began)
      const reply = answerOf(said)
      const took = performance.now() - began
      this.#adapt(batch.updates.length, took)
      if (reply !== undefined) this.#parts.room.answered(bytesOf(batch), took)
      this.#behindInFlight = []
      for (const { update } of batch.updates) this.#backlog.taken(update.deviceId)
      this.#settle(batch, reply)
      if (said === STILL_WAITING) this.#refuseBacklog()
      else if (reply === undefined) this.#refuseWaiting()
    }
    this.#runningBehind = undefined
  }

  /** Returns the next updates of the backlog, without those whose devices have an earlier update among the others. */
  #behind(): OutgoingUpdate[] {
    const most = this.#mostBehind
    const others = new Set<string>()
    for (const { update } of this.#inFlight) others.add(update.deviceId)
    for (const { update } of this.#updates) others.add(update.deviceId)
    if (others.size === 0) return this.#backlog.next(most)
    const next = this.#backlog.next(MOST_BEHIND)
    return next.filter(({ update }) => !others.has(update.deviceId)).slice(0, most)
  }

  /** Adapts to how long a request took that contained this many updates of the backlog. */
  #adapt(behind: number, milliseconds: number): void {
    if (milliseconds > BEHIND_MS) this.#mostBehind = Math.max(1, Math.floor(behind / 2))
    else if (behind === this.#mostBehind) this.#mostBehind = Math.min(MOST_BEHIND, 2 * behind)
  }

  /**
   * Refuses what waits, because nobody has answered in time. A request of the backlog that is in flight gets its own
   * answer.
   */
  #refuseWaiting(): void {
    const updates = this.#updates
    const commands = this.#commands
    this.#updates = []
    this.#commands = []
    this.#settle({ updates, commands }, undefined)
    this.#refuseBacklog()
  }

  #refuseBacklog(): void {
    const inFlight = new Set(this.#behindInFlight)
    const updates = this.#backlog.takeAll().filter((mail) => !inFlight.has(mail))
    for (const mail of this.#behindInFlight) this.#backlog.push(mail)
    this.#settle({ updates, commands: [] }, undefined)
  }

  #pick(budget: number): RequestContents {
    const updates = within(budget, this.#updates)
    // A command never overtakes an update that came before it.
    if (updates.length < this.#updates.length) return { updates, commands: [] }
    return { updates, commands: within(budget - bytesOf({ updates }), this.#commands, updates.length > 0) }
  }

  #settle({ updates, commands }: RequestContents, reply: PartitionReply | undefined): void {
    const { mailbox } = this.#parts
    const missing = reply === undefined ? unanswered() : undefined
    const takenBack: OutgoingUpdate[] = []
    for (const [i, mail] of updates.entries()) {
      const { update, wanted, bytes } = mail
      const result = missing ?? reply!.updates[i]!
      if (result === TAKEN_BACK) {
        takenBack.push(mail)
        continue
      }
      mailbox.release(bytes)
      if (result === 0) wanted.applied(APPLIED, update)
      else if (result instanceof ApiError) wanted.refused(result, update)
      else if (result instanceof LargeResult) this.#fetch(result, wanted, update)
      else wanted.applied(result, update)
    }
    for (const [i, { kind, bytes, done }] of commands.entries()) {
      if (kind.isBounded) mailbox.release(bytes)
      done(missing ?? reply!.commands[i])
    }
    if (takenBack.length > 0) this.#putBehind(takenBack)
  }

  /** Puts updates at the head of the backlog, and behind them those of the same devices that came later. */
  #putBehind(takenBack: readonly OutgoingUpdate[]): void {
    const devices = new Set(takenBack.map(({ update }) => update.deviceId))
    const isLater = ({ update }: OutgoingUpdate) => devices.has(update.deviceId)
    this.#backlog.pushFirst([...takenBack, ...this.#updates.filter(isLater)])
    this.#updates = this.#updates.filter((mail) => !isLater(mail))
    this.#start()
  }

  /** The update is durable, and the requests behind it do not wait for this. */
  #fetch(large: LargeResult, wanted: Submitter, update: Update): void {
    const { calls, giveUpMs = GIVE_UP_MS, pause } = this.#parts
    const fetched = FetchedOutcome.of(large, { calls, giveUpMs, pause })
      .then(
        (outcome) => wanted.applied(outcome, update),
        (error: ApiError) => wanted.refused(error, update),
      )
      .finally(() => this.#fetched.delete(fetched))
    this.#fetched.add(fetched)
  }
}

function answerOf(said: PartitionReply | typeof STILL_WAITING | undefined): PartitionReply | undefined {
  return said === STILL_WAITING ? undefined : said
}

/** When the oldest update or command was accepted, which waited for nothing but the previous request. */
function acceptedAt({ updates, commands }: RequestContents): number {
  return Math.min(updates[0]?.at ?? Infinity, commands[0]?.at ?? Infinity, performance.now())
}

/**
 * Returns the first mails that have at most this many bytes.
 * @param mayBeNone whether the first is left out, too, if it is larger
 */
function within<M extends { readonly bytes: number }>(
  budget: number,
  mails: readonly M[],
  mayBeNone = false,
): M[] {
  const picked: M[] = []
  let bytes = 0
  for (const mail of mails) {
    if ((picked.length > 0 || mayBeNone) && bytes + mail.bytes > budget) break
    bytes += mail.bytes
    picked.push(mail)
  }
  return picked
}

/** The size of a batch's updates in bytes. */
function bytesOf({ updates }: Pick<RequestContents, 'updates'>): number {
  return updates.reduce((sum, { bytes }) => sum + bytes, 0)
}

function unanswered(): ApiError {
  return new ApiError(
    503,
    'No process accepts updates of this device at the moment. Try again; with stream and sequence, an update that was already applied is not applied twice.',
    { retryAfter: 1 },
  )
}
