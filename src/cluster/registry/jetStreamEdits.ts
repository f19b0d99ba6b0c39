import {
  DiscardPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  jetstreamManager,
  StorageType,
  type JetStreamManager,
  type StoredMsg,
  type StreamConfig,
} from '@nats-io/jetstream'
import { headers, type MsgHdrs, type NatsConnection } from '@nats-io/transport-node'
import { Slice } from '../../runtime/slices.ts'
import { StreamFollower } from '../nats/streamFollower.ts'
import type { EditStream, Entry, KeptEntry } from './editStream.ts'

/** The bucket of the registry, by the name that the `nats kv` tools show. */
const REGISTRY_BUCKET = 'ringfence-registry'

const STREAM = `KV_${REGISTRY_BUCKET}`
const PREFIX = `$KV.${REGISTRY_BUCKET}.`
/** This header's value is `<edit> <part> <parts>`. */
const EDIT_HEADER = 'Ringfence-Edit'
const OPERATION_HEADER = 'KV-Operation'
const ANSWER_MS = 3000
/** Room for the headers of a message, besides the value. */
const HEADER_BYTES = 4096
const WRONG_LAST_SEQUENCE = 10071

interface NewStream {
  /** How many servers keep a copy of the stream: 1, 3 or 5. */
  readonly replicas: number
  /**
   * The sequence of the first entry if the stream does not exist yet. It must be higher than every sequence of an
   * earlier registry.
   */
  readonly firstSequence: number
}

/** The server did not accept an edit; the reason is for people to read. */
class EditRefused extends Error {
  override readonly name = 'EditRefused'
}

/**
 * Opens the edits of a registry in JetStream: a bucket for the key-value tools that also allows atomic batches.
 * @param newStream the settings with which the stream is created if it does not exist; if undefined, other processes
 * create it
 */
export async function openEditStream(
  connection: NatsConnection,
  newStream: NewStream | undefined,
): Promise<EditStream> {
  const manager = await jetstreamManager(connection, { timeout: ANSWER_MS })
  if (newStream === undefined) await manager.streams.info(STREAM)
  else await ensureStream(manager, newStream)
  return new JetStreamEdits(connection, manager)
}

async function ensureStream(
  manager: JetStreamManager,
  { replicas, firstSequence }: NewStream,
): Promise<void> {
  const wanted = {
    name: STREAM,
    description: 'The registry of Ringfence: geofences, beacons, settings, projects, keys, webhooks, imports',
    subjects: [`${PREFIX}>`],
    storage: StorageType.File,
    num_replicas: replicas,
    max_msgs_per_subject: 1,
    discard: DiscardPolicy.New,
    deny_delete: true,
    allow_rollup_hdrs: true,
    allow_atomic: true,
    allow_direct: true,
  } satisfies Partial<StreamConfig>
  try {
    const { config } = await manager.streams.info(STREAM)
    if (config.num_replicas !== replicas || config.allow_atomic !== true) {
      await manager.streams.update(STREAM, { ...config, num_replicas: replicas, allow_atomic: true })
    }
  } catch (error) {
    const isAbsent = error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound
    if (!isAbsent) throw error
    await manager.streams.add({ ...wanted, first_seq: firstSequence }).catch(async (cause) => {
      // Another process created it in the meantime, with another first sequence.
      await manager.streams.info(STREAM).catch(() => {
        throw cause
      })
    })
  }
}

class JetStreamEdits implements EditStream {
  readonly maxValueBytes: number
  readonly #connection: NatsConnection
  readonly #manager: JetStreamManager
  readonly #follower: StreamFollower

  constructor(connection: NatsConnection, manager: JetStreamManager) {
    this.maxValueBytes = connection.info!.max_payload - HEADER_BYTES
    this.#connection = connection
    this.#manager = manager
    this.#follower = new StreamFollower(connection, ANSWER_MS)
  }

  async lastSequence(): Promise<number> {
    return (await this.#manager.streams.info(STREAM)).state.last_seq
  }

  async last(name: string): Promise<KeptEntry | undefined> {
    // The leader is asked, because any other replica may be behind.
    const message: StoredMsg | null = await this.#manager.streams.getMessage(STREAM, {
      last_by_subj: PREFIX + name,
    })
    return message === null ? undefined : kept(message, message.header, message.seq, 0)
  }

  async append(edit: string, entries: readonly Entry[], after: number): Promise<number | undefined> {
    // Each copy that is sent is a separate batch, because the server remembers each for a while.
    const batch = `${edit}-${Math.floor(performance.now() * 1000).toString(36)}`
    // Hundreds of records, or some megabytes, take long to send.
    const slice = new Slice()
    for (const [i, { name, value }] of entries.entries()) {
      if (slice.isOver) await slice.next()
      const head = headers()
      head.set(EDIT_HEADER, `${edit} ${i + 1} ${entries.length}`)
      if (value === undefined) head.set(OPERATION_HEADER, 'DEL')
      if (i === 0) head.set('Nats-Expected-Last-Sequence', String(after))
      if (entries.length > 1) {
        head.set('Nats-Batch-Id', batch)
        head.set('Nats-Batch-Sequence', String(i + 1))
      }
      const data = value ?? new Uint8Array()
      if (i < entries.length - 1) {
        this.#connection.publish(PREFIX + name, data, { headers: head })
        continue
      }
      if (entries.length > 1) head.set('Nats-Batch-Commit', '1')
      const reply = await this.#connection.request(PREFIX + name, data, { headers: head, timeout: ANSWER_MS })
      const answer: { seq?: number; error?: { err_code?: number; description?: string } } = reply.json()
      if (answer.error?.err_code === WRONG_LAST_SEQUENCE) return undefined
      if (answer.error === undefined && typeof answer.seq === 'number') return answer.seq
      throw new EditRefused(
        `The stream ${STREAM} did not take ${entries.length} entries: ` +
          `${answer.error?.description ?? 'no sequence in its answer'}.`,
      )
    }
    throw new RangeError('An edit must have at least one entry.')
  }

  async *follow(after: number, signal: AbortSignal): AsyncGenerator<KeptEntry> {
    const followed = await this.#follower.follow(STREAM, after, signal)
    try {
      for await (const message of followed.messages) {
        yield kept(message, message.headers, message.seq, message.info.pending)
      }
      followed.checkWhole()
    } finally {
      followed.end()
    }
  }
}

function kept(
  { subject, data }: { readonly subject: string; readonly data: Uint8Array },
  head: MsgHdrs | undefined,
  sequence: number,
  behind: number,
): KeptEntry {
  const [edit = '', part, parts] = (head?.get(EDIT_HEADER) ?? '').split(' ')
  // Removals are marked with `DEL` or `PURGE`; other entries have no such header.
  const isRemoval = (head?.get(OPERATION_HEADER) ?? '') !== ''
  return {
    name: subject.slice(PREFIX.length),
    value: isRemoval ? undefined : data,
    sequence,
    edit,
    part: Number(part) || 1,
    parts: Number(parts) || 1,
    behind,
  }
}
