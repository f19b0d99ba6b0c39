/**
 * What an update costs over HTTP, compared with the cost of the transport alone.
 *
 * Three servers take the same requests from the same generator in the same run (load/contest.ts): a bare
 * uWebSockets.js handler, the bare handler with a flush per batch that gathers like Ringfence's, and Ringfence.
 */
import { Agent } from 'node:http'
import { parseArgs } from 'node:util'
import { median, rounded, thousands } from './figures.ts'
import { benchFolder } from './folder.ts'
import { sampleAnswers, type AnswerShape } from './load/answerShape.ts'
import { contest, limits, tableRow, warnOfOtherLoad, type Outcome } from './load/contest.ts'
import { CONNECTIONS, HttpContender } from './load/httpContender.ts'
import { loadGenerator, type Generator } from './load/load.ts'
import { BENCH_KEYS, seedGeofences, startBare, startRingfence } from './load/servers.ts'
import { drawGeofences, writeWorkload } from './load/workload.ts'
import { flushMs } from './machine.ts'
import { done, progress } from './progress.ts'

/** The stated ratio: bare CPU per update / Ringfence CPU per update. */
const STATED_RATIO = 0.7
/** How far below it `--strict` lets a noisy machine measure. */
const TOLERANCE = 0.1

const { values: options } = parseArgs({
  options: {
    strict: { type: 'boolean', default: false },
    smoke: { type: 'boolean', default: false },
    /** Duration of one window. */
    seconds: { type: 'string' },
    seed: { type: 'string', default: '1' },
    /** The common rate of the CPU windows, updates per second; default: a share of what the slowest answers. */
    rate: { type: 'string' },
  },
})
const size = options.smoke
  ? { geofences: 5_000, devices: 5_000, windows: 1, searchSteps: 1, seconds: 1, closedCount: 10_000 }
  : { geofences: 100_000, devices: 100_000, windows: 9, searchSteps: 5, seconds: 2, closedCount: 100_000 }
const seconds = Number(options.seconds ?? size.seconds)
if (!(seconds > 0)) throw new Error('--seconds: a number above 0')
const rate = options.rate === undefined ? undefined : Number(options.rate)
if (rate !== undefined && !(rate > 0)) throw new Error('--rate: a number above 0')
const seed = Number(options.seed)

async function main(): Promise<number> {
  const folder = benchFolder('http')
  const generator = await loadGenerator()
  if (generator.reason !== undefined) done(`Generator in Node, not native: ${generator.reason}`)
  const { contenders, shape } = await prepare(folder, generator)
  const { windows, searchSteps, closedCount } = size
  const outcome = await contest('http', contenders, { windows, seconds, searchSteps, closedCount, rate })
  for (const { server } of contenders) await server.stop()
  return report(outcome, contenders, shape, generator, flushMs(folder))
}

async function prepare(folder: string, generator: Generator) {
  const workload = writeWorkload({
    ...size,
    seed,
    folder,
    publishableKey: BENCH_KEYS.testPublishable,
    onProgress: progress,
  })
  const startedAt = performance.now()
  seedGeofences(folder, drawGeofences(size.geofences, seed), (stored) =>
    progress(`geofences stored: ${thousands(stored)} of ${thousands(size.geofences)}`),
  )
  const server = await startRingfence(folder)
  const took = (performance.now() - startedAt) / 1000
  done(`${thousands(size.geofences)} geofences stored and loaded in ${took.toFixed(1)} s`)
  const ringfence = new HttpContender('ringfence', server, workload, generator)
  await ringfence.warmUp()
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const shape = await sampleAnswers(server.port, BENCH_KEYS.testPublishable, workload.sampleBodies, agent)
  agent.destroy()
  const bare = new HttpContender('bare', await startBare(folder, 'bare', shape), workload, generator)
  const bareFsync = new HttpContender(
    'bareFsync',
    await startBare(folder, 'bareFsync', shape, { flushes: true }),
    workload,
    generator,
  )
  await bare.warmUp()
  await bareFsync.warmUp()
  return { contenders: [bare, bareFsync, ringfence], shape }
}

function report(
  outcome: Outcome,
  contenders: readonly HttpContender[],
  shape: AnswerShape,
  generator: Generator,
  flushTimeMs: number,
): number {
  const { standings } = outcome
  const cpu = (name: string) => standings[name]!.cpuMicrosPerUpdate
  const ratio = cpu('bare') / cpu('ringfence')
  const ceiling = cpu('bare') / cpu('bareFsync')
  const rows = [
    {
      case: `POST /v1/track, ${CONNECTIONS} connections`,
      ...tableRow(outcome),
      stated: STATED_RATIO,
      ...limits(outcome),
    },
  ]
  console.table(rows)
  const promise = options.smoke
    ? 'a smoke run: it shows that the bench works, not the figure'
    : `stated: ${STATED_RATIO}`
  console.log(`bare / Ringfence CPU per update: ${ratio.toFixed(3)} (${promise})`)
  console.log(`bare / bare with fdatasync:      ${ceiling.toFixed(3)} (the ceiling of that ratio)`)
  warnOfOtherLoad([outcome])
  const details = contenders.map(({ name, bytesPerAnswer }) => [
    name,
    { ...standings[name]!, bytesPerAnswer: Math.round(median(bytesPerAnswer)) },
  ])
  console.log(
    JSON.stringify({
      bench: 'http',
      ratio: rounded(ratio, 3),
      statedRatio: STATED_RATIO,
      ceilingRatio: rounded(ceiling, 3),
      rows,
      offeredRatePerSecond: outcome.offeredRatePerSecond,
      halfRatePerSecond: outcome.halfRatePerSecond,
      ...Object.fromEntries(details),
      geofences: size.geofences,
      devices: size.devices,
      connections: CONNECTIONS,
      seed,
      windowSeconds: seconds,
      windows: size.windows,
      eventsPerUpdate: rounded(shape.eventsPerUpdate, 4),
      answerBodyBytes: shape.bodyBytes,
      generator: generator.kind,
      ...(generator.reason === undefined ? {} : { generatorReason: generator.reason }),
      flushMs: rounded(flushTimeMs, 3),
      smoke: options.smoke,
    }),
  )
  const missed = !options.smoke && ratio < STATED_RATIO * (1 - TOLERANCE)
  return options.strict && missed ? 1 : 0
}

process.exit(await main())
