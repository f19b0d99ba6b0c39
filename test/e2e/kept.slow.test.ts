/**
 * The memory that clients can make the server use is bounded per connection, per key and in total, and a refusal
 * names the bound (issue 12; docs/operating.md, "What is kept for clients").
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { EventSource } from '../kit/eventSource.ts'
import { KEYS, startServer, type Server } from '../kit/server.ts'
import { encode, ENCODINGS, Stream, type Encoding, type Refused } from '../kit/stream.ts'

const MIB = 1024 * 1024

async function metric(server: Server, name: string): Promise<number> {
  const { body } = await server.api('GET', '/metrics')
  return Number(new RegExp(`^ringfence_${name} (.*)$`, 'm').exec(body as string)?.[1] ?? 0)
}

/** Waits until the metric has the value, because a closed connection counts until the server has noticed it. */
async function becomes(server: Server, name: string, value: number): Promise<void> {
  while ((await metric(server, name)) !== value) await sleep(20)
}

/** Resident bytes of a process. */
function residentBytes(pid: number): number {
  return Number(/^VmRSS:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]) * 1024
}

/** A filter with many texts that all differ. */
function filterOf(items: number, length: number, salt: string) {
  return { deviceIds: Array.from({ length: items }, (_, i) => `${salt}-${i}-`.padEnd(length, 'x')) }
}

/** The answer to one more subscription, or undefined if it was accepted. */
async function subscribe(stream: Stream, id: string, filter: object) {
  stream.send({ type: 'subscribe', id, filter })
  const answer = await stream.next()
  return answer.type === 'error' ? answer : undefined
}

t.test('users and their metadata: the limits of an environment and in total', async (t) => {
  const server = await startServer(t, {
    env: { RINGFENCE_DEVICE_BYTES: String(2 * MIB), RINGFENCE_PARTITIONS: '1' },
  })
  const metadata = Object.fromEntries(Array.from({ length: 32 }, (_, i) => [`k${i}`, 'x'.repeat(4000)]))
  let count = 0
  const track = (deviceId: string, more: object, key: string = KEYS.testPublishable) => {
    const body = { deviceId, latitude: 1, longitude: (count++ % 100) / 100, accuracy: 5, ...more }
    return server.api('POST', '/v1/track', body, key)
  }
  const fill = async (key: string) => {
    for (let i = 0; ; i++) {
      const { status, body } = await track(`d${i}`, { metadata }, key)
      if (status !== 200) return { users: i, meta: body.meta }
    }
  }
  t.equal((await track('small', {})).status, 200)
  const first = await fill(KEYS.testPublishable)
  t.match(first, { users: 9, meta: { code: 429, param: 'deviceId', message: /deviceBytes/ } })
  t.equal((await track('d0', {})).status, 200, 'known users are tracked')
  t.equal((await track('d0', { metadata })).status, 200, 'with the same metadata, too')
  t.equal((await track('small', { metadata: { seat: 5 } })).status, 200, 'and with a little')
  t.match((await track('small', { metadata })).body.meta, { code: 429, param: 'metadata' })
  t.equal((await server.api('GET', '/v1/users/d3')).body.user.metadata.k31, metadata['k31'])
  t.equal((await fill(KEYS.livePublishable)).users, 8, 'the other environment has room for half')
  t.ok((await metric(server, 'user_bytes')) > 2 * MIB)
  t.equal(await metric(server, 'user_limit_bytes'), 2 * MIB)

  const stream = await Stream.open(server, { key: KEYS.testPublishable })
  const place = { latitude: 1, longitude: 1, accuracy: 5 }
  stream.send({
    type: 'track',
    id: 1,
    updates: [
      { deviceId: 'd1', ...place },
      { deviceId: 'new', ...place },
    ],
  })
  t.match(await stream.next(), { type: 'error', id: 1, index: 1, code: 429, param: 'deviceId' })
  t.match(await stream.next(), { type: 'ack', id: 1 })
  stream.socket.terminate()

  await server.kill9()
  await server.restart()
  t.equal((await track('new', {})).status, 429, 'a start counts them again')
  t.equal((await track('d1', {})).status, 200)
  for (const id of ['d1', 'd2']) t.equal((await server.api('DELETE', `/v1/users/${id}`)).status, 200)
  t.equal((await track('new', { metadata })).status, 200, 'deleting users makes room')
})

t.test('filters: the limits of a connection, of a key and in total', async (t) => {
  const server = await startServer(t, { env: { RINGFENCE_SUBSCRIPTION_BYTES: String(MIB) } })
  const streams: Stream[] = []
  /** Opens connections with the key and fills each until it is refused. Returns the refusal of the last. */
  const fill = async (key: string) => {
    for (;;) {
      const stream = await Stream.open(server, { key })
      streams.push(stream)
      for (let i = 0; ; i++) {
        const refusal = await subscribe(stream, `s${i}`, { deviceIds: [`d${i}`] })
        if (refusal === undefined) continue
        if (refusal.code !== 400) return refusal
        if (
          i === 0 ||
          refusal.param !== 'filter' ||
          !/one connection may take 16384 bytes/.test(refusal.message)
        )
          t.fail('a refusal of a connection that is full', refusal)
        break
      }
    }
  }
  const ofKey = await fill(KEYS.testPublishable)
  t.match(ofKey, { code: 429, message: /all connections with one key may take 524288 bytes/, retryAfter: 60 })
  const other = await Stream.open(server, { key: KEYS.livePublishable })
  t.equal(await subscribe(other, 'a', { deviceIds: ['d'] }), undefined, 'another key has room')
  streams.push(other)
  await fill(KEYS.testSecret)
  const ofAll = await fill(KEYS.liveSecret)
  t.match(ofAll, { code: 503, message: /all clients together may take 1048576 bytes/ })

  const source = await EventSource.open(server, { key: KEYS.liveSecret })
  t.equal(source.status, 503, 'server-sent events count too')
  streams[0]!.send({ type: 'unsubscribe', id: 's0' })
  t.match(await streams[0]!.next(), { type: 'unsubscribed' })
  t.equal(await subscribe(streams[0]!, 'again', { deviceIds: ['d'] }), undefined, 'what was given up is free')
  await Promise.all(streams.map((stream) => stream.close()))
  await becomes(server, 'stream_connections', 0)
  t.equal(await metric(server, 'subscription_bytes'), 0)
  const later = await EventSource.open(server)
  t.equal(later.status, 200)
  later.hangUp()
  await becomes(server, 'subscription_bytes', 0)
})

t.test('areas: polygons count by their corners', async (t) => {
  const server = await startServer(t, { env: { RINGFENCE_SUBSCRIPTION_BYTES: String(16 * MIB) } })
  const stream = await Stream.open(server)
  const ring = Array.from({ length: 2000 }, (_, i) => {
    const angle = (2 * Math.PI * i) / 1999
    return [Math.cos(angle), Math.sin(angle)]
  })
  ring[1999] = ring[0]!
  let refused
  for (let i = 0; refused === undefined; i++) {
    stream.send({ type: 'watch', id: `w${i}`, area: { type: 'polygon', coordinates: [ring] } })
    const answer = await stream.next()
    if (answer.type === 'error') refused = { i, ...answer }
  }
  t.match(refused, { code: 400, param: 'area', message: /one connection may take 262144 bytes/ })
  t.equal(refused.i, 1, 'there is room for one')
  stream.send({ type: 'unwatch', id: 'w0' })
  await stream.next()
  t.equal(await metric(server, 'subscription_bytes'), 0)
  await stream.close()
})

t.test('searches for the place of a subscription count until they end', async (t) => {
  const server = await startServer(t, { env: { RINGFENCE_SUBSCRIPTION_BYTES: String(MIB) } })
  const stream = await Stream.open(server)
  const unknown = '0'.repeat(24)
  for (let i = 0; i < 2000; i++) {
    stream.send({ type: 'subscribe', id: 'a', from: unknown })
    stream.send({ type: 'unsubscribe', id: 'a' })
  }
  stream.send({ type: 'ping' })
  let full = 0
  for (;;) {
    const answer = await stream.next()
    if (answer.type === 'pong') break
    if (/one connection may take/.test(answer.message ?? '')) full++
  }
  t.ok(full > 0, 'the queue of searches is bounded')
  await becomes(server, 'subscription_bytes', 0)
  await stream.close()
})

/** Connections that have sent the head of a request and a part of its body, each from the next of these addresses. */
async function halfSent(
  server: Server,
  count: number,
  { addresses, path, key, bytes }: { addresses: number; path: string; key: string; bytes: number },
): Promise<Socket[]> {
  const type = path.includes('imports') ? 'text/csv' : 'application/json'
  const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${key}\r\nContent-Type: ${type}\r\nContent-Length: 1000000\r\n\r\n`
  return Promise.all(
    Array.from({ length: count }, async (_, i) => {
      const localAddress = `127.0.0.${2 + (i % addresses)}`
      const socket = connect({ port: server.port, host: '127.0.0.1', localAddress })
      socket.on('error', () => undefined).resume()
      await once(socket, 'connect')
      socket.write(head + ' '.repeat(bytes))
      return socket
    }),
  )
}

const CSV = 'tag,externalId,description,type,coordinates,radius\nshop,one,One,circle,"[7,50]",100\n'

const importOne = (server: Server) =>
  server.api('POST', '/v1/imports/geofences', CSV, KEYS.testSecret, { 'content-type': 'text/csv' })

t.test('old incomplete bodies give way to new ones', { skip: process.platform !== 'linux' }, async (t) => {
  const server = await startServer(t)
  t.match(await importOne(server), { status: 200, body: { import: { created: 1 } } })
  const held = async (attack: Parameters<typeof halfSent>[2], atLeast: number) => {
    const sockets = await halfSent(server, 80, attack)
    while ((await metric(server, 'http_held_bytes')) < atLeast) await sleep(20)
    // After this time they count as slow.
    await sleep(1100)
    return sockets
  }
  const track = { path: '/v1/track', key: KEYS.testPublishable, bytes: 990_000 }

  const ofOne = await held({ ...track, addresses: 1 }, 14 * MIB)
  t.ok((await metric(server, 'http_held_bytes')) <= 16 * MIB, 'one address has its bound')
  t.equal((await importOne(server)).status, 200, 'others have room')
  for (const socket of ofOne) socket.destroy()
  await becomes(server, 'http_held_bytes', 0)

  const ofMany = await held({ ...track, addresses: 8 }, 30 * MIB)
  t.ok((await metric(server, 'http_held_bytes')) <= 32 * MIB, 'one key has its bound')
  t.equal((await importOne(server)).status, 200, 'others have room')
  const long = { deviceId: 'slow', latitude: 50, longitude: 7, accuracy: 5, pad: ' '.repeat(900_000) }
  const tracked = await server.api('POST', '/v1/track', long, KEYS.testPublishable)
  t.equal(tracked.status, 200, 'the same key has room for who sends faster')
  t.ok((await metric(server, 'http_slow_bodies_total')) > 0)
  for (const socket of ofMany) socket.destroy()
  await becomes(server, 'http_held_bytes', 0)

  const imports = { path: '/v1/imports/geofences', key: KEYS.testSecret, bytes: 10, addresses: 8 }
  const uploads = await held(imports, 32 * MIB)
  for (let i = 0; i < 3; i++) t.equal((await importOne(server)).status, 200, 'imports of the same key go on')
  for (const socket of uploads) socket.destroy()
  await becomes(server, 'http_held_bytes', 0)
  t.equal(await metric(server, 'http_in_flight'), 1, 'the question itself')
})

/** A frame of a text message so long, without its last bytes, as masked by a client whose mask is 0. */
function halfFrame(length: number): Buffer {
  const frame = Buffer.alloc(14 + length - 8, 'x')
  frame.writeUInt8(0x81, 0)
  frame.writeUInt8(0x80 | 127, 1)
  frame.writeBigUInt64BE(BigInt(length), 2)
  frame.writeUInt32BE(0, 10)
  return frame
}

/** Opens a stream without a WebSocket library. */
async function rawStream(server: Server, key: string): Promise<{ socket: Socket; messageBytes: number }> {
  const socket = connect(server.port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(
    `GET /v1/stream HTTP/1.1\r\nHost: x\r\nAuthorization: ${key}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  )
  const [head] = (await once(socket, 'data')) as [Buffer]
  socket.resume()
  return {
    socket,
    messageBytes: Number(/\r\nRingfence-Max-Message-Bytes: (\d+)/.exec(head.toString('latin1'))?.[1]),
  }
}

t.test('half messages of streams', { skip: process.platform !== 'linux' }, async (t) => {
  const BYTES = 16 * MIB
  const STREAMS = 400
  const server = await startServer(t, { env: { RINGFENCE_STREAM_MESSAGE_BYTES: String(BYTES) } })
  const before = residentBytes(server.pid)
  const streams = []
  for (let i = 0; i < STREAMS; i++) {
    const { socket, messageBytes } = await rawStream(server, KEYS.testPublishable)
    socket.write(halfFrame(messageBytes))
    streams.push({ socket, messageBytes })
  }
  const usual = streams.filter(({ messageBytes }) => messageBytes === MIB).length
  t.equal(usual, Math.floor(BYTES / 2 / (MIB + 16 * 1024)), 'one key has half')
  t.ok(
    streams.slice(usual).every(({ messageBytes }) => messageBytes === 65_536),
    'later streams are small',
  )
  const counted = await metric(server, 'stream_arriving_bytes')
  t.equal(counted, usual * (MIB + 16_384) + (STREAMS - usual) * (65_536 + 16_384))
  // Everything has arrived once the server reads nothing more.
  for (let last = -1, now = 0; now !== last; await sleep(200)) [last, now] = [now, residentBytes(server.pid)]
  const grown = residentBytes(server.pid) - before
  t.comment(`${Math.round(grown / MIB)} MiB more are resident`)
  t.ok(
    grown < 2 * counted,
    `${Math.round(grown / MIB)} MiB more are resident; ${Math.round(counted / MIB)} are counted`,
  )

  const other = await rawStream(server, KEYS.livePublishable)
  t.equal(other.messageBytes, MIB, 'another key has room')
  other.socket.destroy()
  for (const { socket } of streams) socket.destroy()
  await becomes(server, 'stream_connections', 0)
  t.equal(await metric(server, 'stream_arriving_bytes'), 0)
})

t.test('a small stream works like any other, and is told what is too long', async (t) => {
  const server = await startServer(t, { env: { RINGFENCE_STREAM_MESSAGE_BYTES: String(MIB) } })
  const update = { latitude: 50, longitude: 7, accuracy: 5 }
  const updates = Array.from({ length: 500 }, (_, i) => ({ deviceId: `device-${i}`, ...update }))
  for (const encoding of ENCODINGS) {
    const stream = await Stream.open(server, { encoding })
    stream.send({ type: 'track', id: 1, updates })
    t.match(await stream.next(), { type: 'ack', id: 1 })
    stream.socket.send('x'.repeat(66_000))
    t.match(await stream.closed, { code: 1009, reason: /^A message of this stream has at most 65536 bytes/ })
  }
  const cut = await Stream.open(server)
  cut.socket.send('x'.repeat(90_000))
  t.match(await cut.closed, { code: 1006 })
  for (const path of ['/v1/stream', '/v1/streams', '/api/v1/stream', '/v1/users'])
    t.equal(
      (await server.api('GET', path)).status,
      path.endsWith('stream') ? 426 : path.endsWith('users') ? 200 : 404,
    )
  const api = await Stream.open({ url: `${server.url}/api` })
  api.send({ type: 'ping' })
  t.match(await api.next(), { type: 'pong' })
  const refusal = await Stream.open(server, { key: 'wrong' }).catch((error: Refused) => error)
  t.match(refusal, { status: 401 })
})

t.test(
  'a publishable key with filters of a megabyte on many streams',
  { skip: process.platform !== 'linux' },
  async (t) => {
    const BYTES = 32 * MIB
    const server = await startServer(t, { env: { RINGFENCE_SUBSCRIPTION_BYTES: String(BYTES) } })
    for (const encoding of ENCODINGS) {
      const before = residentBytes(server.pid)
      const streams = await subscribeMuch(server, encoding)
      const grown = residentBytes(server.pid) - before
      const counted = await metric(server, 'subscription_bytes')
      t.ok(counted > BYTES / 4 && counted <= BYTES / 2, `${encoding}: ${counted} bytes are counted`)
      t.comment(`${encoding}: ${Math.round(grown / MIB)} MiB more are resident`)
      t.ok(grown < 300 * MIB, `${encoding}: ${Math.round(grown / MIB)} MiB more are resident`)
      await Promise.all(streams.map((stream) => stream.close()))
      await becomes(server, 'stream_connections', 0)
    }
    t.equal(await metric(server, 'subscription_bytes'), 0)
  },
)

/** Forty streams that each request twenty filters of the largest size. */
async function subscribeMuch(server: Server, encoding: Encoding): Promise<Stream[]> {
  const streams = []
  for (let i = 0; i < 40; i++) {
    const stream = await Stream.open(server, { key: KEYS.testPublishable, encoding })
    streams.push(stream)
    // Large messages are refused completely; small ones fill the remaining room.
    for (const [items, length] of [
      [1000, 256],
      [100, 256],
      [10, 40],
    ] as const)
      for (let j = 0; j < 7; j++) {
        const message = {
          type: 'subscribe',
          id: `${items}-${j}`,
          filter: filterOf(items, length, `${i}-${j}`),
        }
        stream.socket.send(encode(encoding, message))
        await stream.next()
      }
  }
  return streams
}
