/**
 * How long a start takes: from the start of the process until /readyz answers 200, with a million devices, a hundred
 * thousand geofences and a log of two million updates after the snapshots; the same without snapshots; and after a
 * kill -9 under load. Each is compared with reading the same files.
 */
import { execFileSync } from 'node:child_process'
import { closeSync, openSync, readdirSync, readSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { median, rounded, thousands } from './figures.ts'
import { benchFolder } from './folder.ts'
import { BENCH_KEYS, seedGeofences, startRingfence, type ServerProcess } from './load/servers.ts'
import { startStreamGenerator } from './load/streamLoad.ts'
import { drawGeofences } from './load/workload.ts'
import { done, progress } from './progress.ts'

/** Limit for a start with a million devices and a tail of two million updates. */
const STATED_SECONDS = 10
/** How far above it `--strict` lets a noisy machine measure. */
const TOLERANCE = 0.1
const SETTLE_MS = 3000
const MIB = 1024 * 1024

const { values: options } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    strict: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
    /** Starts of each kind. */
    runs: { type: 'string' },
    /** Updates of each device after its snapshot. */
    tail: { type: 'string', default: '2' },
  },
})
const size = options.smoke
  ? { geofences: 5_000, devices: 10_000, runs: 1, loaded: 1_000, rate: 2_000, loadSeconds: 1 }
  : { geofences: 100_000, devices: 1_000_000, runs: 5, loaded: 100_000, rate: 20_000, loadSeconds: 4 }
const runs = Number(options.runs ?? size.runs)
const tail = Number(options.tail)
const seed = Number(options.seed)

const folder = benchFolder('recover')
const data = join(folder, 'data')
const requests = join(folder, 'track.requests')

interface Row {
  readonly start: string
  readonly seconds: number
  readonly secondsMin: number
  readonly secondsMax: number
  readonly cpuSeconds: number
  /** The seconds that it takes to read the files that a start reads, from the system's cache like the start itself. */
  readonly bareReadSeconds: number
  readonly logMiB: number
  readonly snapshotMiB: number
  readonly devices: number
  /** The resident memory, measured three seconds after the server is ready. */
  readonly rssMiB: number
}

interface Started {
  readonly seconds: number
  readonly cpuSeconds: number
  readonly rssBytes: number
}

/** Starts the server, measures it, and kills it, so that the disk does not change. */
async function start(devices: number): Promise<Started> {
  const began = performance.now()
  const server = await startRingfence(folder)
  const seconds = (performance.now() - began) / 1000
  const cpuSeconds = server.cpuSeconds()
  await sleep(SETTLE_MS)
  const rssBytes = server.rssBytes()
  await requireDevices(server, devices)
  await server.kill()
  return { seconds, cpuSeconds, rssBytes }
}

/** Makes sure that the devices are there, because a start that loses them would be fast. */
async function requireDevices(server: ServerProcess, devices: number): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${server.port}/metrics`)
  const found = Number(/^ringfence_users (\d+)$/m.exec(await answer.text())?.[1])
  if (found !== devices) throw new Error(`${found} devices are there after the start, not ${devices}`)
}

async function measure(name: string, devices: number, before?: () => Promise<void>): Promise<Row> {
  const started: Started[] = []
  for (let run = 1; run <= runs; run++) {
    progress(`${name}: ${run} of ${runs}`)
    await before?.()
    started.push(await start(devices))
  }
  const seconds = started.map((one) => one.seconds)
  const row = {
    start: name,
    seconds: rounded(median(seconds), 2),
    secondsMin: rounded(Math.min(...seconds), 2),
    secondsMax: rounded(Math.max(...seconds), 2),
    cpuSeconds: rounded(median(started.map((one) => one.cpuSeconds)), 2),
    bareReadSeconds: rounded(median(Array.from({ length: runs }, readFiles)), 3),
    logMiB: Math.round(bytesOf('log') / MIB),
    snapshotMiB: Math.round(bytesOf('snapshots') / MIB),
    devices,
    rssMiB: Math.round(median(started.map((one) => one.rssBytes)) / MIB),
  }
  done(`${name}: ${row.seconds} s`)
  return row
}

/** Seconds that it takes to read what a start reads: the registry, the snapshots and the log. */
function readFiles(): number {
  const buffer = Buffer.allocUnsafe(MIB)
  const began = performance.now()
  for (const file of [...filesOf('log'), ...filesOf('snapshots'), join(data, 'registry.sqlite')]) {
    const descriptor = openSync(file, 'r')
    while (readSync(descriptor, buffer) > 0);
    closeSync(descriptor)
  }
  return (performance.now() - began) / 1000
}

function filesOf(name: string): string[] {
  return readdirSync(join(data, name)).map((file) => join(data, name, file))
}

function bytesOf(name: string): number {
  return filesOf(name).reduce((bytes, file) => bytes + statSync(file).size, 0)
}

function build(): { frames: number; updates: number; events: number; logBytes: number } {
  const flags = {
    data,
    devices: size.devices,
    geofences: size.geofences,
    tail,
    seed,
    requests,
    sample: size.loaded,
  }
  const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)])
  const output = execFileSync(process.execPath, [join(import.meta.dirname, 'recover', 'build.ts'), ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return JSON.parse(output)
}

/** Leaves a folder in the state of a server that was killed in the middle of its work. */
async function killUnderLoad(): Promise<void> {
  const server = await startRingfence(folder)
  const generator = await startStreamGenerator(requests, size.loaded * (tail + 1))
  const session = await generator.open({
    port: server.port,
    key: BENCH_KEYS.testPublishable,
    encoding: 'json',
    connections: 16,
    updatesPerFrame: 32,
    updatesPerRound: size.loaded,
    events: false,
  })
  const count = size.rate * (size.loadSeconds + 5)
  const load = session.run({ rate: size.rate, count, maxLagMs: 60_000 })
  await sleep(size.loadSeconds * 1000)
  await server.kill()
  const { ok } = await load
  if (ok === 0) throw new Error('the server was killed before it acknowledged anything')
  generator.stop()
}

seedGeofences(folder, drawGeofences(size.geofences, seed), (stored) => progress(`geofences: ${stored}`))
const geofencesOnly = await measure('geofences only', 0)
const began = performance.now()
const built = build()
done(`${thousands(built.updates)} updates made in ${Math.round((performance.now() - began) / 1000)} s`)
const rows = [geofencesOnly, await measure(`snapshots and ${tail} updates of each device`, size.devices)]
rows.push(await measure('the same after kill -9 under load', size.devices, killUnderLoad))
renameSync(join(data, 'snapshots'), join(data, 'away'))
rows.push(await measure('the same without snapshots', size.devices))
console.table(rows)
const { seconds } = rows[1]!
console.log(
  `start with a tail of ${thousands(size.devices * tail)} updates: ${seconds} s ` +
    (options.smoke ? '(a smoke run)' : `(stated: ${STATED_SECONDS})`),
)
console.log(
  JSON.stringify({
    bench: 'recover',
    seconds,
    statedSeconds: STATED_SECONDS,
    ...size,
    runs,
    tail,
    seed,
    built,
    rows,
    smoke: options.smoke,
  }),
)
const missed = !options.smoke && seconds > STATED_SECONDS * (1 + TOLERANCE)
process.exit(options.strict && missed ? 1 : 0)
