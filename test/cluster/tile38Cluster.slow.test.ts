/** The distributed engine with Tile38: what users see, and that the processes share the work. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { Cluster } from '../../cluster/cluster.ts'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { KEYS } from '../kit/server.ts'
import { TILE38_NAME, tile38Command } from '../kit/tile38.ts'
import { until } from '../kit/waiting.ts'

const skip = await skipWithout(NATS_SERVER)
const DEVICES = 30
const [LATITUDE, LONGITUDE] = [52.5, 13.4]
const ABOUT = `search/users?near=${LATITUDE},${LONGITUDE}&radius=5000&limit=100`

t.test(`${TILE38_NAME}: gateways search and watch there, whoever owns the devices`, { skip }, async (t) => {
  const cluster = await startCluster(t)
  const [url, other] = cluster.gateways.map(({ options }) => options.url) as [string, string]
  const tile38 = cluster.tile38[0]!
  const shop = { type: 'circle', coordinates: [LONGITUDE, LATITUDE], radius: 100, description: 'Shop' }
  t.match(await call(url, 'PUT', 'geofences/shops/1', shop), { status: 200 })
  // Each one is 22 m to the north of the one before.
  const track = (i: number, east = 0) =>
    call(i % 2 === 0 ? url : other, 'POST', 'track', {
      deviceId: `d${i}`,
      latitude: LATITUDE + i * 2e-4,
      longitude: LONGITUDE + east,
      accuracy: 5,
    })
  let entered = 0
  for (let i = 0; i < DEVICES; i++) entered += (await track(i)).body.events.length
  t.equal(entered, 5)
  const near = async (from: string, query = '') => {
    const { status, body } = await call(from, 'GET', ABOUT + query)
    return status === 200 ? body.users.map(({ deviceId }: { deviceId: string }) => deviceId).join() : status
  }
  const names = Array.from({ length: DEVICES }, (_, i) => `d${i}`)
  const found = async (from: string, wanted: readonly string[]) => {
    let answer: unknown
    await until(async () => (answer = await near(from)) === wanted.join())
    return answer
  }
  t.equal(await found(url, names), names.join(), 'nearest first')
  t.equal(await found(other, names), names.join())
  t.equal(await near(other, '&limit=3'), 'd0,d1,d2')

  // Tile38 answers watches, and no process asks the owners. Two watches begin at once, and so do their subscriptions at Tile38.
  const watches = await watchesFrom(t, other, 2)
  const [watch, twin] = watches
  await until(() => watches.every(({ inside }) => inside.size === 5))
  for (const { inside } of watches) t.strictSame([...inside].toSorted(), names.slice(0, 5))
  await track(7, 0.0001)
  await track(2, 0.01)
  await call(url, 'PUT', 'geofences/shops/1', { ...shop, radius: 200 })
  await until(() => !watch.inside.has('d2'))

  // By what is in the user's record: Tile38 has it beside the position.
  const fenced = await openStream(t, other)
  fenced.watch({ tags: ['shops'] })
  const red = await openStream(t, url)
  red.watch({ metadata: { colour: 'red', doors: 3 } })
  const nobody = await openStream(t, url)
  nobody.watch({ tags: ['none'], userIds: ['nobody'] })
  await until(() => fenced.inside.size > 0)
  const paint = (colour: string) =>
    call(url, 'POST', 'track', {
      deviceId: 'd3',
      latitude: LATITUDE + 3e-4,
      longitude: LONGITUDE,
      accuracy: 5,
      metadata: { colour, doors: 3 },
    })
  await paint('red')
  await until(() => red.inside.has('d3'))
  t.strictSame([...red.inside], ['d3'])
  await paint('blue')
  await until(() => red.inside.size === 0)
  t.strictSame([nobody.inside.size, fenced.errors, red.errors, nobody.errors], [0, [], [], []])

  const sums = async (name: string) => {
    const running = cluster.actors.filter(({ isRunning }) => isRunning)
    const values = running.map(async ({ options }) => {
      const text = await (await fetch(`${options.url}/metrics`)).text()
      return Number(new RegExp(`^ringfence_${name} (\\S+)$`, 'm').exec(text)?.[1])
    })
    return (await Promise.all(values)).reduce((sum, value) => sum + value, 0)
  }
  await until(async () => (await sums('tile38_waiting')) === 0)

  // The device disappears with its record, and comes back with another one.
  const before = names.filter((name) => name !== 'd3')
  t.match(await call(url, 'DELETE', 'users/d3'), { status: 200 })
  await until(() => !watch.inside.has('d3'))
  const byDistance = async () =>
    String(await near(url))
      .split(',')
      .toSorted()
      .join()
  await until(async () => (await byDistance()) === before.toSorted().join())

  // Evaluation continues without an owner and without Tile38.
  await tile38.end('SIGKILL')
  const [first] = cluster.actors as [Cluster['actors'][0]]
  const leaves = track(0, 0.01)
  t.match((await leaves).body.events, [{ type: 'user.exited_geofence' }])
  await until(async () => (await near(url)) === 503)
  t.match(await call(other, 'GET', ABOUT), { body: { meta: { message: /Tile38/ } } })
  t.match(await (await fetch(`${url}/readyz`)).json(), {
    checks: [{}, {}, { name: 'Tile38', ok: true, detail: /^not connected;/ }],
  })
  const [late] = await watchesFrom(t, url, 1)
  await until(() => late.errors.length > 0)
  t.match(late.errors, [{ watch: 'w', code: 503, message: /Tile38/ }])
  t.equal(await first.end('SIGTERM'), 0)
  rmSync(join(cluster.tile38[0]!.options.logFile, '..', 'tile38', 'appendonly.aof'), { force: true })
  tile38.start()
  await tile38.ready()
  await until(async () => (await byDistance()) === before.toSorted().join())
  await until(() => !watch.inside.has('d0') && !twin!.inside.has('d0'))
  for (const { inside } of watches)
    t.strictSame([...inside].toSorted(), ['d1', 'd4'], 'watches that began before are put right')
  t.strictSame(await cluster.stop(), [])
})

async function startCluster(t: Test): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), 'ringfence-cluster-'))
  let cluster: Cluster | undefined
  t.teardown(async () => {
    if (!t.passing())
      for (const member of cluster?.members ?? []) console.error(`${member.options.name}:\n${member.output}`)
    await cluster?.kill()
    rmSync(folder, { recursive: true, force: true })
  })
  const env = {
    RINGFENCE_KEYS: Object.values(KEYS).join(','),
    RINGFENCE_RATE_LIMITS: 'off',
    RINGFENCE_PARTITIONS: '8',
  }
  const counts = { nats: 1, gateways: 2, actors: 2, deliveries: 0 }
  return (cluster = await Cluster.start({ folder, ...counts, tile38: tile38Command, env }))
}

async function call(url: string, method: string, path: string, body?: object) {
  const answer = await fetch(`${url}/v1/${path}`, {
    method,
    headers: { Authorization: KEYS.testSecret, 'Content-Type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  // oxlint-disable-next-line typescript/no-explicit-any -- answers of every shape
  return { status: answer.status, body: (await answer.json()) as any }
}

/** Streams that begin to watch the circle of 100 m at the same moment. */
async function watchesFrom(t: Test, url: string, count: number) {
  const streams = await Promise.all(Array.from({ length: count }, () => openStream(t, url)))
  for (const { watch } of streams) watch()
  return streams as [(typeof streams)[0], ...typeof streams]
}

/** A stream, and who is inside the watched area according to its messages. */
async function openStream(t: Test, url: string) {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/stream`, ['ringfence.json'], {
    headers: { Authorization: KEYS.testSecret },
  })
  t.teardown(() => socket.terminate())
  const inside = new Set<string>()
  const errors: object[] = []
  socket.on('message', (text) => {
    const message = JSON.parse(String(text))
    if (message.type === 'error') errors.push(message)
    if (message.type !== 'position') return
    if (message.change === 'leave') inside.delete(message.user.deviceId)
    else inside.add(message.user.deviceId)
  })
  await once(socket, 'open')
  const area = { type: 'circle', center: [LONGITUDE, LATITUDE], radius: 100 }
  const watch = (filter?: object) => socket.send(JSON.stringify({ type: 'watch', id: 'w', area, filter }))
  return { inside, errors, watch }
}
