/** The dashboard with the keyboard alone, with the mouse alone, and beside a clock that is wrong. */
import t from 'tap'
import type { Locator, Page } from 'playwright-core'
import { skipWithoutChromium } from '../kit/chromium.ts'
import { KEYS } from '../kit/server.ts'
import { until } from '../kit/waiting.ts'
import { drawingIsReady, openBrowser, openPage, settled, signIn, startWithDashboard } from './kit.ts'

/** Montevideo, where the simulated city is. */
const HERE = [-56.175, -34.899] as const
/** More presses of Tab than any page needs. */
const MOST_TABS = 120

/** Goes on with the Tab key until the element has the focus, as a person does who sees only what is focused. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor()
  for (let presses = 0; presses < MOST_TABS; presses++) {
    if ((await target.and(page.locator(':focus')).count()) > 0) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`the Tab key does not reach ${String(target)}`)
}

/** Whether the device that the map shows first has moved since. */
async function moves(page: Page): Promise<void> {
  const places = () => page.evaluate('[...window.ringfenceMap.fleet.toX.slice(0, 50)].join()')
  const before = await places()
  await until(async () => (await places()) !== before)
}

t.test('hands', { skip: skipWithoutChromium() }, async (t) => {
  const server = await startWithDashboard(t)
  const browser = await openBrowser(t)

  await t.test('with the keyboard alone', async (t) => {
    const { page, complaints } = await openPage(t, browser, server)
    const { keyboard } = page
    const button = (name: string | RegExp) => page.getByRole('button', { name })
    const press = async (target: Locator, key = 'Enter') => {
      await tabTo(page, target)
      await keyboard.press(key)
    }
    const type = async (label: string, text: string) => {
      await tabTo(page, page.getByLabel(label, { exact: true }))
      await keyboard.type(text)
    }
    await page.goto('/')
    await type('Secret key', KEYS.testSecret)
    await keyboard.press('Enter')
    await page.waitForURL(/\/test\/map/)
    await press(button('Simulate a city'))
    await page.getByText(/^[1-9]\d* here/).waitFor()
    await moves(page)

    // To the geofences and to a new one by keys.
    await page.getByRole('heading', { name: 'Events', level: 2 }).waitFor()
    await keyboard.press('g')
    await keyboard.press('l')
    await page.getByRole('heading', { name: 'Geofences', level: 1 }).waitFor()
    await keyboard.press('n')
    await page.getByRole('heading', { name: 'New geofence' }).waitFor()
    await press(button('Polygon'), 'Space')
    await type('Name', 'By keys')
    await type('Tag', 'hands')
    await type('Your id', 'keys')
    const [x, y] = HERE
    await type('Corners', `${y}, ${x}\n${y}, ${x + 0.02}\n${y + 0.02}, ${x + 0.02}\n${y + 0.02}, ${x}`)
    await press(page.getByText('Opening hours', { exact: true }))
    await tabTo(page, button(/^Monday 08:00/))
    await keyboard.press('Space')
    await keyboard.press('ArrowRight')
    await keyboard.press('Space')
    await keyboard.press('ArrowDown')
    await keyboard.press('Space')
    t.equal(await page.getByLabel('Hours on Monday').inputValue(), '08:00-10:00')
    t.equal(await page.getByLabel('Hours on Tuesday').inputValue(), '09:00-10:00')
    await press(button('Save'))
    await page.getByText('By keys was saved.').waitFor()
    const saved = (await server.api('GET', '/v1/geofences/hands/keys')).body.geofence
    t.strictSame(saved.operatingHours.Monday, [['08:00', '10:00']])

    // Rows by keys; then the hours are changed, and the page is left.
    await keyboard.press('/')
    await keyboard.type('by keys')
    await page.waitForURL(/text=by/)
    await page.getByText(/^1 shown/).waitFor()
    await tabTo(page, page.getByRole('link', { name: 'By keys' }))
    await keyboard.press('Enter')
    const monday = page.getByLabel('Hours on Monday')
    await tabTo(page, monday)
    await keyboard.press('Control+a')
    await keyboard.type('06:00-07:00')
    await press(button('Save'))
    await page.waitForURL(/\/test\/geofences$/)
    const changed = (await server.api('GET', '/v1/geofences/hands/keys')).body.geofence
    t.strictSame(changed.operatingHours.Monday, [['06:00', '07:00']])
    t.equal(changed.geometry.coordinates[0].length, 5, 'the corners stay')

    await keyboard.press('g')
    await keyboard.press('m')
    await press(button('The devices as a list'), 'Space')
    await page.getByRole('region', { name: /Devices in view/ }).waitFor()
    await press(button('End and remove it'))
    await page.getByText('The simulated city is gone').waitFor()
    t.strictSame(complaints, [])
  })

  await t.test('with the mouse alone', async (t) => {
    const { page, complaints } = await openPage(t, browser, server)
    // Texts come without keys: from a manager of passwords, or a keyboard on the screen.
    const write = async (label: string, text: string) => {
      await page.getByLabel(label, { exact: true }).click()
      await page.keyboard.insertText(text)
    }
    const click = (name: string) => page.getByRole('button', { name }).click()
    await page.goto('/')
    await write('Secret key', KEYS.testSecret)
    await click('Sign in')
    await click('Simulate a city')
    await page.getByText(/^[1-9]\d* here/).waitFor()
    await moves(page)

    await page.getByRole('link', { name: 'Geofences' }).click()
    await page.getByRole('link', { name: 'New geofence' }).click()
    await write('Name', 'By mouse')
    await write('Tag', 'hands')
    await write('Your id', 'mouse')
    await click('Polygon')
    const label = 'The geofence on the map'
    await drawingIsReady(page)
    const box = (await page.getByRole('region', { name: label }).boundingBox())!
    const corner = async (east: number, south: number) => {
      const [to, from] = [box.x + 200 + east, box.y + 200 + south]
      await page.mouse.move(to, from, { steps: 3 })
      await page.mouse.click(to, from)
    }
    const corners = page.getByLabel('Corners')
    await corner(0, 0)
    await corner(120, 0)
    await corner(120, 120)
    await corner(0, 120)
    await corner(0, 0)
    await until(async () => (await corners.inputValue()).split('\n').length === 4)
    await page.getByText('Opening hours', { exact: true }).click()
    const cell = (name: string) => page.getByRole('button', { name })
    await cell('Friday 10:00').hover()
    await page.mouse.down()
    await cell('Friday 12:00').hover()
    await page.mouse.up()
    await until(async () => (await page.getByLabel('Hours on Friday').inputValue()) !== '')
    await click('Save')
    await page.getByText('By mouse was saved.').waitFor()
    const { geofence } = (await server.api('GET', '/v1/geofences/hands/mouse')).body
    t.equal(geofence.geometry.coordinates[0].length, 5)
    t.equal(geofence.operatingHours.Friday[0][0], '10:00')

    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Map' }).click()
    await page.getByText(/^[1-9]\d* here/).waitFor()
    await click('End and remove it')
    await page.getByText('The simulated city is gone').waitFor()
    t.strictSame(complaints, [])
  })

  for (const [hours, words] of [
    [2, '2 h ahead of'],
    [-3, '3 h behind'],
  ] as const)
    await t.test(`a clock that is ${words} the server’s`, async (t) => {
      const [longitude, latitude] = HERE
      const { body } = await server.api('POST', '/v1/track', {
        deviceId: 'clock',
        latitude,
        longitude,
        accuracy: 5,
      })
      const { page, complaints } = await openPage(t, browser, server)
      await page.addInitScript(`{
        const Real = Date
        const lead = ${hours * 3_600_000}
        Date = class extends Real {
          constructor(...given) {
            if (given.length === 0) super(Real.now() + lead)
            else super(...given)
          }
          static now() {
            return Real.now() + lead
          }
        }
      }`)
      await signIn(page, `/test/users/${body.user._id}`)
      await page.getByText(`The clock of this computer is ${words} the server’s.`).waitFor()
      const seen = page.getByRole('region', { name: 'State' }).locator('time').first()
      t.match(await seen.textContent(), /^(just now|\d+ s ago)$/)
      await page.goto(`/test/events?hours=1`)
      await settled(page)

      // On the map it is as live as any: grey is for devices that have been silent.
      await page.goto(`/test/map?at=${HERE.join()}&zoom=15`)
      await page.getByText('1 here').waitFor()
      await until(async () => Number(await page.evaluate('window.ringfenceMap.points.painted')) > 0)
      const { x, y } = (await page.evaluate(
        `(({ x, y }) => ({ x: x * devicePixelRatio, y: y * devicePixelRatio }))(window.ringfenceMap.opened.map.project(${JSON.stringify(HERE)}))`,
      )) as { x: number; y: number }
      const pixel = await page.evaluate(
        `[...document.querySelector('canvas.points').getContext('2d').getImageData(${Math.round(x)}, ${Math.round(y)}, 1, 1).data].slice(0, 3).join(', ')`,
      )
      const device = await page.evaluate(
        "(() => { const probe = document.createElement('span'); probe.style.color = 'var(--device)'; document.body.append(probe); return getComputedStyle(probe).color })()",
      )
      t.match(String(device), `(${String(pixel)})`, 'the colour of a live device')
      t.strictSame(complaints, [])
    })
})
