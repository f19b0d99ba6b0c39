/**
 * What an update costs if there are a thousand times as many geofences at the same density. Two Ringfence servers
 * take the same kind of frames in turn at one rate. Distant geofences must cost nothing.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { median, rounded, thousands } from './figures.ts'
import { benchFolder } from './folder.ts'
import { BENCH_KEYS, seedGeofences, startRingfence, type ServerProcess } from './load/servers.ts'
import { startStreamGenerator, type StreamGenerator, type StreamSession } from './load/streamLoad.ts'
import { drawGeofences, writeWorkload } from './load/workload.ts'
import { done, progress } from './progress.ts'

/** CPU per update with the most geofences, as a multiple of that with the fewest, at most. */
const STATED_FACTOR = 1.5
/** How far above it `--strict` lets a noisy machine measure. */
const TOLERANCE = 0.1
const SENT_ROUNDS = 3
/** Updates per second until every device exists. */
const WARM_UP_RATE = 10_000
const MIB = 1024 * 1024

const { values: options } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    strict: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
    /** Duration of one window. */
    seconds: { type: 'string' },
    /** Windows of each server. */
    rounds: { type: 'string' },
    /** Updates per second. */
    rate: { type: 'string' },
  },
})
const size = options.smoke
  ? { geofences: [100, 10_000], devices: 2_000, windows: 1, seconds: 0.5, rate: 5_000 }
  : { geofences: [1_000, 100_000, 1_000_000], devices: 100_000, windows: 5, seconds: 2, rate: 20_000 }
const windows = Number(options.rounds ?? size.windows)
const seconds = Number(options.seconds ?? size.seconds)
const rate = Number(options.rate ?? size.rate)
const seed = Number(options.seed)
const folder = benchFolder('growth')

interface Contender {
  readonly geofences: number
  readonly server: ServerProcess
  readonly generator: StreamGenerator
  /** Whether updates within the safe zone of their device skip the evaluation. */
  readonly zones: boolean
  readonly session: StreamSession
  readonly cpuMicros: number[]
}

async function contender(geofences: number, zones: boolean): Promise<Contender> {
  const home = join(folder, `${geofences}-${zones}`)
  mkdirSync(home)
  const workload = writeWorkload({
    geofences,
    devices: size.devices,
    seed,
    folder: home,
    publishableKey: BENCH_KEYS.testPublishable,
    onProgress: progress,
  })
  seedGeofences(home, drawGeofences(geofences, seed), (stored) => progress(`geofences: ${thousands(stored)}`))
  const server = await startRingfence(home, zones ? {} : { preloads: ['bench/load/withoutZones.ts'] })
  const generator = await startStreamGenerator(workload.trackBodies, size.devices * SENT_ROUNDS)
  const session = await generator.open({
    port: server.port,
    key: BENCH_KEYS.testPublishable,
    encoding: 'json',
    connections: 16,
    updatesPerFrame: 32,
    updatesPerRound: size.devices,
    events: false,
  })
  const one = { geofences, server, generator, zones, session, cpuMicros: [] }
  await load(one, WARM_UP_RATE, size.devices)
  done(`${thousands(geofences)} geofences: ready`)
  return one
}

/**
 * Loads one server for one window.
 * @returns CPU microseconds of the server per update
 */
async function load({ session, server, geofences }: Contender, perSecond: number, count: number) {
  const before = server.cpuSeconds()
  const result = await session.run({ rate: perSecond, count, maxLagMs: 10_000 })
  if (result.ok < result.sent || result.unsent > 0 || result.problems > 0)
    throw new Error(`${geofences}: not every update was acknowledged: ${JSON.stringify(result)}`)
  return ((server.cpuSeconds() - before) / result.ok) * 1e6
}

const rows: Record<string, number | boolean>[] = []
for (const zones of [true, false]) {
  const contenders: Contender[] = []
  for (const geofences of size.geofences) contenders.push(await contender(geofences, zones))
  for (let round = 1; round <= windows; round++) {
    for (const one of contenders) {
      progress(`${thousands(one.geofences)} geofences: ${round} of ${windows}`)
      one.cpuMicros.push(await load(one, rate, Math.ceil(rate * seconds)))
    }
  }
  const least = median(contenders[0]!.cpuMicros)
  for (const { geofences, cpuMicros, server, generator } of contenders) {
    rows.push({
      geofences,
      zones,
      micros: rounded(median(cpuMicros), 2),
      microsMin: rounded(Math.min(...cpuMicros), 2),
      microsMax: rounded(Math.max(...cpuMicros), 2),
      factor: rounded(median(cpuMicros) / least, 3),
      rssMiB: Math.round(server.rssBytes() / MIB),
    })
    generator.stop()
    await server.stop()
  }
}
console.table(rows)
const factor = Math.max(...rows.map((row) => row['factor'] as number))
console.log(
  `most geofences / fewest, CPU per update: ${factor} ` +
    (options.smoke ? '(a smoke run)' : `(stated: ${STATED_FACTOR})`),
)
console.log(
  JSON.stringify({
    bench: 'growth',
    factor,
    statedFactor: STATED_FACTOR,
    rows,
    ratePerSecond: rate,
    devices: size.devices,
    seed,
    windows,
    windowSeconds: seconds,
    smoke: options.smoke,
  }),
)
process.exit(options.strict && !options.smoke && factor > STATED_FACTOR * (1 + TOLERANCE) ? 1 : 0)
