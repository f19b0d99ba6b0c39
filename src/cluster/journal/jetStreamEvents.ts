import type { JetStreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { unlessLost } from '../nats/connectionLoss.ts'
import { storeBatch } from './jetStreamBatch.ts'
import type { EventStream, JournalMessage, Mark, Publication } from './jetStreamPort.ts'
import { EVENTS, markOf } from './jetStreamStreams.ts'

const MARK_HEADER = 'Ringfence-Published'
const NOTHING = new Uint8Array(0)

/**
 * The stream of events over a connection. Each mark replaces the previous one, and does not expire: an idle partition
 * keeps it for ever.
 */
export class JetStreamEvents implements EventStream {
  readonly #connection: NatsConnection
  readonly #manager: JetStreamManager

  constructor(connection: NatsConnection, manager: JetStreamManager) {
    this.#connection = connection
    this.#manager = manager
  }

  /**
   * Publishes events with their marks.
   * @throws {BatchRefused}, or the client's error if no answer came
   */
  async publish(publications: readonly Publication[]): Promise<readonly number[]> {
    const batch: JournalMessage[] = []
    const counts: number[] = []
    for (const publication of publications) {
      counts.push(batch.push(markMessage(publication)))
      for (const { subject, id, data } of publication.messages) {
        batch.push({ subject, headers: { 'Nats-Msg-Id': id }, data })
      }
    }
    const last = await storeBatch(this.#connection, EVENTS, batch)
    return counts.map((count) => last - batch.length + count)
  }

  /** The newest mark of a partition, according to the leader of the stream. */
  async mark(partition: number): Promise<Mark | undefined> {
    const asked = this.#manager.streams.getMessage(EVENTS, { last_by_subj: markOf(partition) })
    const message = await unlessLost(this.#connection, asked)
    if (message === null) return undefined
    const text = message.header.get(MARK_HEADER)
    const [offset, events] = text.split(' ').map(Number)
    if (offset === undefined || events === undefined || !(offset > 0 && events > 0)) {
      throw new Error(`the mark ${message.seq} of ${EVENTS} cannot be read: its ${MARK_HEADER} is "${text}"`)
    }
    return { sequence: message.seq, offset, events }
  }
}

function markMessage({ partition, after, progress }: Publication): JournalMessage {
  const headers = {
    'Nats-Expected-Last-Subject-Sequence': String(after),
    'Nats-Rollup': 'sub',
    'Nats-TTL': 'never',
    [MARK_HEADER]: `${progress.offset} ${progress.events}`,
  }
  return { subject: markOf(partition), headers, data: NOTHING }
}
