/** The NATS bridge with a cluster whose leaders change: the stream always equals the beginning of the log. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { natsCluster } from '../kit/nats.ts'
import { startServer } from '../kit/server.ts'
import { caughtUp, load, logOf } from './natsKit.ts'
import { until } from '../kit/waiting.ts'

/** The leader is killed from the second run on. */
const RUNS = Math.ceil(Number(process.env.RINGFENCE_TEST_RUNS ?? 1))

const skip = await skipWithout(NATS_SERVER)

t.test('the leader of the stream changes again and again: each event once, in order', { skip }, async (t) => {
  const { names, servers } = await natsCluster(t)
  const stream = { name: 'EVENTS', subjects: ['events.>'], allow_atomic: true, num_replicas: 3 }
  await until(async () => {
    try {
      await (await servers[0]!.manager()).streams.add(stream)
      return true
    } catch {
      return false
    }
  })
  /** What a member of the cluster reports about the stream. */
  const cluster = async (asked: number) =>
    (await (await servers[asked]!.manager()).streams.info('EVENTS')).cluster!

  const server = await startServer(t, {
    env: { RINGFENCE_NATS_URL: servers.map(({ address }) => `nats://${address}`).join(',') },
  })
  const events = load(server, 6)
  const healthy = async (members: readonly number[]) => {
    let leader = -1
    await until(async () => {
      const info = await cluster(members[0]!).catch(() => undefined)
      leader = names.indexOf(info?.leader ?? '')
      const followers = info?.replicas?.filter(({ name }) => members.includes(names.indexOf(name))) ?? []
      return members.includes(leader) && followers.length > 0 && followers.every(({ current }) => current)
    })
    return leader
  }
  const led: string[] = []
  for (let round = 0; round < 6 * RUNS; round++) {
    const leader = await healthy([0, 1, 2])
    led.push(names[leader]!)
    const client = await servers[leader]!.client()
    await client.request('$JS.API.STREAM.LEADER.STEPDOWN.EVENTS', '', { timeout: 10_000 })
    await sleep(300)
  }
  // The other members need some eight seconds each time to notice.
  for (let round = 1; round < RUNS; round++) {
    const leader = await healthy([0, 1, 2])
    led.push(`${names[leader]} (killed)`)
    await servers[leader]!.kill9()
    await healthy([0, 1, 2].filter((one) => one !== leader))
    await sleep(300)
    await servers[leader]!.start()
  }
  await events.stop()
  await caughtUp(server)
  await server.stop()
  const log = logOf(server)
  t.ok(log.length > 100, `${log.length} events; leaders: ${led.join(', ')}`)
  t.ok(new Set(led).size > 1, 'the leader has changed')
  let ids: string[] = []
  await until(async () => {
    // A consumer that has just been created may have no leader yet: "no responders".
    const messages = await servers[0]!.messages('EVENTS').catch(() => [])
    ids = messages.map(({ id }) => id)
    return ids.length >= log.length
  })
  t.strictSame(ids, log)
})
