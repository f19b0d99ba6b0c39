/**
 * `npm run pictures:dashboard [-- FOLDER [NAME]]`: the pictures of the dashboard in the README and the guide. A server with
 * a small city in motion, photographed in two widths and both themes.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { buildWorld } from '../../src/geo/world/worldBuilder.ts'
import { chromiumPath } from '../kit/chromium.ts'
import { KEYS, Server } from '../kit/server.ts'
import { WORLD } from '../kit/world.ts'
import { buildDashboard } from './kit.ts'
import { CENTER, makeCity, sendAll } from './fleet.ts'

const [folder = join(import.meta.dirname, '..', '..', 'docs', 'images'), only = ''] = process.argv.slice(2)
const DEVICES = 180

buildDashboard()
// Otherwise tiles wait for it.
buildWorld(WORLD)
mkdirSync(folder, { recursive: true })
const server = await Server.start({ sample: true, env: { RINGFENCE_DASHBOARD: 'on' } })
const browser = await chromium.launch({
  executablePath: chromiumPath()!,
  args: ['--no-sandbox', '--enable-unsafe-swiftshader', '--use-angle=swiftshader'],
})
try {
  await makeCity(server)
  for (let seconds = 0; seconds < 12; seconds += 2) await sendAll(server, DEVICES, seconds * 4)
  const { body } = await server.api('GET', '/v1/users?deviceId=van-4')
  const { body: fences } = await server.api('GET', '/v1/geofences?externalId=port')
  const user = body.users[0]._id as string
  const at = `at=${CENTER.longitude},${CENTER.latitude}&zoom=13.6`
  const pages: readonly (readonly [name: string, path: string])[] = [
    ['map', `/test/map?${at}`],
    ['users', '/test/users'],
    ['user', `/test/users/${user}`],
    ['explain', `/test/users/${user}/explain`],
    ['events', '/test/events'],
    ['geofences', '/test/geofences'],
    ['geofence', `/test/geofences/${fences.geofences[0]._id}`],
    ['settings', '/test/settings'],
    ['webhooks', '/test/webhooks'],
    ['explore', '/test/explore'],
    ['system', '/system'],
    ['sign-in', '/sign-in'],
  ]
  for (const { width, height, dark } of [
    { width: 1280, height: 800, dark: false },
    { width: 1280, height: 800, dark: true },
    { width: 390, height: 780, dark: false },
  ]) {
    const context = await browser.newContext({
      viewport: { width, height },
      colorScheme: dark ? 'dark' : 'light',
      baseURL: server.url,
      reducedMotion: 'reduce',
    })
    const page = await context.newPage()
    page.on('pageerror', (error) => console.error(error.stack))
    const shoot = async (name: string) => {
      const path = join(folder, `${name}-${width}-${dark ? 'dark' : 'light'}.png`)
      await page.screenshot({ path })
    }
    await page.goto('/sign-in')
    await page.getByLabel('Secret key', { exact: true }).fill(KEYS.testSecret)
    if (only === '' || only === 'sign-in') await shoot('sign-in')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.waitForURL(/\/test\/map/)
    for (const [name, path] of pages) {
      if (name === 'sign-in' || (only !== '' && !only.split(',').includes(name))) continue
      await page.goto(path)
      await page.getByRole('heading', { level: 1 }).waitFor({ state: 'attached' })
      await sendAll(server, DEVICES, 60)
      await page.waitForTimeout(/map|user|explain|geofence|explore/.test(name) ? 3500 : 800)
      await shoot(name)
    }
    await context.close()
  }
} finally {
  await browser.close()
  await server.dispose()
}
