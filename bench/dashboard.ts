/**
 * What looking costs: tracking over HTTP beside ten open dashboards with ten different viewports of a city, compared with
 * none, in windows that take turns; a dashboard in a real browser: when it is usable, how soon a newcomer sees a simulated city,
 * how often it paints with all devices in view, how busy its main thread is, how much memory it has, and whether it paints while
 * nothing moves; and how long the first build of its pages takes.
 *
 * The page is measured twice: beside the server and the generator, which need most of two processors, and by itself, with positions
 * from a recorded source (load/positionFeed.ts).
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { chromiumPath } from '../test/kit/chromium.ts'
import { addSample } from '../test/kit/sampleRegion.ts'
import { makeWorld, shareWorld } from '../test/kit/world.ts'
import { measureBeside, Traffic } from './dashboard/beside.ts'
import { measureBuild } from './dashboard/firstBuild.ts'
import { measureHeap } from './dashboard/heap.ts'
import { mapPath } from './dashboard/livePage.ts'
import { measureOpening } from './dashboard/opening.ts'
import { measurePages, WARM_MS } from './dashboard/pages.ts'
import {
  besideRows,
  buildRows,
  heapRows,
  isMissed,
  openingRows,
  pageRows,
  simulationRows,
  type Openings,
  type Row,
} from './dashboard/report.ts'
import { measureSimulation } from './dashboard/simulation.ts'
import { thousands } from './figures.ts'
import { benchFolder } from './folder.ts'
import { loadGenerator } from './load/load.ts'
import {
  BENCH_KEYS,
  seedGeofences,
  startPositionFeed,
  startRingfence,
  type ServerProcess,
} from './load/servers.ts'
import { drawGeofences, regionOf, writeWorkload } from './load/workload.ts'
import { done, progress } from './progress.ts'

/** What can be measured by itself. The heap is left out of a whole run, because it takes an hour. */
const PARTS = ['beside', 'open', 'simulate', 'frames', 'build', 'heap'] as const
type Part = (typeof PARTS)[number]

const { values: options } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    strict: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
    /** Duration of one window. */
    seconds: { type: 'string' },
    /** Updates per second. */
    rate: { type: 'string' },
    devices: { type: 'string' },
    /** Nothing but these parts, with commas between. */
    only: { type: 'string' },
    /** How long the page of the part `heap` stays open. */
    minutes: { type: 'string' },
  },
})
const size = options.smoke
  ? {
      geofences: 200,
      devices: 300,
      rate: 300,
      windows: 1,
      seconds: 1,
      watched: 3,
      builds: 1,
      openings: 1,
      cities: 1,
      minutes: 3,
      minuteMs: 1000,
    }
  : {
      geofences: 1_000,
      devices: 20_000,
      rate: 5_000,
      // What is stated is a tenth, and an update without dashboards took 49.8 to 55.1 µs in runs of one day.
      windows: 9,
      seconds: 4,
      watched: 20,
      builds: 3,
      openings: 3,
      cities: 3,
      minutes: 10,
      minuteMs: 60_000,
    }
/** Beside the positions of the part `heap`. */
const EVENTS_A_SECOND = 5
const seed = Number(options.seed)
const seconds = Number(options.seconds ?? size.seconds)
const rate = Number(options.rate ?? size.rate)
const devices = Number(options.devices ?? size.devices)
const parts = partsOf(options.only)
const city = regionOf(size.geofences)
const folder = benchFolder('dashboard')
const env = { RINGFENCE_DASHBOARD: 'on' }

/** @throws Error if there is no such part */
function partsOf(only: string | undefined): ReadonlySet<Part> {
  if (only === undefined) return new Set(PARTS.filter((part) => part !== 'heap'))
  return new Set(
    only.split(',').map((name) => {
      const part = PARTS.find((one) => one === name)
      if (part === undefined)
        throw new Error(`there is no part ${JSON.stringify(name)}; there are ${PARTS.join(', ')}`)
      return part
    }),
  )
}

/** Uses a recorded source of positions in front of a server. */
async function withFeed<T>(
  server: ServerProcess,
  events: number,
  use: (url: string) => Promise<T>,
): Promise<T> {
  const feed = await startPositionFeed(folder, {
    target: server.port,
    devices,
    geofences: size.geofences,
    seed,
    events,
  })
  try {
    return await use(urlOf(feed))
  } finally {
    await feed.stop()
  }
}

function urlOf({ port }: ServerProcess): string {
  return `http://127.0.0.1:${port}`
}

/** Opens the live map with all devices, as a person does whose server has two processors like any other program. */
async function measureOpenings(
  chromium: string,
  traffic: (server: ServerProcess) => Promise<void>,
): Promise<Openings> {
  const server = await startRingfence(folder, { env, unpinned: true })
  try {
    await traffic(server)
    const open = (url: string, path: string, rounds: number) =>
      measureOpening(chromium, { url, path, folder, rounds })
    progress('the first map of a server')
    const first = (await open(urlOf(server), mapPath(city), 1)).cold[0]!
    progress('a map of a place')
    const { cold, warm } = await open(urlOf(server), mapPath(city), size.openings)
    progress('a map that looks where the devices are')
    const home = await open(urlOf(server), '/test/map', size.openings)
    progress('a map of devices that move')
    const busy = await withFeed(server, 0, (url) => open(url, mapPath(city), size.openings))
    return {
      first,
      cold,
      warm,
      coldHome: home.cold,
      warmHome: home.warm,
      coldBusy: busy.cold,
      warmBusy: busy.warm,
    }
  } finally {
    await server.stop()
  }
}

/** Simulates a city on a server that has its map, and nothing else yet. */
async function measureCities(chromium: string) {
  const newFolder = join(folder, 'first-visit')
  const data = join(newFolder, 'data')
  mkdirSync(data, { recursive: true })
  await addSample(data)
  shareWorld(data)
  const server = await startRingfence(newFolder, { env, unpinned: true })
  try {
    progress('simulated cities')
    return await measureSimulation(chromium, { url: urlOf(server), folder, rounds: size.cities })
  } finally {
    await server.stop()
  }
}

async function measureHeapOfFeed(chromium: string) {
  const server = await startRingfence(folder, { env })
  try {
    return await withFeed(server, EVENTS_A_SECOND, (url) =>
      measureHeap(chromium, {
        url,
        city,
        devices,
        minutes: Number(options.minutes ?? size.minutes),
        minuteMs: size.minuteMs,
        warmMs: WARM_MS,
      }),
    )
  } finally {
    await server.stop()
  }
}

async function main(): Promise<number> {
  buildPages()
  await makeWorld()
  const chromium = chromiumPath()
  if (chromium === undefined) console.error('SKIPPED: everything in a browser, because there is no Chromium')
  const inBrowser = (part: Part) => (parts.has(part) ? chromium : undefined)
  seedGeofences(folder, drawGeofences(size.geofences, seed), (stored) => progress(`geofences: ${stored}`))
  shareWorld(join(folder, 'data'))

  const rows: Row[] = []
  const measured: Record<string, unknown> = {}
  const add = <T>(part: string, result: T, rowsOf: (result: T) => Row[]) => {
    measured[part] = result
    rows.push(...rowsOf(result))
    done(`${part}: done`)
  }

  const build = parts.has('build') ? await measureBuild(folder, size.builds) : undefined
  const sends = parts.has('beside') || parts.has('open') || parts.has('frames')
  const generator = sends ? await loadGenerator() : undefined
  if (generator !== undefined) {
    const workload = writeWorkload({
      geofences: size.geofences,
      devices,
      seed,
      folder,
      publishableKey: BENCH_KEYS.testPublishable,
      onProgress: progress,
    })
    const warmUp = async (server: ServerProcess) => {
      progress(`warming up with ${thousands(devices)} devices`)
      const traffic = new Traffic(generator, workload, server)
      await traffic.send(devices, 0)
      return traffic
    }
    if (parts.has('beside') || parts.has('frames')) {
      const server = await startRingfence(folder, { env })
      const traffic = await warmUp(server)
      if (parts.has('beside'))
        add(
          'beside',
          await measureBeside(server, traffic, { city, windows: size.windows, rate, seconds }),
          besideRows,
        )
      const shower = inBrowser('frames')
      if (shower !== undefined) {
        const scene = {
          city,
          devices,
          rate,
          seconds: size.watched,
          withFeed: <T>(use: (url: string) => Promise<T>) => withFeed(server, 0, use),
        }
        add('frames', await measurePages(shower, server, traffic, scene), pageRows)
      }
      await server.stop()
    }
    const opener = inBrowser('open')
    if (opener !== undefined)
      add('open', await measureOpenings(opener, async (server) => void (await warmUp(server))), (openings) =>
        openingRows(openings, devices),
      )
  }
  const newcomer = inBrowser('simulate')
  if (newcomer !== undefined) add('simulate', await measureCities(newcomer), simulationRows)
  if (build !== undefined) add('build', build, buildRows)
  const stayer = inBrowser('heap')
  if (stayer !== undefined) add('heap', await measureHeapOfFeed(stayer), heapRows)
  return report(rows, measured, generator?.kind)
}

/** The files of the dashboard, before anything is measured. */
function buildPages(): void {
  const build = join(import.meta.dirname, '..', 'dashboard', 'build.ts')
  const { status, stderr } = spawnSync(process.execPath, [build], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`the dashboard cannot be built: ${stderr}`)
}

function report(rows: readonly Row[], measured: object, generator: string | undefined): number {
  const isHeap = parts.size === 1 && parts.has('heap')
  console.table(rows)
  console.log(
    JSON.stringify({
      bench: isHeap ? 'dashboard-heap' : 'dashboard',
      rows,
      ...measured,
      rate,
      devices,
      geofences: size.geofences,
      windows: size.windows,
      windowSeconds: seconds,
      generator,
      seed,
      smoke: options.smoke,
      // The heap by itself is a result of its own; other parts alone are not stored.
      partial: options.only !== undefined && !isHeap,
    }),
  )
  return options.strict && rows.some(isMissed) ? 1 : 0
}

process.exitCode = await main()
