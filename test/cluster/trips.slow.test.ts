/**
 * Trips of the distributed engine as separate processes over a real NATS server: what a user sees of them is what the
 * embedded engine shows, and each update moves its trips once while owners of partitions are killed (T1 to T4).
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { Cluster } from '../../cluster/cluster.ts'
import { deviceHash } from '../../src/model/deviceHash.ts'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { KEYS, startServer } from '../kit/server.ts'
import { until } from '../kit/waiting.ts'
import { drive, HOME, tripApi, type Api, type Body } from '../trips/story.ts'

const skip = await skipWithout(NATS_SERVER)
const PARTITIONS = 8
/** Far enough apart that the way is measured again. */
const STEP_MS = 40_000
/** Of a device: as many as one page of events has. */
const MOST_UPDATES = 900
const ENV = {
  RINGFENCE_KEYS: Object.values(KEYS).join(','),
  RINGFENCE_RATE_LIMITS: 'off',
  RINGFENCE_PARTITIONS: `${PARTITIONS}`,
}

let cluster: Cluster
let apis: readonly Api[] = []

t.before(async () => {
  if (skip !== false) return
  const folder = mkdtempSync(join(tmpdir(), 'ringfence-trips-'))
  t.teardown(async () => {
    if (!t.passing()) for (const { options, output } of cluster.members) console.error(options.name, output)
    await cluster?.kill()
    rmSync(folder, { recursive: true, force: true })
  })
  cluster = await Cluster.start({ folder, nats: 1, gateways: 2, actors: 2, deliveries: 0, env: ENV })
  apis = cluster.gateways.map(({ options }) => tripApi(options.url))
})

/** As each of two gateways in turn. */
const alternating = (): Api => {
  let asked = 0
  return (...call) => apis[asked++ % apis.length]!(...call)
}

t.test('the whole life of trips is the same in both engines', { skip }, async (t) => {
  const server = await startServer(t)
  t.strictSame(await drive(alternating()), await drive(tripApi(server.url)))
})

t.test('owners are killed while devices move trips of other partitions', { skip }, async (t) => {
  const api = alternating()
  // Of each, device and trip are in different partitions.
  const couriers = Array.from({ length: 40 }, (_, i) => ({
    userId: `courier-${i}`,
    deviceId: `phone-${i}`,
  })).filter(({ userId, deviceId }) => deviceHash(userId) % PARTITIONS !== deviceHash(deviceId) % PARTITIONS)
  t.ok(couriers.length > 20)
  await Promise.all(
    couriers.map(({ userId }) => insist(api, 'POST', '/v1/trips', { externalId: userId, userId, ...HOME })),
  )
  const began = Date.now() - MOST_UPDATES * STEP_MS
  const over = new AbortController()
  const sent = await Promise.all([
    ...couriers.map(async ({ userId, deviceId }, c) => {
      /** As many as its trip has seen. */
      let moved = 0
      for (let n = 0; !over.signal.aborted && n < MOST_UPDATES; n++) {
        // A resend is applied once.
        const body = {
          deviceId,
          userId,
          latitude: -34.9,
          // To and fro, far enough from its destination that it never comes near.
          longitude: -56.5 - (n % 50) * 1e-3,
          accuracy: 5,
          updatedAt: new Date(began + n * STEP_MS).toISOString(),
          stream: `s-${c}`,
          sequence: n + 1,
        }
        const { user } = await insist(api, 'POST', '/v1/track', body)
        if (user.trip?.status === 'started') moved++
        // Until the owner of the device has heard of the trip, an update is that of somebody without one (T3).
        else if (moved > 0 || user.trip !== undefined)
          t.fail(`${userId}: ${JSON.stringify(user.trip)}, for which an app would end its trip`)
        await sleep(20)
      }
      return moved
    }),
    (async () => {
      for (const actor of cluster.actors) {
        await sleep(1500)
        await actor.end('SIGKILL')
        await sleep(1500)
        actor.start()
        await actor.ready()
      }
      await sleep(1500)
      over.abort()
      return 0
    })(),
  ])
  for (const [c, { userId }] of couriers.entries()) {
    // The first one starts it, each other one updates it.
    const updates = sent[c]!
    t.ok(updates > 1)
    // Each gateway reads the events by itself, and one may be behind the other.
    for (const gateway of apis) {
      let events: Event[] = []
      await until(async () => {
        const path = `/v1/events?userId=${userId}&limit=1000`
        const answer = await insist(gateway, 'GET', path)
        events = (answer.events as Event[]).filter(({ type }) => type.includes('trip')).toReversed()
        return events.length >= updates
      })
      t.equal(events.length, updates, `${userId}: each update once`)
      t.equal(new Set(events.map(({ _id }) => _id)).size, updates)
      const times = events.map(({ createdAt }) => createdAt)
      t.strictSame(times, times.toSorted(), 'in order')
      t.equal(events[0]!.type, 'user.started_trip')
    }
    const { trip } = await insist(api, 'GET', `/v1/trips/${userId}`)
    t.equal(trip.locations.length, updates)
  }
  t.comment(`${sent.reduce((sum, n) => sum + n, 0)} updates of ${couriers.length} devices`)
})

t.test('a call is seen by tracks within a second, wherever they arrive', { skip }, async (t) => {
  const api = alternating()
  for (let i = 0; i < 10; i++) {
    const user = {
      userId: `quick-${i}`,
      deviceId: `quick-${i}`,
      latitude: -34.9,
      longitude: -56.3,
      accuracy: 5,
    }
    await insist(api, 'POST', '/v1/trips', { externalId: `quick-${i}`, userId: user.userId, ...HOME })
    const called = performance.now()
    await until(async () => {
      const waited = performance.now() - called
      const answer = await insist(api, 'POST', '/v1/track', user)
      if (answer.user.trip !== undefined) return true
      // How long the track itself takes does not count.
      if (waited > 1000) t.fail(`a track that was sent after ${waited} ms`)
      return false
    })
  }
  t.pass('T3')
})

t.test(
  'a call is seen by the very next track that names the trip, wherever it arrives',
  { skip },
  async (t) => {
    const api = alternating()
    for (let i = 0; i < 20; i++) {
      const externalId = `named-${i}`
      const { trip } = await insist(api, 'POST', '/v1/trips', { externalId, mode: 'bike', ...HOME })
      const tripOptions = { externalId, mode: 'car', metadata: { repeated: true } }
      const at = { deviceId: externalId, latitude: -34.9, longitude: -56.3, accuracy: 5, tripOptions }
      const { user } = await insist(api, 'POST', '/v1/track', at)
      t.match(user.trip, { _id: trip._id, mode: 'bike', status: 'started' })
      t.notHas(user.trip, 'metadata')
      await insist(api, 'PATCH', `/v1/trips/${externalId}/update`, { metadata: { i } })
      const next = await insist(api, 'POST', '/v1/track', at)
      t.strictSame(next.user.trip.metadata, { i })
      await insist(api, 'PATCH', `/v1/trips/${externalId}/update`, { status: 'canceled' })
      t.notHas((await insist(api, 'POST', '/v1/track', at)).user, 'trip', 'the app ends its trip')
    }
  },
)

t.test('trips expire once, at their deadline, whoever owns their partitions by then', { skip }, async (t) => {
  const api = alternating()
  await insist(api, 'PATCH', '/v1/settings', { tripExpirationMinutes: 1 })
  const deadlines = new Map<string, number>()
  for (let i = 0; i < 40; i++) {
    const externalId = `due-${i}`
    const { trip } = await insist(api, 'POST', '/v1/trips', { externalId })
    deadlines.set(externalId, Date.parse(trip.createdAt) + 60_000)
    if (i % 2 === 0) continue
    const started = await insist(api, 'PATCH', `/v1/trips/${externalId}/update`, { status: 'started' })
    deadlines.set(externalId, Date.parse(started.trip.startedAt) + 60_000)
  }
  // The first owner is away when the first trips are due, and comes back while others are. Then the second one goes.
  const [first, second] = cluster.actors
  await sleep(Math.min(...deadlines.values()) - 2000 - Date.now())
  for (const actor of [first!, second!]) {
    await actor.end('SIGKILL')
    await sleep(3000)
    actor.start()
    await actor.ready()
  }
  for (const [externalId, deadline] of deadlines) {
    await until(async () => {
      const { trip } = await insist(api, 'GET', `/v1/trips/${externalId}`)
      return trip.status === 'expired'
    })
    const { trip } = await insist(api, 'GET', `/v1/trips/${externalId}`)
    t.equal(Date.parse(trip.endedAt), deadline, externalId)
  }
  // Long enough for each owner's job to look at them again.
  await sleep(3000)
  for (const gateway of apis) {
    const { events } = await insist(gateway, 'GET', '/v1/events?type=user.stopped_trip&limit=1000')
    const names = (events as Body[]).map(({ trip }) => trip.externalId as string)
    for (const externalId of deadlines.keys())
      t.equal(names.filter((name) => name === externalId).length, 1, `${externalId}: once`)
  }
})

interface Event {
  readonly _id: string
  readonly type: string
  readonly createdAt: string
}

/** Repeats a call until it is answered. */
async function insist(api: Api, method: string, path: string, body?: Body): Promise<Body> {
  for (;;) {
    const answer = await api(method, path, body).catch(() => undefined)
    if (answer !== undefined && answer.status < 500 && answer.status !== 429) {
      if (answer.status !== 200) throw new Error(JSON.stringify(answer.body.meta))
      return answer.body
    }
    await sleep(50)
  }
}
