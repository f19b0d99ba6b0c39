/** Every page by the rules of axe (WCAG 2.2 AA), in both themes and on a narrow screen. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import t from 'tap'
import { skipWithoutChromium } from '../kit/chromium.ts'
import { openBrowser, openPage, settled, signIn, startWithDashboard } from './kit.ts'

/** Evaluated, because the policy of the pages refuses a script of elsewhere. */
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']

const VIEWS = [
  { width: 1280, dark: false },
  { width: 1280, dark: true },
  { width: 390, dark: false },
]

interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
}

t.test('accessibility', { skip: skipWithoutChromium() }, async (t) => {
  const server = await startWithDashboard(t)
  const browser = await openBrowser(t)
  const { body } = await server.api('PUT', '/v1/geofences/depot/north', {
    description: 'Depot north',
    type: 'circle',
    coordinates: [6.7735, 51.2277],
    radius: 100,
  })
  t.ok(body.geofence._id)
  const { body: tracked } = await server.api('POST', '/v1/track', {
    deviceId: 'van-7',
    latitude: 51.2277,
    longitude: 6.7735,
    accuracy: 8,
    metadata: { crew: 2 },
  })
  const { body: trip } = await server.api('POST', '/v1/trips', {
    externalId: 'order-1',
    legs: [{ destination: { coordinates: [6.78, 51.23] } }, { destination: { coordinates: [6.8, 51.25] } }],
  })
  const paths = [
    '/test/users',
    `/test/users/${tracked.user._id}`,
    '/test/events',
    `/test/events/${tracked.events[0]._id}`,
    '/test/users?userId=none',
    `/test/users/${tracked.user._id}/explain`,
    '/test/map',
    '/test/geofences',
    '/test/geofences/new',
    `/test/geofences/${body.geofence._id}`,
    '/test/settings',
    '/test/trips',
    `/test/trips/${trip.trip._id}`,
    '/test/beacons',
    '/test/beacons/new',
    '/test/sync',
    '/test/imports',
    '/system',
    '/audit',
    '/test/explore/search',
    '/test/explore/route?at=51.22,6.77|51.23,6.78',
    '/test/webhooks',
    '/keys',
    '/members',
  ]
  const { page, complaints } = await openPage(t, browser, server)
  /** A page is loaded once, and follows the theme of the system and the size of its window. */
  const check = async (name: string) => {
    await page.evaluate(AXE)
    for (const { width, dark } of VIEWS) {
      await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light' })
      await page.setViewportSize({ width, height: 800 })
      await settled(page)
      const violations = (await page.evaluate(
        `axe.run(document, { runOnly: ${JSON.stringify(TAGS)} }).then(({ violations }) => violations)`,
      )) as Violation[]
      t.strictSame(
        violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`),
        [],
        `${name}, ${width} px, ${dark ? 'dark' : 'light'}`,
      )
      const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
      t.ok(Number(overflow) <= 0, `${name} fits into ${width} px`)
    }
  }
  await page.goto('/sign-in')
  await page.getByLabel('Secret key', { exact: true }).waitFor()
  await check('sign-in')
  await signIn(page)
  for (const path of paths) {
    await page.goto(path)
    await page.getByRole('heading', { level: 1 }).waitFor({ state: 'attached' })
    await settled(page)
    if (path === '/test/geofences/new') await page.getByText('Opening hours').click()
    await check(path)
  }
  t.strictSame(complaints, [])
})
