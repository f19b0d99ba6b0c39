/**
 * `npm run bench -- soak [--minutes 30]`: whether a server at half load stays stable.
 *
 * A real server takes updates at half the rate at which it answers without a pause, and in addition replays, context,
 * searches, geofence edits, event lists, deletions and bad requests. In windows of ten seconds its memory, event
 * loop, log, open files and latencies are measured. After the warm-up (a third of the time) memory must not drift by
 * more than it varies, or by a hundredth if it hardly varies: the verdict compares the slope over the rest with the
 * spread around it.
 */
import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { drift } from './drift.ts'
import { rounded } from './figures.ts'
import { benchFolder } from './folder.ts'
import { loadGenerator } from './load/load.ts'
import type { Generator, LoadResult } from './load/load.ts'
import { BENCH_KEYS, seedGeofences, startRingfence } from './load/servers.ts'
import type { ServerProcess } from './load/servers.ts'
import { drawGeofences, regionOf, writeWorkload } from './load/workload.ts'
import type { Workload } from './load/workload.ts'
import { done, progress } from './progress.ts'
import { plot } from './soakPlot.ts'
import { MixedTraffic, type MixedResult } from './soakTraffic.ts'

const CONNECTIONS = 256
const MIB = 1024 * 1024
/** Requests of the mix, as a share of the updates. */
const MIXED_SHARE = 0.01
const WARM_UP_SHARE = 1 / 3
/** Share of the resident set below which a drift does not count. */
const NOISE_SHARE = 0.01

const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    smoke: { type: 'boolean', default: false },
    strict: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
    /** Updates per second, instead of half of the measured rate. */
    rate: { type: 'string' },
  },
})
const minutes = options.smoke ? 0.3 : Number(options.minutes)
if (!(minutes > 0)) throw new Error('--minutes: a number above 0')
const seed = Number(options.seed)
const size = options.smoke ? { geofences: 5_000, devices: 5_000 } : { geofences: 100_000, devices: 100_000 }
const windowSeconds = options.smoke ? 2 : 10

/** The measurements of one window. */
interface Sample {
  /** Seconds since the first window began. */
  readonly seconds: number
  readonly rssMiB: number
  readonly heapMiB: number
  readonly externalMiB: number
  readonly loopP99Ms: number
  readonly logMiB: number
  readonly indexMiB: number
  readonly openFiles: number
  readonly cpuShare: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly mixedP50Ms: number
  readonly mixedP99Ms: number
}

async function main(): Promise<number> {
  const folder = benchFolder('soak')
  const generator = await loadGenerator()
  const workload = writeWorkload({
    ...size,
    seed,
    folder,
    publishableKey: BENCH_KEYS.testPublishable,
    onProgress: progress,
  })
  seedGeofences(folder, drawGeofences(size.geofences, seed), (stored) =>
    progress(`geofences stored: ${stored}`),
  )
  const server = await startRingfence(folder)
  const first = await send(server, workload, generator, { offset: 0, count: size.devices, rate: 0 })
  const closed = await send(server, workload, generator, { offset: first.sent, count: size.devices, rate: 0 })
  const rate = options.rate === undefined ? Math.floor(closed.perSecond / 2) : Number(options.rate)
  if (!(rate > 0)) throw new Error('--rate: a number above 0')
  done(`${Math.round(closed.perSecond)}/s without a pause; ${rate}/s for ${minutes} minutes`)

  const traffic = new MixedTraffic(server.port, regionOf(size.geofences), seed + 2)
  traffic.start(rate * MIXED_SHARE)
  const samples: Sample[] = []
  const totals = { updates: 0, notOk: 0, unanswered: 0, mixed: {} as Record<string, number>, skipped: 0 }
  const wrong: string[] = []
  let offset = first.sent + closed.sent
  const began = performance.now()
  await look(server, folder, 0)
  while (performance.now() - began < minutes * 60_000) {
    const cpuBefore = server.cpuSeconds()
    const load = { offset, count: Math.ceil(rate * windowSeconds), rate, maxLagMs: 20_000 }
    const result = await send(server, workload, generator, load)
    offset += result.sent
    const mixed = traffic.take()
    const cpuShare = (server.cpuSeconds() - cpuBefore) / result.seconds
    const now = await look(server, folder, (performance.now() - began) / 1000)
    samples.push({ ...now, cpuShare, ...latencies(result, mixed) })
    totals.updates += result.ok
    totals.notOk += result.sent - result.ok
    totals.unanswered += result.unanswered + result.unsent + result.connectionErrors
    totals.skipped += mixed.skipped
    wrong.push(...mixed.wrong)
    for (const [kind, count] of Object.entries(mixed.answered))
      totals.mixed[kind] = (totals.mixed[kind] ?? 0) + count
    progress(
      `${Math.round(now.seconds)} s of ${minutes * 60}: ${Math.round(now.rssMiB)} MiB, p99 ${result.latencyMs.p99.toFixed(1)} ms`,
    )
  }
  await traffic.stop()
  wrong.push(...traffic.take().wrong)
  await server.stop()
  return report(samples, rate, totals, wrong)
}

function send(
  server: ServerProcess,
  workload: Workload,
  generator: Generator,
  load: { offset: number; count: number; rate: number; maxLagMs?: number },
): Promise<LoadResult> {
  return generator.run({
    port: server.port,
    connections: CONNECTIONS,
    requests: workload.trackBodies,
    head: workload.trackHead,
    group: workload.devices,
    ...load,
  })
}

type Look = Omit<Sample, 'cpuShare' | 'p50Ms' | 'p99Ms' | 'mixedP50Ms' | 'mixedP99Ms'>

async function look(server: ServerProcess, folder: string, seconds: number): Promise<Look> {
  const answer = await fetch(`http://127.0.0.1:${server.port}/metrics`)
  const text = await answer.text()
  const metric = (name: string) =>
    Number(new RegExp(`^ringfence_${name} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN)
  return {
    seconds,
    rssMiB: metric('resident_memory_bytes') / MIB,
    heapMiB: metric('heap_used_bytes') / MIB,
    externalMiB: metric('external_memory_bytes') / MIB,
    loopP99Ms: metric('event_loop_delay_p99_seconds') * 1000,
    logMiB: metric('log_bytes') / MIB,
    indexMiB: eventIndexBytes(folder) / MIB,
    openFiles: openFiles(server.pid),
  }
}

function latencies(updates: LoadResult, mixed: MixedResult) {
  return {
    p50Ms: updates.latencyMs.p50,
    p99Ms: updates.latencyMs.p99,
    mixedP50Ms: mixed.latencyMs.p50,
    mixedP99Ms: mixed.latencyMs.p99,
  }
}

function eventIndexBytes(folder: string): number {
  let bytes = 0
  for (const name of readdirSync(join(folder, 'data')))
    if (name.startsWith('events.sqlite'))
      bytes += statSync(join(folder, 'data', name), { throwIfNoEntry: false })?.size ?? 0
  return bytes
}

function openFiles(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length
  } catch {
    return Number.NaN
  }
}

function report(
  samples: readonly Sample[],
  rate: number,
  totals: {
    updates: number
    notOk: number
    unanswered: number
    mixed: Record<string, number>
    skipped: number
  },
  wrong: readonly string[],
): number {
  const warmUpSeconds = samples.at(-1)!.seconds * WARM_UP_SHARE
  const measured = samples.filter(({ seconds }) => seconds > warmUpSeconds)
  const times = measured.map(({ seconds }) => seconds)
  const column = (name: keyof Sample) => samples.map((sample) => sample[name])
  const memory = drift(
    times,
    measured.map(({ rssMiB }) => rssMiB),
  )
  const files = measured.map(({ openFiles: count }) => count)
  const meanRss = measured.reduce((sum, { rssMiB }) => sum + rssMiB, 0) / measured.length
  const isSteady = memory.drift <= Math.max(memory.spread, NOISE_SHARE * meanRss)
  const isRight = wrong.length === 0 && totals.notOk === 0 && totals.unanswered === 0
  const hours = (times.at(-1)! - times[0]!) / 3600
  const verdict =
    `RSS ${isSteady ? 'is steady' : 'GROWS'}: drift ${memory.drift.toFixed(1)} MiB in ${(hours * 60).toFixed(1)} min ` +
    `after warm-up, sway ${memory.spread.toFixed(1)} MiB; ${isRight ? 'every answer was right' : 'ANSWERS WERE WRONG'}`
  done(verdict)
  for (const line of wrong.slice(0, 20)) done(`wrong: ${line.slice(0, 500)}`)
  const svg = plot({
    title: `Soak: ${rate.toLocaleString('en-US')} updates/s and ${Math.round(rate * MIXED_SHARE)} other requests/s, ${size.devices.toLocaleString('en-US')} devices, ${size.geofences.toLocaleString('en-US')} geofences`,
    verdict,
    seconds: column('seconds'),
    warmUpSeconds,
    panels: [
      {
        title: 'Memory, MiB',
        series: [
          { name: 'resident', values: column('rssMiB'), color: '#1f6feb' },
          { name: 'heap used', values: column('heapMiB'), color: '#d1242f' },
          { name: 'external', values: column('externalMiB'), color: '#8250df' },
        ],
      },
      {
        title: 'Latency of updates, ms',
        series: [
          { name: 'p50', values: column('p50Ms'), color: '#1f6feb' },
          { name: 'p99', values: column('p99Ms'), color: '#d1242f' },
        ],
      },
      {
        title: 'Latency of the other requests, ms',
        series: [
          { name: 'p50', values: column('mixedP50Ms'), color: '#1f6feb' },
          { name: 'p99', values: column('mixedP99Ms'), color: '#d1242f' },
        ],
      },
      {
        title: 'Event loop delay, 99th percentile, ms',
        series: [{ name: 'event loop', values: column('loopP99Ms'), color: '#1f6feb' }],
      },
      {
        title: 'On disk, MiB',
        series: [
          { name: 'commit log', values: column('logMiB'), color: '#1f6feb' },
          { name: 'event index', values: column('indexMiB'), color: '#1a7f37' },
        ],
      },
      {
        title: 'Open files',
        series: [{ name: 'open files', values: column('openFiles'), color: '#1f6feb' }],
      },
    ],
  })
  if (!options.smoke) writeFileSync(join(import.meta.dirname, 'results', 'soak.svg'), svg)
  console.log(
    JSON.stringify({
      bench: 'soak',
      verdict,
      isSteady,
      minutes,
      ratePerSecond: rate,
      ...totals,
      wrong: wrong.slice(0, 20),
      rssDriftMiB: rounded(memory.drift, 2),
      rssSwayMiB: rounded(memory.spread, 2),
      rssMiB: range(measured.map(({ rssMiB }) => rssMiB)),
      heapMiB: range(measured.map(({ heapMiB }) => heapMiB)),
      externalMiB: range(measured.map(({ externalMiB }) => externalMiB)),
      loopP99Ms: range(measured.map(({ loopP99Ms }) => loopP99Ms)),
      openFiles: range(files),
      cpuShare: range(measured.map(({ cpuShare }) => cpuShare)),
      p50Ms: range(measured.map(({ p50Ms }) => p50Ms)),
      p99Ms: range(measured.map(({ p99Ms }) => p99Ms)),
      mixedP99Ms: range(measured.map(({ mixedP99Ms }) => mixedP99Ms)),
      logMiB: rounded(samples.at(-1)!.logMiB, 1),
      indexMiB: rounded(samples.at(-1)!.indexMiB, 1),
      ...size,
      seed,
      windowSeconds,
      smoke: options.smoke,
    }),
  )
  return (options.strict || options.smoke) && !(isRight && (isSteady || options.smoke)) ? 1 : 0
}

function range(values: readonly number[]): { least: number; median: number; most: number } {
  const sorted = values.toSorted((a, b) => a - b)
  return {
    least: rounded(sorted[0]!, 2),
    median: rounded(sorted[sorted.length >> 1]!, 2),
    most: rounded(sorted.at(-1)!, 2),
  }
}

process.exit(await main())
