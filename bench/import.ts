/**
 * A CSV of 100,000 geofences through `npm run import` into a running server: seconds from the start of the command to
 * its report, once into an empty environment (all created) and twice more (all updated). Meanwhile devices send an
 * update every 20 ms, whether the previous one is answered or not. Their latency shows what an import costs others.
 *
 * Memory: resident set before, highest during each import, after, and of a server that has only read the records from
 * its disk. The difference to the last is garbage that has not been collected yet. It does not grow with the file:
 * the second and third import, which add no records, add less and less.
 *
 * Not measured: polygons, which cost what their validation costs; a network; several imports at once.
 *
 * `node bench/import.ts [--smoke] [--seed N] [--strict]`; `--strict` exits 1 if the first import takes longer than
 * stated.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, statSync } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { seededRandom } from '../src/simulation/streets.ts'
import { benchFolder } from './folder.ts'
import { BENCH_KEYS, startRingfence } from './load/servers.ts'
import type { ServerProcess } from './load/servers.ts'
import { flushMs, machineCpuSeconds } from './machine.ts'
import { done, progress } from './progress.ts'

const { values: options } = parseArgs({
  options: {
    strict: { type: 'boolean', default: false },
    smoke: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
  },
})
const ROWS = options.smoke ? 2_000 : 100_000
const STATED_SECONDS = 10
const UPDATE_EVERY_MS = 20
const DEVICES = 50
const SAMPLE_EVERY_MS = 50
const IDLE_MS = 2_000
const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri']

async function main(): Promise<number> {
  const folder = benchFolder('import')
  const file = join(folder, 'geofences.csv')
  progress(`writing ${ROWS} rows`)
  await pipeline(csv(ROWS, Number(options.seed)), createWriteStream(file))
  const server = await startRingfence(folder)
  const idle = await watched(server, () => sleep(IDLE_MS))
  const imports = []
  for (const name of ['created', 'updated', 'updated'] as const) {
    progress(`import ${imports.length + 1}: ${ROWS} rows ${name}`)
    const cpuBefore = server.cpuSeconds()
    const machineBefore = machineCpuSeconds()
    const run = await watched(server, () => importFile(file, server.port, name))
    const cpuSeconds = rounded(server.cpuSeconds() - cpuBefore)
    imports.push({ ...run, cpuSeconds, machineCpuSeconds: rounded(machineCpuSeconds() - machineBefore) })
    done(
      `${name}: ${run.seconds} s, ${Math.round(ROWS / run.seconds)} rows/s; update p50 ${run.p50Ms} ms, ` +
        `p99 ${run.p99Ms} ms, highest ${run.maxMs} ms (idle p99 ${idle.p99Ms} ms)`,
    )
  }
  const rssAfterMb = await restingMb(server)
  await server.stop()
  const restarted = await startRingfence(folder)
  const rssRecordsMb = await restingMb(restarted)
  await restarted.stop()
  const [created, updated, again] = imports
  done(
    `memory: ${idle.rssHighestMb} MB before, highest ${created!.rssHighestMb}, ${updated!.rssHighestMb} and ${again!.rssHighestMb} MB, ` +
      `${rssAfterMb} MB after, ${rssRecordsMb} MB for a server that has read the records`,
  )
  const fileMb = rounded(statSync(file).size / 1e6)
  const seed = Number(options.seed)
  const figures = { seed, rows: ROWS, fileMb, statedSeconds: STATED_SECONDS, seconds: created!.seconds }
  console.log(
    JSON.stringify({
      bench: 'import',
      ...figures,
      idle,
      created,
      updated,
      again,
      rssAfterMb,
      rssRecordsMb,
      flushMs: flushMs(folder),
    }),
  )
  return options.strict && !options.smoke && created!.seconds > STATED_SECONDS ? 1 : 0
}

/** Runs `task` while updates are sent and memory is measured. */
async function watched(server: ServerProcess, task: () => Promise<void>) {
  const stop = new AbortController()
  const latencies: number[] = []
  let rssHighest = 0
  const sampler = setInterval(() => (rssHighest = Math.max(rssHighest, server.rssBytes())), SAMPLE_EVERY_MS)
  const updates = sendUpdates(server.port, latencies, stop.signal)
  const began = performance.now()
  try {
    await task()
  } finally {
    clearInterval(sampler)
    stop.abort()
  }
  const seconds = rounded((performance.now() - began) / 1000)
  await updates
  latencies.sort((a, b) => a - b)
  const at = (share: number) => rounded(latencies[Math.floor((latencies.length - 1) * share)] ?? 0)
  return {
    seconds,
    updates: latencies.length,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    maxMs: at(1),
    rssHighestMb: megabytes(rssHighest),
  }
}

/** Open loop: an update is sent when it is due, and its latency counts from that time. */
async function sendUpdates(port: number, latencies: number[], signal: AbortSignal): Promise<void> {
  const answers: Promise<void>[] = []
  const began = performance.now()
  for (let i = 0; !signal.aborted; i++) {
    const due = began + i * UPDATE_EVERY_MS
    await sleep(Math.max(0, due - performance.now()))
    answers.push(sendUpdate(port, i).then(() => void latencies.push(performance.now() - due)))
  }
  await Promise.all(answers)
}

async function sendUpdate(port: number, i: number): Promise<void> {
  const device = i % DEVICES
  const latitude = 40 + (i % 1000) / 10_000
  const answer = await fetch(`http://127.0.0.1:${port}/v1/track`, {
    method: 'POST',
    headers: { Authorization: BENCH_KEYS.testPublishable, 'Content-Type': 'application/json' },
    body: JSON.stringify({ deviceId: `bench-${device}`, latitude, longitude: -74, accuracy: 20 }),
  })
  await answer.arrayBuffer()
  if (answer.status !== 200) throw new Error(`an update was answered ${answer.status}`)
}

async function importFile(file: string, port: number, outcome: string): Promise<void> {
  const command = ['src/cli/import.ts', 'geofences', file, '--url', `http://127.0.0.1:${port}`]
  const child = spawn(process.execPath, command, {
    cwd: join(import.meta.dirname, '..'),
    env: { ...process.env, RINGFENCE_SECRET_KEY: BENCH_KEYS.testSecret },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let report = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (report += text))
  const [code] = await once(child, 'close')
  if (code !== 0 || !report.includes(`${ROWS.toLocaleString('en-US')} ${outcome}`)) {
    throw new Error(`the import ended with ${String(code)}: ${report}`)
  }
}

async function restingMb(server: ServerProcess): Promise<number> {
  await sleep(IDLE_MS)
  return megabytes(server.rssBytes())
}

function* csv(rows: number, seed: number): Generator<string> {
  const random = seededRandom(seed)
  yield `description,type,tag,externalId,coordinates,radius,metadata.city,metadata.size,${DAYS.map((day) => `operatingHours.${day}`).join(',')}\n`
  const hours = '"[[""8:00 AM"",""12:30 PM""],[""1:30 PM"",""6:00 PM""]]"'
  for (let i = 0; i < rows; i++) {
    const position = `"[${(-130 + random() * 250).toFixed(6)},${(-40 + random() * 95).toFixed(6)}]"`
    const radius = Math.round(30 + random() * 300)
    yield `"Branch ${i}, ""main"" door",circle,branch,id-${i},${position},${radius},Town ${i % 500},${i % 9},${DAYS.map(() => hours).join(',')}\n`
  }
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1e6)
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100
}

process.exitCode = await main()
