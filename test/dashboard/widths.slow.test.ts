/** The narrowest and the widest screen: no page is wider than its window. On a usual one, neither is a table. */
import t from 'tap'
import { skipWithoutChromium } from '../kit/chromium.ts'
import { openBrowser, openPage, signIn, startWithDashboard } from './kit.ts'

const NAMES =
  'map geofences geofences/new users events trips beacons beacons/new imports sync explore/search explore/route webhooks settings'
const PAGES = NAMES.split(' ').map((name) => `/test/${name}`)

t.test('widths', { skip: skipWithoutChromium() }, async (t) => {
  const server = await startWithDashboard(t)
  const browser = await openBrowser(t)
  await server.api('PUT', `/v1/geofences/depot/${'long'.repeat(20)}`, {
    description: 'A name that is long without end '.repeat(4),
    type: 'circle',
    coordinates: [6.7735, 51.2277],
    radius: 100,
  })
  await server.api('PUT', '/v1/geofences/a-tag-that-is-long/short', {
    description: 'Short',
    type: 'polygon',
    coordinates: [
      [6.77, 51.22],
      [6.78, 51.22],
      [6.78, 51.23],
      [6.77, 51.22],
    ],
  })
  await server.api('POST', '/v1/track', {
    deviceId: 'a-device-whose-name-is-long'.repeat(3),
    latitude: 51.2277,
    longitude: 6.7735,
    accuracy: 8,
  })
  for (const width of [360, 2560]) {
    const { page, complaints } = await openPage(t, browser, server, { width })
    await signIn(page)
    for (const path of [...PAGES, '/system', '/audit', '/keys', '/members']) {
      await page.goto(path)
      await page.locator('h1, [aria-label="Map"], .map').first().waitFor()
      await page.waitForLoadState('networkidle').catch(() => {})
      const needed = Number(await page.evaluate('document.documentElement.scrollWidth'))
      t.ok(needed <= width, `${path} in ${width} px needs ${needed} px`)
    }
    t.strictSame(complaints, [])
  }
  const { page, complaints } = await openPage(t, browser, server, { width: 1280 })
  await signIn(page, '/test/geofences')
  await page.getByRole('link', { name: 'Short', exact: true }).waitFor()
  const cut = await page.evaluate(`(() => {
    const { scrollWidth, clientWidth } = document.querySelector('.table-scroll')
    return scrollWidth - clientWidth
  })()`)
  t.ok(Number(cut) <= 0, `the table of geofences is ${String(cut)} px wider than its place`)
  t.strictSame(complaints, [])
})
