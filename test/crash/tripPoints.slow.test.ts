/**
 * A server ends at each of the points between an update and its trips, while couriers drive. After the next start
 * everything is as if it had never ended.
 *
 * RINGFENCE_SEED=123 node test/crash/tripPoints.slow.test.ts repeats the same random choices
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { OWNER_POINTS } from '../clusterFaults/tripPoints.ts'
import { Server } from '../kit/server.ts'
import { Couriers } from './couriersLeft.ts'
import { Seeded } from './seeded.ts'

const seed = Number(process.env['RINGFENCE_SEED'] ?? Date.now() % 1e9)
const MOST_TIMES = 20
/** An expired trip is seen by a job that runs each second. */
const EXPIRED_WITHIN_MS = 5000
const MINUTE_MS = 60_000

/** How a server is started that ends when it comes to a point for that many times. */
function endingAt(point: string, times: number) {
  const module = import.meta.resolve('../clusterFaults/endAt.ts')
  return { module, env: { END_AT: point, END_AFTER: String(times) } }
}

t.test('a server ends at each point between an update and its trips', async (t) => {
  t.comment(`RINGFENCE_SEED=${seed}`)
  const random = new Seeded(seed)
  const server = await Server.start()
  t.teardown(() => server.dispose())
  await server.api('PATCH', '/v1/settings', { tripUpdateSeconds: 0 })
  const faults: string[] = []
  const couriers = await Couriers.start(server, (sentence) => faults.push(sentence))
  t.teardown(() => couriers.load.abandon())
  await couriers.answered()
  for (const point of OWNER_POINTS) {
    await server.kill9()
    const times = random.integer(1, MOST_TIMES)
    // It may end before it says that it is ready.
    await server.restart(endingAt(point, times)).catch(() => undefined)
    await server.ended()
    await server.restart()
    await couriers.answered()
    t.strictSame(faults, [], `${point}, ${times} times`)
    if (faults.length > 0) break
  }
  await couriers.finish()
  t.strictSame(faults, [])
  const { counts } = couriers.load
  t.comment(JSON.stringify(counts))
  t.ok(counts.updates > 100 && counts.unanswered > 5)
})

t.test('the answer to PATCH is lost: the client repeats it, and nothing more happens', async (t) => {
  const server = await Server.start()
  t.teardown(() => server.dispose())
  await server.api('POST', '/v1/trips', { externalId: 'order' })
  await server.kill9()
  await server.restart(endingAt('PATCH is committed, and the answer lost', 1))
  const patch = () => server.api('PATCH', '/v1/trips/order/update', { status: 'started' })
  await t.rejects(patch(), 'there is no answer')
  await server.ended()
  await server.restart()
  t.match(await patch(), { status: 200, body: { trip: { status: 'started' }, events: [] } })
  const { events } = (await server.api('GET', '/v1/events')).body
  t.strictSame(
    events.map(({ type }: { type: string }) => type),
    ['user.started_trip'],
  )
})

t.test('nobody is there when the time of a trip is up: it expires once, as of then', async (t) => {
  const server = await Server.start()
  t.teardown(() => server.dispose())
  await server.api('PATCH', '/v1/settings', { tripExpirationMinutes: 1 })
  const { trip } = (await server.api('POST', '/v1/trips', { externalId: 'late' })).body
  const deadline = Date.parse(trip.createdAt) + MINUTE_MS
  await sleep(deadline - 5000 - Date.now())
  t.equal((await server.api('GET', '/v1/trips/late')).body.trip.status, 'pending')
  await server.kill9()
  await sleep(deadline + 2000 - Date.now())
  for (let starts = 0; starts < 2; starts++) {
    await server.restart()
    await sleep(EXPIRED_WITHIN_MS)
    const found = (await server.api('GET', '/v1/trips/late')).body.trip
    t.match(found, { status: 'expired', endedAt: new Date(deadline).toISOString() })
    const { events } = (await server.api('GET', '/v1/events')).body
    t.strictSame(
      events.map(({ type }: { type: string }) => type),
      ['user.stopped_trip'],
    )
    await server.kill9()
  }
})
