/** `GET /v1/stream` from outside: who may connect, frames and their acknowledgements, limits, and how streams end. */
import { Senders } from '../../src/wire/senders.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import Type from 'typebox'
import type { Socket } from '../../src/http/socket.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import type { StreamFeatureKind } from '../../src/stream/port.ts'
import { StreamServer } from '../../src/stream/streamServer.ts'
import { KEYS, startServer } from '../kit/server.ts'
import { roomy } from './fakeConnection.ts'
import { ENCODINGS, Stream, type Message, type Refused } from '../kit/stream.ts'
import { until } from '../kit/waiting.ts'

const MAX_STREAMS = 5

const server = await startServer(t, {
  env: {
    RINGFENCE_MAX_STREAMS_PER_KEY: String(MAX_STREAMS),
    RINGFENCE_MAX_BODY_BYTES: String(512 * 1024),
    RINGFENCE_MAILBOX_BYTES: String(16 * 1024 * 1024),
  },
})
await server.api('PUT', '/v1/geofences/shop/here', {
  type: 'circle',
  description: 'here',
  coordinates: [7, 50],
  radius: 100,
})

// This takes eight to twelve seconds. It runs in parallel, on a separate server, because slow readers are silent,
// too.
const impatient = await startServer(t, { env: { RINGFENCE_STREAM_IDLE_SECONDS: '8' } })
const silent = await Stream.open(impatient, { key: KEYS.liveSecret })
silent.socket.pause()

const inside = (deviceId: string) => ({ deviceId, latitude: 50, longitude: 7, accuracy: 5 })
const outside = (deviceId: string) => ({ deviceId, latitude: 51, longitude: 7, accuracy: 5 })
const typesOf = (events: readonly Message[]) => events.map(({ type, user }) => `${user.deviceId} ${type}`)

t.test('who may connect', async (t) => {
  const refused = async (what: string, status: number, options: Parameters<typeof Stream.open>[1]) => {
    const error = (await Stream.open(server, options).then(
      () => undefined,
      (reason: unknown) => reason,
    )) as Refused | undefined
    t.match(error, { status, body: { meta: { code: status, message: String } } }, what)
    return error
  }
  await refused('no key', 401, { key: null })
  await refused('an unknown key', 401, { key: `prj_test_sk_${'9'.repeat(40)}` })
  await refused('an unknown key in the address', 401, { key: null, query: '?publishableKey=nonsense' })
  await refused('a secret key in the address', 403, {
    key: null,
    query: `?publishableKey=${KEYS.testSecret}`,
  })
  await refused('no such subprotocol', 400, { headers: { 'sec-websocket-protocol': 'ringfence.xml' } })
  const plain = await server.api('GET', '/v1/stream')
  t.match(plain, { status: 426, body: { meta: { code: 426 } } }, 'no WebSocket')
  t.equal(plain.headers.get('upgrade'), 'websocket')
  t.equal((await server.api('HEAD', '/v1/stream')).status, 426)
  t.equal(
    (await server.api('GET', '/v1/stream', undefined, null)).status,
    401,
    'what would be told a WebSocket',
  )
  const draft = await refused('the version of a draft', 426, { protocolVersion: 8 })
  t.match(draft, { body: { meta: { param: 'Sec-WebSocket-Version' } }, versions: '13' })
  const post = await server.api('POST', '/api/v1/stream', {})
  t.strictSame([post.status, post.headers.get('allow')], [405, 'GET, HEAD, OPTIONS'])

  const accepted = [
    { key: `Bearer ${KEYS.testSecret}` },
    { key: KEYS.testPublishable },
    { key: null, query: `?publishableKey=${KEYS.testPublishable}` },
    { headers: { origin: 'https://anywhere.example' } },
  ]
  for (const options of accepted) {
    const stream = await Stream.open(server, options)
    t.equal(stream.socket.protocol, '', 'none was asked for')
    stream.send({ type: 'ping' })
    t.strictSame(await stream.next(), { type: 'pong' }, JSON.stringify(options))
    t.match(await stream.close(), { code: 1005 })
  }
  const chosen = await Stream.open(server, {
    headers: { 'sec-websocket-protocol': 'ringfence.xml, ringfence.json' },
  }).catch((error: Error) => error)
  // The package `ws` refuses a protocol that it did not request by its own option. Here it only matters that the
  // server named it.
  t.match(chosen, { message: /Server sent a subprotocol/ }, 'the first that is known is chosen')

  const streams: Stream[] = []
  for (let i = 0; i < MAX_STREAMS; i++) streams.push(await Stream.open(server, { key: KEYS.livePublishable }))
  const error = await refused('one too many', 429, { key: KEYS.livePublishable })
  t.ok(Number(error!.retryAfter) > 0, 'Retry-After')
  await streams.pop()!.close()
  streams.push(await Stream.open(server, { key: KEYS.livePublishable }))
  for (const stream of streams) await stream.close()
})

for (const encoding of ENCODINGS) {
  t.test(`${encoding}: frames`, async (t) => {
    const stream = await Stream.open(server, { encoding })
    t.equal(stream.socket.protocol, `ringfence.${encoding}`)
    const device = (name: string) => `${encoding} ${name}`
    const a = device('a')

    stream.send({
      type: 'track',
      id: 1,
      events: true,
      updates: [outside(a), inside(a), outside(a), inside(device('b'))],
    })
    const [first] = await stream.upToAck(1)
    t.match(first, { type: 'ack', id: 1 })
    t.strictSame(
      typesOf(first.events),
      [`${a} user.entered_geofence`, `${a} user.exited_geofence`, `${device('b')} user.entered_geofence`],
      'its events, in the order of its updates',
    )
    const { body } = await server.api('GET', `/v1/events/${first.events[0]._id}`)
    t.strictSame(body.event, first.events[0], 'they are in the log')

    const bad = { deviceId: a, latitude: 95, longitude: 7, accuracy: 5 }
    stream.send({
      type: 'track',
      id: 2,
      updates: [inside(a), bad, { latitude: 50, longitude: 7 }, outside(a)],
    })
    t.strictSame(await stream.upToAck(2), [
      {
        type: 'error',
        id: 2,
        index: 1,
        code: 400,
        param: 'latitude',
        message: 'latitude: Invalid latitude. Valid range: [-90, 90].',
      },
      { type: 'error', id: 2, index: 2, code: 400, param: 'deviceId', message: 'deviceId: Required.' },
      { type: 'ack', id: 2 },
    ])
    const user = await server.api('GET', `/v1/users/${encodeURIComponent(a)}`)
    t.strictSame(user.body.user.location.coordinates, [7, 51], 'the rest of the batch went on, in its order')

    // Fast frames may be acknowledged together, but never out of order.
    for (let id = 3; id <= 60; id++)
      stream.send({
        type: 'track',
        id,
        events: id % 20 === 0,
        updates: [id % 2 === 0 ? inside(a) : outside(a)],
      })
    const acks = await stream.upToAck(60)
    const ids = acks.map(({ id }) => id)
    t.strictSame(
      ids,
      ids.toSorted((x, y) => x - y),
    )
    t.ok(acks.every(({ type }) => type === 'ack'))
    for (const id of [20, 40, 60]) {
      const ack = acks.find((message) => message.id === id)
      t.strictSame(typesOf(ack.events), [`${a} user.entered_geofence`], `of frame ${id}`)
    }
    await stream.close()
  })

  t.test(`${encoding}: frames sent again`, async (t) => {
    const deviceId = `${encoding} again`
    const frame = { type: 'track', id: 1, events: true, stream: `s ${encoding}`, sequence: 7 }
    const send = async () => {
      const stream = await Stream.open(server, { encoding })
      stream.send({ ...frame, updates: [outside(deviceId), inside(deviceId), outside(deviceId)] })
      const [ack] = await stream.upToAck(1)
      await stream.close()
      return typesOf(ack.events)
    }
    t.strictSame((await send()).length, 2)
    t.strictSame(await send(), [], 'acknowledged, not applied')
    const { body } = await server.api('GET', `/v1/events?deviceId=${encodeURIComponent(deviceId)}`)
    t.equal(body.events.length, 2)
  })
}

t.test('invalid frames', async (t) => {
  const stream = await Stream.open(server)
  const updates = [inside('x')]
  const answers: readonly (readonly [what: string, message: string, param: string, id?: number])[] = [
    ['no JSON', '{"type":"track"', 'message'],
    ['nothing', '', 'message'],
    ['no type', '{"id":1}', 'type'],
    ['an unknown type', '{"type":"teleport"}', 'type'],
    ['no id', '{"type":"track","updates":[]}', 'id'],
    ['an id that is no number', '{"type":"track","id":"1","updates":[]}', 'id'],
    ['zero', '{"type":"track","id":0,"updates":[]}', 'id', 0],
    ['a gap', JSON.stringify({ type: 'track', id: 2, updates }), 'id', 2],
    ['no updates', '{"type":"track","id":1}', 'updates', 1],
    ['an empty batch', '{"type":"track","id":2,"updates":[]}', 'updates', 2],
    ['1,001', JSON.stringify({ type: 'track', id: 3, updates: Array(1001).fill(inside('x')) }), 'updates', 3],
    ['a stream alone', JSON.stringify({ type: 'track', id: 4, stream: 's', updates }), 'sequence', 4],
    ['a repeat', JSON.stringify({ type: 'track', id: 4, updates }), 'id', 4],
    ['anonymous', JSON.stringify({ type: 'track', id: 5, updates: [inside('anonymous')] }), 'deviceId', 5],
    ['an update that is no object', JSON.stringify({ type: 'track', id: 6, updates: [1] }), 'update', 6],
    ['a bad filter', '{"type":"subscribe","id":"s","filter":{"types":1}}', 'filter.types'],
  ]
  let acknowledged = 0
  for (const [what, message, param, id] of answers) {
    stream.socket.send(message)
    let answer = await stream.next()
    while (answer.type === 'ack') {
      acknowledged = answer.id
      answer = await stream.next()
    }
    t.match(
      answer,
      {
        type: 'error',
        code: 400,
        param,
        message: new RegExp(`^${param}: `),
        ...(id !== undefined && { id }),
      },
      what,
    )
  }
  stream.send({ type: 'track', id: 7, updates })
  await stream.upToAck(7)
  t.ok(acknowledged >= 4, 'frames that were refused whole are acknowledged too')
  stream.socket.send(Buffer.from('{"type":"ping"}'))
  t.strictSame(await stream.next(), { type: 'pong' }, 'JSON in a binary frame')
  await stream.close()

  const binary = await Stream.open(server, { encoding: 'msgpack' })
  binary.socket.send('{"type":"ping"}')
  t.match(await binary.closed, { code: 1003 }, 'text over a binary encoding')

  const large = await Stream.open(server)
  large.socket.send(`{"type":"ping","a":"${'x'.repeat(530_000)}"}`)
  t.match(await large.closed, { code: 1009, reason: /at most 524288 bytes/ }, 'a message over the limit')

  const larger = await Stream.open(server)
  larger.socket.send(`{"type":"ping","a":"${'x'.repeat(600_000)}"}`)
  t.match(await larger.closed, { code: 1006 }, 'a message far over the limit')

  const broken = await Stream.open(server)
  broken.socket.send(Buffer.from([0x22, 0xff, 0x22]), { binary: false })
  t.match(await broken.closed, { code: 1006 }, 'text that is not UTF-8')
})

t.test('busy: frames over the limit are sent again, in order, and nothing is lost or doubled', async (t) => {
  const stream = await Stream.open(server, { encoding: 'json' })
  const FRAMES = 60
  const frames = Array.from({ length: FRAMES }, (_, i) => ({
    type: 'track',
    id: i + 1,
    // Descriptions make the frame large. Each frame moves all devices to a different place.
    updates: Array.from({ length: 200 }, (_update, n) => ({
      deviceId: `busy ${n}`,
      latitude: 10 + i / 1000,
      longitude: 10,
      accuracy: 5,
      description: 'd'.repeat(1500),
    })),
  }))
  const before = await metric('updates_total')
  let busy = 0
  for (let acknowledged = 0; acknowledged < FRAMES;) {
    const waiting = new Set(frames.slice(acknowledged).map(({ id }) => id))
    for (const frame of frames.slice(acknowledged)) stream.send(frame)
    // Every frame must have its answer before any is sent again.
    while (waiting.size > 0) {
      const message = await stream.next()
      t.match(message, { type: /^(?:ack|busy)$/ })
      if (message.type === 'busy') {
        busy++
        waiting.delete(message.id)
      } else {
        acknowledged = message.id
        for (const id of waiting) if (id <= acknowledged) waiting.delete(id)
      }
    }
  }
  t.ok(busy > 0, `${busy} frames were answered busy`)
  t.equal((await metric('updates_total')) - before, FRAMES * 200, 'each update was applied once')
  const { body } = await server.api('GET', '/v1/users/busy%20199')
  t.same(body.user.location.coordinates, [10, 10 + (FRAMES - 1) / 1000], 'the last frame was the last')
  await stream.close()
})

t.test('a slow reader is told the reason and closed; others continue', async (t) => {
  const slow = await Stream.open(server)
  slow.socket.pause()
  const other = await Stream.open(server)
  const updates = Array.from({ length: 1000 }, () => ({ deviceId: 'd'.repeat(300) }))
  const before = await metric('stream_frames_total')
  const isClosed = async () => (await metric('stream_closed_total{code="4408"}')) > 0
  for (let round = 1; !(await isClosed()); round++) {
    for (let id = 10 * round - 9; id <= 10 * round; id++) slow.send({ type: 'track', id, updates })
    other.send({ type: 'track', id: round, updates: [inside('other')] })
    await other.upToAck(round)
    // On a busy machine some would otherwise be answered busy, and nothing more of it would be taken.
    await until(
      async () => (await metric('stream_frames_total')) === before + 11 * round || (await isClosed()),
    )
  }
  slow.socket.resume()
  t.match(await slow.closed, { code: 4408, reason: /does not read/ })
  other.send({ type: 'ping' })
  t.strictSame(await other.next(), { type: 'pong' })
  await other.close()
})

/** A stream of a server without sockets. */
function openFake(features: readonly StreamFeatureKind[] = []) {
  const state = { buffered: 0 }
  const streams = new StreamServer({
    senders: new Senders(),
    intake: { submit: () => undefined, hasRoom: true },
    features,
    keyWatch: { add: () => undefined, remove: () => undefined } as never,
    kept: roomy(),
    quotas: { take: () => undefined, giveBack: () => undefined },
    streamDeviceLimit: false,
    maxStreamsPerKey: 1,
    streamIdleSeconds: 120,
    maxBodyBytes: 1000,
    streamMessageBytes: 1_000_000,
    clock: systemClock,
    logger: { error: () => undefined } as never,
  })
  const socket: Socket = {
    send: () => 0,
    getBufferedAmount: () => state.buffered,
    end: (code) => connection.closed(code),
    close: () => undefined,
    cork: (send) => send(),
  }
  const connection = streams.open(socket, {
    credentials: { scope: 1, level: 'secret' } as never,
    ip: '127.0.0.1',
    fromSdk: false,
    protocol: 'ringfence.json',
    messageBytes: 1000,
  })
  const send = (message: object) => connection.message(Buffer.from(JSON.stringify(message)), false)
  return { streams, connection, state, send }
}

t.test('a frame whose error is one message too many for a slow reader does not stay in flight', async (t) => {
  const { streams, connection, state, send } = openFake()
  send({ type: 'ping' })
  state.buffered = 5_000_000
  send({ type: 'track', id: 1, updates: [] })
  t.equal(streams.counters.inFlight, 0)
  t.equal(streams.connections, 1, 'until it has read what comes before the reason, or its time is up')
  state.buffered = 0
  connection.drained()
  t.equal(streams.connections, 0)
  t.equal(streams.unreadBytes, 0)
  await streams.stop()
})

t.test('unread bytes are bounded for the streams of one key, and in total', async (t) => {
  const { streams } = openFake()
  const UNREAD = 4_000_000
  let cut = 0
  /** A stream whose client reads nothing. */
  const stalled = (keyId: string) => {
    const socket: Socket = {
      send: () => 0,
      getBufferedAmount: () => UNREAD,
      end: () => t.fail('a close frame would wait behind what is not read'),
      close() {
        cut++
        connection.closed(1006)
      },
      cork: (send) => send(),
    }
    const connection = streams.open(socket, {
      credentials: { scope: 1, level: 'publishable', keyId },
      ip: '127.0.0.1',
      fromSdk: false,
      protocol: 'ringfence.json',
      messageBytes: 1000,
    })
    connection.message(Buffer.from('{"type":"ping"}'), false)
  }
  for (let i = 0; i < 20; i++) stalled('one')
  t.equal(cut, 4, '16 of them fit 64 MiB')
  for (let i = 0; i < 20; i++) stalled('other')
  t.equal(cut, 4 + 4, 'another key has as much')
  for (let i = 0; i < 5; i++) stalled('third')
  t.equal(cut, 8 + 4, 'all have 128 MiB together')
  t.equal(streams.unreadBytes, 33 * UNREAD)
})

t.test('the room that a slow reader makes is not always used by the same stream', async (t) => {
  const firsts = new Set<string>()
  let isFull = false
  const kindOf = (name: string): StreamFeatureKind => ({
    messages: { [name]: Type.Object({}) },
    names: 'watch',
    open: () => ({
      receive: () => undefined,
      drained() {
        if (!isFull) firsts.add(name)
        isFull = true
      },
      closed: () => undefined,
    }),
  })
  const { connection, send } = openFake([kindOf('a'), kindOf('b'), kindOf('c')])
  for (const type of ['b', 'a', 'c']) send({ type })
  for (let i = 0; i < 3; i++) {
    isFull = false
    connection.drained()
    await new Promise((resolve) => setImmediate(resolve))
  }
  t.same([...firsts], ['b', 'a', 'c'])
})

t.test('metrics', async (t) => {
  // A closed connection counts until the server has noticed it.
  let text = ''
  await until(async () => {
    text = (await server.api('GET', '/metrics')).body as string
    return /^ringfence_stream_connections 0$/m.test(text)
  })
  for (const name of [
    'connections',
    'frames_total',
    'updates_total',
    'errors_total',
    'busy_total',
    'frames_in_flight',
  ])
    t.match(text, new RegExp(`^ringfence_stream_${name} \\d`, 'm'))
  t.match(text, /^ringfence_stream_connections 0$/m, 'all have gone')
  t.match(text, /^ringfence_stream_closed_total\{code="4408"\} 1$/m)
  t.match(text, /^ringfence_stream_frames_in_flight 0$/m)
})

t.test('a client without a sign of life is closed', async (t) => {
  const isOpen = async () =>
    /^ringfence_stream_connections 1$/m.test((await impatient.api('GET', '/metrics')).body as string)
  while (await isOpen()) await sleep(100)
  silent.socket.resume()
  t.match(await silent.closed, { code: 1006 })
})

t.test('a key that is rotated ends its streams', async (t) => {
  const stream = await Stream.open(server, { key: KEYS.livePublishable })
  await server.api('POST', '/v1/keys/publishable/rotate', undefined, KEYS.liveSecret)
  t.match(await stream.closed, { code: 4401 })
})

t.test('a shutdown acknowledges accepted updates, and sends a close frame', async (t) => {
  const stream = await Stream.open(server)
  for (let id = 1; id <= 50; id++) stream.send({ type: 'track', id, updates: [inside(`drain ${id}`)] })
  await stream.next()
  const stopped = server.stop()
  t.match(await stream.closed, { code: 1001 })
  await stopped
  const last = stream.inbox.findLast(({ type }) => type === 'ack')?.id ?? 1
  await server.restart()
  const { body } = await server.api('GET', '/v1/users?limit=1000')
  const count = body.users.filter(({ deviceId }: Message) => deviceId.startsWith('drain')).length
  t.equal(count, last, 'acknowledged and applied are the same')
})

/** 0 if there is no metric with that name. */
async function metric(name: string): Promise<number> {
  const text = (await server.api('GET', '/metrics')).body as string
  const line = text.split('\n').find((candidate) => candidate.startsWith(`ringfence_${name} `))
  return Number(line?.split(' ')[1] ?? 0)
}
