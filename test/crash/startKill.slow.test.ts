/**
 * Kills a start at any of the system calls by which it changes the data folder. The next start must behave as if the
 * killed one had not happened. By default some of these calls are chosen at random; RINGFENCE_TEST_RUNS=10 takes
 * nearly all. RINGFENCE_SEED repeats a choice.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { KEYS, Server } from '../kit/server.ts'
import { cpuTicks } from '../kit/waiting.ts'
import { Seeded } from './seeded.ts'
import { noTrace } from './systemCalls.ts'

const CALLS = 'pwrite64,fsync,fdatasync,rename,unlink,ftruncate,mkdir'
/** A first start makes 39 of them in its busiest thread, and a recovery some more. */
const MOST_CALLS = 60
/**
 * A start that has used no CPU for this long is being held by strace. One that still works uses CPU even on a slow
 * machine.
 */
const HELD_MS = 2000
/** Without the runner's options: they would add calls of their own. */
const ENV = { RINGFENCE_SEGMENT_BYTES: '65536', NODE_OPTIONS: '' }
const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

const runs = Math.ceil(3 * Number(process.env['RINGFENCE_TEST_RUNS'] ?? 1))
const seed = Number(process.env['RINGFENCE_SEED'] ?? Date.now() % 1e9)
const random = new Seeded(seed)
const skip = noTrace()

/** Starts a server that is killed at the `count`th of the calls, or at the latest when it listens. */
async function killedStart(data: string, count: number): Promise<void> {
  const options = [
    '-f',
    '-o',
    '/dev/null',
    '-e',
    `trace=${CALLS}`,
    '-e',
    `inject=${CALLS}:signal=KILL:when=${count}`,
  ]
  const child = spawn('strace', [...options, process.execPath, MAIN], {
    stdio: ['ignore', 'pipe', 'ignore'],
    // A process group, because killing only the tracer would leave the server running.
    detached: true,
    env: {
      ...process.env,
      ...ENV,
      RINGFENCE_DATA: data,
      RINGFENCE_PORT: '0',
      RINGFENCE_KEYS: Object.values(KEYS).join(','),
    },
  })
  const kill = () => void process.kill(-child.pid!, 'SIGKILL')
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (text.includes('"listening"')) kill()
  })
  // In threads other than the first, strace may hold the call instead of killing the process. Then it is killed here,
  // inside the call.
  const ended = once(child, 'close')
  let [ticks, since] = ['', performance.now()]
  const watch = setInterval(() => {
    const now = cpuTicks(child.pid!)
    if (now !== ticks) [ticks, since] = [now, performance.now()]
    else if (performance.now() - since > HELD_MS) kill()
  }, 100)
  await ended
  clearInterval(watch)
}

/** Everything that the API shows about users, geofences and events. */
async function told(server: Server): Promise<unknown> {
  const paths = ['/v1/users?limit=1000', '/v1/geofences?limit=1000', '/v1/events?limit=1000', '/v1/settings']
  return Promise.all(paths.map(async (path) => (await server.api('GET', path)).body))
}

t.test(`a first start, RINGFENCE_SEED=${seed}`, { skip }, async (t) => {
  for (let run = 0; run < runs; run++) {
    const data = t.testdir({})
    const counts = [random.integer(1, 38), random.integer(1, 38)]
    for (const count of counts) await killedStart(data, count)
    const server = await Server.start({ data, env: ENV })
    const update = { deviceId: 'phone', latitude: 0, longitude: 0, accuracy: 5 }
    t.equal(
      (await server.api('POST', '/v1/track', update)).status,
      200,
      `killed in calls ${counts.join(', then ')}`,
    )
    await server.kill9()
  }
})

t.test(`a recovery, RINGFENCE_SEED=${seed}`, { skip }, async (t) => {
  const folder = t.testdir({ data: {} })
  const data = join(folder, 'data')
  const circle = { type: 'circle', description: 'here', coordinates: [0, 0], radius: 100 }
  const server = await Server.start({ data, env: ENV })
  await server.api('PUT', '/v1/geofences/tag/here', circle)
  let updates = 0
  const device = async (deviceId: string) => {
    for (let i = 0; ; i++) {
      const body = {
        deviceId,
        latitude: 0,
        longitude: (i % 2) / 100,
        accuracy: 5,
        description: ''.padEnd(300),
      }
      const answer = await server.api('POST', '/v1/track', body).catch(() => undefined)
      if (answer === undefined) return
      if (++updates === 600) await server.kill9()
    }
  }
  await Promise.all(Array.from({ length: 16 }, (_, i) => device(`device-${i}`)))

  const copyOf = (name: string) => {
    const copy = join(folder, name)
    cpSync(data, copy, { recursive: true })
    return copy
  }
  const recovered = async (copy: string) => {
    const again = await Server.start({ data: copy, env: ENV })
    const answers = await told(again)
    await again.kill9()
    return answers
  }
  const undisturbed = await recovered(copyOf('undisturbed'))
  for (let run = 0; run < runs; run++) {
    const copy = copyOf(`run-${run}`)
    const counts = [random.integer(1, MOST_CALLS), random.integer(1, MOST_CALLS)]
    for (const count of counts) await killedStart(copy, count)
    t.strictSame(await recovered(copy), undisturbed, `killed in calls ${counts.join(', then ')}`)
  }
})
