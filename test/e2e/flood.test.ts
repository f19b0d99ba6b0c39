/**
 * Fairness beyond capacity: requests are answered while six streams send as fast as they can, whatever answers they
 * get (issue 12, item 7).
 */
import { once } from 'node:events'
import t from 'tap'
import { Worker } from 'node:worker_threads'
import { KEYS, startServer } from '../kit/server.ts'

const FLOOD = new URL('../../bench/load/floodThread.ts', import.meta.url)
const TRACKS = 20

t.test(
  'during six floods a normal track and all other requests are answered',
  { timeout: 240_000 },
  async (t) => {
    const server = await startServer(t)
    const flood = new Worker(FLOOD, {
      workerData: { port: server.port, streams: 6, key: KEYS.testPublishable },
    })
    t.teardown(() => flood.terminate())
    await once(flood, 'message')
    const applied = async () => {
      const { body } = await server.api('GET', '/metrics')
      return Number(/^ringfence_updates_total (\d+)$/m.exec(body as string)![1])
    }
    while ((await applied()) === 0);
    const began = await applied()
    for (let i = 0; i < TRACKS; i++) {
      const update = { deviceId: 'normal', latitude: 50, longitude: 7 + i / 1000, accuracy: 5 }
      const answer = await server.api('POST', '/v1/track', update, KEYS.testPublishable)
      t.match(answer, { status: 200, body: { user: { location: { coordinates: [7 + i / 1000, 50] } } } })
    }
    t.equal((await server.api('GET', '/v1/users/normal')).status, 200)
    const between = (await applied()) - began - TRACKS
    t.ok(between > 0, 'the floods go on meanwhile')
    t.ok(
      between < TRACKS * 60_000,
      `${between} updates of the floods for ${TRACKS} tracks, one after the other`,
    )
  },
)
