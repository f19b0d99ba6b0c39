import { setTimeout as sleep } from 'node:timers/promises'
import type { Outcome } from '../../actor/port.ts'
import type { Verdict } from '../../model/fraud.ts'
import { ApiError } from '../../runtime/errors.ts'
import { NobodyListens, type Calls } from '../nats/calls.ts'
import { LateAnswers } from '../nats/lateAnswers.ts'
import { resultsSubject } from '../nats/subjects.ts'
import type { LargeResult } from '../protocol/largeResult.ts'
import {
  decodeResultPiece,
  encodeResultQuestion,
  EVENTS_WANTED,
  NOTHING_WANTED,
  USER_WANTED,
} from '../protocol/resultProtocol.ts'

export interface FetchParts {
  readonly calls: Calls
  /** How long the owner may be silent before the result is given up. */
  readonly giveUpMs: number
  readonly pause?: ((milliseconds: number) => Promise<unknown>) | undefined
}

/** For one piece. */
const ANSWER_MS = 1000
const PAUSE_MS = 50

/**
 * The result of an update that its owner keeps because it is too large for a reply. Its events are here; its user is
 * fetched if somebody wants it.
 */
export class FetchedOutcome implements Outcome {
  readonly events: readonly string[]
  readonly user: string
  readonly repeated: boolean
  readonly verdict: Verdict | undefined
  readonly feed: number | undefined
  readonly userPieces: (() => Promise<readonly string[]>) | undefined
  /** To be called by whoever does not want the user. */
  readonly forget: () => void

  private constructor(large: LargeResult, events: readonly string[], parts: FetchParts) {
    const { user, repeated, verdict, feed } = large
    this.events = events
    this.user = user ?? ''
    this.repeated = repeated
    this.verdict = verdict
    this.feed = feed
    this.forget = () => forget(large, parts)
    if (user !== undefined) {
      this.forget()
      return
    }
    this.userPieces = async () => {
      const pieces = await textsOf(large, USER_WANTED, parts)
      this.forget()
      return pieces
    }
  }

  /**
   * Fetches the events.
   * @throws {ApiError} 503 if the owner does not answer, or does not have the result any more
   */
  static async of(large: LargeResult, parts: FetchParts): Promise<FetchedOutcome> {
    const events = large.hasEvents ? await textsOf(large, EVENTS_WANTED, parts) : []
    return new FetchedOutcome(large, events, parts)
  }
}

async function textsOf(large: LargeResult, what: number, parts: FetchParts): Promise<string[]> {
  const texts: string[] = []
  for (let from = 0; from >= 0;) {
    const piece = await pieceOf(large, what, from, parts)
    for (const text of piece.texts) texts.push(text)
    from = piece.next
  }
  return texts
}

async function pieceOf(
  { process, id }: LargeResult,
  what: number,
  from: number,
  { calls, giveUpMs, pause = sleep }: FetchParts,
) {
  const subject = resultsSubject(process)
  const until = performance.now() + giveUpMs
  const question = encodeResultQuestion({ id, what, from })
  const late = new LateAnswers()
  try {
    for (;;) {
      try {
        const piece = decodeResultPiece(await late.orOf(() => calls.ask(subject, question, ANSWER_MS, late)))
        if (piece === undefined) throw gone()
        return piece
      } catch (error) {
        // The process that has it has ended.
        if (error instanceof ApiError) throw error
        if (error instanceof NobodyListens || performance.now() >= until) throw gone()
        await pause(PAUSE_MS)
      }
    }
  } finally {
    late.end()
  }
}

/** Tells the owner, which notices by itself after a while if it does not hear it. */
function forget({ process, id }: LargeResult, { calls }: FetchParts): void {
  const question = encodeResultQuestion({ id, what: NOTHING_WANTED, from: 0 })
  calls.ask(resultsSubject(process), question, ANSWER_MS).catch(() => undefined)
}

function gone(): ApiError {
  return new ApiError(
    503,
    'The update is stored, but the process that has its result does not answer. Its events are in GET /v1/events later.',
    { retryAfter: 1 },
  )
}
