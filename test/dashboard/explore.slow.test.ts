/** What can be tried of routing, in the sample region: the answer in words, on the map, and as a call. */
import t from 'tap'
import type { Page } from 'playwright-core'
import { skipWithoutChromium } from '../kit/chromium.ts'
import { KEYS, type Server } from '../kit/server.ts'
import { until } from '../kit/waiting.ts'
import { mapOf, openBrowser, openPage, screenPoint, signIn, startWithDashboard } from './kit.ts'

const MAP = 'Question and answer on the map'
const FROM = [-56.1913, -34.9059] as const
const OVER = [-56.184, -34.901] as const
const TO = [-56.177, -34.8945] as const
const textOf = ([longitude, latitude]: readonly [number, number]) => `${latitude}, ${longitude}`

/** The marks on the map, by their shape. */
async function shapesOn(page: Page): Promise<readonly string[]> {
  return (await page.evaluate(
    `(${mapOf(MAP)}?.getSource('marks')?.serialize().data.features ?? []).map(({ properties }) => properties.shape)`,
  )) as string[]
}

/** Runs the call that is shown, with a key in place of the session, as somebody does who copies it. */
async function runShown(page: Page, server: Server) {
  await page.getByRole('button', { name: 'The call behind this view' }).click()
  // Before it is open, a key would be lost.
  await page.getByRole('dialog').waitFor()
  const text = (await page.locator('dialog pre').textContent())!
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  const [, method = 'GET', url] = /^curl (?:-X (\w+) )?'([^']+)'/.exec(text)!
  const [, body] = /-d '([^']+)'/.exec(text) ?? []
  return server.api(method, url!.slice(server.url.length), body && JSON.parse(body), KEYS.testSecret)
}

t.test('exploring', { skip: skipWithoutChromium() }, async (t) => {
  const server = await startWithDashboard(t, { sample: true })
  const browser = await openBrowser(t)
  await server.api('PUT', '/v1/geofences/depot/main', {
    description: 'Depot',
    type: 'circle',
    coordinates: FROM,
    radius: 300,
  })
  const { page, complaints } = await openPage(t, browser, server)
  const answer = page.getByRole('region', { name: 'Answer', exact: true })
  await signIn(page, '/test/explore/route')

  await t.test(
    'directions between points that are typed, and through one that is clicked on the map',
    async (t) => {
      await answer.getByText('No answer yet').waitFor()
      const points = page.getByLabel('Points')
      await points.focus()
      // As it is typed, key by key: the field keeps the focus and what stands in it.
      await page.keyboard.type(textOf(FROM))
      await page.keyboard.press('Enter')
      await page.keyboard.type(textOf(TO))
      t.equal(await points.inputValue(), `${textOf(FROM)}\n${textOf(TO)}`)
      await answer.getByText('best way').waitFor()
      t.ok((await answer.getByRole('listitem').count()) > 2, 'its steps')
      await until(async () => (await shapesOn(page)).includes('line'))
      t.match(new URL(page.url()).searchParams.get('at'), /^-34\.90590,-56\.19130\|-34\.89450,-56\.17700$/)
      const { status, body } = await runShown(page, server)
      t.equal(status, 200)
      t.match(await answer.textContent(), body.routes[0].duration.text)

      const { x, y } = await screenPoint(page, MAP, OVER)
      await page.mouse.click(x, y)
      await until(async () => (await points.inputValue()).split('\n').length === 3)
      await until(async () => (await shapesOn(page)).filter((shape) => shape === 'point').length === 3)
      await page.getByRole('button', { name: 'Take the last away' }).click()
      await until(async () => (await points.inputValue()).split('\n').length === 2)
    },
  )

  await t.test('the best order, the matrix and the match of the same points', async (t) => {
    const at = [FROM, TO, OVER].map((point) => textOf(point).replace(', ', ',')).join('|')
    await page.goto(`/test/explore/optimize?at=${at}`)
    await answer.getByText('in all').waitFor()
    t.equal(await answer.getByRole('listitem').count(), 2, 'two ways: over the stop to the end')
    await until(async () => (await shapesOn(page)).filter((shape) => shape === 'line').length === 2)
    t.equal((await runShown(page, server)).status, 200)

    await page.getByRole('link', { name: 'Matrix' }).click()
    await page.getByRole('region', { name: 'Travel times between the points' }).waitFor()
    t.equal(await answer.getByRole('cell').count(), 9)
    t.equal((await runShown(page, server)).body.matrix.length, 3)

    await page.getByRole('link', { name: 'Match' }).click()
    await answer.getByText('on roads').waitFor()
    await until(async () => (await shapesOn(page)).includes('line'))
    t.equal((await runShown(page, server)).status, 200)
    t.strictSame(complaints, [])
  })

  await t.test('the area that can be reached in some minutes', async (t) => {
    await page.goto('/test/explore/search')
    await page.getByRole('link', { name: 'Isochrone' }).click()
    await page.getByLabel('Point', { exact: true }).fill(textOf(FROM))
    await answer.getByText('10 min').waitFor()
    await until(async () => (await shapesOn(page)).includes('area'))
    await page.getByLabel('By', { exact: true }).selectOption('foot')
    await page.getByLabel('Minutes').fill('5')
    await answer.getByText('5 min').waitFor()
    t.match(await answer.textContent(), /by foot/)
    const { status, body } = await runShown(page, server)
    t.equal(status, 200)
    t.match(body.isochrone, { minutes: 5, mode: 'foot', geometry: { type: 'Polygon' } })
    const corners = `${mapOf(MAP)}.getSource('marks').serialize().data.features
      .find(({ properties }) => properties.shape === 'area').geometry.coordinates[0].length`
    await until(async () => (await page.evaluate(corners)) === body.isochrone.geometry.coordinates[0].length)
    await page.getByLabel('Minutes').fill('500')
    await page.locator('[aria-invalid="true"]').waitFor()
    t.equal(await page.getByLabel('Minutes').getAttribute('aria-invalid'), 'true')

    // It becomes a geofence: the editor begins with the same place, minutes and way to travel, and shows their area.
    await page.getByLabel('Minutes').fill('5')
    await answer.getByRole('link', { name: 'geofence', exact: true }).click()
    await page.getByRole('heading', { name: 'New geofence' }).waitFor()
    const valueOf = (label: string) => page.getByLabel(label, { exact: true }).inputValue()
    t.strictSame(await Promise.all(['Latitude', 'Longitude', 'Minutes of travel', 'By'].map(valueOf)), [
      '-34.90590',
      '-56.19130',
      '5',
      'foot',
    ])
    const draft = `(${mapOf('The geofence on the map')}?.getSource('draft')?.serialize().data.features ?? [])
      .map(({ geometry }) => geometry.coordinates[0].length)`
    const ring = body.isochrone.geometry.coordinates[0]
    await until(async () => ((await page.evaluate(draft)) as number[])[0] === ring.length)
    t.strictSame(complaints, [])
  })
})
