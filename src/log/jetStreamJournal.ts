import type { JetStreamManager, StoredMsg } from '@nats-io/jetstream'
import { headers, nuid } from '@nats-io/transport-node'
import type { NatsConnection } from '@nats-io/transport-node'
import type { Journal, JournalMessage, KeptMessage } from './jetStreamPort.ts'
import { EVENTS, markOf, partitionSubject, streamOf } from './jetStreamStreams.ts'

/** For an answer of the server: a batch is flushed to its disk, and to that of most of its peers, before. */
const ANSWER_MS = 5000
const PAGE_MESSAGES = 256
const PAGE_BYTES = 4 * 1024 * 1024
/** Beside the data: what the headers of a message may take. */
const HEADER_BYTES = 4096

/** The server did not take the messages; why, is for people to read. */
export class BatchRefused extends Error {
  override readonly name = 'BatchRefused'
}

/** The stream of one partition over a connection, which may reconnect as it likes and is shared with others. */
export class JetStreamJournal implements Journal {
  readonly maxDataBytes: number
  readonly #connection: NatsConnection
  readonly #manager: JetStreamManager
  readonly #partition: number
  readonly #stream: string
  readonly #prefix: string

  /** @param connection connected at the moment, for what its server allows */
  constructor(connection: NatsConnection, manager: JetStreamManager, partition: number) {
    this.maxDataBytes = connection.info!.max_payload - HEADER_BYTES
    this.#connection = connection
    this.#manager = manager
    this.#partition = partition
    this.#stream = streamOf(partition)
    this.#prefix = partitionSubject(partition)
  }

  /** @throws BatchRefused, or what the client says where no answer came */
  async append(messages: readonly JournalMessage[], after?: number): Promise<number> {
    const batch = messages.length > 1 ? nuid.next() : undefined
    for (const [i, message] of messages.entries()) {
      const subject = `${this.#prefix}.${message.subject}`
      const head = headers()
      for (const [name, value] of Object.entries(message.headers)) head.set(name, value)
      if (i === 0 && after !== undefined) head.set('Nats-Expected-Last-Sequence', String(after))
      if (batch !== undefined) {
        head.set('Nats-Batch-Id', batch)
        head.set('Nats-Batch-Sequence', String(i + 1))
      }
      if (i < messages.length - 1) {
        this.#connection.publish(subject, message.data, { headers: head })
        continue
      }
      if (batch !== undefined) head.set('Nats-Batch-Commit', '1')
      const options = { headers: head, timeout: ANSWER_MS }
      const reply = await this.#connection.request(subject, message.data, options)
      const answer: { seq?: number; error?: { description?: string } } = reply.json()
      if (answer.error === undefined && typeof answer.seq === 'number') return answer.seq
      throw new BatchRefused(
        `The stream ${this.#stream} did not take ${messages.length} messages: ` +
          `${answer.error?.description ?? 'no sequence in its answer'}.`,
      )
    }
    throw new RangeError('A batch has at least one message.')
  }

  async bytes(): Promise<number> {
    return (await this.#manager.streams.info(this.#stream)).state.bytes
  }

  async last(subject: string): Promise<KeptMessage | undefined> {
    const query = { last_by_subj: `${this.#prefix}.${subject}` }
    return this.#kept(await this.#manager.streams.getMessage(this.#stream, query))
  }

  async next(subject: string, sequence: number): Promise<KeptMessage | undefined> {
    const query = { seq: sequence, next_by_subj: `${this.#prefix}.${subject}` }
    return this.#kept(await this.#manager.streams.getMessage(this.#stream, query))
  }

  /** Asks any replica, which may be behind. */
  async page(subject: string, sequence: number): Promise<readonly KeptMessage[]> {
    const page = await this.#manager.direct.getBatch(this.#stream, {
      seq: sequence,
      next_by_subj: `${this.#prefix}.${subject}`,
      batch: PAGE_MESSAGES,
      max_bytes: PAGE_BYTES,
    })
    // A server that goes away in the middle says nothing more.
    const late = setTimeout(() => page.stop(new Error(`no answer of ${this.#stream}`)), ANSWER_MS)
    const messages: KeptMessage[] = []
    try {
      for await (const message of page) messages.push(this.#kept(message)!)
    } finally {
      clearTimeout(late)
    }
    return messages
  }

  async isMarkTaken(sequence: number): Promise<boolean> {
    const mark = await this.#manager.streams.getMessage(EVENTS, { last_by_subj: markOf(this.#partition) })
    // "P7 <sequence> …"
    const source = mark?.header.get('Nats-Stream-Source').split(' ')[1]
    return source !== undefined && Number(source) >= sequence
  }

  async purge(before: number): Promise<void> {
    await this.#manager.streams.purge(this.#stream, { seq: before })
  }

  #kept(message: StoredMsg | null): KeptMessage | undefined {
    if (message === null) return undefined
    return {
      sequence: message.seq,
      subject: message.subject.slice(this.#prefix.length + 1),
      header: (name) => message.header?.get(name) ?? '',
      data: message.data,
    }
  }
}
