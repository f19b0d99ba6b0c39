/** The live view of all trips under way: they start, move and end on the page while somebody looks at it. */
import t from 'tap'
import type { Page } from 'playwright-core'
import { skipWithoutChromium } from '../kit/chromium.ts'
import { until } from '../kit/waiting.ts'
import { mapOf, openBrowser, openPage, screenPoint, signIn, startWithDashboard } from './kit.ts'

const DEPOT = { latitude: -34.9, longitude: -56.17 }
const MAP = 'Trips on the map'
/** As many as the map shows at most. */
const MOST_ON_MAP = 100

interface DrawnMark {
  readonly shape: 'point' | 'line'
  readonly name: string
  readonly id?: string
  readonly isDashed: boolean
  /** Of a point one, of a line all of them. */
  readonly path: readonly (readonly [longitude: number, latitude: number])[]
}

/** What the page has on its map. */
async function marksOn(page: Page): Promise<readonly DrawnMark[]> {
  return (await page.evaluate(
    `(${mapOf(MAP)}?.getSource('marks')?.serialize().data.features ?? []).map(({ properties, geometry }) => ({
      shape: properties.shape,
      name: properties.name,
      id: properties.id,
      isDashed: properties.dashed,
      path: properties.shape === 'point' ? [geometry.coordinates] : geometry.coordinates,
    }))`,
  )) as DrawnMark[]
}

t.test('the live view of trips', { skip: skipWithoutChromium() }, async (t) => {
  const server = await startWithDashboard(t)
  const browser = await openBrowser(t)
  await server.api('PUT', '/v1/geofences/depot/main', {
    description: 'Depot',
    type: 'circle',
    coordinates: [DEPOT.longitude, DEPOT.latitude],
    radius: 200,
  })
  const post = async (externalId: string, userId?: string): Promise<string> => {
    const { status, body } = await server.api('POST', '/v1/trips', {
      externalId,
      userId,
      destinationGeofenceTag: 'depot',
      destinationGeofenceExternalId: 'main',
    })
    t.equal(status, 200)
    return body.trip._id
  }
  /** Moves a courier to a place that many degrees south of the depot. */
  const track = async (userId: string, south: number): Promise<readonly [number, number]> => {
    const latitude = DEPOT.latitude - south
    const update = {
      deviceId: `phone of ${userId}`,
      userId,
      latitude,
      longitude: DEPOT.longitude,
      accuracy: 8,
    }
    await until(async () => (await server.api('POST', '/v1/track', update)).status === 200)
    return [DEPOT.longitude, latitude]
  }
  const { page, complaints } = await openPage(t, browser, server)
  const row = (name: string) =>
    page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) })
  /** Waits until the courier of a trip is drawn there. */
  const courierAt = (name: string, place: readonly [number, number]) =>
    until(async () => {
      const point = (await marksOn(page)).find((one) => one.shape === 'point' && one.name === name)
      return JSON.stringify(point?.path) === JSON.stringify([place])
    })
  const marksOf = async (id: string) => (await marksOn(page)).filter((one) => one.id === id)
  const isDashedOn = async () =>
    (await marksOn(page)).filter(({ isDashed }) => isDashed).map(({ path }) => path)

  await signIn(page, '/test/trips')
  await page.getByText('Nobody is under way').waitFor()
  await until(async () => (await page.evaluate(`${mapOf(MAP)}?.getSource('marks') !== undefined`)) === true)
  t.strictSame(await marksOn(page), [])

  await t.test('a trip is created, starts and moves', async (t) => {
    const id = await post('order-1', 'ann')
    await row('order-1').getByText('pending', { exact: true }).waitFor()
    await until(async () => (await marksOf(id)).length > 0)
    t.match(await marksOf(id), [{ shape: 'point', name: 'depot/main' }], 'only its destination is known')
    const first = await track('ann', 0.05)
    await row('order-1').getByText('started', { exact: true }).waitFor()
    await row('order-1')
      .getByText(/^in \d+ min$/)
      .waitFor()
    await courierAt('order-1', first)
    t.strictSame(await isDashedOn(), [[first, [DEPOT.longitude, DEPOT.latitude]]], 'the way that is left')
    const second = await track('ann', 0.04)
    await courierAt('order-1', second)
    const trail = (await marksOf(id)).find(({ shape }) => shape === 'line')
    t.strictSame(trail?.path, [first, second], 'its trail')
  })

  await t.test(
    'a second one starts, is not shown with the first one’s user, and both are there again',
    async (t) => {
      await post('order-2', 'bob')
      const place = await track('bob', 0.03)
      await courierAt('order-2', place)
      const names = async () =>
        (await marksOn(page)).map(({ name }) => name).filter((name) => name.startsWith('order'))
      t.strictSame((await names()).toSorted(), ['order-1', 'order-2'])
      await page.getByLabel('User id').first().fill('ann')
      await row('order-2').waitFor({ state: 'detached' })
      await until(async () => (await names()).join() === 'order-1')
      await page.getByLabel('User id').first().fill('')
      await row('order-2').waitFor()
      await until(async () => (await names()).length === 2)
      t.strictSame(complaints, [])
    },
  )

  await t.test('one arrives and ends, the other one stays', async (t) => {
    const { trips } = (await server.api('GET', '/v1/trips?externalId=order-1')).body
    const id: string = trips[0]._id
    const there = await track('ann', 0)
    await row('order-1').getByText('arrived', { exact: true }).waitFor()
    await courierAt('order-1', there)
    t.equal((await isDashedOn()).length, 1, 'only the way of the other one is left')
    await server.api('PATCH', '/v1/trips/order-1/update', { status: 'completed' })
    await row('order-1').waitFor({ state: 'detached' })
    await until(async () => (await marksOf(id)).length === 0)
    t.ok((await marksOn(page)).some(({ name }) => name === 'order-2'))
  })

  await t.test('a trip is chosen on the map', async (t) => {
    const place = await track('bob', 0.02)
    await courierAt('order-2', place)
    await page.evaluate(`${mapOf(MAP)}.jumpTo({ center: ${JSON.stringify(place)}, zoom: 13 })`)
    const drawn = `${mapOf(MAP)}.queryRenderedFeatures(
      ${mapOf(MAP)}.project(${JSON.stringify(place)}), { layers: ['marks-points'] }).length`
    await until(async () => Number(await page.evaluate(drawn)) > 0)
    const { x, y } = await screenPoint(page, MAP, place)
    await page.mouse.click(x, y)
    await page.getByRole('heading', { name: 'order-2' }).waitFor()
    t.match(page.url(), /\/test\/trips\/[0-9a-f]{24}$/)
  })

  await t.test('of more trips than a map can show, those that changed last are on it', async (t) => {
    await page.goto('/test/trips')
    await row('order-2').waitFor()
    const note = page.getByText(`The map shows the ${MOST_ON_MAP} that changed last.`)
    t.equal(await note.count(), 0)
    await Promise.all(Array.from({ length: MOST_ON_MAP }, (_, i) => post(`many-${i}`)))
    await note.waitFor()
    const ids = new Set((await marksOn(page)).map(({ id }) => id).filter((id) => id !== undefined))
    t.equal(ids.size, MOST_ON_MAP)
    const place = await track('bob', 0.01)
    await courierAt('order-2', place)
  })
  t.strictSame(complaints, [])
})
