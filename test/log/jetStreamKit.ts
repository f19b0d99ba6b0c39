/** What the tests of the JetStream technologies have in common. */
import { randomBytes } from 'node:crypto'
import type { JetStreamManager } from '@nats-io/jetstream'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import type { Test } from 'tap'
import { JetStreamJournal } from '../../src/log/jetStreamJournal.ts'
import type { Journal } from '../../src/log/jetStreamPort.ts'
import { openJetStreamLog, type JetStreamLogOptions } from '../../src/log/jetStreamLog.ts'
import { openStreams, type StreamOptions } from '../../src/log/jetStreamStreams.ts'
import type { LogEvent, PartitionLog } from '../../src/log/port.ts'
import { natsServer, type NatsServer } from '../kit/nats.ts'

export const STREAM_OPTIONS: StreamOptions = {
  partitions: 4,
  replicas: 1,
  maxPartitionBytes: -1,
  eventsAgeMs: 86_400_000,
  newStoreId: '0123456789abcdef',
}

/** Servers flush each message before they answer, so that a kill of one is as good as a loss of power. */
export const SYNC_ALWAYS = 'jetstream { sync_interval: always }'

export interface Streams {
  readonly server: NatsServer
  readonly connection: NatsConnection
  readonly manager: JetStreamManager
}

/** A server with the streams of a store. */
export async function withStreams(
  t: Test,
  { config, ...options }: Partial<StreamOptions> & { readonly config?: string } = {},
): Promise<Streams> {
  const server = await natsServer(t, config === undefined ? {} : { config })
  const connection = await reconnecting(t, [server])
  const { manager } = await openStreams(connection, { ...STREAM_OPTIONS, ...options })
  return { server, connection, manager }
}

/** A connection as the engine has one: it finds its servers again. */
export async function reconnecting(t: Test, servers: readonly NatsServer[]): Promise<NatsConnection> {
  const connection = await connect({
    servers: servers.map(({ address }) => address),
    maxReconnectAttempts: -1,
    reconnectTimeWait: 50,
    reconnectJitter: 50,
    ignoreAuthErrorAbort: true,
  })
  t.teardown(() => connection.close())
  return connection
}

/** Opens the log of a partition as a new owner; what is not told ends the test. */
export function openLog(
  { connection, manager }: Pick<Streams, 'connection' | 'manager'>,
  partition: number,
  options: Partial<JetStreamLogOptions> = {},
): Promise<PartitionLog> {
  return openJetStreamLog({
    partition,
    journal: new JetStreamJournal(connection, manager, partition),
    owner: randomBytes(8).toString('hex'),
    encode: (json) => Buffer.from(json),
    fencedOut(error) {
      throw error
    },
    troubled(error) {
      throw error
    },
    ...options,
  })
}

export interface Owner {
  readonly log: PartitionLog
  /** Resolves to true once the frame is durable, to false when another owner is known. */
  commit(frame: string, events?: readonly LogEvent[]): Promise<boolean>
}

/** As {@link openLog}, for one that may lose the partition and whose servers may fail. */
export async function openOwner(
  streams: Pick<Streams, 'connection' | 'manager'>,
  partition: number,
  options: Partial<JetStreamLogOptions> = {},
): Promise<Owner> {
  let lose: (lost: false) => void
  const lost = new Promise<false>((resolve) => (lose = resolve))
  const log = await openLog(streams, partition, {
    fencedOut: () => lose(false),
    troubled: () => {},
    ...options,
  })
  return {
    log,
    commit(frame, events = []) {
      const durable = new Promise<true>((resolve) => {
        log.append([Buffer.from(frame)], () => resolve(true), events)
      })
      return Promise.race([durable, lost])
    },
  }
}

let eventIds = 0

/** An event of a device with its number `n`. */
export function event(deviceId: string, n: number): LogEvent {
  const id = (++eventIds).toString(16).padStart(24, '0')
  return { scope: 3, id, type: 'user.entered_geofence', deviceId, json: JSON.stringify({ _id: id, n }) }
}

/** Appends a frame and waits until it is durable. */
export function commit(
  log: PartitionLog,
  frame: string | Uint8Array,
  events: readonly LogEvent[] = [],
): Promise<void> {
  return new Promise((resolve) => {
    log.append([Buffer.from(frame as string)], resolve, events)
  })
}

/** A journal of which some is otherwise. */
export function journalWith(journal: Journal, changes: Partial<Journal>): Journal {
  return {
    maxDataBytes: journal.maxDataBytes,
    append: (messages, after) => journal.append(messages, after),
    bytes: () => journal.bytes(),
    last: (subject) => journal.last(subject),
    next: (subject, sequence) => journal.next(subject, sequence),
    page: (subject, sequence) => journal.page(subject, sequence),
    isMarkTaken: (sequence) => journal.isMarkTaken(sequence),
    purge: (before) => journal.purge(before),
    ...changes,
  }
}

/** Numbers from 0 to 1 that a seed tells. */
export function drawer(seed: number): () => number {
  let state = seed
  return () => (state = (state * 48_271) % 0x7fffffff) / 0x7fffffff
}
