/** Events over time, all their filters in the address, and those beside the map, which lead to where they happened. */
import t from 'tap'
import { skipWithoutChromium } from '../kit/chromium.ts'
import { until } from '../kit/waiting.ts'
import { openBrowser, openPage, settled, signIn, startWithDashboard } from './kit.ts'

const DEPOT = { latitude: -34.9, longitude: -56.17 }
const SHOP = { latitude: -34.8, longitude: -56.07 }

t.test('events', { skip: skipWithoutChromium() }, async (t) => {
  const server = await startWithDashboard(t)
  const browser = await openBrowser(t)
  for (const [tag, { latitude, longitude }] of [
    ['depot', DEPOT],
    ['shop', SHOP],
  ] as const)
    await server.api('PUT', `/v1/geofences/${tag}/1`, {
      description: `The ${tag}`,
      type: 'circle',
      coordinates: [longitude, latitude],
      radius: 300,
    })
  const track = (userId: string, at: typeof DEPOT) =>
    server.api('POST', '/v1/track', { deviceId: `phone of ${userId}`, userId, accuracy: 5, ...at })
  await track('ann', DEPOT)
  await track('bob', DEPOT)
  await track('cleo', SHOP)

  await t.test('a chart per minute, and every filter is in the address', async (t) => {
    const { page, complaints } = await openPage(t, browser, server)
    await signIn(page, '/test/events?hours=1')
    const chart = page.getByRole('region', { name: 'Events over time' })
    await chart.getByText('Events per minute').waitFor()
    await chart.getByText('3 in the last hour').waitFor()
    // Bars are drawn in the colour of entries.
    const bars = `(() => {
      const probe = document.createElement('span')
      probe.style.color = 'var(--ok)'
      document.body.append(probe)
      const wanted = getComputedStyle(probe).color.match(/\\d+/g).slice(0, 3).join()
      probe.remove()
      const canvas = document.querySelector('[aria-label="Events over time"] canvas')
      if (canvas === null || canvas.width === 0) return 0
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
      let found = 0
      for (let i = 0; i < data.length; i += 4) if (data.slice(i, i + 3).join() === wanted) found++
      return found
    })()`
    await until(async () => Number(await page.evaluate(bars)) > 3)

    const rows = () => page.getByRole('row').count()
    const only = async (label: string, value: string, expected: number, query: RegExp) => {
      const field = page.getByRole('search').getByLabel(label, { exact: true })
      await field.fill(value)
      await page.waitForURL(query)
      await until(async () => (await rows()) === expected + 1)
      await page.reload()
      await settled(page)
      t.equal(await rows(), expected + 1, `${label} stays after the page was loaded again`)
      await field.fill('')
      await page.waitForURL((url) => !query.test(url.href))
      await until(async () => (await rows()) === 4)
    }
    await only('User id', 'ann', 1, /userId=ann/)
    await only('Device id', 'phone of bob', 1, /deviceId=phone/)
    await only('Tag', 'depot', 2, /tag=depot/)
    await only('Search', 'shop', 1, /text=shop/)
    await page.getByLabel('Confidence').selectOption('3')
    await page.waitForURL(/confidence=3/)
    await chart.getByText('3 in the last hour').waitFor()
    await page.getByRole('button', { name: 'The call behind this view' }).click()
    const call = (await page.locator('dialog pre').textContent())!
    const path = /'([^']+)'/.exec(call)![1]!.slice(server.url.length)
    t.match(path, /minimumConfidence=3.*createdAfter=/)
    t.equal((await server.api('GET', path)).body.events.length, 3, 'the call gives what is shown')
    t.strictSame(complaints, [])
  })

  await t.test(
    'on the map: devices in geofences of a tag; an event leads to where it happened',
    async (t) => {
      const { page, complaints } = await openPage(t, browser, server)
      await signIn(page, `/test/map?at=-56.12,-34.85&zoom=10&tag=shop`)
      await page.getByText('1 here').waitFor()
      await page.getByLabel('Only inside geofences with this tag').fill('')
      await page.getByLabel('Only inside geofences with this tag').press('Enter')
      await page.getByText('3 here').waitFor()
      await page.getByRole('button', { name: /entered geofence The shop cleo/ }).click()
      const view = `(() => {
      const { map } = window.ringfenceMap.opened
      return [...map.getCenter().toArray(), map.getZoom()]
    })()`
      await until(async () => {
        const [x, y, zoom] = (await page.evaluate(view)) as [number, number, number]
        return Math.abs(x - SHOP.longitude) < 1e-4 && Math.abs(y - SHOP.latitude) < 1e-4 && zoom >= 15
      })
      await page.getByRole('heading', { name: 'cleo', exact: true }).waitFor()
      t.strictSame(complaints, [])
    },
  )
})
