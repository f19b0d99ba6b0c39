import { JetStreamApiCodes, JetStreamApiError, jetstreamManager, StorageType } from '@nats-io/jetstream'
import { headers, type NatsConnection } from '@nats-io/transport-node'
import type { UsageSums } from '../../registry/projects/sharedUsage.ts'

const STREAM = 'USAGE'
const PREFIX = 'usage'
const ANSWER_MS = 3000
const NANOSECONDS = 1e6
/** A repeated addition within this time counts once. */
const WINDOW_MS = 3_600_000

/**
 * Keeps the sums of requests in a JetStream stream of counters, `usage.<month>.<project>`.
 * @param replicas how many copies the stream has if it is created; if undefined, other processes create it
 */
export async function openUsageSums(
  connection: NatsConnection,
  replicas: number | undefined,
): Promise<UsageSums> {
  const manager = await jetstreamManager(connection, { timeout: ANSWER_MS })
  await manager.streams.info(STREAM).catch(async (error) => {
    const isAbsent = error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound
    if (!isAbsent || replicas === undefined) throw error
    await manager.streams.add({
      name: STREAM,
      description: 'Requests of the projects of Ringfence by month',
      subjects: [`${PREFIX}.>`],
      storage: StorageType.File,
      num_replicas: replicas,
      max_msgs_per_subject: 1,
      duplicate_window: WINDOW_MS * NANOSECONDS,
      allow_msg_counter: true,
      allow_direct: true,
    })
  })
  return {
    async add({ id, month, added }) {
      for (const [project, count] of added) {
        const head = headers()
        head.set('Nats-Incr', `${count < 0 ? '' : '+'}${count}`)
        head.set('Nats-Msg-Id', `${id}-${project}`)
        const options = { headers: head, timeout: ANSWER_MS }
        const reply = await connection.request(`${PREFIX}.${month}.${project}`, undefined, options)
        const { error }: { error?: { description?: string } } = reply.json()
        if (error !== undefined) throw new Error(`The stream ${STREAM}: ${error.description}.`)
      }
    },
    async of(month) {
      const sums = new Map<number, number>()
      const messages = await manager.direct.getLastMessagesFor(STREAM, {
        multi_last: [`${PREFIX}.${month}.*`],
      })
      for await (const message of messages) {
        const { val }: { val: string } = message.json()
        sums.set(Number(message.subject.split('.')[2]), Number(val))
      }
      return sums
    },
  }
}
