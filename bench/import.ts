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
import { rounded } from './figures.ts'
import { benchFolder } from './folder.ts'
import { beside } from './load/beside.ts'
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
const IDLE_MS = 2_000
const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri']

async function main(): Promise<number> {
  const folder = benchFolder('import')
  const file = join(folder, 'geofences.csv')
  progress(`writing ${ROWS} rows`)
  await pipeline(csv(ROWS, Number(options.seed)), createWriteStream(file))
  const server = await startRingfence(folder)
  const idle = await beside(server, UPDATE_EVERY_MS, () => sleep(IDLE_MS))
  const imports = []
  for (const name of ['created', 'updated', 'updated'] as const) {
    progress(`import ${imports.length + 1}: ${ROWS} rows ${name}`)
    const cpuBefore = server.cpuSeconds()
    const machineBefore = machineCpuSeconds()
    const run = await beside(server, UPDATE_EVERY_MS, () => importFile(file, server.port, name))
    const cpuSeconds = rounded(server.cpuSeconds() - cpuBefore, 2)
    imports.push({ ...run, cpuSeconds, machineCpuSeconds: rounded(machineCpuSeconds() - machineBefore, 2) })
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
  const fileMb = rounded(statSync(file).size / 1e6, 2)
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

process.exitCode = await main()
