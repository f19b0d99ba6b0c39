import {
  DeliverPolicy,
  jetstream,
  type Consumer,
  type ConsumerMessages,
  type JetStreamClient,
  type JetStreamManager,
} from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import type { EventChange, SharedEvents, SharedMessage } from '../../events/port.ts'
import { addressOf, EVERY_SUBJECT } from '../../model/eventSubject.ts'
import { storeBatch } from './jetStreamBatch.ts'
import { EVENT_CHANGES, EVENTS, isMark } from './jetStreamStreams.ts'

const HEARTBEAT_MS = 1000
const EXPIRES_MS = 10_000
/** The servers remove the consumer of a process that was killed after this time. */
const ABANDONED_MS = 30_000
const PAGE_MESSAGES = 1000

/** The stream of events over a connection, for processes that keep an index of it. */
export class JetStreamEventReader implements SharedEvents {
  readonly #connection: NatsConnection
  readonly #manager: JetStreamManager
  readonly #client: JetStreamClient
  readonly #unreadable: (sequence: number, reason: string) => void
  /** Functions that end all followers when the connection is lost. Otherwise the followers would wait for ever. */
  readonly #cuts = new Set<() => void>()

  /**
   * A reader over an open connection.
   * @param unreadable called for each message that is not ours, because others may publish there
   */
  constructor(
    connection: NatsConnection,
    manager: JetStreamManager,
    unreadable: (sequence: number, reason: string) => void,
  ) {
    this.#connection = connection
    this.#manager = manager
    this.#client = jetstream(connection)
    this.#unreadable = unreadable
    void this.#watchConnection()
  }

  async lastSequence(): Promise<number> {
    return (await this.#manager.streams.info(EVENTS)).state.last_seq
  }

  async newestEvent(): Promise<number> {
    const message = await this.#manager.streams.getMessage(EVENTS, { last_by_subj: EVERY_SUBJECT })
    return message?.seq ?? 0
  }

  async follow(after: number, signal: AbortSignal): Promise<AsyncIterable<SharedMessage>> {
    // There is no filter: with one, the server would look it up among the subjects of all devices for each message.
    const consumer = await this.#client.consumers.get(EVENTS, {
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: after + 1,
      inactive_threshold: ABANDONED_MS,
    })
    const messages = await consumer.consume({
      max_messages: PAGE_MESSAGES,
      expires: EXPIRES_MS,
      idle_heartbeat: HEARTBEAT_MS,
    })
    return this.#messages(consumer, messages, signal)
  }

  async *#messages(
    consumer: Consumer,
    messages: ConsumerMessages,
    signal: AbortSignal,
  ): AsyncGenerator<SharedMessage> {
    let isCut = false
    const stop = (): void => messages.stop()
    const cut = (): void => {
      isCut = true
      stop()
    }
    this.#cuts.add(cut)
    void cutInSilence(messages, cut)
    signal.addEventListener('abort', stop)
    if (signal.aborted) stop()
    try {
      for await (const { seq, subject, data, info } of messages) {
        if (isMark(subject)) continue
        yield {
          sequence: seq,
          behind: info.pending,
          ...this.#read(seq, subject, Buffer.from(data).toString()),
        }
      }
      if (isCut) throw new Error(`The stream ${EVENTS} cannot be reached.`)
    } finally {
      signal.removeEventListener('abort', stop)
      this.#cuts.delete(cut)
      stop()
      void consumer.delete().catch(() => {})
    }
  }

  append(change: EventChange): Promise<number> {
    const data = Buffer.from(JSON.stringify(change))
    return storeBatch(this.#connection, EVENTS, [{ subject: EVENT_CHANGES, headers: {}, data }])
  }

  #read(sequence: number, subject: string, json: string): Pick<SharedMessage, 'event' | 'change'> {
    try {
      if (subject === EVENT_CHANGES) return { change: changeIn(json) }
      const address = addressOf(subject)
      if (address === undefined) throw new Error(`the subject ${subject} is not an event's`)
      return { event: { scope: address.scope, json } }
    } catch (error) {
      this.#unreadable(sequence, (error as Error).message)
      return {}
    }
  }

  async #watchConnection(): Promise<void> {
    for await (const { type } of this.#connection.status()) {
      if (type === 'disconnect') for (const cut of this.#cuts) cut()
    }
  }
}

/**
 * Reads a client's change.
 * @throws Error if it is not one of ours, because an index would fail at it again and again
 */
function changeIn(json: string): EventChange {
  const change = JSON.parse(json) as Partial<EventChange> | null
  const { scope, id, verdict } = change ?? {}
  const isVerdict =
    verdict === undefined ||
    (verdict !== null &&
      VERIFICATIONS.has(verdict.verification) &&
      /^(?:string|undefined)$/.test(typeof verdict.verifiedPlaceId))
  if (!Number.isSafeInteger(scope) || typeof id !== 'string' || !isVerdict)
    throw new Error(`what should change an event is ${json.slice(0, 100)}`)
  return change as EventChange
}

const VERIFICATIONS: ReadonlySet<unknown> = new Set([1, 0, -1])

async function cutInSilence(messages: ConsumerMessages, cut: () => void): Promise<void> {
  for await (const { type } of messages.status()) if (type === 'heartbeats_missed') cut()
}
