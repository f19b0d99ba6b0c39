/** The dashboard in a real browser, beside a real server. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { chromium, type Browser, type BrowserContext, type Page, type Request } from 'playwright-core'
import type { Test } from 'tap'
import { chromiumPath } from '../kit/chromium.ts'
import { KEYS, startServer, type Server, type ServerOptions } from '../kit/server.ts'
import { until } from '../kit/waiting.ts'

/** Where pages are of, and what they load at the moment. */
const homes = new WeakMap<Page, string>()
const underWay = new WeakMap<Page, Set<Request>>()
/** Looks at a page in a row that must find nothing to wait for. */
const CALM_LOOKS = 4

export const DASHBOARD = join(import.meta.dirname, '..', '..', 'dashboard')

/** A page, and what went wrong in it. */
export interface Shown {
  readonly page: Page
  /** Errors of the page, what its policy refused, and requests to elsewhere. */
  readonly complaints: string[]
}

/** Makes the files of the dashboard, unless they are there. */
export function buildDashboard(): void {
  const { status, stderr } = spawnSync(process.execPath, [join(DASHBOARD, 'build.ts')], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`the dashboard cannot be built: ${stderr}`)
}

/** A server with the dashboard, whose files are built. */
export async function startWithDashboard(t: Test, options: ServerOptions = {}): Promise<Server> {
  buildDashboard()
  return startServer(t, { ...options, env: { ...options.env, RINGFENCE_DASHBOARD: 'on' } })
}

const WEBGL = ['--enable-unsafe-swiftshader', '--use-angle=swiftshader']
/** Pages have the list in place of the map. Without a graphics card, drawing a map takes most of the processor. */
export const WITHOUT_WEBGL = ['--disable-gpu', '--disable-3d-apis']

/** A browser that ends with the test. */
export async function openBrowser(t: Test, drawing: readonly string[] = WEBGL): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: chromiumPath()!,
    args: ['--no-sandbox', '--disable-quic', '--disable-dev-shm-usage', ...drawing],
  })
  t.teardown(() => browser.close())
  return browser
}

/** Contexts that ended tests have left, by their kind: with what the browser keeps of files, and nothing of a person. */
const left = new WeakMap<Browser, Map<string, BrowserContext[]>>()

/** A page in a context of its own, as of another person. */
export async function openPage(
  t: Test,
  browser: Browser,
  server: Pick<Server, 'url'>,
  view: { readonly width?: number; readonly height?: number; readonly dark?: boolean } = {},
): Promise<Shown> {
  const { width = 1280, height = 800, dark = false } = view
  const kinds = left.get(browser) ?? new Map<string, BrowserContext[]>()
  left.set(browser, kinds)
  const kind = `${server.url} ${width} ${height} ${dark}`
  const context =
    kinds.get(kind)?.pop() ??
    (await browser.newContext({
      viewport: { width, height },
      // Without a graphics card the processor draws each pixel.
      deviceScaleFactor: 0.5,
      colorScheme: dark ? 'dark' : 'light',
      baseURL: server.url,
      reducedMotion: 'reduce',
    }))
  const page = await context.newPage()
  t.teardown(async () => {
    const session = await context.newCDPSession(page)
    const stored = { origin: server.url, storageTypes: 'cookies,local_storage' }
    await session.send('Storage.clearDataForOrigin', stored)
    await page.close()
    kinds.set(kind, [...(kinds.get(kind) ?? []), context])
  })
  page.setDefaultTimeout(20_000)
  observe(page, server)
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(`error: ${error.stack ?? error.message}`))
  page.on('console', (message) => {
    // The browser reports each answer that is an error; pages show what the server says.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      complaints.push(`console: ${message.text()}`)
  })
  page.on('request', (request) => {
    const url = new URL(request.url())
    if (!['data:', 'blob:'].includes(url.protocol) && url.host !== new URL(server.url).host)
      complaints.push(`foreign request: ${request.url()}`)
  })
  return { page, complaints }
}

/** Notes where a page is of and what it loads, for {@link signInWith} and {@link settled}. */
export function observe(page: Page, server: Pick<Server, 'url'>): void {
  homes.set(page, server.url)
  const pending = new Set<Request>()
  underWay.set(page, pending)
  page.on('request', (request) => pending.add(request))
  page.on('requestfinished', (request) => pending.delete(request))
  page.on('requestfailed', (request) => pending.delete(request))
}

/** The map of a section, as an expression: `undefined` until it is there. */
export function mapOf(label: string): string {
  return `document.querySelector('[aria-label="${label}"] .map')?.openMap?.map`
}

/** Waits until a polygon can be drawn: before, the first corner would be missing. */
export async function drawingIsReady(page: Page): Promise<void> {
  const layer = `${mapOf('The geofence on the map')}?.getLayer('td-polygon') !== undefined`
  await until(async () => (await page.evaluate(layer)) === true)
}

/** Where a place is on the screen. */
export async function screenPoint(
  page: Page,
  label: string,
  place: readonly [longitude: number, latitude: number],
): Promise<{ readonly x: number; readonly y: number }> {
  const box = (await page.getByRole('region', { name: label }).boundingBox())!
  const { x, y } = (await page.evaluate(
    `(({ x, y }) => ({ x, y }))(${mapOf(label)}.project(${JSON.stringify(place)}))`,
  )) as { x: number; y: number }
  return { x: box.x + x, y: box.y + y }
}

/** Drops a file on an element, as from a folder of the system. */
export async function dropFile(page: Page, selector: string, name: string, text: string): Promise<void> {
  const files = await page.evaluateHandle(
    `(() => {
      const data = new DataTransfer()
      data.items.add(new File([${JSON.stringify(text)}], ${JSON.stringify(name)}))
      return data
    })()`,
  )
  await page.dispatchEvent(selector, 'drop', { dataTransfer: files })
}

/** Signs in with the secret key and opens a page. How a person signs in is in basics.test.ts. */
export async function signIn(page: Page, path = '/test/users', key: string = KEYS.testSecret): Promise<void> {
  await signInWith(page, { key }, path)
}

/** Signs in as the form does, without the form, and opens a page. */
export async function signInWith(
  page: Page,
  proof: { readonly key: string } | { readonly email: string; readonly password: string },
  path: string,
): Promise<void> {
  const answer = await page.context().request.post('/v1/sessions', {
    data: proof,
    headers: { origin: homes.get(page)!, 'x-ringfence-environment': 'test' },
  })
  if (!answer.ok()) throw new Error(`signing in: ${answer.status()} ${await answer.text()}`)
  await page.goto(path)
}

/**
 * Waits until a page shows what it has: nothing is loaded, and no place of something that is loaded is left. A page that
 * asks again every few seconds is settled in between.
 */
export async function settled(page: Page): Promise<void> {
  const pending = underWay.get(page)!
  for (let calm = 0; calm < CALM_LOOKS;) {
    // The look itself takes a frame, in which the page may ask for more.
    const isLoading = await page.evaluate(
      "new Promise((resolve) => requestAnimationFrame(() => resolve(document.querySelector('.skeleton') !== null)))",
    )
    calm = isLoading === true || pending.size > 0 ? 0 : calm + 1
  }
}
