/** The log over JetStream in a cluster whose leaders change. See jetStreamFaults.slow.test.ts. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { openStreams } from '../../src/cluster/journal/jetStreamStreams.ts'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { natsCluster } from '../kit/nats.ts'
import { until } from '../kit/waiting.ts'
import { compare, load, reconnecting, STREAM_OPTIONS } from './jetStreamKit.ts'

/**
 * The leader is killed from the second run on, because the other servers need half a minute to notice and to continue
 * EVENTS.
 */
const RUNS = Math.ceil(Number(process.env['RINGFENCE_TEST_RUNS'] ?? 1))
const skip = await skipWithout(NATS_SERVER)

t.test('three servers whose leaders change: each frame and event once', { skip }, async (t) => {
  const { names, servers } = await natsCluster(t)
  const connection = await reconnecting(t, servers)
  const options = { ...STREAM_OPTIONS, partitions: 2, replicas: 3 }
  const opened = () => openStreams(connection, options).catch(() => sleep(100))
  let streams = await opened()
  while (streams === undefined) streams = await opened()
  const { manager } = streams
  const loads = await load({ connection, manager }, 2)
  /** The leader of a stream whose followers are up to date. */
  const healthyLeader = async (stream: string): Promise<string> => {
    for (;;) {
      const info = await manager.streams.info(stream).catch(() => undefined)
      const { leader, replicas } = info?.cluster ?? {}
      if (leader && replicas?.length === 2 && replicas.every(({ current }) => current)) return leader
      await sleep(50)
    }
  }
  const progress = async () => {
    const before = loads.map(({ frames }) => frames.length)
    await until(() => loads.every(({ frames }, i) => frames.length > before[i]! + 20))
  }
  const led = new Set<string>()
  for (let round = 0; round < 4 * RUNS; round++) {
    led.add(await healthyLeader('P0'))
    await connection.request('$JS.API.STREAM.LEADER.STEPDOWN.P0', '', { timeout: 10_000 })
    await progress()
  }
  for (let round = 1; round < RUNS; round++) {
    const leader = servers[names.indexOf(await healthyLeader('P0'))]!
    await leader.kill9()
    await progress()
    await leader.start()
    await healthyLeader('P0')
  }
  await Promise.all(loads.map((one) => one.stop()))
  await compare(t, { connection, manager }, servers[0]!, loads)
  t.ok(led.size > 1, `leaders: ${[...led].join(', ')}`)
})
