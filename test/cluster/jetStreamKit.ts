/** What the tests of the JetStream technologies have in common. */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ConsumerInfo, JetStreamManager } from '@nats-io/jetstream'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import type { Test } from 'tap'
import { EventPublisher, type PublisherOptions } from '../../src/cluster/journal/eventPublisher.ts'
import { JetStreamEvents } from '../../src/cluster/journal/jetStreamEvents.ts'
import { JetStreamJournal } from '../../src/cluster/journal/jetStreamJournal.ts'
import type { Journal } from '../../src/cluster/journal/jetStreamPort.ts'
import { openJetStreamLog, type JetStreamLogOptions } from '../../src/cluster/journal/jetStreamLog.ts'
import { openStreams, type JournalOptions } from '../../src/cluster/journal/jetStreamStreams.ts'
import type { LogEvent, PartitionLog } from '../../src/log/port.ts'
import { natsServer, type NatsServer } from '../kit/nats.ts'
import { persistently } from '../../src/cluster/nats/jetStreamConnection.ts'
import { framesOf } from '../log/contract.ts'
import { until } from '../kit/waiting.ts'

export const STREAM_OPTIONS: JournalOptions = {
  partitions: 4,
  replicas: 1,
  maxPartitionBytes: -1,
  eventsAgeMs: 86_400_000,
  newStoreId: '0123456789abcdef',
}

/**
 * The servers flush each message before they answer, so that killing a server has the same effect as a loss of power.
 */
export const SYNC_ALWAYS = { jetStream: 'sync_interval: always' }

export interface Streams {
  readonly server: NatsServer
  readonly connection: NatsConnection
  readonly manager: JetStreamManager
}

/** What a log needs to be opened. */
export type Client = Pick<Streams, 'connection' | 'manager'>

/** A server with the streams of a store. */
export async function withStreams(
  t: Test,
  { jetStream = '', ...options }: Partial<JournalOptions> & { readonly jetStream?: string } = {},
): Promise<Streams> {
  const server = await natsServer(t, { jetStream })
  const connection = await reconnecting(t, [server])
  const { manager } = await persistently(
    () => openStreams(connection, { ...STREAM_OPTIONS, ...options }),
    again,
  )
  return { server, connection, manager }
}

/** A lost answer of a server that has just started is worth another question: the engine asks again as well. */
export function again(error: Error): void {
  console.error(`asked again after: ${error.message}`)
}

/** A connection like that of the engine, which reconnects to its servers. */
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

/** The consumers with which hosts follow each other and the owners of partitions. */
export async function consumersOf(manager: JetStreamManager): Promise<ConsumerInfo[]> {
  const found: ConsumerInfo[] = []
  for (const stream of ['KV_ringfence-hosts', 'KV_ringfence-partitions'])
    for await (const one of manager.consumers.list(stream)) found.push(one)
  return found
}

/** The publisher of a host. */
export function publisherOf(
  { connection, manager }: Client,
  options: Partial<PublisherOptions> = {},
): EventPublisher {
  return new EventPublisher({
    stream: new JetStreamEvents(connection, manager),
    maxBacklogBytes: 64 * 1024 * 1024,
    troubled: () => {},
    ...options,
  })
}

/** The events of each frame that was appended with events. */
const eventsOfFrames = new Map<string, readonly LogEvent[]>()

function keyOf(frame: Uint8Array): string {
  return Buffer.from(frame).toString('latin1')
}

/** Two events in every third of the frames `<name>.<number>`, for processes that share nothing else. */
export function eventsIn(frame: string): readonly LogEvent[] {
  const n = Number(frame.split('.')[1])
  if (n % 3 !== 0) return []
  return [0, 1].map((i) => {
    const id = Buffer.from(`${frame}/${i}`).toString('hex').padEnd(24, '0')
    return {
      scope: 3,
      id,
      type: 'user.entered_geofence',
      deviceId: 'd',
      json: JSON.stringify({ _id: id, n }),
    }
  })
}

/** Appends a frame with a unique text or unique bytes. */
export function append(
  log: PartitionLog,
  frame: string | Uint8Array,
  done: () => void,
  events: readonly LogEvent[] = [],
): void {
  const bytes = Buffer.from(frame as string)
  if (events.length > 0) eventsOfFrames.set(keyOf(bytes), events)
  log.append([bytes], done, events)
}

/** Opens the log of a partition as a new owner on a new host. A fault that is not expected here ends the test. */
export function openLog(
  client: Client,
  partition: number,
  options: Partial<JetStreamLogOptions> = {},
): Promise<PartitionLog> {
  return openJetStreamLog({
    partition,
    journal: new JetStreamJournal(client.connection, client.manager, partition),
    publisher: publisherOf(client),
    owner: randomBytes(8).toString('hex'),
    eventsOf: (frame) => eventsOfFrames.get(keyOf(frame)) ?? [],
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
  /** Resolves to true once the frame is durable, or to false when another owner is known. */
  commit(frame: string, events?: readonly LogEvent[]): Promise<boolean>
}

/** Like {@link openLog}, for an owner that may lose the partition and whose servers may fail. */
export async function openOwner(
  streams: Client,
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
        append(log, frame, () => resolve(true), events)
      })
      return Promise.race([durable, lost])
    },
  }
}

let eventIds = 0

/** An event of a device, with number `n`. */
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
  return new Promise((resolve) => append(log, frame, resolve, events))
}

/** A journal with some functions replaced. */
export function journalWith(journal: Journal, changes: Partial<Journal>): Journal {
  return {
    maxDataBytes: journal.maxDataBytes,
    append: (messages, after) => journal.append(messages, after),
    bytes: () => journal.bytes(),
    last: (subject) => journal.last(subject),
    next: (subject, sequence) => journal.next(subject, sequence),
    page: (subject, sequence) => journal.page(subject, sequence),
    purge: (before) => journal.purge(before),
    ...changes,
  }
}

/** Numbers from 0 to 1, determined by a seed. */
export function drawer(seed: number): () => number {
  let state = seed
  return () => (state = (state * 48_271) % 0x7fffffff) / 0x7fffffff
}

/** The ids of the events in EVENTS, once there are as many as expected. */
export async function eventsOf(server: NatsServer, expected: number): Promise<string[]> {
  const complete = async () => {
    let ids: string[] = []
    await until(async () => {
      // In a cluster, a consumer that has just been created may have no leader yet: "no responders".
      const messages = await server.messages('EVENTS').catch(() => [])
      ids = messages.filter(({ subject }) => subject.startsWith('events.')).map(({ id }) => id)
      return ids.length >= expected
    })
    return ids
  }
  await complete()
  // A duplicate would arrive last.
  await sleep(200)
  return complete()
}

export interface Load {
  /** Acknowledged frames and ids of events. */
  readonly frames: string[]
  readonly events: string[]
  /** Ends it after the current frame. */
  stop(): Promise<void>
}

/** A host that appends frame after frame to each of its partitions, with events in every third. */
export async function load(streams: Client, partitions: number): Promise<Load[]> {
  const publisher = publisherOf(streams)
  return Promise.all(
    Array.from({ length: partitions }, async (_, partition) => {
      const owner = await openOwner(streams, partition, { publisher })
      const frames: string[] = []
      const events: string[] = []
      const stopped = new AbortController()
      const run = async () => {
        for (let i = 0; !stopped.signal.aborted; i++) {
          const some = i % 3 === 0 ? [event(`d${partition}`, i), event(`d${partition}`, i)] : []
          const isDurable = await owner.commit(`${partition}.${i}`, some)
          if (!isDurable) throw new Error(`partition ${partition} was lost to nobody`)
          frames.push(`${partition}.${i}`)
          events.push(...some.map(({ id }) => id))
          await sleep(1)
        }
        await owner.log.close()
      }
      const running = run()
      return {
        frames,
        events,
        stop: () => {
          stopped.abort()
          return running
        },
      }
    }),
  )
}

/**
 * Checks that everything acknowledged is there exactly once, and nothing else. No frame was left without an answer,
 * so there can be none.
 */
export async function compare(
  t: Test,
  streams: Client,
  server: NatsServer,
  loads: readonly Load[],
): Promise<void> {
  for (const [partition, { frames }] of loads.entries()) {
    const { log } = await openOwner(streams, partition)
    const found = (await framesOf(log, 1)).map(({ payload }) => Buffer.from(payload).toString())
    await log.close()
    t.strictSame(found, frames, `${frames.length} frames of partition ${partition}`)
  }
  const expected = loads.flatMap(({ events }) => events)
  const found = await eventsOf(server, expected.length)
  t.equal(found.length, expected.length, `${expected.length} events`)
  for (const { events } of loads) {
    const mine = new Set(events)
    t.strictSame(
      found.filter((id) => mine.has(id)),
      events,
    )
  }
}
