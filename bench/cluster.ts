/**
 * What the distributed engine costs compared with the embedded one. Both take the same frames from the same generator
 * in the same run (load/contest.ts). The CPU time of all processes together counts, with the events published and
 * indexed. Then measures what one and two actor hosts can take. If there is a tile38-server, a second distributed engine
 * that copies the positions of its devices to it takes part, too.
 */
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { NATS_SERVER, serverBinary, ServerMissing, TILE38_SERVER } from '../test/kit/goServers.ts'
import { median, rounded, thousands } from './figures.ts'
import { benchFolder } from './folder.ts'
import { contest, requireClean, warnOfOtherLoad, type Contender, type Outcome } from './load/contest.ts'
import { startDistributed } from './load/distributed.ts'
import { BENCH_KEYS, seedGeofences, startRingfence, type ServerProcess } from './load/servers.ts'
import { startStreamGenerator, type StreamGenerator } from './load/streamLoad.ts'
import { drawGeofences, writeWorkload } from './load/workload.ts'
import { flushMs } from './machine.ts'
import { done, progress } from './progress.ts'

interface Case {
  readonly hosts: number
  /** How often NATS flushes what it has written to the disk. */
  readonly sync: 'always' | '2m'
  readonly partitions: number
}

const { values: options } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    strict: { type: 'boolean', default: false },
    /** Duration of one window. */
    seconds: { type: 'string' },
    /** Windows of each engine. */
    rounds: { type: 'string' },
    seed: { type: 'string', default: '1' },
    /**
     * The common rate of the CPU windows in updates per second; by default a share of what the slower engine answers.
     */
    rate: { type: 'string' },
    geofences: { type: 'string' },
    devices: { type: 'string' },
    /** Runs only the rows with this number of actor hosts. */
    hosts: { type: 'string' },
    /** Runs only the rows with this sync interval. */
    sync: { type: 'string' },
    /** Skips the search for the highest rate. */
    cost: { type: 'boolean', default: false },
    /** Where the processes of the distributed engine write CPU profiles when they end. */
    profiles: { type: 'string' },
  },
})
const size = options.smoke
  ? { geofences: 2_000, devices: 2_000, windows: 1, seconds: 0.5, searchSteps: 0, closedCount: 4_000 }
  : { geofences: 100_000, devices: 100_000, windows: 5, seconds: 3, searchSteps: 5, closedCount: 200_000 }
const geofences = Number(options.geofences ?? size.geofences)
const devices = Number(options.devices ?? size.devices)
const windows = Number(options.rounds ?? size.windows)
const seconds = Number(options.seconds ?? size.seconds)
const seed = Number(options.seed)
const searchSteps = options.cost ? 0 : size.searchSteps
/**
 * The stated cost of a million updates, as a multiple of embedded, for the row with one host that is as durable as
 * embedded.
 */
const STATED_RATIO = 4
/** How far above it `--strict` lets a noisy machine measure. */
const TOLERANCE = 0.1
/** The limit for a rate to count as held: a commit takes two round trips through NATS and a flush of its disk. */
const P99_BOUND_MS = 100
const SENT_ROUNDS = 3
const WARM_UP_ROUNDS = 3
/** A rate at which even the slowest engine has small frames, and how long it lasts. */
const SMALL_FRAMES_RATE = 10_000
const SMALL_FRAMES_SECONDS = options.smoke ? 0.2 : 5
/** How often to check whether all events have arrived, how long nothing may change until then, and for how long. */
const LOOK_MS = 50
const UNCHANGED_MS = 10_000
const EVENTS_MS = 60_000
/** What is above 0 while something is on its way. */
const WAITING = ['event_backlog_bytes', 'event_index_pending_bytes', 'tile38_waiting'] as const

const EMBEDDED = 'embedded'
const DISTRIBUTED = 'distributed'
/** The name of the contender whose devices are copied to Tile38. */
const WITH_TILE38 = 'with Tile38'

const CASES: readonly Case[] = [
  { hosts: 1, sync: 'always', partitions: 64 },
  { hosts: 1, sync: '2m', partitions: 64 },
  { hosts: 2, sync: '2m', partitions: 64 },
]

/** The parts of one window. */
interface Parts {
  readonly rate: number
  /** Acknowledged updates. */
  readonly updates: number
  /** CPU time of each process. */
  readonly cpuSeconds: ReadonlyMap<string, number>
  readonly made: Made
}

/** What the counters of the actors say. */
interface Made {
  readonly updates: number
  readonly events: number
  /** Usually each is one request of the gateway and one commit. */
  readonly frames: number
}

/** The medians over the windows of one contender. */
interface Medians {
  /** The microseconds per update, by process. */
  readonly shares: Readonly<Record<string, number>>
  readonly eventsPerUpdate: number
  readonly updatesPerFrame: number
}

interface Result extends Medians {
  readonly single: Case
  readonly outcome: Outcome
  /** The same for the engine that copies its devices to Tile38. */
  readonly withTile38?: Medians | undefined
}

/** A case that could not be measured. */
interface Failure {
  readonly case: string
  /** The reason, as it is printed. */
  readonly failed: string
}

async function main(): Promise<number> {
  const binary = await serverBinary(NATS_SERVER).catch((error: unknown) => {
    if (error instanceof ServerMissing) return error
    throw error
  })
  if (binary instanceof ServerMissing) {
    const why = binary.message.split('\n')[0]!
    console.log(`SKIPPED: ${why}`)
    console.log(JSON.stringify({ bench: 'cluster', skipped: why, partial: true }))
    return 0
  }
  const tile38 = await serverBinary(TILE38_SERVER).catch((error: unknown) => {
    if (!(error instanceof ServerMissing)) throw error
    console.log(`Without Tile38: ${error.message.split('\n')[0]}`)
    return undefined
  })
  const folder = benchFolder('cluster')
  const workload = writeWorkload({
    geofences,
    devices,
    seed,
    folder,
    publishableKey: BENCH_KEYS.testPublishable,
    onProgress: progress,
  })
  seedGeofences(folder, drawGeofences(geofences, seed), (stored) => progress(`geofences: ${stored}`))
  const cases = CASES.filter(
    ({ hosts, sync }) =>
      (options.hosts === undefined || hosts === Number(options.hosts)) &&
      (options.sync === undefined || sync === options.sync) &&
      (!options.smoke || (hosts === 1 && sync === '2m')),
  )
  // The folder is copied while no process has it open.
  const registryOf = join(folder, 'seed')
  cpSync(join(folder, 'data'), registryOf, { recursive: true })
  const generator = await startStreamGenerator(workload.trackBodies, devices * SENT_ROUNDS)
  const embedded = await startRingfence(folder, { unpinned: true })
  const one = await open(EMBEDDED, embedded, [embedded], generator)
  await warmUp(one.contender)
  const results: Result[] = []
  const failures: Failure[] = []
  for (const single of cases) {
    try {
      const engines = { binary, tile38, registryOf, embedded: one.contender, generator }
      results.push(await measure(single, { ...engines, isFirst: results.length === 0 }))
    } catch (error) {
      // The other cases still run.
      console.error(error)
      failures.push({ case: nameOf(single), failed: (error as Error).message.split('\n')[0]! })
    }
  }
  await one.close()
  await embedded.stop()
  generator.stop()
  return report(results, failures, flushMs(folder), results.length < CASES.length)
}

interface CaseSetup {
  /** Path of nats-server. */
  readonly binary: string
  /** Path of tile38-server. */
  readonly tile38: string | undefined
  readonly registryOf: string
  readonly embedded: Contender
  readonly generator: StreamGenerator
  /** Whether no case has been measured yet. The highest rate of the embedded engine is searched once, because it is the same in all. */
  readonly isFirst: boolean
}

/** One case, taking turns with the embedded engine. */
async function measure(single: Case, setup: CaseSetup): Promise<Result> {
  const title = nameOf(single)
  const begun: Begun[] = []
  try {
    if (setup.tile38 !== undefined) begun.push(await begin(WITH_TILE38, single, setup))
    begun.push(await begin(DISTRIBUTED, single, { ...setup, tile38: undefined }))
    const outcome = await contest(title, [setup.embedded, ...begun.map(({ contender }) => contender)], {
      windows,
      seconds,
      searchSteps,
      searched: setup.isFirst ? [EMBEDDED, DISTRIBUTED] : [DISTRIBUTED],
      atHalf: false,
      closedCount: size.closedCount,
      rate: options.rate === undefined ? undefined : Number(options.rate),
      p99BoundMs: P99_BOUND_MS,
    })
    done(`${title}: ${rounded(ratioOf(outcome), 2)} times embedded`)
    const [plain, withTile38] = begun
      .toReversed()
      .map(({ parts }) => mediansOf(parts.filter(({ rate }) => rate === outcome.offeredRatePerSecond)))
    return { single, outcome, withTile38, ...plain! }
  } finally {
    for (const { end } of begun) await end()
  }
}

/** A distributed engine that takes part. */
interface Begun {
  readonly contender: Contender
  readonly parts: readonly Parts[]
  end(): Promise<void>
}

async function begin(
  name: string,
  single: Case,
  { binary, tile38, registryOf, generator }: CaseSetup,
): Promise<Begun> {
  progress(`${nameOf(single)}: starting`)
  const { profiles } = options
  const env = {
    RINGFENCE_PARTITIONS: String(single.partitions),
    ...(profiles === undefined ? {} : { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${profiles}` }),
  }
  const folder = benchFolder('cluster')
  const { processes, whole } = await startDistributed(folder, { ...single, binary, tile38, registryOf, env })
  const ofRingfence = [...processes].flatMap(([each, server]) =>
    each === 'nats' || each === 'tile38' ? [] : [server],
  )
  const parts: Parts[] = []
  try {
    const { contender, close } = await open(name, whole, ofRingfence, generator)
    const end = async () => {
      await close()
      await whole.stop()
    }
    await warmUp(contender)
    return { contender: inParts(contender, processes, parts), parts, end }
  } catch (error) {
    await whole.stop()
    throw error
  }
}

/** @param ringfence the processes in which events may still be in progress when the updates are acknowledged */
async function open(
  name: string,
  server: ServerProcess,
  ringfence: readonly ServerProcess[],
  generator: StreamGenerator,
): Promise<{ contender: Contender; close: () => Promise<void> }> {
  const session = await generator.open({
    port: server.port,
    key: BENCH_KEYS.testPublishable,
    encoding: 'json',
    connections: 16,
    updatesPerFrame: 32,
    updatesPerRound: devices,
    events: false,
  })
  const contender: Contender = {
    name,
    server,
    async offer(load) {
      const result = await session.run(load)
      await eventsArrived(ringfence)
      return result.problems === 0 ? result : { ...result, ok: 0 }
    },
  }
  return { contender, close: () => session.close() }
}

/** Records the parts of each window. */
function inParts(
  contender: Contender,
  processes: ReadonlyMap<string, ServerProcess>,
  parts: Parts[],
): Contender {
  const hosts = [...processes].flatMap(([name, server]) => (name.startsWith('host-') ? [server] : []))
  return {
    ...contender,
    async offer(load) {
      const madeBefore = await made(hosts)
      const before = new Map([...processes].map(([name, server]) => [name, server.cpuSeconds()]))
      const window = await contender.offer(load)
      const used = [...processes].map(
        ([name, server]) => [name, server.cpuSeconds() - before.get(name)!] as const,
      )
      const { updates, events, frames } = await made(hosts)
      parts.push({
        rate: load.rate,
        updates: window.ok,
        cpuSeconds: new Map(used),
        made: {
          updates: updates - madeBefore.updates,
          events: events - madeBefore.events,
          frames: frames - madeBefore.frames,
        },
      })
      return window
    },
  }
}

/**
 * Some updates of each device without a pause, because a first update costs far more than later ones, and then some in
 * frames as small as in the windows.
 */
async function warmUp(contender: Contender): Promise<void> {
  progress(`${contender.name} warms up`)
  const maxLagMs = 20_000
  const count = SMALL_FRAMES_RATE * SMALL_FRAMES_SECONDS
  for (const load of [
    { rate: 0, count: devices * WARM_UP_ROUNDS, maxLagMs },
    { rate: SMALL_FRAMES_RATE, count, maxLagMs },
  ])
    requireClean(contender, await contender.offer(load))
}

/**
 * Resolves when no event waits to be published or indexed, and no position to be written to Tile38, because that cost
 * belongs to the window.
 */
async function eventsArrived(servers: readonly ServerProcess[]): Promise<void> {
  const began = performance.now()
  let waiting = ''
  let changedAt = began
  while (performance.now() - changedAt < UNCHANGED_MS && performance.now() - began < EVENTS_MS) {
    await sleep(LOOK_MS)
    const each = await Promise.all(
      servers.map(async (server, i) => {
        const read = await metricsOf(server)
        return WAITING.map((name) => [`${name} of process ${i + 1}`, read(name)] as const)
      }),
    )
    const now = each
      .flat()
      .flatMap(([name, count]) => (count === 0 ? [] : [`${name}: ${count}`]))
      .join('; ')
    if (now === '') return
    if (now !== waiting) changedAt = performance.now()
    waiting = now
  }
  throw new Error(`Still on the way: ${waiting}.`)
}

/** What all hosts have applied and made so far. */
async function made(servers: readonly ServerProcess[]): Promise<Made> {
  let updates = 0
  let events = 0
  let frames = 0
  for (const server of servers) {
    const read = await metricsOf(server)
    updates += read('updates_total')
    events += read('events_total')
    frames += read('frames_total')
  }
  return { updates, events, frames }
}

/** Reads a metric without labels; 0 if the process does not have it. */
async function metricsOf({ port }: ServerProcess): Promise<(name: string) => number> {
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`)
  const text = await answer.text()
  return (name) => {
    const value = new RegExp(`^ringfence_${name} (\\S+)$`, 'm').exec(text)?.[1] ?? '0'
    return value === '+Inf' ? Infinity : Number(value)
  }
}

/** Medians over the windows. */
function mediansOf(parts: readonly Parts[]): Medians {
  const names = [...(parts[0]?.cpuSeconds.keys() ?? [])]
  const microsOf = (name: string) =>
    median(parts.map(({ cpuSeconds, updates }) => (cpuSeconds.get(name)! / updates) * 1e6))
  return {
    shares: Object.fromEntries(names.map((name) => [name, rounded(microsOf(name), 2)])),
    eventsPerUpdate: median(parts.map(({ made: { events, updates } }) => events / updates)),
    updatesPerFrame: median(parts.map(({ made: { frames, updates } }) => updates / frames)),
  }
}

function nameOf({ hosts, sync, partitions }: Case): string {
  return `${hosts} ${hosts === 1 ? 'host' : 'hosts'}, ${partitions} partitions, sync ${sync}`
}

function ratioOf({ standings }: Outcome): number {
  return standings[DISTRIBUTED]!.cpuMicrosPerUpdate / standings[EMBEDDED]!.cpuMicrosPerUpdate
}

function report(
  results: readonly Result[],
  failures: readonly Failure[],
  flushTimeMs: number,
  partial: boolean,
): number {
  const rows = results.map(({ single, outcome, withTile38, shares, eventsPerUpdate, updatesPerFrame }) => {
    const { embedded, distributed, [WITH_TILE38]: copying } = outcome.standings
    const { gateway, nats, ...hosts } = shares
    return {
      case: nameOf(single),
      rate: outcome.offeredRatePerSecond,
      embedded: embedded!.cpuMicrosPerUpdate,
      distributed: distributed!.cpuMicrosPerUpdate,
      ratio: rounded(ratioOf(outcome), 2),
      gateway,
      hosts: rounded(
        Object.values(hosts).reduce((sum, one) => sum + one, 0),
        2,
      ),
      nats,
      withTile38: copying?.cpuMicrosPerUpdate,
      tile38: withTile38?.shares['tile38'],
      p50Ms: distributed!.p50Ms,
      p99Ms: distributed!.p99Ms,
      answered: thousands(distributed!.answeredPerSecond),
      peak: peakOf(outcome, DISTRIBUTED),
      embeddedPeak: peakOf(outcome, EMBEDDED),
      eventsPerUpdate: rounded(eventsPerUpdate, 3),
      updatesPerFrame: rounded(updatesPerFrame, 1),
    }
  })
  console.table([...rows, ...failures])
  warnOfOtherLoad(results.map(({ outcome }) => outcome))
  // Missing if that case failed.
  const stated = rows.find((row) => row.case === nameOf(CASES[0]!))
  const missed = stated !== undefined && stated.ratio > STATED_RATIO * (1 + TOLERANCE)
  console.log(
    JSON.stringify({
      bench: 'cluster',
      rows,
      failures,
      statedRatio: STATED_RATIO,
      details: results.map(({ single, outcome, shares, withTile38 }) => ({
        ...single,
        shares,
        sharesWithTile38: withTile38?.shares,
        ...outcome,
      })),
      geofences,
      devices,
      seed,
      windows,
      windowSeconds: seconds,
      flushMs: rounded(flushTimeMs, 3),
      smoke: options.smoke,
      partial,
    }),
  )
  return failures.length > 0 || (options.strict && !options.smoke && missed) ? 1 : 0
}

function peakOf({ standings }: Outcome, name: string): string | undefined {
  const { highestRatePerSecond, generatorWasLimit } = standings[name]!
  if (highestRatePerSecond === 0) return undefined
  return `${thousands(highestRatePerSecond)}${generatorWasLimit ? '+' : ''}`
}

process.exit(await main())
