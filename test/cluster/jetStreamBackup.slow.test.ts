/**
 * Backups as docs/operating.md describes them: a store is copied out of NATS, lost, and restored into empty servers.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import t from 'tap'
import { Cluster } from '../../cluster/cluster.ts'
import { until } from '../kit/waiting.ts'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { KEYS } from '../kit/server.ts'

const skip = await skipWithout(NATS_SERVER)
const PARTITIONS = 4
/** The streams that the document names. */
const STREAMS = [
  'KV_ringfence',
  'KV_ringfence-registry',
  'OBJ_ringfence-snapshots',
  'USAGE',
  'EVENTS',
  ...Array.from({ length: PARTITIONS }, (_, n) => `P${n}`),
]
const ANSWER_MS = 10_000
const SHOP = { latitude: 52.5, longitude: 13.4 }
const STREET = { latitude: 52.6, longitude: 13.4 }

interface StreamCopy {
  readonly config: object
  readonly state: object
  readonly chunks: readonly Uint8Array[]
}

/** `nats stream backup`: the server sends a compressed archive in pieces, and each is acknowledged. */
async function backUp(nats: NatsConnection, stream: string): Promise<StreamCopy> {
  const inbox = `copies.${stream}`
  const pieces = nats.subscribe(inbox)
  const request = { deliver_subject: inbox, no_consumers: true, chunk_size: 64 * 1024, jsck: true }
  const answer = await ask(nats, `$JS.API.STREAM.SNAPSHOT.${stream}`, JSON.stringify(request))
  const chunks: Uint8Array[] = []
  for await (const piece of pieces) {
    if (piece.data.length === 0) break
    chunks.push(piece.data)
    piece.respond()
  }
  return { config: answer.config, state: answer.state, chunks }
}

/** `nats stream restore`. */
async function restore(nats: NatsConnection, stream: string, copy: StreamCopy): Promise<void> {
  const { config, state, chunks } = copy
  const answer = await ask(nats, `$JS.API.STREAM.RESTORE.${stream}`, JSON.stringify({ config, state }))
  for (const chunk of chunks) await nats.request(answer.deliver_subject, chunk, { timeout: ANSWER_MS })
  await ask(nats, answer.deliver_subject, '')
}

async function ask(nats: NatsConnection, subject: string, request: string) {
  const answer = (await nats.request(subject, request, { timeout: ANSWER_MS })).json<{
    error?: { description: string }
    config: object
    state: object
    deliver_subject: string
  }>()
  if (answer.error !== undefined) throw new Error(`${subject}: ${answer.error.description}`)
  return answer
}

t.test('a copy from a time without owners restores everything', { skip }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'ringfence-backup-'))
  let cluster: Cluster | undefined
  t.teardown(async () => {
    if (!t.passing())
      for (const { options, output } of cluster?.members ?? []) console.error(`${options.name}:\n${output}`)
    await cluster?.kill()
    rmSync(folder, { recursive: true, force: true })
  })
  cluster = await Cluster.start({
    folder,
    nats: 1,
    gateways: 1,
    actors: 1,
    deliveries: 0,
    env: {
      RINGFENCE_KEYS: Object.values(KEYS).join(','),
      RINGFENCE_RATE_LIMITS: 'off',
      RINGFENCE_PARTITIONS: String(PARTITIONS),
      // Small, so that logs are trimmed to snapshots.
      RINGFENCE_SNAPSHOT_BYTES: String(1024 * 1024),
    },
  })
  const [server, gateway, owner] = [cluster.nats[0]!, cluster.gateways[0]!, cluster.actors[0]!]
  const call = async (method: string, path: string, body?: object) => {
    const answer = await fetch(`${gateway.options.url}/v1/${path}`, {
      method,
      headers: { Authorization: KEYS.testSecret, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    // oxlint-disable-next-line typescript/no-explicit-any -- answers of every shape
    return { status: answer.status, body: (await answer.json()) as any }
  }
  const [longitude, latitude] = [SHOP.longitude, SHOP.latitude]
  const shop = { type: 'circle', coordinates: [longitude, latitude], radius: 100, description: 'Shop' }
  t.match(await call('PUT', 'geofences/shops/1', shop), { status: 200 })
  const devices = Array.from({ length: 20 }, (_, i) => `d${i}`)
  const goAll = (place: typeof SHOP) =>
    Promise.all(devices.map((deviceId) => call('POST', 'track', { deviceId, accuracy: 5, ...place })))
  const eventIds = async (count: number) => {
    let ids: string[] = []
    await until(async () => {
      const { body } = await call('GET', 'events?limit=1000')
      ids = body.events.map(({ _id }: { _id: string }) => _id)
      return ids.length >= count
    })
    return ids.toSorted()
  }
  for (const place of [SHOP, STREET, SHOP]) await goAll(place)
  const before = await eventIds(3 * devices.length)
  const users = (await call('GET', 'users?limit=100')).body

  t.equal(await owner.end('SIGTERM'), 0)
  const connected = await connect({ servers: server.options.url })
  const copies = new Map<string, StreamCopy>()
  for (const stream of STREAMS) copies.set(stream, await backUp(connected, stream))
  await connected.close()
  owner.start()
  await owner.ready()
  t.match(await goAll(STREET), [{ status: 200 }])

  await cluster.kill()
  for (const name of ['nats-1', 'gateway-1', 'actors-1'])
    rmSync(join(folder, name), { recursive: true, force: true })
  server.start()
  await server.ready()
  const empty = await connect({ servers: server.options.url })
  for (const [stream, copy] of copies) await restore(empty, stream, copy)
  await empty.close()
  for (const member of [owner, gateway]) member.start()
  await Promise.all([owner.ready(), gateway.ready()])
  t.strictSame(await eventIds(before.length), before, 'the events of the backup, and no others')
  t.strictSame((await call('GET', 'users?limit=100')).body, users)
  const left = await goAll(STREET)
  const types = left.flatMap(({ body }) => body.events.map(({ type }: { type: string }) => type))
  t.strictSame(
    types,
    Array.from({ length: devices.length }, () => 'user.exited_geofence'),
  )
  const after = await eventIds(4 * devices.length)
  t.equal(new Set(after).size, 4 * devices.length, 'and each once')
})
