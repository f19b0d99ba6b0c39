/**
 * `npm run bench -- trips`: what trips cost, those that are on them and all others, and how good their ETAs are.
 *
 * All devices drive in the sample city. Four servers have the same geofences and devices. Two have no trips: the
 * difference between them is what a difference means on this machine. On the third, each update of a device on a trip
 * makes user.updated_trip, on the fourth next to none does. They take turns (load/interleaved.ts). The road engines are
 * processes of their own on the generator's processor, so their CPU is not in the figures; it is counted apart.
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { addSample } from '../test/kit/sampleRegion.ts'
import { median, quantile, rounded, thousands } from './figures.ts'
import { benchFolder } from './folder.ts'
import { drivenEtas, type ShownEta } from './load/drivenEtas.ts'
import { HttpContender } from './load/httpContender.ts'
import { idleTripBytes } from './load/idleTrips.ts'
import { loadGenerator, type Generator } from './load/load.ts'
import { engineSeconds, PlacedContender } from './load/roadEngines.ts'
import { seedGeofences, startRingfence, type ServerProcess } from './load/servers.ts'
import { bursts } from './load/tripBursts.ts'
import {
  ask,
  cityGeofences,
  GEOFENCES,
  postTrips,
  waysOf,
  writeStanding,
  writeTripWorkloads,
} from './load/tripWorkload.ts'
import { interleave, type Interleaved } from './load/interleaved.ts'
import { done, progress } from './progress.ts'

const STATED = { told: 2.0, untold: 1.6, others: 1.02, burstMs: 5, etaOff: 0.15, idleBytes: 1024 }
const TOLERANCE = 0.1

const { values: options } = parseArgs({
  options: {
    strict: { type: 'boolean', default: false },
    smoke: { type: 'boolean', default: false },
    /** Duration of one measuring window. */
    seconds: { type: 'string' },
    windows: { type: 'string' },
    /** Updates per second of each window; by default half of what the slowest server answers without a pause. */
    rate: { type: 'string' },
    seed: { type: 'string', default: '1' },
    /** Only these parts, with commas between them; see PARTS. */
    only: { type: 'string' },
  },
})
const PARTS = ['cpu', 'etas', 'bursts', 'memory']
const chosen = options.only?.split(',') ?? PARTS
const unknown = chosen.find((part) => !PARTS.includes(part))
if (unknown !== undefined) {
  console.error(`--only ${JSON.stringify(unknown)}: there are the parts ${PARTS.join(', ')}`)
  process.exit(2)
}
const size = options.smoke
  ? { devices: 2_000, trips: 500, windows: 1, seconds: 1, burst: 100, bursts: 1, drives: 1, idle: 2_000 }
  : {
      devices: 100_000,
      trips: 10_000,
      windows: 15,
      seconds: 2,
      burst: 1000,
      bursts: 5,
      drives: 8,
      idle: 30_000,
    }
const windows = Number(options.windows ?? size.windows)
const seconds = Number(options.seconds ?? size.seconds)
const rate = options.rate === undefined ? undefined : Number(options.rate)
const seed = Number(options.seed)
const DRIVERS = { name: 'drivers', from: 0, to: size.trips } as const
/** As many devices, which are on no trip. */
const PEERS = { name: 'peers', from: size.trips, to: 2 * size.trips } as const
const OTHERS = { name: 'others', from: size.trips, to: size.devices } as const
/** Longer than a run takes. */
const NEVER_SECONDS = 3600
/** Updates of others per second, while many trips want an ETA at once. */
const BURST_RATE = 1000
/**
 * A minute after its last change, a trip forgets the events that could be told again, and up to a minute after its last
 * move its objects.
 */
const REST_MS = options.smoke ? 0 : 80_000

type Parts = ReturnType<typeof writeTripWorkloads<'drivers' | 'peers' | 'others'>>

interface Row {
  readonly figure: string
  readonly stated: string
  readonly measured: number
  readonly reached: string
}

interface Report {
  readonly rows: readonly Row[]
  readonly notes: readonly string[]
  readonly details: object
}

async function main(): Promise<number> {
  const generator = await loadGenerator()
  if (generator.reason !== undefined) done(`Generator in Node, not native: ${generator.reason}`)
  const folder = benchFolder('trips')
  const parts = writeTripWorkloads(folder, size.devices, seed, [DRIVERS, PEERS, OTHERS])
  const failed: string[] = []
  /** A part that fails does not take the figures of the others with it. */
  const attempt = async (name: string, measure: () => Promise<Report>): Promise<Report | undefined> => {
    const began = Date.now()
    try {
      const report = await measure()
      done(`${name}: ${Math.round((Date.now() - began) / 1000)} s`)
      return report
    } catch (error) {
      failed.push(name)
      done(`${name} failed after ${Math.round((Date.now() - began) / 1000)} s`)
      console.error(error)
      return undefined
    }
  }
  const measures: Readonly<Record<string, () => Promise<Report>>> = {
    cpu: () => cpuOf(folder, parts, generator),
    etas: () => etasOf(folder),
    bursts: () => burstsOf(folder, parts, generator),
    memory: () => memoryOf(generator),
  }
  const found: Report[] = []
  for (const name of PARTS.filter((part) => chosen.includes(part))) {
    const report = await attempt(name, measures[name]!)
    if (report !== undefined) found.push(report)
  }
  const rows = found.flatMap((one) => one.rows)
  console.table(rows)
  for (const { notes } of found) for (const note of notes) console.log(note)
  if (failed.length > 0) console.log(`Without figures, because they failed: ${failed.join(', ')}.`)
  console.log(
    JSON.stringify({
      bench: 'trips',
      rows,
      ...size,
      windows,
      seconds,
      burstRate: BURST_RATE,
      seed,
      geofences: GEOFENCES,
      generator: generator.kind,
      smoke: options.smoke,
      partial: options.only !== undefined || failed.length > 0,
      ...Object.assign({}, ...found.map(({ details }) => details)),
    }),
  )
  if (failed.length > 0) return 1
  const missed = rows.some(({ measured, stated }) => measured > Number(stated.slice(2)) * (1 + TOLERANCE))
  return options.strict && !options.smoke && missed ? 1 : 0
}

/** What an update costs: on a trip, without one, and beside trips. */
async function cpuOf(folder: string, parts: Parts, generator: Generator) {
  const running: ServerProcess[] = []
  try {
    return await cpuOn(running, folder, parts, generator)
  } finally {
    for (const server of running) await server.stop()
  }
}

async function cpuOn(running: ServerProcess[], folder: string, parts: Parts, generator: Generator) {
  const start = async (name: string, trips?: { readonly updateSeconds: number }) => {
    const own = join(folder, name)
    progress(`${name} starts`)
    seedGeofences(own, cityGeofences(seed), () => {})
    await addSample(join(own, 'data'))
    const server = await startRingfence(own)
    running.push(server)
    if (trips !== undefined) {
      await ask(server.port, 'PATCH', 'settings', { tripUpdateSeconds: trips.updateSeconds })
      await postTrips(server, generator, folder, DRIVERS, seed)
    }
    for (const part of [parts.others, parts.drivers])
      await new HttpContender(name, server, part, generator).warmUp()
    return server
  }
  const plain = await start('plain')
  const again = await start('again')
  const told = await start('told', { updateSeconds: 0 })
  const untold = await start('untold', { updateSeconds: NEVER_SECONDS })
  const contenders = [
    // Both windows of a server's trips are as far apart as possible, so that as many want an ETA in one as in the other.
    new PlacedContender('generator', 'told', told, parts.drivers, generator),
    new HttpContender('plain', plain, parts.others, generator),
    new PlacedContender('generator', 'untold', untold, parts.drivers, generator),
    new HttpContender('again', again, parts.others, generator),
    new PlacedContender('server', 'told beside its engine', told, parts.drivers, generator),
    new HttpContender('others', untold, parts.others, generator),
    new PlacedContender('server', 'untold beside its engine', untold, parts.drivers, generator),
    new HttpContender('peers of told', told, parts.peers, generator),
    new HttpContender('peers of untold', untold, parts.peers, generator),
  ]
  const withTrips = [told, untold]
  const engineBefore = engineSeconds(withTrips)
  const waysBefore = await sumOfWays(withTrips)
  const turns = await interleave('trips', contenders, {
    rounds: windows,
    seconds,
    closedCount: size.trips,
    rate,
  })
  const engine = engineSeconds(withTrips) - engineBefore
  const ways = await sumOfWays(withTrips)
  const road = ways.road - waysBefore.road
  const wanted = road + ways.straight - waysBefore.straight
  const shown = await shownRoadShare(withTrips)
  return cpuReport(turns, { engine, road, wanted, shown })
}

function cpuReport(
  turns: Interleaved,
  ways: {
    /** CPU seconds of the road engines. */
    readonly engine: number
    readonly road: number
    readonly wanted: number
    readonly shown: number
  },
) {
  const { engine, road, wanted, shown } = ways
  const same = turns.ratio('again', 'plain')
  const othersBound = rounded(Math.max(STATED.others, 1 + Math.abs(same - 1)), 3)
  const updates = 4 * windows * seconds * turns.rate
  const micros = (name: string) => turns.microsOf(name)
  const beside = {
    told: turns.ratio('told beside its engine', 'peers of told'),
    untold: turns.ratio('untold beside its engine', 'peers of untold'),
  }
  const engineMicros = rounded((engine / updates) * 1e6, 1)
  return {
    rows: [
      row(
        'an update on a trip that makes user.updated_trip / one without a trip, CPU',
        turns.ratio('told', 'peers of told'),
        STATED.told,
      ),
      row('the same, where it makes no event', turns.ratio('untold', 'peers of untold'), STATED.untold),
      row(
        `an update without a trip, beside ${thousands(size.trips)} trips / without any, CPU`,
        turns.ratio('others', 'plain'),
        othersBound,
      ),
    ],
    notes: [
      `µs an update: without trips ${micros('plain')} and ${micros('again')} (the same commit twice: ${same}), beside ` +
        `trips ${micros('others')}; told ${micros('told')}, peers ${micros('peers of told')}; untold ` +
        `${micros('untold')}, peers ${micros('peers of untold')}`,
      `with the road engine on the server's processor: told ${beside.told} times, untold ${beside.untold} times`,
      `road engines, apart: ${engineMicros} µs for each update on a trip; ${rounded((100 * wanted) / updates, 1)} % of ` +
        `these wanted an ETA, of which ${rounded((100 * road) / Math.max(1, wanted), 1)} % are by road; of the ETAs shown at the end ` +
        `${rounded(100 * shown, 1)} %`,
    ],
    details: {
      rate: turns.rate,
      same,
      besideEngine: beside,
      micros: Object.fromEntries(
        [
          'plain',
          'again',
          'others',
          'told',
          'told beside its engine',
          'peers of told',
          'untold',
          'untold beside its engine',
          'peers of untold',
        ].map((name) => [name, micros(name)]),
      ),
      roadEngineMicrosPerUpdate: engineMicros,
      wantedShare: rounded(wanted / updates, 3),
      computedRoadShare: rounded(road / Math.max(1, wanted), 3),
      shownRoadShare: rounded(shown, 3),
    },
  }
}

async function sumOfWays(servers: readonly ServerProcess[]): Promise<{ road: number; straight: number }> {
  const ways = await Promise.all(servers.map(waysOf))
  return {
    road: ways.reduce((sum, one) => sum + one.road, 0),
    straight: ways.reduce((sum, one) => sum + one.straight, 0),
  }
}

/** The share of the ETAs of trips under way that are by road. */
async function shownRoadShare(servers: readonly ServerProcess[]): Promise<number> {
  const sources: string[] = []
  for (const { port } of servers) {
    const { trips } = await ask(port, 'GET', 'trips?status=started,approaching&limit=1000')
    for (const { eta } of trips) if (eta !== undefined) sources.push(eta.source)
  }
  return sources.filter((source) => source === 'road').length / sources.length
}

/** Works with a server on all processors, as in production, whose road engine has opened its tiles. */
async function onUnpinned<Result>(
  folder: string,
  name: string,
  work: (server: ServerProcess) => Promise<Result>,
): Promise<Result> {
  const own = join(folder, name)
  progress(`${name}: a server on all processors starts`)
  seedGeofences(own, cityGeofences(seed), () => {})
  await addSample(join(own, 'data'))
  const server = await startRingfence(own, { unpinned: true })
  try {
    await ask(server.port, 'PATCH', 'settings', { tripUpdateSeconds: NEVER_SECONDS })
    return await work(server)
  } finally {
    await server.stop()
  }
}

async function etasOf(folder: string) {
  return etaReport(await onUnpinned(folder, 'etas', (server) => drivenEtas(server, size.drives, seed)))
}

async function burstsOf(folder: string, parts: Parts, generator: Generator) {
  const part = { name: 'burst', from: size.devices, to: size.devices + size.burst }
  const updates = writeStanding(folder, part, seed)
  const burst = await onUnpinned(folder, 'bursts', async (server) => {
    // Opens the tiles of the road engine.
    await drivenEtas(server, 1, seed)
    await postTrips(server, generator, folder, part, seed)
    await new HttpContender('bursts', server, parts.others, generator).warmUp()
    return bursts({
      folder,
      server,
      generator,
      others: parts.others,
      rate: BURST_RATE,
      seconds,
      part,
      updates,
      rounds: size.bursts,
      seed,
    })
  })
  const count = thousands(size.burst)
  return {
    rows: [
      row(
        `p99 of others while ${count} updates come at once and each trip wants an ETA, above those where none does, ms`,
        burst.overMs,
        STATED.burstMs,
      ),
    ],
    notes: [
      `p99 of others: alone ${burst.aloneP99Ms} ms, beside ${count} updates at once ${burst.unaskedP99Ms} ms, beside as ` +
        `many that want an ETA ${burst.askedP99Ms} ms; of these ETAs ${rounded(100 * burst.roadShare, 1)} % are by road`,
    ],
    details: { latency: burst },
  }
}

function etaReport(etas: readonly ShownEta[]) {
  const offs = etas.map(({ off }) => off).toSorted((a, b) => a - b)
  const p95 = rounded(quantile(offs, 0.95), 3)
  const most = rounded(offs.at(-1)!, 3)
  const worst = etas.find(({ off }) => off === offs.at(-1))!
  return {
    rows: [
      row(
        'an ETA between two computations, off the road engine’s own at that moment, at most',
        most,
        STATED.etaOff,
      ),
    ],
    notes: [
      `${etas.length} ETAs between two computations: median ${rounded(100 * median(offs), 1)} %, p95 ` +
        `${rounded(100 * p95, 1)} % off; the worst was ${worst.shown} instead of ${rounded(worst.own, 1)} minutes`,
    ],
    details: { etas: { count: etas.length, median: rounded(median(offs), 3), p95, most } },
  }
}

async function memoryOf(generator: Generator) {
  const folder = benchFolder('trips-idle')
  const bytes = await idleTripBytes(folder, generator, {
    trips: size.idle,
    restMs: REST_MS,
    seed,
  })
  return { rows: [row('memory of a trip at rest, bytes', bytes, STATED.idleBytes)], notes: [], details: {} }
}

function row(figure: string, measured: number, most: number): Row {
  return {
    figure,
    stated: `≤ ${most}`,
    measured: rounded(measured, 3),
    reached: measured <= most ? 'yes' : 'no',
  }
}

process.exit(await main())
