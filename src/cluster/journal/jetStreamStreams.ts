import { randomBytes } from 'node:crypto'
import {
  DiscardPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  StorageType,
  jetstreamManager,
} from '@nats-io/jetstream'
import type { JetStreamManager, StreamConfig } from '@nats-io/jetstream'
import { Kvm, type KV, type KvEntry } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import { EVERY_SUBJECT } from '../../model/eventSubject.ts'

/**
 * The streams of the distributed engine. They are created if they do not exist, and updated to the settings if they
 * do.
 *
 * | stream | holds | filled by |
 * |---|---|---|
 * | `P0`, `P1`, … | the log of a partition, subjects `partition.<n>.>` | its owner |
 * | `EVENTS` | every event once, subjects `events.>`; for each partition `mark.<n>`, the offset up to which its events
 * are there | all owners | | | what clients did to events, `event-changes` | gateways |
 *
 * What must never change is in the bucket `ringfence` under `store`.
 */
export interface JournalOptions {
  /** From 1 to 1024. It must be the number with which the store was created. */
  readonly partitions: number
  /** How many servers keep a copy: 1, 3 or 5. */
  readonly replicas: number
  /**
   * The largest size of one partition's stream in bytes. When it is full, appends wait until the log is trimmed or the
   * limit is raised. -1 means no limit.
   */
  readonly maxPartitionBytes: number
  /** How long `EVENTS` keeps an event, in milliseconds. 0 means for ever. */
  readonly eventsAgeMs: number
  /** The id of a new store, used if there is none yet: 16 hex digits. */
  readonly newStoreId: string
}

export const EVENTS = 'EVENTS'
/** The subject in {@link EVENTS} of deleted events and verdicts. */
export const EVENT_CHANGES = 'event-changes'
const STORE_BUCKET = 'ringfence'
const STORE_KEY = 'store'
const SECRET_KEY = 'secret'
const SECRET_BYTES = 32
const FORMAT = 1
/** The first version of the servers with atomic batches. */
const OLDEST_VERSION = [2, 12, 0] as const
const NANOSECONDS = 1e6
/** How long the creation of a stream may take, because all servers of a cluster must agree on it. */
const MAKING_MS = 5000
/** How long an answer may take. A stream without a leader does not answer, and the next attempt may succeed. */
const ANSWER_MS = 1500
/**
 * The smallest limit of a message that is accepted. Larger messages are split, but with less than this, a single event
 * could be too large.
 */
const LEAST_PAYLOAD_BYTES = 512 * 1024

/** The servers or their contents cannot be used as they are, until somebody changes them. */
export class ServersUnfit extends Error {
  override readonly name = 'ServersUnfit'
}

/** The streams do not exist yet. */
export class StreamsMissing extends Error {
  override readonly name = 'StreamsMissing'

  constructor(options?: ErrorOptions) {
    super('The streams are not there yet: a process with the role actors makes them.', options)
  }
}

/** The open streams. */
export interface OpenStreams {
  /** A manager with a short time limit, for questions that can be repeated. */
  readonly manager: JetStreamManager
  /** The id of the store, for derived ids. */
  readonly storeId: string
  /** 64 hex digits, kept secret from clients. */
  readonly secret: string
}

export function streamOf(partition: number): string {
  return `P${partition}`
}

/** The common prefix of all subjects in a partition's stream, without the last dot. */
export function journalSubject(partition: number): string {
  return `partition.${partition}`
}

/** The subject of a partition's mark in {@link EVENTS}. */
export function markOf(partition: number | '*'): string {
  return `mark.${partition}`
}

export function isMark(subject: string): boolean {
  return subject.startsWith('mark.')
}

/**
 * Opens the streams, for processes that create and change them.
 * @throws {ServersUnfit}; after other errors another attempt may succeed
 */
export async function openStreams(connection: NatsConnection, options: JournalOptions): Promise<OpenStreams> {
  const manager = await managerOf(connection, MAKING_MS)
  const bucket = await new Kvm(connection).create(STORE_BUCKET, { replicas: options.replicas, history: 1 })
  const storeId = await agreeOnStore(bucket, options)
  const secret = await agreeOnSecret(bucket)
  for (let n = 0; n < options.partitions; n++) await ensureStream(manager, partitionStream(n, options))
  await ensureStream(manager, eventsStream(options))
  return { manager: await impatientManager(connection), storeId, secret }
}

/**
 * Opens the streams, for processes that use what others create and may have no permission for more.
 * @throws {ServersUnfit}; after other errors, such as {@link StreamsMissing}, another attempt may succeed
 */
export async function findStreams(connection: NatsConnection, partitions: number): Promise<OpenStreams> {
  const manager = await managerOf(connection, ANSWER_MS)
  const bucket = await new Kvm(connection).open(STORE_BUCKET)
  try {
    const [store, secret] = [await bucket.get(STORE_KEY), await bucket.get(SECRET_KEY)]
    if (store === null || secret === null) throw new StreamsMissing()
    const storeId = storeIdIn(store, partitions)
    await manager.streams.info(EVENTS)
    return { manager: await impatientManager(connection), storeId, secret: secret.string() }
  } catch (cause) {
    if (!isAbsent(cause)) throw cause
    throw new StreamsMissing({ cause })
  }
}

async function managerOf(connection: NatsConnection, timeoutMs: number): Promise<JetStreamManager> {
  checkServer(connection)
  try {
    return await jetstreamManager(connection, { timeout: timeoutMs })
  } catch (cause) {
    if ((cause as Error).name !== 'JetStreamNotEnabled') throw cause
    throw new ServersUnfit('The NATS servers have no JetStream for this account.', { cause })
  }
}

function impatientManager(connection: NatsConnection): Promise<JetStreamManager> {
  return jetstreamManager(connection, { timeout: ANSWER_MS, checkAPI: false })
}

function checkServer(connection: NatsConnection): void {
  const { version, max_payload: maxPayload } = connection.info!
  const numbers = version.split(/[.-]/, 3).map(Number)
  const differing = OLDEST_VERSION.findIndex((least, i) => numbers[i] !== least)
  if (differing >= 0 && !(numbers[differing]! > OLDEST_VERSION[differing]!)) {
    throw new ServersUnfit(
      `The NATS server is of version ${version}; ${OLDEST_VERSION.join('.')} or newer is needed (atomic batches).`,
    )
  }
  if (maxPayload < LEAST_PAYLOAD_BYTES) {
    throw new ServersUnfit(
      `The NATS server takes messages of ${maxPayload} bytes at most (max_payload); ${LEAST_PAYLOAD_BYTES} are needed.`,
    )
  }
}

/** The store's id. The first host decides for all. */
async function agreeOnStore(bucket: KV, options: JournalOptions): Promise<string> {
  const { partitions, newStoreId } = options
  const mine = { format: FORMAT, partitions, storeId: newStoreId }
  let entry = await bucket.get(STORE_KEY)
  if (entry === null) {
    try {
      await bucket.create(STORE_KEY, JSON.stringify(mine))
      return newStoreId
    } catch (cause) {
      entry = await bucket.get(STORE_KEY)
      if (entry === null) throw cause
    }
  }
  return storeIdIn(entry, partitions)
}

/**
 * The id of the store in an entry.
 * @throws {ServersUnfit} if this process cannot work with the store
 */
function storeIdIn(entry: KvEntry, partitions: number): string {
  const store: { format?: number; partitions?: number; storeId?: string } = entry.json()
  if (store.format !== FORMAT || typeof store.storeId !== 'string') {
    throw new ServersUnfit(
      `The NATS servers hold a store of format ${store.format}; this release reads ${FORMAT}.`,
    )
  }
  if (store.partitions !== partitions) {
    throw new ServersUnfit(
      `The NATS servers hold a store of ${store.partitions} partitions, the settings say ${partitions}: ` +
        'the number cannot be changed.',
    )
  }
  return store.storeId
}

/** The store's secret, which the first host draws. */
async function agreeOnSecret(bucket: KV): Promise<string> {
  const found = await bucket.get(SECRET_KEY)
  if (found !== null) return found.string()
  const mine = randomBytes(SECRET_BYTES).toString('hex')
  try {
    await bucket.create(SECRET_KEY, mine)
    return mine
  } catch (cause) {
    const faster = await bucket.get(SECRET_KEY)
    if (faster === null) throw cause
    return faster.string()
  }
}

function partitionStream(n: number, options: JournalOptions): Partial<StreamConfig> & { name: string } {
  return {
    name: streamOf(n),
    description: `The log of partition ${n} of Ringfence`,
    subjects: [`${journalSubject(n)}.>`],
    storage: StorageType.File,
    num_replicas: options.replicas,
    max_bytes: options.maxPartitionBytes,
    // A full log accepts nothing more, because it must never lose its beginning by itself.
    discard: DiscardPolicy.New,
    // The fence recognizes repeats, so the server need not remember ids.
    duplicate_window: 1000 * NANOSECONDS,
    allow_atomic: true,
    allow_direct: true,
  }
}

function eventsStream(options: JournalOptions): Partial<StreamConfig> & { name: string } {
  return {
    name: EVENTS,
    description: 'Events of Ringfence, of each device in their order',
    subjects: [EVERY_SUBJECT, markOf('*'), EVENT_CHANGES],
    storage: StorageType.File,
    num_replicas: options.replicas,
    max_age: options.eventsAgeMs * NANOSECONDS,
    // The marks recognize repeats, so the server need not remember ids.
    duplicate_window: Math.min(1000, options.eventsAgeMs || Infinity) * NANOSECONDS,
    allow_atomic: true,
    // For marks: the newest one replaces the previous one, and does not expire.
    allow_rollup_hdrs: true,
    allow_msg_ttl: true,
    allow_direct: true,
  }
}

async function ensureStream(
  manager: JetStreamManager,
  wanted: Partial<StreamConfig> & { name: string },
): Promise<void> {
  let found: StreamConfig
  try {
    found = (await manager.streams.info(wanted.name)).config
  } catch (error) {
    if (!isAbsent(error)) throw error
    // Another host may create it in the meantime; with the same settings, that is not an error.
    await manager.streams.add(wanted)
    return
  }
  if (wanted.name === EVENTS && !found.subjects.includes(markOf('*'))) {
    throw new ServersUnfit(
      `The stream ${EVENTS} (${found.subjects.join(', ')}) is another's, as that of an embedded Ringfence. ` +
        'The distributed engine needs the name: remove or rename it.',
    )
  }
  if (differs(found, wanted)) await manager.streams.update(wanted.name, { ...found, ...wanted })
}

function isAbsent(error: unknown): boolean {
  return error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound
}

/** Whether a setting that we make has another value on the server. */
function differs(found: object, wanted: object): boolean {
  return Object.entries(wanted).some(([name, value]) => {
    const is = (found as Record<string, unknown>)[name]
    if (typeof value !== 'object' || value === null) return is !== value && !(value === 0 && is === undefined)
    if (typeof is !== 'object' || is === null) return true
    if (Array.isArray(value) && (is as unknown[]).length !== value.length) return true
    return differs(is, value)
  })
}
