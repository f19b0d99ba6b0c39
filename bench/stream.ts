/**
 * What an update costs over a stream, compared with the cost of the transport alone. Ringfence and a bare
 * uWebSockets.js handler take the same frames from the same generator in the same run (load/contest.ts), for every
 * relevant combination of encoding, frame size and number of connections. Where a figure is stated, there is also the
 * bare handler with a flush per batch.
 */
import { parseArgs } from 'node:util'
import { rounded } from './figures.ts'
import { benchFolder } from './folder.ts'
import { contest, limits, requireClean, tableRow, warnOfOtherLoad, type Outcome } from './load/contest.ts'
import {
  BENCH_KEYS,
  seedGeofences,
  startBareStream,
  startRingfence,
  type ServerProcess,
} from './load/servers.ts'
import { openStreams, type StreamCase } from './load/streamContender.ts'
import { ENCODINGS, type Encoding } from './load/streamFrames.ts'
import { startStreamGenerator, type StreamGenerator } from './load/streamLoad.ts'
import { drawGeofences, writeWorkload } from './load/workload.ts'
import { flushMs } from './machine.ts'
import { done, progress } from './progress.ts'

/**
 * Modules loaded before a server: one for which each update is evaluated, and one for which also no candidates are
 * remembered.
 */
const PRELOADS = {
  'with the skip': [],
  'no skip': ['bench/load/withoutZones.ts'],
  'no skip, nothing remembered': ['bench/load/withoutZones.ts', 'bench/load/withoutCandidateCache.ts'],
}
type Skip = keyof typeof PRELOADS

interface Case {
  readonly encoding: Encoding
  readonly updatesPerFrame: number
  readonly connections: number
  /** Whether acknowledgements contain events. */
  readonly events: boolean
  /** What is skipped, see {@link PRELOADS}. */
  readonly skip: Skip
  /** Relative density of the geofences: 1, or a share of that. */
  readonly density: number
}

const { values: options } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    strict: { type: 'boolean', default: false },
    /** Duration of one window. */
    seconds: { type: 'string' },
    /** Windows of each server. */
    rounds: { type: 'string' },
    seed: { type: 'string', default: '1' },
    /** Runs only the rows of this encoding. */
    encoding: { type: 'string' },
    /** Runs only the rows with this number of updates per frame. */
    frame: { type: 'string' },
    /** Runs only the rows for which a figure is stated. */
    stated: { type: 'boolean', default: false },
    /** The common rate of the CPU windows, updates per second; default: a share of what the slower answers. */
    rate: { type: 'string' },
    geofences: { type: 'string' },
  },
})
const size = options.smoke
  ? {
      geofences: 5_000,
      devices: 5_000,
      windows: 1,
      seconds: 0.5,
      searchSteps: 1,
      closedCount: 5_000,
      most: 100,
    }
  : {
      geofences: 100_000,
      devices: 100_000,
      windows: 5,
      seconds: 2,
      searchSteps: 5,
      closedCount: 200_000,
      most: 1000,
    }
const geofences = Number(options.geofences ?? size.geofences)
const windows = Number(options.rounds ?? size.windows)
const seconds = Number(options.seconds ?? size.seconds)
const seed = Number(options.seed)
/** Rounds of the workload that are sent. */
const SENT_ROUNDS = 3
/** Updates per second of Ringfence until every device exists, because a first update costs far more than later ones. */
const WARM_UP_RATE = 20_000
/** The first round makes the devices; after the others, compilers and zones have settled. */
const WARM_UP_ROUNDS = 3
/** How far below a stated ratio `--strict` lets a noisy machine measure. */
const TOLERANCE = 0.1

const PLAIN = { events: false, skip: 'with the skip' as Skip, density: 1 }
/**
 * The density in a country instead of a city: one in twelve places lies in a geofence, and a driving device meets one
 * every five minutes.
 */
const SPARSE = 0.1
const CASES: readonly Case[] = [
  ...ENCODINGS.map((encoding) => ({ ...PLAIN, encoding, updatesPerFrame: 32, connections: 16 })),
  { ...PLAIN, encoding: 'json', updatesPerFrame: 32, connections: 16, events: true },
  { ...PLAIN, encoding: 'json', updatesPerFrame: 1, connections: size.most },
  { ...PLAIN, encoding: 'json', updatesPerFrame: 256, connections: 16 },
  { ...PLAIN, encoding: 'json', updatesPerFrame: 32, connections: 256 },
  { ...PLAIN, encoding: 'json', updatesPerFrame: 32, connections: 16, skip: 'no skip' },
  { ...PLAIN, encoding: 'json', updatesPerFrame: 32, connections: 16, skip: 'no skip, nothing remembered' },
  { ...PLAIN, encoding: 'json', updatesPerFrame: 32, connections: 16, density: SPARSE },
]

/** The required ratio, bare / Ringfence CPU per update; undefined if none is stated. */
function statedRatio(single: Case): number | undefined {
  const { encoding, updatesPerFrame, connections, events, skip, density } = single
  if (encoding !== 'json' || events || density < 1 || skip === 'no skip, nothing remembered') return undefined
  if (updatesPerFrame === 32 && connections === 16) return skip === 'with the skip' ? 0.4 : 0.3
  return updatesPerFrame === 1 && connections === size.most ? 0.6 : undefined
}

/** A figure is stated for JSON, and for the cases that must not be slower than it. */
function isStated(single: Case): boolean {
  return statedRatio({ ...single, encoding: 'json' }) !== undefined
}

/** Two bare servers: one acknowledges without a flush, the other flushes first. */
type BareServers = { readonly bare: ServerProcess; readonly bareFsync: ServerProcess }
type Result = { single: Case; outcome: Outcome; skipRate: number; eventsPerUpdate: number }

async function main(): Promise<number> {
  const folder = benchFolder('stream')
  const bare = {
    bare: await startBareStream(folder, 'bare'),
    bareFsync: await startBareStream(folder, 'bareFsync', { flushes: true }),
  }
  const cases = CASES.filter(
    (single) =>
      (options.encoding === undefined || single.encoding === options.encoding) &&
      (options.frame === undefined || single.updatesPerFrame === Number(options.frame)) &&
      (!options.stated || isStated(single) || single.density < 1) &&
      (!options.smoke || isStated(single)),
  )
  const results: Result[] = []
  for (const density of [1, SPARSE]) {
    const some = cases.filter((single) => single.density === density)
    if (some.length > 0) results.push(...(await measureWorld(density, some, bare)))
  }
  for (const server of Object.values(bare)) await server.stop()
  return report(results, flushMs(folder))
}

/** All cases with one density of geofences. */
async function measureWorld(density: number, cases: readonly Case[], bare: BareServers): Promise<Result[]> {
  const folder = benchFolder('stream')
  const workload = writeWorkload({
    geofences,
    density,
    devices: size.devices,
    seed,
    folder,
    publishableKey: BENCH_KEYS.testPublishable,
    onProgress: progress,
  })
  seedGeofences(folder, drawGeofences(geofences, seed, density), (stored) => progress(`geofences: ${stored}`))
  const generator = await startStreamGenerator(workload.trackBodies, size.devices * SENT_ROUNDS)
  const results: Result[] = []
  for (const skip of Object.keys(PRELOADS) as Skip[]) {
    const some = cases.filter((single) => single.skip === skip)
    if (some.length === 0) continue
    const ringfence = await startRingfence(folder, { preloads: PRELOADS[skip] })
    await warmUp('ringfence', ringfence, generator, WARM_UP_RATE)
    for (const [name, server] of Object.entries(bare)) await warmUp(name, server, generator, 0)
    for (const single of some) {
      const before = await counts(ringfence)
      const outcome = await measure(single, bare, ringfence, generator)
      const after = await counts(ringfence)
      const updates = after.updates - before.updates
      results.push({
        single,
        outcome,
        skipRate: (after.hits - before.hits) / updates,
        eventsPerUpdate: (after.events - before.events) / updates,
      })
    }
    await ringfence.stop()
  }
  generator.stop()
  return results
}

/** Some updates of each device, over streams that are not measured. */
async function warmUp(
  name: string,
  server: ServerProcess,
  generator: StreamGenerator,
  rate: number,
): Promise<void> {
  progress(`${name} warms up`)
  const { contender, close } = await openStreams(name, server, streamsOf(CASES[0]!), generator)
  const load = { rate, count: size.devices * WARM_UP_ROUNDS, maxLagMs: 10_000 }
  requireClean(contender, await contender.offer(load))
  await close()
}

async function measure(
  single: Case,
  bare: BareServers,
  ringfence: ServerProcess,
  generator: StreamGenerator,
): Promise<Outcome> {
  const title = nameOf(single)
  const servers = {
    bare: bare.bare,
    ...(statedRatio(single) === undefined ? {} : { bareFsync: bare.bareFsync }),
    ringfence,
  }
  const opened = []
  for (const [name, server] of Object.entries(servers))
    opened.push(await openStreams(name, server, streamsOf(single), generator))
  const rate = options.rate === undefined ? undefined : Number(options.rate)
  const { closedCount } = size
  // Peaks and latencies of the other cases add little information.
  const searchSteps = isStated(single) || single.density < 1 ? size.searchSteps : 0
  const contenders = opened.map(({ contender }) => contender)
  const outcome = await contest(title, contenders, { windows, seconds, searchSteps, closedCount, rate })
  for (const { close } of opened) await close()
  done(`${title}: ${rounded(ratioOf(outcome), 3)}`)
  return outcome
}

function streamsOf({ encoding, updatesPerFrame, connections, events }: Case): StreamCase {
  return { encoding, updatesPerFrame, connections, updatesPerRound: size.devices, events }
}

async function counts(server: ServerProcess): Promise<{ hits: number; updates: number; events: number }> {
  const answer = await fetch(`http://127.0.0.1:${server.port}/metrics`)
  const text = await answer.text()
  const count = (name: string) => Number(new RegExp(`^ringfence_${name} (\\d+)$`, 'm').exec(text)?.[1])
  return { hits: count('zone_hits_total'), updates: count('updates_total'), events: count('events_total') }
}

function nameOf({ encoding, updatesPerFrame, connections, events, skip, density }: Case): string {
  const skips = skip === 'with the skip' ? '' : `, ${skip}`
  const extras = `${events ? ', events' : ''}${skips}${density < 1 ? ', sparse' : ''}`
  return `${encoding}, frames of ${updatesPerFrame}, ${connections} connections${extras}`
}

function ratioOf({ standings }: Outcome): number {
  return standings['bare']!.cpuMicrosPerUpdate / standings['ringfence']!.cpuMicrosPerUpdate
}

function report(results: readonly Result[], flushTimeMs: number): number {
  const rows = results.map(({ single, outcome, skipRate, eventsPerUpdate }) => ({
    case: nameOf(single),
    ...tableRow(outcome),
    stated: statedRatio(single),
    ...limits(outcome),
    skipRate: rounded(skipRate, 3),
    eventsPerUpdate: rounded(eventsPerUpdate, 3),
  }))
  console.table(rows)
  warnOfOtherLoad(results.map(({ outcome }) => outcome))
  const missed = rows.filter(({ ratio, stated }) => stated !== undefined && ratio < stated * (1 - TOLERANCE))
  for (const { case: name, ratio, stated } of missed)
    console.log(`${name}: ${ratio}${options.smoke ? ' (a smoke run)' : `; stated: ${stated}`}`)
  console.log(
    JSON.stringify({
      bench: 'stream',
      rows,
      details: results.map(({ single, outcome }) => ({ ...single, ...outcome })),
      geofences,
      devices: size.devices,
      seed,
      windows,
      windowSeconds: seconds,
      flushMs: rounded(flushTimeMs, 3),
      smoke: options.smoke,
      partial: results.length < CASES.length,
    }),
  )
  return options.strict && !options.smoke && missed.length > 0 ? 1 : 0
}

process.exit(await main())
