/**
 * What no server of this design gets around: the bare transport, and step by step what every one that keeps its word has
 * to do for an update, as cheaply as it can be done (load/bare.ts, load/bareStream.ts), beside Ringfence in the same run.
 * There are no geofences and no rules in any step: what is left between the last one and Ringfence is theirs, and Ringfence's
 * own.
 */
import { Agent } from 'node:http'
import { parseArgs } from 'node:util'
import { rounded } from './figures.ts'
import { benchFolder } from './folder.ts'
import { sampleAnswers } from './load/answerShape.ts'
import { contest, requireClean, warnOfNeighbours, type Outcome } from './load/contest.ts'
import { CONNECTIONS, HttpContender } from './load/httpContender.ts'
import { loadGenerator } from './load/load.ts'
import {
  BENCH_KEYS,
  seedGeofences,
  startBare,
  startBareStream,
  startRingfence,
  type BareHttpWork,
  type BareStreamWork,
  type ServerProcess,
} from './load/servers.ts'
import { openStreams } from './load/streamContender.ts'
import { startStreamGenerator } from './load/streamLoad.ts'
import { drawGeofences, writeWorkload, type Workload } from './load/workload.ts'
import { flushMs } from './machine.ts'
import { progress } from './progress.ts'

const { values: options } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
    /** Of one window. */
    seconds: { type: 'string' },
    /** Windows of each server. */
    rounds: { type: 'string' },
  },
})
const size = options.smoke
  ? { geofences: 2_000, devices: 2_000, windows: 1, seconds: 0.5, closedCount: 5_000 }
  : { geofences: 100_000, devices: 100_000, windows: 5, seconds: 2, closedCount: 100_000 }
const windows = Number(options.rounds ?? size.windows)
const seconds = Number(options.seconds ?? size.seconds)
const seed = Number(options.seed)
const contestOptions = { windows, seconds, searchSteps: 0, closedCount: size.closedCount }

/** Rounds of the workload that are sent over streams, and before anything is measured. */
const ROUNDS = 3
/** Updates per second of Ringfence's first: they cost far more than those after them. */
const WARM_UP_RATE = 20_000
const STREAMS = { encoding: 'json', connections: 16, updatesPerFrame: 32, events: false } as const

/** Each does what that before it does, or the same at less cost, and more. */
const STREAM_STEPS: readonly (readonly [name: string, work: BareStreamWork])[] = [
  ['bare', {}],
  ['one flush for all that came', { flush: 'at once' }],
  ['gathered for 2 ms', { flush: 'gathered' }],
  ['64 bytes of the device', { flush: 'gathered', devices: true }],
  ['events in log and index', { flush: 'gathered', devices: true, index: true }],
  ['no JSON.parse', { flush: 'gathered', devices: true, index: true, plain: true }],
]

const HTTP_STEPS: readonly (readonly [name: string, work: BareHttpWork])[] = [
  ['bare', {}],
  ['answered a turn later', { deferred: true }],
  ['one flush for all that came', { flush: 'at once' }],
  ['gathered for 2 ms', { flush: 'gathered' }],
]

async function main(): Promise<void> {
  const folder = benchFolder('floor')
  const workload = writeWorkload({
    geofences: size.geofences,
    devices: size.devices,
    seed,
    folder,
    publishableKey: BENCH_KEYS.testPublishable,
    onProgress: progress,
  })
  seedGeofences(folder, drawGeofences(size.geofences, seed), (stored) => progress(`geofences: ${stored}`))
  const ringfence = await startRingfence(folder)
  const streams = await measureStreams(folder, workload, ringfence)
  const http = await measureHttp(folder, workload, ringfence)
  await ringfence.stop()
  const rows = [...rowsOf('stream', STREAM_STEPS, streams), ...rowsOf('http', HTTP_STEPS, http)]
  console.table(rows)
  warnOfNeighbours([streams, http])
  console.log(
    JSON.stringify({
      bench: 'floor',
      rows,
      details: { streams, http },
      geofences: size.geofences,
      devices: size.devices,
      seed,
      windows,
      windowSeconds: seconds,
      flushMs: rounded(flushMs(folder), 3),
      smoke: options.smoke,
    }),
  )
}

async function measureStreams(
  folder: string,
  workload: Workload,
  ringfence: ServerProcess,
): Promise<Outcome> {
  const generator = await startStreamGenerator(workload.trackBodies, size.devices * ROUNDS)
  const open = async (name: string, server: ServerProcess, rate: number) => {
    progress(`stream: ${name} warms up`)
    const streams = { ...STREAMS, updatesPerRound: size.devices }
    const { contender } = await openStreams(name, server, streams, generator)
    const load = { rate, count: size.devices * ROUNDS, maxLagMs: 10_000 }
    requireClean(contender, await contender.offer(load))
    return contender
  }
  const contenders = []
  for (const [i, [name, work]] of STREAM_STEPS.entries())
    contenders.push(await open(name, await startBareStream(folder, `stream${i}`, work), 0))
  contenders.push(await open('ringfence', ringfence, WARM_UP_RATE))
  const outcome = await contest('stream', contenders, contestOptions)
  generator.stop()
  for (const { server } of contenders.slice(0, -1)) await server.stop()
  return outcome
}

async function measureHttp(folder: string, workload: Workload, ringfence: ServerProcess): Promise<Outcome> {
  const generator = await loadGenerator()
  const own = new HttpContender('ringfence', ringfence, workload, generator)
  await own.warmUp()
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const shape = await sampleAnswers(ringfence.port, BENCH_KEYS.testPublishable, workload.sampleBodies, agent)
  agent.destroy()
  const contenders: HttpContender[] = []
  for (const [i, [name, work]] of HTTP_STEPS.entries()) {
    const server = await startBare(folder, `http${i}`, shape, work)
    const contender = new HttpContender(name, server, workload, generator)
    await contender.warmUp()
    contenders.push(contender)
  }
  const outcome = await contest('http', [...contenders, own], contestOptions)
  for (const { server } of contenders) await server.stop()
  return outcome
}

/** A line for each step, and what it adds to the one before it. */
function rowsOf(
  transport: 'stream' | 'http',
  steps: readonly (readonly [name: string, work: object])[],
  { offeredRatePerSecond, standings }: Outcome,
) {
  const title =
    transport === 'stream' ? 'json, frames of 32, 16 connections' : `http, ${CONNECTIONS} connections`
  const bare = standings['bare']!.cpuMicrosPerUpdate
  let before = bare
  return [...steps.map(([name]) => name), 'ringfence'].map((name) => {
    const { cpuMicrosPerUpdate: micros, p50Ms, p99Ms } = standings[name]!
    const added = rounded(micros - before, 2)
    before = micros
    return {
      case: title,
      step: name,
      rate: offeredRatePerSecond,
      micros,
      added,
      ratio: rounded(bare / micros, 3),
      p50Ms,
      p99Ms,
    }
  })
}

await main()
process.exit(0)
