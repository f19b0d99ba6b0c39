/** The live map: devices, which move, and events beside it. What else it does: mapInUse.slow.test.ts. */
import t from 'tap'
import { skipWithoutChromium } from '../kit/chromium.ts'
import { until } from '../kit/waiting.ts'
import { CENTER, drive, sendAll } from './fleet.ts'
import { openBrowser, openPage, signIn, startWithDashboard } from './kit.ts'

const DEPOT = {
  description: 'Depot',
  type: 'circle',
  coordinates: [CENTER.longitude, CENTER.latitude],
  radius: 1200,
}
const AT = `at=${CENTER.longitude},${CENTER.latitude}&zoom=13`
const DEVICES = 40
t.test('the live map', { skip: skipWithoutChromium() }, async (t) => {
  const server = await startWithDashboard(t, { sample: true })
  const browser = await openBrowser(t)
  await server.api('PUT', '/v1/geofences/depot/main', DEPOT)
  await sendAll(server, 1, 0)

  await t.test('at first it shows a device with the geofence near it', async (t) => {
    const { page, complaints } = await openPage(t, browser, server)
    await signIn(page, '/test/map')
    await page.getByText('1 here').waitFor()
    const { longitude: x, latitude: y } = CENTER
    // 1,200 m to the north and to the south.
    const box = JSON.stringify([x, y - 0.0107, x, y + 0.0107])
    await until(async () => (await page.evaluate(`window.ringfenceMap.opened?.shows(${box})`)) === true)
    t.strictSame(complaints, [])
  })

  await sendAll(server, DEVICES, 0)

  await t.test('devices are there, move, and events come beside', async (t) => {
    const { page, complaints } = await openPage(t, browser, server)
    const stop = drive(server, DEVICES)
    t.teardown(stop)
    await signIn(page, `/test/map?${AT}`)
    await page.getByText(`${DEVICES} here`).waitFor()
    const before = await page.evaluate('[...window.ringfenceMap.fleet.toX.slice(0, 5)]')
    await until(async () => {
      const now = await page.evaluate('[...window.ringfenceMap.fleet.toX.slice(0, 5)]')
      return JSON.stringify(now) !== JSON.stringify(before)
    })
    await page
      .getByRole('button', { name: /entered geofence Depot|exited geofence Depot/ })
      .first()
      .waitFor()
    await until(async () => Number(await page.evaluate('window.ringfenceMap.points.painted')) > 2)
    const height = await page.evaluate('document.documentElement.scrollHeight - innerHeight')
    t.ok(Number(height) <= 0, 'the page does not scroll, however many events there are')
    t.strictSame(complaints, [])
  })
})
