/** Keys, invitations and roles; a first visit; and a browser without WebGL. */
import t from 'tap'
import { skipWithoutChromium } from '../kit/chromium.ts'
import { KEYS } from '../kit/server.ts'
import { until } from '../kit/waiting.ts'
import { openBrowser, openPage, startWithDashboard, WITHOUT_WEBGL } from './kit.ts'
import { invite } from './people.ts'

t.test('people', { skip: skipWithoutChromium() }, async (t) => {
  const server = await startWithDashboard(t)
  const browser = await openBrowser(t)
  // For what is not done on a map.
  const plain = await openBrowser(t, WITHOUT_WEBGL)
  const ann = await invite(server, 'ann@example.com', 'admin')
  const bob = await invite(server, 'bob@example.com', 'read')

  await t.test('a newcomer simulates a city, sees it move, and removes it', async (t) => {
    const { page, complaints } = await openPage(t, browser, server)
    await page.goto('/sign-in?to=/test/map')
    await page.getByRole('button', { name: 'E-mail' }).click()
    await page.getByLabel('E-mail').fill(ann.email)
    await page.getByLabel('Password').fill(ann.password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.waitForURL(/\/test\/map/)
    await page.getByRole('button', { name: 'Simulate a city' }).click()
    await page.getByText('A simulated city:').waitFor()
    await page.getByText(/^[1-9]\d* here/).waitFor()
    await page
      .getByRole('button', { name: /geofence/ })
      .first()
      .waitFor()
    const before = await page.evaluate('[...window.ringfenceMap.fleet.toX.slice(0, 200)].join()')
    await until(
      async () => (await page.evaluate('[...window.ringfenceMap.fleet.toX.slice(0, 200)].join()')) !== before,
    )
    await page.getByRole('button', { name: 'End and remove it' }).click()
    await page.getByText('The simulated city is gone').waitFor()
    t.equal((await server.api('GET', '/v1/users')).body.users.length, 0)
    t.equal((await server.api('GET', '/v1/geofences?tag=city')).body.geofences.length, 0)
    t.strictSame(complaints, [])
  })

  await t.test(
    'one’s own first location: the call has the real key, and the page waits for it',
    async (t) => {
      const { page, complaints } = await openPage(t, browser, server)
      await ann.signIn(page, '/test/map?welcome=1')
      await page.getByText('Waiting for the first location').waitFor()
      await page.getByText(/curl .*\/v1\/track/).waitFor()
      await page.getByRole('button', { name: 'WebSocket' }).click()
      await page.getByText('ringfence.stream()').waitFor()
      await server.api(
        'POST',
        '/v1/track',
        { deviceId: 'my-phone', latitude: 40.6892, longitude: -74.0445, accuracy: 20 },
        KEYS.testPublishable,
      )
      await page.getByText('It has come.').waitFor()
      // It is on the other side of the world from what the map shows.
      await page.getByRole('button', { name: 'Show it on the map' }).click()
      await page.getByRole('region', { name: 'Device my-phone' }).waitFor()
      await page.getByText('1 here').waitFor()
      const shown = '(({ lng, lat }) => [lng, lat])(window.ringfenceMap.opened.map.getCenter())'
      await until(async () => {
        const [longitude, latitude] = (await page.evaluate(shown)) as [number, number]
        return Math.abs(longitude + 74.0445) < 0.001 && Math.abs(latitude - 40.6892) < 0.001
      })
      t.strictSame(complaints, [])
    },
  )

  await t.test('the other environment shows nothing of this one', async (t) => {
    const { page, complaints } = await openPage(t, browser, server)
    const place = { latitude: 51.22, longitude: 6.77, accuracy: 5 }
    const { body } = await server.api('POST', '/v1/track', { deviceId: 'only-test', ...place })
    await server.api('POST', '/v1/track', { deviceId: 'only-live', ...place }, KEYS.livePublishable)
    await ann.signIn(page, '/test/users')
    await page.getByRole('link', { name: 'only-test' }).waitFor()
    const switched = page.getByRole('navigation', { name: 'Environment' })
    await switched.getByRole('link', { name: 'Live' }).click()
    await page.getByRole('link', { name: 'only-live' }).waitFor()
    t.equal(await page.getByText('only-test').count(), 0)
    t.equal(await page.getByText('TEST DATA').count(), 0)
    await page.goto(`/live/users/${body.user._id}`)
    await page
      .getByRole('alert')
      .filter({ hasText: /not found/i })
      .waitFor()
    await page.goto('/live/map?at=6.77,51.22&zoom=14')
    await page.getByText('1 here').waitFor()
    t.strictSame(
      await page.evaluate('window.ringfenceMap.fleet.positions.map(({ user }) => user.deviceId)'),
      ['only-live'],
    )
    await switched.getByRole('link', { name: 'Test' }).click()
    await page.waitForURL(/\/test\/map/)
    await page.getByText('TEST DATA').waitFor()
    const devices = 'window.ringfenceMap.fleet.positions.map(({ user }) => user.deviceId)'
    await until(async () => ((await page.evaluate(devices)) as string[]).includes('only-test'))
    t.notOk(((await page.evaluate(devices)) as string[]).includes('only-live'))
    t.strictSame(complaints, [])
  })

  await t.test('a reader sees, and is refused where others change', async (t) => {
    const { page, complaints } = await openPage(t, plain, server)
    await server.api('PUT', '/v1/geofences/depot/main', {
      description: 'Depot',
      type: 'circle',
      coordinates: [6.77, 51.22],
      radius: 100,
    })
    await bob.signIn(page, '/test/geofences')
    await page.getByRole('link', { name: 'Depot' }).click()
    await page.getByText('Your role may look at geofences.').waitFor()
    t.equal(await page.getByRole('button', { name: 'Save' }).count(), 0)
    t.equal(await page.getByLabel('Name').isDisabled(), true)
    await page.goto('/members')
    await page
      .getByRole('alert')
      .filter({ hasText: /Forbidden/ })
      .waitFor()
    t.equal(await page.getByRole('button', { name: 'Invite' }).count(), 0)
    await page.goto('/test/settings')
    await page.getByText('Your role may look at settings.').waitFor()
    await page.goto('/audit')
    await page
      .getByRole('alert')
      .filter({ hasText: /Forbidden/ })
      .waitFor()
    await page.goto('/keys')
    await page
      .getByRole('alert')
      .filter({ hasText: /Forbidden/ })
      .waitFor()
    t.strictSame(complaints, [])
  })

  await t.test(
    'a role that becomes lower while a page is open: the server refuses, and the page says so',
    async (t) => {
      const { page, complaints } = await openPage(t, plain, server)
      const { page: admin } = await openPage(t, plain, server)
      const eve = await invite(server, 'eve@example.com', 'write')
      await eve.signIn(page, '/test/geofences/new')
      await page.getByLabel('Name').fill('Late')
      await ann.signIn(admin, '/members')
      await admin.getByLabel('Role of eve').selectOption('read')
      await admin.getByText('eve has the role read.').waitFor()
      await page.getByLabel('Tag').fill('late')
      await page.getByLabel('Your id').fill('1')
      await page.getByLabel('Latitude').fill('1')
      await page.getByLabel('Longitude').fill('1')
      await page.getByRole('button', { name: 'Save' }).click()
      await page
        .getByRole('alert')
        .filter({ hasText: /Forbidden|role/ })
        .waitFor()
      // The page now offers what the role allows.
      await page.getByText('Your role may look at geofences.').waitFor()
      t.equal(await page.getByRole('button', { name: 'Save' }).count(), 0)
      t.equal((await server.api('GET', '/v1/geofences?tag=late')).body.geofences.length, 0)
      t.strictSame(complaints, [])
    },
  )

  await t.test('somebody is invited, and signs in with the link', async (t) => {
    const { page, complaints } = await openPage(t, plain, server)
    await ann.signIn(page, '/members')
    await page.getByRole('button', { name: 'Invite' }).click()
    await page.getByLabel('E-mail').fill('cleo@example.com')
    await page.getByLabel('Name').fill('Cleo')
    await page.getByLabel('Role', { exact: true }).selectOption('write')
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /Invite|Make|Create/ })
      .click()
    const link = (await page.locator('dialog pre').textContent())!.trim()
    t.match(link, /#invitation=/)
    const { page: guest, complaints: more } = await openPage(t, plain, server)
    const { pathname, hash } = new URL(link)
    await guest.goto(pathname + hash)
    await guest.getByLabel('Password').fill('a long enough secret')
    await guest
      .getByRole('button')
      .filter({ hasText: /Set|Sign|Accept/ })
      .first()
      .click()
    await guest.waitForURL(/\/test\/map/)
    t.strictSame([...complaints, ...more], [])
  })

  await t.test('a key is replaced; the new one is shown once, and works', async (t) => {
    const { page, complaints } = await openPage(t, plain, server)
    await ann.signIn(page, '/keys')
    await page
      .locator('.key-row', { hasText: 'publishable' })
      .getByRole('button', { name: 'Replace' })
      .click()
    await page.getByRole('dialog').getByRole('button', { name: 'Replace' }).click()
    const key = (await page.locator('dialog pre').textContent())!.trim()
    t.match(key, /^prj_test_pk_/)
    const tracked = { deviceId: 'd', latitude: 1, longitude: 1, accuracy: 5 }
    t.equal((await server.api('POST', '/v1/track', tracked, key)).status, 200)
    t.strictSame(complaints, [])
  })

  await t.test('without WebGL there is the list in place of the map', async (t) => {
    const { page, complaints } = await openPage(t, plain, server)
    await ann.signIn(page, '/test/map')
    await page.getByText(/This browser has no WebGL/).waitFor()
    await page.getByRole('button', { name: 'The devices as a list' }).click()
    await page
      .getByRole('region', { name: /Devices in view/ })
      .getByRole('link')
      .first()
      .waitFor()
    await page.goto('/test/geofences/new')
    await page.getByText('This browser has no WebGL, so there is no map.').first().waitFor()
    t.strictSame(complaints, [])
  })
})
