/**
 * Streams that flood the device actors, without sockets: how many updates are applied before that of a request, in
 * commit order.
 */
import { Senders } from '../../src/wire/senders.ts'
import t from 'tap'
import type { Socket } from '../../src/http/socket.ts'
import type { Submitter } from '../../src/actor/port.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { MessageBuffers } from '../../src/stream/messageBuffers.ts'
import { StreamServer } from '../../src/stream/streamServer.ts'
import { Engine } from '../actor/kit.ts'
import { slowly } from '../kit/turns.ts'
import { decode, encode, ENCODINGS, type Encoding } from '../kit/stream.ts'
import { roomy } from './fakeConnection.ts'

const FRAME = 1000
const MESSAGE_BYTES = 1024 * 1024

function serverOf(engine: Engine): StreamServer {
  return new StreamServer({
    senders: new Senders(),
    intake: engine.host,
    features: [],
    keyWatch: { add: () => undefined, remove: () => undefined } as never,
    kept: roomy(),
    quotas: { take: () => undefined, giveBack: () => undefined },
    streamDeviceLimit: false,
    maxStreamsPerKey: 100,
    streamIdleSeconds: 120,
    maxBodyBytes: MESSAGE_BYTES,
    streamMessageBytes: 1_000_000_000,
    clock: systemClock,
    logger: { error: (fields: { err?: unknown }) => t.fail('an error', fields) } as never,
  })
}

/** A stream of a server, and the answers that it received. */
function open(streams: StreamServer, encoding: Encoding = 'json', keyId = 'key') {
  const answers: { type: string; id: number }[] = []
  const state = { closed: 0 }
  const socket: Socket = {
    send: (text) => {
      answers.push(encoding === 'json' ? JSON.parse(text as string) : text)
      return 1
    },
    getBufferedAmount: () => 0,
    end: (code) => {
      state.closed = code
      connection.closed(code)
    },
    close: () => undefined,
    cork: (send) => send(),
  }
  const connection = streams.open(socket, {
    credentials: { scope: 1, level: 'publishable', keyId },
    ip: '127.0.0.1',
    fromSdk: false,
    protocol: `ringfence.${encoding}`,
    messageBytes: MESSAGE_BYTES,
  })
  const send = (message: { type: string; [name: string]: unknown }) => {
    const bytes = encode(encoding, message)
    connection.message(typeof bytes === 'string' ? Buffer.from(bytes) : bytes, encoding !== 'json')
  }
  return { connection, answers, state, send }
}

const frameOf = (id: number, name: string, more: object = {}) => ({
  type: 'track',
  id,
  updates: Array.from({ length: FRAME }, (_, i) => ({
    deviceId: `${name}-${i}`,
    latitude: 10 + id / 1000,
    longitude: 10,
    accuracy: 5,
    ...more,
  })),
})

/** A submitter that counts how many updates of others were applied before its own. */
function normal(engine: Engine): Submitter & { readonly before: Promise<number> } {
  const began = engine.host.counters.updates
  let resolve: (before: number) => void
  const before = new Promise<number>((done) => (resolve = done))
  return {
    rateLimited: false,
    wantsUser: true,
    wantsEvents: true,
    isBehind: false,
    before,
    applied: () => resolve(engine.host.counters.updates - began - 1),
    refused: (error) => t.fail('refused', { error }),
  }
}

t.test('few updates of floods are applied before a track by HTTP', async (t) => {
  const engine = new Engine({ partitions: 8 })
  const streams = serverOf(engine)
  const floods = Array.from({ length: 6 }, (_, i) => open(streams, 'json', i < 3 ? 'one' : 'other'))
  const next = floods.map(() => 1)
  /** All clients send what they have, again and again, and follow the answers. */
  const press = () => {
    for (const [i, { answers, send }] of floods.entries()) {
      for (const { type, id } of answers.splice(0)) if (type === 'busy') next[i] = Math.min(next[i]!, id)
      for (let n = 0; n < 40; n++) send(frameOf(next[i]!++, `flood-${i}`, { description: 'd'.repeat(50) }))
    }
  }
  const seen: number[] = []
  for (let round = 0; round < 5; round++) {
    press()
    t.ok(streams.waitingBytes <= 6 * 4 * 1024 * 1024, 'what waits is bounded')
    const track = normal(engine)
    engine.host.submitOne(
      engine.update({ deviceId: `normal-${round}`, latitude: 1, longitude: 1 }),
      100,
      track,
    )
    seen.push(await track.before)
  }
  // As much as the actors take in a batch or two, and a frame. The mailbox alone has room for a hundred thousand.
  t.ok(Math.max(...seen) <= 10_000, `${seen} updates went before`)
  t.ok(floods.every(({ state }) => state.closed === 0))
  for (const { connection } of floods) connection.close(1000, '')
  await engine.host.drained()
  t.equal(streams.waitingBytes, 0)
})

t.test('a stream that sends little is served before the waiting messages of floods', async (t) => {
  const engine = new Engine({ partitions: 8 })
  const streams = serverOf(engine)
  const floods = Array.from({ length: 6 }, () => open(streams))
  for (const [i, { send }] of floods.entries())
    for (let id = 1; id <= 20; id++) send(frameOf(id, `flood-${i}`))
  const quiet = open(streams)
  quiet.send({
    type: 'track',
    id: 1,
    updates: [{ deviceId: 'quiet', latitude: 1, longitude: 1, accuracy: 5 }],
  })
  t.ok(streams.waitingBytes > 0, 'it waits as they do')
  while (quiet.answers.length === 0) await new Promise((resolve) => setImmediate(resolve))
  t.strictSame(quiet.answers, [{ type: 'ack', id: 1 }])
  const { updates } = engine.host.counters
  t.ok(updates <= 40_000, `${updates} of 120,000 updates of the floods are through`)
  for (const { connection } of [...floods, quiet]) connection.close(1000, '')
  await engine.host.drained()
})

t.test('a turn sets aside a few megabytes of floods, and refuses none who sends little', async (t) => {
  const engine = new Engine({ partitions: 8 })
  const streams = serverOf(engine)
  const floods = Array.from({ length: 6 }, () => open(streams))
  for (const [i, { send }] of floods.entries())
    for (let id = 1; id <= 40; id++) send(frameOf(id, `flood-${i}`))
  const FRAME_BYTES = JSON.stringify(frameOf(1, 'flood-0')).length
  const waiting = streams.waitingBytes
  t.ok(waiting > 4 * 1024 * 1024, `${waiting} bytes wait`)
  const most = 4 * 1024 * 1024 + 6 * (256 * 1024 + 2 * FRAME_BYTES)
  t.ok(waiting <= most, `${waiting} bytes wait, of ${6 * 40 * FRAME_BYTES} that came in one turn`)
  const quiet = open(streams)
  for (const id of [1, 2, 3])
    quiet.send({
      type: 'track',
      id,
      updates: [{ deviceId: `quiet-${id}`, latitude: 1, longitude: 1, accuracy: 5 }],
    })
  while (quiet.answers.at(-1)?.id !== 3) await new Promise((resolve) => setImmediate(resolve))
  t.ok(
    quiet.answers.every(({ type }) => type === 'ack'),
    'nothing of the others is refused',
  )
  for (const { connection } of [...floods, quiet]) connection.close(1000, '')
  await engine.host.drained()
  t.equal(streams.waitingBytes, 0)
})

t.test('frames behind a refused one are refused until it has come again, and again if it was', async (t) => {
  const engine = new Engine({ partitions: 8 })
  const streams = serverOf(engine)
  const { answers, send, state } = open(streams)
  const long = { description: 'x'.repeat(800) }
  let refused = 0
  for (let id = 1; refused === 0; id++) {
    send(frameOf(id, 'd', long))
    refused = answers.find(({ type }) => type === 'busy')?.id ?? 0
  }
  t.ok(streams.waitingBytes > 0)
  // There is room for a short frame, but its turn is after the refused one.
  send(frameOf(refused + 1, 'd'))
  t.match(answers.splice(0).at(-1), { type: 'busy', id: refused + 1 })
  // The refused one comes again as a short one, and the next one has no room.
  send(frameOf(refused, 'd'))
  for (let id = refused + 1; answers.length === 0; id++) send(frameOf(id, 'd', long))
  const again = answers.splice(0).at(-1)!
  t.match(again, { type: 'busy' })
  send(frameOf(again.id + 1, 'd'))
  t.match(answers.splice(0).at(-1), { type: 'busy', id: again.id + 1 })
  await engine.host.drained()
  while (streams.waitingBytes > 0) await new Promise((resolve) => setImmediate(resolve))
  for (const id of [again.id, again.id + 1]) send(frameOf(id, 'd'))
  while (answers.at(-1)?.id !== again.id + 1) await new Promise((resolve) => setImmediate(resolve))
  t.ok(
    answers.every(({ type }) => type === 'ack'),
    'each frame in its order, and none is an error',
  )
  t.equal(engine.host.counters.updates, (again.id + 1) * FRAME, 'each update once')
  t.equal(state.closed, 0)
})

t.test('memory of waiting messages is used again', (t) => {
  const buffers = new MessageBuffers()
  const message = (length: number, fill: number) => new Uint8Array(length).fill(fill)
  const first = buffers.copy(message(100_000, 1))
  t.strictSame(Uint8Array.from(first), message(100_000, 1))
  buffers.release(first)
  t.ok(buffers.freeBytes >= 100_000)
  const second = buffers.copy(message(99_000, 2))
  t.equal(second.buffer, first.buffer)
  t.strictSame(Uint8Array.from(second), message(99_000, 2))
  t.equal(buffers.freeBytes, 0)
  const third = buffers.copy(message(99_000, 3))
  t.not(third.buffer, second.buffer, 'nobody else uses it meanwhile')
  t.strictSame(Uint8Array.from(second), message(99_000, 2))
  let most = 0
  const copies = Array.from({ length: 300 }, (_, i) => buffers.copy(message(20_000 + 3000 * i, i % 256)))
  for (const [i, copy] of copies.entries()) {
    if (copy[0] !== i % 256 || copy.length !== 20_000 + 3000 * i) t.fail('a copy is not its message')
    buffers.release(copy)
    most = Math.max(most, buffers.freeBytes)
  }
  t.ok(most <= 16 * 1024 * 1024, `${most} bytes are kept`)
  const small = buffers.copy(message(100, 4))
  const { freeBytes } = buffers
  buffers.release(small)
  t.equal(buffers.freeBytes, freeBytes, 'small ones share their memory')
  t.end()
})

for (const encoding of ENCODINGS) {
  t.test(`${encoding}: frames without room are refused unread, and come again in order`, async (t) => {
    const engine = new Engine({ partitions: 8 })
    const streams = serverOf(engine)
    const decoded: { type: string; id: number }[] = []
    const stream = open(streams, encoding)
    const take = () => {
      for (const answer of stream.answers.splice(0))
        decoded.push(encoding === 'json' ? answer : decode(encoding, Buffer.from(answer as never)))
    }
    const FRAMES = 40
    let acknowledged = 0
    let busy = 0
    while (acknowledged < FRAMES) {
      const sent = new Set<number>()
      for (let id = acknowledged + 1; id <= FRAMES; id++) {
        sent.add(id)
        stream.send(frameOf(id, 'd', { description: 'x'.repeat(200) }))
      }
      while (sent.size > 0) {
        await new Promise((resolve) => setImmediate(resolve))
        take()
        for (const { type, id } of decoded.splice(0)) {
          if (type === 'busy') {
            busy++
            sent.delete(Number(id))
          } else {
            t.equal(type, 'ack')
            acknowledged = Number(id)
            for (const one of sent) if (one <= acknowledged) sent.delete(one)
          }
        }
      }
    }
    t.ok(busy > 0, `${busy} frames were refused`)
    t.equal(engine.host.counters.updates, FRAMES * FRAME, 'each update once')
    t.equal(stream.state.closed, 0)
  })
}

t.test('a message without a visible id, for which there is no room, ends the stream', async (t) => {
  const engine = new Engine({ partitions: 8 })
  const streams = serverOf(engine)
  const stream = open(streams)
  for (let id = 1; id <= 60 && stream.state.closed === 0; id++) {
    const { type, updates } = frameOf(id, 'd', { description: 'x'.repeat(200) })
    stream.send({ updates, id, type } as never)
  }
  t.equal(stream.state.closed, 1013)
  t.equal(streams.waitingBytes, 0)
  await engine.host.drained()
})

for (const encoding of ENCODINGS) {
  t.test(`${encoding}: tiny messages of one stream are read in many turns`, async (t) => {
    const engine = new Engine({ partitions: 8 })
    const streams = serverOf(engine)
    const { connection, answers, state } = open(streams, encoding)
    // Half a megabyte of data contains 80,000 messages of one byte. Each is answered with an error.
    const COUNT = 8000
    for (let i = 0; i < COUNT; i++) connection.message(Uint8Array.of(0x78), encoding !== 'json')
    let most = answers.length
    let before = most
    for (let turn = 0; turn < COUNT && answers.length < COUNT; turn++) {
      await new Promise((resolve) => setImmediate(resolve))
      most = Math.max(most, answers.length - before)
      before = answers.length
    }
    t.equal(answers.length, COUNT, 'each is answered')
    t.ok(most <= 1100, `${most} were read in one turn`)
    t.equal(state.closed, 0)
    t.equal(streams.waitingBytes, 0)
  })
}

t.test('of a single stream, one turn takes some thousands of messages, and closes it', async (t) => {
  const engine = new Engine({ partitions: 8 })
  const streams = serverOf(engine)
  const flood = open(streams)
  const other = open(streams, 'json', 'other')
  const tiny = Uint8Array.of(0x78)
  let sent = 0
  for (; flood.state.closed === 0 && sent < 80_000; sent++) flood.connection.message(tiny, false)
  t.equal(flood.state.closed, 1013)
  t.ok(sent > 8000 && sent <= 8100, `${sent} messages were taken`)
  for (let i = 0; i < 5000; i++) other.connection.message(tiny, false)
  t.equal(other.state.closed, 0, 'as many as half a megabyte has of short updates')
  while (streams.waitingBytes > 0) await new Promise((resolve) => setImmediate(resolve))
  t.equal(other.answers.length, 5000)
})

t.test('of a flood of tiny messages, one turn takes some thousands, and closes who sends them', async (t) => {
  const engine = new Engine({ partitions: 8 })
  const streams = serverOf(engine)
  const floods = Array.from({ length: 50 }, (_, i) => open(streams, 'json', `key ${i}`))
  const sparing = open(streams, 'json', 'sparing')
  const tiny = Uint8Array.of(0x78)
  let sent = 0
  while (floods.some(({ state }) => state.closed === 0)) {
    for (const { connection } of floods) connection.message(tiny, false)
    sent += floods.length
  }
  t.ok(sent >= 20_000 && sent <= 21_000, `${sent} messages were taken`)
  t.ok(
    floods.every(({ state }) => state.closed === 1013),
    'they are to try again later',
  )
  for (let i = 0; i < 200; i++) sparing.connection.message(tiny, false)
  t.equal(sparing.state.closed, 0, 'who sends little is not closed')
  await new Promise((resolve) => setImmediate(resolve))
  const later = open(streams, 'json', 'later')
  for (let i = 0; i < 5000; i++) later.connection.message(tiny, false)
  t.equal(later.state.closed, 0, 'the next turn counts anew')
  while (streams.waitingBytes > 0) await new Promise((resolve) => setImmediate(resolve))
  t.equal(sparing.answers.length, 200)
  t.equal(later.answers.length, 5000)
})

t.test('messages that take long are read in turns, however few bytes they have', async (t) => {
  const stream = open(serverOf(new Engine({ partitions: 1 })))
  slowly(t)
  const COUNT = 600
  // Twice as many as have 64 KiB with what even the smallest message counts.
  const most = 2 * Math.ceil((64 * 1024) / 512)
  for (let i = 0; i < COUNT; i++) stream.send({ type: 'ping' })
  t.ok(stream.answers.length > 0 && stream.answers.length <= most, `${stream.answers.length} at once`)
  while (stream.answers.length < COUNT) {
    const before = stream.answers.length
    await new Promise((resolve) => setImmediate(resolve))
    t.ok(stream.answers.length - before <= most, `${stream.answers.length - before} in one turn`)
  }
})
