/**
 * What people do without a map: type a geofence and get its event, import a file, change settings, try e-mails and webhooks.
 * What needs a map: mapFlows.slow.test.ts.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { skipWithoutChromium } from '../kit/chromium.ts'
import { until } from '../kit/waiting.ts'
import { MailServer } from '../notify/mailServer.ts'
import { fillGeofence } from './forms.ts'
import { openBrowser, openPage, signIn, startWithDashboard, WITHOUT_WEBGL } from './kit.ts'

const HERE = { latitude: -34.9, longitude: -56.17, accuracy: 8 }

t.test('flows', { skip: skipWithoutChromium() }, async (t) => {
  const mail = await MailServer.start(t)
  const server = await startWithDashboard(t, {
    env: { ...mail.env, RINGFENCE_WEBHOOK_PRIVATE_ADDRESSES: '127.0.0.0/8' },
  })
  const browser = await openBrowser(t, WITHOUT_WEBGL)
  await server.api('POST', '/v1/track', { ...HERE, deviceId: 'van-1', userId: 'ann' })

  await t.test('a geofence round a device gets its entry event; errors are at their field', async (t) => {
    const { page, complaints } = await openPage(t, browser, server)
    await signIn(page, '/test/geofences/new')
    await fillGeofence(page, { name: 'Depot', tag: 'depot', externalId: 'main', ...HERE, radiusMeters: 5 })
    await page.getByRole('button', { name: 'Save' }).click()
    const radius = page.getByLabel('Radius in metres')
    await page.getByRole('alert').waitFor()
    t.equal(await radius.getAttribute('aria-invalid'), 'true')
    t.match(await page.getByRole('alert').textContent(), /radius/)
    await radius.fill('300')
    await page.getByText('Opening hours').click()
    await page.getByLabel('Hours on Monday').fill('00:00-12:00, 12:00-23:59')
    // The mouse draws three hours of Tuesday; the keyboard closes the last of them.
    const cell = (hour: string) => page.getByRole('button', { name: `Tuesday ${hour}:00` })
    await cell('08').hover()
    await page.mouse.down()
    await cell('09').hover()
    await cell('10').hover()
    await page.mouse.up()
    await cell('09').focus()
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('Space')
    await until(async () => (await page.getByLabel('Hours on Tuesday').inputValue()) === '08:00-10:00')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('link', { name: 'Depot' }).waitFor()
    const { body } = await server.api('GET', '/v1/geofences/depot/main')
    t.strictSame(body.geofence.operatingHours.Monday.length, 2)
    t.strictSame(body.geofence.operatingHours.Tuesday, [['08:00', '10:00']])
    t.equal(body.geofence.geometryRadius, 300)
    const { body: tracked } = await server.api('POST', '/v1/track', {
      ...HERE,
      deviceId: 'van-1',
      userId: 'ann',
    })
    t.equal(tracked.events[0].type, 'user.entered_geofence')
    t.strictSame(complaints, [])
  })

  await t.test('a CSV with bad rows is checked first, and the good ones are imported', async (t) => {
    const { page, complaints } = await openPage(t, browser, server)
    await signIn(page, '/test/geofences')
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    const csv = [
      'description,tag,externalId,type,coordinates,radius',
      'One,store,1,circle,"[-56.1,-34.9]",100',
      'Two,store,2,circle,"[-56.1,-34.9]",5',
      'Three,store,3,circle,"[-56.1,-34.8]",200',
    ].join('\n')
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'stores.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) })
    await page.getByText(/3 rows, 2 new, 0 known, 1 refused/).waitFor()
    t.equal(
      (await server.api('GET', '/v1/geofences?tag=store')).body.geofences.length,
      0,
      'a check changes nothing',
    )
    await page
      .getByRole('cell', { name: /radius/i })
      .first()
      .waitFor()
    await page.getByRole('button', { name: 'Import 2 of 3' }).click()
    await page.getByText('2 created, 0 updated, 1 refused.').waitFor()
    t.equal((await server.api('GET', '/v1/geofences?tag=store')).body.geofences.length, 2)
    t.strictSame(complaints, [])
  })

  await t.test('all geofences that match are turned off, then deleted, by their number', async (t) => {
    for (const id of ['1', '2', '3'])
      await server.api('PUT', `/v1/geofences/many/${id}`, {
        description: `Many ${id}`,
        type: 'circle',
        coordinates: [-56.3, -34.7],
        radius: 50,
      })
    const { page, complaints } = await openPage(t, browser, server)
    await signIn(page, '/test/geofences')
    await page.getByLabel('Tag').fill('many')
    await page.waitForURL(/tag=many/)
    await page.getByRole('button', { name: 'Change all that match' }).click()
    await page.getByText('3 match the filter of the list').waitFor()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('How many').fill('2')
    await dialog.getByRole('button', { name: 'Turn off' }).last().click()
    await dialog.getByRole('alert').waitFor()
    t.match(await dialog.getByRole('alert').textContent(), /3 geofences match, and not 2/)
    await dialog.getByLabel('How many').fill('3')
    await dialog.getByRole('button', { name: 'Turn off' }).last().click()
    await page.getByText('3 geofences were turned off.').waitFor()
    const many = async () => (await server.api('GET', '/v1/geofences?tag=many')).body.geofences
    t.strictSame(
      (await many()).map((fence: { enabled: boolean }) => fence.enabled),
      [false, false, false],
    )
    const others = (await server.api('GET', '/v1/geofences?includeTotal=true')).body.meta.total - 3
    await page.getByRole('button', { name: 'Change all that match' }).click()
    await dialog.getByRole('button', { name: 'Delete' }).first().click()
    await dialog.getByLabel('How many').fill('3')
    await dialog.getByRole('button', { name: 'Delete' }).last().click()
    await page.getByText('3 geofences were deleted.').waitFor()
    t.strictSame(await many(), [])
    t.equal((await server.api('GET', '/v1/geofences?includeTotal=true')).body.meta.total, others)
    t.strictSame(complaints, [])
  })

  await t.test('settings have the sentences of the API; the server’s error is at its field', async (t) => {
    const { page, complaints } = await openPage(t, browser, server)
    await signIn(page, '/test/settings')
    await page.getByText('An entry or exit below it does not happen yet.').waitFor()
    await page.getByLabel('Minimum confidence').fill('9')
    await page.getByRole('button', { name: 'Save the change' }).click()
    await page.getByRole('alert').filter({ hasText: 'minimumConfidence' }).waitFor()
    await page.getByLabel('Minimum confidence').fill('2')
    await page.getByRole('button', { name: 'Save the change' }).click()
    await page.getByText('The settings were saved.').waitFor()
    t.equal((await server.api('GET', '/v1/settings')).body.settings.minimumConfidence, 2)
    t.strictSame(complaints, [])
  })

  await t.test('a test e-mail is sent, and what the mail server answers is said', async (t) => {
    const { page, complaints } = await openPage(t, browser, server)
    await signIn(page, '/test/settings')
    const notifications = page.getByRole('region', { name: 'Notifications' })
    await notifications.getByLabel('Notification emails').fill('ops@example.com')
    await page.getByRole('button', { name: 'Save the change' }).click()
    await page.getByText('The settings were saved.').waitFor()
    // The first of those that are told.
    await until(
      async () => (await notifications.getByLabel('Test e-mail to').inputValue()) === 'ops@example.com',
    )
    const send = notifications.getByRole('button', { name: 'Send a test e-mail' })
    await send.click()
    await notifications.getByText('The mail server took the e-mail to ops@example.com.').waitFor()
    t.strictSame(
      mail.mails.splice(0).map(({ to }) => to),
      [['ops@example.com']],
    )
    mail.refusals.set('nobody@example.com', '550 No such mailbox')
    await notifications.getByLabel('Test e-mail to').fill('nobody@example.com')
    await send.click()
    await notifications.getByText(/^Not sent\. .*No such mailbox/).waitFor()
    await notifications.getByLabel('Test e-mail to').fill('nobody')
    await send.click()
    await notifications.getByRole('alert').filter({ hasText: 'e-mail address' }).waitFor()
    t.equal(await notifications.getByLabel('Test e-mail to').getAttribute('aria-invalid'), 'true')
    t.strictSame(mail.mails, [])
    t.strictSame(complaints, [])
  })

  await t.test('a webhook sends a test to a receiver', async (t) => {
    let received = 0
    const receiver = createServer((request, response) => {
      request.resume()
      received++
      response.end('thanks')
    })
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
    t.teardown(() => receiver.close())
    const { page, complaints } = await openPage(t, browser, server)
    await signIn(page, '/test/webhooks')
    await page.getByRole('button', { name: 'New webhook' }).click()
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`
    await page.getByLabel('URL').fill(url)
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('heading', { name: 'The secret' }).waitFor()
    await page.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('link', { name: url }).click()
    await page.getByRole('button', { name: 'Send a test' }).click()
    await until(() => received > 0)
    await page.locator('.toast').waitFor()
    t.match(await page.locator('.toast').first().textContent(), /200/)
    await server.api('POST', '/v1/track', { ...HERE, deviceId: 'van-9', userId: 'bob' })
    await page.getByText('delivered', { exact: true }).first().waitFor()
    const before = received
    await page.getByRole('button', { name: 'Send again' }).first().click()
    await until(() => received > before)
    t.strictSame(complaints, [])
  })
})
