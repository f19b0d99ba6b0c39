/** What people do on a map: draw a geofence, see who can be reached in some minutes, follow a user, and ask why an event happened. */
import t from 'tap'
import type { Page } from 'playwright-core'
import { skipWithoutChromium } from '../kit/chromium.ts'
import { until } from '../kit/waiting.ts'
import { fillGeofence } from './forms.ts'
import { drawingIsReady, mapOf, openBrowser, openPage, signIn, startWithDashboard } from './kit.ts'

const HERE = { latitude: -34.9, longitude: -56.17, accuracy: 8 }
const LIST_MAP = 'Map of the geofences in the list'

t.test('flows on a map', { skip: skipWithoutChromium() }, async (t) => {
  const server = await startWithDashboard(t, { sample: true })
  const browser = await openBrowser(t)

  await t.test('a new geofence where nothing is yet', async (t) => {
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

  await t.test('a place that can be reached in some minutes', async (t) => {
    const { page, complaints } = await openPage(t, browser, server)
    await signIn(page, '/test/geofences/new')
    await page.getByRole('button', { name: 'Travel time' }).click()
    const destination = { latitude: -34.9059, longitude: -56.1913 }
    await fillGeofence(page, { name: 'Five minutes', tag: 'reach', externalId: '5', ...destination })
    const minutes = page.getByLabel('Minutes of travel')
    await minutes.fill('500')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.locator('[aria-invalid="true"]').waitFor()
    t.equal(await minutes.getAttribute('aria-invalid'), 'true')
    await minutes.fill('5')
    await page.getByLabel('By', { exact: true }).selectOption('foot')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Five minutes was saved.').waitFor()
    const saved = async () => (await server.api('GET', '/v1/geofences/reach/5')).body.geofence
    await until(async () => (await saved()).geometry?.type === 'Polygon')
    t.match(await saved(), { type: 'isochrone', mode: 'foot', isochrone: { minutes: 5 } })
    await page.goto('/test/geofences?tag=reach')
    const corners = `(${mapOf(LIST_MAP)}?.getSource('fences')?.serialize().data.features ?? [])
      .map(({ geometry }) => geometry.coordinates[0].length)`
    await until(async () => ((await page.evaluate(corners)) as number[])[0]! > 8)

    // Its page has the area as well, that of another way to travel before it is saved, and why there is none elsewhere.
    await page.goto(`/test/geofences/${(await saved())._id}`)
    const width = `(() => {
      const xs = (${mapOf('The geofence on the map')}?.getSource('draft')?.serialize().data.features ?? [])
        .flatMap(({ geometry }) => geometry.coordinates[0].map(([x]) => x))
      return Math.max(...xs) - Math.min(...xs)
    })()`
    const reached = (await saved()).geometry.coordinates[0].map(([x]: [number]) => x)
    const expected = Math.max(...reached) - Math.min(...reached)
    await until(async () => Math.abs(Number(await page.evaluate(width)) - expected) < 1e-9)
    await page.getByLabel('By', { exact: true }).selectOption('car')
    await until(async () => Number(await page.evaluate(width)) > 1.5 * expected)
    await page.getByLabel('Latitude', { exact: true }).fill('-33')
    await page
      .getByRole('status')
      .filter({ hasText: /outside of every region/ })
      .waitFor()
    await until(async () => Number(await page.evaluate(width)) < 0.001)
    t.strictSame(complaints, [])
  })

  await t.test('a user moves on its page; why did it happen, and why nothing?', async (t) => {
    const { page, complaints } = await openPage(t, browser, server)
    await server.api('PUT', '/v1/geofences/only/bob', {
      description: 'Only for bob',
      type: 'circle',
      coordinates: [HERE.longitude, HERE.latitude],
      radius: 300,
      userIds: ['bob'],
    })
    const id = (await server.api('GET', '/v1/users?deviceId=van-1')).body.users[0]._id
    await signIn(page, `/test/users/${id}`)
    await page.getByRole('region', { name: 'The user on the map' }).waitFor()
    const points = `(${mapOf('The user on the map')}?.getSource('marks')?.serialize().data.features ?? [])
      .filter(({ properties }) => properties.shape === 'point')
      .map(({ geometry }) => geometry.coordinates.join())`
    const isAt = (latitude: number) =>
      until(async () => ((await page.evaluate(points)) as string[]).includes(`${HERE.longitude},${latitude}`))
    await isAt(HERE.latitude)
    const moved = { ...HERE, latitude: HERE.latitude + 0.001, deviceId: 'van-1', userId: 'ann' }
    await until(async () => (await server.api('POST', '/v1/track', moved)).status === 200)
    await isAt(moved.latitude)

    await page.goto(`/test/users/${id}/explain`)
    const depot = page.getByRole('button', { name: /^Depot/ })
    await depot.click()
    t.match(await depot.textContent(), /\d+ m inside the boundary · covers 100 % of the accuracy disc/)
    t.equal(await depot.getAttribute('aria-pressed'), 'true')
    const { candidates } = (await server.api('GET', `/v1/users/${id}/explain`)).body.explanation
    const { reason } = candidates.find(
      (one: { geofence: { description: string } }) => one.geofence.description === 'Only for bob',
    )
    t.match(await page.getByRole('button', { name: /^Only for bob/ }).textContent(), reason)
    const drawn = `(() => {
      const map = ${mapOf('The update and the geofences')}
      return ['update-disc', 'update-point', 'fence-fill'].every(
        (layer) => map?.getLayer(layer) && map.queryRenderedFeatures({ layers: [layer] }).length > 0)
    })()`
    await until(async () => (await page.evaluate(drawn)) === true)
    const whyNothing = page.getByLabel(/Why nothing/)
    await whyNothing.fill('far')
    await page.getByText('It was too far away to matter').waitFor()
    await page.getByText(/^Far: its centre is 11\d\d\d km from the update/).waitFor()
    await whyNothing.fill('elsewhere')
    await page.getByText('There is no such geofence').waitFor()
    t.strictSame(complaints, [])
  })
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
