import { ApiError } from '../../runtime/errors.ts'
import { Slice } from '../../runtime/slices.ts'
import type { Calls } from '../nats/calls.ts'
import { isPiece, ReceivedPieces, type AnswerFormat, type HostAnswer } from '../protocol/answerPieces.ts'

/** After this time, the partitions that have not been answered for are asked again. */
const ASK_AGAIN_MS = 500

/** A question about partitions, to the hosts that have them. */
export interface OwnersQuestion<H, I, Row> {
  readonly calls: Calls
  readonly subject: string
  readonly partitions: Iterable<number>
  /** How long a partition may remain without an answer, in milliseconds. */
  readonly giveUpMs: number
  /** How answers are packed. */
  readonly format: AnswerFormat<H, I, Row>
  encode(partitions: readonly number[]): Uint8Array
  /** Reads an answer of a host of an older release, which sends it as a whole. */
  decodeWhole(answer: Uint8Array): HostAnswer<H, I>
  /** Takes an answer. None of its partitions was answered for before. */
  take(answer: HostAnswer<H, I>): void | Promise<void>
}

/**
 * Asks all hosts until all partitions are answered for. Each host answers for its own partitions. Answers are read in
 * turns with other work.
 * @throws {ApiError} 503 if that takes too long
 */
export async function askOwners<H, I, Row>(question: OwnersQuestion<H, I, Row>): Promise<void> {
  const missing = new Set(question.partitions)
  if (missing.size === 0) return
  const isComplete = await new Promise<boolean>((resolve, reject) => {
    const arrivals = new Arrivals(question, missing)
    const call = question.calls.askAll(question.subject, (bytes) => {
      arrivals.add(bytes).then((complete) => complete && settle(true), reject)
    })
    const send = () => call.send(question.encode([...missing]))
    const again = setInterval(send, ASK_AGAIN_MS)
    const end = setTimeout(() => settle(false), question.giveUpMs)
    const settle = (complete: boolean) => {
      clearInterval(again)
      clearTimeout(end)
      call.end()
      arrivals.end()
      resolve(complete)
    }
    send()
  })
  if (isComplete) return
  throw new ApiError(503, 'No process answers for some of the devices at the moment. Try again.', {
    retryAfter: 1,
  })
}

/** The answers to one question, as they arrive: read one after the other, in slices. */
class Arrivals<H, I, Row> {
  readonly #question: OwnersQuestion<H, I, Row>
  readonly #missing: Set<number>
  readonly #pieces: ReceivedPieces<H, I, Row>
  #waiting: Uint8Array[] = []
  #isReading = false

  constructor(question: OwnersQuestion<H, I, Row>, missing: Set<number>) {
    this.#question = question
    this.#missing = missing
    this.#pieces = new ReceivedPieces(question.format)
  }

  /** Reads what has arrived, unless that is done already. Resolves to whether nothing is missing any more. */
  async add(bytes: Uint8Array): Promise<boolean> {
    this.#waiting.push(bytes)
    if (this.#isReading) return false
    this.#isReading = true
    const slice = new Slice()
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      if (slice.isOver) await slice.next()
      await this.#take(next)
    }
    this.#isReading = false
    return this.#missing.size === 0
  }

  /** Reads no more. */
  end(): void {
    this.#waiting = []
  }

  async #take(bytes: Uint8Array): Promise<void> {
    const { decodeWhole, take } = this.#question
    const answer = isPiece(bytes) ? await this.#pieces.take(bytes) : decodeWhole(bytes)
    // An answer that repeats known partitions, or was requested before a partition changed hands, cannot be divided.
    if (!answer?.partitions.every((partition) => this.#missing.has(partition))) return
    for (const partition of answer.partitions) this.#missing.delete(partition)
    await take(answer)
  }
}
