/**
 * Attacks on `/v1/stream` by length and number, with one publishable key: half a megabyte of the smallest frames and messages of each
 * kind on one connection and on a hundred, and unfinished messages on two thousand (issue 12, items 2 and 3). Others are answered
 * meanwhile, no turn of the event loop is long, and the memory stays within its bounds.
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import t, { type Test } from 'tap'
import { freePort } from '../kit/freePort.ts'
import { startServer, type Server } from '../kit/server.ts'
import { until } from '../kit/waiting.ts'
import { frame, OPCODE, repeated, type RawOptions } from '../kit/webSocketFrames.ts'
import type { FrameSending } from './frameSenders.ts'

const MIB = 1024 * 1024
const SIZE = 512 * 1024
/**
 * How long the main thread may work without a pause, as CPU time. On a quiet machine it is some 20 ms; a slow or busy one computes
 * longer. Without a bound on messages it was 250 to 650.
 */
const MOST_BLOCKED_MS = 150
const PROBE = pathToFileURL(join(import.meta.dirname, '../../bench/load/loopProbe.ts')).href
const { continuation, text, binary, ping, pong } = OPCODE

interface Attack {
  readonly encoding?: NonNullable<RawOptions['encoding']>
  readonly bytes: Buffer
  readonly isDeaf?: boolean
}

const update = { deviceId: 'd', latitude: 50, longitude: 7, accuracy: 5 }
/** Frames with the numbers that the server expects. */
const frames = (updates: readonly object[]) => {
  const all: Buffer[] = []
  for (let id = 1, size = 0; size < SIZE; id++) {
    const one = frame(text, JSON.stringify({ type: 'track', id, updates }))
    size += one.length
    all.push(one)
  }
  return Buffer.concat(all)
}
const open = { isLast: false }
const of = (...parts: readonly object[]) =>
  Buffer.concat(parts.map((part) => frame(text, JSON.stringify(part))))
const area = { type: 'circle', center: [0, 0], radius: 1000 }

const ATTACKS: Readonly<Record<string, Attack>> = {
  'pieces of a byte of JSON': {
    bytes: Buffer.concat([frame(text, '{', open), repeated(frame(continuation, ' ', open), SIZE)]),
  },
  'pieces of a byte of MessagePack': {
    encoding: 'msgpack',
    bytes: Buffer.concat([
      frame(binary, Buffer.from([0x81]), open),
      repeated(frame(continuation, Buffer.from([0xa1]), open), SIZE),
    ]),
  },
  'pieces without a byte': {
    bytes: Buffer.concat([frame(text, '', open), repeated(frame(continuation, '', open), SIZE)]),
  },
  'pieces with pongs between them': {
    bytes: Buffer.concat([
      frame(text, '{', open),
      repeated(Buffer.concat([frame(continuation, ' ', open), frame(pong)]), SIZE),
    ]),
  },
  'empty pings': { bytes: repeated(frame(ping), SIZE) },
  'empty pings, and nothing is read': { bytes: repeated(frame(ping), SIZE), isDeaf: true },
  'long pings, and nothing is read': { bytes: repeated(frame(ping, 'x'.repeat(125)), SIZE), isDeaf: true },
  'empty pongs': { bytes: repeated(frame(pong), SIZE) },
  'empty messages': { bytes: repeated(frame(text), SIZE) },
  'the smallest JSON': { bytes: repeated(frame(text, '1'), SIZE) },
  'empty objects': { bytes: repeated(frame(text, '{}'), SIZE) },
  'the smallest MessagePack': {
    encoding: 'msgpack',
    bytes: repeated(frame(binary, Buffer.from([0x80])), SIZE),
  },
  'the smallest protobuf': {
    encoding: 'protobuf',
    bytes: repeated(frame(binary, Buffer.from([0x0a, 0])), SIZE),
  },
  'messages of type ping': { bytes: repeated(of({ type: 'ping' }), SIZE) },
  'messages of type ping, and nothing is read': { bytes: repeated(of({ type: 'ping' }), SIZE), isDeaf: true },
  'frames out of order': { bytes: repeated(of({ type: 'track', id: 9, updates: [] }), SIZE) },
  'frames without updates': { bytes: frames([]) },
  'frames with an update': { bytes: frames([update]) },
  'subscriptions that come and go': {
    bytes: repeated(of({ type: 'subscribe', id: 'a' }, { type: 'unsubscribe', id: 'a' }), SIZE),
  },
  'watches that come and go': {
    bytes: repeated(of({ type: 'watch', id: 'a', area }, { type: 'unwatch', id: 'a' }), SIZE),
  },
}

const probePort = await freePort()
const server = await startServer(t, {
  env: {
    NODE_OPTIONS: `--import ${PROBE}`,
    LOOP_PROBE_PORT: String(probePort),
  },
})

/** The longest work without a pause since the last question, as CPU time. */
async function longestMs(): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${probePort}/`)
  return ((await answer.json()) as { blockedMs: number }).blockedMs
}

async function metric(name: string): Promise<number> {
  const { body } = await server.api('GET', '/metrics')
  return Number(new RegExp(`^ringfence_${name} (.*)$`, 'm').exec(body as string)![1])
}

function residentMiB({ pid }: Server): number {
  return Number(/^VmRSS:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]) / 1024
}

/** Sends the bytes over so many streams. Returns what that did to the server while they were there. */
async function attack(
  t: Test,
  name: string,
  connections: number,
  { bytes, isDeaf = false, ...options }: Attack,
) {
  const workerData: FrameSending = { port: server.port, connections, bytes, isDeaf, ...options }
  const senders = new Worker(new URL('frameSenders.ts', import.meta.url), { workerData })
  await once(senders, 'message')
  await sleep(100)
  const before = residentMiB(server)
  await longestMs()
  senders.postMessage('send')
  const sending = { isOver: false }
  void once(senders, 'message').then(() => (sending.isOver = true))
  let slowest = 0
  let answers = 0
  const end = performance.now() + 1000
  while (!sending.isOver || performance.now() < end) {
    const began = performance.now()
    const normal = { deviceId: 'normal', latitude: 50, longitude: 7 + (answers++ % 10) / 1000, accuracy: 5 }
    const { status } = await server.api('POST', '/v1/track', normal)
    if (status !== 200) t.fail(`${name}: others are answered ${status}`)
    slowest = Math.max(slowest, performance.now() - began)
    await sleep(10)
    if (isDeaf && performance.now() > end + 3000) break
  }
  const blockedMs = await longestMs()
  const grown = residentMiB(server) - before
  const unread = (await metric('stream_unread_bytes')) / MIB
  const left = await metric('stream_connections')
  t.comment(
    `${name}, ${connections}: blocked ${blockedMs.toFixed(0)} ms, slowest answer to others ${slowest.toFixed(0)} ms, ` +
      `${grown.toFixed(0)} MiB more, ${unread.toFixed(1)} MiB unread, ${left} streams left`,
  )
  await senders.terminate()
  await until(async () => (await metric('stream_connections')) === 0)
  return { blockedMs, grown, unread }
}

for (const connections of [1, 100]) {
  t.test(`half a megabyte of frames on ${connections} connections`, { timeout: 600_000 }, async (t) => {
    for (const [name, one] of Object.entries(ATTACKS)) {
      const { blockedMs, grown, unread } = await attack(t, name, connections, one)
      t.ok(blockedMs < MOST_BLOCKED_MS, `${name}: ${blockedMs} ms without a pause`)
      t.ok(grown < 300, `${name}: ${grown} MiB more`)
      t.ok(unread <= 64, `${name}: ${unread} MiB unread`)
    }
  })
}

const LETTERS = 'x'.repeat(100)
/** A message that never ends, in pieces. */
const unfinished = (bytes: number) =>
  Buffer.concat([frame(text, '"', open), repeated(frame(continuation, LETTERS, open), bytes)])

t.test('unfinished messages on nearly as many streams as a key may have', { timeout: 600_000 }, async (t) => {
  // Those of the first 126 streams may be large, those of the others not.
  for (const [connections, bytes] of [
    [126, MIB],
    [1900, 80 * 1024],
  ] as const) {
    const name = `a message in pieces, ${bytes} bytes of it`
    const { blockedMs, grown } = await attack(t, name, connections, { bytes: unfinished(bytes) })
    t.ok(blockedMs < MOST_BLOCKED_MS, `${name}: ${blockedMs} ms without a pause`)
    t.ok(grown < 300, `${name}: ${grown} MiB more`)
  }
})
