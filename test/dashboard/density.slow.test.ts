/** More devices in view than a page shows one by one: counts per cell, and single devices again where there are few. */
import t from 'tap'
import { Ringfence } from '../../sdk/src/client.ts'
import { skipWithoutChromium } from '../kit/chromium.ts'
import { KEYS } from '../kit/server.ts'
import { progress, until } from '../kit/waiting.ts'
import { openBrowser, openPage, signIn, startWithDashboard } from './kit.ts'

/** The page shows 50,000 one by one. */
const DEVICES = 50_100
const COLUMNS = 300
/** Sent before answers are waited for. */
const AT_ONCE = 2000
const CENTER = { latitude: -34.9, longitude: -56.17 } as const
/** Degrees between neighbours. */
const STEP = 0.0004

t.test('counts per cell', { skip: skipWithoutChromium() }, async (t) => {
  const server = await startWithDashboard(t)
  const browser = await openBrowser(t)
  const rows = Math.ceil(DEVICES / COLUMNS)
  const stream = new Ringfence({ url: server.url, key: KEYS.testPublishable }).stream()
  for (let first = 0; first < DEVICES; first += AT_ONCE) {
    const count = Math.min(AT_ONCE, DEVICES - first)
    await Promise.all(
      Array.from({ length: count }, (_, i) => {
        const [row, column] = [Math.floor((first + i) / COLUMNS), (first + i) % COLUMNS]
        return stream.track({
          deviceId: `d-${first + i}`,
          accuracy: 5,
          latitude: CENTER.latitude + (row - rows / 2) * STEP,
          longitude: CENTER.longitude + (column - COLUMNS / 2) * STEP,
        })
      }),
    )
    progress()
  }
  await stream.close()

  const { page, complaints } = await openPage(t, browser, server)
  await signIn(page, `/test/map?at=${CENTER.longitude},${CENTER.latitude}&zoom=11`)
  await page.getByText('50,100 here, counted').waitFor()
  t.equal(await page.evaluate('window.ringfenceMap.fleet.size'), 0, 'no device is watched by itself')
  const signs = `(() => {
    const { map } = window.ringfenceMap.opened
    if (!map.getLayer('density-points')) return []
    return map.queryRenderedFeatures({ layers: ['density-points'] }).map((one) => one.properties.sign)
  })()`
  await until(async () => ((await page.evaluate(signs)) as string[]).length > 1)
  const counts = ((await page.evaluate(signs)) as string[]).map((sign) =>
    sign.endsWith('k') ? Number(sign.slice(0, -1)) * 1000 : Number(sign),
  )
  const sum = counts.reduce((total, count) => total + count, 0)
  t.ok(Math.abs(sum - DEVICES) < DEVICES * 0.05, `the cells have all devices: ${sum}`)

  // One device more is counted, by itself.
  await server.api('POST', '/v1/track', { deviceId: 'one-more', accuracy: 5, ...CENTER })
  await page.getByText('50,101 here, counted').waitFor()

  // Where there are few, there are devices again.
  const zoomIn = page.getByRole('button', { name: 'Zoom in' })
  for (let i = 0; i < 4; i++) await zoomIn.click()
  await until(async () => Number(await page.evaluate('window.ringfenceMap.fleet.size')) > 0)
  await page.getByText('counted').waitFor({ state: 'hidden' })
  await until(async () => ((await page.evaluate(signs)) as string[]).length === 0)
  t.ok(Number(await page.evaluate('window.ringfenceMap.fleet.size')) < DEVICES)
  const zoomOut = page.getByRole('button', { name: 'Zoom out' })
  for (let i = 0; i < 4; i++) await zoomOut.click()
  await page.getByText('50,101 here, counted').waitFor()
  t.strictSame(complaints, [])
})
