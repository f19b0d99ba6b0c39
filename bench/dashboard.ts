/**
 * What looking costs: tracking over HTTP beside ten open dashboards with ten different viewports of a city, compared with
 * none, in windows that take turns; and a dashboard in a real browser, with all devices in view: when it is usable, how often it
 * paints, how busy its main thread is, how much memory it has, and whether it paints while nothing moves.
 *
 * The ten dashboards are clients that watch and follow what a page watches and follows. They are no browsers, because ten of these
 * would leave no processor to the server.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { chromium, type CDPSession, type Page } from 'playwright-core'
import { Ringfence } from '../sdk/src/client.ts'
import { cityPlace } from '../src/simulation/streets.ts'
import { chromiumPath } from '../test/kit/chromium.ts'
import { median, rounded, thousands } from './figures.ts'
import { benchFolder } from './folder.ts'
import { loadGenerator, type Generator } from './load/load.ts'
import { BENCH_KEYS, seedGeofences, startRingfence, type ServerProcess } from './load/servers.ts'
import { drawGeofences, regionOf, writeWorkload, type Workload } from './load/workload.ts'
import { done, progress } from './progress.ts'

/** CPU of an update beside ten dashboards, as a multiple of that without, at most. */
const STATED_RATIO = 1.1
/** A page in a browser must be usable after this time. */
const STATED_USABLE_SECONDS = 3
const STATED_FRAMES = 30
const STATED_MAIN_SHARE = 0.8
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
  },
})
const size = options.smoke
  ? { geofences: 200, devices: 300, rate: 300, windows: 1, seconds: 1, watched: 3 }
  : { geofences: 1_000, devices: 20_000, rate: 5_000, windows: 5, seconds: 5, watched: 20 }
const seed = Number(options.seed)
const seconds = Number(options.seconds ?? size.seconds)
const rate = Number(options.rate ?? size.rate)
const devices = Number(options.devices ?? size.devices)

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
    const { latitude, longitude } = cityPlace(city, east * city.sizeMeters, north * city.sizeMeters)
    return [longitude, latitude]
  }
}

interface PageFigures {
  readonly usableSeconds: number
  readonly updatesPerSecond: number
  readonly framesPerSecond: number
  readonly mainThreadShare: number
  readonly heapMegabytes: number
  readonly idleFrames: number
  readonly devicesShown: number
}

/** The live map in a browser, with every device in view. */
async function measurePage(url: string, traffic: Traffic): Promise<PageFigures | undefined> {
  const executablePath = chromiumPath()
  if (executablePath === undefined) {
    console.error('SKIPPED: the page, because there is no Chromium')
    return undefined
  }
  const browser = await chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      '--disable-dev-shm-usage',
      '--enable-unsafe-swiftshader',
      '--use-angle=swiftshader',
    ],
  })
  try {
    const page = await browser.newPage({ baseURL: url, viewport: { width: 1280, height: 800 } })
    await page.goto('/sign-in')
    await page.getByLabel('Secret key', { exact: true }).fill(BENCH_KEYS.testSecret)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.waitForURL(/\/test\/map/)
    const region = regionOf(size.geofences)
    const { latitude, longitude } = cityPlace(region, region.sizeMeters / 2, region.sizeMeters / 2)
    // The files are there after the first visit, as on every later one.
    const begin = performance.now()
    await page.goto(`/test/map?at=${longitude},${latitude}&zoom=11.5`)
    await shows(page, 1)
    const usableSeconds = (performance.now() - begin) / 1000
    await shows(page, devices)
    const session = await page.context().newCDPSession(page)
    await session.send('Performance.enable')
    progress(`the page, ${thousands(devices)} devices`)
    const before = await look(page, session)
    const { perSecond } = await traffic.send(rate * size.watched, rate)
    const after = await look(page, session)
    await sleep(CALM_MS)
    const calm = await look(page, session)
    await sleep(CALM_MS / 2)
    const idle = await look(page, session)
    const took = after.at - before.at
    return {
      usableSeconds: rounded(usableSeconds, 2),
      updatesPerSecond: Math.round(perSecond),
      framesPerSecond: rounded((after.painted - before.painted) / took, 1),
      mainThreadShare: rounded((after.busy - before.busy) / took, 2),
      heapMegabytes: rounded(idle.heap / 1e6, 1),
      idleFrames: idle.painted - calm.painted,
      devicesShown: idle.devices,
    }
  } finally {
    await browser.close()
  }
}

/** Waits until the map has so many devices. Its policy refuses functions made of texts, so it is asked from outside. */
async function shows(page: Page, count: number): Promise<void> {
  while (Number(await page.evaluate('window.ringfenceMap?.fleet.size ?? 0')) < count) await sleep(20)
}

async function look(page: Page, session: CDPSession) {
  const { metrics } = await session.send('Performance.getMetrics')
  const metric = (name: string) => metrics.find((one) => one.name === name)!.value
  const [painted, shown] = (await page.evaluate(
    '[window.ringfenceMap.points.painted, window.ringfenceMap.fleet.size]',
  )) as [number, number]
  return {
    at: metric('Timestamp'),
    busy: metric('TaskDuration'),
    heap: metric('JSHeapUsedSize'),
    painted,
    devices: shown,
  }
}

async function main(): Promise<number> {
  buildPages()
  const folder = benchFolder('dashboard')
  const generator = await loadGenerator()
  const workload = writeWorkload({
    geofences: size.geofences,
    devices,
    seed,
    folder,
    publishableKey: BENCH_KEYS.testPublishable,
    onProgress: progress,
  })
  seedGeofences(folder, drawGeofences(size.geofences, seed), (stored) => progress(`geofences: ${stored}`))
  const server = await startRingfence(folder, { env: { RINGFENCE_DASHBOARD: 'on' } })
  const url = `http://127.0.0.1:${server.port}`
  const traffic = new Traffic(generator, workload, server)
  progress('warming up')
  await traffic.send(devices, 0)
  const without: number[] = []
  const beside: number[] = []
  let watched = 0
  for (let round = 1; round <= size.windows; round++) {
    progress(`window ${round} of ${size.windows}`)
    without.push((await traffic.send(rate * seconds, rate)).micros)
    const dashboards = openDashboards(url)
    // Their first positions are not what is measured.
    await sleep(1500)
    const before = dashboards.received()
    beside.push((await traffic.send(rate * seconds, rate)).micros)
    watched += dashboards.received() - before
    await dashboards.close()
  }
  done(`${thousands(rate)} updates/s, with and without ${DASHBOARDS} dashboards`)
  const page = await measurePage(url, traffic)
  await server.stop()
  return report({ without, beside, watched, page, generator })
}

/** The files of the dashboard, before anything is measured. */
function buildPages(): void {
  const build = join(import.meta.dirname, '..', 'dashboard', 'build.ts')
  const { status, stderr } = spawnSync(process.execPath, [build], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`the dashboard cannot be built: ${stderr}`)
}

function report(measured: {
  readonly without: readonly number[]
  readonly beside: readonly number[]
  readonly watched: number
  readonly page: PageFigures | undefined
  readonly generator: Generator
}): number {
  const { without, beside, watched, page, generator } = measured
  const ratio = median(beside) / median(without)
  const rows = [
    {
      figure: `CPU of an update beside ${DASHBOARDS} dashboards, times without`,
      stated: `≤ ${STATED_RATIO}`,
      measured: rounded(ratio, 3),
    },
    ...(page === undefined
      ? []
      : [
          {
            figure: 'live map usable, seconds',
            stated: `≤ ${STATED_USABLE_SECONDS}`,
            measured: page.usableSeconds,
          },
          {
            figure: `frames a second, ${thousands(page.devicesShown)} devices, ${thousands(page.updatesPerSecond)} updates/s`,
            stated: `≥ ${STATED_FRAMES}`,
            measured: page.framesPerSecond,
          },
          {
            figure: 'main thread busy, share',
            stated: `≤ ${STATED_MAIN_SHARE}`,
            measured: page.mainThreadShare,
          },
          { figure: 'heap of the page, MB', stated: '≤ 150', measured: page.heapMegabytes },
          { figure: 'frames while nothing moves', stated: '0', measured: page.idleFrames },
        ]),
  ]
  console.table(rows)
  console.log(
    JSON.stringify({
      bench: 'dashboard',
      rows,
      ratio: rounded(ratio, 3),
      microsWithout: rounded(median(without), 1),
      microsBeside: rounded(median(beside), 1),
      delivered: watched,
      page,
      rate,
      devices,
      geofences: size.geofences,
      windows: size.windows,
      windowSeconds: seconds,
      generator: generator.kind,
      seed,
      smoke: options.smoke,
    }),
  )
  if (!options.strict) return 0
  const isMissed =
    ratio > STATED_RATIO * (1 + TOLERANCE) ||
    (page !== undefined &&
      (page.framesPerSecond < STATED_FRAMES * (1 - TOLERANCE) ||
        page.mainThreadShare > STATED_MAIN_SHARE * (1 + TOLERANCE) ||
        page.idleFrames > 0))
  return isMissed ? 1 : 0
}

process.exitCode = await main()
