/**
 * Expensive requests of one key against a real process (G7). While one is being processed, requests of others are
 * answered, and a request that would be too expensive is refused with advice. `npm run bench -- hostile` shows what
 * each costs.
 */
import t from 'tap'
import { KEYS } from '../kit/server.ts'
import { briefly, north, startApi, type Json } from './contract.ts'
import { all, strictCall } from './strict.ts'

const { testPublishable } = KEYS

const api = await startApi(t)
const { server } = api
const call = strictCall(api)

const CROWD = 300
await all(
  Array.from({ length: CROWD }, (_, i) => i),
  async (i) => {
    const body = { description: 'x', type: 'circle', coordinates: [60, 10], radius: 100 }
    const { status } = await server.api('PUT', `/v1/geofences/crowd/${i}`, body)
    if (status !== 200) throw new Error(`geofence ${i} → ${status}`)
  },
)

function replays(deviceId: string, count: number): Json[] {
  const now = Date.now()
  return Array.from({ length: count }, (_, i) => ({
    deviceId,
    latitude: north(10, (i % 2) * 1000),
    longitude: 60,
    accuracy: 5,
    updatedAtMs: now - (count - i) * 1000,
  }))
}

/**
 * Sends the given number of updates of others, one after another. Returns whether the task was still running after
 * the last answer.
 */
async function beside(task: Promise<unknown>, others: number): Promise<boolean> {
  let ended = false
  const ending = task.finally(() => (ended = true))
  for (let i = 0; i < others; i++)
    await api.track({ deviceId: `other ${i}`, latitude: 0, longitude: 0, accuracy: 5 })
  const wasUnderWay = !ended
  await ending
  return wasUnderWay
}

t.test('a replay that would be too expensive is refused, with the allowed number', async (t) => {
  for (const deviceId of ['refused', 'anonymous']) {
    const { status, body } = await call('POST', '/v1/track/replay', { replays: replays(deviceId, 1000) })
    t.equal(status, 400)
    t.equal(body.meta.param, 'replays')
    // One of the two updates is inside.
    t.match(body.meta.message, /Send at most 66[0-9] of them at a time/)
  }
  t.equal((await call('GET', '/v1/users/refused')).status, 404)
  const { status, body } = await call('POST', '/v1/track/replay', { replays: replays('accepted', 66) })
  t.equal(status, 200)
  t.equal(body.events.length, 66 * CROWD)
  t.same(
    briefly(body.events.slice(0, 1)).map((text: string) => text.split(' ')[0]),
    ['entered'],
  )
})

t.test('while a replay is processed, others are answered', async (t) => {
  const replay = call('POST', '/v1/track/replay', { replays: replays('replayed', 600) }, testPublishable)
  // Makes sure that it is sent first, whatever the event loop of this process does.
  await new Promise((resolve) => setTimeout(resolve, 20))
  t.ok(await beside(replay, 70), 'one in each partition, one after the other, before the replay ends')
  const { status, body } = await replay
  t.equal(status, 200)
  t.equal(body.events.length + (body.meta.omittedEvents ?? 0), 600 * CROWD)
})
