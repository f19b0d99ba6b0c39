import { locateUserRecord, type StoreSalt } from '../../events/ids.ts'
import { deviceHash } from '../../model/deviceHash.ts'
import type { Update } from '../../model/update.ts'
import { ApiError } from '../../runtime/errors.ts'
import { mergeAnswers } from '../../users/userAnswers.ts'
import { askOwners } from './askOwners.ts'
import { GatewayRoom } from './gatewayRoom.ts'
import { Departures, PartitionClient } from './partitionClient.ts'
import { GIVE_UP_MS, type PartitionClientParts } from './requestSequence.ts'
import { ownerSubject, usersSubject } from '../nats/subjects.ts'
import { decodeWholeUsers, encodeQuestion, USERS_FORMAT } from '../protocol/questionProtocol.ts'
import type { CommandKind } from '../../actor/command.ts'
import type { Intake, Submitter, UserAnswer, UserQuestion, Users } from '../../actor/port.ts'

/**
 * The device actors for a process that has none. Changes to devices go to the owner of their partition
 * (partitionClient.ts). Questions go to all hosts, each of which answers for its own partitions.
 *
 * Owns: the bound of waiting updates, the numbers of updates without one. Does not own: which host has which
 * partition; a request goes to the host that listens to the partition's subject.
 */
export interface GatewayOptions extends Omit<PartitionClientParts, 'room'> {
  /** How many partitions the store has. */
  readonly partitions: number
  readonly salt: StoreSalt
}

/** Memory of a waiting update besides the bytes in which it came. */
const UPDATE_OVERHEAD_BYTES = 128

export class Gateway implements Intake, Users {
  readonly #options: GatewayOptions
  readonly #clients: readonly PartitionClient[]
  readonly #room = new GatewayRoom()
  /** The sequence of the updates that the gateway numbers, over all devices. */
  #sequence = 0

  constructor(options: GatewayOptions) {
    this.#options = options
    const departures = new Departures(options.pause)
    this.#clients = Array.from(
      { length: options.partitions },
      (_, number) => new PartitionClient(ownerSubject(number), { ...options, room: this.#room }, departures),
    )
  }

  get hasRoom(): boolean {
    return this.#room.has(this.#options.mailbox.used)
  }

  submit(updates: readonly Update[], bytes: number, submitter: Submitter): void {
    const share = Math.ceil(bytes / updates.length) + UPDATE_OVERHEAD_BYTES
    this.#acquire(share * updates.length)
    for (const update of updates) this.#post(update, share, submitter)
  }

  submitOne(update: Update, bytes: number, submitter: Submitter): void {
    const share = bytes + UPDATE_OVERHEAD_BYTES
    this.#acquire(share)
    this.#post(update, share, submitter)
  }

  execute<A, R>(kind: CommandKind<A, R>, args: A, bytes: number): Promise<R> {
    const { partitions, salt } = this.#options
    const number = kind.partitionOf(args, { partitions, salt })
    if (number === undefined) return Promise.resolve(kind.nowhere!)
    const share = bytes + UPDATE_OVERHEAD_BYTES
    if (kind.isBounded) this.#acquire(share)
    return new Promise((resolve, reject) => {
      const done = (result: unknown) => {
        if (result instanceof ApiError) reject(result)
        else resolve(result as R)
      }
      this.#clients[number]!.command({ kind, args, bytes: share, at: now(), done })
    })
  }

  async ask(question: UserQuestion): Promise<UserAnswer> {
    const { calls, registry, giveUpMs = GIVE_UP_MS } = this.#options
    const answers: UserAnswer[] = []
    await askOwners({
      calls,
      subject: usersSubject,
      partitions: this.#partitionsOf(question),
      giveUpMs,
      format: USERS_FORMAT,
      encode: (partitions) => encodeQuestion({ revision: registry.revision, partitions, question }),
      decodeWhole: decodeWholeUsers,
      take: ({ head, items }) => void answers.push({ ...head, users: items }),
    })
    return answers.length === 0 ? { users: [], hasMore: false } : mergeAnswers(question, answers)
  }

  /** Resolves when the results of all accepted updates are known. */
  async drained(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.drained()))
  }

  #acquire(bytes: number): void {
    if (!this.#options.mailbox.tryAcquire(bytes))
      throw new ApiError(503, 'Too many updates are waiting. Try again.', { retryAfter: 1 })
  }

  #post(update: Update, bytes: number, wanted: Submitter): void {
    const { sender, deviceId } = update
    const client = this.#clients[(sender?.deviceHash ?? deviceHash(deviceId)) % this.#clients.length]!
    const stream = update.stream ?? this.#options.gateway
    const sequence = update.stream === undefined ? ++this.#sequence : update.sequence!
    client.update({ update, wanted, stream, sequence, bytes, at: now() })
  }

  /** The partitions that a question concerns. */
  #partitionsOf(question: UserQuestion): Iterable<number> {
    if (question.ask !== 'record' && question.ask !== 'records') return this.#clients.keys()
    const ids = question.ask === 'record' ? [question.id] : question.ids
    const partitions = ids.map((id) => locateUserRecord(this.#options.salt, id)?.partition ?? Infinity)
    return new Set(partitions.filter((partition) => partition < this.#clients.length))
  }
}

/** The time in whole milliseconds. A fraction would be a separate object in each waiting update. */
function now(): number {
  return Math.trunc(performance.now())
}
