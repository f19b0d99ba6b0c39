/** Streams of a server that limits devices, and of a project that may make no more requests. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { startServer } from '../kit/server.ts'
import { Stream } from '../kit/stream.ts'

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
  const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
  await promisify(execFile)(process.execPath, [main, 'projects', 'disable', '1', '--data', strict.data])
  stream.send({ type: 'track', id: 2, updates: [at('late')] })
  t.match(await stream.next(), { type: 'error', id: 2, code: 402 })
  t.match(await stream.closed, { code: 4402 })
  const refusal = await Stream.open(strict).catch((error: unknown) => error)
  t.match(refusal, { status: 402 })
})
