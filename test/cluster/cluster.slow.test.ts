/**
 * The distributed engine as separate processes: what users see of it, compared with the embedded engine, and while
 * its parts end.
 */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { Cluster, type ClusterOptions } from '../../cluster/cluster.ts'
import { Receiver } from '../delivery/webhookKit.ts'
import { until } from '../kit/waiting.ts'
import { EventSource } from '../kit/eventSource.ts'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { ApiContract } from '../kit/apiContract.ts'
import { KEYS, startServer, type HttpAnswer } from '../kit/server.ts'

const skip = await skipWithout(NATS_SERVER)
const ENV = {
  RINGFENCE_KEYS: Object.values(KEYS).join(','),
  RINGFENCE_RATE_LIMITS: 'off',
  RINGFENCE_PARTITIONS: '8',
  RINGFENCE_WEBHOOK_PRIVATE_ADDRESSES: '127.0.0.0/8',
}
const ISLAND = { latitude: 40.6892, longitude: -74.0445 }
const OFF_IT = { latitude: 40.692, longitude: -74.035 }

async function startCluster(t: Test, options: Partial<ClusterOptions> = {}): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), 'ringfence-cluster-'))
  let cluster: Cluster | undefined
  t.teardown(async () => {
    if (!t.passing())
      for (const member of cluster?.members ?? []) console.error(`${member.options.name}:\n${member.output}`)
    await cluster?.kill()
    rmSync(folder, { recursive: true, force: true })
  })
  const counts = { nats: 1, gateways: 1, actors: 2, deliveries: 1 }
  cluster = await Cluster.start({ folder, ...counts, env: ENV, ...options })
  return cluster
}

/** One request. */
async function call(
  url: string,
  method: string,
  path: string,
  body?: object,
  key: string = KEYS.testSecret,
): Promise<HttpAnswer> {
  const answer = await fetch(`${url}/v1/${path}`, {
    method,
    headers: { Authorization: key, 'Content-Type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const result = { status: answer.status, body: await answer.json(), headers: answer.headers }
  contract ??= await ApiContract.of(url)
  contract!.check(method, `/v1/${path}`, result)
  return result
}

/** The gateways serve the same document. */
let contract: ApiContract | undefined

/** Removes what always differs between two stores. */
function plain(answer: unknown): unknown {
  return JSON.parse(JSON.stringify(answer), (key, value) =>
    /^(?:_id|.*At|ip|duration)$/.test(key) ? undefined : value,
  )
}

/** The calls of the README. */
async function quickstart(url: string): Promise<unknown[]> {
  const here = { deviceId: 'visitor-1', accuracy: 20 }
  const island = { description: 'Liberty Island, New York', type: 'circle', radius: 300 }
  const coordinates = [ISLAND.longitude, ISLAND.latitude]
  const put = await call(url, 'PUT', 'geofences/example/liberty-island', { ...island, coordinates })
  const entered = await call(url, 'POST', 'track', { ...here, ...ISLAND }, KEYS.testPublishable)
  const exited = await call(url, 'POST', 'track', { ...here, ...OFF_IT }, KEYS.testPublishable)
  const user = await call(url, 'GET', 'users/visitor-1')
  const near = await call(url, 'GET', 'search/users?near=40.69,-74.04&radius=1000')
  let events = await call(url, 'GET', 'events?deviceId=visitor-1')
  // Events reach a gateway a moment after the answer to the update.
  while (events.body.events.length < 2) {
    await sleep(20)
    events = await call(url, 'GET', 'events?deviceId=visitor-1')
  }
  return [put, entered, exited, user, near, events].map(({ status, body }) => plain({ status, body }))
}

/** A WebSocket stream and the messages that it receives. */
async function streamTo(t: Test, url: string) {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/stream`, ['ringfence.json'], {
    headers: { Authorization: KEYS.testSecret },
  })
  // oxlint-disable-next-line typescript/no-explicit-any -- messages of every shape
  const came: any[] = []
  socket.on('message', (text) => came.push(JSON.parse(String(text))))
  t.teardown(() => socket.terminate())
  await once(socket, 'open')
  return {
    send: (message: object) => socket.send(JSON.stringify(message)),
    /** The first message of a type. */
    async next(type: string) {
      await until(() => came.some((message) => message.type === type))
      return came.find((message) => message.type === type)
    },
  }
}

t.test('a gateway answers like an embedded engine, and so do two', { skip }, async (t) => {
  const [cluster, embedded] = await Promise.all([startCluster(t, { gateways: 2 }), startServer(t)])
  const [url, other] = cluster.gateways.map(({ options }) => options.url) as [string, string]
  t.strictSame(await quickstart(url), await quickstart(embedded.url))

  const { body } = await call(url, 'GET', 'events?deviceId=visitor-1')
  const [exited, entered] = body.events.map((event: { _id: string }) => event._id)
  const listed = async () => (await call(other, 'GET', 'events?deviceId=visitor-1')).body.events
  await until(async () => (await listed()).length === 2)
  t.strictSame(await listed(), body.events, 'every gateway has the events')
  t.match(await call(other, 'PUT', `events/${entered}/verification`, { verification: 1 }), {
    status: 200,
    body: { event: { verification: 1 } },
  })
  t.match(await call(url, 'DELETE', `events/${exited}`), { status: 200 })
  t.match(await call(url, 'DELETE', `events/${exited}`), { status: 404 })
  await until(async () => (await listed()).length === 1)
  await until(async () => (await call(url, 'GET', `events/${entered}`)).body.event.verification === 1)

  const receiver = await Receiver.start(t)
  const made = await call(url, 'POST', 'webhooks', { url: receiver.url })
  t.match(made, { status: 200, body: { webhook: { status: 'active' } } })
  t.match(await call(url, 'POST', 'webhooks', { url: 'http://10.0.0.1' }), {
    status: 400,
    body: { meta: { param: 'url' } },
  })
  t.match(await call(other, 'GET', `webhooks/${'0'.repeat(24)}`), { status: 404 })
  const stream = await streamTo(t, url)
  const [longitude, latitude] = [ISLAND.longitude, ISLAND.latitude]
  stream.send({
    type: 'watch',
    id: 'w',
    area: { type: 'circle', center: [longitude, latitude], radius: 300 },
  })
  stream.send({ type: 'subscribe', id: 's' })
  const { from } = await stream.next('subscribed')
  const source = await EventSource.open({ port: Number(new URL(other).port) })
  t.match(await call(url, 'POST', 'track', { deviceId: 'visitor-2', accuracy: 20, ...ISLAND }), {
    body: { events: [{ type: 'user.entered_geofence' }] },
  })
  await until(() => receiver.got.length > 0)
  t.match(receiver.got[0]!.json, {
    event: { type: 'user.entered_geofence', user: { deviceId: 'visitor-2' } },
  })
  t.match(await source.next(), { event: 'user.entered_geofence' })
  source.hangUp()
  t.match(await stream.next('position'), { watch: 'w', change: 'enter', user: { deviceId: 'visitor-2' } })
  t.match(await stream.next('event'), { subscription: 's', event: { user: { deviceId: 'visitor-2' } } })
  const resumed = await streamTo(t, other)
  resumed.send({ type: 'subscribe', id: 's', from })
  t.match(await resumed.next('event'), { event: { user: { deviceId: 'visitor-2' } } }, 'at another gateway')
  const id = made.body.webhook._id
  await until(async () => {
    const { body: answer } = await call(other, 'GET', `webhooks/${id}/deliveries`)
    return answer.deliveries[0]?.status === 'delivered'
  })
  for (const member of cluster.members.slice(0, -1)) {
    const metrics = await (await fetch(`${member.options.url}/metrics`)).text()
    t.match(metrics, /ringfence_nats_connected 1/, member.options.name)
  }
  t.strictSame(await cluster.stop(), [], 'all end well')
})

/** Devices that cross a geofence with every update, and send the next one after the answer. */
function crossings(url: string, devices: number) {
  const done = new Map<string, number>()
  const refused: number[] = []
  const stopped = new AbortController()
  const drive = async (deviceId: string) => {
    for (let n = 0; !stopped.signal.aborted; n++) {
      const update = { deviceId, accuracy: 5, ...(n % 2 === 0 ? ISLAND : OFF_IT) }
      for (;;) {
        const status = await call(url, 'POST', 'track', update).then(
          (answer) => answer.status,
          () => 0,
        )
        if (status === 200) break
        refused.push(status)
      }
      done.set(deviceId, n + 1)
    }
  }
  const all = Promise.all(Array.from({ length: devices }, (_, i) => drive(`load-${i}`)))
  const updates = () => [...done.values()].reduce((sum, count) => sum + count, 0)
  return {
    refused,
    /** Resolves when that many more are answered. */
    async more(count: number) {
      const before = updates()
      await until(() => updates() >= before + count)
    },
    async stop() {
      stopped.abort()
      await all
      return done
    },
  }
}

t.test('one owner is killed and another shuts down: nothing acknowledged is lost', { skip }, async (t) => {
  const cluster = await startCluster(t)
  const { url } = cluster.gateways[0]!.options
  const [first, second] = cluster.actors as [Cluster['actors'][0], Cluster['actors'][0]]
  const coordinates = [ISLAND.longitude, ISLAND.latitude]
  await call(url, 'PUT', 'geofences/a/b', { description: 'x', type: 'circle', radius: 300, coordinates })
  const load = crossings(url, 12)
  await load.more(100)
  await first.end('SIGKILL')
  await load.more(100)
  first.start()
  await first.ready()
  await load.more(100)
  const refusedBefore = load.refused.length
  t.equal(await second.end('SIGTERM'), 0)
  await load.more(100)
  t.equal(load.refused.length, refusedBefore, 'who goes in peace is not noticed')
  const done = await load.stop()
  for (const [deviceId, count] of done) {
    const { body } = await call(url, 'GET', `users/${deviceId}`)
    const { latitude, longitude } = count % 2 === 1 ? ISLAND : OFF_IT
    t.strictSame(body.user.location.coordinates, [longitude, latitude], `${deviceId} is where it was last`)
    const expected = Array.from({ length: count }, (_, n) =>
      n % 2 === 0 ? 'user.entered_geofence' : 'user.exited_geofence',
    )
    let types: string[] = []
    const list = async () => {
      const { body: page } = await call(url, 'GET', `events?deviceId=${deviceId}&limit=1000`)
      types = page.events.map(({ type }: { type: string }) => type).toReversed()
      return types.length >= count
    }
    await until(list)
    t.strictSame(types, expected, `${count} events of ${deviceId}, each once`)
  }
})
