/**
 * What an update costs in this checkout, compared with an earlier commit: `npm run bench -- against 552d1f0`.
 *
 * Three servers take the same updates at the same rate, in windows that take turns: the earlier commit twice, and this
 * checkout. All have the same geofences, devices and settings: those of `http` and `stream`. A round is one window of
 * each, and its order changes from round to round. `ratio` is the median over the rounds of this checkout's CPU per
 * update divided by the earlier commit's in the same round, so what other processes do counts for both.
 * `sameRatio` is the same for the two servers of the earlier commit, and so shows how exact a ratio is.
 *
 * The earlier commit runs with the packages of this checkout.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { benchFolder } from './folder.ts'
import { requireClean, type Contender } from './load/contest.ts'
import { HttpContender } from './load/httpContender.ts'
import { loadGenerator } from './load/load.ts'
import * as servers from './load/servers.ts'
import { openStreams, type StreamCase } from './load/streamContender.ts'
import { startStreamGenerator } from './load/streamLoad.ts'
import { interleave } from './load/interleaved.ts'
import { drawGeofences, writeWorkload, type Workload } from './load/workload.ts'
import { done, progress } from './progress.ts'

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    smoke: { type: 'boolean', default: false },
    strict: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    /** Duration of one window. */
    seconds: { type: 'string' },
    seed: { type: 'string', default: '1' },
    /** Runs only this case: `http`, `stream` or `evaluated`. */
    only: { type: 'string' },
    /** Updates per second; default: a share of what the slowest server answers. */
    rate: { type: 'string' },
  },
})
const [commit] = positionals
if (commit === undefined || positionals.length > 1)
  throw new Error('Name the commit to compare with: npm run bench -- against 552d1f0')
const size = options.smoke
  ? { count: 5_000, rounds: 1, seconds: 0.5, closedCount: 5_000 }
  : { count: 100_000, rounds: 15, seconds: 2, closedCount: 100_000 }
const rounds = Number(options.rounds ?? size.rounds)
const seconds = Number(options.seconds ?? size.seconds)
const number = Number(options.seed)
/** How far the servers may fall behind the schedule, generous because they warm up on a machine that others use. */
const MAX_LAG_MS = 20_000
/** The first round makes the devices; after the others, compilers and zones have settled. */
const WARM_UP_ROUNDS = 3
/** Rounds of the workload that streams send. */
const SENT_ROUNDS = 3
/** An update may cost so much more or less than before, unless two servers of one commit differ by more. */
const BOUND = 0.05

const STREAMS: StreamCase = {
  encoding: 'json',
  updatesPerFrame: 32,
  connections: 16,
  updatesPerRound: size.count,
  events: false,
}

const NAMES = ['before', 'beforeAgain', 'now'] as const
type Names = (typeof NAMES)[number]
type Servers = Readonly<Record<Names, servers.ServerProcess>>
type Open = (name: Names, server: servers.ServerProcess) => Promise<Contender>

interface Row {
  readonly case: string
  readonly rate: number
  readonly beforeMicros: number
  readonly micros: number
  readonly ratio: number
  readonly sameRatio: number
}

interface Case {
  /** The name by which `--only` selects the case. */
  readonly name: string
  /** Modules that are loaded before the servers. */
  readonly preloads: readonly string[]
  measure(started: Servers, workload: Workload): Promise<Row>
}

const STREAM_TITLE = 'stream, JSON, frames of 32'
const CASES: readonly Case[] = [
  { name: 'http', preloads: [], measure: overHttp },
  {
    name: 'stream',
    preloads: [],
    measure: (started, workload) => overStreams(STREAM_TITLE, started, workload),
  },
  {
    name: 'evaluated',
    preloads: ['bench/load/withoutZones.ts'],
    measure: (started, workload) => overStreams(`${STREAM_TITLE}, no update skipped`, started, workload),
  },
]

async function main(): Promise<number> {
  const folder = benchFolder('against')
  const checkout = checkOut(commit!, join(folder, 'checkout'))
  const earlier = (await import(join(checkout, 'bench', 'load', 'servers.ts'))) as typeof servers
  const workload = writeWorkload({
    geofences: size.count,
    devices: size.count,
    seed: number,
    folder,
    publishableKey: servers.BENCH_KEYS.testPublishable,
    onProgress: progress,
  })
  const of: Readonly<Record<Names, typeof servers>> = { before: earlier, beforeAgain: earlier, now: servers }
  for (const name of NAMES) seed(of[name], join(folder, name))
  const rows: Row[] = []
  for (const { name, preloads, measure } of CASES) {
    if (options.only !== undefined && options.only !== name) continue
    const started = {} as Record<Names, servers.ServerProcess>
    for (const each of NAMES) started[each] = await of[each].startRingfence(join(folder, each), { preloads })
    rows.push(await measure(started, workload))
    for (const server of Object.values(started)) await server.stop()
  }
  console.table(rows)
  const missed = rows.filter(({ ratio, sameRatio }) => ratio - 1 > Math.max(BOUND, Math.abs(sameRatio - 1)))
  const partial = options.only !== undefined
  console.log(
    JSON.stringify({
      bench: 'against',
      commit,
      rows,
      rounds,
      seconds,
      seed: number,
      partial,
      smoke: options.smoke,
    }),
  )
  return options.strict && !options.smoke && missed.length > 0 ? 1 : 0
}

/** The files of a commit, with the packages of this checkout. */
function checkOut(name: string, folder: string): string {
  const root = join(import.meta.dirname, '..')
  const archive = join(folder, 'commit.tar')
  mkdirSync(folder)
  execFileSync('git', ['-C', root, 'archive', '--output', archive, name])
  execFileSync('tar', ['-xf', archive, '-C', folder])
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

/** Makes the data folder of a server with its geofences, as the given checkout stores them. */
function seed(of: typeof servers, folder: string): void {
  mkdirSync(folder)
  of.seedGeofences(folder, drawGeofences(size.count, number), (stored) =>
    progress(`${folder}: ${stored} geofences`),
  )
}

async function overHttp(started: Servers, workload: Workload): Promise<Row> {
  const generator = await loadGenerator()
  return compare('POST /v1/track', started, async (name, server) => {
    const contender = new HttpContender(name, server, workload, generator)
    await contender.warmUp()
    return contender
  })
}

async function overStreams(title: string, started: Servers, workload: Workload): Promise<Row> {
  const generator = await startStreamGenerator(workload.trackBodies, size.count * SENT_ROUNDS)
  const closes: (() => Promise<void>)[] = []
  const row = await compare(title, started, async (name, server) => {
    const { contender, close } = await openStreams(name, server, STREAMS, generator)
    closes.push(close)
    const load = { rate: 0, count: size.count * WARM_UP_ROUNDS, maxLagMs: MAX_LAG_MS }
    progress(`${name} warms up`)
    requireClean(contender, await contender.offer(load))
    return contender
  })
  for (const close of closes) await close()
  generator.stop()
  return row
}

/** The windows of all servers, in turn. */
async function compare(title: string, started: Servers, open: Open): Promise<Row> {
  const contenders: Contender[] = []
  for (const [name, server] of Object.entries(started)) contenders.push(await open(name as Names, server))
  const rate = options.rate === undefined ? undefined : Number(options.rate)
  const interleaved = await interleave(title, contenders, {
    rounds,
    seconds,
    rate,
    closedCount: size.closedCount,
  })
  const row = {
    case: title,
    rate: interleaved.rate,
    beforeMicros: interleaved.microsOf('before'),
    micros: interleaved.microsOf('now'),
    ratio: interleaved.ratio('now', 'before'),
    sameRatio: interleaved.ratio('beforeAgain', 'before'),
  }
  done(`${title}: ${row.ratio}, and ${row.sameRatio} for the same commit`)
  return row
}

process.exit(await main())
