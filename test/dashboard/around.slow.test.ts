/** A user in a café, and one who cheats: what their pages, their events and the explanation say of places, regions and fraud. */
import t from 'tap'
import { worldFile } from '../geocoding/kit.ts'
import { skipWithoutChromium } from '../kit/chromium.ts'
import { openBrowser, openPage, signIn, startWithDashboard, WITHOUT_WEBGL } from './kit.ts'

const TOWN = { latitude: -34.9061, longitude: -56.1934 }

t.test('places, regions and fraud', { skip: skipWithoutChromium() }, async (t) => {
  worldFile()
  const server = await startWithDashboard(t, { sample: true })
  const browser = await openBrowser(t, WITHOUT_WEBGL)
  const good = async (method: string, path: string, body?: unknown) => {
    const answer = await server.api(method, path, body)
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  await good('PATCH', '/v1/settings', { places: true, regions: true, fraud: { enabled: true } })
  const { places } = await good(
    'GET',
    `/v1/search/places?near=${TOWN.latitude},${TOWN.longitude}&categories=cafe&limit=1`,
  )
  const [cafe] = places
  const [longitude, latitude] = cafe.location.coordinates
  const at = { latitude, longitude, accuracy: 5, stopped: true }
  // Who is somewhere only enters a place when it is seen there again.
  const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString()
  for (const minutes of [9, 6, 3])
    await good('POST', '/v1/track', {
      deviceId: 'guest',
      userId: 'guest',
      ...at,
      updatedAt: minutesAgo(minutes),
    })
  await good('POST', '/v1/track', { deviceId: 'cheat', userId: 'cheat', ...at, mocked: true })
  const { user } = await good('GET', '/v1/users/guest')
  t.ok(user.place, 'the guest is in a place')
  const { explanation } = await good('GET', '/v1/users/guest/explain')

  const { page, complaints } = await openPage(t, browser, server)
  await t.test('the page of a user', async (t) => {
    await signIn(page, '/test/users/guest')
    const state = page.getByRole('region', { name: 'State' })
    await state.getByText(user.place.name).waitFor()
    t.match(await state.textContent(), /Fraudnothing suspicious/)
    t.match(await state.textContent(), new RegExp(user.country.name))
    await page.goto('/test/users/cheat')
    await state.getByText('mocked', { exact: true }).waitFor()
  })

  await t.test('the explanation', async (t) => {
    await page.goto('/test/users/guest/explain')
    const place = page.getByRole('region', { name: 'Place', exact: true })
    await place.getByText(explanation.place.reason).waitFor()
    t.equal(await place.getByRole('listitem').count(), explanation.place.candidates.length)
    const regions = page.getByRole('region', { name: 'Regions', exact: true })
    t.ok(explanation.regions.length > 0)
    for (const { reason } of explanation.regions) await regions.getByText(reason).first().waitFor()
  })

  await t.test('events', async (t) => {
    await page.goto('/test/events?userId=guest')
    await page.getByLabel('Type').selectOption('user.entered_place')
    const link = page.getByRole('link', { name: 'entered place' })
    await link.waitFor()
    await page.getByRole('row').filter({ hasText: user.place.name }).waitFor()
    await link.click()
    const facts = page.getByRole('region', { name: 'What happened' })
    await facts.getByText(user.place.name, { exact: true }).waitFor()
    t.match(await facts.textContent(), user.place.categories.join(', '))
    await page.goto('/test/events?type=user.failed_fraud&userId=cheat')
    await page.getByRole('row').filter({ hasText: 'mocked from mock provider' }).waitFor()
    await page.getByRole('link', { name: 'failed fraud' }).click()
    await facts.getByText('mocked from mock provider', { exact: true }).waitFor()
  })
  t.strictSame(complaints, [])
})
