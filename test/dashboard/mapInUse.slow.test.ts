/** The live map in use: pausing, following, filters, and a connection that is lost and comes back. */
import t, { type Test } from 'tap'
import type { Page } from 'playwright-core'
import { skipWithoutChromium } from '../kit/chromium.ts'
import { until } from '../kit/waiting.ts'
import { CENTER, drive, placeOf, sendAll } from './fleet.ts'
import { openBrowser, openPage, signIn, startWithDashboard } from './kit.ts'

const DEPOT = {
  description: 'Depot',
  type: 'circle',
  coordinates: [CENTER.longitude, CENTER.latitude],
  radius: 1200,
}
const AT = `at=${CENTER.longitude},${CENTER.latitude}&zoom=13`
const DEVICES = 40
/** After a move of the map, the watch of its old place ends later, which paints once more. */
const CALM_MS = 1500

/** After the last way that points glide has been painted to its end, which takes some frames on a busy machine. */
async function paintsNothing(t: Test, page: Page, why: string): Promise<void> {
  const painted = () => page.evaluate('window.ringfenceMap.points.painted')
  let frames = await painted()
  await until(async () => {
    const earlier = frames
    await page.waitForTimeout(CALM_MS)
    frames = await painted()
    return frames === earlier
  })
  await page.waitForTimeout(800)
  t.equal(await painted(), frames, why)
}

t.test('the live map in use', { skip: skipWithoutChromium() }, async (t) => {
  const server = await startWithDashboard(t, { sample: true })
  const browser = await openBrowser(t)
  await server.api('PUT', '/v1/geofences/depot/main', DEPOT)
  await sendAll(server, DEVICES, 0)
  const count = 'window.ringfenceMap?.news.value.count'

  await t.test('a map that is paused paints nothing', async (t) => {
    const { page, complaints } = await openPage(t, browser, server)
    const stop = drive(server, DEVICES)
    t.teardown(stop)
    await signIn(page, `/test/map?${AT}`)
    await page.getByText(`${DEVICES} here`).waitFor()
    await until(async () => Number(await page.evaluate('window.ringfenceMap.points.painted')) > 2)
    await page.getByRole('button', { name: 'Pause' }).click()
    await paintsNothing(t, page, 'a paused map paints nothing')
    await page.getByRole('button', { name: 'Go on' }).click()
    t.strictSame(complaints, [])
  })

  await t.test(
    'a device is chosen with the mouse, followed, and opened; nothing is painted while nothing moves',
    async (t) => {
      await sendAll(server, DEVICES, 0)
      const { page, complaints } = await openPage(t, browser, server)
      await signIn(page, `/test/map?${AT}`)
      await page.getByText(`${DEVICES} here`).waitFor()
      const { latitude, longitude } = placeOf(3, DEVICES, 0)
      const { x, y } = (await page.evaluate(
        `(() => { const { x, y } = window.ringfenceMap.opened.map.project([${longitude}, ${latitude}]); return { x, y } })()`,
      )) as { x: number; y: number }
      const frame = (await page.locator('.map-frame').boundingBox())!
      await page.mouse.click(frame.x + x, frame.y + y)
      await page.getByRole('heading', { name: 'van-4', exact: true }).waitFor()
      await page.getByRole('button', { name: 'Follow' }).click()
      await server.api('POST', '/v1/track', {
        deviceId: 'van-4',
        accuracy: 8,
        latitude: -34.91,
        longitude: -56.2,
      })
      await until(async () => {
        const [lng, lat] = (await page.evaluate(
          'window.ringfenceMap.opened.map.getCenter().toArray()',
        )) as number[]
        return Math.abs(lng! + 56.2) < 0.001 && Math.abs(lat! + 34.91) < 0.001
      })
      await paintsNothing(t, page, 'nothing moves')
      // Points that stand still are there again after the window has another size, which empties their canvas.
      const inked = `(() => {
        const canvas = document.querySelector('canvas.points')
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
        return data.some((value) => value > 0)
      })()`
      t.equal(await page.evaluate(inked), true)
      for (const width of [900, 1000, 1100, 1280]) {
        await page.setViewportSize({ width, height: 800 })
        await paintsNothing(t, page, 'nothing moves')
        t.equal(await page.evaluate(inked), true, `painted at ${width} px`)
      }
      // A centimetre is less than a pixel.
      const painted = await page.evaluate('window.ringfenceMap.points.painted')
      const other = placeOf(4, DEVICES, 0)
      await server.api('POST', '/v1/track', {
        deviceId: 'van-5',
        accuracy: 8,
        latitude: other.latitude + 1e-7,
        longitude: other.longitude,
      })
      const arrived = `window.ringfenceMap.fleet.positions.some(({ user, location }) =>
        user.deviceId === 'van-5' && location.coordinates[1] === ${other.latitude + 1e-7})`
      await until(async () => (await page.evaluate(arrived)) === true)
      await page.waitForTimeout(CALM_MS)
      t.equal(await page.evaluate('window.ringfenceMap.points.painted'), painted, 'no pixel differs')
      await page.getByRole('button', { name: 'The devices as a list' }).click()
      await page.getByRole('region', { name: /Devices in view/ }).waitFor()
      await page.getByRole('link', { name: 'Open', exact: true }).click()
      await page.waitForURL(/\/test\/users\//)
      t.strictSame(complaints, [])
    },
  )

  await t.test(
    'a click on a device inside a geofence chooses the device; one beside it opens the geofence',
    async (t) => {
      await server.api('POST', '/v1/track', { deviceId: 'inside', accuracy: 8, ...CENTER })
      const { page, complaints } = await openPage(t, browser, server)
      await signIn(page, `/test/map?${AT}`)
      // The geofence is drawn there, so that it could be opened as well.
      const drawn = `(() => {
      const map = window.ringfenceMap?.opened?.map
      if (!map?.getLayer('fence-tile-fill')) return 0
      const point = map.project([${CENTER.longitude}, ${CENTER.latitude}])
      return map.queryRenderedFeatures(point, { layers: ['fence-tile-fill'] }).length
    })()`
      await until(async () => Number(await page.evaluate(drawn)) > 0)
      const there = "window.ringfenceMap.fleet.slotOf('inside') !== undefined"
      await until(async () => (await page.evaluate(there)) === true)
      const frame = (await page.locator('.map-frame').boundingBox())!
      const middle = { x: frame.x + frame.width / 2, y: frame.y + frame.height / 2 }
      await page.mouse.click(middle.x, middle.y)
      await page.getByRole('heading', { name: 'inside', exact: true }).waitFor()
      t.match(page.url(), /\/test\/map/)
      await page.mouse.click(middle.x, middle.y - 40)
      await page.getByRole('heading', { name: 'Depot', exact: true }).waitFor()
      t.match(page.url(), /\/test\/geofences\/[0-9a-f]{24}$/)
      t.strictSame(complaints, [])
    },
  )

  await t.test('the address filters, and the other environment shows nothing of this one', async (t) => {
    await server.api('POST', '/v1/track', { deviceId: 'car', userId: 'ann', accuracy: 8, ...CENTER })
    const { page, complaints } = await openPage(t, browser, server)
    await signIn(page, `/test/map?${AT}&user=ann`)
    await page.getByText('1 here').waitFor()
    t.equal(await page.evaluate(count), 1)
    // Beside the map, events of one type alone.
    const events = page.getByRole('region', { name: 'Events as they happen' }).getByRole('button')
    await page.getByLabel('Only events of this type').selectOption('user.exited_geofence')
    await page.waitForURL(/type=user\.exited_geofence/)
    await until(async () => {
      const texts = await events.allTextContents()
      return texts.every((text) => text.includes('exited geofence'))
    })
    await server.api('POST', '/v1/track', {
      deviceId: 'car',
      userId: 'ann',
      accuracy: 8,
      latitude: 0,
      longitude: 0,
    })
    await events.filter({ hasText: 'exited geofence Depot' }).filter({ hasText: 'ann' }).waitFor()
    await page.getByRole('button', { name: 'The call behind this view' }).click()
    await page.getByText(/"types":\["user\.exited_geofence"\]/).waitFor()
    await page.getByText(/filter: \{"userIds":\["ann"\]\}/).waitFor()
    t.strictSame(complaints, [])
  })

  await t.test('a lost connection is told, heals, and what was missed comes', async (t) => {
    const { page, complaints } = await openPage(t, browser, server)
    // Events are missed only by somebody who has subscribed.
    let isSubscribed = false
    page.on('websocket', (socket) =>
      socket.on('framereceived', ({ payload }) => {
        if (String(payload).includes('"type":"subscribed"')) isSubscribed = true
      }),
    )
    await signIn(page, `/test/map?${AT}`)
    await page.getByText(/^[1-9]\d* here/).waitFor()
    await until(() => isSubscribed)
    await server.kill9()
    await page.getByText(/Not connected since/).waitFor()
    await server.restart()
    await server.api('POST', '/v1/track', { deviceId: 'late', userId: 'bob', accuracy: 8, ...CENTER })
    await page.getByText(/Not connected since/).waitFor({ state: 'hidden' })
    await page.getByRole('button', { name: /entered geofence Depot bob/ }).waitFor()
    t.strictSame(
      complaints.filter((text) => !/WebSocket|ERR_CONNECTION|Failed to fetch/.test(text)),
      [],
    )
  })
})
