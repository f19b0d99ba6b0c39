import { execFileSync, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { existsSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { killAtExit } from '../../cluster/killAtExit.ts'
import { parseKeys } from '../../src/registry/projects/keys.ts'
import { freePort } from '../../test/kit/freePort.ts'
import { definitionOf } from '../../test/registry/areaFinders.ts'
import type { GeofenceDefinition } from '../../src/registry/geofences/geofenceRows.ts'
import { openRegistry } from '../../src/registry/registry.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'
import type { AnswerShape } from './answerShape.ts'
import { processorPins } from './load.ts'

/** A server under load, as a separate process. */
export interface ServerProcess {
  readonly port: number
  readonly pid: number
  /** CPU time of all its threads so far, seconds. */
  cpuSeconds(): number
  /** Resident memory now. */
  rssBytes(): number
  /** The last lines that it wrote. */
  output(): string
  stop(): Promise<void>
  /** Ends it with SIGKILL. */
  kill(): Promise<void>
}

/** Four keys for RINGFENCE_KEYS: test publishable, live publishable, test secret, live secret. */
export const BENCH_KEYS = {
  testPublishable: `prj_test_pk_${'1'.repeat(40)}`,
  livePublishable: `prj_live_pk_${'2'.repeat(40)}`,
  testSecret: `prj_test_sk_${'3'.repeat(40)}`,
  liveSecret: `prj_live_sk_${'4'.repeat(40)}`,
}

const KEYS = Object.values(BENCH_KEYS).join(',')
const DATA = 'data'
const ROOT = join(import.meta.dirname, '..', '..')
/** The messages of streams in protobuf. */
export const PROTO_FILE = join(ROOT, 'proto', 'ringfence.proto')
const START_TIMEOUT_MS = 120_000
/** How often to check whether a server is ready. */
const LOOK_MS = 10

/** Geofences per transaction. */
const SEED_BATCH = 5_000

/**
 * Stores geofences in the folder of a Ringfence server that is not running. Not over HTTP, because each PUT waits for
 * the disk and the cost of a hundred thousand of them is not what is measured.
 */
export function seedGeofences(
  folder: string,
  fields: Iterable<Record<string, unknown>>,
  onProgress: (stored: number) => void,
): void {
  const registry = openRegistry({
    folder: join(folder, DATA),
    clock: systemClock,
    createIndex: createGeofenceIndex,
    firstKeys: parseKeys(KEYS),
  })
  const { scope } = registry.keys.authenticate(BENCH_KEYS.testSecret)!
  let batch: GeofenceDefinition[] = []
  let stored = 0
  const store = () => {
    stored += registry.geofences.putMany(scope, batch).length
    batch = []
    onProgress(stored)
  }
  for (const definition of fields) {
    batch.push(definitionOf(definition))
    if (batch.length === SEED_BATCH) store()
  }
  if (batch.length > 0) store()
  registry.close()
}

export interface RingfenceOptions {
  /** Environment variables in addition to those that every bench sets. */
  readonly env?: Readonly<Record<string, string>>
  /** Modules that are loaded before the server, as paths from the checkout's root. */
  readonly preloads?: readonly string[]
  /** Whether it may use all processors, including the generator's. */
  readonly unpinned?: boolean
}

/** Starts Ringfence like `npm start`, with rate limits off, and waits until it is ready. */
export async function startRingfence(folder: string, options: RingfenceOptions = {}): Promise<ServerProcess> {
  const port = await freePort()
  const preloads = options.preloads ?? []
  const args = [
    '--no-flush-bytecode',
    '--max-semi-space-size=32',
    '--no-allocation-site-pretenuring',
    '--max-inlined-bytecode-size=920',
    '--max-inlined-bytecode-size-cumulative=3680',
    ...preloads.flatMap((file) => ['--import', `./${file}`]),
    'src/main.ts',
  ]
  const env = {
    MALLOC_ARENA_MAX: '2',
    GLIBC_TUNABLES: 'glibc.malloc.hugetlb=1',
    RINGFENCE_PORT: String(port),
    RINGFENCE_HOST: '127.0.0.1',
    RINGFENCE_DATA: join(folder, DATA),
    RINGFENCE_KEYS: KEYS,
    RINGFENCE_RATE_LIMITS: 'off',
    RINGFENCE_SAMPLE_REGION: 'off',
    RINGFENCE_DASHBOARD: 'off',
    ...options.env,
  }
  const server = await launchNode(args, join(folder, 'ringfence.log'), env, options.unpinned)
  return server.ready(async () => ((await answers(`http://127.0.0.1:${port}/readyz`)) ? port : undefined))
}

/** The same as in Ringfence: docs/adr/0012-gather-under-load.md. */
const GATHER_MS = 2

/** What a bare server does before it acknowledges; see bare.ts and bareStream.ts. */
export interface BareWork {
  /** Flushes a row for each update, gathered as in Ringfence. */
  readonly flushes?: boolean
}

/** Starts the bare handler of HTTP; `name` is the beginning of its file names. */
export function startBare(
  folder: string,
  name: string,
  shape: AnswerShape,
  work: BareWork = {},
): Promise<ServerProcess> {
  const answerFile = join(folder, `${name}.answer.json`)
  writeFileSync(answerFile, JSON.stringify(shape))
  const args = ['--answer', answerFile, ...flushArgs(folder, name, work)]
  return launchBare(folder, name, ['bench/load/bare.ts', ...args])
}

/** Starts the bare handler of streams; `name` is the beginning of its file names. */
export function startBareStream(folder: string, name: string, work: BareWork = {}): Promise<ServerProcess> {
  const args = ['--proto', PROTO_FILE, ...flushArgs(folder, name, work)]
  return launchBare(folder, name, ['bench/load/bareStream.ts', ...args])
}

function flushArgs(folder: string, name: string, { flushes }: BareWork): string[] {
  if (flushes !== true) return []
  return ['--log', join(folder, `${name}.rows`), '--gather', String(GATHER_MS)]
}

/** Starts the bare server that delivers messages like this one to many. */
export function startBareFanout(folder: string, message: string): Promise<ServerProcess> {
  const file = join(folder, 'event.json')
  writeFileSync(file, message)
  return launchBare(folder, 'bareFanout', ['bench/load/bareFanout.ts', '--event', file])
}

/**
 * Starts Tile38 on an empty folder, with its append-only file in the default setting: written before each answer, and
 * flushed to the disk once a second, which is the strictest setting that it has.
 *
 * @param binary of tile38-server
 * @param unpinned see {@link RingfenceOptions.unpinned}
 */
export async function startTile38(
  folder: string,
  name: string,
  binary: string,
  unpinned = false,
): Promise<ServerProcess> {
  const port = await freePort()
  const log = join(folder, `${name}.log`)
  const words = [binary, '-h', '127.0.0.1', '-p', String(port), '-d', join(folder, name)]
  const server = await launch(words, log, {}, unpinned)
  return server.ready(async () => (/ready/i.test(readFileSync(log, 'utf8')) ? port : undefined))
}

/**
 * Starts a NATS server with JetStream on an empty folder.
 *
 * @param binary of nats-server
 * @param sync how often it flushes to the disk, in the form of its setting: `2m`, or `always`
 * @param unpinned see {@link RingfenceOptions.unpinned}
 */
export async function startNats(
  folder: string,
  binary: string,
  sync: string,
  unpinned = false,
): Promise<ServerProcess> {
  const port = await freePort()
  const config = join(folder, `nats-${sync}.conf`)
  const log = join(folder, `nats-${sync}.log`)
  writeFileSync(
    config,
    `listen: "127.0.0.1:${port}"\njetstream {\nstore_dir: "${join(folder, `nats-${sync}`)}"\nsync_interval: ${sync}\n}\n`,
  )
  const server = await launch([binary, '-c', config], log, {}, unpinned)
  return server.ready(async () => (readFileSync(log, 'utf8').includes('Server is ready') ? port : undefined))
}

export interface FeedOptions {
  /** The port of the server in front of which it stands. */
  readonly target: number
  readonly devices: number
  readonly geofences: number
  readonly seed: number
  /** Events a second on each subscription. If absent, there are none. */
  readonly events?: number
}

/** Starts a recorded source of positions: positionFeed.ts. */
export function startPositionFeed(folder: string, options: FeedOptions): Promise<ServerProcess> {
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)])
  return launchBare(folder, 'feed', ['bench/load/positionFeed.ts', ...args])
}

async function launchBare(folder: string, name: string, args: string[]): Promise<ServerProcess> {
  const log = join(folder, `${name}.log`)
  const server = await launchNode(args, log, {})
  return server.ready(async () => {
    const match = /listening (\d+)/.exec(readFileSync(log, 'utf8'))
    return match ? Number(match[1]) : undefined
  })
}

function launchNode(args: string[], log: string, env: Record<string, string>, unpinned = false) {
  return launch([process.execPath, ...args], log, env, unpinned)
}

async function launch(words: string[], log: string, env: Record<string, string> = {}, unpinned = false) {
  const output = openSync(log, 'w')
  const { server: pin } = await processorPins()
  const [command, ...rest] = [...(unpinned ? [] : pin), ...words]
  const child = spawn(command!, rest, {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ['ignore', output, output],
  })
  killAtExit(child)
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  return {
    async ready(port: () => Promise<number | undefined>): Promise<ServerProcess> {
      const deadline = Date.now() + START_TIMEOUT_MS
      while (Date.now() < deadline && child.exitCode === null && child.signalCode === null) {
        const found = await port()
        if (found !== undefined) return serverProcess(child, found, exited, () => tail(log))
        await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
      }
      const program = words.findLast((word) => word.endsWith('.ts')) ?? words[0]
      throw new Error(`${program} did not start. Its output ends with:\n${tail(log)}`)
    },
  }
}

function serverProcess(
  child: ChildProcess,
  port: number,
  exited: Promise<void>,
  output: () => string,
): ServerProcess {
  return {
    port,
    pid: child.pid!,
    cpuSeconds: () => processCpuSeconds(child.pid!),
    rssBytes: () => processRssBytes(child.pid!),
    output,
    stop() {
      child.kill('SIGTERM')
      return exited
    },
    kill() {
      child.kill('SIGKILL')
      return exited
    },
  }
}

function tail(log: string): string {
  return readFileSync(log, 'utf8').split('\n').slice(-15).join('\n')
}

/** Which field of /proc/<pid>/task/<thread>/stat is the priority, counted after the name in brackets. */
const NICE_FIELD = 16
/** Clock ticks per second of /proc/<pid>/stat; 100 on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100

/**
 * CPU time of all threads, exact to the microsecond if the kernel counts that precisely, otherwise to its ticks.
 * @param isCounted whether to count a thread, by its folder
 */
function processCpuSeconds(pid: number, isCounted: (thread: string) => boolean = () => true): number {
  if (existsSync('/proc/self/schedstat')) {
    let nanoseconds = 0
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      if (!isCounted(`/proc/${pid}/task/${thread}`)) continue
      const schedule = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8')
      nanoseconds += Number(schedule.slice(0, schedule.indexOf(' ')))
    }
    return nanoseconds / 1e9
  }
  if (existsSync('/proc/self/stat')) {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
  }
  const time = execFileSync('ps', ['-o', 'time=', '-p', String(pid)], { encoding: 'utf8' }).trim()
  return time.split(':').reduce((seconds, part) => seconds * 60 + Number(part), 0)
}

/** CPU time of a server's threads so far, seconds. */
export interface ThreadSeconds {
  /** Those of the usual priority. Where threads have no priority of their own, all. */
  readonly foreground: number
  /** Those of a lower priority, which search, draw maps and the like. */
  readonly background: number
}

export function threadSeconds({ pid }: ServerProcess): ThreadSeconds {
  const foreground = processCpuSeconds(pid, isForeground)
  return { foreground, background: processCpuSeconds(pid) - foreground }
}

/** Whether a thread has the usual priority, or a higher one. */
function isForeground(thread: string): boolean {
  const stat = readFileSync(`${thread}/stat`, 'utf8')
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[NICE_FIELD]) <= 0
}

function processRssBytes(pid: number): number {
  if (existsSync('/proc/self/status')) {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024
  }
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) * 1024
}

async function answers(url: string): Promise<boolean> {
  try {
    const answer = await fetch(url)
    await answer.arrayBuffer()
    return answer.ok
  } catch {
    return false
  }
}
