/**
 * What somebody does who tries the dashboard: from the invitation to the other environment, with one hand after the other. The server is
 * only asked whether what the page says is so.
 */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Locator, Page } from 'playwright-core'
import { until } from '../kit/waiting.ts'
import type { Hand } from './hand.ts'
import { drawingIsReady } from './kit.ts'

/** What the trial needs of a server. */
export interface Tried {
  readonly url: string
  // oxlint-disable-next-line typescript/no-explicit-any -- answers of every shape are looked into
  api(method: string, path: string): Promise<{ readonly body: any }>
}

/** The first person, and how another one gets a browser. */
export interface Trial {
  readonly server: Tried
  readonly hand: Hand
  /** The link of the first person's invitation. */
  readonly invitation: string
  /** A hand for somebody else, in a browser of their own. */
  readonly other: () => Promise<Hand>
}

const PASSWORD = 'a long enough secret'
/** Beside the centre of the map: how far a corner of the drawn geofence is, in pixels. */
const CORNER = 180

/** Does everything with one hand. @throws Error with what did not work */
export async function tryAll({ server, hand, invitation, other }: Trial): Promise<void> {
  const { page } = hand
  const tag = `by-${hand.name}`
  const name = `Around a device, by ${hand.name}`
  await accepts(hand, invitation, 'Ann')
  await simulates(hand)
  await surroundsDevice(hand, name, tag)
  await until(async () => (await eventsOf(server, tag)).includes('user.entered_geofence'))
  await hand.press(pages(page).getByRole('link', { name: 'Map', exact: true }))
  await page.getByRole('region', { name: 'Events as they happen' }).getByText(name).first().waitFor()
  await editsHours(server, hand, name, tag)
  await imports(server, hand)
  await testsWebhook(hand)
  await asksWhy(hand)
  await replacesKey(hand)
  const link = await invites(hand)
  await isRefused(await other(), link)
  await restores(server, hand, name, tag)
  await switches(hand)
  await hand.press(pages(page).getByRole('link', { name: 'Map', exact: true }))
  await hand.press(page.getByRole('button', { name: 'End and remove it' }))
  await page.getByText('The simulated city is gone').waitFor()
  await hand.press(page.locator('summary', { hasText: 'Ann' }))
  await hand.press(page.getByRole('button', { name: 'Sign out' }))
  await page.getByRole('heading', { name: 'Sign in to Ringfence' }).waitFor()
}

function pages(page: Page): Locator {
  return page.getByRole('navigation', { name: 'Pages' })
}

function field(page: Page | Locator, label: string): Locator {
  return page.getByLabel(label, { exact: true })
}

function button(page: Page | Locator, name: string | RegExp): Locator {
  return page.getByRole('button', { name, exact: typeof name === 'string' })
}

/** The types of the events of geofences with a tag. */
async function eventsOf(server: Tried, tag: string): Promise<readonly string[]> {
  const { body } = await server.api('GET', `/v1/events?tag=${tag}&limit=100`)
  return body.events.map(({ type }: { type: string }) => type)
}

async function accepts(hand: Hand, link: string, name: string): Promise<void> {
  const { page } = hand
  const { pathname, hash } = new URL(link)
  await page.goto(pathname + hash)
  await hand.write(field(page, 'Your name'), name)
  await hand.write(field(page, 'Password'), PASSWORD)
  await hand.press(button(page, 'Set the password and sign in'))
  await page.waitForURL(/\/test\/map/)
}

/** A city drives, and its events come. */
async function simulates(hand: Hand): Promise<void> {
  const { page } = hand
  await hand.press(button(page, 'Simulate a city'))
  await page.getByText(/^[1-9]\d* here/).waitFor()
  const places = () => page.evaluate('[...window.ringfenceMap.fleet.toX.slice(0, 50)].join()')
  const before = await places()
  await until(async () => (await places()) !== before)
  const events = page.getByRole('region', { name: 'Events as they happen' })
  await events.getByRole('listitem').nth(1).waitFor()
}

/** Saves a geofence, and sees the message about it. The message about an earlier change stays for some seconds and says the same. */
async function saves(hand: Hand, name: string): Promise<void> {
  const message = hand.page.getByText(`${name} was saved.`)
  await message.waitFor({ state: 'hidden' })
  await hand.press(button(hand.page, 'Save'))
  await message.waitFor()
}

/** A geofence around a device that moves: drawn with the mouse, typed with the keyboard. */
async function surroundsDevice(hand: Hand, name: string, tag: string): Promise<void> {
  const { page } = hand
  if (hand.name === 'mouse') await choosesDevice(page)
  else {
    await hand.press(button(page, 'The devices as a list'))
    const devices = page.getByRole('region', { name: /Devices in view/ })
    await hand.press(devices.getByRole('link').first())
    await page.getByRole('region', { name: 'State' }).waitFor()
  }
  await hand.press(page.getByRole('link', { name: 'Geofence here' }))
  await page.getByRole('heading', { name: 'New geofence' }).waitFor()
  await hand.write(field(page, 'Name'), name)
  await hand.write(field(page, 'Tag'), tag)
  await hand.write(field(page, 'Your id'), '1')
  if (hand.name === 'keyboard') await hand.write(field(page, 'Radius in metres'), '600')
  else await draws(hand)
  await saves(hand, name)
}

/** Clicks on a device where the map shows it. */
async function choosesDevice(page: Page): Promise<void> {
  const nearest = `(() => {
    const { fleet, opened, points } = window.ringfenceMap
    const canvas = opened.map.getCanvas().getBoundingClientRect()
    const [x, y] = [canvas.width / 2, canvas.height / 2]
    let best
    for (const { location: { coordinates } } of fleet.positions) {
      const at = opened.map.project(coordinates)
      const away = Math.hypot(at.x - x, at.y - y)
      if (best === undefined || away < best.away) best = { x: canvas.x + at.x, y: canvas.y + at.y, away }
    }
    return best
  })()`
  const card = page.getByRole('region', { name: /^Device / })
  await until(async () => {
    const { x, y } = (await page.evaluate(nearest)) as { x: number; y: number }
    await page.mouse.click(x, y)
    return (await card.count()) > 0
  })
}

async function draws(hand: Hand): Promise<void> {
  const { page } = hand
  const map = page.getByRole('region', { name: 'The geofence on the map' })
  // The device drives on meanwhile, so there is more around it.
  for (let steps = 0; steps < 2; steps++) await hand.press(button(map, 'Zoom out'))
  await hand.press(button(page, 'Polygon'))
  await drawingIsReady(page)
  const box = (await map.boundingBox())!
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2]
  for (const [east, south] of [
    [-1, -1],
    [1, -1],
    [1, 1],
    [-1, 1],
    [-1, -1],
  ] as const) {
    await page.mouse.move(x + east * CORNER, y + south * CORNER, { steps: 3 })
    await page.mouse.click(x + east * CORNER, y + south * CORNER)
  }
  await until(async () => (await field(page, 'Corners').inputValue()).split('\n').length === 4)
}

async function editsHours(server: Tried, hand: Hand, name: string, tag: string): Promise<void> {
  const { page } = hand
  await hand.press(pages(page).getByRole('link', { name: 'Geofences' }))
  await hand.press(page.getByRole('link', { name, exact: true }))
  await hand.press(page.getByText('Opening hours', { exact: true }))
  await hand.openHours('Friday', 10, 12)
  await until(async () => (await field(page, 'Hours on Friday').inputValue()) === '10:00-13:00')
  await saves(hand, name)
  const { geofence } = (await server.api('GET', `/v1/geofences/${tag}/1`)).body
  assert.deepEqual(geofence.operatingHours.Friday, [['10:00', '13:00']])
}

async function imports(server: Tried, hand: Hand): Promise<void> {
  const { page } = hand
  const tag = `shops-by-${hand.name}`
  const rows = [
    'description,tag,externalId,type,coordinates,radius',
    `One shop,${tag},1,circle,"[6.77,51.22]",100`,
    `Two shop,${tag},2,circle,"[6.78,51.22]",5`,
    `Three shop,${tag},3,circle,"[6.79,51.22]",200`,
  ]
  await hand.press(pages(page).getByRole('link', { name: 'Geofences' }))
  await hand.press(button(page, 'Import'))
  // The window of the system in which a file is chosen is not part of the page.
  const chooser = page.waitForEvent('filechooser')
  await hand.press(page.locator('.drop input'))
  await (
    await chooser
  ).setFiles({ name: 'shops.csv', mimeType: 'text/csv', buffer: Buffer.from(rows.join('\n')) })
  await page.getByText(/3 rows, 2 new, 0 known, 1 refused/).waitFor()
  await page
    .getByRole('region', { name: 'Refused rows' })
    .getByText(/radius/i)
    .first()
    .waitFor()
  await hand.press(button(page, 'Import 2 of 3'))
  await page.getByText('2 created, 0 updated, 1 refused.').waitFor()
  await hand.press(button(page.getByRole('dialog'), 'Close').last())
  assert.equal((await server.api('GET', `/v1/geofences?tag=${tag}`)).body.geofences.length, 2)
}

async function testsWebhook(hand: Hand): Promise<void> {
  const { page } = hand
  let received = 0
  const receiver = createServer((request, response) => {
    request.resume()
    received++
    response.end('thanks')
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  try {
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`
    await hand.press(pages(page).getByRole('link', { name: 'Webhooks' }))
    await hand.press(button(page, 'New webhook'))
    await hand.write(field(page, 'URL'), url)
    await hand.write(field(page, 'Only these tags'), 'nothing-has-it')
    await hand.press(button(page, 'Create'))
    await page.getByRole('heading', { name: 'The secret' }).waitFor()
    await hand.press(button(page.getByRole('dialog'), 'Close'))
    await hand.press(page.getByRole('link', { name: url }))
    await hand.press(button(page, 'Send a test'))
    await page.getByText('The receiver answered 200.').waitFor()
    assert.equal(received, 1)
  } finally {
    receiver.close()
  }
}

/** Why something happened to a user, and why nothing of a geofence far away. */
async function asksWhy(hand: Hand): Promise<void> {
  const { page } = hand
  await hand.press(pages(page).getByRole('link', { name: 'Events' }))
  await hand.press(page.locator('tr[data-row]', { hasText: 'entered' }).getByRole('link').first())
  await hand.press(page.getByRole('region', { name: 'What happened' }).getByRole('link').first())
  await hand.press(page.getByRole('link', { name: 'Explain' }))
  await page.getByRole('heading', { name: 'Why? The last update, explained' }).waitFor()
  const near = page.getByRole('region', { name: 'Geofences near the update' })
  const candidate = near.locator('.candidate button').first()
  await hand.press(candidate)
  assert.equal(await candidate.getAttribute('aria-pressed'), 'true')
  await hand.write(page.getByLabel(/Why nothing/), 'One shop')
  await page.getByText('It was too far away to matter').waitFor()
}

async function replacesKey(hand: Hand): Promise<void> {
  const { page } = hand
  await hand.press(pages(page).getByRole('link', { name: 'Keys' }))
  await hand.press(button(page.locator('.key-row', { hasText: 'publishable' }), 'Replace').first())
  await hand.press(button(page.getByRole('dialog'), 'Replace'))
  await page.getByText('This is the new key. It is shown only now.').waitFor()
  assert.match((await page.locator('dialog pre').textContent())!, /^prj_test_pk_/)
  await hand.press(button(page.getByRole('dialog'), 'Close'))
}

/** Returns the link for the reader who is invited. */
async function invites(hand: Hand): Promise<string> {
  const { page } = hand
  await hand.press(pages(page).getByRole('link', { name: 'Members' }))
  await hand.press(button(page, 'Invite'))
  const dialog = page.getByRole('dialog')
  await hand.write(field(dialog, 'E-mail'), `reader-by-${hand.name}@example.com`)
  await hand.write(field(dialog, 'Name'), 'Rita')
  await hand.press(button(dialog, 'Make the link'))
  await page.getByRole('heading', { name: 'The link' }).waitFor()
  const link = (await dialog.locator('pre').textContent())!.trim()
  await hand.press(button(dialog, 'Close'))
  return link
}

/** The reader looks at a geofence and cannot change it; who is a member is not for readers. */
async function isRefused(hand: Hand, link: string): Promise<void> {
  const { page } = hand
  await accepts(hand, link, 'Rita')
  await hand.press(pages(page).getByRole('link', { name: 'Geofences' }))
  await hand.press(page.getByRole('link', { name: 'One shop' }).first())
  await page.getByText('Your role may look at geofences.').waitFor()
  assert.equal(await button(page, 'Save').count(), 0)
  await hand.press(pages(page).getByRole('link', { name: 'Members' }))
  await page
    .getByRole('alert')
    .filter({ hasText: /Forbidden/ })
    .waitFor()
  assert.equal(await button(page, 'Invite').count(), 0)
}

/** The hours go away again. */
async function restores(server: Tried, hand: Hand, name: string, tag: string): Promise<void> {
  const { page } = hand
  await hand.press(pages(page).getByRole('link', { name: 'Audit' }))
  const entry = page
    .locator('.entry', { hasText: 'geofence changed' })
    .filter({ hasText: `${tag}/1` })
    .first()
  await hand.press(entry.locator('summary'))
  await hand.press(button(entry, 'Restore what was before'))
  await hand.press(button(page.getByRole('dialog'), 'Restore'))
  await page.getByText(`${tag}/1 is as it was before.`).waitFor()
  const { geofence } = (await server.api('GET', `/v1/geofences/${tag}/1`)).body
  assert.equal(geofence.description, name)
  assert.equal(geofence.operatingHours, undefined)
}

/** The other environment has nothing of this one. */
async function switches(hand: Hand): Promise<void> {
  const { page } = hand
  const environments = page.getByRole('navigation', { name: 'Environment' })
  await hand.press(environments.getByRole('link', { name: 'Live' }))
  await page.waitForURL(/\/live\//)
  await hand.press(pages(page).getByRole('link', { name: 'Geofences' }))
  await page.getByRole('heading', { name: 'No geofence yet' }).waitFor()
  await hand.press(pages(page).getByRole('link', { name: 'Users' }))
  await page.getByRole('heading', { level: 1, name: 'Users' }).waitFor()
  await until(async () => (await page.locator('.skeleton').count()) === 0)
  assert.equal(await page.locator('tr[data-row]').count(), 0)
  assert.equal(await page.getByText('TEST DATA').count(), 0)
  await hand.press(environments.getByRole('link', { name: 'Test' }))
  await page.waitForURL(/\/test\//)
  await page.locator('tr[data-row]').first().waitFor()
}
