/** Records that people set: GeoJSON by drop, the ghost device, corners that are typed, beacons by filter, long metadata. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { skipWithoutChromium } from '../kit/chromium.ts'
import { until } from '../kit/waiting.ts'
import {
  dropFile,
  mapOf,
  openBrowser,
  openPage,
  screenPoint,
  settled,
  signIn,
  startWithDashboard,
  WITHOUT_WEBGL,
} from './kit.ts'

const HERE = { latitude: -34.9, longitude: -56.17 } as const
const EDITOR = 'The geofence on the map'

t.test('setting records', { skip: skipWithoutChromium() }, async (t) => {
  const server = await startWithDashboard(t)
  const browser = await openBrowser(t)
  // For what is not done on a map.
  const plain = await openBrowser(t, WITHOUT_WEBGL)

  await t.test('GeoJSON by drop: a preview, what is wrong with which feature, and the history', async (t) => {
    const feature = (externalId: string, coordinates: number[][]) => ({
      type: 'Feature',
      properties: { description: `Zone ${externalId}`, tag: 'zone', externalId, type: 'polygon' },
      geometry: { type: 'Polygon', coordinates: [coordinates] },
    })
    const square = [
      [0, 0],
      [0.01, 0],
      [0.01, 0.01],
      [0, 0.01],
      [0, 0],
    ]
    const bow = [square[0]!, square[2]!, square[1]!, square[3]!, square[0]!]
    const text = JSON.stringify(
      {
        type: 'FeatureCollection',
        features: [feature('1', square), feature('2', bow), feature('3', square)],
      },
      null,
      1,
    )
    const { page, complaints } = await openPage(t, plain, server)
    await signIn(page, '/test/imports')
    await page.getByRole('heading', { name: 'Nothing was imported yet' }).waitFor()
    await dropFile(page, '.page', 'zones.geojson', text)
    const dialog = page.getByRole('dialog')
    await dialog.getByText(/3 rows, 2 new, 0 known, 1 refused\. Nothing was changed yet\./).waitFor()
    const wrong = dialog.getByRole('region', { name: 'Refused rows' }).getByRole('row')
    t.equal(await wrong.count(), 2, 'the header and one row')
    t.match(await wrong.nth(1).textContent(), /cross/)
    t.strictSame((await server.api('GET', '/v1/geofences?tag=zone')).body.geofences, [])
    await dialog.getByRole('button', { name: 'Import 2 of 3' }).click()
    await page.getByText('2 created, 0 updated, 1 refused.').waitFor()
    const { body } = await server.api('GET', '/v1/geofences?tag=zone')
    t.strictSame(body.geofences.map(({ externalId }: { externalId: string }) => externalId).sort(), [
      '1',
      '3',
    ])
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    await page.getByRole('link', { name: 'zones.geojson' }).click()
    await page.getByRole('heading', { name: 'zones.geojson' }).waitFor()
    await page.getByText('completed', { exact: true }).waitFor()
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Refused rows as CSV' }).click()
    const saved = await download
    t.match(readFileSync(await saved.path(), 'utf8'), /cross/)
    t.strictSame(complaints, [])
  })

  await t.test('the ghost device says what an update would mean, and is dragged', async (t) => {
    const { body } = await server.api('PUT', '/v1/geofences/depot/main', {
      description: 'Depot',
      type: 'circle',
      coordinates: [HERE.longitude, HERE.latitude],
      radius: 100,
    })
    const { page, complaints } = await openPage(t, browser, server, { height: 1100 })
    await signIn(page, `/test/geofences/${body.geofence._id}`)
    const ghost = page.getByRole('region', { name: 'Ghost device' })
    await ghost.getByLabel(/^Ghost device/).check()
    const status = ghost.getByRole('status')
    const at = ghost.getByLabel('At', { exact: true })
    const north = (meters: number) => `${HERE.latitude + meters / 111_195}, ${HERE.longitude}`
    await at.fill(north(0))
    await status
      .getByText(/^100 m inside the boundary; the geofence covers 100 % of its disc; confidence 3, high\./)
      .waitFor()
    await status.getByText('An entry happens').waitFor()
    await at.fill(north(95))
    await status.getByText(/^5\.\d m inside the boundary; .* confidence [12],/).waitFor()
    await at.fill(north(200))
    await status
      .getByText(/^100 m outside; the geofence covers 0 % of its disc; confidence 3, high\./)
      .waitFor()
    await status.getByText('An exit happens').waitFor()
    // The rings of all three confidences are drawn, and go.
    const rings = `(() => {
      const map = ${mapOf(EDITOR)}
      if (!map.getLayer('ghost-areas')) return 0
      return new Set(map.queryRenderedFeatures({ layers: ['ghost-areas'] }).map((one) => one.properties.color)).size
    })()`
    await until(async () => (await page.evaluate(rings)) === 4)
    await ghost.getByLabel('Rings of confidence').uncheck()
    await until(async () => (await page.evaluate(rings)) === 1)

    const from = await screenPoint(page, EDITOR, [HERE.longitude, HERE.latitude + 200 / 111_195])
    const to = await screenPoint(page, EDITOR, [HERE.longitude, HERE.latitude])
    const isOnMap = `${mapOf(EDITOR)}.queryRenderedFeatures({ layers: ['ghost-points'] }).length > 0`
    await until(async () => (await page.evaluate(isOnMap)) === true)
    await page.mouse.move(from.x, from.y)
    await page.mouse.down()
    await page.mouse.move(to.x, to.y, { steps: 5 })
    await page.mouse.up()
    await status.getByText(/^(9\d|100) m inside the boundary/).waitFor()
    t.equal(await page.getByLabel('Latitude').inputValue(), String(HERE.latitude), 'the geofence stays')
    t.strictSame(complaints, [])
  })

  await t.test('corners are typed; a boundary that crosses itself is told while one draws', async (t) => {
    const { page, complaints } = await openPage(t, browser, server)
    await signIn(page, '/test/geofences/new')
    await page.getByRole('button', { name: 'Polygon' }).click()
    await page.getByLabel('Name').fill('Yard')
    await page.getByLabel('Tag').fill('yard')
    await page.getByLabel('Your id').fill('1')
    const corners = page.getByLabel('Corners')
    await corners.fill('0, 0\n0.01, 0.01\n0, 0.01\n0.01, 0')
    await page
      .getByRole('alert')
      .getByText(/crosses or overlaps itself near 0\.005/)
      .waitFor()
    await corners.fill('0, 0\n0, 0.01\n0.01, 0.01\n0.01, 0\n')
    await page.getByText(/^4 of at most/).waitFor()
    await page.getByRole('alert').waitFor({ state: 'hidden' })
    t.equal(await corners.inputValue(), '0, 0\n0, 0.01\n0.01, 0.01\n0.01, 0\n', 'what is typed stays')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('link', { name: 'Yard' }).waitFor()
    const { body } = await server.api('GET', '/v1/geofences/yard/1')
    t.equal(body.geofence.geometry.coordinates[0].length, 5)
    await page.getByRole('link', { name: 'Yard' }).click()
    await until(async () => (await corners.inputValue()).split('\n').length === 4)
    t.strictSame(complaints, [])
  })

  await t.test('all beacons that match are turned off, then deleted, by their number', async (t) => {
    const uuid = '2f234454-cf6d-4a0f-adf2-f4911ba9ffa6'
    for (const [tag, minor] of [
      ['door', 1],
      ['door', 2],
      ['shelf', 3],
    ] as const)
      await server.api('PUT', `/v1/beacons/${tag}/${minor}`, {
        description: `${tag} ${minor}`,
        type: 'ibeacon',
        uuid,
        major: '1',
        minor: String(minor),
        coordinates: [HERE.longitude, HERE.latitude],
      })
    const { page, complaints } = await openPage(t, plain, server)
    await signIn(page, '/test/beacons?tag=door')
    const beacons = async (tag: string) => (await server.api('GET', `/v1/beacons?tag=${tag}`)).body.beacons
    const act = async (work: string, count: string) => {
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('button', { name: work }).first().click()
      await dialog.getByLabel('How many').fill(count)
      await dialog.getByRole('button', { name: work }).last().click()
    }
    await page.getByRole('button', { name: 'Change all that match' }).click()
    await page.getByText('2 match the filter of the list').waitFor()
    await act('Turn off', '3')
    await page
      .getByRole('alert')
      .getByText(/2 beacons match, and not 3/)
      .waitFor()
    await act('Turn off', '2')
    await page.getByText('2 beacons were turned off.').waitFor()
    t.strictSame(
      (await beacons('door')).map((one: { enabled: boolean }) => one.enabled),
      [false, false],
    )
    await page.getByRole('button', { name: 'Change all that match' }).click()
    await act('Delete', '2')
    await page.getByText('2 beacons were deleted.').waitFor()
    t.strictSame(await beacons('door'), [])
    t.equal((await beacons('shelf')).length, 1, 'others stay')
    t.strictSame(complaints, [])
  })

  await t.test('a user in a polygon, with 16 long values of metadata, on a narrow screen', async (t) => {
    const metadata = Object.fromEntries(
      Array.from({ length: 16 }, (_, i) => [`name-${i}-${'n'.repeat(20)}`, `value-${i}-${'v'.repeat(240)}`]),
    )
    const [longitude, latitude] = [0.005, 0.005]
    const { status, body } = await server.api('POST', '/v1/track', {
      deviceId: 'long',
      latitude,
      longitude,
      accuracy: 5,
      metadata,
    })
    t.equal(status, 200)
    const { page, complaints } = await openPage(t, browser, server, { width: 360 })
    await signIn(page, `/test/users/${body.user._id}`)
    const card = page.getByRole('region', { name: 'Metadata' })
    await card.waitFor()
    t.equal(await card.getByRole('definition').count(), 16)
    for (const value of [metadata[`name-0-${'n'.repeat(20)}`]!, metadata[`name-15-${'n'.repeat(20)}`]!])
      await card.getByText(value).waitFor()
    await settled(page)
    const overflow = () => page.evaluate('document.documentElement.scrollWidth - innerWidth')
    t.ok(Number(await overflow()) <= 0, 'the page fits into 360 px')
    const areas = `(() => {
      const map = ${mapOf('The user on the map')}
      return map?.getLayer('marks-areas') ? map.queryRenderedFeatures({ layers: ['marks-areas'] }).map((one) => one.properties.name) : []
    })()`
    await until(async () => ((await page.evaluate(areas)) as string[]).includes('Zone 1'))

    await server.api('PUT', '/v1/geofences/long/1', {
      description: 'Long',
      type: 'circle',
      coordinates: [1, 1],
      radius: 50,
      metadata,
    })
    await page.goto('/test/geofences?tag=long')
    await page.getByRole('link', { name: 'Long' }).click()
    const area = page.getByLabel('Metadata')
    await area.waitFor()
    t.equal((await area.inputValue()).split('\n').length, 16)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Long was saved.').waitFor()
    t.strictSame((await server.api('GET', '/v1/geofences/long/1')).body.geofence.metadata, metadata)
    t.ok(Number(await overflow()) <= 0)
    t.strictSame(complaints, [])
  })
})
