/** Streams of a server that limits devices, and of a project that has used up its requests. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { startServer } from '../kit/server.ts'
import { Stream } from '../kit/stream.ts'

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

/** `npm run projects -- …`; returns what it prints. */
async function projects(data: string, ...args: readonly string[]): Promise<string> {
  const command = [MAIN, 'projects', ...args, '--data', data]
  return (await promisify(execFile)(process.execPath, command)).stdout
}

const at = (deviceId: string) => ({ deviceId, latitude: 50, longitude: 7, accuracy: 5 })

t.test('too many updates of a device, and a project that is disabled', async (t) => {
  const strict = await startServer(t, {
    env: { RINGFENCE_RATE_LIMITS: 'on', RINGFENCE_STREAM_DEVICE_LIMIT: 'on' },
  })
  const stream = await Stream.open(strict)
  stream.send({ type: 'track', id: 1, updates: [at('fast'), at('fast'), at('other')] })
  t.match(await stream.upToAck(1), [
    { type: 'error', id: 1, index: 1, code: 429, param: 'deviceId', retryAfter: 1 },
    { type: 'ack', id: 1 },
  ])
  await projects(strict.data, 'disable', '1')
  stream.send({ type: 'track', id: 2, updates: [at('late')] })
  t.match(await stream.next(), { type: 'error', id: 2, code: 402 })
  t.match(await stream.closed, { code: 4402 })
  const refusal = await Stream.open(strict).catch((error: unknown) => error)
  t.match(refusal, { status: 402 })
})

t.test('a frame counts as a request when it is taken, not when it is answered busy', async (t) => {
  const BYTES = 16 * 1024 * 1024
  const small = await startServer(t, {
    env: { RINGFENCE_MAILBOX_BYTES: String(BYTES), RINGFENCE_MAX_BODY_BYTES: String(BYTES) },
  })
  const stream = await Stream.open(small, { encoding: 'json' })
  // Together with what the mailbox adds for each update, there is never room for it.
  const pad = ' '.repeat(16_600)
  const updates = Array.from({ length: 1000 }, (_, i) => ({ ...at(`d${i}`), pad }))
  stream.send({ type: 'track', id: 1, updates })
  t.match(await stream.next(), { type: 'busy', id: 1 })
  stream.send({ type: 'track', id: 2, updates: [at('d')] })
  t.match(await stream.next(), { type: 'busy', id: 2 }, 'not its turn')
  stream.send({ type: 'track', id: 1, updates: [at('d')] })
  t.match(await stream.next(), { type: 'ack', id: 1 })
  t.match(await projects(small.data, 'list'), / 2 requests this month/, 'the connection and one frame')
  await stream.close()
})
