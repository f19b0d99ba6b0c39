/** The generators of streams and of stream readers against servers that record what they received and sent. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Packr } from 'msgpackr'
import protobuf from 'protobufjs'
import t, { type Test } from 'tap'
import { WebSocketServer, type WebSocket } from 'ws'
import type { FanoutCommand, FanoutResult } from '../../bench/load/fanoutGenerator.ts'
import { startLineChild } from '../../bench/load/lineChild.ts'
import { PROTO_FILE } from '../../bench/load/servers.ts'
import { ENCODINGS, type Encoding } from '../../bench/load/streamFrames.ts'
import { startStreamGenerator } from '../../bench/load/streamLoad.ts'
import { RecordFile } from '../../bench/load/workload.ts'

interface Frame {
  readonly id: number
  readonly events?: boolean
  readonly updates: readonly { readonly deviceId: string; readonly latitude: number }[]
}

const root = protobuf.loadSync(PROTO_FILE)
const ClientMessage = root.lookupType('ringfence.v1.ClientMessage')
const ServerMessage = root.lookupType('ringfence.v1.ServerMessage')
const packr = new Packr({ useRecords: false, variableMapSize: true })

function decode(encoding: Encoding, bytes: Buffer): Frame {
  if (encoding === 'json') return JSON.parse(bytes.toString()) as Frame
  if (encoding === 'msgpack') return packr.unpack(bytes) as Frame
  return (ClientMessage.toObject(ClientMessage.decode(bytes), { longs: Number }) as { track: Frame }).track
}

function ack(encoding: Encoding, id: number, events: string[] | undefined): string | Uint8Array {
  if (encoding === 'json')
    return `{"type":"ack","id":${id}${events === undefined ? '' : `,"events":[${events.join()}]`}}`
  if (encoding === 'msgpack') return packr.pack({ type: 'ack', id, ...(events && { events }) })
  const items = events && { items: events.map((json) => ({ json })) }
  return ServerMessage.encode({ ack: { id, ...(items && { events: items }) } }).finish()
}

async function startServer(t: Test, answer: (socket: WebSocket, encoding: Encoding, frame: Frame) => void) {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  await once(server, 'listening')
  t.teardown(() => server.close())
  const frames: Frame[][] = []
  server.on('connection', (socket) => {
    const own: Frame[] = []
    frames.push(own)
    const encoding = socket.protocol.replace('ringfence.', '') as Encoding
    socket.on('message', (data: Buffer) => {
      const frame = decode(encoding, data)
      own.push(frame)
      answer(socket, encoding, frame)
    })
  })
  return { port: (server.address() as AddressInfo).port, frames }
}

const DEVICES = 8
const ROUNDS = 3
const PER_FRAME = 4

/** Three rounds, identified by the latitude. */
async function startGenerator(t: Test) {
  const folder = mkdtempSync(join(tmpdir(), 'ringfence-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'updates')
  const file = new RecordFile(path)
  for (let i = 0; i < DEVICES * ROUNDS; i++)
    file.add(JSON.stringify({ deviceId: `d${i % DEVICES}`, latitude: Math.floor(i / DEVICES), longitude: 0 }))
  file.close()
  const generator = await startStreamGenerator(path, DEVICES * ROUNDS)
  t.teardown(() => generator.stop())
  return generator
}

const SESSION = { key: 'k', updatesPerFrame: PER_FRAME, updatesPerRound: DEVICES }

t.test('frames of all encodings, forward and back through the rounds', async (t) => {
  const generator = await startGenerator(t)
  for (const encoding of ENCODINGS) {
    for (const events of [false, true]) {
      const server = await startServer(t, (socket, _encoding, { id }) => {
        // Acknowledges two at a time if no events are requested. With many events the message has a longer header.
        const list = events ? [JSON.stringify({ text: 'x'.repeat(40 * id) })] : undefined
        if (events || id % 2 === 0) socket.send(ack(encoding, id, list))
      })
      const session = await generator.open({
        ...SESSION,
        port: server.port,
        encoding,
        connections: 1,
        events,
      })
      const counts = { rate: 0, count: 40, maxLagMs: 1000 }
      const first = await session.run(counts)
      const second = await session.run({ ...counts, rate: 2000 })
      await session.close()
      for (const { sent, ok, unsent, problems, problem } of [first, second])
        t.strictSame(
          { sent, ok, unsent, problems },
          { sent: 40, ok: 40, unsent: 0, problems: 0 },
          problem ?? '',
        )
      t.ok(second.latencyMs.p50 > 0 && second.latencyMs.p50 <= second.latencyMs.max)
      const frames = server.frames[0]!
      t.strictSame(
        frames.map(({ id }) => id),
        Array.from({ length: 20 }, (_, i) => i + 1),
        `${encoding}: numbers go on over runs`,
      )
      t.strictSame(
        frames.map(({ updates }) => updates[0]!.latitude),
        [0, 0, 1, 1, 2, 2, 1, 1, 0, 0, 1, 1, 2, 2, 1, 1, 0, 0, 1, 1],
      )
      t.ok(frames.every((frame) => frame.updates.length === PER_FRAME && (frame.events ?? false) === events))
    }
  }
})

t.test('frames take turns over connections; unexpected messages are a problem', async (t) => {
  const generator = await startGenerator(t)
  const server = await startServer(t, (socket, encoding, { id }) => socket.send(ack(encoding, id, undefined)))
  const options = { ...SESSION, encoding: 'json', connections: 3, events: false } as const
  const session = await generator.open({ ...options, port: server.port })
  const result = await session.run({ rate: 1000, count: 36, maxLagMs: 1000 })
  t.equal(result.ok, 36)
  t.strictSame(
    server.frames.map((frames) => frames.length),
    [3, 3, 3],
  )
  await session.close()

  const busy = await startServer(t, (socket, encoding, { id }) =>
    socket.send(id < 3 ? ack(encoding, id, undefined) : '{"type":"busy","id":3,"retryAfter":1}'),
  )
  const refused = await generator.open({ ...options, port: busy.port, connections: 1 })
  const outcome = await refused.run({ rate: 1000, count: 400, maxLagMs: 1000 })
  t.equal(outcome.ok, 2 * PER_FRAME)
  t.ok(outcome.problems > 0 && outcome.unsent > 0)
  t.match(outcome.problem, 'busy')

  const silent = await startServer(t, (socket, encoding, { id }) => {
    if (id < 5) socket.send(ack(encoding, id, undefined))
    else socket.close(4408, 'slow')
  })
  const cut = await generator.open({ ...options, port: silent.port, connections: 1 })
  const lost = await cut.run({ rate: 1000, count: 400, maxLagMs: 1000 })
  t.equal(lost.ok, 4 * PER_FRAME)
  t.equal(lost.problem, 'closed with 4408: slow')
})

t.test('readers find every event, in whatever pieces it comes', async (t) => {
  const readers = new Set<(text: string) => void>()
  const http = createHttpServer(({ socket }) => {
    let sent = Promise.resolve()
    const piece = async (bytes: string) => {
      socket.write(bytes)
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    socket.setNoDelay(true).write('HTTP/1.1 200 OK\r\n\r\n: connected\n\n')
    // Split in the middle of the id.
    readers.add(
      (text) => (sent = sent.then(() => piece(text.slice(0, 12))).then(() => piece(text.slice(12)))),
    )
  })
  http.on('upgrade', (request, socket, head) => sockets.handleUpgrade(request, socket, head, take))
  const sockets = new WebSocketServer({ noServer: true })
  const take = (socket: WebSocket): void => {
    socket.on('message', (data: Buffer) => {
      const { updates } = decode('json', data)
      for (const { deviceId } of updates) for (const send of readers) send(`data: "${deviceId}"\n\n`)
    })
  }
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  t.teardown(() => {
    http.closeAllConnections()
    http.close()
  })
  const generator = await startLineChild<FanoutCommand>('fanoutGenerator.ts', [])
  t.teardown(() => generator.stop())
  const { port } = http.address() as AddressInfo
  await generator.ask({ do: 'connect', port, key: 'k' })
  await generator.ask({ do: 'read', transport: 'sse', count: 7, filtered: false })
  const result = await generator.ask<FanoutResult>({ do: 'run', rate: 300, seconds: 0.5 })
  t.equal(result.events, 150)
  t.equal(result.expected, 7 * 150)
  t.equal(result.delivered, 7 * 150)
  t.ok(result.latencyMs.p50 > 0)
})
