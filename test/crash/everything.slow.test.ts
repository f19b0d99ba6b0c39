/**
 * Kills processes of both engines while places, regions, fraud and segments are on. The same updates first go to the test environment
 * while nothing happens, and then to the live environment while one is killed again and again: both must have the same
 * events, each once and in order, and the same users (G1, G2, G3, G9).
 *
 * RINGFENCE_SEED=123 node test/crash/everything.slow.test.ts repeats the same random choices
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { Cluster } from '../../cluster/cluster.ts'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { addSample } from '../kit/sampleRegion.ts'
import { KEYS, startServer } from '../kit/server.ts'
import { makeWorld, shareWorld } from '../kit/world.ts'
import { Seeded } from './seeded.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- answers of every shape
type Json = any

const DEVICES = 8
const UPDATES = 60
const ROUNDS = Number(process.env['RINGFENCE_CRASH_ROUNDS'] ?? 1)
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

/** A server or a cluster. */
interface Target {
  readonly url: string
  readonly kills: number
  /** Ends a process without warning and starts it again. */
  kill(number: number): Promise<void>
}

t.test(`the embedded engine, RINGFENCE_SEED=${seed}`, async (t) => {
  const server = await startServer(t, { sample: true })
  await compare(t, {
    url: server.url,
    kills: 4 * ROUNDS,
    async kill() {
      await server.kill9()
      await server.restart()
    },
  })
})

t.test(
  `the distributed engine, RINGFENCE_SEED=${seed}`,
  { skip: await skipWithout(NATS_SERVER) },
  async (t) => {
    await makeWorld()
    const folder = mkdtempSync(join(tmpdir(), 'ringfence-everything-'))
    for (const name of ['actors-1', 'actors-2', 'gateway-1']) {
      const data = join(folder, name)
      mkdirSync(data)
      shareWorld(data)
      await addSample(data)
    }
    const env = {
      RINGFENCE_KEYS: Object.values(KEYS).join(','),
      RINGFENCE_RATE_LIMITS: 'off',
      RINGFENCE_PARTITIONS: '8',
    }
    const cluster = await Cluster.start({ folder, nats: 1, gateways: 1, actors: 2, deliveries: 0, env })
    t.teardown(async () => {
      if (!t.passing())
        for (const { options, output } of cluster.members) console.error(`${options.name}:\n${output}`)
      await cluster.kill()
      rmSync(folder, { recursive: true, force: true })
    })
    await compare(t, {
      url: cluster.gateways[0]!.options.url,
      kills: 2 * ROUNDS,
      async kill(number) {
        const member = cluster.actors[number % 2]!
        await member.end('SIGKILL')
        member.start()
        await member.ready()
      },
    })
  },
)

async function compare(t: Test, target: Target): Promise<void> {
  const random = new Seeded(seed)
  const good = async (method: string, path: string, key: string, body?: unknown): Promise<Json> => {
    const headers = { authorization: key, 'content-type': 'application/json' }
    const init = body === undefined ? { method, headers } : { method, headers, body: JSON.stringify(body) }
    const answer = await fetch(target.url + path, init)
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
    return answer.json()
  }
  for (const key of [KEYS.testSecret, KEYS.liveSecret]) await good('PATCH', '/v1/settings', key, SETTINGS)
  const around = '/v1/search/places?near=-34.9061,-56.1934&radius=10000&limit=20'
  const { places } = await good('GET', `${around}&categories=cafe`, KEYS.testSecret)
  const { places: burgers } = await good('GET', `${around}&chains=mcdonalds`, KEYS.testSecret)
  const spots: [number, number][] = [...places, ...burgers].map(({ location }: Json) => location.coordinates)
  // In Buenos Aires, and at sea: often enough.
  for (let i = 0; i < 5; i++) spots.push([-58.44, -34.6], [-54, -37])
  const scripts = Array.from({ length: DEVICES }, (_, i) => scriptOf(random, `device-${i}`, spots))

  /** Sends an update until it is acknowledged. */
  const deliver = async (body: Json, key: string): Promise<void> => {
    const headers = { authorization: key, 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    for (;;) {
      const answer = await fetch(`${target.url}/v1/track`, init).catch(() => undefined)
      await answer?.arrayBuffer().catch(() => {})
      if (answer?.status === 200) return
      if (answer !== undefined && answer.status !== 503) throw new Error(`answered ${answer.status}`)
      await sleep(20)
    }
  }
  const drive = (key: string, before: (update: number) => unknown = () => {}) =>
    Promise.all(
      scripts.map(async (script) => {
        for (const [i, body] of script.entries()) {
          await before(i)
          await deliver(body, key)
        }
      }),
    )
  /** Events come to a gateway a moment after the answer: read until nothing changes any more. */
  const settled = async (key: string): Promise<Json> => {
    let before = ''
    for (;;) {
      const now = await seen(good, key)
      if (JSON.stringify(now) === before) return now
      before = JSON.stringify(now)
      await sleep(1000)
    }
  }
  await drive(KEYS.testPublishable)
  const expected = await settled(KEYS.testSecret)

  // Each share of the updates has its kill, somewhere in its middle. Nobody begins the next share before the killed
  // process is back, so that on a slow machine, too, each kill comes while devices send.
  let sent = 0
  let kills = 0
  const shareOf = (update: number) => Math.floor((update * target.kills) / UPDATES)
  const driven = drive(KEYS.livePublishable, async (update) => {
    await sleep(random.integer(0, 60))
    while (kills < shareOf(update)) await sleep(20)
    sent++
  })
  const killed = (async () => {
    while (kills < target.kills) {
      const share = kills + random.between(0.1, 0.7)
      while (sent < (share * DEVICES * UPDATES) / target.kills) await sleep(5)
      await target.kill(kills)
      kills++
    }
  })()
  await Promise.all([driven, killed])
  await target.kill(kills)
  const found = await settled(KEYS.liveSecret)
  t.strictSame(found, expected)
  const counts: Record<string, number> = {}
  for (const { type } of Object.values(found.events).flat() as Json[]) counts[type] = (counts[type] ?? 0) + 1
  t.comment(JSON.stringify({ kills, ...counts }))
  t.ok(target.kills > 1 && kills === target.kills, `${kills} kills`)
  for (const type of ['entered_place', 'exited_place', 'entered_region_country', 'failed_fraud'])
    t.ok(counts[`user.${type}`]! > 20, `${counts[`user.${type}`]} ${type}`)
  t.ok(
    found.users.some(({ segments }: Json) => segments.length > 0),
    'somebody is in a segment',
  )
}

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
  good: (method: string, path: string, key: string) => Promise<Json>,
  key: string,
): Promise<Json> {
  const events: Record<string, Json[]> = {}
  for (let i = 0; i < DEVICES; i++) {
    const list = await good('GET', `/v1/events?deviceId=device-${i}&limit=1000`, key)
    events[`device-${i}`] = list.events.map(plain)
  }
  const { users } = await good('GET', '/v1/users?limit=100', key)
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
