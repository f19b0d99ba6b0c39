import { locateTrip, type StoreSalt } from '../../events/ids.ts'
import type { FoundTrip, TripAnswer, TripQuestion, Trips } from '../../trips/port.ts'
import { mergeTripAnswers } from '../../trips/tripQueries.ts'
import type { Calls } from '../nats/calls.ts'
import { tripsSubject } from '../nats/subjects.ts'
import { plainFormat } from '../protocol/answerPieces.ts'
import { decodePlainAnswer, encodeQuestion } from '../protocol/questionProtocol.ts'
import { askOwners } from './askOwners.ts'
import { GIVE_UP_MS } from './requestSequence.ts'

/** The trips of all hosts. Each host answers for its own partitions. */
export interface RemoteTripsParts {
  readonly calls: Calls
  readonly registry: { readonly revision: number }
  /** How many partitions the store has. */
  readonly partitions: number
  readonly salt: StoreSalt
  readonly giveUpMs?: number
}

/** It only reads. */
const FORMAT = plainFormat<Omit<TripAnswer, 'trips'>, FoundTrip>(() => 0)

export class RemoteTrips implements Trips {
  readonly #parts: RemoteTripsParts

  constructor(parts: RemoteTripsParts) {
    this.#parts = parts
  }

  async ask(question: TripQuestion): Promise<TripAnswer> {
    const { calls, registry, giveUpMs = GIVE_UP_MS } = this.#parts
    const answers: TripAnswer[] = []
    await askOwners({
      calls,
      subject: tripsSubject,
      partitions: this.#partitionsOf(question),
      giveUpMs,
      format: FORMAT,
      encode: (partitions) => encodeQuestion({ revision: registry.revision, partitions, question }),
      decodeWhole(bytes) {
        const { partitions, answer } = decodePlainAnswer<TripAnswer>(bytes)
        const { trips, ...head } = answer
        return { partitions, head, items: trips }
      },
      take: ({ head, items }) => void answers.push({ ...head, trips: items }),
    })
    return answers.length === 0 ? { trips: [], hasMore: false } : mergeTripAnswers(question, answers)
  }

  /** The partitions that a question concerns. */
  #partitionsOf(question: TripQuestion): Iterable<number> {
    const { partitions, salt } = this.#parts
    if (question.ask !== 'trip') return Array.from({ length: partitions }, (_, number) => number)
    const partition = locateTrip(salt, question.id)
    return partition === undefined || partition >= partitions ? [] : [partition]
  }
}
