/**
 * A geofence sync of a million rows: the first run, which creates all geofences; a run with `force` of the same file, in
 * which nothing has changed; and a run in which every hundredth row has. Each is done by a server that has just read its
 * records, so that its memory at rest is known. Meanwhile devices send an update every 10 ms, whether the previous one is
 * answered or not.
 *
 * Seconds are those of the run's record. `aboveMb`: the largest resident set during the run, above the largest of the
 * seconds before it, which begin when the server has done what is due at its start. `overMs`: the p99 of the updates beside the run, above the p99 of those seconds. `othersCpuShare`: of all
 * processors, what other processes than the server and this one used.
 *
 * Not measured: object storage; a slow network; several environments at once; deletions.
 *
 * `node bench/sync.ts [--smoke] [--seed N] [--rows N] [--strict]`; `--strict` exits 1 if a stated figure is missed by more
 * than a tenth.
 */
import { once } from 'node:events'
import { createWriteStream, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { seededRandom } from '../src/simulation/streets.ts'
import { rounded, thousands } from './figures.ts'
import { benchFolder } from './folder.ts'
import { beside } from './load/beside.ts'
import { BENCH_KEYS, startRingfence, type ServerProcess } from './load/servers.ts'
import { flushMs, machineCpuSeconds } from './machine.ts'
import { done, progress } from './progress.ts'

const { values: options } = parseArgs({
  options: {
    strict: { type: 'boolean', default: false },
    smoke: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
    rows: { type: 'string' },
  },
})
const ROWS = Number(options.rows ?? (options.smoke ? 5_000 : 1_000_000))
const UPDATE_EVERY_MS = 10
const REST_MS = options.smoke ? 1_000 : 15_000
/** At its start a server removes old entries of the audit, of which the first run made a million. */
const SETTLE_MS = options.smoke ? 0 : 15_000
const LOOK_MS = 500
/** In the last case, one row in this many has changed. */
const CHANGED = 100
/** One geofence in this many is a polygon. */
const POLYGONS = 10
const CORNERS = 8
const TOLERANCE = 0.1
const MOST_OTHERS = 0.1
const STATED = { aboveMb: 500, overMs: 5 }

interface Case {
  readonly name: string
  readonly file: string
  readonly force: boolean
  readonly expected: { readonly created: number; readonly updated: number; readonly unchanged: number }
  readonly statedSeconds?: number
}

async function main(): Promise<number> {
  const folder = benchFolder('sync')
  const files = [join(folder, 'before.csv'), join(folder, 'after.csv')] as const
  progress(`writing ${thousands(ROWS)} rows`)
  for (const [version, file] of files.entries())
    await pipeline(csv(ROWS, Number(options.seed), version), createWriteStream(file))
  const web = new Worker(join(import.meta.dirname, 'load', 'fileServer.ts'))
  const [url] = (await once(web, 'message')) as [string]
  const updated = Math.ceil(ROWS / CHANGED)
  const cases: readonly Case[] = [
    { name: 'all new', file: files[0], force: false, expected: { created: ROWS, updated: 0, unchanged: 0 } },
    {
      name: 'force, all unchanged',
      file: files[0],
      force: true,
      expected: { created: 0, updated: 0, unchanged: ROWS },
      statedSeconds: 60,
    },
    {
      name: '1 % changed',
      file: files[1],
      force: false,
      expected: { created: 0, updated, unchanged: ROWS - updated },
      statedSeconds: 90,
    },
  ]
  const rows = []
  for (const one of cases) {
    web.postMessage(one.file)
    await once(web, 'message')
    rows.push(await measured(folder, url, one))
  }
  await web.terminate()
  const fileMb = rounded(statSync(files[0]).size / 1e6, 1)
  console.log(
    JSON.stringify({
      bench: 'sync',
      seed: Number(options.seed),
      rows,
      geofences: ROWS,
      fileMb,
      flushMs: flushMs(folder),
    }),
  )
  const isMissed = rows.some(
    ({ seconds, statedSeconds, aboveMb, overMs }) =>
      statedSeconds !== undefined &&
      [seconds / statedSeconds, aboveMb / STATED.aboveMb, overMs / STATED.overMs].some(
        (share) => share > 1 + TOLERANCE,
      ),
  )
  return options.strict && !options.smoke && isMissed ? 1 : 0
}

async function measured(folder: string, url: string, { name, force, expected, statedSeconds }: Case) {
  const env = { RINGFENCE_SYNC_PRIVATE_ADDRESSES: '127.0.0.1' }
  const server = await startRingfence(folder, { env, unpinned: true })
  try {
    await ask(server, 'PUT', '/v1/geofence-sync', { enabled: false, protocol: 'http', http: { urls: [url] } })
    await sleep(SETTLE_MS)
    progress(`${name}: at rest`)
    const rest = await beside(server, UPDATE_EVERY_MS, () => sleep(REST_MS))
    progress(`${name}: ${thousands(ROWS)} rows`)
    const cpuBefore = server.cpuSeconds()
    const machineBefore = machineCpuSeconds()
    const ownBefore = process.cpuUsage()
    let run: Run | undefined
    const during = await beside(server, UPDATE_EVERY_MS, async () => (run = await ran(server, force)))
    const cpuSeconds = server.cpuSeconds() - cpuBefore
    const own = process.cpuUsage(ownBefore)
    const others = machineCpuSeconds() - machineBefore - cpuSeconds - (own.user + own.system) / 1e6
    const { status, created, updated, unchanged, startedAt, finishedAt } = run!
    if (
      status !== 'succeeded' ||
      JSON.stringify({ created, updated, unchanged }) !== JSON.stringify(expected)
    )
      throw new Error(`${name}: ${JSON.stringify(run)}`)
    const row = {
      case: name,
      seconds: rounded((Date.parse(finishedAt) - Date.parse(startedAt)) / 1000, 1),
      statedSeconds,
      cpuSeconds: rounded(cpuSeconds, 1),
      restMb: rest.rssHighestMb,
      aboveMb: during.rssHighestMb - rest.rssHighestMb,
      restP99Ms: rest.p99Ms,
      p50Ms: during.p50Ms,
      p99Ms: during.p99Ms,
      overMs: rounded(during.p99Ms - rest.p99Ms, 2),
      maxMs: during.maxMs,
      othersCpuShare: rounded(Math.max(0, others / during.seconds / availableParallelism()), 2),
    }
    done(
      `${name}: ${row.seconds} s, ${row.cpuSeconds} s of CPU, ${row.aboveMb} MB above ${row.restMb}; an update p50 ${row.p50Ms} ms, ` +
        `p99 ${row.p99Ms} ms (at rest ${row.restP99Ms}), highest ${row.maxMs} ms`,
    )
    if (row.othersCpuShare > MOST_OTHERS)
      done(
        `Other processes used ${Math.round(row.othersCpuShare * 100)} % of the processors, so these figures are too high.`,
      )
    return row
  } finally {
    await server.stop()
  }
}

interface Run {
  readonly _id: string
  readonly status: string
  readonly created: number
  readonly updated: number
  readonly unchanged: number
  readonly startedAt: string
  readonly finishedAt: string
}

async function ran(server: ServerProcess, force: boolean): Promise<Run> {
  let { run } = await ask(server, 'POST', '/v1/geofence-sync/runs', { force })
  while (['queued', 'running'].includes(run.status)) {
    await sleep(LOOK_MS)
    run = (await ask(server, 'GET', `/v1/geofence-sync/runs/${run._id}`)).run
  }
  return run
}

async function ask(
  server: ServerProcess,
  method: string,
  path: string,
  body?: object,
): Promise<{ run: Run }> {
  const answer = await fetch(`http://127.0.0.1:${server.port}${path}`, {
    method,
    headers: { Authorization: BENCH_KEYS.testSecret, 'Content-Type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
  return JSON.parse(text)
}

/** Circles and polygons around the world. @param version 1: every hundredth row is another than in 0 */
function* csv(rows: number, seed: number, version: number): Generator<string> {
  const random = seededRandom(seed)
  yield 'description,type,tag,externalId,coordinates,radius,metadata.city,metadata.size\n'
  for (let i = 0; i < rows; i++) {
    const [longitude, latitude] = [-130 + random() * 250, -40 + random() * 95]
    const radius = Math.round(30 + random() * 300)
    const isPolygon = i % POLYGONS === 5
    const coordinates = isPolygon
      ? ringAround(longitude, latitude, radius)
      : `[${point(longitude, latitude)}]`
    const shape = `"${coordinates}",${isPolygon ? '' : radius}`
    const size = (i % 9) + (version === 1 && i % CHANGED === 0 ? 100 : 0)
    yield `"Branch ${i}, ""main"" door",${isPolygon ? 'polygon' : 'circle'},branch,id-${i},${shape},Town ${i % 500},${size}\n`
  }
}

function ringAround(longitude: number, latitude: number, radius: number): string {
  const corners = Array.from({ length: CORNERS }, (_, i) => {
    const angle = (i / CORNERS) * 2 * Math.PI
    const reach = radius / 111_320
    return `[${point(longitude + reach * Math.cos(angle), latitude + reach * Math.sin(angle))}]`
  })
  return `[${[...corners, corners[0]].join(',')}]`
}

function point(longitude: number, latitude: number): string {
  return `${longitude.toFixed(6)},${latitude.toFixed(6)}`
}

process.exitCode = await main()
