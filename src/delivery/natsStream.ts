import { JetStreamApiCodes, JetStreamApiError, jetstreamManager } from '@nats-io/jetstream'
import type { JetStreamManager, StreamConfig, StreamInfo } from '@nats-io/jetstream'
import { connect, headers, nuid } from '@nats-io/transport-node'
import type { NatsConnection, NodeConnectionOptions } from '@nats-io/transport-node'
import { natsTrouble } from '../cluster/nats/natsTrouble.ts'
import { EVERY_SUBJECT } from '../model/eventSubject.ts'

const STREAM = 'EVENTS'

/** The most messages of one atomic batch, which is the servers' default limit. */
export const BATCH_MESSAGES = 1000

/** How long an answer of the server may take. It flushes a batch to its disk first. */
const ANSWER_MS = 10_000

const NANOSECONDS = 1e6
const DAY_MS = 86_400_000

/** Settings of a stream that we create. To use others, create the stream before, or edit it. */
const NEW_STREAM = {
  name: STREAM,
  description: 'Events of Ringfence, in the order of the event log',
  subjects: [EVERY_SUBJECT],
  // The archive is the event log. This stream only hands events over, so it may forget them.
  max_age: 7 * DAY_MS * NANOSECONDS,
  duplicate_window: 2 * 60_000 * NANOSECONDS,
  allow_atomic: true,
  allow_direct: true,
} as const satisfies Partial<StreamConfig>

/** No server can be reached, the connection has ended, or the server offers us no JetStream. */
export class NatsUnreachable extends Error {
  override readonly name = 'NatsUnreachable'
}

/** The stream exists but does not allow what the bridge requires. Its owner must edit it. */
export class StreamUnfit extends Error {
  override readonly name = 'StreamUnfit'
}

/** The server did not accept the messages, or did not confirm them. */
export class PublishRefused extends Error {
  override readonly name = 'PublishRefused'
}

export interface NatsMessage {
  readonly subject: string
  /** The value of the header Nats-Msg-Id. */
  readonly id: string
  readonly data: Uint8Array
}

/** A message as stored in the stream. */
export interface StoredMessage {
  readonly subject: string
  readonly id: string
}

/**
 * The stream `EVENTS` as one writer sees it over one connection, from connecting to the first failure: then it is
 * closed and another is opened. The client library could reconnect by itself, but messages in flight would be lost
 * silently, and later ones would be stored in their place.
 *
 * Invariants
 * - NATS-STREAM-1: A batch is stored whole or not at all, in its order, directly after what this writer knows to be
 *   the end.
 * - NATS-STREAM-2: The next batch is sent only once the one before is known to be stored.
 */
export class NatsStream {
  readonly #connection: NatsConnection
  readonly #manager: JetStreamManager
  #firstSequence: number
  #lastSequence: number
  readonly #ended = new AbortController()
  /** How many bytes a message may have, including its headers. */
  readonly maxMessageBytes: number

  private constructor(connection: NatsConnection, manager: JetStreamManager, { state }: StreamInfo) {
    this.#connection = connection
    this.#manager = manager
    this.#firstSequence = state.first_seq
    this.#lastSequence = state.last_seq
    this.maxMessageBytes = connection.info!.max_payload
    void connection
      .closed()
      .then((cause) => this.#ended.abort(new NatsUnreachable('The connection ended.', { cause })))
  }

  /**
   * Connects, and creates the stream if it does not exist.
   * @param options the servers and our credentials
   * @throws NatsUnreachable, StreamUnfit
   */
  static async open(options: NodeConnectionOptions): Promise<NatsStream> {
    let connection: NatsConnection
    try {
      connection = await connect({ ...options, reconnect: false })
    } catch (cause) {
      throw new NatsUnreachable(natsTrouble(cause as Error, options), { cause })
    }
    try {
      const manager = await jetstreamManager(connection, { timeout: ANSWER_MS })
      const info = await manager.streams.info(STREAM).catch((error) => {
        const absent = error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound
        if (!absent) throw error
        return manager.streams.add(NEW_STREAM)
      })
      const problem = problemOf(info.config)
      if (problem !== undefined) throw new StreamUnfit(`The stream ${STREAM} ${problem}.`)
      return new NatsStream(connection, manager, info)
    } catch (error) {
      await connection.close()
      if (error instanceof StreamUnfit) throw error
      throw new NatsUnreachable(`JetStream refused the request: ${(error as Error).message}`, {
        cause: error,
      })
    }
  }

  /** Aborted, by {@link NatsUnreachable}, when the connection has ended. */
  get ended(): AbortSignal {
    return this.#ended.signal
  }

  /** `host:port` of the server. */
  get server(): string {
    return this.#connection.getServer()
  }

  /** The stream's last message; undefined if it is no longer there. */
  async lastMessage(): Promise<StoredMessage | undefined> {
    return this.#lastSequence === 0 ? undefined : this.#messageAt(this.#lastSequence)
  }

  /** The last messages that still exist, newest first. */
  async *newest(count: number): AsyncGenerator<StoredMessage> {
    const earliest = Math.max(this.#firstSequence, this.#lastSequence - count + 1, 1)
    for (let sequence = this.#lastSequence; sequence >= earliest; sequence--) {
      const message = await this.#messageAt(sequence)
      if (message !== undefined) yield message
    }
  }

  /**
   * Appends one to {@link BATCH_MESSAGES} messages; resolves once they are stored.
   * @throws {PublishRefused} the next connection must then find out whether they are stored
   */
  async append(messages: readonly NatsMessage[]): Promise<void> {
    const connection = this.#connection
    const batch = messages.length > 1 ? nuid.next() : undefined
    let answer: { seq?: number; error?: { description?: string } } = {}
    for (const [i, { subject, id, data }] of messages.entries()) {
      const head = headers()
      head.set('Nats-Msg-Id', id)
      if (i === 0) head.set('Nats-Expected-Last-Sequence', String(this.#lastSequence))
      if (batch !== undefined) {
        head.set('Nats-Batch-Id', batch)
        head.set('Nats-Batch-Sequence', String(i + 1))
      }
      if (i < messages.length - 1) {
        connection.publish(subject, data, { headers: head })
        continue
      }
      if (batch !== undefined) head.set('Nats-Batch-Commit', '1')
      try {
        const reply = await connection.request(subject, data, { headers: head, timeout: ANSWER_MS })
        answer = reply.json()
      } catch (cause) {
        throw new PublishRefused(`No answer to ${messages.length} events: ${(cause as Error).message}.`, {
          cause,
        })
      }
    }
    if (answer.error !== undefined || typeof answer.seq !== 'number') {
      throw new PublishRefused(
        `NATS did not take ${messages.length} events: ${answer.error?.description ?? 'no sequence in its answer'}.`,
      )
    }
    this.#lastSequence = answer.seq
  }

  async close(): Promise<void> {
    await this.#connection.close()
  }

  async #messageAt(sequence: number): Promise<StoredMessage | undefined> {
    const message = await this.#manager.streams.getMessage(STREAM, { seq: sequence })
    return message === null ? undefined : { subject: message.subject, id: message.header.get('Nats-Msg-Id') }
  }
}

/** Says why the stream cannot be used. The text continues a sentence that begins with the stream's name. */
function problemOf(config: StreamConfig): string | undefined {
  if (!config.subjects?.includes(EVERY_SUBJECT)) return `must have the subject ${EVERY_SUBJECT}`
  if (config.allow_atomic !== true) return 'must allow atomic batches (allow_atomic; NATS 2.12 or newer)'
  return undefined
}
