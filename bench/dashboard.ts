/**
 * What looking costs: tracking over HTTP beside ten open dashboards with ten different viewports of a city, compared with
 * none, in windows that take turns; a dashboard in a real browser, with all devices in view: when it is usable, how often it
 * paints, how busy its main thread is, how much memory it has, and whether it paints while nothing moves; and how long the
 * first build of its pages takes.
 *
 * The page is measured twice: beside the server and the generator, which need most of two processors, and by itself, with positions
 * from a recorded source (load/positionFeed.ts).
 *
 * The ten dashboards are clients that watch and follow what a page watches and follows. They are no browsers, because ten of these
 * would leave no processor to the server.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Ringfence } from '../sdk/src/client.ts'
import { cityPosition } from '../src/simulation/streets.ts'
import { chromiumPath } from '../test/kit/chromium.ts'
import { measureBuild, type BuildFigures } from './dashboardBuild.ts'
import { LivePage, type Composition, type PageFigures, type PageMemory } from './dashboardPage.ts'
import { median, rounded, thousands } from './figures.ts'
import { benchFolder } from './folder.ts'
import { loadGenerator, type Generator } from './load/load.ts'
import {
  BENCH_KEYS,
  seedGeofences,
  startPositionFeed,
  startRingfence,
  type ServerProcess,
} from './load/servers.ts'
import { drawGeofences, regionOf, writeWorkload, type Workload } from './load/workload.ts'
import { done, progress } from './progress.ts'

/** CPU of an update beside ten dashboards, as a multiple of that without, at most. */
const STATED_RATIO = 1.1
/** A page in a browser must be usable after this time. */
const STATED_USABLE_SECONDS = 3
const STATED_FRAMES = 30
const STATED_MAIN_SHARE = 0.8
const STATED_HEAP_MEGABYTES = 150
const STATED_BUILD_SECONDS = 15
const TOLERANCE = 0.1
const DASHBOARDS = 10
/** Side of a viewport, as a share of that of the city. */
const VIEWPORT = 0.4
const CONNECTIONS = 64
/**
 * When this time has passed after the last update, all devices have finished their glides and the page has shown the
 * news.
 */
const CALM_MS = 4000
/** By then a page has what it needs for all devices, and its code is compiled. */
const WARM_MS = 3000
const MINUTE_MS = 60_000

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
    /** Nothing but the memory of a page that stays open for so long. */
    minutes: { type: 'string' },
    /** Nothing but the pages, without the ten dashboards. */
    pages: { type: 'boolean', default: false },
  },
})
const size = options.smoke
  ? { geofences: 200, devices: 300, rate: 300, windows: 1, seconds: 1, watched: 3, builds: 1 }
  : { geofences: 1_000, devices: 20_000, rate: 5_000, windows: 5, seconds: 5, watched: 20, builds: 3 }
const seed = Number(options.seed)
const seconds = Number(options.seconds ?? size.seconds)
const rate = Number(options.rate ?? size.rate)
const devices = Number(options.devices ?? size.devices)
const folder = benchFolder('dashboard')

/** Sends the updates of the workload one after another, starting over at its end. */
class Traffic {
  readonly #generator: Generator
  readonly #workload: Workload
  readonly #server: ServerProcess
  #offset = 0

  constructor(generator: Generator, workload: Workload, server: ServerProcess) {
    this.#generator = generator
    this.#workload = workload
    this.#server = server
  }

  /**
   * @param perSecond updates per second; 0: as fast as they are answered
   * @returns the server's CPU in microseconds per update
   */
  async send(
    count: number,
    perSecond: number,
  ): Promise<{ readonly micros: number; readonly perSecond: number }> {
    const before = this.#server.cpuSeconds()
    const result = await this.#generator.run({
      port: this.#server.port,
      connections: CONNECTIONS,
      requests: this.#workload.trackBodies,
      head: this.#workload.trackHead,
      group: this.#workload.devices,
      offset: this.#offset,
      count,
      rate: perSecond,
      maxLagMs: 5000,
    })
    this.#offset += result.sent
    if (result.ok !== result.sent) throw new Error(`updates were refused: ${JSON.stringify(result)}`)
    const cpu = this.#server.cpuSeconds() - before
    return { micros: (cpu / result.ok) * 1e6, perSecond: result.ok / result.seconds }
  }
}

/** What open dashboards ask of the server. */
function openDashboards(url: string): { readonly received: () => number; close(): Promise<void> } {
  const region = regionOf(size.geofences)
  const stop = new AbortController()
  let received = 0
  const follow = async (source: AsyncIterable<unknown>, count: (item: unknown) => number) => {
    try {
      for await (const item of source) received += count(item)
    } catch (error) {
      if (!stop.signal.aborted) throw error
    }
  }
  const streams = Array.from({ length: DASHBOARDS }, (_, i) => {
    const stream = new Ringfence({ url, key: BENCH_KEYS.testSecret }).stream()
    const share = (i / (DASHBOARDS - 1)) * (1 - VIEWPORT)
    const [west, south] = placeOf(region, share, ((i * 3) % DASHBOARDS) / DASHBOARDS / 2)
    const [east, north] = placeOf(
      region,
      share + VIEWPORT,
      ((i * 3) % DASHBOARDS) / DASHBOARDS / 2 + VIEWPORT,
    )
    const area = { type: 'box', box: [west, south, east, north] } as const
    void follow(
      stream.watchBatches(area, { signal: stop.signal }),
      (batch) => (batch as readonly unknown[]).length,
    )
    void follow(stream.events({}, { batch: true, signal: stop.signal }), () => 1)
    return stream
  })
  return {
    received: () => received,
    async close() {
      stop.abort()
      await Promise.all(streams.map((stream) => stream.close()))
    },
  }

  function placeOf(city: ReturnType<typeof regionOf>, east: number, north: number): [number, number] {
    const { latitude, longitude } = cityPosition(city, east * city.sizeMeters, north * city.sizeMeters)
    return [longitude, latitude]
  }
}

interface PagesFigures {
  readonly usableSeconds: number
  /** Beside the server and the generator. */
  readonly shared: PageFigures & { readonly updatesPerSecond: number }
  /** With a recorded source of a position of each device a second, by how the browser composes pages. */
  readonly alone: Readonly<Record<Composition, PageFigures>>
  readonly memory: PageMemory
  readonly idleFrames: number
}

/** The live map in a browser, with every device in view. */
async function measurePages(
  chromium: string,
  server: ServerProcess,
  traffic: Traffic,
): Promise<PagesFigures> {
  const city = regionOf(size.geofences)
  const page = await LivePage.open(chromium, urlOf(server), { city, devices, composition: 'own' })
  let shared: PagesFigures['shared']
  let idleFrames: number
  try {
    progress(`a page beside the server, ${thousands(devices)} devices`)
    let updatesPerSecond = 0
    const figures = await page.during(async () => {
      updatesPerSecond = Math.round((await traffic.send(rate * size.watched, rate)).perSecond)
    })
    shared = { ...figures, updatesPerSecond }
    await sleep(CALM_MS)
    idleFrames = await page.framesIn(CALM_MS / 2)
  } finally {
    await page.close()
  }
  const own = await measureAlone(chromium, server, 'own')
  const emulated = await measureAlone(chromium, server, 'emulated')
  return {
    usableSeconds: page.usableSeconds,
    shared,
    alone: { own: own.figures, emulated: emulated.figures },
    memory: own.memory,
    idleFrames,
  }
}

/** The same with a recorded source, so that the page has the processors for itself. */
async function measureAlone(chromium: string, server: ServerProcess, composition: Composition) {
  return withFeed(server, async (url) => {
    progress(
      `a page by itself, composed by ${composition === 'own' ? 'the processor' : 'an emulated graphics card'}`,
    )
    const city = regionOf(size.geofences)
    const page = await LivePage.open(chromium, url, { city, devices, composition })
    try {
      await sleep(WARM_MS)
      const figures = await page.during(() => sleep(size.watched * 1000))
      return { figures, memory: await page.memory() }
    } finally {
      await page.close()
    }
  })
}

/** The memory of a page that stays open, once a minute. */
async function measureMemory(
  chromium: string,
  server: ServerProcess,
  minutes: number,
): Promise<PageMemory[]> {
  return withFeed(server, async (url) => {
    const city = regionOf(size.geofences)
    const page = await LivePage.open(chromium, url, { city, devices, composition: 'own' })
    try {
      await sleep(WARM_MS)
      const memories = [await page.memory()]
      while (memories.length <= minutes) {
        await sleep(MINUTE_MS)
        memories.push(await page.memory())
        const { heapMegabytes, residentMegabytes } = memories.at(-1)!
        progress(`minute ${memories.length - 1}: heap ${heapMegabytes} MB, process ${residentMegabytes} MB`)
      }
      return memories
    } finally {
      await page.close()
    }
  })
}

async function withFeed<T>(server: ServerProcess, use: (url: string) => Promise<T>): Promise<T> {
  const feed = await startPositionFeed(folder, {
    target: server.port,
    devices,
    geofences: size.geofences,
    seed,
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

async function main(): Promise<number> {
  buildPages()
  const chromium = chromiumPath()
  seedGeofences(folder, drawGeofences(size.geofences, seed), (stored) => progress(`geofences: ${stored}`))
  const env = { RINGFENCE_DASHBOARD: 'on' }
  if (options.minutes !== undefined) {
    if (chromium === undefined) throw new Error('there is no Chromium')
    const server = await startRingfence(folder, { env })
    const memories = await measureMemory(chromium, server, Number(options.minutes))
    await server.stop()
    return reportMemory(memories)
  }
  const build = options.pages ? undefined : await measureBuild(folder, size.builds)
  const generator = await loadGenerator()
  const workload = writeWorkload({
    geofences: size.geofences,
    devices,
    seed,
    folder,
    publishableKey: BENCH_KEYS.testPublishable,
    onProgress: progress,
  })
  const server = await startRingfence(folder, { env })
  const traffic = new Traffic(generator, workload, server)
  progress('warming up')
  await traffic.send(devices, 0)
  const beside = options.pages ? undefined : await measureDashboards(server, traffic)
  if (chromium === undefined) console.error('SKIPPED: the page, because there is no Chromium')
  const pages = chromium === undefined ? undefined : await measurePages(chromium, server, traffic)
  await server.stop()
  return report({ beside, pages, build, generator })
}

interface Beside {
  /** The server's CPU in microseconds per update. */
  readonly microsWithout: number
  readonly microsBeside: number
  /** Positions that were delivered. */
  readonly watched: number
}

/** Updates with and without ten dashboards, in turn. */
async function measureDashboards(server: ServerProcess, traffic: Traffic): Promise<Beside> {
  const without: number[] = []
  const beside: number[] = []
  let watched = 0
  for (let round = 1; round <= size.windows; round++) {
    progress(`window ${round} of ${size.windows}`)
    without.push((await traffic.send(rate * seconds, rate)).micros)
    const dashboards = openDashboards(urlOf(server))
    // Their first positions are not what is measured.
    await sleep(1500)
    const before = dashboards.received()
    beside.push((await traffic.send(rate * seconds, rate)).micros)
    watched += dashboards.received() - before
    await dashboards.close()
  }
  done(`${thousands(rate)} updates/s, with and without ${DASHBOARDS} dashboards`)
  return { microsWithout: median(without), microsBeside: median(beside), watched }
}

/** The files of the dashboard, before anything is measured. */
function buildPages(): void {
  const build = join(import.meta.dirname, '..', 'dashboard', 'build.ts')
  const { status, stderr } = spawnSync(process.execPath, [build], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`the dashboard cannot be built: ${stderr}`)
}

interface Row {
  readonly figure: string
  readonly stated: string
  readonly measured: number
}

function pageRows({ usableSeconds, shared, alone, memory, idleFrames }: PagesFigures): Row[] {
  const where = `${thousands(shared.devices)} devices, ${thousands(shared.updatesPerSecond)} updates/s, beside server and generator`
  const itself = `${thousands(alone.own.devices)} positions/s from a recorded source`
  return [
    { figure: 'live map usable, seconds', stated: `≤ ${STATED_USABLE_SECONDS}`, measured: usableSeconds },
    {
      figure: `new frames a second, ${itself}`,
      stated: `≥ ${STATED_FRAMES}`,
      measured: alone.own.framesPerSecond,
    },
    {
      figure: 'the same: main thread busy, share',
      stated: `≤ ${STATED_MAIN_SHARE}`,
      measured: alone.own.mainThreadShare,
    },
    { figure: 'the same: CPU of the whole browser', stated: '', measured: alone.own.browserCpu },
    {
      figure: 'the same through an emulated graphics card: frames',
      stated: '',
      measured: alone.emulated.framesPerSecond,
    },
    {
      figure: `new frames a second, ${where}`,
      stated: `≥ ${STATED_FRAMES}`,
      measured: shared.framesPerSecond,
    },
    {
      figure: 'the same: main thread busy, share',
      stated: `≤ ${STATED_MAIN_SHARE}`,
      measured: shared.mainThreadShare,
    },
    { figure: 'heap of the page, MB', stated: `≤ ${STATED_HEAP_MEGABYTES}`, measured: memory.heapMegabytes },
    { figure: 'frames while nothing moves', stated: '0', measured: idleFrames },
  ]
}

function report(measured: {
  readonly beside: Beside | undefined
  readonly pages: PagesFigures | undefined
  readonly build: BuildFigures | undefined
  readonly generator: Generator
}): number {
  const { beside, pages, build, generator } = measured
  const ratio = beside && rounded(beside.microsBeside / beside.microsWithout, 3)
  const rows: Row[] = []
  if (ratio !== undefined)
    rows.push({
      figure: `CPU of an update beside ${DASHBOARDS} dashboards, times without`,
      stated: `≤ ${STATED_RATIO}`,
      measured: ratio,
    })
  if (pages !== undefined) rows.push(...pageRows(pages))
  if (build !== undefined)
    rows.push(
      {
        figure: 'first build, from the start of the server, seconds',
        stated: `≤ ${STATED_BUILD_SECONDS}`,
        measured: build.buildSeconds,
      },
      { figure: 'start to the API beside the build, seconds', stated: '', measured: build.apiSeconds },
      { figure: 'the same with pages that are there', stated: '', measured: build.apiSecondsBuilt },
    )
  console.table(rows)
  console.log(
    JSON.stringify({
      bench: 'dashboard',
      rows,
      ratio,
      beside,
      pages,
      build,
      rate,
      devices,
      geofences: size.geofences,
      windows: size.windows,
      windowSeconds: seconds,
      generator: generator.kind,
      seed,
      smoke: options.smoke,
      partial: options.pages,
    }),
  )
  if (!options.strict) return 0
  const isMissed =
    (ratio !== undefined && ratio > STATED_RATIO * (1 + TOLERANCE)) ||
    (build !== undefined && build.buildSeconds > STATED_BUILD_SECONDS * (1 + TOLERANCE)) ||
    (pages !== undefined &&
      (pages.alone.own.framesPerSecond < STATED_FRAMES * (1 - TOLERANCE) ||
        pages.shared.framesPerSecond < STATED_FRAMES * (1 - TOLERANCE) ||
        pages.alone.own.mainThreadShare > STATED_MAIN_SHARE * (1 + TOLERANCE) ||
        pages.shared.mainThreadShare > STATED_MAIN_SHARE * (1 + TOLERANCE) ||
        pages.memory.heapMegabytes > STATED_HEAP_MEGABYTES * (1 + TOLERANCE) ||
        pages.idleFrames > 0))
  return isMissed ? 1 : 0
}

function reportMemory(memories: readonly PageMemory[]): number {
  const most = Math.max(...memories.map(({ heapMegabytes }) => heapMegabytes))
  const rows = [
    {
      figure: `heap of the page, most in ${memories.length - 1} minutes, MB`,
      stated: `≤ ${STATED_HEAP_MEGABYTES}`,
      measured: most,
    },
  ]
  console.table(rows)
  console.log(JSON.stringify({ bench: 'dashboard', rows, memories, devices, seed, partial: true }))
  return options.strict && most > STATED_HEAP_MEGABYTES * (1 + TOLERANCE) ? 1 : 0
}

process.exitCode = await main()
