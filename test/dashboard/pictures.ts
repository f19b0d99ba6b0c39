/**
 * `npm run pictures:dashboard [-- FOLDER [NAME,NAME]]`: the pictures of the dashboard in the README and in docs/images. A
 * server with a small city in motion, photographed in two widths and both themes.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { chromium, type Page } from 'playwright-core'
import { buildWorld } from '../../src/geo/world/worldBuilder.ts'
import { chromiumPath } from '../kit/chromium.ts'
import { Server } from '../kit/server.ts'
import { WORLD } from '../kit/world.ts'
import { sendAll } from './fleet.ts'
import { buildDashboard, observe, settled } from './kit.ts'
import { invite } from './people.ts'
import { CITY_ENV, DEVICES, furnish, MOST_PICTURE_BYTES, type PicturedPage } from './pictureCity.ts'

const [folder = join(import.meta.dirname, '..', '..', 'docs', 'images'), only = ''] = process.argv.slice(2)
const VIEWS = [
  { width: 1280, height: 800, dark: false },
  { width: 1280, height: 800, dark: true },
  { width: 390, height: 780, dark: false },
  { width: 390, height: 780, dark: true },
] as const
/** What a newcomer sees, before there is anything. */
const FIRST_PAGES: readonly PicturedPage[] = [
  ['sign-in', '/sign-in'],
  ['welcome', '/test/map?welcome=1'],
]
/** A picture is made worse until it is not larger than {@link MOST_PICTURE_BYTES}, or as bad as the last of the qualities. */
const QUALITIES = [88, 76, 64, 50, 42, 35, 30, 25, 20]
/** After a page is settled, its map still paints tiles, and the live map gets the updates that are sent meanwhile. */
const PAINTED_MS = 2500
const CALM_MS = 300

buildDashboard()
// Otherwise tiles wait for it.
buildWorld(WORLD)
mkdirSync(folder, { recursive: true })
const server = await Server.start({ sample: true, env: { RINGFENCE_DASHBOARD: 'on', ...CITY_ENV } })
const browser = await chromium.launch({
  executablePath: chromiumPath()!,
  args: ['--no-sandbox', '--enable-unsafe-swiftshader', '--use-angle=swiftshader'],
})
try {
  const ann = await invite(server, 'ann@example.com', 'admin')
  for (const [name, role] of [
    ['bob', 'read'],
    ['cleo', 'write'],
  ] as const)
    await invite(server, `${name}@example.com`, role)
  const views = await Promise.all(
    VIEWS.map(async ({ width, height, dark }) => {
      const context = await browser.newContext({
        viewport: { width, height },
        colorScheme: dark ? 'dark' : 'light',
        baseURL: server.url,
        reducedMotion: 'reduce',
      })
      const page = await context.newPage()
      observe(page, server)
      page.on('pageerror', (error) => console.error(error.stack))
      return { page, suffix: `${width}-${dark ? 'dark' : 'light'}` }
    }),
  )
  const names: string[] = []
  const shootAll = async (pages: readonly PicturedPage[]) => {
    for (const [name, path] of pages) {
      names.push(name)
      if (only !== '' && !only.split(',').includes(name)) continue
      for (const { page, suffix } of views) {
        await page.goto(path)
        await page.getByRole('heading').first().waitFor({ state: 'attached' })
        if (name === 'map') await sendAll(server, DEVICES, 60)
        await settled(page)
        const hasMap = (await page.locator('.map').count()) > 0
        await page.waitForTimeout(hasMap ? PAINTED_MS : CALM_MS)
        await shoot(page, join(folder, `${name}-${suffix}.webp`))
      }
    }
  }
  await shootAll(FIRST_PAGES.slice(0, 1))
  for (const { page } of views) await ann.signIn(page, '/test/users')
  await shootAll(FIRST_PAGES.slice(1))
  const city = await furnish(server)
  await shootAll(city.pages)
  city.close()
  writeFileSync(join(folder, 'README.md'), gallery(names))
} finally {
  await browser.close()
  await server.dispose()
}

async function shoot(page: Page, file: string): Promise<void> {
  const session = await page.context().newCDPSession(page)
  let picture = Buffer.alloc(0)
  for (const quality of QUALITIES) {
    const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality })
    picture = Buffer.from(data, 'base64')
    if (picture.length <= MOST_PICTURE_BYTES) break
  }
  await session.detach()
  writeFileSync(file, picture)
}

/** A page with all pictures. */
function gallery(names: readonly string[]): string {
  const titles = VIEWS.map(({ width, dark }) => `${width} px, ${dark ? 'dark' : 'light'}`)
  const rows = names.map((name) => {
    const cells = VIEWS.map(({ width, dark }) => {
      const file = `${name}-${width}-${dark ? 'dark' : 'light'}.webp`
      return `[<img src="${file}" alt="${name}, ${width} px, ${dark ? 'dark' : 'light'}" height="220">](${file})`
    })
    return `| ${name} | ${cells.join(' | ')} |`
  })
  return `${[
    '# Pictures of the dashboard',
    '',
    'Every page in two widths and both themes, made by `npm run pictures:dashboard`. What the pages are for: [the guide](../guides/dashboard.md).',
    '',
    `| page | ${titles.join(' | ')} |`,
    `|---|${titles.map(() => '---').join('|')}|`,
    ...rows,
  ].join('\n')}\n`
}
