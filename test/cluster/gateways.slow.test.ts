/**
 * Streams of the client whose gateway ends: they move to another, by several addresses in the client or by a proxy in
 * front. Real processes, which are killed and shut down while updates and events are on their way.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Cluster } from '../../cluster/cluster.ts'
import type { Member } from '../../cluster/member.ts'
import { Ringfence, type Event } from '../../sdk/src/index.ts'
import { PROXIES, skipWithoutProxy, startProxy } from '../deploy/proxyKit.ts'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { KEYS } from '../kit/server.ts'
import { until } from '../kit/waiting.ts'

const skip = await skipWithout(NATS_SERVER)
const DEVICES = 20
/** Updates of each device in each of the rounds; in each a gateway ends. */
const EACH = 30
const ENDS = ['SIGKILL', 'SIGTERM'] as const
const [LATITUDE, LONGITUDE] = [40.6892, -74.0445]

/** Alternately inside and outside, so each update makes an event, and a lost or repeated one changes their number. */
function update(deviceId: string, n: number) {
  return { deviceId, latitude: n % 2 === 0 ? LATITUDE : LATITUDE + 1, longitude: LONGITUDE, accuracy: 5 }
}

let cluster: Cluster

t.before(async () => {
  if (skip !== false) return
  const folder = mkdtempSync(join(tmpdir(), 'ringfence-gateways-'))
  t.teardown(async () => {
    await cluster?.kill()
    rmSync(folder, { recursive: true, force: true })
  })
  cluster = await Cluster.start({
    folder,
    nats: 1,
    gateways: 2,
    actors: 1,
    deliveries: 0,
    env: {
      RINGFENCE_KEYS: Object.values(KEYS).join(','),
      RINGFENCE_RATE_LIMITS: 'off',
      RINGFENCE_PARTITIONS: '8',
    },
  })
  const client = new Ringfence({ url: urls(), key: KEYS.testSecret })
  await client.putGeofence('islands', 'liberty', {
    description: 'Liberty Island',
    type: 'circle',
    coordinates: [LONGITUDE, LATITUDE],
    radius: 300,
  })
})

function urls(): string[] {
  return cluster.gateways.map(({ options }) => options.url)
}

/** Each gateway ends once, while devices send and a reader follows their events. */
async function survives(t: Test, client: Ringfence, name: string): Promise<void> {
  const devices = Array.from({ length: DEVICES }, (_, i) => `${name}-${i}`)
  const deviceIds = devices
  const following = client.stream()
  const sending = client.stream()
  const events = following.events({ deviceIds })
  await events.ready
  let sent = 0
  const round = (from: number) =>
    Promise.all(
      devices.map(async (deviceId) => {
        for (let n = from; n < from + EACH; n++) {
          await sending.track(update(deviceId, n))
          sent++
        }
      }),
    )
  for (const [r, signal] of ENDS.entries()) {
    const gateway = cluster.gateways[r]!
    const all = round(r * EACH)
    const half = sent + (DEVICES * EACH) / 2
    await until(() => sent >= half)
    await end(gateway, signal)
    await all
    t.pass(`${name}: all updates are acknowledged although ${gateway.options.name} got ${signal}`)
    gateway.start()
    await gateway.ready()
  }
  const collected: Event[] = []
  for await (const event of events) if (collected.push(event) === DEVICES * EACH * ENDS.length) break
  t.equal(new Set(collected.map(({ _id }) => _id)).size, collected.length, 'no event comes twice')
  for (const deviceId of devices) {
    const types = collected.filter(({ user }) => user?.deviceId === deviceId).map(({ type }) => type)
    const expected = types.map((_, n) => (n % 2 === 0 ? 'user.entered_geofence' : 'user.exited_geofence'))
    if (types.length !== EACH * ENDS.length || types.join() !== expected.join())
      t.fail(`${deviceId}: ${types.length} events, or in another order`, { types })
  }
  await Promise.all([sending.close(), following.close()])
}

async function end(gateway: Member, signal: NodeJS.Signals): Promise<void> {
  const code = await gateway.end(signal)
  if (signal === 'SIGTERM' && code !== 0) throw new Error(`${gateway.options.name} ended with ${code}`)
}

t.test('a client with the addresses of all gateways', { skip }, async (t) => {
  const client = new Ringfence({ url: urls(), key: KEYS.testSecret })
  await survives(t, client, 'direct')
  await cluster.gateways[0]!.end('SIGKILL')
  for (let i = 0; i < 4; i++)
    t.equal((await client.get('/v1/users', { query: { limit: 1 } })).users.length, 1, 'calls move, too')
  cluster.gateways[0]!.start()
  await cluster.gateways[0]!.ready()
})

for (const proxy of PROXIES)
  t.test(`a client behind ${proxy.name}`, { skip: skip || skipWithoutProxy(proxy) }, async (t) => {
    const ports = urls().map((url) => Number(new URL(url).port))
    const url = `https://127.0.0.1:${await startProxy(t, proxy, ports)}`
    // The certificate is the test's own.
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
    const client = new Ringfence({ url, key: KEYS.testSecret })
    await survives(t, client, proxy.name)
  })
