/**
 * Frames of WebSockets as no client library sends them: broken ones end the stream and nothing else, messages in pieces count as
 * whole ones, and who sends pings without reading the answers does not fill the memory.
 */
import t, { type Test } from 'tap'
import type { Socket } from '../../src/http/socket.ts'
import { KeyedBound } from '../../src/runtime/keyedBound.ts'
import { jsonCodec } from '../../src/stream/jsonCodec.ts'
import { StreamWriter } from '../../src/stream/streamWriter.ts'
import { startServer } from '../kit/server.ts'
import { until } from '../kit/waiting.ts'
import { fragments, frame, OPCODE, RawStream, repeated } from '../kit/webSocketFrames.ts'

const MIB = 1024 * 1024
const { continuation, text, binary, close, ping, pong } = OPCODE

const server = await startServer(t)
const bystander = await RawStream.open(server.port)

async function metric(name: string): Promise<number> {
  const { body } = await server.api('GET', '/metrics')
  return Number(new RegExp(`^ringfence_${name} (.*)$`, 'm').exec(body as string)![1])
}

async function open(t: Test, options: Parameters<typeof RawStream.open>[1] = {}): Promise<RawStream> {
  const stream = await RawStream.open(server.port, options)
  t.teardown(() => stream.destroy())
  return stream
}

const track = (id: number, deviceId: string) =>
  JSON.stringify({
    type: 'track',
    id,
    updates: [{ deviceId, latitude: 50, longitude: 7, accuracy: 5, metadata: { name: 'Zoë €🙂' } }],
  })

/** Each breaks a rule of RFC 6455, or a limit, and ends the stream. */
const BROKEN: Readonly<Record<string, readonly Buffer[]>> = {
  'a reserved bit': [frame(text, '{}', { reserved: 1 })],
  'two reserved bits': [frame(text, '{}', { reserved: 3 })],
  'a compressed message that was not agreed on': [frame(text, '{}', { reserved: 4 })],
  'a compressed ping': [frame(ping, '', { reserved: 4 })],
  'an unknown kind of data': [frame(3, '{}')],
  'an unknown kind of control frame': [frame(11, '')],
  'a ping in pieces': [frame(ping, 'a', { isLast: false }), frame(continuation, 'b')],
  'a ping of 126 bytes': [frame(ping, 'a'.repeat(126))],
  'a close frame of 126 bytes': [frame(close, Buffer.concat([Buffer.from([3, 232]), Buffer.alloc(124, 97)]))],
  'a continuation of nothing': [frame(continuation, '{}')],
  'a message within another': [frame(text, '{', { isLast: false }), frame(text, '}')],
  'text that is not UTF-8': [frame(text, Buffer.from([0x22, 0xff, 0x22]))],
  'text that ends in the middle of a character': [frame(text, Buffer.from([0x22, 0xe2, 0x82]))],
  'the second half of a character that is not one': [
    frame(text, Buffer.from([0x22, 0xe2]), { isLast: false }),
    frame(continuation, Buffer.from([0x28, 0x22])),
  ],
  'a character in too many bytes': [frame(text, Buffer.from([0xc0, 0xaf]))],
  'half of a pair of surrogates': [frame(text, Buffer.from([0xed, 0xa0, 0x80]))],
  'a length of a message that is too large': [frame(text, '{', { declared: 2 * MIB })],
  'a length just over what 32 bits hold': [frame(text, '{', { declared: 2n ** 32n + 1n })],
  'the largest length': [frame(text, '{', { declared: 2n ** 63n - 1n })],
  'a length with the first bit': [frame(text, '{', { declared: 2n ** 64n - 1n })],
  'fragments that are too large together': [
    frame(text, ' '.repeat(MIB), { isLast: false }),
    frame(continuation, ' '.repeat(20_000), { isLast: false }),
  ],
  'fragments of which the last declares too much': [
    frame(text, ' '.repeat(MIB), { isLast: false }),
    frame(continuation, ' ', { declared: 20_000 }),
    Buffer.alloc(20_000, 32),
  ],
}

t.test('broken frames end the stream, and nothing else', async (t) => {
  await Promise.all(
    Object.entries(BROKEN).map(async ([name, frames]) => {
      const stream = await open(t)
      stream.write(...frames)
      await until(() => stream.closed)
      t.pass(name)
    }),
  )
  for (const [name, payload] of [
    ['no code', ''],
    ['a byte of a code', 'a'],
    ['an invalid code', Buffer.from([0, 1])],
    ['a code that may not be sent', Buffer.from([3, 237])],
    ['a reason that is not UTF-8', Buffer.from([3, 232, 0xff])],
  ] as const) {
    const stream = await open(t)
    stream.write(frame(close, payload))
    await until(() => stream.closed)
    t.pass(`a close frame with ${name}`)
  }
  // The library takes a binary message within a text for its end, so that both are one message. It is refused like any other.
  bystander.write(frame(text, '{', { isLast: false }), frame(binary, '}'))
  await until(() => bystander.received.includes('"error"'))
  bystander.write(frame(text, '{"type":"ping"}'))
  await until(() => bystander.received.includes('{"type":"pong"}'))
  t.equal(await metric('stream_connections'), 1, 'the bystander')
  t.notMatch(server.output, /"level":"(?:error|fatal)"/)
})

t.test('a frame without a mask is not read as what it says', async (t) => {
  const stream = await open(t)
  // Its first bytes are taken for a mask, so the library reads other bytes than were sent, and waits for as many more.
  const one = frame(text, track(1, 'unmasked'), { isMasked: false })
  stream.write(one, one, one)
  const pongs = bystander.received.split('pong').length
  bystander.write(frame(text, '{"type":"ping"}'))
  await until(() => bystander.received.split('pong').length > pongs)
  t.notMatch(stream.received, /"ack"/)
  t.equal((await server.api('GET', '/v1/users/unmasked')).status, 404)
})

t.test('a message in pieces is the whole message, with control frames between them', async (t) => {
  const message = Buffer.from(track(1, 'pieces'))
  for (const size of [1, 2, 3, 7, message.length]) {
    const stream = await open(t)
    const pieces: Buffer[] = []
    for (let at = 0; at < message.length; at += size) {
      const isLast = at + size >= message.length
      pieces.push(
        frame(at === 0 ? text : continuation, message.subarray(at, at + size), { isLast }),
        frame(pong, 'unasked'),
        frame(at % 50 === 0 ? ping : pong, 'still there?'),
      )
      if (at === 0 && !isLast) pieces.push(frame(continuation, '', { isLast: false }))
    }
    // The last control frames come after the message.
    if (size === 1) for (const piece of pieces) stream.write(piece)
    else stream.write(...pieces)
    await until(() => stream.received.includes('{"type":"ack","id":1}'))
    t.match(stream.received, /still there\?/, 'pings are answered meanwhile')
    t.notOk(stream.closed)
  }
  const { body } = await server.api('GET', '/v1/users/pieces')
  t.strictSame(body.user.metadata, { name: 'Zoë €🙂' }, 'characters that are cut are whole again')

  // Hundreds of thousands of pieces of one message, as far as they fit into it.
  const largest = await open(t)
  largest.write(frame(text, '{"type":"ping"', { isLast: false }))
  largest.write(repeated(frame(continuation, '', { isLast: false }), MIB))
  largest.write(repeated(frame(continuation, ' ', { isLast: false }), 2 * MIB))
  largest.write(frame(continuation, '}'))
  await until(() => largest.received.includes('{"type":"pong"}'))
  t.notOk(largest.closed)
  largest.write(fragments(text, '{"type":"ping"}'.padEnd(MIB), 100))
  await until(() => largest.received.split('{"type":"pong"}').length >= 3)
})

t.test('pings whose answers nobody reads end the stream, and are not kept', async (t) => {
  t.equal(await metric('stream_unread_bytes'), 0)
  const stream = await open(t)
  stream.socket.pause()
  const bytes = repeated(frame(ping, 'x'.repeat(125)), MIB)
  for (let i = 0; i < 64 && !stream.socket.destroyed; i++)
    await new Promise<void>((resolve) => stream.socket.write(bytes, () => resolve()))
  t.equal(await metric('stream_connections'), 1, 'the bystander')
  t.ok((await metric('stream_unread_bytes')) <= 4 * MIB)
})

t.test('answers to pings count as unread messages', (t) => {
  const bound = new KeyedBound('Unread messages', { connection: 1e9, key: 10_000, all: 1e9 })
  let buffered = 0
  const happened: string[] = []
  const socket: Socket = {
    send: () => 0,
    getBufferedAmount: () => buffered,
    end: () => undefined,
    close: () => void happened.push('cut'),
    cork: (send) => send(),
  }
  const [one, other] = [bound.share('key'), bound.share('key')]
  const refuse = () => void happened.push('refused')
  const writer = new StreamWriter(socket, jsonCodec, one, refuse)
  writer.noteAnswer()
  t.equal(one.used, 0, 'it has been read')
  buffered = 6000
  writer.noteAnswer()
  t.equal(one.used, 6000)
  new StreamWriter(socket, jsonCodec, other, refuse).noteAnswer()
  t.strictSame([other.used, happened], [0, ['cut']], 'the key has no room for as much again')
  buffered = 0
  t.ok(writer.drained(), 'everything has been read')
  t.equal(bound.used, 0)
  buffered = 5 * MIB
  writer.noteAnswer()
  t.strictSame(happened, ['cut', 'refused'], 'one stream leaves 4 MB unread at most')
  t.end()
})

t.test('a client may send some pings at once, but not thousands', async (t) => {
  const stream = await open(t)
  stream.write(repeated(frame(ping, 'x'), 7 * 50))
  await until(() => stream.received.length >= 3 * 50)
  stream.write(repeated(frame(ping, 'x'), 7 * 10_000))
  await until(() => stream.closed)
  t.equal(stream.closeCode, 1008)
  t.match(stream.received, /pings/)
})
