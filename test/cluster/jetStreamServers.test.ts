/** The log over JetStream while servers and owners end, stop and come back. See jetStreamFaults.slow.test.ts. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { framesOf } from '../log/contract.ts'
import { until } from '../kit/waiting.ts'
import { compare, eventsIn, eventsOf, load, openOwner, SYNC_ALWAYS, withStreams } from './jetStreamKit.ts'

/** Number of kills in a row. */
const RUNS = Number(process.env['RINGFENCE_TEST_RUNS'] ?? 1)
const skip = await skipWithout(NATS_SERVER)

t.test('kill -9 of the server amid commits', { skip }, async (t) => {
  const streams = await withStreams(t, SYNC_ALWAYS)
  const loads = await load(streams, 4)
  for (let round = 0; round < 3 * RUNS; round++) {
    await sleep(300 + Math.random() * 300)
    await streams.server.kill9()
    await streams.server.start()
  }
  await sleep(300)
  await Promise.all(loads.map((one) => one.stop()))
  await compare(t, streams, streams.server, loads)
})

t.test(
  'an owner that was stopped and wakes up after another took over cannot commit (G4), nor publish twice (G2)',
  { skip },
  async (t) => {
    const streams = await withStreams(t)
    const child = spawn(
      process.execPath,
      [fileURLToPath(new URL('./jetStreamOwnerChild.ts', import.meta.url)), streams.server.address, 'zombie'],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    t.teardown(() => child.kill('SIGKILL'))
    const lines: string[] = []
    createInterface(child.stdout).on('line', (line) => lines.push(line))
    await until(() => lines.length > 50)
    child.kill('SIGSTOP')
    await sleep(500)
    const decode = (frame: Uint8Array) => eventsIn(Buffer.from(frame).toString())
    const { log, commit } = await openOwner(streams, 0, { eventsOf: decode })
    t.ok(await commit('after.3', eventsIn('after.3')))
    child.kill('SIGCONT')
    await once(child, 'close')
    t.equal(lines.pop(), 'fenced out')
    t.ok(await commit('more.6', eventsIn('more.6')))
    const found = (await framesOf(log, 1)).map(({ payload }) => Buffer.from(payload).toString())
    const own = found.filter((frame) => frame.startsWith('zombie'))
    t.strictSame(found.slice(own.length), ['after.3', 'more.6'], 'nothing of the zombie after the take-over')
    t.strictSame(own.slice(0, lines.length), lines, 'all that it had been told is there')
    t.ok(own.length - lines.length <= 1, 'and the frame that was on its way at most')
    const ids = found.flatMap((frame) => eventsIn(frame).map(({ id }) => id))
    t.strictSame(await eventsOf(streams.server, ids.length), ids, `${ids.length} events, once and in order`)
    await log.close()
  },
)
