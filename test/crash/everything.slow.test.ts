/**
 * Kills a server on which places, regions, fraud and segments are on. The same updates first go to its test environment
 * while nothing happens, and then to its live environment while it is killed again and again: both must have the same
 * events, each once and in order, and the same users (G1, G2, G3, G9).
 *
 * RINGFENCE_SEED=123 node test/crash/everything.slow.test.ts repeats the same random choices
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { KEYS, startServer } from '../kit/server.ts'
import { Seeded } from './seeded.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- answers of every shape
type Json = any

const DEVICES = 8
const UPDATES = 60
const KILLS = 4 * Number(process.env['RINGFENCE_CRASH_ROUNDS'] ?? 1)
const MINUTE = 60_000
const SETTINGS = {
  places: true,
  placeMinimumStaySeconds: 120,
  nearbyPlaceChains: ['mcdonalds'],
  regions: true,
  fraud: { enabled: true, jumpMeters: 1000, jumpSpeed: 500, maxAccuracy: 500 },
  segments: [
    {
      description: 'Regulars',
      externalId: 'regulars',
      rule: { event: { type: 'user.entered_place', withinDays: 90, atLeast: 5 } },
    },
    {
      description: 'Suspects',
      externalId: 'suspects',
      rule: {
        all: [
          { event: { type: 'user.failed_fraud', withinDays: 90, atLeast: 8 } },
          { not: { country: 'AR' } },
        ],
      },
    },
    { description: 'In a café', externalId: 'cafe', rule: { category: 'cafe' } },
  ],
}

const seed = Number(process.env['RINGFENCE_SEED'] ?? Date.now() % 1e9)

t.test(`everything is on, ${KILLS} kills, RINGFENCE_SEED=${seed}`, async (t) => {
  const random = new Seeded(seed)
  const server = await startServer(t, { sample: true })
  const good = async (method: string, path: string, body?: unknown, key?: string): Promise<Json> => {
    const answer = await server.api(method, path, body, key)
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  for (const key of [KEYS.testSecret, KEYS.liveSecret]) await good('PATCH', '/v1/settings', SETTINGS, key)
  const around = '/v1/search/places?near=-34.9061,-56.1934&radius=10000&limit=20'
  const { places } = await good('GET', `${around}&categories=cafe`)
  const { places: burgers } = await good('GET', `${around}&chains=mcdonalds`)
  const spots: [number, number][] = [...places, ...burgers].map(({ location }: Json) => location.coordinates)
  // In Buenos Aires, and at sea: often enough.
  for (let i = 0; i < 5; i++) spots.push([-58.44, -34.6], [-54, -37])
  const scripts = Array.from({ length: DEVICES }, (_, i) => scriptOf(random, `device-${i}`, spots))

  /** Sends an update until it is acknowledged. */
  const deliver = async (body: Json, key: string): Promise<void> => {
    const headers = { authorization: key, 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    for (;;) {
      const answer = await fetch(`${server.url}/v1/track`, init).catch(() => undefined)
      await answer?.arrayBuffer().catch(() => {})
      if (answer?.status === 200) return
      if (answer !== undefined && answer.status !== 503) throw new Error(`answered ${answer.status}`)
      await sleep(20)
    }
  }
  const drive = (key: string, pauseMs: () => number) =>
    Promise.all(
      scripts.map(async (script) => {
        for (const body of script) {
          await deliver(body, key)
          await sleep(pauseMs())
        }
      }),
    )
  await drive(KEYS.testPublishable, () => 0)
  const expected = await seen(good, KEYS.testSecret)

  const driving = { isOn: true }
  const driven = drive(KEYS.livePublishable, () => random.integer(0, 60)).finally(
    () => (driving.isOn = false),
  )
  let kills = 0
  while (kills < KILLS && driving.isOn) {
    await sleep(random.integer(50, 700))
    await server.kill9()
    kills++
    await server.restart()
  }
  await driven
  await server.kill9()
  await server.restart()
  const found = await seen(good, KEYS.liveSecret)
  t.strictSame(found, expected)
  const counts: Record<string, number> = {}
  for (const { type } of Object.values(found.events).flat() as Json[]) counts[type] = (counts[type] ?? 0) + 1
  t.comment(JSON.stringify({ kills, ...counts }))
  t.ok(kills > 1, `${kills} kills`)
  for (const type of ['entered_place', 'exited_place', 'entered_region_country', 'failed_fraud'])
    t.ok(counts[`user.${type}`]! > 20, `${counts[`user.${type}`]} ${type}`)
  t.ok(
    found.users.some(({ segments }: Json) => segments.length > 0),
    'somebody is in a segment',
  )
})

/** What one device sends. */
function scriptOf(random: Seeded, deviceId: string, spots: readonly [number, number][]): Json[] {
  let time = Date.now() - 5 * 24 * 60 * MINUTE
  let spot = random.pick([...spots])
  return Array.from({ length: UPDATES }, (_, sequence) => {
    time += random.integer(5000, 3 * MINUTE)
    if (random.chance(0.35)) spot = random.pick([...spots])
    return {
      deviceId,
      longitude: Number((spot[0] + random.between(-1, 1) * 0.0002).toFixed(6)),
      latitude: Number((spot[1] + random.between(-1, 1) * 0.0002).toFixed(6)),
      accuracy: random.pick([5, 15, 40, 100, 600]),
      stopped: random.chance(0.5),
      updatedAt: new Date(time).toISOString(),
      mocked: random.chance(0.2),
      sharing: random.chance(0.1),
      stream: deviceId,
      sequence,
    }
  })
}

/** Events by device, the latest first, and users, without what differs between environments. */
async function seen(
  good: (method: string, path: string, body: undefined, key: string) => Promise<Json>,
  key: string,
): Promise<Json> {
  const events: Record<string, Json[]> = {}
  for (let i = 0; i < DEVICES; i++) {
    const list = await good('GET', `/v1/events?deviceId=device-${i}&limit=1000`, undefined, key)
    events[`device-${i}`] = list.events.map(plain)
  }
  const { users } = await good('GET', '/v1/users?limit=100', undefined, key)
  const byDevice = (a: Json, b: Json) => (a.deviceId < b.deviceId ? -1 : 1)
  return { events, users: users.map(plain).toSorted(byDevice) }
}

const ALWAYS_DIFFERENT = new Set(['_id', 'live', 'actualCreatedAt', 'actualUpdatedAt'])

/** A user is created at a time of the server. */
function plain(record: Json): Json {
  const { user } = record
  const isSame = ([name]: [string, Json]) =>
    !ALWAYS_DIFFERENT.has(name) && (user !== undefined || name !== 'createdAt')
  const rest = Object.fromEntries(Object.entries(record).filter(isSame))
  return user === undefined ? rest : { ...rest, user: { ...user, _id: undefined } }
}
