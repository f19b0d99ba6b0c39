/**
 * The web SDK 4.5.8 as npm has it, in a real browser, on a page of another origin than the server: the widget that
 * completes addresses, and the calls of geocoding and search. Only its host is set. Its other calls are tested beside this
 * file; those of 5.2, in Node, in test/e2e/sdk.test.ts.
 */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { packageFolder } from '../../src/runtime/packageFolder.ts'
import { drivePage, skipWithoutChromium, type DrivenPage } from '../kit/chromium.ts'
import { KEYS, startServer } from '../kit/server.ts'

const fileOf = (name: string, path: string): string => join(packageFolder(name)!, 'dist', path)

/** Of the page. The SDK asks for its map library even where there is no map; 2.4 is the oldest that it takes. */
const FILES: Readonly<Record<string, { readonly type: string; readonly content: () => string | Buffer }>> = {
  '/radar.js': { type: 'text/javascript', content: () => readFileSync(fileOf('radar-sdk-js-4', 'radar.js')) },
  '/radar.css': { type: 'text/css', content: () => readFileSync(fileOf('radar-sdk-js-4', 'radar.css')) },
  '/maplibre-gl-2.js': {
    type: 'text/javascript',
    content: () => readFileSync(fileOf('maplibre-gl-2', 'maplibre-gl.js')),
  },
  '/maplibre-gl.mjs': { type: 'text/javascript', content: () => 'export default window.maplibregl' },
  '/': {
    type: 'text/html',
    content: () => `<!doctype html><html lang="en"><title>A shop</title><link rel="icon" href="data:,">
      <link rel="stylesheet" href="/radar.css"><script src="/maplibre-gl-2.js"></script>
      <script type="importmap">{ "imports": { "maplibre-gl": "/maplibre-gl.mjs" } }</script>
      <script type="module">import Radar from '/radar.js'; window.Radar = Radar</script>
      <body><div id="autocomplete"></div></body></html>`,
  },
}

async function servePage(t: Test): Promise<string> {
  const server = createServer((request, response) => {
    const file = FILES[new URL(request.url!, 'http://localhost').pathname]
    if (file === undefined) return response.writeHead(404).end()
    return response.setHeader('Content-Type', file.type).end(file.content())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

// oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
type Json = any

t.test('the web SDK 4.5.8 in a browser', { skip: skipWithoutChromium() }, async (t) => {
  const server = await startServer(t, { sample: true })
  const page = await drivePage(t, await servePage(t))
  const { run, until, complaints } = page
  await until(`window.Radar !== undefined`)
  await run(`Radar.initialize('${KEYS.testPublishable}', { host: '${server.url}' }), undefined`)
  t.equal(await run('Radar.VERSION'), '4.5.8')
  const call = async (name: string, params?: object): Promise<Json> =>
    run(`Radar.${name}(${params === undefined ? '' : JSON.stringify(params)})`)

  await t.test('the widget: type, choose with the keys, and the address is in the field', async (t) => {
    await run(`window.asked = []; window.chosen = undefined; window.failed = []
      window.widget = Radar.ui.autocomplete({
        container: 'autocomplete', near: '-34.9061,-56.1934', limit: 5, debounceMS: 20, countryCode: 'UY', expandUnits: true,
        onRequest: (params) => asked.push(params.query), onError: (error) => failed.push(String(error)),
        onSelection: (address) => { chosen = address },
      }), undefined`)
    await write(page, '18 de julio 105')
    await until(`document.querySelectorAll('.radar-autocomplete-results-item').length === 5`)
    const items = (await run(
      `[...document.querySelectorAll('.radar-autocomplete-results-item')].map(({ innerHTML }) => innerHTML.replace(/<img[^>]*>/, ''))`,
    )) as string[]
    for (const item of items)
      t.match(item, /^<b>Avenida 18 de Julio 105\d?<\/b>,? Montevideo, Uruguay$/, 'the label is in bold type')
    t.equal(await run(`document.querySelector('[role=combobox]').getAttribute('aria-expanded')`), 'true')
    for (const key of ['ArrowDown', 'ArrowDown', 'Enter']) await press(page, key)
    await until(`window.chosen !== undefined`)
    const chosen = (await run('chosen')) as Json
    t.match(chosen, {
      layer: 'address',
      street: 'Avenida 18 de Julio',
      city: 'Montevideo',
      countryCode: 'UY',
    })
    t.equal(typeof chosen.distance, 'number')
    t.equal(await run(`document.querySelector('input').value`), chosen.formattedAddress)

    await write(page, 'qwxyzqwxyz')
    await until(`document.querySelector('.radar-no-results') !== null`)
    await write(page, '(a+)+$ [b]')
    await until(`asked.at(-1) === '(a+)+$ [b]'`)
    t.strictSame(await run('failed'), [])
    await run('widget.remove(), undefined')
  })

  await t.test('the widget shows places by their names', async (t) => {
    await run(`window.asked = []
      window.widget = Radar.ui.autocomplete({ container: 'autocomplete', layers: ['place'], debounceMS: 20 }), undefined`)
    await write(page, 'teatro sol')
    await until(
      `document.querySelector('.radar-autocomplete-results-item b')?.textContent.startsWith('Teatro Sol')`,
    )
    t.match(
      await run(`document.querySelector('.radar-autocomplete-results-item').textContent`),
      /Montevideo, Uruguay/,
    )
  })

  await t.test('autocomplete', async (t) => {
    const near = { latitude: -34.9061, longitude: -56.1934 }
    const { addresses } = await call('autocomplete', {
      query: '18 de julio 1056',
      near,
      limit: 1,
      lang: 'es',
    })
    t.match(addresses, [{ addressLabel: 'Avenida 18 de Julio 1056', country: 'Uruguay' }])
    t.ok(addresses[0].distance < 100, `${addresses[0].distance} m`)
    const ofPostalCode = { query: '1414 pacific ave', postalCode: '95060', mailable: true, countryCode: 'US' }
    t.match((await call('autocomplete', ofPostalCode)).addresses, [{ addressLabel: '1414 Pacific Ave' }])
  })

  await t.test('forwardGeocode, reverseGeocode, ipGeocode', async (t) => {
    const forward = await call('forwardGeocode', {
      query: '1414 Pacific Ave, Santa Cruz, CA',
      layers: ['address'],
      country: 'US',
    })
    t.match(forward.addresses, [{ confidence: 'interpolated', postalCode: '95060', stateCode: 'CA' }])
    const { latitude, longitude } = forward.addresses[0]
    const reverse = await call('reverseGeocode', { latitude, longitude, layers: ['address', 'postalCode'] })
    t.match(reverse.addresses, [
      { addressLabel: '1414 Pacific Ave' },
      { layer: 'postalCode', addressLabel: '95060' },
    ])
    t.match(await call('ipGeocode'), { ip: '127.0.0.1', proxy: false })
  })

  await t.test('searchPlaces, searchGeofences, validateAddress', async (t) => {
    const near = { latitude: -34.9062, longitude: -56.1934 }
    const { places } = await call('searchPlaces', { near, radius: 500, categories: ['cafe'], limit: 2 })
    t.equal(places.length, 2)
    t.match(places[0], { name: /./, address: { city: 'Montevideo' } })
    const shop = {
      description: 'Shop',
      type: 'circle',
      coordinates: [near.longitude, near.latitude],
      radius: 50,
    }
    await server.api('PUT', '/v1/geofences/shops/1', shop)
    t.match((await call('searchGeofences', { near, tags: ['shops'], includeGeometry: true })).geofences, [
      { tag: 'shops', externalId: '1', geometry: { type: 'Polygon' } },
    ])
    const { address, result } = await call('validateAddress', {
      addressLabel: '1414 Pacific Avenue',
      city: 'Santa Cruz',
      stateCode: 'CA',
      postalCode: '95060',
      countryCode: 'US',
    })
    t.match(address, { formattedAddress: '1414 PACIFIC AVE, SANTA CRUZ, CA 95060 US' })
    t.match(result, { verificationStatus: 'partially verified' })
  })

  await t.test('a wrong parameter is the SDK’s own error', async (t) => {
    const failure = await run(
      `Radar.forwardGeocode({ query: 'x', layers: ['planet'] }).catch((error) => ({ name: error.name, meta: error.response?.meta }))`,
    )
    t.match(failure, { name: 'RadarBadRequestError', meta: { code: 400, param: 'layers' } })
  })

  // The style of the SDK shows a logo of its maker's site, which is not reached from here.
  const unexpected = complaints.filter((text) => !/status of 400|"url":"https:\/\/static\./.test(text))
  t.strictSame(unexpected, [], 'nothing was thrown, and no answer was refused because of its origin')
})

/** As a person does: the field has the focus, and its text is replaced. */
async function write({ run, send }: DrivenPage, text: string): Promise<void> {
  await run(`document.querySelector('input').focus(); document.querySelector('input').select()`)
  await send('Input.insertText', { text })
}

async function press({ send }: DrivenPage, key: string): Promise<void> {
  for (const type of ['keyDown', 'keyUp']) await send('Input.dispatchKeyEvent', { type, key })
}
