/** The dashboard in a real browser, beside a real server. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { chromium, type Browser, type Page } from 'playwright-core'
import type { Test } from 'tap'
import { chromiumPath } from '../kit/chromium.ts'
import { KEYS, startServer, type Server, type ServerOptions } from '../kit/server.ts'

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

/** A browser that ends with the test. */
export async function openBrowser(t: Test): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: chromiumPath()!,
    args: [
      '--no-sandbox',
      '--disable-quic',
      '--disable-dev-shm-usage',
      '--enable-unsafe-swiftshader',
      '--use-angle=swiftshader',
    ],
  })
  t.teardown(() => browser.close())
  return browser
}

/** A page in a context of its own, as of another person. */
export async function openPage(
  t: Test,
  browser: Browser,
  server: Server,
  view: { readonly width?: number; readonly height?: number; readonly dark?: boolean } = {},
): Promise<Shown> {
  const { width = 1280, height = 800, dark = false } = view
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: dark ? 'dark' : 'light',
    baseURL: server.url,
    reducedMotion: 'reduce',
  })
  t.teardown(() => context.close())
  const page = await context.newPage()
  page.setDefaultTimeout(20_000)
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

/** Signs in with the secret key and waits for a page. */
export async function signIn(page: Page, path = '/test/users', key: string = KEYS.testSecret): Promise<void> {
  await page.goto(`/sign-in?to=${encodeURIComponent(path)}`)
  await page.getByLabel('Secret key', { exact: true }).fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL((url) => url.pathname === new URL(path, url).pathname)
}
