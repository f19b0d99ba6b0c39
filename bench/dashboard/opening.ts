/**
 * How long a person who has signed in waits for the live map: from the start of the navigation until a click on a device is
 * answered with its card. The page is opened in a browser that has never been there, and again by the same browser, which then has
 * the files and the compiled code.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { chromium, type BrowserContext, type CDPSession } from 'playwright-core'
import { median, rounded } from '../figures.ts'
import { browserArgs, signIn, WINDOW } from './browser.ts'

/** A page that is not usable by then is not going to be. */
const LONGEST_MS = 120_000
/** How often the page looks for what there is to be seen. */
const LOOK_MS = 10

/** Seconds since the start of the navigation. */
export interface Opening {
  /** The first device is painted. */
  readonly devices: number
  /** A click on a device is answered. */
  readonly usable: number
  /** All tiles in view are painted. */
  readonly background: number
  /** CPU of all processes of the browser until then, seconds. */
  readonly browserCpu: number
  /** Bytes that came over the network, without those of the stream. */
  readonly kilobytes: number
}

/** What there is in the page. The times are those of its own clock, which starts with the navigation. */
const LOOKER = `{
  const seen = (window.benchSeen = {})
  const waiting = []
  window.benchUntil = (name) =>
    new Promise((resolve) => (name in seen ? resolve(seen[name]) : waiting.push([name, resolve])))
  const mark = (name) => {
    if (name in seen) return
    seen[name] = performance.now()
    for (const [wanted, resolve] of waiting) if (wanted === name) resolve(seen[name])
  }
  let paintedEmpty = 0
  const look = () => {
    const { points, fleet, opened } = window.ringfenceMap ?? {}
    if (points !== undefined) {
      if (fleet.size === 0) paintedEmpty = points.painted
      else if (points.painted > paintedEmpty) mark('devices')
      if (opened.map.isStyleLoaded() && opened.map.areTilesLoaded()) mark('background')
    }
    if (document.querySelector('.device-card h2') !== null) mark('usable')
    setTimeout(look, ${LOOK_MS})
  }
  look()
}`

/** Where on the screen a device is that is near the middle of the map. */
const NEAREST_DEVICE = `(() => {
  const { fleet, opened: { map } } = window.ringfenceMap
  const box = map.getContainer().getBoundingClientRect()
  let best = Infinity
  let found
  for (let slot = 0; slot < fleet.size; slot++) {
    const { x, y } = map.project(fleet.positions[slot].location.coordinates)
    const distance = (x - box.width / 2) ** 2 + (y - box.height / 2) ** 2
    if (distance < best) [best, found] = [distance, { x: box.x + x, y: box.y + y }]
  }
  return found
})()`

/**
 * Opens an address in a new browser and then again in the same one, some times.
 * @param folder for what browsers keep
 */
export async function measureOpening(
  executablePath: string,
  {
    url,
    path,
    folder,
    rounds,
  }: { readonly url: string; readonly path: string; readonly folder: string; readonly rounds: number },
): Promise<{ readonly cold: readonly Opening[]; readonly warm: readonly Opening[] }> {
  const cold: Opening[] = []
  const warm: Opening[] = []
  for (let round = 0; round < rounds; round++)
    await withNewBrowser(executablePath, folder, url, async (context) => {
      cold.push(await open(context, url + path))
      warm.push(await open(context, url + path))
    })
  return { cold, warm }
}

/** A browser that has never been anywhere, whose person has signed in. */
export async function withNewBrowser<T>(
  executablePath: string,
  folder: string,
  url: string,
  use: (context: BrowserContext) => Promise<T>,
): Promise<T> {
  const kept = mkdtempSync(join(folder, 'browser-'))
  const context = await chromium.launchPersistentContext(kept, {
    executablePath,
    args: browserArgs('own'),
    viewport: WINDOW,
  })
  try {
    await signIn(context, url)
    return await use(context)
  } finally {
    await context.close()
    rmSync(kept, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
  }
}

async function open(context: BrowserContext, address: string): Promise<Opening> {
  const page = await context.newPage()
  await page.addInitScript(LOOKER)
  const session = await context.newCDPSession(page)
  await session.send('Network.enable')
  let bytes = 0
  session.on('Network.loadingFinished', ({ encodedDataLength }) => (bytes += encodedDataLength))
  const ofBrowser = await context.browser()!.newBrowserCDPSession()
  const before = await cpuSeconds(ofBrowser)
  try {
    await page.goto(address, { waitUntil: 'commit' })
    const until = (name: string) => within(page.evaluate(`window.benchUntil('${name}')`), name)
    const devices = await until('devices')
    const { x, y } = (await page.evaluate(NEAREST_DEVICE)) as { x: number; y: number }
    await page.mouse.click(x, y)
    const usable = await until('usable')
    const background = await until('background')
    const browserCpu = (await cpuSeconds(ofBrowser)) - before
    return {
      devices: rounded(devices / 1000, 3),
      usable: rounded(usable / 1000, 3),
      background: rounded(background / 1000, 3),
      browserCpu: rounded(browserCpu, 2),
      kilobytes: Math.round(bytes / 1000),
    }
  } finally {
    await ofBrowser.detach()
    await page.close()
  }
}

/** @throws Error if the page does not get so far */
async function within(mark: Promise<unknown>, name: string): Promise<number> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`the page has no ${name} after ${LONGEST_MS} ms`)), LONGEST_MS)
  })
  try {
    return Number(await Promise.race([mark, late]))
  } finally {
    clearTimeout(timer)
  }
}

/** Of all processes of the browser so far. */
async function cpuSeconds(ofBrowser: CDPSession): Promise<number> {
  const { processInfo } = await ofBrowser.send('SystemInfo.getProcessInfo')
  return processInfo.reduce((sum, { cpuTime }) => sum + cpuTime, 0)
}

/** The medians of some openings. */
export function middle(openings: readonly Opening[]): Opening {
  const of = (name: keyof Opening) => rounded(median(openings.map((one) => one[name])), 3)
  return {
    devices: of('devices'),
    usable: of('usable'),
    background: of('background'),
    browserCpu: of('browserCpu'),
    kilobytes: of('kilobytes'),
  }
}
