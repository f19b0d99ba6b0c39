/**
 * What JetStream asks for the two kinds of writing of the distributed engine (docs/protocol.md), one server, one replica:
 *
 * - *frames*: a message into the stream of a partition; partitions write at once, each with one frame in flight;
 * - *batches*: atomic batches of events into one stream; hosts write at once, each with one batch in flight. A batch of
 *   one event shows what a batch costs whatever is in it.
 *
 * `serverMicros` and `clientMicros` are CPU per frame or batch. Not measured: replicas; a network; what a subscriber of the events costs.
 */
import { DiscardPolicy, jetstreamManager, StorageType } from '@nats-io/jetstream'
import { connect, headers, nuid, type NatsConnection } from '@nats-io/transport-node'
import { parseArgs } from 'node:util'
import { NATS_SERVER, serverBinary, ServerMissing } from '../../test/kit/goServers.ts'
import { quantile, rounded } from '../figures.ts'
import { benchFolder } from '../folder.ts'
import { startNats, type ServerProcess } from '../load/servers.ts'
import { done, progress } from '../progress.ts'

const { values: options } = parseArgs({
  options: { smoke: { type: 'boolean', default: false }, strict: { type: 'boolean', default: false } },
})
/** What an event takes: see `sizes`. */
const EVENT_BYTES = 690
const PARTITIONS = 64
const SECONDS = options.smoke ? 0.2 : 3
/** `2m` is the server's default. */
const SYNCS = ['2m', 'always'] as const

interface Case {
  readonly kind: 'frames' | 'batches'
  /** Partitions, or hosts. */
  readonly writers: number
  /** In a batch. */
  readonly messages: number
  /** Of a message. */
  readonly bytes: number
}

const frames = (writers: number, bytes: number): Case => ({ kind: 'frames', writers, messages: 1, bytes })
const batches = (writers: number, messages: number): Case => ({
  kind: 'batches',
  writers,
  messages,
  bytes: EVENT_BYTES,
})
/** 2 KB are some 40 updates. */
const CASES: readonly Case[] = [
  frames(1, 2_048),
  frames(PARTITIONS, 2_048),
  frames(PARTITIONS, 32_768),
  // Two, because one message is no batch.
  batches(1, 2),
  batches(16, 2),
  batches(1, 128),
  batches(16, 128),
  batches(1, 1_000),
  batches(16, 1_000),
]

type Row = Record<string, string | number>

async function measureServer(folder: string, binary: string, sync: string): Promise<Row[]> {
  const server = await startNats(folder, binary, sync)
  const connection = await connect({ servers: `127.0.0.1:${server.port}` })
  await makeStreams(connection)
  const rows: Row[] = []
  for (const one of CASES) {
    const name = `${one.kind}: ${one.messages} × ${one.bytes} B, ${one.writers} writers, sync ${sync}`
    progress(name)
    const row = await measure(server, connection, one)
    rows.push({ sync, ...row })
    done(`${name}: ${row['perSecond']}/s, ${row['serverMicros']} µs`)
  }
  await connection.close()
  await server.stop()
  return rows
}

async function makeStreams(connection: NatsConnection): Promise<void> {
  const manager = await jetstreamManager(connection)
  const common = { storage: StorageType.File, discard: DiscardPolicy.New, allow_atomic: true }
  for (let n = 0; n < PARTITIONS; n++)
    await manager.streams.add({ ...common, name: `P${n}`, subjects: [`partition.${n}`] })
  await manager.streams.add({ ...common, name: 'EVENTS', subjects: ['events.>'] })
}

async function measure(server: ServerProcess, connection: NatsConnection, one: Case): Promise<Row> {
  const data = new Uint8Array(one.bytes).fill(7)
  const cpuBefore = server.cpuSeconds()
  const ownBefore = process.cpuUsage()
  const start = performance.now()
  const until = start + SECONDS * 1000
  const write = async (writer: number): Promise<number[]> => {
    const times: number[] = []
    for (let began = performance.now(); began < until;) {
      if (one.kind === 'frames') await ask(connection, `partition.${writer}`, data, {})
      else await writeBatch(connection, writer, one.messages, data)
      const now = performance.now()
      times.push(now - began)
      began = now
    }
    return times
  }
  const times = (await Promise.all(Array.from({ length: one.writers }, (_, i) => write(i)))).flat()
  const seconds = (performance.now() - start) / 1000
  const cpuSeconds = server.cpuSeconds() - cpuBefore
  const { user, system } = process.cpuUsage(ownBefore)
  const sorted = Float64Array.from(times).sort()
  return {
    kind: one.kind,
    writers: one.writers,
    messages: one.messages,
    bytes: one.bytes,
    perSecond: Math.round(times.length / seconds),
    messagesPerSecond: Math.round((times.length * one.messages) / seconds),
    serverMicros: Math.round((cpuSeconds / times.length) * 1e6),
    clientMicros: Math.round((user + system) / times.length),
    serverCores: rounded(cpuSeconds / seconds, 2),
    p50Ms: rounded(quantile(sorted, 0.5), 2),
    p99Ms: rounded(quantile(sorted, 0.99), 2),
  }
}

async function writeBatch(connection: NatsConnection, writer: number, messages: number, data: Uint8Array) {
  const id = nuid.next()
  for (let i = 1; i <= messages; i++) {
    const subject = `events.1.test.user:entered_geofence.${writer}-${i}`
    const fields = { 'Nats-Batch-Id': id, 'Nats-Batch-Sequence': String(i) }
    if (i === messages) await ask(connection, subject, data, { ...fields, 'Nats-Batch-Commit': '1' })
    else connection.publish(subject, data, { headers: headersOf(fields) })
  }
}

/** @throws Error where the server does not take it */
async function ask(
  connection: NatsConnection,
  subject: string,
  data: Uint8Array,
  fields: Readonly<Record<string, string>>,
): Promise<void> {
  const reply = await connection.request(subject, data, { headers: headersOf(fields), timeout: 30_000 })
  const answer: { error?: { description?: string } } = reply.json()
  if (answer.error !== undefined) throw new Error(answer.error.description)
}

function headersOf(fields: Readonly<Record<string, string>>) {
  const head = headers()
  for (const [name, value] of Object.entries(fields)) head.set(name, value)
  return head
}

async function main(): Promise<void> {
  const binary = await serverBinary(NATS_SERVER).catch((error: unknown) => {
    if (error instanceof ServerMissing) return error
    throw error
  })
  if (binary instanceof ServerMissing) {
    console.log(`SKIPPED: ${binary.message}`)
    console.log(JSON.stringify({ bench: 'journal', partial: true }))
    return
  }
  const folder = benchFolder('journal')
  const rows: Row[] = []
  for (const sync of SYNCS) rows.push(...(await measureServer(folder, binary, sync)))
  console.table(rows)
  console.log(JSON.stringify({ bench: 'journal', rows, seconds: SECONDS, smoke: options.smoke }))
}

await main()
