/** The client's stream against a real server: kill -9, slow readers, refusals, the end. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { WebSocket, WebSocketServer, type WebSocket as ServerSocket } from 'ws'
import { Ringfence, StreamClosedError, type Event, type Position } from '../../sdk/src/index.ts'
import { KEYS, startServer, type Server } from '../kit/server.ts'

const CENTER = [13.4, 52.5] as const

/** One update in, the next out: each makes an event, and one that is lost or comes twice makes another number. */
function update(deviceId: string, n: number) {
  const [longitude, latitude] = CENTER
  return { deviceId, latitude: n % 2 === 0 ? latitude : latitude + 1, longitude, accuracy: 5 }
}

async function withGeofence(t: Test, server: Server, options: { WebSocket?: typeof WebSocket } = {}) {
  const client = new Ringfence({ url: server.url, key: KEYS.testSecret, ...options })
  await client.putGeofence('t', '1', {
    description: 'Here',
    type: 'circle',
    coordinates: [...CENTER],
    radius: 100,
  })
  const ended = new AbortController()
  t.teardown(() => ended.abort())
  return { client, signal: ended.signal }
}

/** The next `count` events; by device, whether they alternate. */
async function collect(events: AsyncIterator<Event>, count: number): Promise<Event[]> {
  const collected: Event[] = []
  while (collected.length < count) {
    const { value, done } = await events.next()
    if (done === true) throw new Error(`ended after ${collected.length} of ${count} events`)
    collected.push(value)
  }
  return collected
}

function checkEvents(t: Test, events: readonly Event[], devices: readonly string[], each: number): void {
  t.equal(new Set(events.map(({ _id }) => _id)).size, events.length, 'no event came twice')
  for (const deviceId of devices) {
    const types = events.filter(({ user }) => user?.deviceId === deviceId).map(({ type }) => type)
    const expected = Array.from({ length: each }, (_, n) =>
      n % 2 === 0 ? 'user.entered_geofence' : 'user.exited_geofence',
    )
    t.same(types, expected, `${deviceId}: every update was applied once and in order`)
  }
}

t.test('kill -9 under load: nothing is applied twice, no event is missed or seen twice', async (t) => {
  const server = await startServer(t)
  const { client, signal } = await withGeofence(t, server)
  const devices = Array.from({ length: 25 }, (_, n) => `device-${n}`)
  const each = 40
  const stream = client.stream({ signal })
  const events = stream.events()
  await events.ready

  // Before a single event has come: what happens until it is back must not be missed.
  await server.kill9()
  const restarted = server.restart()
  let durable = 0
  const senders = devices.map(async (deviceId) => {
    for (let n = 0; n < each; n++) {
      await stream.track(update(deviceId, n))
      durable++
    }
  })
  await restarted
  const total = devices.length * each
  for (const part of [0.3, 0.6]) {
    await until(() => durable >= total * part)
    await server.kill9()
    const told = durable
    await server.restart()
    const users = await client.get('/v1/events', { query: { limit: 1000 } })
    t.ok(users.events.length >= Math.min(told, 1000), 'what was acknowledged is in the log')
  }
  await Promise.all(senders)
  checkEvents(t, await collect(events, total), devices, each)

  await stream.close()
  t.same(await events.next(), { done: true, value: undefined }, 'and not one more')
})

t.test('who reads slowly gets all, and from an event on again', async (t) => {
  const server = await startServer(t)
  // The package ws, as Node 20 needs it.
  const { client, signal } = await withGeofence(t, server, { WebSocket })
  const stream = client.stream({ signal })
  const events = stream.events({ deviceIds: ['slow'] })
  const none = stream.events({ deviceIds: ['nobody'] })
  await events.ready
  const each = 3300
  const sent = Array.from({ length: each }, (_, n) => stream.track(update('slow', n)))
  await Promise.all(sent)
  await stream.track(update('somebody else', 0))
  const collected = await collect(events, each)
  checkEvents(t, collected, ['slow'], each)

  const again = stream.events({ types: ['user.exited_geofence'] }, { from: collected[each - 4]!._id })
  t.same(
    (await collect(again, 2)).map(({ _id }) => _id),
    [collected[each - 3]!._id, collected[each - 1]!._id],
    'a filter, and a place to go on from',
  )
  await again.return()
  t.same(await again.next(), { done: true, value: undefined })

  const unknown = stream.events({}, { from: '0'.repeat(24) })
  await t.rejects(unknown.next(), { name: 'RingfenceError', status: 404 })
  t.same(await unknown.next(), { done: true, value: undefined }, 'it throws once')

  const enough = new AbortController()
  const aborted = stream.events({}, { signal: enough.signal })
  const next = aborted.next()
  enough.abort(new Error('enough'))
  await t.rejects(next, { message: 'enough' })
  await stream.close()
  t.same(await none.next(), { done: true, value: undefined })
})

t.test('refusals, and the end', async (t) => {
  const server = await startServer(t)
  const { client, signal } = await withGeofence(t, server)
  const stream = client.stream({ signal })
  const good = Array.from({ length: 600 }, (_, n) => stream.track(update(`d${n}`, 0)))
  const bad = stream.track({ ...update('bad', 0), latitude: 91 })
  const last = stream.track(update('last', 0))
  await t.rejects(bad, { name: 'RingfenceError', status: 400, param: 'latitude' })
  await Promise.all([...good, last])

  await stream.ready
  const flushed = stream.track(update('last', 1))
  const closed = stream.close()
  await t.rejects(stream.track(update('last', 2)), StreamClosedError, 'nothing more is taken')
  await flushed
  await closed
  await stream.close()
  await t.rejects(stream.ready, StreamClosedError)
  await t.rejects(stream.events().next(), StreamClosedError)
  const { user } = await client.get('/v1/users/{id}', { params: { id: 'last' } })
  t.same(user.geofences, [], 'what was under way was flushed')

  const publishable = new Ringfence({ url: server.url, key: KEYS.testPublishable }).stream({ signal })
  await publishable.track(update('mine', 0))
  await t.rejects(publishable.events().next(), { name: 'RingfenceError', status: 403 })
  const mine = publishable.events({ deviceIds: ['mine'] })
  await mine.ready
  await publishable.track(update('mine', 1))
  t.match(await mine.next(), { value: { type: 'user.exited_geofence' } })

  const reason = new Error('leaving')
  const leaving = new AbortController()
  const left = client.stream({ signal: leaving.signal })
  const lost = left.track(update('x', 0))
  const leftEvents = left.events()
  leaving.abort(reason)
  await t.rejects(lost, reason)
  await t.rejects(leftEvents.next(), reason)
  await t.rejects(left.close(), reason)
  const late = client.stream({ signal: leaving.signal })
  await t.rejects(late.track(update('x', 0)), reason)
})

t.test('a key that is not good ends the stream for good', async (t) => {
  const server = await startServer(t)
  const key = `prj_test_sk_${'9'.repeat(40)}`
  for (const options of [{}, { WebSocket }]) {
    const stream = new Ringfence({ url: server.url, key, ...options }).stream()
    const events = stream.events()
    await t.rejects(stream.track(update('x', 0)), { name: 'RingfenceError', status: 401 })
    await t.rejects(events.ready, { name: 'RingfenceError', status: 401 })
    await t.rejects(events.next(), { name: 'RingfenceError', status: 401 })
    await t.rejects(stream.close(), { name: 'RingfenceError', status: 401 })
  }
})

t.test('positions: only the newest waits, and a lost connection leaves nobody inside', async (t) => {
  const { url, connection, signal } = await fakeServer(t)
  const stream = new Ringfence({ url, key: KEYS.testSecret }).stream({ signal })
  const positions = stream.watch({ type: 'circle', center: CENTER, radius: 100 }, { minIntervalMs: 5 })
  const first = await connection()
  const watch = await first.message()
  t.match(watch, { type: 'watch', area: { type: 'circle', center: CENTER, radius: 100 }, minIntervalMs: 5 })
  first.send({ type: 'watching', id: watch.id })
  await positions.ready
  const tell = (change: Position['change'], deviceId: string, longitude: number) =>
    first.send({
      type: 'position',
      watch: watch.id,
      change,
      user: { _id: `user of ${deviceId}`, deviceId },
      location: { type: 'Point', coordinates: [longitude, 0] },
      updatedAt: '2026-11-20T00:00:00.000Z',
    })
  const taken = async (count: number) => {
    const changes: string[] = []
    for (let i = 0; i < count; i++) {
      const { value } = await positions.next()
      changes.push(`${value?.user.deviceId} ${value?.change} ${value?.location.coordinates[0]}`)
    }
    return changes
  }
  tell('enter', 'a', 1)
  t.same(await taken(1), ['a enter 1'])
  for (const [change, deviceId, longitude] of [
    ['move', 'a', 2],
    ['enter', 'b', 1],
    ['move', 'a', 3],
    ['move', 'b', 2],
    ['enter', 'c', 1],
    ['leave', 'c', 2],
    ['enter', 'd', 1],
  ] as const)
    tell(change, deviceId, longitude)
  await first.answered()
  t.same(await taken(3), ['a move 3', 'b enter 2', 'd enter 1'])
  tell('leave', 'a', 4)
  tell('enter', 'a', 5)
  tell('leave', 'b', 3)
  await first.answered()
  t.same(await taken(2), ['a move 5', 'b leave 3'])

  first.cut()
  t.same((await taken(2)).sort(), ['a leave 5', 'd leave 1'])
  const second = await connection()
  t.match(await second.message(), { type: 'watch' })
  await positions.return()
  t.match(await second.message(), { type: 'unwatch' })
})

t.test('an overloaded server gets the frames again, in their order', async (t) => {
  const { url, connection, signal } = await fakeServer(t)
  const stream = new Ringfence({ url, key: KEYS.testSecret }).stream({ signal })
  const server = await connection()
  const tracked = Array.from({ length: 600 }, (_, n) => stream.track(update('d', n)))
  const frames = [await server.message(), await server.message(), await server.message()]
  t.same(
    frames.map(({ id, sequence, updates }) => [id, sequence, updates.length]),
    [[1, 1, 250], [2, 251, 250], [3, 501, 100]], // prettier-ignore
  )
  server.send({ type: 'ack', id: 1 })
  server.send({ type: 'busy', id: 2, retryAfter: 0 })
  server.send({ type: 'busy', id: 3, retryAfter: 0 })
  t.same([await server.message(), await server.message()], frames.slice(1), 'once all have been refused')
  server.send({ type: 'ack', id: 3 })
  await Promise.all(tracked)

  const after = stream.track(update('d', 600))
  t.match(await server.message(), { id: 4, sequence: 601 })
  server.close(4402, 'The project is disabled.')
  await t.rejects(after, { name: 'RingfenceError', status: 402, message: 'The project is disabled.' })
})

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await sleep(2)
}

interface FakeConnection {
  /** The next message of the client. */
  // oxlint-disable-next-line typescript/no-explicit-any -- messages of every shape
  message(): Promise<any>
  send(message: object): void
  /** Resolves when the client has seen all that was sent. */
  answered(): Promise<void>
  close(code: number, reason: string): void
  cut(): void
}

/** A server that says what the test says. */
async function fakeServer(t: Test) {
  const ended = new AbortController()
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  await once(server, 'listening')
  const accepted: FakeConnection[] = []
  server.on('connection', (socket) => accepted.push(fakeConnection(socket)))
  t.teardown(() => {
    ended.abort()
    for (const socket of server.clients) socket.terminate()
    server.close()
  })
  const connection = async (): Promise<FakeConnection> => {
    await until(() => accepted.length > 0)
    return accepted.shift()!
  }
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connection,
    signal: ended.signal,
  }
}

function fakeConnection(socket: ServerSocket): FakeConnection {
  const messages: unknown[] = []
  socket.on('message', (data: Buffer) => messages.push(JSON.parse(data.toString())))
  return {
    async message() {
      await until(() => messages.length > 0)
      return messages.shift()
    },
    send: (message) => socket.send(JSON.stringify(message)),
    async answered() {
      socket.ping()
      await once(socket, 'pong')
      await sleep(5)
    },
    close: (code, reason) => socket.close(code, reason),
    cut: () => socket.terminate(),
  }
}
