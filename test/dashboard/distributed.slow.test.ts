/**
 * The dashboard of the distributed engine: gateways and actors as processes of their own over a real NATS server. What a
 * person does at one gateway is seen at another.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { Cluster } from '../../cluster/cluster.ts'
import { skipWithoutChromium } from '../kit/chromium.ts'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { KEYS } from '../kit/server.ts'
import { until } from '../kit/waiting.ts'
import { fillGeofence } from './forms.ts'
import { buildDashboard, openBrowser, openPage, signIn } from './kit.ts'

const skip = skipWithoutChromium() || (await skipWithout(NATS_SERVER))
const HERE = { latitude: -34.9, longitude: -56.17, accuracy: 8 } as const

t.test('the distributed engine', { skip }, async (t) => {
  buildDashboard()
  const folder = mkdtempSync(join(tmpdir(), 'ringfence-dashboard-'))
  const cluster = await Cluster.start({
    folder,
    nats: 1,
    gateways: 2,
    actors: 1,
    deliveries: 0,
    env: {
      RINGFENCE_KEYS: Object.values(KEYS).join(','),
      RINGFENCE_RATE_LIMITS: 'off',
      RINGFENCE_PARTITIONS: '8',
      RINGFENCE_DASHBOARD: 'on',
    },
  })
  t.teardown(async () => {
    if (!t.passing()) for (const { options, output } of cluster.members) console.error(options.name, output)
    await cluster.kill()
    rmSync(folder, { recursive: true, force: true })
  })
  const [one, other] = cluster.gateways.map(({ options }) => ({ url: options.url! }))
  const browser = await openBrowser(t)

  await t.test('a city is simulated at one gateway, and seen at the other', async (t) => {
    const { page, complaints } = await openPage(t, browser, one!)
    await page.goto('/')
    await page.getByLabel('Secret key', { exact: true }).fill(KEYS.testSecret)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('button', { name: 'Simulate a city' }).click()
    await page.getByText(/^[1-9]\d* here/).waitFor()
    const { page: second, complaints: more } = await openPage(t, browser, other!)
    await signIn(second, '/test/map')
    for (const shown of [page, second]) {
      await shown.getByText(/^[1-9]\d* here/).waitFor()
      const places = () => shown.evaluate('[...window.ringfenceMap.fleet.toX.slice(0, 50)].join()')
      const before = await places()
      await until(async () => (await places()) !== before)
      await shown
        .getByRole('button', { name: /(entered|exited) geofence/ })
        .first()
        .waitFor()
    }
    await page.getByRole('button', { name: 'End and remove it' }).click()
    await page.getByText('The simulated city is gone').waitFor()
    t.strictSame([...complaints, ...more], [])
  })

  await t.test('a geofence that is saved at one gateway gets its event at the other', async (t) => {
    const { page, complaints } = await openPage(t, browser, one!)
    await signIn(page, '/test/geofences/new')
    await fillGeofence(page, { name: 'Depot', tag: 'depot', externalId: 'main', ...HERE, radiusMeters: 300 })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Depot was saved.').waitFor()
    const { page: second, complaints: more } = await openPage(t, browser, other!)
    await signIn(second, `/test/map?at=${HERE.longitude},${HERE.latitude}&zoom=14`)
    // Only who has subscribed gets an event as it happens.
    await until(
      async () => (await second.evaluate('window.ringfenceMap?.connection.state.value.status')) === 'open',
    )
    const entered = second.getByRole('button', { name: /entered geofence Depot/ })
    // Owners learn of a geofence a moment after it was saved.
    await until(async () => {
      await track('van', HERE)
      if ((await entered.count()) > 0) return true
      await track('van', { ...HERE, latitude: HERE.latitude + 0.01 })
      return false
    })
    await second.getByText('1 here').waitFor()
    t.strictSame([...complaints, ...more], [])
  })

  async function track(deviceId: string, place: object): Promise<void> {
    const answer = await fetch(`${one!.url}/v1/track`, {
      method: 'POST',
      headers: { authorization: KEYS.testPublishable, 'content-type': 'application/json' },
      body: JSON.stringify({ deviceId, ...place }),
    })
    t.equal(answer.status, 200)
  }
})
