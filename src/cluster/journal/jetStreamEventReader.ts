import type { JetStreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import type { EventChange, SharedEvents, SharedMessage } from '../../events/port.ts'
import { addressOf, EVERY_SUBJECT } from '../../model/eventSubject.ts'
import { StreamFollower, type FollowedStream } from '../nats/streamFollower.ts'
import { storeBatch } from './jetStreamBatch.ts'
import { EVENT_CHANGES, EVENTS, isMark } from './jetStreamStreams.ts'

/** The stream of events over a connection, for processes that keep an index of it. */
export class JetStreamEventReader implements SharedEvents {
  readonly #connection: NatsConnection
  readonly #manager: JetStreamManager
  readonly #follower: StreamFollower
  readonly #unreadable: (sequence: number, reason: string) => void

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
    this.#follower = new StreamFollower(connection)
    this.#unreadable = unreadable
  }

  async lastSequence(): Promise<number> {
    return (await this.#manager.streams.info(EVENTS)).state.last_seq
  }

  async newestEvent(): Promise<number> {
    const message = await this.#manager.streams.getMessage(EVENTS, { last_by_subj: EVERY_SUBJECT })
    return message?.seq ?? 0
  }

  async follow(after: number, signal: AbortSignal): Promise<AsyncIterable<SharedMessage>> {
    return this.#messages(await this.#follower.follow(EVENTS, after, signal))
  }

  async *#messages(followed: FollowedStream): AsyncGenerator<SharedMessage> {
    try {
      for await (const { seq, subject, data, info } of followed.messages) {
        if (isMark(subject)) continue
        yield {
          sequence: seq,
          behind: info.pending,
          ...this.#read(seq, subject, Buffer.from(data).toString()),
        }
      }
      followed.checkWhole()
    } finally {
      followed.end()
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
