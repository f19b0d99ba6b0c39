/** Bad input: scripts in every text, pages in a frame of others, refused changes, and a server that lacks calls. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { skipWithoutChromium } from '../kit/chromium.ts'
import { until } from '../kit/waiting.ts'
import { openBrowser, openPage, settled, signIn, startWithDashboard, WITHOUT_WEBGL } from './kit.ts'
import { invite } from './people.ts'

const SCRIPT = '<img src=x onerror="window.hacked = 1"><script>window.hacked = 1</script>'
const HERE = { latitude: -34.9, longitude: -56.17, accuracy: 8 }
const CIRCLE = { type: 'circle', coordinates: [HERE.longitude, HERE.latitude], radius: 300 }

t.test('bad input', { skip: skipWithoutChromium() }, async (t) => {
  const server = await startWithDashboard(t, {
    env: { RINGFENCE_WEBHOOK_PRIVATE_ADDRESSES: '127.0.0.0/8' },
  })
  const browser = await openBrowser(t, WITHOUT_WEBGL)
  const ann = await invite(server, 'ann@example.com', 'admin')
  const made = async (method: string, path: string, body: unknown, headers = {}) => {
    const answer = await server.api(method, path, body, undefined, headers)
    t.ok(
      answer.status < 300,
      `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body).slice(0, 200)}`,
    )
    return answer.body
  }

  await t.test('scripts in every text are texts, on every page', async (t) => {
    const metadata = { note: SCRIPT }
    const { geofence } = await made('POST', '/v1/geofences', {
      ...CIRCLE,
      description: SCRIPT,
      tag: 'scripts',
      externalId: '1',
      metadata,
    })
    const { beacon } = await made('PUT', '/v1/beacons/scripts/1', {
      description: SCRIPT,
      type: 'ibeacon',
      uuid: 'e2c56db5-dffb-48d2-b060-d0f5a71096e0',
      major: '1',
      minor: '1',
      coordinates: CIRCLE.coordinates,
      metadata,
    })
    const { webhook } = await made('POST', '/v1/webhooks', {
      url: 'http://127.0.0.1:9/hook',
      description: SCRIPT,
    })
    const tracked = await made('POST', '/v1/track', {
      ...HERE,
      deviceId: SCRIPT,
      userId: SCRIPT,
      description: SCRIPT,
      metadata,
    })
    const { trip } = await made('POST', '/v1/trips', {
      externalId: SCRIPT,
      userId: SCRIPT,
      destinationGeofenceTag: 'scripts',
      destinationGeofenceExternalId: '1',
      metadata,
    })
    const quoted = `"${SCRIPT.replaceAll('"', '""')}"`
    const { import: imported } = await made(
      'POST',
      `/v1/imports/geofences?fileName=${encodeURIComponent(`${SCRIPT}.csv`)}`,
      `description,tag,externalId,type,coordinates,radius,metadata.note\n${quoted},csv,1,circle,"[-56.1,-34.9]",100,${quoted}\n${quoted},csv,2,circle,"[-56.1,-34.9]",${quoted},x`,
      { 'content-type': 'text/csv' },
    )
    t.match(imported, { created: 1, refused: 1 })
    const { page, complaints } = await openPage(t, browser, server)
    const { page: editor } = await openPage(t, browser, server)
    await ann.signIn(editor, '/members')
    await editor.getByRole('button', { name: 'Invite' }).click()
    await editor.getByLabel('E-mail').fill('mallory@example.com')
    await editor.getByLabel('Name').fill(SCRIPT)
    await editor.getByRole('button', { name: 'Make the link' }).click()
    await editor.getByRole('dialog', { name: 'The link' }).waitFor()

    await ann.signIn(page, '/test/users')
    const user = `/test/users/${tracked.user._id}`
    const shown: readonly (readonly [path: string, isNamed: boolean])[] = [
      ['/test/users', true],
      [user, true],
      [`${user}/explain`, true],
      ['/test/events', true],
      [`/test/events/${tracked.events[0]._id}`, true],
      ['/test/map', true],
      ['/test/geofences', true],
      [`/test/geofences/${geofence._id}`, true],
      ['/test/beacons', true],
      [`/test/beacons/${beacon._id}`, true],
      ['/test/trips', true],
      [`/test/trips/${trip._id}`, true],
      ['/test/imports', true],
      [`/test/imports/${imported._id}`, true],
      // Once a delivery has failed, the list says why in place of the description.
      ['/test/webhooks', false],
      [`/test/webhooks/${webhook._id}`, false],
      [`/test/explore/here?at=${HERE.latitude},${HERE.longitude}`, true],
      [`/test/explore/search?q=${encodeURIComponent(SCRIPT)}`, false],
      [`/test/events?text=${encodeURIComponent(SCRIPT)}`, false],
      ['/members', true],
      ['/audit', false],
      ['/test/sync', false],
      ['/system', false],
    ]
    for (const [path, isNamed] of shown) {
      await page.goto(path)
      await page.getByRole('heading', { level: 1 }).waitFor({ state: 'attached' })
      await settled(page)
      if (path === '/audit')
        for (const entry of (await page.locator('summary').all()).slice(0, 8)) await entry.click()
      const { text, strange, hacked } = (await page.evaluate(`({
        text: document.body.textContent + [...document.querySelectorAll('input, textarea')].map((one) => one.value).join(' '),
        strange: document.querySelectorAll('img[src="x"], script:not([src])').length,
        hacked: window.hacked,
      })`)) as { text: string; strange: number; hacked: unknown }
      t.equal(strange, 0, `${path} has no element that somebody wrote`)
      t.equal(hacked, undefined, path)
      if (isNamed) t.ok(text.includes(SCRIPT), `${path} shows the text as it is`)
    }
    t.strictSame(complaints, [])
  })

  await t.test('a page of somebody else cannot frame this one', async (t) => {
    const outside = createServer((_, response) =>
      response
        .setHeader('content-type', 'text/html')
        .end(`<title>outside</title><iframe src="${server.url}/sign-in" width="600" height="400"></iframe>`),
    )
    await new Promise<void>((resolve) => outside.listen(0, '127.0.0.1', resolve))
    t.teardown(() => outside.close())
    const { page, complaints } = await openPage(t, browser, server)
    await page.goto(`http://127.0.0.1:${(outside.address() as AddressInfo).port}/`)
    const frame = page.frames().find((one) => one !== page.mainFrame())!
    await frame.waitForLoadState()
    t.equal(await frame.getByLabel('Secret key').count(), 0)
    t.ok(
      complaints.some((text) => /frame-ancestors/.test(text)),
      'the browser says why',
    )
  })

  await t.test('each field of a geofence has what the server says of it', async (t) => {
    const { page, complaints } = await openPage(t, browser, server)
    await signIn(page, '/test/geofences/new')
    for (const [label, value] of [
      ['Name', 'Yard'],
      ['Tag', 'yard'],
      ['Your id', '1'],
      ['Latitude', '1'],
      ['Longitude', '1'],
    ] as const)
      await page.getByLabel(label, { exact: true }).fill(value)
    await page.getByText('Restrictions and dates').click()
    for (const [label, bad, good] of [
      ['Name', '', 'Yard'],
      ['Latitude', '91', '1'],
      ['Radius in metres', 'wide', '100'],
      ['Only these IP addresses', 'nonsense', ''],
      ['Dwell after minutes', 'long', ''],
      ['Off after', 'tomorrow', ''],
      ['Delete after', 'never', ''],
      ['Metadata', Array.from({ length: 17 }, (_, i) => `name${i}: ${i}`).join('\n'), ''],
    ] as const) {
      const field = page.getByLabel(label, { exact: true })
      await field.fill(bad)
      await page.getByRole('button', { name: 'Save' }).click()
      // The field before may still be marked.
      await field.and(page.locator('[aria-invalid="true"]')).waitFor()
      t.equal(await page.locator('[aria-invalid="true"]').count(), 1, `${label}: no other field is marked`)
      t.equal(await page.getByRole('alert').count(), 1, `${label}: one sentence`)
      await field.fill(good)
    }
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Yard was saved.').waitFor()
    t.strictSame(complaints, [])
  })

  await t.test('forms in dialogs have what the server says at the field', async (t) => {
    const { page, complaints } = await openPage(t, browser, server)
    await ann.signIn(page, '/test/webhooks')
    await page.getByRole('button', { name: 'New webhook' }).click()
    await page.getByLabel('URL').fill('ftp://example.com/hook')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('dialog').getByRole('alert').waitFor()
    t.equal(await page.getByLabel('URL').getAttribute('aria-invalid'), 'true')

    await page.goto('/members')
    await page.getByRole('button', { name: 'Invite' }).click()
    await page.getByLabel('E-mail').fill(ann.email)
    await page.getByLabel('Name').fill('Ann again')
    await page.getByRole('button', { name: 'Make the link' }).click()
    await page.getByRole('dialog').getByRole('alert').waitFor()
    t.strictSame(complaints, [])
  })

  await t.test('a change that is refused is not shown as made', async (t) => {
    const { page, complaints } = await openPage(t, browser, server)
    await ann.signIn(page, '/members')
    const role = page.getByLabel('Role of ann', { exact: true })
    await role.selectOption('read')
    await page.locator('.toast').filter({ hasText: /admin/ }).waitFor()
    await settled(page)
    t.equal(await role.inputValue(), 'admin', 'she is the last one')

    // A webhook that cannot be deleted stays.
    const { body } = await server.api('GET', '/v1/webhooks')
    await page.goto(`/test/webhooks/${body.webhooks[0]._id}`)
    await page.route('**/v1/webhooks/*', (route) =>
      route.request().method() === 'DELETE'
        ? route.fulfill({ status: 503, json: { meta: { code: 503, message: 'Not now.' } } })
        : route.continue(),
    )
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('Not now.').waitFor()
    t.match(page.url(), /\/test\/webhooks\/\w+$/)
    t.strictSame(complaints, [])
  })

  await t.test('files that cannot be loaded: the page is loaded again once, and then says so', async (t) => {
    const { page, complaints } = await openPage(t, browser, server)
    const { user } = await made('POST', '/v1/track', { ...HERE, deviceId: 'explained' })
    let loaded = 0
    page.on('request', (request) => {
      if (request.resourceType() === 'document') loaded++
    })
    await page.route('**/assets/explainPage-*', (route) => route.abort())
    await signIn(page, `/test/users/${user._id}/explain`)
    const failed = page.getByRole('alert').filter({ hasText: 'could not be loaded' })
    await until(() => loaded >= 2)
    await failed.waitFor()
    await settled(page)
    t.equal(await failed.count(), 1)
    t.equal(loaded, 2)
    await page.unroute('**/assets/explainPage-*')
    await failed.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('heading', { name: 'Why? The last update, explained' }).waitFor()
    t.strictSame(complaints, [])
  })

  await t.test('a page whose call the server does not have is not in the navigation', async (t) => {
    const { page, complaints } = await openPage(t, browser, server)
    await page.route('**/v1/openapi.json', async (route) => {
      const document = (await server.api('GET', '/v1/openapi.json')).body
      delete document.paths['/v1/trips']
      await route.fulfill({ json: document })
    })
    await signIn(page)
    const pages = page.getByRole('navigation', { name: 'Pages' })
    await pages.getByRole('link', { name: 'Events' }).waitFor()
    t.equal(await pages.getByRole('link', { name: 'Trips' }).count(), 0)
    await page.unroute('**/v1/openapi.json')
    await page.reload()
    await pages.getByRole('link', { name: 'Trips' }).waitFor()
    t.strictSame(complaints, [])
  })
})
