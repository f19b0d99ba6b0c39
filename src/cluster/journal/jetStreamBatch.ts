import { nuid, type NatsConnection } from '@nats-io/transport-node'
import { NobodyListens } from '../nats/calls.ts'
import { Requests, type Head } from '../nats/requests.ts'
import { LeaderMissing } from '../../log/errors.ts'
import { Slice } from '../../runtime/slices.ts'
import type { JournalMessage } from './jetStreamPort.ts'

/**
 * How long an answer of the server may take. It first flushes a batch to its disk and to those of most of its peers.
 */
export const ANSWER_MS = 5000

/** The status of a message that reports that nobody listens. */
const NO_RESPONDERS = 503

/** The server did not accept the messages; the reason is for people to read. */
export class BatchRefused extends Error {
  override readonly name = 'BatchRefused'
}

/**
 * Stores messages with complete subjects in a stream, in order and next to each other, or none of them. Resolves to
 * the sequence of the last one. (The client's own call for this adds a round trip, and hides what the server says.)
 * @throws {BatchRefused} {@link LeaderMissing}, or the client's error if no answer came
 */
export async function storeBatch(
  connection: NatsConnection,
  stream: string,
  messages: readonly JournalMessage[],
): Promise<number> {
  const requests = Requests.of(connection)
  const batch = messages.length > 1 ? nuid.next() : undefined
  // A thousand messages, or some megabytes, take long to write.
  const slice = new Slice()
  for (const [i, message] of messages.entries()) {
    if (slice.isOver) await slice.next()
    const isLast = i === messages.length - 1
    const head = batch === undefined ? message.headers : batchHead(message.headers, batch, i + 1, isLast)
    if (!isLast) {
      requests.send(message.subject, message.data, head)
      continue
    }
    const reply = await requests.ask(message.subject, message.data, head, ANSWER_MS)
    if (reply.headers?.code === NO_RESPONDERS)
      throw new LeaderMissing(stream, new NobodyListens(`Nobody listens to ${message.subject}.`))
    const answer: { seq?: number; error?: { description?: string } } = reply.json()
    if (answer.error === undefined && typeof answer.seq === 'number') return answer.seq
    throw new BatchRefused(
      `The stream ${stream} did not take ${messages.length} messages: ` +
        `${answer.error?.description ?? 'no sequence in its answer'}.`,
    )
  }
  throw new RangeError('A batch has at least one message.')
}

function batchHead(head: Head, batch: string, number: number, isLast: boolean): Head {
  const inBatch = { ...head, 'Nats-Batch-Id': batch, 'Nats-Batch-Sequence': String(number) }
  return isLast ? { ...inBatch, 'Nats-Batch-Commit': '1' } : inBatch
}
