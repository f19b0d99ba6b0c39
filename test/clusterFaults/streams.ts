import { jetstream, jetstreamManager, type JetStreamManager, type JsMsg } from '@nats-io/jetstream'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import { ANY_CLAIM, COMMIT, ownerOf, pointOf } from '../../src/cluster/journal/jetStreamRecords.ts'
import type { JournalEntry } from '../../src/cluster/journal/jetStreamPort.ts'
import { EVENTS, journalSubject, streamOf } from '../../src/cluster/journal/jetStreamStreams.ts'
import type { EventRecord } from './movers.ts'

const ANSWER_MS = 10_000
/** A stream whose messages stop coming for so long is read no further. */
const STALL_MS = 30_000
/**
 * How many messages are on their way at once. All that a long stream has would be more than a server keeps for a slow
 * reader: it then closes the connection (64 MB), and reading begins again.
 */
const MESSAGES_AT_ONCE = 2000
/** The server says twice in this time that a pull still waits. Silence means that it is lost, and it is sent again. */
const PULL_MS = 5000
const CLAIM = ANY_CLAIM.replace('*', 'owner')

/** The streams themselves, read without Ringfence. */
export class Streams {
  readonly connection: NatsConnection
  readonly #manager: JetStreamManager

  private constructor(connection: NatsConnection, manager: JetStreamManager) {
    this.connection = connection
    this.#manager = manager
  }

  static async open(servers: readonly string[]): Promise<Streams> {
    const connection = await connect({ servers: [...servers], maxReconnectAttempts: -1, timeout: ANSWER_MS })
    return new Streams(connection, await jetstreamManager(connection, { timeout: ANSWER_MS }))
  }

  close(): Promise<void> {
    return this.connection.close()
  }

  async eventCount(): Promise<number> {
    const { state } = await this.#manager.streams.info(EVENTS, { subjects_filter: 'events.>' })
    return Object.values(state.subjects ?? {}).reduce((sum, count) => sum + count, 0)
  }

  /**
   * Reads all events, in the order of the stream. None of them is kept.
   * @returns how many messages of the stream were read in a second
   */
  async readEvents(
    take: (event: EventRecord) => void,
    fault: (sentence: string) => void,
  ): Promise<{ readonly perSecond: number }> {
    const began = performance.now()
    let count = 0
    await this.#read(EVENTS, (message) => {
      count++
      if (!message.subject.startsWith('events.')) return
      const event = message.json<EventRecord>()
      if (message.headers?.get('Nats-Msg-Id') !== event._id)
        fault(`G2 event ${event._id} has another message id`)
      take(event)
    })
    return { perSecond: Math.round((count * 1000) / (performance.now() - began)) }
  }

  /**
   * G4: checks whose commits are in the log of a partition. After a claim only its claimer writes, and it first
   * writes that it owns the log. The positions of the frames increase by one.
   * @returns how many frames and how many owners the log had
   */
  async checkPartition(
    partition: number,
    fault: (sentence: string) => void,
  ): Promise<{ readonly frames: number; readonly owners: number }> {
    const name = streamOf(partition)
    const owners = new Set<string>()
    // After a trim, the log may begin in the middle of an ownership.
    let owner: string | undefined
    let claimer: string | undefined
    let offset: number | undefined
    let frames = 0
    await this.#read(name, (message) => {
      const kind = message.subject.slice(journalSubject(partition).length + 1)
      const record = keptOf(message)
      const by = ownerOf(record)
      if (kind === CLAIM) {
        claimer = by
        return
      }
      const allowed = kind === COMMIT && claimer === undefined ? owner : claimer
      if (by !== (allowed ?? by))
        fault(`G4 ${name}, message ${message.seq}: ${kind} of ${by}, but the log is that of ${allowed}`)
      if (kind === COMMIT && claimer !== undefined)
        fault(`G4 ${name}, message ${message.seq}: ${by} commits before it has seen how far the log is`)
      const point = pointOf(record)
      const isNext = kind === COMMIT && point.part === 1
      if (point.offset !== (offset ?? point.offset - (isNext ? 1 : 0)) + (isNext ? 1 : 0))
        fault(`G1 ${name}, message ${message.seq}: frame ${point.offset} behind frame ${offset}`)
      if (isNext) frames++
      ;[owner, claimer, offset] = [by, undefined, point.offset]
      owners.add(by)
    })
    return { frames, owners: owners.size }
  }

  /** Reads a stream up to the message that is its last one when this begins. */
  async #read(stream: string, take: (message: JsMsg) => void): Promise<void> {
    const { state } = await this.#manager.streams.info(stream)
    if (state.messages === 0) return
    const consumer = await jetstream(this.connection, { timeout: ANSWER_MS }).consumers.get(stream)
    // It begins anew behind the last message that it has seen, if the connection or its server is lost.
    const messages = await consumer.consume({ max_messages: MESSAGES_AT_ONCE, expires: PULL_MS })
    let last = 0
    const stalled = setTimeout(() => {
      messages.stop(new Error(`${stream} was read up to ${last}, and ends at ${state.last_seq}`))
    }, STALL_MS)
    try {
      for await (const message of messages) {
        stalled.refresh()
        take(message)
        last = message.seq
        if (last >= state.last_seq) return
      }
    } finally {
      clearTimeout(stalled)
      messages.stop()
      await consumer.delete().catch(() => {})
    }
  }
}

function keptOf({ seq, subject, headers, data }: JsMsg): JournalEntry {
  return { sequence: seq, subject, header: (name) => headers?.get(name) ?? '', data }
}
