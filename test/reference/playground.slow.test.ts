/**
 * The playground in a real browser, as somebody tries it: an address as it is typed, places around a point, validation,
 * and what is where one clicks. Everything that is listed is on the map, and is what the API answers.
 */
import t from 'tap'
import { drivePage, skipWithoutChromium, WEBGL_FLAGS, type DrivenPage } from '../kit/chromium.ts'
import { KEYS, startServer } from '../kit/server.ts'

const skip = skipWithoutChromium()
const HELPERS = `
  globalThis.$ = (selector) => document.querySelector(selector)
  globalThis.$$ = (selector) => [...document.querySelectorAll(selector)]
  globalThis.text = (selector) => $(selector).textContent
  globalThis.fill = (selector, value) => {
    $(selector).value = value
    for (const name of ['input', 'change']) $(selector).dispatchEvent(new Event(name, { bubbles: true }))
  }
  globalThis.titles = () => $$('#results button span').map((one) => one.textContent)
  globalThis.pins = () => $$('#map .pin').map((one) => one.title)`

const server = await startServer(t, { sample: true })

async function opened(t: Parameters<typeof drivePage>[0], flags: readonly string[]): Promise<DrivenPage> {
  const page = await drivePage(t, `${server.url}/docs/playground`, flags)
  await page.run(HELPERS)
  await page.run(`fill('#key', '${KEYS.testPublishable}')`)
  return page
}

/** Types it letter by letter, with the keyboard. */
async function type({ send }: DrivenPage, text: string): Promise<void> {
  for (const key of text) await send('Input.dispatchKeyEvent', { type: 'char', text: key })
}

/** Clicks on the map, at a share of its width and height. */
async function clickMap({ run, send }: DrivenPage, x: number, y: number): Promise<void> {
  const [left, top] = (await run(`(() => {
    $('#map').scrollIntoView({ block: 'center' })
    const box = $('#map').getBoundingClientRect()
    return [box.left + box.width * ${x}, box.top + box.height * ${y}]
  })()`)) as [number, number]
  await send('Input.dispatchMouseEvent', { type: 'mouseMoved', x: left, y: top })
  for (const kind of ['mousePressed', 'mouseReleased'])
    await send('Input.dispatchMouseEvent', { type: kind, x: left, y: top, button: 'left', clickCount: 1 })
}

t.test('the playground in a browser', { skip }, async (t) => {
  const page = await opened(t, ['--window-size=1400,1000', ...WEBGL_FLAGS])
  const { run, until, complaints } = page
  await until(`$('#map canvas') !== null && text('#credit').includes('OpenStreetMap')`)

  await t.test('an address is found as one types, and is on the map', async (t) => {
    await run(`$('[name=query]').focus()`)
    await type(page, '18 de julio 10')
    await until(`titles().length > 1 && text('#call').includes('/v1/search/autocomplete')`)
    await type(page, '56')
    await until(`decodeURIComponent(text('#call')).replaceAll('+', ' ').includes('query=18 de julio 1056')`)
    await until(`titles().some((one) => one.includes('1056'))`)
    t.strictSame(await run('pins()'), await run('titles()'), 'a pin for each result')
    await run(`$('#search').requestSubmit()`)
    await until(`text('#call').includes('/v1/geocode/forward') && titles().length > 0`)
    const { body } = await server.api('GET', '/v1/geocode/forward?query=18%20de%20julio%201056')
    t.equal(((await run('titles()')) as string[]).length, body.addresses.length)
    const shown = JSON.parse((await run(`text('#answer')`)) as string)
    // The test asked a moment later than the page.
    const timeless = (addresses: unknown) =>
      JSON.stringify(addresses).replaceAll(/"currentTime":"[^"]*"/g, '')
    t.equal(timeless(shown.addresses), timeless(body.addresses), 'the answer is shown as it is')
  })

  await t.test('places around the middle of the map, and around a click', async (t) => {
    await run(`$('[name=kind][value=places]').click()`)
    t.strictSame(await run('pins()'), [], 'those of the earlier question are gone')
    await run(`$('#places').requestSubmit()`)
    await until(`titles().length > 0`)
    t.strictSame(await run('pins()'), await run('titles()'))
    const before = await run(`text('#call')`)
    await clickMap(page, 0.3, 0.6)
    await until(`text('#call') !== ${JSON.stringify(before)} && titles().length > 0`)
    t.match(await run(`text('#call')`), /near=-34\.\d+%2C-56\.\d+/)
  })

  await t.test('an address is validated', async (t) => {
    await run(`$('[name=kind][value=validate]').click()`)
    await run(`$('#validate').requestSubmit()`)
    await until(`text('#status') !== ''`)
    t.match(await run(`text('#status')`), /^(?:partially )?verified: 1414 Pacific Ave/i)
    t.match(await run(`text('#results')`), /95060/)
  })

  await t.test('what is where one clicks', async (t) => {
    await run(`$('[name=kind][value=reverse]').click()`)
    await clickMap(page, 0.5, 0.5)
    await until(`titles().length > 0`)
    const point = (await run(`$('[name=coordinates]').value`)) as string
    t.match(point, /^-?\d+\.\d{6},-?\d+\.\d{6}$/)
    t.match(await run(`text('#call')`), `coordinates=${encodeURIComponent(point)}`)
    t.strictSame(await run('pins()'), await run('titles()'))
  })

  await t.test('errors are in the words of the server, at their field', async (t) => {
    await run(`$('[name=coordinates]').value = '91,0'; $('#reverse').requestSubmit()`)
    await until(`text('#trouble') !== ''`)
    t.match(await run(`text('#trouble')`), /^400: coordinates: /)
    t.strictSame(await run(`$$('[aria-invalid]').map(({ name }) => name)`), ['coordinates'])
    await run(`fill('#key', 'nonsense'); $('#reverse').requestSubmit()`)
    await until(`text('#trouble').startsWith('401')`)
    t.equal(await run('document.activeElement.id'), 'key')
  })
  t.strictSame(
    complaints.filter((text) => !/status of 40[01]/.test(text)),
    [],
  )
})

t.test('without WebGL it says so, and the lists work', { skip }, async (t) => {
  const { run, until } = await opened(t, ['--disable-3d-apis'])
  await until(`!$('#no-map').hidden`)
  await run(`fill('[name=query]', '18 de julio 1056'); $('#search').requestSubmit()`)
  await until(`titles().length > 0`)
  t.strictSame(await run('pins()'), [])
})
