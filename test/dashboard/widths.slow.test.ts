/**
 * The narrowest and the widest screen: no page is wider than its window, and each has the call behind it. On a usual one, no table
 * is wider than its place.
 */
import t from 'tap'
import { skipWithoutChromium } from '../kit/chromium.ts'
import { EVERY_PAGE_ENV, everyPage } from './everyPage.ts'
import { openBrowser, openPage, settled, signIn, startWithDashboard } from './kit.ts'
import { invite } from './people.ts'

/** The names of the tables that are wider than their place. A matrix has as many columns as points. */
const CUT_TABLES = `[...document.querySelectorAll('.table-scroll')]
  .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
  .map((table) => table.getAttribute('aria-label'))
  .filter((label) => label !== 'Travel times between the points')`

t.test('widths', { skip: skipWithoutChromium() }, async (t) => {
  const server = await startWithDashboard(t, { env: EVERY_PAGE_ENV })
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
  const pages = await everyPage(server)
  const ann = await invite(server, 'ann@example.com', 'admin')
  for (const width of [360, 2560]) {
    const { page, complaints } = await openPage(t, browser, server, { width })
    await ann.signIn(page, '/test/users')
    for (const { path, title } of pages) {
      await page.goto(path)
      await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor({ state: 'attached' })
      await settled(page)
      const needed = Number(await page.evaluate('document.documentElement.scrollWidth'))
      t.ok(needed <= width, `${path} in ${width} px needs ${needed} px`)
      t.strictSame(
        await page.evaluate(CUT_TABLES),
        [],
        `the tables of ${path} in ${width} px show every column`,
      )
      const current = await page.locator('.rail [aria-current="page"]').boundingBox()
      t.ok(
        current === null || (current.x >= 0 && current.x + current.width <= width),
        `${path} in ${width} px is seen in the rail of pages`,
      )
      const calls = await page.getByRole('button', { name: 'The call behind this view' }).count()
      const isAsked = (await page.getByText('No answer yet').count()) === 0
      t.equal(calls > 0, isAsked, `${path} in ${width} px has the call behind it`)
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
