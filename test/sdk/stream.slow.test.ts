/** The client's stream with a real server: kill -9, slow readers, refusals, the end. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { WebSocket, WebSocketServer, type WebSocket as ServerSocket } from 'ws'
import {
  Ringfence,
  StreamClosedError,
  type Event,
  type Position,
  type StreamState,
} from '../../sdk/src/index.ts'
import { KEYS, startServer } from '../kit/server.ts'
import { ENCODINGS, sdkEncoding } from '../kit/stream.ts'

const CENTER = [13.4, 52.5] as const

/**
 * Alternately inside and outside. Each update makes an event, and a lost or repeated one would change the number of
 * events.
 */
function update(deviceId: string, n: number) {
  const [longitude, latitude] = CENTER
  return { deviceId, latitude: n % 2 === 0 ? latitude : latitude + 1, longitude, accuracy: 5 }
}

const MAX_STREAMS = 6
const server = await startServer(t, { env: { RINGFENCE_MAX_STREAMS_PER_KEY: String(MAX_STREAMS) } })
await clientOf(t).client.putGeofence('t', '1', {
  description: 'Here',
  type: 'circle',
  coordinates: [...CENTER],
  radius: 100,
})

/** A client, and a signal that ends its streams when the test ends. */
function clientOf(t: Test, options: { WebSocket?: typeof WebSocket } = {}) {
  const ended = new AbortController()
  t.teardown(() => ended.abort())
  return {
    client: new Ringfence({ url: server.url, key: KEYS.testSecret, ...options }),
    signal: ended.signal,
  }
}

/** The next `count` events. Checks that the events of each device alternate. */
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
  const { client, signal } = clientOf(t)
  const devices = Array.from({ length: 25 }, (_, n) => `device-${n}`)
  const each = 40
  const streams = ENCODINGS.map((name) => client.stream({ encoding: sdkEncoding(name), signal }))
  const [events, ...others] = streams.map((stream) => stream.events())
  await Promise.all([events!.ready, ...others.map(({ ready }) => ready)])

  // Killed before the first event has come. Events that happen until the server is back must not be missed.
  await server.kill9()
  const restarted = server.restart()
  let durable = 0
  const senders = devices.map(async (deviceId, number) => {
    for (let n = 0; n < each; n++) {
      await streams[number % streams.length]!.track(update(deviceId, n))
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
  const collected = await collect(events!, total)
  checkEvents(t, collected, devices, each)
  for (const other of others) t.same(await collect(other, total), collected, 'in each encoding')

  await Promise.all(streams.map((stream) => stream.close()))
  t.same(await events!.next(), { done: true, value: undefined }, 'and not one more')
})

t.test('a slow reader gets all events, and again from a given event', async (t) => {
  // The package ws, which Node 20 needs.
  const { client, signal } = clientOf(t, { WebSocket })
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
  const { client, signal } = clientOf(t)
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

t.test('an invalid key ends the stream permanently', async (t) => {
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

t.test('a stream tells why it has to wait', async (t) => {
  for (const options of [{}, { WebSocket }]) {
    const ended = new AbortController()
    t.teardown(() => ended.abort())
    const { signal } = ended
    const client = new Ringfence({ url: server.url, key: KEYS.livePublishable, ...options })
    const states: StreamState[] = []
    const is = (status: StreamState['status']) => until(() => states.at(-1)?.status === status)
    const first = Array.from({ length: MAX_STREAMS }, () => client.stream({ signal }))
    await Promise.all(first.map((stream, n) => stream.track(update(`first ${n}`, 0))))
    const stream = client.stream({ signal, onStateChange: (state) => states.push(state) })
    const tracked = stream.track(update('waits', 0))
    await is('waiting')
    const error = { name: 'RingfenceError', status: 429, message: /^Too many streams/ }
    t.match(states, [{ status: 'waiting', error }])
    await first[0]!.close()
    await tracked
    await is('open')
    await stream.close()
    ended.abort()
    t.same(
      states.filter(({ status }) => status === 'closed'),
      [{ status: 'closed' }],
    )
  }
  const states: StreamState[] = []
  const key = `prj_test_sk_${'9'.repeat(40)}`
  const stream = new Ringfence({ url: server.url, key }).stream({
    onStateChange: (state) => states.push(state),
  })
  await t.rejects(stream.track(update('x', 0)), { name: 'RingfenceError', status: 401 })
  t.match(states, [{ status: 'closed', error: { name: 'RingfenceError', status: 401 } }])
})

t.test('a watched area reports who enters, moves and leaves, despite a kill -9', async (t) => {
  const { client, signal } = clientOf(t)
  let state: StreamState | undefined
  const stream = client.stream({ signal, onStateChange: (now) => (state = now) })
  const near = (deviceId: string, meters: number) =>
    stream.track({ deviceId, latitude: meters / 111_000, longitude: 0, accuracy: 5 })
  await client.putGeofence('watched', '1', {
    description: 'Where nobody else is',
    type: 'circle',
    coordinates: [0, 0],
    radius: 100,
  })
  await near('a', 0)
  const positions = stream.watch({ type: 'geofence', tag: 'watched', externalId: '1' }, { minIntervalMs: 0 })
  const next = async () => {
    const { value } = await positions.next()
    return `${value?.user.deviceId} ${value?.change}`
  }
  t.equal(await next(), 'a enter', 'who is there already')
  await near('b', 50)
  t.equal(await next(), 'b enter')
  await near('a', 10)
  t.equal(await next(), 'a move')
  await near('b', 5000)
  t.equal(await next(), 'b leave')
  await server.kill9()
  t.equal(await next(), 'a leave')
  t.match(state, { status: 'waiting', error: { name: 'ConnectionError' } })
  await server.restart()
  t.equal(await next(), 'a enter')
  const bad = stream.watch({ type: 'circle', center: [0, 99], radius: 1 })
  await t.rejects(bad.next(), { name: 'RingfenceError', status: 400 })
  await stream.close()
  t.equal(await next(), 'a leave', 'nobody is inside of what is not watched')
  t.same(await positions.next(), { done: true, value: undefined })
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

t.test('a subscription continues where it was, and is ended while nobody takes the events', async (t) => {
  const { url, connection, signal } = await fakeServer(t)
  const stream = new Ringfence({ url, key: KEYS.testSecret }).stream({ signal })
  const events = stream.events({ tags: ['x'] })
  const subscribed = async (from: string): Promise<{ at: FakeConnection; id: string }> => {
    const at = await connection()
    const message = await at.message()
    t.match(message, { type: 'subscribe', filter: { tags: ['x'] }, from })
    return { at, id: message.id }
  }
  const first = await subscribed('now')
  first.at.send({ type: 'subscribed', id: first.id, from: '@7' })
  await events.ready
  first.at.cut()
  const second = await subscribed('@7')
  const send = (subscription: string, n: number) =>
    second.at.send({ type: 'event', subscription, event: { _id: `event ${n}` } })
  for (let n = 0; n < 1100; n++) send(second.id, n)
  t.match(await second.at.message(), { type: 'unsubscribe', id: second.id })
  await second.at.answered()
  await collect(events, 999)
  t.match((await collect(events, 1))[0], { _id: 'event 999' })
  const again = await second.at.message()
  t.match(again, { type: 'subscribe', from: 'event 999' })
  send(second.id, 1100)
  send(again.id, 1000)
  t.match(
    (await collect(events, 1))[0],
    { _id: 'event 1000' },
    'what still comes of the old one is passed over',
  )
  second.at.cut()
  await subscribed('event 1000')
})

t.test('a reader that leaves while its subscription is ended does not subscribe again', async (t) => {
  const { url, connection, signal } = await fakeServer(t)
  const stream = new Ringfence({ url, key: KEYS.testSecret }).stream({ signal })
  const events = stream.events()
  const socket = await connection()
  const { id } = await socket.message()
  for (let n = 0; n < 1000; n++)
    socket.send({ type: 'event', subscription: id, event: { _id: `event ${n}` } })
  t.match(await socket.message(), { type: 'unsubscribe', id })
  await events.return()
  t.match(await events.next(), { done: true })
  const later = stream.events({ tags: ['later'] })
  t.match(await socket.message(), { type: 'subscribe', filter: { tags: ['later'] } }, 'nothing before it')
  await later.return()
})

t.test('a server with a smaller frame limit gets smaller frames', async (t) => {
  const small = await startServer(t, { env: { RINGFENCE_MAX_BODY_BYTES: '20000' } })
  const stream = new Ringfence({ url: small.url, key: KEYS.testSecret }).stream()
  t.teardown(() => stream.close())
  const fields = { latitude: 50, longitude: 7, accuracy: 5, metadata: { text: 'x'.repeat(100) } }
  await Promise.all(
    Array.from({ length: 400 }, (_, i) => stream.track({ ...fields, deviceId: `phone-${i}` })),
  )
  const { users } = (await small.api('GET', '/v1/users?limit=1000')).body
  t.equal(users.length, 400)
})

t.test(
  'a stream whose last updates were refused ends, also if the connection is lost just then',
  async (t) => {
    const { url, connection, signal } = await fakeServer(t)
    const stream = new Ringfence({ url, key: KEYS.testSecret }).stream({ signal })
    const first = await connection()
    const refused = stream.track(update('d', 0))
    const closed = stream.close()
    const { id } = await first.message()
    first.send({ type: 'error', id, index: 0, code: 400, message: 'No.' })
    await t.rejects(refused, { name: 'RingfenceError', status: 400 })
    first.cut()
    await closed
  },
)

t.test('an overloaded server gets the frames again, in order', async (t) => {
  const { url, connection, signal } = await fakeServer(t)
  const stream = new Ringfence({ url, key: KEYS.testSecret }).stream({ signal })
  const overloaded = await connection()
  const tracked = Array.from({ length: 600 }, (_, n) => stream.track(update('d', n)))
  const frames = [await overloaded.message(), await overloaded.message(), await overloaded.message()]
  t.same(
    frames.map(({ id, sequence, updates }) => [id, sequence, updates.length]),
    [[1, 1, 250], [2, 251, 250], [3, 501, 100]], // prettier-ignore
  )
  overloaded.send({ type: 'ack', id: 1 })
  overloaded.send({ type: 'busy', id: 2, retryAfter: 0 })
  overloaded.send({ type: 'busy', id: 3, retryAfter: 0 })
  t.same(
    [await overloaded.message(), await overloaded.message()],
    frames.slice(1),
    'once all have been refused',
  )
  overloaded.send({ type: 'ack', id: 3 })
  await Promise.all(tracked)

  const after = stream.track(update('d', 600))
  t.match(await overloaded.message(), { id: 4, sequence: 601 })
  overloaded.close(4402, 'The project is disabled.')
  await t.rejects(after, { name: 'RingfenceError', status: 402, message: 'The project is disabled.' })
})

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await sleep(2)
}

interface FakeConnection {
  /** The next message from the client. */
  // oxlint-disable-next-line typescript/no-explicit-any -- messages of every shape
  message(): Promise<any>
  send(message: object): void
  /** Resolves when the client has received everything that was sent. */
  answered(): Promise<void>
  close(code: number, reason: string): void
  cut(): void
}

/** A server that sends what the test says. */
async function fakeServer(t: Test) {
  const ended = new AbortController()
  const sockets = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  await once(sockets, 'listening')
  const accepted: FakeConnection[] = []
  sockets.on('connection', (socket) => accepted.push(fakeConnection(socket)))
  t.teardown(() => {
    ended.abort()
    for (const socket of sockets.clients) socket.terminate()
    sockets.close()
  })
  const connection = async (): Promise<FakeConnection> => {
    await until(() => accepted.length > 0)
    return accepted.shift()!
  }
  return {
    url: `http://127.0.0.1:${(sockets.address() as AddressInfo).port}`,
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
