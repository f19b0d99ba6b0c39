import { errors, headers, nuid, type NatsConnection } from '@nats-io/transport-node'
import { unlessLost } from '../nats/connectionLoss.ts'
import { LeaderMissing } from '../../log/errors.ts'
import { Slice } from '../../runtime/slices.ts'
import type { JournalMessage } from './jetStreamPort.ts'

/**
 * How long an answer of the server may take. It first flushes a batch to its disk and to those of most of its peers.
 */
export const ANSWER_MS = 5000

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
  const batch = messages.length > 1 ? nuid.next() : undefined
  // A thousand messages, or some megabytes, take long to write.
  const slice = new Slice()
  for (const [i, message] of messages.entries()) {
    if (slice.isOver) await slice.next()
    const head = headers()
    for (const [name, value] of Object.entries(message.headers)) head.set(name, value)
    if (batch !== undefined) {
      head.set('Nats-Batch-Id', batch)
      head.set('Nats-Batch-Sequence', String(i + 1))
    }
    if (i < messages.length - 1) {
      connection.publish(message.subject, message.data, { headers: head })
      continue
    }
    if (batch !== undefined) head.set('Nats-Batch-Commit', '1')
    const options = { headers: head, timeout: ANSWER_MS }
    const asked = connection.request(message.subject, message.data, options)
    const reply = await unlessLost(connection, asked).catch((error) => {
      throw error instanceof errors.RequestError && error.isNoResponders()
        ? new LeaderMissing(stream, error)
        : error
    })
    const answer: { seq?: number; error?: { description?: string } } = reply.json()
    if (answer.error === undefined && typeof answer.seq === 'number') return answer.seq
    throw new BatchRefused(
      `The stream ${stream} did not take ${messages.length} messages: ` +
        `${answer.error?.description ?? 'no sequence in its answer'}.`,
    )
  }
  throw new RangeError('A batch has at least one message.')
}
