import { failureFields } from '../runtime/errors.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import type { NodeConnectionOptions } from '@nats-io/transport-node'
import type { EventFeed } from '../events/feed.ts'
import type { LoggedEvent, StoredEvent } from '../events/port.ts'
import type { Logger } from '../runtime/logger.ts'
import { keepRunning, type RetryPauses } from '../runtime/retry.ts'
import { TroubleOnce } from '../runtime/troubles.ts'
import type { NatsOffset } from './natsOffset.ts'
import { BATCH_MESSAGES, NatsStream, type NatsMessage } from './natsStream.ts'
import { addressOf, SubjectWriter } from '../model/eventSubject.ts'

/** Approximate bytes of one batch. Besides it, only one part of the feed is in memory. */
const BATCH_BYTES = 2 * 1024 * 1024
/** Bytes reserved for the headers of a message, and for settings of the stream that are not known. */
const HEADER_BYTES = 1024
const PAUSES: RetryPauses = { firstMs: 250, lastMs: 10_000, isSpread: true }
/** A stop waits this long for the current batch. The next start finds out whether it was stored. */
const STOP_MS = 5000

/** What operators see of the bridge. */
export interface BridgeStatus {
  /** Whether it is connected and the stream is suitable. */
  readonly connected: boolean
  /** Events that are not in the stream yet. */
  readonly lag: number
  /** Events that the stream has accepted since the start of the process. */
  readonly published: number
  /** Events that were left out since the start of the process because they exceed the server's limit. */
  readonly omitted: number
  /** The reason, in words. */
  readonly detail: string
}

/**
 * Publishes every event of every scope to the JetStream stream `EVENTS`, in the order of the log.
 *
 * The obvious way publishes each event, and records the last acknowledged offset. To be fast it must be pipelined,
 * and then it loses the order when one event is refused or lost and later ones are not. After `kill -9` it repeats
 * events that were stored but not recorded, and the server's duplicate window (two minutes) does not cover that for
 * long.
 *
 * So: batches that are stored whole or not at all, one at a time, each fenced by the sequence that it must follow.
 * The stream is then always the beginning of the log, and its last message says where to go on: nothing that is noted
 * here can be out of step with it. What is noted counts where the stream has lost that message: expired, consumed,
 * purged.
 *
 * Owns: the cursor and the connection. Does not own: what happened (the feed), what subscribers have seen
 * (JetStream).
 *
 * Invariants
 * - BRIDGE-1: What the stream holds of an event log is in the order of the log, without a gap, and each event once
 *   (G2, G3).
 * - BRIDGE-2: NATS being slow or gone costs nothing elsewhere: the backlog is the event log.
 */
export class NatsBridge {
  readonly name = 'NATS bridge'
  readonly #feed: EventFeed
  readonly #offset: NatsOffset
  readonly #connection: NodeConnectionOptions
  readonly #encode: (json: string) => Uint8Array
  readonly #logger: Logger
  readonly #subjects = new SubjectWriter()
  readonly #stopped = new AbortController()
  #running: Promise<void> = Promise.resolve()
  #server: string | undefined
  readonly #trouble: TroubleOnce
  #published = 0
  #omitted = 0

  /**
   * Creates a bridge that does not run yet.
   * @param parts.connection the servers and our credentials
   * @param parts.encode makes the data of a message from an event's record
   */
  constructor(parts: {
    readonly feed: EventFeed
    readonly offset: NatsOffset
    readonly connection: NodeConnectionOptions
    readonly encode: (json: string) => Uint8Array
    readonly logger: Logger
  }) {
    this.#feed = parts.feed
    this.#offset = parts.offset
    this.#connection = parts.connection
    this.#encode = parts.encode
    this.#logger = parts.logger
    // A failure outside of this process is logged without a stack.
    this.#trouble = new TroubleOnce((error) =>
      this.#logger.warn(failureFields(error), 'cannot publish events to NATS; retrying'),
    )
  }

  get status(): BridgeStatus {
    const lag = this.#feed.lastOffset - this.#offset.value
    // Anybody may read this state, so the servers' addresses are only in the log.
    const where = this.#server === undefined ? 'not connected; the log says why' : 'connected'
    return {
      connected: this.#server !== undefined,
      lag,
      published: this.#published,
      omitted: this.#omitted,
      detail: `${where}; ${lag} events behind`,
    }
  }

  /**
   * Stores the end of the log as the first offset if there is none, and begins. Connecting continues in the
   * background.
   */
  async start(): Promise<void> {
    if (this.#offset.value > this.#feed.lastOffset) {
      const { value } = this.#offset
      this.#logger.warn(
        { offset: value, last: this.#feed.lastOffset },
        'nats.json is ahead of the event log: the data folder is older than its nats.json',
      )
      this.#offset.set(this.#feed.lastOffset)
    }
    await this.#offset.save()
    this.#running = this.#run()
  }

  async stop(): Promise<void> {
    this.#stopped.abort()
    const late = new AbortController()
    await Promise.race([this.#running, sleep(STOP_MS, undefined, { ref: false, signal: late.signal })])
    late.abort()
    await this.#offset.save()
  }

  #run(): Promise<void> {
    const { signal } = this.#stopped
    const failed = (error: Error): void => this.#trouble.tell(error)
    return keepRunning((worked) => this.#session(signal, worked), { pauses: PAUSES, signal, failed })
  }

  /** Runs one connection until its end, and throws the reason. */
  async #session(stopped: AbortSignal, worked: () => void): Promise<void> {
    const stream = await NatsStream.open(this.#connection)
    try {
      const from = await this.#resumeAt(stream)
      this.#offset.set(from)
      this.#server = stream.server
      this.#trouble.clear()
      this.#logger.info({ server: stream.server, behind: this.status.lag }, 'publishing events to NATS')
      const ended = AbortSignal.any([stopped, stream.ended])
      for await (const { events, offset } of this.#feed.follow('all', from, BATCH_MESSAGES, ended)) {
        for (const batch of this.#batches(events, stream.maxMessageBytes - HEADER_BYTES)) {
          await stream.append(batch)
          this.#published += batch.length
          worked()
        }
        this.#offset.set(offset)
      }
      if (!stopped.aborted) throw stream.ended.reason
    } finally {
      this.#server = undefined
      await stream.close()
    }
  }

  /**
   * Finds the offset after which the stream has no events. The stream's last message names it. If that message is
   * gone, or does not belong to this log, the recorded offset counts, unless an earlier message that still exists is
   * further: then the process ended before it recorded its offset.
   */
  async #resumeAt(stream: NatsStream): Promise<number> {
    const noted = this.#offset.value
    const last = await stream.lastMessage()
    const lastOffset = last && (await this.#offsetOf(last))
    if (lastOffset !== undefined) return lastOffset
    for await (const message of stream.newest(BATCH_MESSAGES)) {
      const offset = await this.#offsetOf(message)
      if (offset !== undefined) return Math.max(offset, noted)
    }
    return noted
  }

  async #offsetOf({
    subject,
    id,
  }: {
    readonly subject: string
    readonly id: string
  }): Promise<number | undefined> {
    const address = addressOf(subject)
    return address && this.#feed.offsetOf(address.scope, id)
  }

  /**
   * Divides events into batches by their bytes. Leaves out, and reports, events that no server would accept, because
   * they would block all others for ever.
   */
  *#batches(events: readonly LoggedEvent[], maxBytes: number): Generator<NatsMessage[]> {
    let batch: NatsMessage[] = []
    let bytes = 0
    for (const { event } of events) {
      const message = this.#messageOf(event)
      if (message.data.length > maxBytes) {
        this.#omitted++
        this.#logger.error(
          { event: event.id, bytes: message.data.length, maxBytes },
          'an event is larger than NATS allows (max_payload) and was left out',
        )
        continue
      }
      if (batch.length > 0 && bytes + message.data.length > BATCH_BYTES) {
        yield batch
        batch = []
        bytes = 0
      }
      batch.push(message)
      bytes += message.data.length
    }
    if (batch.length > 0) yield batch
  }

  #messageOf(event: StoredEvent): NatsMessage {
    return { subject: this.#subjects.subjectOf(event), id: event.id, data: this.#encode(event.json) }
  }
}
