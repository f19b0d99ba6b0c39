/** Signing in, the shell, users and events: from outside, as a person with a browser. */
import t from 'tap'
import { skipWithoutChromium } from '../kit/chromium.ts'
import { KEYS } from '../kit/server.ts'
import { openBrowser, openPage, signIn, startWithDashboard, WITHOUT_WEBGL } from './kit.ts'

const DEPOT = { description: 'Depot north', type: 'circle', coordinates: [6.7735, 51.2277], radius: 100 }
const SCRIPT = '<img src=x onerror="window.hacked = 1"><script>window.hacked = 1</script>'

t.test('the dashboard in a browser', { skip: skipWithoutChromium() }, async (t) => {
  const server = await startWithDashboard(t)
  const browser = await openBrowser(t, WITHOUT_WEBGL)
  await server.api('PUT', '/v1/geofences/depot/north', DEPOT)
  const at = { latitude: 51.2277, longitude: 6.7735, accuracy: 8 }
  await server.api('POST', '/v1/track', { ...at, deviceId: 'van-7', userId: 'ann' })
  await server.api('POST', '/v1/track', {
    ...at,
    deviceId: SCRIPT,
    userId: SCRIPT,
    metadata: { note: SCRIPT },
  })

  await t.test(
    'a wrong key is refused in the words of the server, and a right one leads to the wanted page',
    async (t) => {
      const { page, complaints } = await openPage(t, browser, server)
      await page.goto('/test/users?userId=ann')
      await page.waitForURL(/\/sign-in\?to=/)
      await page.getByLabel('Secret key', { exact: true }).fill('prj_test_sk_wrong')
      await page.getByRole('button', { name: 'Sign in' }).click()
      t.match(await page.getByRole('alert').textContent(), 'The key is wrong.')
      await page.getByLabel('Secret key', { exact: true }).fill(KEYS.testSecret)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('link', { name: 'ann' }).waitFor()
      t.equal(new URL(page.url()).search, '?userId=ann', 'filters are kept')
      t.equal(await page.getByRole('row').count(), 2, 'the header and one user')
      t.strictSame(complaints, [])
    },
  )

  await t.test('a user with its events; texts of users are texts', async (t) => {
    const { page, complaints } = await openPage(t, browser, server)
    await signIn(page)
    await page.getByRole('link', { name: 'ann' }).click()
    await page.getByRole('heading', { name: 'ann' }).waitFor()
    await page.getByRole('link', { name: 'entered geofence Depot north' }).click()
    await page.getByRole('heading', { name: 'entered geofence Depot north' }).waitFor()
    await page.goto('/test/users')
    await page.getByRole('link', { name: SCRIPT }).click()
    await page.getByRole('heading', { name: SCRIPT }).waitFor()
    await page.getByText('note', { exact: true }).waitFor()
    t.equal(await page.evaluate('window.hacked'), undefined)
    t.strictSame(complaints, [])
  })

  await t.test('events are filtered by the address', async (t) => {
    const { page, complaints } = await openPage(t, browser, server)
    await signIn(page, '/test/events')
    await page.getByRole('link', { name: 'entered geofence' }).first().waitFor()
    await page.getByLabel('Type').selectOption('user.exited_geofence')
    await page.getByRole('heading', { name: 'No event matches' }).waitFor()
    t.match(page.url(), /type=user\.exited_geofence/)
    await page.reload()
    await page.getByRole('heading', { name: 'No event matches' }).waitFor()
    t.strictSame(complaints, [])
  })

  await t.test('keys of the keyboard, the theme and signing out', async (t) => {
    const { page, complaints } = await openPage(t, browser, server)
    await signIn(page)
    await page.getByRole('link', { name: 'ann' }).waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('e')
    await page.waitForURL(/\/test\/events/)
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keys' }).waitFor()
    await page.keyboard.press('Escape')
    await page
      .getByText('theme and sign out')
      .or(page.getByLabel(/theme and sign out/))
      .click()
    await page.getByRole('button', { name: 'Dark' }).click()
    t.equal(await page.evaluate('document.documentElement.style.colorScheme'), 'dark')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.waitForURL(/\/sign-in/)
    await page.goto('/test/users')
    await page.waitForURL(/\/sign-in/)
    t.strictSame(complaints, [])
  })

  await t.test('files and pages: encodings, policy, caching', async (t) => {
    const page = await server.api('GET', '/', undefined, null)
    const policy = page.headers.get('content-security-policy')
    t.match(policy, /default-src 'none'.*require-trusted-types-for 'script'; trusted-types default$/)
    t.equal(page.headers.get('x-frame-options'), 'DENY')
    t.equal(page.headers.get('cache-control'), 'no-cache')
    const [, script] = /src="(\/assets\/[^"]+\.js)"/.exec(page.body) ?? []
    for (const [accepted, encoding] of [
      ['gzip, deflate, br', 'br'],
      ['gzip', 'gzip'],
      ['identity', null],
    ] as const) {
      const file = await server.api('GET', script!, undefined, null, { 'accept-encoding': accepted })
      t.equal(file.headers.get('content-encoding'), encoding)
      t.match(file.headers.get('cache-control'), /immutable/)
      t.match(file.headers.get('vary'), /accept-encoding/i)
      t.match(file.body, /Ringfence|preact|import/)
    }
    for (const path of ['/assets/none.js', '/assets/..%2Findex.html', '/assets/stamp', '/assets/.env'])
      t.equal((await server.api('GET', path, undefined, null)).status, 404, path)
    t.equal((await server.api('GET', '/v1/none/at/all')).status, 404)
  })
})

t.test('without a dashboard, / leads to the reference', async (t) => {
  const server = await (await import('../kit/server.ts')).startServer(t)
  const answer = await fetch(server.url, { redirect: 'manual' })
  t.equal(answer.status, 302)
  t.equal(answer.headers.get('location'), '/docs')
})
