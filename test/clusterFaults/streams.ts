import { jetstream, jetstreamManager, type JetStreamManager, type JsMsg } from '@nats-io/jetstream'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import { ANY_CLAIM, COMMIT, ownerOf, pointOf } from '../../src/cluster/journal/jetStreamRecords.ts'
import type { JournalEntry } from '../../src/cluster/journal/jetStreamPort.ts'
import { EVENTS, journalSubject, streamOf } from '../../src/cluster/journal/jetStreamStreams.ts'
import type { EventRecord } from './movers.ts'

const ANSWER_MS = 10_000
const READ_MS = 30_000
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

  /** All events, in the order of the stream. */
  async events(fault: (sentence: string) => void): Promise<EventRecord[]> {
    const found: EventRecord[] = []
    for (const message of await this.#messages(EVENTS)) {
      if (!message.subject.startsWith('events.')) continue
      const event = message.json<EventRecord>()
      if (message.headers?.get('Nats-Msg-Id') !== event._id)
        fault(`G2 event ${event._id} has another message id`)
      found.push(event)
    }
    return found
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
    for (const message of await this.#messages(name)) {
      const kind = message.subject.slice(journalSubject(partition).length + 1)
      const record = keptOf(message)
      const by = ownerOf(record)
      if (kind === CLAIM) {
        claimer = by
        continue
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
    }
    return { frames, owners: owners.size }
  }

  async #messages(stream: string): Promise<JsMsg[]> {
    const { state } = await this.#manager.streams.info(stream)
    const found: JsMsg[] = []
    if (state.messages === 0) return found
    const consumer = await jetstream(this.connection, { timeout: ANSWER_MS }).consumers.get(stream)
    // On a starved machine, a long stream is not read in that time, and what is there so far is not all.
    for (let before = -1; found.length > before;) {
      before = found.length
      const messages = await consumer.fetch({
        max_messages: state.messages - found.length,
        expires: READ_MS,
      })
      try {
        for await (const message of messages) {
          found.push(message)
          if (message.seq >= state.last_seq) return found
        }
      } catch (error) {
        // Another server of the cluster has not heard of the new consumer yet.
        if (found.length > 0 || !(error instanceof Error) || error.message !== 'no responders') throw error
        return this.#messages(stream)
      }
    }
    throw new Error(`${stream} was read up to ${found.at(-1)?.seq ?? 0}, and ends at ${state.last_seq}`)
  }
}

function keptOf({ seq, subject, headers, data }: JsMsg): JournalEntry {
  return { sequence: seq, subject, header: (name) => headers?.get(name) ?? '', data }
}
