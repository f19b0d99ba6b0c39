/**
 * What an update costs over a stream, beside what the transport alone costs: Ringfence and a bare uWebSockets.js handler
 * take the same frames from the same generator in the same run, turn by turn in short windows, at one offered rate.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import {
  BENCH_KEYS,
  seedGeofences,
  startBareStream,
  startRingfence,
  type ServerProcess,
} from './load/servers.ts'
import { ENCODINGS, type Encoding } from './load/streamFrames.ts'
import { startStreamGenerator, type StreamGenerator } from './load/streamLoad.ts'
import { drawGeofences, writeWorkload } from './load/workload.ts'
import { done, progress } from './progress.ts'

interface Case {
  readonly encoding: Encoding
  readonly updatesPerFrame: number
  readonly connections: number
  /** Updates per second. */
  readonly rate: number
}

const { values: options } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    strict: { type: 'boolean', default: false },
    seconds: { type: 'string' },
    rounds: { type: 'string' },
    seed: { type: 'string', default: '1' },
    encoding: { type: 'string' },
  },
})
const size = options.smoke
  ? { geofences: 5_000, devices: 5_000, rounds: 1, seconds: 1 }
  : { geofences: 100_000, devices: 100_000, rounds: 5, seconds: 2 }
const seconds = Number(options.seconds ?? size.seconds)
const rounds = Number(options.rounds ?? size.rounds)
const seed = Number(options.seed)
/** Rounds of the workload that are sent. */
const SENT_ROUNDS = 3

const CASES: readonly Case[] = ENCODINGS.filter(
  (encoding) => options.encoding === undefined || encoding === options.encoding,
).flatMap((encoding) => [
  { encoding, updatesPerFrame: 32, connections: 16, rate: options.smoke ? 10_000 : 60_000 },
  {
    encoding,
    updatesPerFrame: 1,
    connections: options.smoke ? 50 : 1000,
    rate: options.smoke ? 2_000 : 20_000,
  },
])

async function main(): Promise<void> {
  const base = join(import.meta.dirname, '..', 'data')
  mkdirSync(base, { recursive: true })
  const folder = mkdtempSync(join(base, 'bench-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
  const workload = writeWorkload({
    ...size,
    seed,
    folder,
    publishableKey: BENCH_KEYS.testPublishable,
    onProgress: progress,
  })
  seedGeofences(folder, drawGeofences(size.geofences, seed), (stored) => progress(`geofences: ${stored}`))
  const ringfence = await startRingfence(folder)
  const bare = await startBareStream(folder)
  const generator = await startStreamGenerator(workload.trackBodies, size.devices * SENT_ROUNDS)
  done('started')
  // Every device exists, and the code is compiled.
  const warmUp = { ...CASES[0]!, rate: 40_000, seconds: (size.devices * SENT_ROUNDS) / 40_000 }
  for (const server of [ringfence, bare]) await windowOf(server, generator, warmUp)
  const rows = []
  for (const single of CASES) rows.push(await measure(single, bare, ringfence, generator))
  generator.stop()
  await bare.stop()
  await ringfence.stop()
  console.table(rows)
  console.log(JSON.stringify({ bench: 'stream', ...size, rounds, seconds, seed, smoke: options.smoke, rows }))
}

async function measure(
  single: Case,
  bare: ServerProcess,
  ringfence: ServerProcess,
  generator: StreamGenerator,
): Promise<Record<string, unknown>> {
  const cpu: { bare: number[]; ringfence: number[] } = { bare: [], ringfence: [] }
  const p99: number[] = []
  const p50: number[] = []
  for (let round = 0; round < rounds; round++) {
    progress(`${single.encoding}, frames of ${single.updatesPerFrame}: round ${round + 1} of ${rounds}`)
    const other = await windowOf(bare, generator, { ...single, seconds })
    const own = await windowOf(ringfence, generator, { ...single, seconds })
    cpu.bare.push(other.cpuMicros)
    cpu.ringfence.push(own.cpuMicros)
    p50.push(own.latencyMs.p50)
    p99.push(own.latencyMs.p99)
  }
  const bareMicros = median(cpu.bare)
  const micros = median(cpu.ringfence)
  return {
    ...single,
    bareMicros: rounded(bareMicros),
    micros: rounded(micros),
    ratio: rounded(bareMicros / micros),
    p50Ms: rounded(median(p50)),
    p99Ms: rounded(median(p99)),
  }
}

/** CPU time of the server per update. */
async function windowOf(
  server: ServerProcess,
  generator: StreamGenerator,
  load: Case & { readonly seconds: number },
) {
  const before = server.cpuSeconds()
  const result = await generator.run({ ...load, port: server.port, key: BENCH_KEYS.testPublishable })
  if (result.acknowledged < result.updates || result.problems > 0)
    throw new Error(`not every update was acknowledged: ${JSON.stringify(result)}\n${server.output()}`)
  return { ...result, cpuMicros: ((server.cpuSeconds() - before) / result.updates) * 1e6 }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!
}

function rounded(value: number): number {
  return Number(value.toFixed(3))
}

await main()
