import type { JetStreamManager, StoredMsg } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { unlessLost } from '../nats/connectionLoss.ts'
import { ANSWER_MS, storeBatch } from './jetStreamBatch.ts'
import type { Journal, JournalMessage, JournalEntry } from './jetStreamPort.ts'
import { journalSubject, streamOf } from './jetStreamStreams.ts'

const PAGE_MESSAGES = 256
const PAGE_BYTES = 4 * 1024 * 1024
/** Bytes reserved for the headers of a message, besides its data. */
const HEADER_BYTES = 4096

/** The stream of one partition over a connection, which is shared with others and may reconnect at any time. */
export class JetStreamJournal implements Journal {
  readonly maxDataBytes: number
  readonly #connection: NatsConnection
  readonly #manager: JetStreamManager
  readonly #stream: string
  readonly #prefix: string

  /**
   * A journal over an open connection.
   * @param connection must be connected, because its server's limits are read
   */
  constructor(connection: NatsConnection, manager: JetStreamManager, partition: number) {
    this.maxDataBytes = connection.info!.max_payload - HEADER_BYTES
    this.#connection = connection
    this.#manager = manager
    this.#stream = streamOf(partition)
    this.#prefix = journalSubject(partition)
  }

  /**
   * Appends messages.
   * @throws {BatchRefused}, or the client's error if no answer came
   */
  append(messages: readonly JournalMessage[], after?: number): Promise<number> {
    const fence = after === undefined ? {} : { 'Nats-Expected-Last-Sequence': String(after) }
    const batch = messages.map(({ subject, headers, data }, i) => {
      return {
        subject: `${this.#prefix}.${subject}`,
        headers: i === 0 ? { ...headers, ...fence } : headers,
        data,
      }
    })
    return storeBatch(this.#connection, this.#stream, batch)
  }

  async bytes(): Promise<number> {
    return (await this.#manager.streams.info(this.#stream)).state.bytes
  }

  async last(subject: string): Promise<JournalEntry | undefined> {
    const query = { last_by_subj: `${this.#prefix}.${subject}` }
    return this.#kept(await this.#found(query))
  }

  async next(subject: string, sequence: number): Promise<JournalEntry | undefined> {
    const query = { seq: sequence, next_by_subj: `${this.#prefix}.${subject}` }
    return this.#kept(await this.#found(query))
  }

  /** Reads some messages from any replica, which may be behind. */
  async page(subject: string, sequence: number): Promise<readonly JournalEntry[]> {
    const page = await this.#manager.direct.getBatch(this.#stream, {
      seq: sequence,
      next_by_subj: `${this.#prefix}.${subject}`,
      batch: PAGE_MESSAGES,
      max_bytes: PAGE_BYTES,
    })
    // A server that disappears in the middle of an answer sends nothing more.
    const late = setTimeout(() => page.stop(new Error(`no answer of ${this.#stream}`)), ANSWER_MS)
    const messages: JournalEntry[] = []
    try {
      for await (const message of page) messages.push(this.#kept(message)!)
    } finally {
      clearTimeout(late)
    }
    return messages
  }

  async purge(before: number): Promise<void> {
    await this.#manager.streams.purge(this.#stream, { seq: before })
  }

  #found(query: Parameters<JetStreamManager['streams']['getMessage']>[1]): Promise<StoredMsg | null> {
    return unlessLost(this.#connection, this.#manager.streams.getMessage(this.#stream, query))
  }

  #kept(message: StoredMsg | null): JournalEntry | undefined {
    if (message === null) return undefined
    return {
      sequence: message.seq,
      subject: message.subject.slice(this.#prefix.length + 1),
      header: (name) => message.header?.get(name) ?? '',
      data: message.data,
    }
  }
}
