/**
 * Hosts as real processes over a real NATS server, under load, while one is killed, one is stopped for a while and
 * one shuts down. Every update is acknowledged, and the events are those of a single undisturbed host, each exactly
 * once (G1 to G4, G6, G9).
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { HostUsers } from '../../src/users/hostUsers.ts'
import { NatsCalls } from '../../src/cluster/nats/natsCalls.ts'
import type { Update } from '../../src/model/update.ts'
import { AWAY, Engine, HERE, SALT } from '../actor/kit.ts'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import type { NatsServer } from '../kit/nats.ts'
import { consumersOf, withStreams } from './jetStreamKit.ts'
import { allUsers, byDevice, fixedWorld, gatewayOf, outcome, PARTITIONS, track } from './kit.ts'
import { progress, until } from '../kit/waiting.ts'

const skip = await skipWithout(NATS_SERVER)
const DEVICES = 40
const TTL_MS = 900
/** Their servers keep them for half a minute. The library's own watches would leave them for five. */
const GONE_MS = 60_000

t.test('one is killed, one is stopped for a while, one shuts down', { skip }, async (t) => {
  const { server, connection } = await withStreams(t, { partitions: PARTITIONS })
  const world = fixedWorld()
  const gateway = gatewayOf(new NatsCalls(connection), world)
  const [a, b, c] = await Promise.all(['a', 'b', 'c'].map((name) => host(t, server, name)))

  const sent: Update[][] = Array.from({ length: DEVICES }, () => [])
  let repeated = 0
  const stopped = new AbortController()
  const device = async (updates: Update[], i: number) => {
    for (let n = 0; !stopped.signal.aborted; n++) {
      const { latitude, longitude } = n % 3 === 0 ? AWAY : HERE
      const update = {
        scope: 0,
        deviceId: `d${i}`,
        userId: i % 2 === 0 ? 'ann' : undefined,
        latitude: latitude + (n % 7) * 1e-6,
        longitude,
        accuracy: 5,
        foreground: false,
        stopped: false,
        replayed: false,
        receivedAt: Date.now(),
        ip: '192.0.2.1',
      }
      updates.push(update)
      if (outcome(await track(gateway, update)).repeated) repeated++
      await sleep(5)
    }
  }
  const load = Promise.all(sent.map(device))

  await sleep(1000)
  a!.kill('SIGKILL')
  await sleep(1500)
  const d = await host(t, server, 'd')
  b!.kill('SIGSTOP')
  await sleep(2500)
  b!.kill('SIGCONT')
  c!.kill('SIGTERM')
  await once(c!, 'exit')
  t.equal(c!.exitCode, 0)
  await sleep(500)
  stopped.abort()
  await load

  const engine = new Engine({ world, partitions: PARTITIONS })
  for (const updates of sent) for (const update of updates) outcome(await track(engine.host, update))
  const events = async () =>
    (await server.messages('EVENTS')).filter(({ subject }) => subject.startsWith('events.'))
  await until(async () => (await events()).length >= engine.events.all.length)
  const published = (await events()).map(({ id, data }) => {
    const json = Buffer.from(data).toString()
    return { id, json, deviceId: JSON.parse(json).user.deviceId as string }
  })
  t.equal(new Set(published.map(({ id }) => id)).size, published.length, 'G2: each once')
  t.strictSame(byDevice(published), byDevice(engine.events.all), 'G3, G6')
  const parts = { salt: SALT, registry: world, clock: engine.clock }
  t.strictSame(await allUsers(gateway), await allUsers(new HostUsers(() => [engine.host], parts)))
  const updates = sent.reduce((sum, { length }) => sum + length, 0)
  t.comment(JSON.stringify({ updates, events: published.length, repeated }))
  for (const child of [b!, d]) child.kill('SIGKILL')
})

t.test('the consumers of a host that was killed are gone within a minute', { skip }, async (t) => {
  const { server, manager } = await withStreams(t, { partitions: PARTITIONS })
  const killed = await host(t, server, 'killed')
  await until(async () => (await consumersOf(manager)).length === 2)
  killed.kill('SIGKILL')
  await once(killed, 'exit')
  t.equal((await consumersOf(manager)).length, 2, 'the process itself has not removed them')
  let left = 2
  for (const end = performance.now() + GONE_MS; left > 0 && performance.now() < end; await sleep(1000)) {
    left = (await consumersOf(manager)).length
    progress()
  }
  t.equal(left, 0)
})

async function host(t: Test, { address }: NatsServer, name: string): Promise<ChildProcess> {
  const file = fileURLToPath(new URL('hostChild.ts', import.meta.url))
  const child = spawn(process.execPath, [file, address, name, `${TTL_MS}`], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.teardown(() => {
    child.kill('SIGCONT')
    child.kill('SIGKILL')
  })
  let output = ''
  child.stderr!.on('data', (chunk) => (output += chunk))
  t.teardown(() => void (t.passing() || console.error(output)))
  await once(child.stdout!, 'data')
  return child
}
