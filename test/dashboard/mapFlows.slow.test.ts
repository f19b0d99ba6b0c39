/** What people do on a map: draw a geofence, and ask why an event happened. */
import t from 'tap'
import type { Page } from 'playwright-core'
import { skipWithoutChromium } from '../kit/chromium.ts'
import { until } from '../kit/waiting.ts'
import { drawingIsReady, mapOf, openBrowser, openPage, signIn, startWithDashboard } from './kit.ts'

const HERE = { latitude: -34.9, longitude: -56.17, accuracy: 8 }

t.test('flows on a map', { skip: skipWithoutChromium() }, async (t) => {
  const server = await startWithDashboard(t)
  const browser = await openBrowser(t)
  await server.api('PUT', '/v1/geofences/depot/main', {
    description: 'Depot',
    type: 'circle',
    coordinates: [HERE.longitude, HERE.latitude],
    radius: 300,
  })
  await server.api('POST', '/v1/track', { ...HERE, deviceId: 'van-1', userId: 'ann' })

  await t.test('a polygon is drawn with the mouse', async (t) => {
    const { page, complaints } = await openPage(t, browser, server)
    await signIn(page, '/test/geofences/new')
    await drawnMapIsAt(page, [HERE.longitude, HERE.latitude])
    await page.getByRole('button', { name: 'Polygon' }).click()
    await page.getByLabel('Name').fill('Yard')
    await page.getByLabel('Tag').fill('yard')
    await page.getByLabel('Your id').fill('1')
    const map = page.getByRole('region', { name: 'The geofence on the map' })
    const box = (await map.boundingBox())!
    const at = async (x: number, y: number) => {
      await page.mouse.move(box.x + x, box.y + y, { steps: 4 })
      await page.mouse.click(box.x + x, box.y + y)
    }
    await drawingIsReady(page)
    await at(150, 200)
    await at(300, 200)
    await at(300, 320)
    await at(150, 320)
    await page.keyboard.press('Enter')
    await page.getByText(/^[34] of at most/).waitFor()
    t.strictSame(complaints, [])
  })

  await t.test('why did it happen, and why nothing?', async (t) => {
    const { page, complaints } = await openPage(t, browser, server)
    const { body } = await server.api('GET', '/v1/users?deviceId=van-1')
    await signIn(page, `/test/users/${body.users[0]._id}`)
    await page.getByRole('region', { name: 'The user on the map' }).waitFor()
    await page.goto(`/test/users/${body.users[0]._id}/explain`)
    await page.getByRole('button', { name: /Depot/ }).click()
    await page.getByLabel(/Why nothing/).fill('elsewhere')
    await page.getByText('It was too far away to matter').waitFor()
    t.strictSame(complaints, [])
  })
})

t.test('a new geofence where nothing is yet', { skip: skipWithoutChromium() }, async (t) => {
  const server = await startWithDashboard(t, { sample: true })
  const browser = await openBrowser(t)
  const { page, complaints } = await openPage(t, browser, server)
  await signIn(page, '/test/geofences/new')
  // The imported region: Montevideo.
  await drawnMapIsAt(page, [-56.17, -34.9])

  // With geofences and no devices, those.
  await server.api('PUT', '/v1/geofences/depot/far', {
    description: 'Far',
    type: 'circle',
    coordinates: [6.77, 51.22],
    radius: 300,
  })
  await page.goto('/test/beacons/new')
  await drawnMapIsAt(page, [6.77, 51.22], 'The beacon on the map')
  t.strictSame(complaints, [])
})

/** Waits until the map shows this place, and not half the world. */
async function drawnMapIsAt(
  page: Page,
  [longitude, latitude]: readonly [number, number],
  label = 'The geofence on the map',
): Promise<void> {
  const map = mapOf(label)
  const view = `(() => { const map = ${map}; return map && [...map.getCenter().toArray(), map.getZoom()] })()`
  await until(async () => {
    const [x = 0, y = 0, zoom = 0] = ((await page.evaluate(view)) ?? []) as number[]
    return Math.abs(x - longitude) < 0.1 && Math.abs(y - latitude) < 0.1 && zoom > 9
  })
}
