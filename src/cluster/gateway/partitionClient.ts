import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { ByteBound } from '../../runtime/byteBound.ts'
import { ApiError } from '../../runtime/errors.ts'
import { Backlog } from '../../runtime/backlog.ts'
import { Backoff } from '../../runtime/retry.ts'
import { NobodyListens, type Calls } from '../nats/calls.ts'
import type { GatewayRoom } from './gatewayRoom.ts'
import { FetchedOutcome } from './fetchedOutcome.ts'
import { LargeResult } from '../protocol/largeResult.ts'
import { decodeReply, encodeRequest, type PartitionReply } from '../protocol/partitionProtocol.ts'
import type { Command } from '../../actor/command.ts'
import type { Outcome, Submitter } from '../../actor/port.ts'
import type { Update } from '../../model/update.ts'
import type { NumberedUpdate } from '../protocol/updateRows.ts'

/**
 * The way from a gateway to the owner of one partition.
 *
 * The obvious way sends each update as it comes, one message each, and later ones may overtake earlier ones that were
 * lost and are sent again. Here, one request is in flight, and updates that arrive in the meantime form the next one.
 * So batches grow with the load, and the order of a device's updates is kept whatever gets lost.
 *
 * Invariants
 * - LANE-1: A request is sent again, unchanged and under its number, until it is answered, or until nobody has
 *   answered for {@link GIVE_UP_MS}.
 * - LANE-2: Each update carries a stream and a number, so that sending it again applies it once (G9).
 * - LANE-3: Updates that wait behind others (backlog.ts) go into a request after all the others, and only as many as
 *   make it no slower than {@link BEHIND_MS}, but at least one. What arrives meanwhile waits for the answer.
 * - LANE-4: Every update that is accepted gets an answer: applied, refused, or 503 where the outcome is not known in
 *   time. In that case the updates behind it get 503 too, so nobody waits longer, and no later update of a device is
 *   applied before one that is sent again.
 * - LANE-5: What waited for a request before its own has used up so much of its time: after {@link GIVE_UP_MS} in all,
 *   one more attempt is made. Those of a backlog wait for others on purpose, and their time begins with their request.
 * - LANE-6: A result that is too large for a reply (owner/largeResults.ts) is fetched beside the requests that follow.
 */

/** A waiting update. */
export interface OutgoingUpdate extends NumberedUpdate {
  readonly wanted: Submitter
  /** The bytes that are counted in the bound. */
  readonly bytes: number
  /** When it was accepted, by `performance.now()` in whole milliseconds. */
  readonly at: number
}

/** A waiting command. */
export interface CommandMail extends Command {
  /** Approximate bytes in which it came. */
  readonly bytes: number
  /** When it was accepted, by `performance.now()` in whole milliseconds. */
  readonly at: number
  /**
   * @param result a result of the command's kind, or why it was refused
   */
  readonly done: (result: unknown) => void
}

/**
 * Decides when partition clients with many updates send: all clients of a gateway at the same time. A request costs
 * the same however little it contains. What many clients send together is written to each socket at once, on the way
 * to the owner and back.
 */
export class Departures {
  readonly #pause: Pause
  #next: Promise<void> | undefined

  constructor(pause: Pause = sleep) {
    this.#pause = pause
  }

  /** Resolves at the same time for all clients that wait. */
  next(): Promise<void> {
    return (this.#next ??= this.#pause(GATHER_MS).then(() => {
      this.#next = undefined
    }))
  }
}

type Pause = (milliseconds: number) => Promise<unknown>

/** Shared by the partition clients of a gateway. */
export interface PartitionClientParts {
  readonly calls: Calls
  /** The name of the gateway; see {@link PartitionRequest.gateway}. */
  readonly gateway: string
  readonly registry: { readonly revision: number }
  readonly mailbox: ByteBound
  /** Called with each answer. */
  readonly room: Pick<GatewayRoom, 'answered'>
  /** How long the owner may be missing or silent before waiting updates are refused; {@link GIVE_UP_MS} if absent. */
  readonly giveUpMs?: number
  /** Called for each failure that is tried again. */
  readonly troubled: (error: Error) => void
  readonly pause?: Pause
}

/** See docs/adr/0030-the-engine-behind-a-port.md. */
export const GIVE_UP_MS = 10_000
/** A commit takes some milliseconds. An owner whose NATS servers elect a new leader takes seconds, and answers once. */
const ANSWER_MS = 1000
const PAUSES = { firstMs: 20, lastMs: 500 }
/** The intended and the largest size of a request in bytes: NATS servers accept no message of more than a megabyte. */
const REQUEST_BYTES = 256 * 1024
const MOST_REQUEST_BYTES = 400 * 1024

/** How long a request may take for its updates from the backlog, and the largest number of them. */
const BEHIND_MS = 20
const MOST_BEHIND = 256

/** See docs/adr/0035-requests-gather-and-senders-travel-as-bytes.md. */
const GATHER_MS = 10

const APPLIED: Outcome = { user: '', events: [], repeated: false }

interface Batch {
  readonly updates: OutgoingUpdate[]
  /** How many of the last updates in the request are from the backlog. */
  readonly behind: number
  readonly commands: CommandMail[]
}

export class PartitionClient {
  readonly #subject: string
  readonly #parts: PartitionClientParts
  readonly #departures: Departures
  #updates: OutgoingUpdate[] = []
  readonly #backlog = new Backlog<OutgoingUpdate>()
  /** How many updates of the backlog the next request may take. */
  #mostBehind = 1
  #commands: CommandMail[] = []
  #running: Promise<void> | undefined
  /** Results that were too large for a reply and are on their way. */
  readonly #fetched = new Set<Promise<void>>()
  #number = 0
  /** The number of updates in the previous request. */
  #lastUpdates = 0

  constructor(subject: string, parts: PartitionClientParts, departures: Departures) {
    this.#subject = subject
    this.#parts = parts
    this.#departures = departures
  }

  /** Resolves when nothing waits. */
  async drained(): Promise<void> {
    while (this.#running !== undefined) await this.#running
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
    this.#running ??= this.#run()
  }

  async #run(): Promise<void> {
    do {
      // Under load, all clients send together. Otherwise a client sends after the sockets of this turn have been read,
      // so that updates that came together are sent together.
      if (this.#lastUpdates > 1) await this.#departures.next()
      else await nextTurn()
      const { batch, request } = this.#take()
      this.#lastUpdates = batch.updates.length
      const began = performance.now()
      const reply = await this.#exchange(batch, request)
      const took = performance.now() - began
      if (batch.behind > 0) this.#adapt(batch.behind, took)
      if (reply !== undefined) this.#parts.room.answered(bytesOf(batch), took)
      this.#settle(batch, reply)
      if (reply === undefined) this.#settle(this.#takeAll(), undefined)
    } while (this.#hasMail)
    this.#running = undefined
  }

  get #hasMail(): boolean {
    return this.#updates.length + this.#commands.length > 0 || !this.#backlog.isEmpty
  }

  /** Adapts to how long a request took that contained this many updates of the backlog. */
  #adapt(behind: number, milliseconds: number): void {
    if (milliseconds > BEHIND_MS) this.#mostBehind = Math.max(1, Math.floor(behind / 2))
    else if (behind === this.#mostBehind) this.#mostBehind = Math.min(MOST_BEHIND, 2 * behind)
  }

  #takeAll(): Batch {
    const updates = [...this.#updates, ...this.#backlog.takeAll()]
    const all = { updates, behind: 0, commands: this.#commands }
    this.#updates = []
    this.#commands = []
    return all
  }

  /**
   * The next request. The bytes of the updates are a good estimate of its size; if they are not good enough, fewer
   * updates are sent.
   */
  #take(): { readonly batch: Batch; readonly request: Uint8Array } {
    for (let budget = REQUEST_BYTES; ; budget /= 4) {
      const batch = this.#pick(budget)
      const { updates, behind, commands } = batch
      const request = this.#encode(batch, this.#number + 1, false)
      const isLone = updates.length + commands.length <= 1
      if (!isLone && request.length > MOST_REQUEST_BYTES) continue
      this.#number++
      this.#updates = this.#updates.slice(updates.length - behind)
      for (const { update } of updates.slice(updates.length - behind)) this.#backlog.taken(update.deviceId)
      this.#commands = this.#commands.slice(commands.length)
      return { batch, request }
    }
  }

  #pick(budget: number): Batch {
    let bytes = 0
    const within = <M extends { readonly bytes: number }>(mails: readonly M[]): M[] => {
      const picked: M[] = []
      for (const mail of mails) {
        if (bytes > 0 && bytes + mail.bytes > budget) break
        bytes += mail.bytes
        picked.push(mail)
      }
      return picked
    }
    const updates = within(this.#updates)
    if (updates.length < this.#updates.length) return { updates, behind: 0, commands: [] }
    // They come after all earlier updates of their devices, which are in this request or the previous one.
    const behind = within(this.#backlog.next(this.#mostBehind))
    // A command never overtakes an update that came before it.
    return { updates: [...updates, ...behind], behind: behind.length, commands: within(this.#commands) }
  }

  #encode({ updates, commands }: Batch, number: number, retried: boolean): Uint8Array {
    const { gateway, registry } = this.#parts
    const { revision } = registry
    return encodeRequest({ gateway, number, retried, revision, updates, commands })
  }

  /** Sends the request until it is answered. Undefined if nobody answered in time. */
  async #exchange(batch: Batch, request: Uint8Array): Promise<PartitionReply | undefined> {
    const { calls, giveUpMs = GIVE_UP_MS, troubled, pause = sleep } = this.#parts
    const deadline = acceptedAt(batch) + giveUpMs
    let retried = false
    const backoff = new Backoff(PAUSES)
    for (;;) {
      try {
        const reply = decodeReply(await calls.ask(this.#subject, request, ANSWER_MS))
        if (reply !== undefined) return reply
      } catch (error) {
        if (!(error instanceof NobodyListens)) {
          troubled(error as Error)
          if (!retried) request = this.#encode(batch, this.#number, (retried = true))
        }
      }
      if (performance.now() >= deadline) return undefined
      await pause(backoff.next())
    }
  }

  #settle({ updates, commands }: Batch, reply: PartitionReply | undefined): void {
    const { mailbox } = this.#parts
    const missing = reply === undefined ? unanswered() : undefined
    for (const [i, { update, wanted, bytes }] of updates.entries()) {
      mailbox.release(bytes)
      const result = missing ?? reply!.updates[i]!
      if (result === 0) wanted.applied(APPLIED, update)
      else if (result instanceof ApiError) wanted.refused(result, update)
      else if (result instanceof LargeResult) this.#fetch(result, wanted, update)
      else wanted.applied(result, update)
    }
    for (const [i, { kind, bytes, done }] of commands.entries()) {
      if (kind.isBounded) mailbox.release(bytes)
      done(missing ?? reply!.commands[i])
    }
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

/**
 * When the oldest update was accepted that waited for nothing but the previous request; the present time if none did.
 */
function acceptedAt({ updates, behind, commands }: Batch): number {
  const first = updates.length > behind ? updates[0]!.at : Infinity
  return Math.min(first, commands[0]?.at ?? Infinity, performance.now())
}

/** The size of a batch's updates in bytes. */
function bytesOf({ updates }: Batch): number {
  return updates.reduce((sum, { bytes }) => sum + bytes, 0)
}

function unanswered(): ApiError {
  return new ApiError(
    503,
    'No process accepts updates of this device at the moment. Try again; with stream and sequence, an update that was already applied is not applied twice.',
    { retryAfter: 1 },
  )
}
