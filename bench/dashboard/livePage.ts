/** The live map in a real browser, with many devices in view, and what it costs: for the bench of the dashboard. */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { chromium, type Browser, type CDPSession, type Page } from 'playwright-core'
import { cityPosition, type City } from '../../src/simulation/streets.ts'
import { rounded } from '../figures.ts'
import { browserArgs, signIn, WINDOW, ZOOM, type Composition } from './browser.ts'

/** A page that does not show all devices by then is not going to. */
const SHOWN_MS = 120_000

/** What a page did between two looks. */
export interface PageFigures {
  /** Frames that showed something new. */
  readonly framesPerSecond: number
  readonly mainThreadShare: number
  /** Seconds of all processes of the browser, each second. */
  readonly browserCpu: number
  readonly devices: number
}

/** What a page has in memory. */
export interface PageMemory {
  /** What is left of the heap after everything that nobody uses has been removed. */
  readonly heapMegabytes: number
  /** The process of the page. */
  readonly residentMegabytes: number
  /** How many events have come. */
  readonly events: number
}

interface Look {
  readonly at: number
  readonly busy: number
  readonly painted: number
  readonly devices: number
  readonly cpu: number
}

/** The address of the map of a city. */
export function mapPath(city: City): string {
  const { latitude, longitude } = cityPosition(city, city.sizeMeters / 2, city.sizeMeters / 2)
  return `/test/map?at=${longitude},${latitude}&zoom=${ZOOM}`
}

/** A live map that is open. */
export class LivePage {
  readonly #browser: Browser
  readonly #page: Page
  readonly #ofPage: CDPSession
  readonly #ofBrowser: CDPSession

  private constructor(parts: {
    readonly browser: Browser
    readonly page: Page
    readonly ofPage: CDPSession
    readonly ofBrowser: CDPSession
  }) {
    this.#browser = parts.browser
    this.#page = parts.page
    this.#ofPage = parts.ofPage
    this.#ofBrowser = parts.ofBrowser
  }

  /** Signs in, opens the map of a city and waits until all devices are there. */
  static async open(
    executablePath: string,
    url: string,
    {
      city,
      devices,
      composition,
    }: { readonly city: City; readonly devices: number; readonly composition: Composition },
  ): Promise<LivePage> {
    const browser = await chromium.launch({
      executablePath,
      args: browserArgs(composition),
    })
    try {
      const page = await browser.newPage({ baseURL: url, viewport: WINDOW })
      await signIn(page.context(), url)
      await page.goto(mapPath(city))
      await shows(page, devices)
      const ofPage = await page.context().newCDPSession(page)
      await ofPage.send('Performance.enable')
      const ofBrowser = await browser.newBrowserCDPSession()
      return new LivePage({ browser, page, ofPage, ofBrowser })
    } catch (error) {
      await browser.close()
      throw error
    }
  }

  /** What the page does during some work. */
  async during(work: () => Promise<unknown>): Promise<PageFigures> {
    const before = await this.#look()
    await work()
    const after = await this.#look()
    const took = after.at - before.at
    return {
      framesPerSecond: rounded((after.painted - before.painted) / took, 1),
      mainThreadShare: rounded((after.busy - before.busy) / took, 2),
      browserCpu: rounded((after.cpu - before.cpu) / took, 2),
      devices: after.devices,
    }
  }

  /** How many frames it paints in this time. */
  async framesIn(ms: number): Promise<number> {
    const before = await this.#look()
    await sleep(ms)
    return (await this.#look()).painted - before.painted
  }

  async memory(): Promise<PageMemory> {
    await this.#ofPage.send('HeapProfiler.collectGarbage')
    const { metrics } = await this.#ofPage.send('Performance.getMetrics')
    const heap = metrics.find(({ name }) => name === 'JSHeapUsedSize')!.value
    const { processInfo } = await this.#ofBrowser.send('SystemInfo.getProcessInfo')
    const resident = processInfo
      .filter(({ type }) => type === 'renderer')
      .map(({ id }) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${id}/status`, 'utf8'))?.[1] ?? 0))
    const newest = await this.#page.evaluate('window.ringfenceMap.connection.events.value[0]?._id')
    return {
      heapMegabytes: rounded(heap / 1e6, 1),
      residentMegabytes: Math.round(Math.max(...resident) / 1000),
      events: Number.parseInt(String(newest ?? '0'), 16),
    }
  }

  close(): Promise<void> {
    return this.#browser.close()
  }

  async #look(): Promise<Look> {
    const { metrics } = await this.#ofPage.send('Performance.getMetrics')
    const metric = (name: string) => metrics.find((one) => one.name === name)!.value
    const [painted, devices] = (await this.#page.evaluate(
      '[window.ringfenceMap.points.painted, window.ringfenceMap.fleet.size]',
    )) as [number, number]
    const { processInfo } = await this.#ofBrowser.send('SystemInfo.getProcessInfo')
    const cpu = processInfo.reduce((sum, { cpuTime }) => sum + cpuTime, 0)
    return { at: metric('Timestamp'), busy: metric('TaskDuration'), painted, devices, cpu }
  }
}

/** Waits until the map has so many devices. Its policy refuses functions made of texts, so it is asked from outside. */
async function shows(page: Page, count: number): Promise<void> {
  const until = performance.now() + SHOWN_MS
  for (;;) {
    const shown = Number(await page.evaluate('window.ringfenceMap?.fleet.size ?? 0'))
    if (shown >= count) return
    if (performance.now() > until) throw new Error(`the map shows ${shown} of ${count} devices`)
    await sleep(20)
  }
}
