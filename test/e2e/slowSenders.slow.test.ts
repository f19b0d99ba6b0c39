/**
 * Attacks by 80 and by 2,000 connections of one key whose bodies never end: half of a body and then nothing, a byte a second,
 * chunks of a byte (issue 12, items 2 and 3). Meanwhile updates and imports of others are answered, the memory for bodies
 * stays within its bound, and afterwards nothing is left.
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import t, { type Test } from 'tap'
import { freePort } from '../kit/freePort.ts'
import { KEYS, startServer, type Server } from '../kit/server.ts'
import type { SlowSenders, SlowSending } from './slowSenders.ts'

const MIB = 1024 * 1024
/** How long each attack lasts after all of its connections are there. Bodies count as slow after a second. */
const LASTS_MS = 3000
/**
 * How long the main thread may work without a pause, as CPU time. On a quiet machine nobody waits for more than 100 ms; a slow
 * one computes longer.
 */
const MOST_BLOCKED_MS = 400
const PROBE = pathToFileURL(join(import.meta.dirname, '../../bench/load/loopProbe.ts')).href

const json = `POST /v1/track HTTP/1.1\r\nHost: x\r\nAuthorization: ${KEYS.testPublishable}\r\nContent-Type: application/json\r\n`
const csv = `POST /v1/imports/geofences HTTP/1.1\r\nHost: x\r\nAuthorization: ${KEYS.testSecret}\r\nContent-Type: text/csv\r\n`
const nobody = 'POST /v1/track HTTP/1.1\r\nHost: x\r\n'
const LENGTH = 'Content-Length: 1000000\r\n\r\n'
const CHUNKED = 'Transfer-Encoding: chunked\r\n\r\n'
const CHUNK = '1\r\n \r\n'
const ONCE = { later: '', everyMs: 1000 }

const ATTACKS: Readonly<Record<string, SlowSending>> = {
  'the beginning of a body': { head: json + LENGTH, first: '{"deviceId":"x"', ...ONCE },
  'the beginning of an import': { head: csv + LENGTH, first: 'tag,externalId\n', ...ONCE },
  'half of a body of a megabyte': { head: json + LENGTH, first: ' '.repeat(100_000), ...ONCE },
  'a byte of a body each second': { head: json + LENGTH, first: '{', later: ' ', everyMs: 1000 },
  'a byte of an import each second': { head: csv + LENGTH, first: 't', later: 'a', everyMs: 1000 },
  'a chunk of a byte each second': { head: json + CHUNKED, first: CHUNK, later: CHUNK, everyMs: 1000 },
  'a chunk of a byte of an import each second': {
    head: csv + CHUNKED,
    first: CHUNK,
    later: CHUNK,
    everyMs: 1000,
  },
  'many chunks of a byte at once': { head: json + CHUNKED, first: CHUNK.repeat(15_000), ...ONCE },
  'many chunks of a byte at once, without a key': {
    head: nobody + CHUNKED,
    first: CHUNK.repeat(15_000),
    ...ONCE,
  },
}

const IMPORT = 'tag,externalId,description,type,coordinates,radius\nshop,one,One,circle,"[7,50]",100\n'

async function metric(server: Server, name: string): Promise<number> {
  const { body } = await server.api('GET', '/metrics')
  return Number(new RegExp(`^ringfence_${name} (.*)$`, 'm').exec(body as string)![1])
}

function residentBytes(pid: number): number {
  return Number(/^VmRSS:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]) * 1024
}

const options = { skip: process.platform !== 'linux', timeout: 600_000 }
t.test('bodies that never end, on 80 connections', options, (t) => attacked(t, 80))
t.test('bodies that never end, on 2,000 connections', options, (t) => attacked(t, 2000))

async function attacked(t: Test, connections: number): Promise<void> {
  const probePort = await freePort()
  const server = await startServer(t, {
    env: { NODE_OPTIONS: `--import ${PROBE}`, LOOP_PROBE_PORT: String(probePort) },
  })
  const blockedMs = async () => {
    const answer = await fetch(`http://127.0.0.1:${probePort}/`)
    return ((await answer.json()) as { blockedMs: number }).blockedMs
  }
  await others(t, server, 500)
  for (const [name, sending] of Object.entries(ATTACKS)) {
    const before = residentBytes(server.pid)
    await blockedMs()
    const workerData: SlowSenders = { port: server.port, connections, addresses: 8, ...sending }
    const senders = new Worker(new URL('slowSenders.ts', import.meta.url), { workerData })
    await once(senders, 'message')
    const worstMs = await others(t, server, LASTS_MS)
    const held = await metric(server, 'http_held_bytes')
    const blocked = await blockedMs()
    const grown = (residentBytes(server.pid) - before) / MIB
    t.comment(
      `${name}: ${(held / MIB).toFixed(1)} MiB held, ${grown.toFixed(0)} MiB more are resident, ` +
        `blocked ${blocked.toFixed(0)} ms, the slowest answer to others took ${worstMs.toFixed(0)} ms`,
    )
    t.ok(held <= 32 * MIB, `${name}: one key has its bound, ${held}`)
    t.ok(grown < 250, `${name}: ${grown} MiB more are resident`)
    t.ok(blocked < MOST_BLOCKED_MS, `${name}: blocked for ${blocked} ms`)
    await senders.terminate()
    while ((await metric(server, 'http_held_bytes')) > 0) await sleep(50)
    t.equal(await metric(server, 'http_in_flight'), 1, 'the question itself')
  }
}

/** Updates and imports of others, for some time. Returns the milliseconds that the slowest took. */
async function others(t: Test, server: Server, milliseconds: number): Promise<number> {
  const end = performance.now() + milliseconds
  const worst = { ms: 0 }
  let answers = 0
  const repeat = async (ask: (i: number) => ReturnType<Server['api']>, everyMs: number) => {
    for (let i = 0; performance.now() < end; i++) {
      const began = performance.now()
      const { status, body } = await ask(i)
      worst.ms = Math.max(worst.ms, performance.now() - began)
      if (status !== 200) t.fail(`answered ${status}: ${JSON.stringify(body)}`)
      answers++
      await sleep(everyMs)
    }
  }
  const headers = { 'content-type': 'text/csv' }
  await Promise.all([
    // The same key may track: its room is not needed for a body that comes in one piece.
    ...[KEYS.livePublishable, KEYS.testPublishable].map((key) =>
      repeat(
        (i) =>
          server.api(
            'POST',
            '/v1/track',
            { deviceId: `d${i % 50}`, latitude: 50, longitude: 7, accuracy: 5 },
            key,
          ),
        10,
      ),
    ),
    repeat(() => server.api('POST', '/v1/imports/geofences', IMPORT, KEYS.liveSecret, headers), 100),
  ])
  t.ok(answers > milliseconds / 1000, `${answers} answers to others`)
  return worst.ms
}
