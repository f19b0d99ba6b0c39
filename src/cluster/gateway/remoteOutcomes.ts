import { setTimeout as sleep } from 'node:timers/promises'
import { deviceHash } from '../../model/deviceHash.ts'
import { ApiError } from '../../runtime/errors.ts'
import {
  OUTCOME_MS,
  type FeedOutcome,
  type FeedOutcomes,
  type FeedQuestion,
} from '../../trips/feedOutcome.ts'
import type { Calls } from '../nats/calls.ts'
import { outcomeSubject } from '../nats/subjects.ts'
import { decodeOutcome, encodeOutcomeQuestion } from '../protocol/outcomeProtocol.ts'

/** The time for the way to the owner and back. */
const ON_THE_WAY_MS = 500
/** The pause between two attempts while a partition changes hands and nobody listens. */
const PAUSE_MS = 100

/** Asks the owner of the device's partition, which reports the device's updates to trips. */
export class RemoteOutcomes implements FeedOutcomes {
  readonly #parts: { readonly calls: Calls; readonly partitions: number }

  constructor(parts: { readonly calls: Calls; readonly partitions: number }) {
    this.#parts = parts
  }

  async of(question: FeedQuestion): Promise<FeedOutcome | undefined> {
    const { calls, partitions } = this.#parts
    const subject = outcomeSubject(deviceHash(question.deviceId) % partitions)
    const until = performance.now() + OUTCOME_MS + ON_THE_WAY_MS
    for (;;) {
      const left = until - performance.now()
      if (left <= 0) throw noAnswer()
      try {
        const answer = decodeOutcome(await calls.ask(subject, encodeOutcomeQuestion(question), left))
        if (answer instanceof ApiError) throw answer
        return answer
      } catch (error) {
        if (error instanceof ApiError) throw error
        await sleep(PAUSE_MS)
      }
    }
  }
}

function noAnswer(): ApiError {
  return new ApiError(
    503,
    'The update is stored, but nobody answers for its trip at the moment. Its events are in GET /v1/events later.',
    { retryAfter: 1 },
  )
}
