import { randomUUID } from 'node:crypto'
import type { ActorHost } from '../../actor/host.ts'
import type { Partition } from '../../actor/partition.ts'
import { recoverPartition, type RecoveredPartition } from '../../actor/partitionRecovery.ts'
import { BatchScheduler } from '../../actor/batchScheduler.ts'
import type { FencedOut } from '../../log/errors.ts'
import type { OwnershipHandlers, PartitionLog } from '../../log/port.ts'
import { HostUsers } from '../../users/hostUsers.ts'
import { HostTrips } from '../../trips/hostTrips.ts'
import type { FoundTrip, TripAnswer, TripQuestion } from '../../trips/port.ts'
import { tripLength } from '../../trips/tripQueries.ts'
import type { UserQuestion } from '../../actor/port.ts'
import type { Calls, Served } from '../nats/calls.ts'
import { LargeResults } from './largeResults.ts'
import { OwnedPartition, type OwnedParts } from './ownedPartition.ts'
import { decodeOutcomeQuestion, encodeOutcome } from '../protocol/outcomeProtocol.ts'
import { ApiError } from '../../runtime/errors.ts'
import { plainFormat, sendInPieces, type AnswerFormat, type HostAnswer } from '../protocol/answerPieces.ts'
import {
  decodeQuestion,
  encodePlainAnswer,
  encodeWholeUsers,
  USERS_FORMAT,
} from '../protocol/questionProtocol.ts'
import { revisionReached } from './revisions.ts'
import { decodeResultQuestion, encodeResultPiece } from '../protocol/resultProtocol.ts'
import { ownerSubject, outcomeSubject, resultsSubject, tripsSubject, usersSubject } from '../nats/subjects.ts'

/**
 * The partitions that this process owns: takes them over and gives them away as ownership decides, and serves
 * gateways.
 *
 * Invariants
 * - SERVER-1: A partition listens from when its states have reached the end of its log until it is given away or
 *   lost.
 * - SERVER-2: What was accepted before the partition is given away is answered.
 */
export interface PartitionServerParts extends Omit<OwnedParts, 'scheduler' | 'largeResults'> {
  readonly calls: Calls
  /**
   * Becomes the owner of a partition.
   * @param fencedOut called once, when another owner is known
   */
  openLog(partition: number, fencedOut: (error: FencedOut) => void): Promise<PartitionLog>
  /** Creates an empty partition. */
  createPartition(number: number): Partition
  /** Whether the other hosts know this one; see `Ownership.isLive`. */
  isLive(): boolean
  /** Called when the partition has another owner and has been dropped. */
  lost(partition: number): void
}

const TRIPS = plainFormat<Omit<TripAnswer, 'trips'>, FoundTrip>(tripLength)

function encodeWholeTrips({ partitions, head, items }: HostAnswer<Omit<TripAnswer, 'trips'>, FoundTrip>) {
  return encodePlainAnswer(partitions, { ...head, trips: items })
}

interface Serving {
  readonly owned: OwnedPartition
  readonly requests: readonly Served[]
}

export class PartitionServer implements OwnershipHandlers {
  readonly #parts: PartitionServerParts
  readonly #scheduler = new BatchScheduler()
  readonly #served = new Map<number, Serving>()
  readonly #largeResults: LargeResults
  readonly #process = randomUUID()
  readonly #stopped = new AbortController()
  #questions: readonly Served[] = []

  constructor(parts: PartitionServerParts) {
    this.#parts = parts
    this.#largeResults = new LargeResults({ process: this.#process })
  }

  /** The hosts, one for each owned partition. */
  get hosts(): readonly ActorHost[] {
    return [...this.#served.values()].map(({ owned }) => owned.host)
  }

  start(): void {
    this.#questions = [
      this.#serve(usersSubject, USERS_FORMAT, encodeWholeUsers, async (hosts, question: UserQuestion) => {
        const { users, ...head } = await new HostUsers(() => hosts, this.#parts).ask(question)
        return { head, items: users }
      }),
      this.#serve(tripsSubject, TRIPS, encodeWholeTrips, async (hosts, question: TripQuestion) => {
        const { trips, ...head } = await new HostTrips(() => hosts, this.#parts).ask(question)
        return { head, items: trips }
      }),
      this.#serveResults(),
    ]
  }

  /** Stops answering questions. Before that, partitions must be given away by `Ownership.leave`. */
  async stop(): Promise<void> {
    this.#stopped.abort()
    await Promise.all(this.#questions.map((served) => served.stop()))
    this.#largeResults.close()
  }

  async acquire(number: number): Promise<number> {
    const { calls, openLog, createPartition, registry, snapshots, clock } = this.#parts
    let owned: OwnedPartition | undefined
    let recovered: RecoveredPartition
    let fencedOut: FencedOut | undefined
    const log = await openLog(number, (error) => {
      fencedOut = error
      if (owned !== undefined) this.#lose(owned)
    })
    try {
      const create = () => createPartition(number)
      recovered = await recoverPartition(create, log, snapshots, clock.now())
      await revisionReached(registry, recovered.revision, this.#stopped.signal)
      // The following steps wait for nothing.
      if (fencedOut !== undefined) throw fencedOut
      owned = new OwnedPartition(recovered, log, {
        ...this.#parts,
        scheduler: this.#scheduler,
        largeResults: this.#largeResults,
        eventBacklog: () => this.#eventBacklog,
      })
    } catch (error) {
      await log.close()
      throw error
    }
    const requests = calls.serve(ownerSubject(number), (bytes, answer) => {
      try {
        if (!owned.isDropped) owned.serve(bytes, answer)
      } catch (error) {
        this.#parts.troubled(error as Error)
      }
    })
    const outcomes = calls.serve(outcomeSubject(number), (bytes, answer) => {
      const question = decodeOutcomeQuestion(bytes)
      // The owner who has written the row answers. This one has lost the partition, and does not know it yet.
      if (Math.abs(question.number) > owned.lastRow) return
      owned.dispatcher
        .of(question)
        .catch((error: unknown) => {
          if (error instanceof ApiError) return error
          throw error
        })
        .then((outcome) => owned.isDropped || answer(encodeOutcome(outcome)))
        .catch(this.#parts.troubled)
    })
    this.#served.set(number, { owned, requests: [requests, outcomes] })
    // Reports to trips what the previous owner did not report.
    owned.dispatcher.committed([recovered.partition])
    return log.epoch
  }

  async release(number: number): Promise<void> {
    const served = this.#served.get(number)
    if (served === undefined) return
    await served.owned.leaveSnapshot()
    // Another host may have taken it in the meantime.
    if (this.#served.get(number) !== served) return
    this.#served.delete(number)
    await Promise.all(served.requests.map((requests) => requests.stop()))
    await served.owned.close()
  }

  /** Takes the snapshots that are due. It must be called every few seconds. */
  checkpoint(everyBytes: number): void {
    for (const { owned } of this.#served.values()) owned.checkpoint(everyBytes)
  }

  #lose(owned: OwnedPartition): void {
    owned.drop()
    const served = this.#served.get(owned.number)
    if (served?.owned !== owned) return
    this.#served.delete(owned.number)
    this.#parts.lost(owned.number)
    for (const requests of served.requests)
      requests.stop().catch((error: Error) => this.#parts.troubled(error))
  }

  /**
   * The bytes of events that are not published yet, or not even durable: many partitions may evaluate an expensive update
   * in the same turn.
   */
  get #eventBacklog(): number {
    let bytes = this.#parts.eventBacklog?.() ?? 0
    for (const { owned } of this.#served.values()) bytes += owned.host.eventBytesUnderWay
    return bytes
  }

  /** Answers questions about large results. A result stays in this process when its partition moves. */
  #serveResults(): Served {
    const { calls, troubled } = this.#parts
    return calls.serve(resultsSubject(this.#process), (bytes, answer) => {
      this.#largeResults
        .answer(decodeResultQuestion(bytes))
        .then((piece) => answer(encodeResultPiece(piece)))
        .catch(troubled)
    })
  }

  /** Answers for those of the requested partitions that are here. If there are none, only others answer. */
  #serve<Q, H, I, Row>(
    subject: string,
    format: AnswerFormat<H, I, Row>,
    encodeWhole: (answer: HostAnswer<H, I>) => Uint8Array,
    ask: (hosts: readonly ActorHost[], question: Q) => Promise<Omit<HostAnswer<H, I>, 'partitions'>>,
  ): Served {
    const { calls, registry, isLive, troubled } = this.#parts
    const answered = async (bytes: Uint8Array, answer: (bytes: Uint8Array) => void): Promise<void> => {
      const { revision, partitions, question, inPieces } = decodeQuestion<Q>(bytes)
      await revisionReached(registry, revision, this.#stopped.signal)
      const mine = partitions.filter((partition) => this.#served.has(partition))
      if (mine.length === 0 || !isLive()) return
      const hosts = mine.map((partition) => this.#served.get(partition)!.owned.host)
      const whole = { partitions: mine, ...(await ask(hosts, question)) }
      if (inPieces) await sendInPieces(whole, format, answer)
      else answer(encodeWhole(whole))
    }
    return calls.serve(subject, (bytes, answer) => void answered(bytes, answer).catch(troubled))
  }
}
