/** Trips, beacons, the sync, the system and the audit: what people do on these pages. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { QUEENS, writeStreets } from '../geodata/kit.ts'
import { skipWithoutChromium } from '../kit/chromium.ts'
import { until } from '../kit/waiting.ts'
import { invite } from './people.ts'
import { mapOf, openBrowser, openPage, signIn, startWithDashboard, WITHOUT_WEBGL } from './kit.ts'

const HERE = { latitude: -34.9, longitude: -56.17, accuracy: 8 }

t.test('pages of records', { skip: skipWithoutChromium() }, async (t) => {
  const server = await startWithDashboard(t, { env: { RINGFENCE_SYNC_PRIVATE_ADDRESSES: '127.0.0.0/8' } })
  // For what is not seen on a map.
  const plain = await openBrowser(t, WITHOUT_WEBGL)
  await server.api('PUT', '/v1/geofences/depot/main', {
    description: 'Depot',
    type: 'circle',
    coordinates: [HERE.longitude, HERE.latitude],
    radius: 200,
  })

  await t.test('a trip is created, moves by itself on its page, and is ended', async (t) => {
    const { page, complaints } = await openPage(t, plain, server)
    await signIn(page, '/test/trips')
    await page.getByRole('button', { name: 'New trip' }).click()
    await page.getByLabel('Your id').fill('order-7')
    await page.getByLabel('User id').last().fill('ann')
    await page.getByLabel('Destination', { exact: true }).fill('depot/none')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('alert').waitFor()
    await page.getByLabel('Destination', { exact: true }).fill('depot/main')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('heading', { name: 'order-7' }).waitFor()
    await page.getByText('pending', { exact: true }).waitFor()
    const away = { ...HERE, latitude: HERE.latitude - 0.05 }
    await server.api('POST', '/v1/track', { ...away, deviceId: 'van-1', userId: 'ann' })
    await page.getByText(/^in \d+ min/).waitFor()
    await server.api('POST', '/v1/track', { ...HERE, deviceId: 'van-1', userId: 'ann' })
    await page.getByText('arrived', { exact: true }).first().waitFor()
    await page.getByRole('link', { name: /arrived at trip destination/ }).waitFor()
    await page.getByRole('button', { name: 'Complete' }).click()
    await page.getByText(/^The way it took: [\d.]+ (m|km), straight between its locations/).waitFor()
    await page.getByText('completed', { exact: true }).first().waitFor()
    const { body } = await server.api('GET', '/v1/trips?externalId=order-7')
    t.equal(body.trips[0].status, 'completed')
    t.strictSame(complaints, [])
  })

  await t.test('a trip with stops', async (t) => {
    const { page, complaints } = await openPage(t, plain, server)
    await signIn(page, '/test/trips')
    await page.getByRole('button', { name: 'New trip' }).click()
    await page.getByLabel('Your id').fill('round-1')
    await page.getByLabel('Destination', { exact: true }).fill('depot/main\n-34.91, -56.18')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('region', { name: 'Stops' }).getByText('-34.91000, -56.18000').waitFor()
    const { body } = await server.api('GET', '/v1/trips?externalId=round-1')
    t.strictSame(body.trips[0].legs[1].destination.location.coordinates, [-56.18, -34.91])
    t.strictSame(complaints, [])
  })

  await t.test(
    'trips are filtered, their ETA is seen over time, and they are changed and canceled',
    async (t) => {
      for (const [externalId, userId] of [
        ['late-1', 'zoe'],
        ['late-2', 'max'],
      ])
        await server.api('POST', '/v1/trips', {
          externalId,
          userId,
          destinationGeofenceTag: 'depot',
          destinationGeofenceExternalId: 'main',
        })
      await server.api('PATCH', '/v1/settings', { tripUpdateSeconds: 0 })
      for (const north of [0.05, 0.04, 0.03]) {
        const at = { ...HERE, latitude: HERE.latitude - north }
        await server.api('POST', '/v1/track', { ...at, deviceId: 'van-2', userId: 'zoe' })
        await sleep(1100)
      }
      const { page, complaints } = await openPage(t, plain, server)
      await signIn(page, '/test/trips')
      await page.getByRole('link', { name: 'late-1' }).waitFor()
      await page.getByRole('link', { name: 'late-2' }).waitFor()
      await page.getByLabel('User id').first().fill('zoe')
      await page.getByRole('link', { name: 'late-2' }).waitFor({ state: 'detached' })
      await page.getByRole('link', { name: 'late-1' }).click()
      await page.getByRole('heading', { name: 'late-1' }).waitFor()
      await page.getByRole('region', { name: 'Expected arrival over time' }).waitFor()
      await page.getByRole('button', { name: 'Change' }).click()
      await page.getByLabel('By', { exact: true }).selectOption('bike')
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByText('The trip was changed.').waitFor()
      await page.getByRole('button', { name: 'Cancel it' }).click()
      await page.getByText('canceled', { exact: true }).first().waitFor()
      const { body } = await server.api('GET', '/v1/trips/late-1')
      t.match(body.trip, { mode: 'bike', status: 'canceled' })
      t.strictSame(complaints, [])
    },
  )

  await t.test('a beacon is made; errors are at their field', async (t) => {
    const { page, complaints } = await openPage(t, plain, server)
    await signIn(page, '/test/beacons/new')
    await page.getByLabel('Name', { exact: true }).fill('Front door')
    await page.getByLabel('UUID').fill('nonsense')
    await page.getByLabel('Major').fill('1')
    await page.getByLabel('Minor').fill('2')
    await page.getByLabel('Latitude').fill('-34.9')
    await page.getByLabel('Longitude').fill('-56.17')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('alert').waitFor()
    t.equal(await page.getByLabel('UUID').getAttribute('aria-invalid'), 'true')
    await page.getByLabel('UUID').fill('b9407f30f5f8466eaff925556b57fe6d')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('link', { name: 'Front door' }).waitFor()
    t.equal((await server.api('GET', '/v1/beacons')).body.beacons[0].description, 'Front door')
    t.strictSame(complaints, [])
  })

  await t.test('a sync is tested, saved, and run dry; its refused row is shown', async (t) => {
    const source = createServer((_, response) =>
      response.end(
        [
          'description,tag,externalId,type,coordinates,radius',
          'One,store,1,circle,"[-56.1,-34.9]",100',
          'Two,store,2,circle,"[-56.1,-34.9]",5',
        ].join('\n'),
      ),
    )
    await new Promise<void>((resolve) => source.listen(0, '127.0.0.1', resolve))
    t.teardown(() => source.close())
    const { page, complaints } = await openPage(t, await openBrowser(t), server)
    await signIn(page, '/test/sync')
    await page.getByLabel('Addresses').fill('nonsense')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('alert').waitFor()
    t.equal(await page.getByLabel('Addresses').getAttribute('aria-invalid'), 'true')
    await page
      .getByLabel('Addresses')
      .fill(`http://127.0.0.1:${(source.address() as AddressInfo).port}/s.csv`)
    await page.getByRole('button', { name: 'Test each source' }).click()
    await page.getByText(/Line 3/).waitFor()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('The settings of the sync were saved.').waitFor()
    await page.getByRole('button', { name: 'Dry run' }).click()
    await page.getByRole('heading', { name: 'Dry run' }).waitFor()
    await page
      .getByRole('region', { name: 'Geofences that would change' })
      .getByText('One', { exact: true })
      .waitFor()
    const drawn = `(() => {
      const map = ${mapOf('The difference on the map')}
      return map?.getLayer('marks-areas') ? map.queryRenderedFeatures({ layers: ['marks-areas'] }).map((one) => one.properties.name) : []
    })()`
    await until(async () => ((await page.evaluate(drawn)) as string[]).includes('One'))
    await page
      .getByRole('region', { name: 'Refused rows' })
      .last()
      .getByText(/radius: /)
      .waitFor()
    t.equal((await server.api('GET', '/v1/geofences?tag=store')).body.geofences.length, 0)
    t.strictSame(complaints, [])
  })

  await t.test('the system is well, and its numbers can be searched', async (t) => {
    const { page, complaints } = await openPage(t, plain, server)
    await signIn(page, '/system')
    await page.getByText('all is well').waitFor()
    await page.getByLabel('Search in the numbers').fill('log bytes')
    t.equal(await page.getByRole('region', { name: 'Numbers of this process' }).getByRole('row').count(), 2)
    await page.getByText('Updates per minute').waitFor()
    t.strictSame(complaints, [])
  })

  await t.test('an admin imports a map region, sees how it goes, and is told what is wrong', async (t) => {
    const { page, complaints } = await openPage(t, plain, server)
    const person = await invite(server, 'rita@example.com', 'admin')
    await person.signIn(page, '/system')
    const regions = page.getByRole('region', { name: 'Map regions' }).first()
    const choose = async (name: string, buffer: Buffer) => {
      await regions.getByRole('button', { name: 'Import a region' }).click()
      await page
        .locator('dialog input[type=file]')
        .setInputFiles({ name, mimeType: 'application/octet-stream', buffer })
      await page.getByRole('button', { name: 'Import', exact: true }).click()
    }
    await choose('nonsense.osm.pbf', Buffer.from('nonsense, and more of it'))
    await page.getByRole('alert').getByText('is not an OpenStreetMap PBF file').waitFor()
    await page.getByLabel('Name of the region').fill('Not A Name')
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    await page.getByText('name: Must be small letters').waitFor()
    await page.getByRole('button', { name: 'Close' }).last().click()
    const path = join(t.testdir({}), 'queens.osm.pbf')
    writeStreets(path, QUEENS)
    await choose('Queens-latest.osm.pbf', readFileSync(path))
    await page.getByText('queens is being imported.').waitFor()
    await regions.getByText('completed').waitFor()
    await regions.getByText('routing', { exact: true }).waitFor()
    const { body } = await server.api('GET', '/v1/map-regions')
    t.match(body.mapRegions, [{ name: 'queens' }])
    t.strictSame(
      complaints.filter((text) => !/status of 400/.test(text)),
      [],
    )
  })

  await t.test('what was too long for the audit cannot be restored, and the page says so', async (t) => {
    const { page, complaints } = await openPage(t, plain, server)
    const person = await invite(server, 'otto@example.com', 'admin')
    const userIds = Array.from({ length: 8000 }, (_, i) => `user-${'x'.repeat(50)}-${i}`)
    const yard = { description: 'Yard', type: 'circle', coordinates: [13, 52], radius: 100 }
    await server.api('PUT', '/v1/geofences/long/1', { ...yard, userIds })
    await server.api('DELETE', '/v1/geofences/long/1')
    await person.signIn(page, '/audit?target=long%2F1')
    await page.getByText('geofence deleted').click()
    await page.getByText('Too long to be kept: userIds. So it cannot be restored from here.').waitFor()
    t.equal(await page.getByRole('button', { name: 'Restore what was before' }).count(), 0)
    t.strictSame(complaints, [])
  })

  await t.test('an admin restores a geofence from the audit', async (t) => {
    const { page, complaints } = await openPage(t, plain, server)
    const person = await invite(server, 'ann@example.com', 'admin')
    await person.signIn(page, '/audit')
    const definition = (await server.api('GET', '/v1/geofences/depot/main')).body.geofence
    await server.api('PUT', '/v1/geofences/depot/main', {
      description: 'Spoiled',
      type: 'circle',
      coordinates: definition.geometryCenter.coordinates,
      radius: 900,
    })
    await page.getByRole('button', { name: 'Refresh' }).click()
    await page.getByText('geofence changed').first().click()
    await page.getByRole('button', { name: 'Restore what was before' }).click()
    await page.getByRole('button', { name: 'Restore', exact: true }).click()
    await page.getByText('depot/main is as it was before.').waitFor()
    const { body } = await server.api('GET', '/v1/geofences/depot/main')
    t.equal(body.geofence.description, 'Depot')
    t.equal(body.geofence.geometryRadius, 200)
    t.strictSame(complaints, [])
  })
})
