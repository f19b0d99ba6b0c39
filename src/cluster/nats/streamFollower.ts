import { setTimeout as sleep } from 'node:timers/promises'
import {
  DeliverPolicy,
  jetstream,
  type Consumer,
  type ConsumerMessages,
  type JetStreamClient,
} from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'

const HEARTBEAT_MS = 1000
const EXPIRES_MS = 10_000
/** The servers remove the consumer of a process that was killed after this time. */
const ABANDONED_MS = 30_000
const PAGE_MESSAGES = 1000
/** Longer than the servers take to make a consumer. */
const LATE_MS = 5_000

/** Follows streams over one connection. */
export class StreamFollower {
  readonly #connection: NatsConnection
  readonly #client: JetStreamClient
  readonly #following = new Set<FollowedStream>()

  /**
   * Follows nothing yet.
   * @param answerMs how long an answer of the server may take, in milliseconds; that of the library if absent
   */
  constructor(connection: NatsConnection, answerMs?: number) {
    this.#connection = connection
    this.#client = jetstream(connection, answerMs === undefined ? {} : { timeout: answerMs })
    void this.#watchConnection()
  }

  /**
   * Follows a stream until the signal is aborted. There is no filter: with one, the server would look it up among all
   * subjects of the stream for each message.
   * @param after the sequence of the last message that is not wanted
   * @throws the errors of NATS
   */
  async follow(stream: string, after: number, signal: AbortSignal): Promise<FollowedStream> {
    const consumer = await this.#client.consumers.get(stream, {
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: after + 1,
      inactive_threshold: ABANDONED_MS,
    })
    const messages = await consumer.consume({
      max_messages: PAGE_MESSAGES,
      expires: EXPIRES_MS,
      idle_heartbeat: HEARTBEAT_MS,
    })
    return new FollowedStream(stream, consumer, messages, signal, this.#following)
  }

  /** Without this, the readers would wait for ever when the connection is lost. */
  async #watchConnection(): Promise<void> {
    for await (const { type } of this.#connection.status()) {
      if (type === 'disconnect') for (const one of this.#following) one.cut()
    }
  }
}

/** A stream that is being followed. Whoever reads its messages calls {@link checkWhole} after them, and {@link end} at last. */
export class FollowedStream {
  /** They end when the signal is aborted, the server is silent or the connection is lost. */
  readonly messages: ConsumerMessages
  readonly #stream: string
  readonly #consumer: Consumer
  readonly #signal: AbortSignal
  readonly #others: Set<FollowedStream>
  readonly #stop = (): void => this.messages.stop()
  #isCut = false

  /** @param others to which it belongs until its end */
  constructor(
    stream: string,
    consumer: Consumer,
    messages: ConsumerMessages,
    signal: AbortSignal,
    others: Set<FollowedStream>,
  ) {
    this.messages = messages
    this.#stream = stream
    this.#consumer = consumer
    this.#signal = signal
    this.#others = others
    others.add(this)
    void this.#cutInSilence()
    signal.addEventListener('abort', this.#stop)
    if (signal.aborted) this.#stop()
  }

  /** Ends the messages, because the connection is lost. */
  cut(): void {
    this.#isCut = true
    this.#stop()
  }

  /** @throws Error if the messages have ended for another reason than the signal */
  checkWhole(): void {
    if (this.#isCut) throw new Error(`The stream ${this.#stream} cannot be reached.`)
  }

  end(): void {
    this.#signal.removeEventListener('abort', this.#stop)
    this.#others.delete(this)
    this.#stop()
    void this.#remove()
  }

  /** Removes the consumer from the servers. Never rejects. */
  async #remove(): Promise<void> {
    const { name } = await this.#consumer.info(true)
    await this.#consumer.delete().catch(() => {})
    // In silence, the library may be making another consumer at the same time, although nobody reads it any more. The
    // servers would keep that one for five minutes.
    await sleep(LATE_MS, undefined, { ref: false })
    const late = await this.#consumer.info(true)
    if (late.name !== name) await this.#consumer.delete().catch(() => {})
  }

  async #cutInSilence(): Promise<void> {
    for await (const { type } of this.messages.status()) if (type === 'heartbeats_missed') this.cut()
  }
}
