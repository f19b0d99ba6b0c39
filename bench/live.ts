/**
 * `npm run bench -- live`: what places, regions, segments and fraud cost tracking, in Montevideo and, if its extract is there,
 * in Queens, where state, market and postal code are at work.
 *
 * Four servers take the same updates at the same rate, in windows that take turns: `alone` and `aloneAgain` have geofences
 * and nothing else; `off` also has the map region, with everything turned off; `on` has everything turned on. A ratio is the
 * median of a server's CPU per update divided by that of `alone` and by that of `aloneAgain` in the same round. `aloneAgain`
 * divided by `alone` shows how exact a ratio is. Then: how fast the regions of a point are found, and what a device in a
 * place and four regions takes.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { cityPosition } from '../src/simulation/streets.ts'
import { makeWorld, shareWorld } from '../test/kit/world.ts'
import { rounded } from './figures.ts'
import { benchFolder } from './folder.ts'
import { regionsPerSecond } from './live/atlasSpeed.ts'
import { EVERYTHING } from './live/everything.ts'
import { montevideo, queens, type MappedCity } from './live/cities.ts'
import { requireClean, type Contender } from './load/contest.ts'
import { HttpContender } from './load/httpContender.ts'
import { loadGenerator } from './load/load.ts'
import { collectGarbage, inspectedAt } from '../test/kit/collectGarbage.ts'
import { freePort } from '../test/kit/freePort.ts'
import { BENCH_KEYS, seedGeofences, startRingfence, type ServerProcess } from './load/servers.ts'
import { SNAPSHOTS_AT_ONCE, snapshotsWritten } from './load/snapshots.ts'
import { openStreams, type StreamCase } from './load/streamContender.ts'
import { startStreamGenerator } from './load/streamLoad.ts'
import { interleave, type Interleaved } from './load/interleaved.ts'
import { drawGeofences, writeWorkload, type Workload } from './load/workload.ts'
import { done, progress } from './progress.ts'

const { values: options } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    strict: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    /** Duration of one window. */
    seconds: { type: 'string' },
    seed: { type: 'string', default: '1' },
    /** Only this part: `montevideo`, `queens`, `points` or `memory`. */
    only: { type: 'string' },
    extract: {
      type: 'string',
      default: join(import.meta.dirname, '..', '..', 'shared', 'data', 'queens-village.osm.pbf'),
    },
  },
})
const size = options.smoke
  ? { geofences: 200, devices: 1_000, rounds: 1, seconds: 0.5, points: 10_000, remembered: 2_000 }
  : { geofences: 1_000, devices: 20_000, rounds: 15, seconds: 2, points: 200_000, remembered: 100_000 }
const rounds = Number(options.rounds ?? size.rounds)
const seconds = Number(options.seconds ?? size.seconds)
const seed = Number(options.seed)

/** Times `alone` and `aloneAgain`, at most; or the difference of the same server against itself, if that is larger. */
const STATED = { stream: 1.25, http: 1.1, off: 1.02 }
const STATED_POINTS = { plain: 100_000, withAddresses: 20_000 }
const STATED_BYTES = 200

const NAMES = ['alone', 'aloneAgain', 'off', 'on'] as const
type Name = (typeof NAMES)[number]

const STREAMS: StreamCase = {
  encoding: 'json',
  updatesPerFrame: 32,
  connections: 16,
  updatesPerRound: size.devices,
  events: false,
}
/** Rounds of the workload that streams send. */
const SENT_ROUNDS = 6
/** The first round makes the devices; after the others, compilers and zones have settled. */
const WARM_UP_ROUNDS = 4
const WARM_UP_LAG_MS = 60_000

const NOTHING = {
  regions: false,
  places: false,
  nearbyPlaceChains: [],
  fraud: { enabled: false },
  segments: [],
}

interface Row {
  readonly case: string
  readonly rate: number
  readonly aloneMicros: number
  readonly offMicros: number
  readonly onMicros: number
  readonly same: number
  readonly off: number
  readonly on: number
  readonly stated: number
}

const folder = benchFolder('live')

async function main(): Promise<number> {
  await makeWorld()
  const rows: Row[] = []
  const wants = (part: string) => options.only === undefined || options.only === part
  const here = await montevideo()
  if (wants('montevideo')) rows.push(...(await track(here)))
  const there = wants('queens') || wants('points') || wants('memory') ? await queensOf() : undefined
  if (there !== undefined && wants('queens')) rows.push(...(await track(there)))
  const points = wants('points') ? await pointsOf(here, there) : undefined
  const memory = there !== undefined && wants('memory') ? await memoryOf(there) : undefined
  console.table(rows)
  console.log(points, memory)
  const missed = [
    ...rows.filter(({ on, stated, same }) => on > Math.max(stated, 1 + Math.abs(same - 1))),
    ...rows.filter(({ off, same }) => off > Math.max(STATED.off, 1 + Math.abs(same - 1))),
    ...(points !== undefined && points.plain < STATED_POINTS.plain ? ['points'] : []),
    ...((points?.withAddresses ?? Infinity) < STATED_POINTS.withAddresses ? ['addresses'] : []),
    ...((memory?.bytes ?? 0) > STATED_BYTES ? ['memory'] : []),
  ]
  const partial = options.only !== undefined
  const stated = { ratios: STATED, points: STATED_POINTS, bytes: STATED_BYTES }
  console.log(
    JSON.stringify({
      bench: 'live',
      smoke: options.smoke,
      partial,
      rounds,
      seconds,
      seed,
      stated,
      points,
      memory,
      rows,
    }),
  )
  return options.strict && !options.smoke && missed.length > 0 ? 1 : 0
}

async function queensOf(): Promise<MappedCity | undefined> {
  progress('Queens is imported')
  const city = await queens(options.extract, folder)
  if (city === undefined) console.error(`${options.extract} is not there: only Montevideo.`)
  return city
}

/** What an update costs in a city, by stream and by HTTP. */
async function track(mapped: MappedCity): Promise<Row[]> {
  const home = join(folder, mapped.name)
  mkdirSync(home)
  const workload = writeWorkload({
    geofences: size.geofences,
    city: mapped.city,
    devices: size.devices,
    seed,
    folder: home,
    publishableKey: BENCH_KEYS.testPublishable,
    onProgress: progress,
  })
  const started = {} as Record<Name, ServerProcess>
  for (const name of NAMES) started[name] = await start(mapped, join(home, name), name)
  const rows = [
    rowOf(`${mapped.name}, stream`, await overStreams(mapped, started, workload), STATED.stream),
    rowOf(`${mapped.name}, HTTP`, await overHttp(mapped, started, workload), STATED.http),
  ]
  for (const server of Object.values(started)) await server.stop()
  return rows
}

async function start(mapped: MappedCity, home: string, name: Name): Promise<ServerProcess> {
  mkdirSync(home)
  seedGeofences(home, drawGeofences(size.geofences, seed, 1, mapped.city), () => {})
  const data = join(home, 'data')
  if (name === 'off' || name === 'on') {
    await mapped.addTo(data)
    shareWorld(data)
  }
  const server = await startRingfence(home)
  await set(server, name === 'on' ? EVERYTHING : NOTHING)
  return server
}

async function set(server: ServerProcess, settings: object): Promise<void> {
  await send(server, 'PATCH', '/v1/settings', settings)
}

// oxlint-disable-next-line typescript/no-explicit-any -- the answer to any call
async function send(server: ServerProcess, method: string, path: string, body: object): Promise<any> {
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {
    method,
    headers: { authorization: BENCH_KEYS.testSecret, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${path} was answered ${response.status} ${text}`)
  return JSON.parse(text)
}

function rowOf(title: string, turns: Interleaved, stated: number): Row {
  const row = {
    case: title,
    rate: turns.rate,
    aloneMicros: turns.microsOf('alone'),
    offMicros: turns.microsOf('off'),
    onMicros: turns.microsOf('on'),
    same: turns.ratio('aloneAgain', 'alone'),
    off: turns.ratio('off', 'alone', 'aloneAgain'),
    on: turns.ratio('on', 'alone', 'aloneAgain'),
    stated,
  }
  done(`${title}: on ${row.on} (stated: ${stated}), off ${row.off}, the same ${row.same}`)
  return row
}

async function overStreams(
  { name: city }: MappedCity,
  started: Readonly<Record<Name, ServerProcess>>,
  workload: Workload,
): Promise<Interleaved> {
  const generator = await startStreamGenerator(workload.trackBodies, size.devices * SENT_ROUNDS)
  const contenders: Contender[] = []
  const closes: (() => Promise<void>)[] = []
  for (const name of NAMES) {
    const { contender, close } = await openStreams(name, started[name], STREAMS, generator)
    closes.push(close)
    progress(`${city}: ${name} warms up`)
    const load = { rate: 0, count: size.devices * WARM_UP_ROUNDS, maxLagMs: WARM_UP_LAG_MS }
    requireClean(contender, await contender.offer(load))
    contenders.push(contender)
  }
  const turns = await interleave(`${city}, stream`, contenders, {
    rounds,
    seconds,
    closedCount: size.devices * 2,
  })
  for (const close of closes) await close()
  generator.stop()
  return turns
}

async function overHttp(
  { name: city }: MappedCity,
  started: Readonly<Record<Name, ServerProcess>>,
  workload: Workload,
): Promise<Interleaved> {
  const generator = await loadGenerator()
  const contenders: HttpContender[] = []
  for (const name of NAMES) {
    const contender = new HttpContender(name, started[name], workload, generator)
    await contender.warmUp()
    contenders.push(contender)
  }
  return interleave(`${city}, HTTP`, contenders, { rounds, seconds, closedCount: size.devices })
}

/** Points per second of which the regions are found. */
async function pointsOf(here: MappedCity, there: MappedCity | undefined) {
  progress('regions of points')
  const bounds = [-180, -90, 180, 90] as const
  return {
    montevideo: await regionsPerSecond(here.city, [], size.points),
    plain: await regionsPerSecond(there?.city ?? here.city, [], size.points),
    withAddresses:
      there && (await regionsPerSecond(there.city, [{ file: there.places, bounds }], size.points)),
  }
}

/** Updates per replay. */
const BATCH = 500
const SETTLE_MS = 4000
const STARTS = 3

/**
 * The additional memory of a device that is in a place and four regions, in bytes. The servers that are compared have
 * read their devices from the disk, and have collected the garbage of that.
 */
async function memoryOf(mapped: MappedCity) {
  const resident: Record<'off' | 'on', number> = { off: 0, on: 0 }
  const env = SNAPSHOTS_AT_ONCE
  for (const name of ['off', 'on'] as const) {
    progress(`memory: ${name}`)
    const home = join(folder, `memory-${name}`)
    mkdirSync(home)
    seedGeofences(home, [], () => {})
    await mapped.addTo(join(home, 'data'))
    shareWorld(join(home, 'data'))
    let server = await startRingfence(home, { env })
    if (name === 'on') await set(server, { regions: true, places: true })
    const spot = await spotIn(server, mapped, name === 'on')
    for (let i = 0; i < size.remembered; i += BATCH) {
      const replays = Array.from({ length: BATCH }, (_, j) => ({
        deviceId: `device-${String(i + j).padStart(10, '0')}`,
        accuracy: 10,
        stopped: true,
        ...spot,
      }))
      await send(server, 'POST', '/v1/track/replay', { replays })
    }
    await snapshotsWritten(join(home, 'data'))
    await server.stop()
    resident[name] = Infinity
    // The least of some starts: the heap of one keeps up to some megabytes more than it uses.
    for (let i = 0; i < STARTS; i++) {
      const inspector = await freePort()
      server = await startRingfence(home, { env: { ...env, ...inspectedAt(inspector) } })
      await sleep(SETTLE_MS)
      await collectGarbage(inspector)
      await sleep(SETTLE_MS)
      resident[name] = Math.min(resident[name], server.rssBytes())
      await server.stop()
    }
  }
  const bytes = Math.round((resident.on - resident.off) / size.remembered)
  done(`memory: ${bytes} bytes (stated: ${STATED_BYTES})`)
  return { bytes, devices: size.remembered, offMiB: mebibytes(resident.off), onMiB: mebibytes(resident.on) }
}

function mebibytes(bytes: number): number {
  return rounded(bytes / 2 ** 20, 1)
}

/** A spot in a place, where there are all four regions. */
async function spotIn(server: ServerProcess, { city }: MappedCity, isChecked: boolean) {
  for (let i = 0; i < 400; i++) {
    const at = cityPosition(city, (i % 20) * 180, Math.floor(i / 20) * 180)
    const path = `/v1/context?coordinates=${at.latitude},${at.longitude}`
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {
      headers: { authorization: BENCH_KEYS.testSecret },
    })
    // oxlint-disable-next-line typescript/no-explicit-any -- the answer of any server
    const { context } = (await response.json()) as any
    if (context?.place === undefined || context.postalCode === undefined || context.dma === undefined)
      continue
    if (!isChecked) return at
    const { user } = await send(server, 'POST', '/v1/track', {
      deviceId: 'probe',
      ...at,
      accuracy: 10,
      stopped: true,
    })
    if (user.place !== undefined && user.postalCode !== undefined) return at
  }
  throw new Error('there is no place with four regions')
}

process.exit(await main())
