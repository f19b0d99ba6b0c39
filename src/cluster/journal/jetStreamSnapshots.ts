import { jetstream, StorageType, type JetStreamClient } from '@nats-io/jetstream'
import { Objm, setSha256Backend, type ObjectStore } from '@nats-io/obj'
import type { NatsConnection } from '@nats-io/transport-node'
import type { SharedSnapshotStore, Snapshot } from '../../log/port.ts'
import { SNAPSHOT_HEADER_BYTES, encodeHeader, snapshotProblem } from '../../log/snapshotFormat.ts'

/**
 * Snapshots in the object store `ringfence-snapshots`: two objects per partition, `<partition>-0` and
 * `<partition>-1`. The next snapshot replaces the older one once it is complete. (A deleted object leaves a marker
 * for ever, so names must be reused.)
 */
const BUCKET = 'ringfence-snapshots'
const SLOTS = [0, 1] as const
/** The value for a slot without a complete snapshot. */
const EMPTY = -1
/** A snapshot is handed to the client in pieces of this many bytes, which is as many as the client sends at a time. */
const PIECE_BYTES = 128 * 1024

// Without this, the client computes the digest of every object in JavaScript.
setSha256Backend('native')

/**
 * Opens the object store.
 * @param damaged called for each snapshot that {@link SharedSnapshotStore.newest} had to skip
 */
export async function openJetStreamSnapshots(
  connection: NatsConnection,
  storeId: string,
  replicas: number,
  damaged: (object: string, reason: string) => void,
): Promise<SharedSnapshotStore> {
  const options = { replicas, storage: StorageType.File, description: 'Snapshots of Ringfence' }
  return new ObjectSnapshots(await new Objm(tidyClient(connection)).create(BUCKET, options), storeId, damaged)
}

/**
 * A client whose consumers are removed from the servers when they have been read. The library reads each object with one
 * that stays there for five minutes, and as long again after each start of a server. After some take-overs these would be
 * hundreds.
 */
function tidyClient(connection: NatsConnection): JetStreamClient {
  const client = jetstream(connection)
  const { consumers } = client
  const getPushConsumer: typeof consumers.getPushConsumer = async (...args) => {
    const consumer = await consumers.getPushConsumer(...args)
    const consume: typeof consumer.consume = async (options) => {
      const messages = await consumer.consume(options)
      const remove = () => consumer.delete()
      // One that cannot be removed goes by itself.
      void messages
        .closed()
        .then(remove, remove)
        .catch(() => {})
      return messages
    }
    return Object.create(consumer, { consume: { value: consume } }) as typeof consumer
  }
  return Object.create(client, {
    consumers: { value: Object.create(consumers, { getPushConsumer: { value: getPushConsumer } }) },
  }) as JetStreamClient
}

interface Slot {
  readonly name: string
  readonly offset: number
}

class ObjectSnapshots implements SharedSnapshotStore {
  readonly #objects: ObjectStore
  readonly #storeId: string
  readonly #damaged: (object: string, reason: string) => void
  /** Ids of objects that are known to be incomplete. */
  readonly #bad = new Set<string>()

  constructor(objects: ObjectStore, storeId: string, damaged: (object: string, reason: string) => void) {
    this.#objects = objects
    this.#storeId = storeId
    this.#damaged = damaged
  }

  /** Writes a snapshot. One from a former owner that is older than the stored one is not written. */
  async write(partition: number, snapshot: Snapshot): Promise<void> {
    const [newest, oldest] = await this.#slots(partition)
    if (newest.offset >= snapshot.offset) return
    const header = encodeHeader(this.#storeId, partition, snapshot)
    const content = ReadableStream.from(piecesOf(header, snapshot.bytes))
    await this.#objects.put({ name: oldest.name, metadata: { position: String(snapshot.offset) } }, content)
  }

  async newest(partition: number): Promise<Snapshot | undefined> {
    for (;;) {
      const [{ name, offset }] = await this.#slots(partition)
      if (offset === EMPTY) return undefined
      const info = await this.#objects.info(name)
      const { bytes, reason } = await this.#read(name, partition, offset)
      if (reason === undefined) return { offset, bytes: bytes.subarray(SNAPSHOT_HEADER_BYTES) }
      // Another snapshot may have been written in the meantime, which must be read instead.
      if ((await this.#objects.info(name))?.nuid !== info?.nuid) continue
      this.#bad.add(info!.nuid)
      this.#damaged(name, reason)
    }
  }

  async trimOffset(partition: number): Promise<number> {
    const [, older] = await this.#slots(partition)
    return older.offset === EMPTY ? 0 : older.offset + 1
  }

  async #read(
    name: string,
    partition: number,
    offset: number,
  ): Promise<{ readonly bytes: Uint8Array; readonly reason: string | undefined }> {
    let bytes: Uint8Array
    try {
      bytes = (await this.#objects.getBlob(name)) ?? new Uint8Array(0)
    } catch (error) {
      // The client reports a wrong digest with this message. After any other failure, another attempt is made.
      if (!/corrupt|digest/.test((error as Error).message)) throw error
      return { bytes: new Uint8Array(0), reason: (error as Error).message }
    }
    return { bytes, reason: snapshotProblem(Buffer.from(bytes), this.#storeId, partition, offset) }
  }

  /** The two slots of a partition, the newest snapshot first. */
  async #slots(partition: number): Promise<[Slot, Slot]> {
    const slots = await Promise.all(
      SLOTS.map(async (slot) => {
        const name = `${partition}-${slot}`
        const info = await this.#objects.info(name)
        const isWhole = info !== null && !info.deleted && !this.#bad.has(info.nuid)
        return { name, offset: isWhole ? Number(info.metadata?.['position']) : EMPTY }
      }),
    )
    return slots.sort((a, b) => b.offset - a.offset) as [Slot, Slot]
  }
}

/** The bytes of an object, without a copy of the whole. */
function* piecesOf(header: Uint8Array, bytes: Uint8Array): Generator<Uint8Array> {
  yield header
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES)
}
