import { setTimeout as sleep } from 'node:timers/promises'
import { Backoff, type Pause } from '../../runtime/retry.ts'
import { NobodyListens } from '../nats/calls.ts'
import { LateAnswers } from '../nats/lateAnswers.ts'
import {
  decodeReply,
  encodeRequest,
  STILL_WAITING,
  type PartitionReply,
} from '../protocol/partitionProtocol.ts'
import type { Command } from '../../actor/command.ts'
import type { Submitter } from '../../actor/port.ts'
import type { ByteBound } from '../../runtime/byteBound.ts'
import type { Calls } from '../nats/calls.ts'
import type { NumberedUpdate } from '../protocol/updateRows.ts'
import type { GatewayRoom } from './gatewayRoom.ts'

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
  /** How long updates may wait behind those of others; {@link WAITING_MS} if absent. */
  readonly waitingMs?: number
  /** Called for each failure that is tried again. */
  readonly troubled: (error: Error) => void
  readonly pause?: Pause
}

/** See docs/adr/0030-the-engine-behind-a-port.md. */
export const GIVE_UP_MS = 10_000
/**
 * How long updates may wait behind those of others while their owner says that they still wait: each of them may make
 * thousands of events, which are published before the next one is evaluated.
 */
const WAITING_MS = 30_000
/** A commit takes some milliseconds. An owner whose NATS servers elect a new leader takes seconds, and answers once. */
const ANSWER_MS = 1000
const PAUSES = { firstMs: 20, lastMs: 500 }
/** The intended and the largest size of a request in bytes: NATS servers accept no message of more than a megabyte. */
const REQUEST_BYTES = 256 * 1024
const MOST_REQUEST_BYTES = 400 * 1024

/** The contents of a request. */
export interface RequestContents {
  readonly updates: readonly OutgoingUpdate[]
  readonly commands: readonly CommandMail[]
}

/** The requests of a gateway to the owner of a partition, one after the other, under ascending numbers. */
export class RequestSequence {
  readonly #subject: string
  readonly #gateway: string
  readonly #isBehind: boolean
  readonly #parts: PartitionClientParts
  #number = 0

  /**
   * A sequence from which nothing has been sent.
   * @param gateway the sender of the requests; two sequences to the same owner have different ones
   * @param isBehind whether its updates wait behind those of others
   */
  constructor(subject: string, gateway: string, isBehind: boolean, parts: PartitionClientParts) {
    this.#subject = subject
    this.#isBehind = isBehind
    this.#gateway = gateway
    this.#parts = parts
  }

  /**
   * Makes the next request. The bytes of the updates are a good estimate of its size. If the estimate is too low, fewer
   * are picked.
   * @param pick returns what fits into that many bytes, but at least one update or command
   */
  next(pick: (budget: number) => RequestContents): {
    readonly batch: RequestContents
    readonly request: Uint8Array
  } {
    for (let budget = REQUEST_BYTES; ; budget /= 4) {
      const batch = pick(budget)
      const request = this.#encode(batch, this.#number + 1, false)
      const isLone = batch.updates.length + batch.commands.length <= 1
      if (!isLone && request.length > MOST_REQUEST_BYTES) continue
      this.#number++
      return { batch, request }
    }
  }

  /**
   * Sends the request until it is answered. Resolves to undefined if nobody answered in time, and to
   * {@link STILL_WAITING} if the owner only said that its updates still wait.
   * @param from when the time of the request began, by `performance.now()`
   */
  async exchange(
    batch: RequestContents,
    request: Uint8Array,
    from: number,
  ): Promise<PartitionReply | typeof STILL_WAITING | undefined> {
    const { calls, giveUpMs = GIVE_UP_MS, waitingMs = WAITING_MS, troubled, pause = sleep } = this.#parts
    let deadline = from + giveUpMs
    let said: typeof STILL_WAITING | undefined
    let isRetried = false
    const backoff = new Backoff(PAUSES)
    const late = new LateAnswers()
    try {
      for (;;) {
        try {
          const ask = () => calls.ask(this.#subject, request, ANSWER_MS, late)
          const reply = decodeReply(await late.orOf(ask))
          said = reply === STILL_WAITING ? reply : undefined
          if (reply === STILL_WAITING) {
            deadline = Math.min(performance.now() + giveUpMs, from + waitingMs)
            await Promise.race([pause(ANSWER_MS), late.come()])
            backoff.reset()
          } else if (reply !== undefined) return reply
        } catch (error) {
          said = undefined
          if (!(error instanceof NobodyListens)) {
            troubled(error as Error)
            if (!isRetried) request = this.#encode(batch, this.#number, (isRetried = true))
          }
        }
        if (performance.now() >= deadline) return said
        if (said === undefined) await pause(backoff.next())
      }
    } finally {
      late.end()
    }
  }

  #encode({ updates, commands }: RequestContents, number: number, retried: boolean): Uint8Array {
    const { revision } = this.#parts.registry
    const request = { gateway: this.#gateway, number, retried, revision, updates, commands }
    return encodeRequest({ ...request, isBehind: this.#isBehind })
  }
}
