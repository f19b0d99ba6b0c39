/** The API of a process without partitions: HTTP and a stream, with owners of the partitions and without any. */
import { Senders } from '../../src/wire/senders.ts'
import { once } from 'node:events'
import t from 'tap'
import { roomy } from '../stream/fakeConnection.ts'
import { WebSocket } from 'ws'
import { KeyWatch } from '../../src/http/keyWatch.ts'
import { createServer } from '../../src/http/server.ts'
import { NatsCalls } from '../../src/cluster/nats/natsCalls.ts'
import { conversionRoutes } from '../../src/ingest/conversionRoutes.ts'
import { trackRoutes } from '../../src/ingest/trackRoutes.ts'
import type { Credentials } from '../../src/http/credentials.ts'
import { systemClock as clock } from '../../src/runtime/clock.ts'
import { scanJsonUpdate } from '../../src/wire/jsonScanner.ts'
import { StreamServer } from '../../src/stream/streamServer.ts'
import { userRoutes } from '../../src/users/userRoutes.ts'
import { aGeofence, HERE } from '../actor/kit.ts'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { natsServer } from '../kit/nats.ts'
import { reconnecting } from './jetStreamKit.ts'
import { UserTrips } from '../../src/trips/userTrips.ts'
import {
  fixedWorld,
  gatewayOf,
  noTrips,
  PARTITIONS,
  serverOf,
  SharedLogs,
  SharedMemorySnapshots,
} from './kit.ts'

const skip = await skipWithout(NATS_SERVER)
const KEY = 'prj_test_sk_1111111111111111111111111111111111111111'
const CREDENTIALS: Credentials = { scope: 0, level: 'secret', keyId: 'test secret 1111' }

t.test('a gateway', { skip }, async (t) => {
  const nats = await natsServer(t)
  const world = fixedWorld()
  const logs = new SharedLogs()
  const owner = serverOf(
    new NatsCalls(await reconnecting(t, [nats])),
    { world, clock },
    {
      snapshots: new SharedMemorySnapshots(),
      openLog: async (n, fencedOut) => logs.open(n, fencedOut),
    },
  )

  const gateway = gatewayOf(new NatsCalls(await reconnecting(t, [nats])), world, { giveUpMs: 300 })
  const engine = { intake: gateway, users: gateway, registry: world }
  const quotas = { take() {}, giveBack() {} }
  const logger = { error: (context: object, message: string) => t.fail(message, context) }
  const senders = new Senders()
  const streams = new StreamServer({
    senders,
    intake: gateway,
    features: [],
    keyWatch: new KeyWatch({ isCurrent: () => true, quotas, clock }),
    kept: roomy(),
    quotas,
    streamDeviceLimit: false,
    maxStreamsPerKey: 10,
    streamIdleSeconds: 60,
    maxBodyBytes: 1_000_000,
    streamMessageBytes: 1_000_000,
    clock,
    logger,
  })
  const server = createServer({
    routes: [
      ...trackRoutes({
        ...engine,
        trips: new UserTrips(noTrips(), { ask: () => Promise.resolve({ trips: [], hasMore: false }) }),
        rateLimits: true,
        scan: (body, stamp) => scanJsonUpdate(body, stamp, senders),
      }),
      ...conversionRoutes(engine),
      ...userRoutes({ ...engine, times: { minutesTo: () => Promise.resolve([]) } }),
    ],
    sockets: [streams],
    authenticate: (key) => (key === KEY ? CREDENTIALS : undefined),
    trustedProxies: [],
    clock,
    logger,
  })
  const port = await server.listen('127.0.0.1', 0)
  t.teardown(async () => {
    await streams.stop()
    await server.close()
  })
  const call = async (method: string, path: string, body?: object) => {
    const answer = await fetch(`http://127.0.0.1:${port}/v1/${path}`, {
      method,
      headers: { Authorization: KEY, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const { meta, ...rest } = (await answer.json()) as Record<string, any>
    return { status: answer.status, retryAfter: answer.headers.get('retry-after'), meta, ...rest } as Record<
      string,
      any
    >
  }
  const open = async () => {
    const headers = { Authorization: KEY }
    const socket = new WebSocket(`ws://127.0.0.1:${port}/v1/stream`, ['ringfence.json'], { headers })
    await once(socket, 'open')
    return socket
  }
  const here = { deviceId: 'd', userId: 'ann', ...HERE, accuracy: 5 }

  for (const [method, path, body] of [
    ['POST', 'track', here],
    ['POST', 'track/replay', { replays: [here] }],
    ['POST', 'events', { name: 'bought', deviceId: 'd' }],
    ['GET', 'users'],
    ['GET', 'users/ann'],
    ['DELETE', 'users/ann'],
    ['GET', `geofences/${aGeofence(1).id}/users`],
    ['GET', 'search/users?near=0,0'],
  ] as const) {
    t.match(
      await call(method, path, body),
      { status: 503, retryAfter: '1', meta: { code: 503 } },
      `nobody: ${path}`,
    )
  }

  const unanswered = await open()
  unanswered.send(JSON.stringify({ type: 'track', id: 1, updates: [here] }))
  unanswered.on('message', (text) => t.fail(`nothing is acknowledged: ${text}`))
  t.match(await once(unanswered, 'close'), [1013], 'a stream is to send again')

  for (let n = 0; n < PARTITIONS; n++) await owner.acquire(n)
  t.match(await call('POST', 'track', here), {
    status: 200,
    events: [{ type: 'user.entered_geofence' }],
    user: { deviceId: 'd', geofences: [{ _id: aGeofence(1).id }] },
    nearbyBeacons: [],
  })
  t.match(await call('POST', 'track', here), {
    status: 429,
    retryAfter: '1',
    meta: { param: 'deviceId', type: 'second' },
  })
  t.match(await call('POST', 'track/replay', { replays: [here, { ...here, latitude: 1 }] }), {
    status: 200,
    events: [{ type: 'user.exited_geofence' }],
    user: { geofences: [] },
  })
  t.match(await call('POST', 'events', { name: 'bought', userId: 'ann' }), {
    status: 200,
    event: { type: 'bought', user: { deviceId: 'd', userId: 'ann' } },
  })
  t.match(await call('POST', 'events', { name: 'bought', userId: 'nobody' }), { status: 404 })
  const { users } = await call('GET', 'users')
  t.match(users, [{ deviceId: 'd' }])
  t.match(await call('GET', `users?before=${users[0]._id}`), {
    status: 200,
    users: [],
    meta: { hasMore: false },
  })
  t.match(await call('GET', 'users/ann/explain'), { status: 200, explanation: { update: { latitude: 1 } } })
  t.match(await call('GET', `geofences/${aGeofence(1).id}/users`), { status: 200, users: [] })

  const socket = await open()
  const updates = Array.from({ length: 40 }, (_, i) => ({ ...here, deviceId: `s${i}` }))
  socket.send(JSON.stringify({ type: 'track', id: 1, events: true, updates }))
  const [text] = await once(socket, 'message')
  const ack = JSON.parse(String(text))
  t.match(ack, { type: 'ack', id: 1 })
  t.equal(ack.events.length, 40)
  socket.terminate()

  t.match(await call('DELETE', 'users/d'), { status: 200 })
  t.match(await call('GET', 'users/d'), { status: 404 })
  for (let n = 0; n < PARTITIONS; n++) await owner.release(n)
  await owner.stop()
})
