/**
 * The web SDKs 3.7.1, 4.5.8 and 5.2 from npm, unmodified but for the host that they are told, in Node and in headless
 * Chromium, from another origin than the server: every public call, the errors that they make of our statuses, and the
 * map of 4.5.8. (The autocomplete widget of 4.5.8: test/compatibility; the map plugin of 5.2: test/maps. The
 * autocomplete plugin of 5.2 is not on npm.)
 */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { registerHooks } from 'node:module'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { packageFolder } from '../../src/runtime/packageFolder.ts'
import { command } from '../cli/command.ts'
import { drivePage, skipWithoutChromium, WEBGL_FLAGS, type DrivenPage } from '../kit/chromium.ts'
import { freePort } from '../kit/freePort.ts'
import { KEYS, startServer, type Server } from '../kit/server.ts'
import { until } from '../kit/waiting.ts'
import { everyCall, failureOf, type SdkUnderTest } from './everyCall.ts'
import { standIn } from './standIn.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- SDKs without types, and answers of every shape
type Json = any

const VERSIONS = { 3: '3.7.1', 4: '4.5.8', 5: '5.2.0' } as const
const PACKAGES = { 3: 'radar-sdk-js-3', 4: 'radar-sdk-js-4', 5: 'radar-sdk-js' } as const
const GENERATIONS = [3, 4, 5] as const
type Generation = (typeof GENERATIONS)[number]

const POSITION = { latitude: -34.9055, longitude: -56.1851, accuracy: 20 }

/** Static members that are no calls of the server, or that are tested elsewhere. */
const OTHERS: Readonly<Record<Generation, readonly string[]>> = {
  3: ['STATUS'],
  4: [
    // The map is below, the rest in test/compatibility.
    'ui',
    // They need a program of Radar on the same computer and tokens that only Radar can sign: docs/guides/moving.md.
    'trackVerified',
    'startTrackingVerified',
    'stopTrackingVerified',
    'getVerifiedLocationToken',
    'clearVerifiedLocationToken',
    'setExpectedJurisdiction',
    'onTokenUpdated',
    'clear',
    'onError',
  ],
  // The map plugin is in test/maps.
  5: ['registerPlugin', '_plugins', '_getPluginContext', 'errors', 'clear', 'onError'],
}

const server = await startServer(t, { sample: true })
await server.api('PUT', '/v1/geofences/shops/1', {
  description: 'Shop',
  type: 'circle',
  coordinates: [POSITION.longitude, POSITION.latitude],
  radius: 100,
})
/** With limits, a blocked country and no map region. */
const strict = await startServer(t, { env: { RINGFENCE_RATE_LIMITS: 'on' } })
await strict.api('PATCH', '/v1/settings', { blockedCountries: ['UY'] }, KEYS.liveSecret)
// In which country a location lies is known once the data of the world are read.
let asked = 0
await until(async () => {
  const update = { ...POSITION, deviceId: `warm-${asked++}` }
  return (await strict.api('POST', '/v1/track', update, KEYS.livePublishable)).status === 451
})

const sdkOf = (generation: Generation): SdkUnderTest => ({
  generation,
  key: KEYS.testPublishable,
  host: server.url,
})

/** What every generation sees, wherever it runs. */
function checkCalls(t: Test, generation: Generation, seen: Json): void {
  t.equal(seen.version, VERSIONS[generation])
  t.match(seen.getLocation, { latitude: POSITION.latitude, longitude: POSITION.longitude })
  t.match(seen.trackOnce, {
    userId: `person-${generation}`,
    description: 'A person',
    metadata: { plan: 'gold', age: 3 },
    geofences: ['shops/1'],
  })
  t.strictSame(seen.getContext, { geofences: 1, country: 'UY' })
  t.strictSame(seen.startTrip, [`trip-${generation}`, { van: 7 }])
  t.strictSame(seen.updateTrip, { van: 8 })
  t.equal(seen.getTripOptions, `trip-${generation}`)
  t.equal(seen.completeTrip, 'completed')
  t.equal(seen.cancelTrip, 'canceled')
  t.equal(seen.clearTripOptions, null)
  t.strictSame(seen.logConversion, ['bought', { sku: 'a', revenue: 12.5 }])
  t.equal(seen.searchGeofences, 1)
  t.equal(seen.searchPlaces, 3)
  for (const name of ['autocomplete', 'forwardGeocode', 'reverseGeocode']) t.equal(seen[name], true, name)
  t.equal(seen.ipGeocode, true)
  t.equal(seen.validateAddress, 'string')
  t.strictSame(seen.distance, [true, true])
  t.strictSame(seen.matrix, [2])
}

interface Case {
  readonly what: string
  readonly status: string
  readonly name: string
  readonly sdk: Partial<SdkUnderTest>
  readonly call: readonly [name: string, ...given: Json[]]
  /** How often it is called; the last answer counts. */
  readonly times?: number
}

/** Each status of the interface, as the server really gives it. @param closed a host where nobody listens */
function casesOf(generation: Generation, closed: string): readonly Case[] {
  const route = {
    origin: POSITION,
    destination: { latitude: -34.9, longitude: -56.17 },
    modes: ['car'],
    units: 'metric',
  }
  const track = (latitude: number) => ['trackOnce', { ...POSITION, latitude }] as const
  const distance = [generation === 3 ? 'getDistance' : 'distance', route] as const
  const update = ['updateTrip', { externalId: 'nobody' }, 'completed'] as const
  const limited = { host: strict.url }
  const unknown = 'UNKNOWN'
  return [
    { what: '400', status: 'BAD_REQUEST', name: 'BadRequest', sdk: {}, call: track(91) },
    {
      what: '401',
      status: 'UNAUTHORIZED',
      name: 'Unauthorized',
      sdk: { key: `prj_test_pk_${'a'.repeat(40)}` },
      call: track(1),
    },
    // No call of these SDKs needs a secret key, so the base path leads to one that does.
    {
      what: '403',
      status: 'FORBIDDEN',
      name: 'Forbidden',
      sdk: { host: `${server.url} v1/users?x=` },
      call: ['ipGeocode'],
    },
    { what: '404', status: 'NOT_FOUND', name: 'NotFound', sdk: {}, call: update },
    { what: '429', status: 'RATE_LIMIT', name: 'RateLimit', sdk: limited, call: track(1), times: 2 },
    {
      what: '451',
      status: unknown,
      name: 'Unknown',
      sdk: { ...limited, key: KEYS.livePublishable },
      call: track(POSITION.latitude),
    },
    { what: '503', status: 'SERVER', name: 'Server', sdk: limited, call: distance },
    {
      what: 'nobody answers',
      // The first SDK takes it for a failure of the server.
      status: generation === 3 ? 'SERVER' : 'NETWORK',
      name: 'Network',
      sdk: { host: closed },
      call: track(1),
    },
  ]
}

function checkFailure(t: Test, generation: Generation, one: Case, failure: Json): void {
  const expected = generation === 3 ? `ERROR_${one.status}` : `Radar${one.name}Error`
  t.equal(failure.name, expected, one.what)
  if (generation !== 3) t.equal(failure.status, `ERROR_${one.status}`)
  if (/^\d/.test(one.what)) t.match(failure.meta, { code: Number(one.what), message: /./ })
  if (one.what === '400') t.match(failure.meta, { param: 'latitude', message: /\[-90, 90\]/ })
  if (one.what === '429') t.equal(failure.meta.type, 'second')
}

/** Makes each failing call, by a function that runs where the SDK is. */
async function checkFailures(
  t: Test,
  generation: Generation,
  fail: (sdk: SdkUnderTest, call: Case['call']) => Promise<Json>,
): Promise<void> {
  const closed = `http://127.0.0.1:${await freePort()}`
  for (const one of casesOf(generation, closed)) {
    const sdk = { ...sdkOf(generation), ...one.sdk }
    let failure: Json
    for (let i = 0; i < (one.times ?? 1); i++) failure = await fail(sdk, one.call)
    checkFailure(t, generation, one, failure)
  }
  await operate('disable')
  const failure = await fail(sdkOf(generation), ['ipGeocode'])
  await operate('enable')
  checkFailure(
    t,
    generation,
    { what: '402', status: 'PAYMENT_REQUIRED', name: 'PaymentRequired', sdk: {}, call: ['ipGeocode'] },
    failure,
  )
}

async function operate(what: 'disable' | 'enable'): Promise<void> {
  const { code, output } = await command(['projects', what, '1', '--data', server.data])
  if (code !== 0) throw new Error(output)
}

/** Calls that a test makes of an SDK: all of its public ones but those that are listed. */
function missingCalls(generation: Generation, members: readonly string[]): string[] {
  const made = new Set(
    [...everyCall.toString().matchAll(/'([a-zA-Z]+)'|Radar\.([a-zA-Z]+)/g)].map(([, a, b]) => a ?? b),
  )
  return members.filter((name) => !made.has(name) && !OTHERS[generation].includes(name))
}

t.test('in Node', async (t) => {
  standIn(POSITION)
  // Maps need a browser; without one, their library only has to be there.
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === 'maplibre-gl'
        ? {
            url: 'data:text/javascript,export default { Map: class {}, Marker: class {}, Popup: class {} }',
            shortCircuit: true,
          }
        : next(specifier, context),
  })
  for (const generation of GENERATIONS) {
    await t.test(VERSIONS[generation], async (t) => {
      // 4.5.8 names its file for bundlers alone.
      const loaded = (await import(
        generation === 4 ? join(packageFolder(PACKAGES[4])!, 'dist/radar.js') : PACKAGES[generation]
      )) as Json
      const Radar = loaded.default?.initialize === undefined ? loaded.default.default : loaded.default
      t.strictSame(missingCalls(generation, membersOf(Radar)), [], 'every public call is made')
      checkCalls(t, generation, await everyCall(Radar, sdkOf(generation)))
      await checkFailures(t, generation, (sdk, call) => failureOf(Radar, sdk, ...call))
    })
  }
})

t.test('in Chromium', { skip: skipWithoutChromium() }, async (t) => {
  const pages = await servePages(t)
  const page = await drivePage(t, `${pages}/5`, WEBGL_FLAGS)
  for (const generation of GENERATIONS) {
    await t.test(VERSIONS[generation], async (t) => {
      await page.send('Page.navigate', { url: `${pages}/${generation}` })
      await page.until(`location.pathname === '/${generation}' && window.isReady === true`)
      const run = (source: string, ...given: readonly unknown[]) =>
        page.run(`(${source})(Radar, ...${JSON.stringify(given)})`) as Promise<Json>
      checkCalls(t, generation, await run(everyCall.toString(), sdkOf(generation)))
      await checkFailures(t, generation, (sdk, call) => run(failureOf.toString(), sdk, ...call))
    })
  }

  await t.test('the map of 4.5.8', async (t) => {
    await page.send('Page.navigate', { url: `${pages}/4` })
    await page.until(`location.pathname === '/4' && window.isReady === true`)
    await showMap(page, server)
    await page.until(`window.isIdle === true`)
    t.ok(Number(await page.run(`map.queryRenderedFeatures().length`)) > 100, 'the map is drawn')
    t.match(await page.run(`map.getStyle().sources.map.attribution`), /openstreetmap\.org\/copyright/)
    t.equal(await page.run(`document.querySelectorAll('.maplibregl-marker').length`), 1)
    t.match(await page.run(`document.querySelector('.maplibregl-popup').textContent`), /Here/)
    t.strictSame(await page.run('window.troubles'), [])
  })
  // That statuses were errors is what was tested; the logo of the map is on a site of Radar.
  const unexpected = page.complaints.filter(
    (text) =>
      !/status of \d+|ERR_CONNECTION_REFUSED|logo|ERR_NAME_NOT_RESOLVED|ERR_INTERNET_DISCONNECTED/.test(text),
  )
  t.strictSame(unexpected, [])
})

function membersOf(Radar: object): string[] {
  return Object.getOwnPropertyNames(Radar).filter((name) => !['length', 'name', 'prototype'].includes(name))
}

async function showMap(page: DrivenPage, { url: host }: Server): Promise<void> {
  const options = { host, debug: false, logLevel: 'none' }
  await page.run(`
    Radar.initialize('${KEYS.testPublishable}', ${JSON.stringify(options)})
    window.troubles = []
    window.map = Radar.ui.map({
      container: 'map', style: 'radar-light-v1', center: [${POSITION.longitude}, ${POSITION.latitude}], zoom: 15, language: 'es',
    })
    map.on('error', ({ error }) => troubles.push(String(error)))
    map.once('idle', () => { window.isIdle = true })
    Radar.ui.marker({ color: '#f00' }).setLngLat([${POSITION.longitude}, ${POSITION.latitude}]).addTo(map)
    Radar.ui.popup({ text: 'Here' }).setLngLat([${POSITION.longitude}, ${POSITION.latitude}]).addTo(map)
    1`)
}

/** A server for the pages, at another origin than the API, as those of apps are. */
async function servePages(t: Test): Promise<string> {
  const files: Readonly<Record<string, string>> = {
    '3.js': join(packageFolder(PACKAGES[3])!, 'dist/radar.js'),
    '4.js': join(packageFolder(PACKAGES[4])!, 'dist/radar.js'),
    '5.js': join(packageFolder(PACKAGES[5])!, 'dist/radar.js'),
    'maplibre-gl-2.js': join(packageFolder('maplibre-gl-2')!, 'dist/maplibre-gl.js'),
  }
  const pages: Readonly<Record<string, string>> = {
    3: `<script src="/3.js"></script><script>window.Radar = Radar; window.isReady = true</script>`,
    4: `<script src="/maplibre-gl-2.js"></script>
      <script type="importmap">{ "imports": { "maplibre-gl": "data:text/javascript,export default window.maplibregl" } }</script>
      <script type="module">import Radar from '/4.js'; window.Radar = Radar; window.isReady = true</script>`,
    5: `<script type="module">import Radar from '/5.js'; window.Radar = Radar; window.isReady = true</script>`,
  }
  // The browser has no position of its own.
  const position = `<script>navigator.geolocation.getCurrentPosition = (done) => done({ coords: ${JSON.stringify(POSITION)} })</script>`
  const pageServer = createServer((request, response) => {
    const name = request.url!.slice(1)
    if (Object.hasOwn(files, name))
      return response.setHeader('Content-Type', 'text/javascript').end(readFileSync(files[name]!))
    if (!Object.hasOwn(pages, name)) return response.writeHead(204).end()
    response.setHeader('Content-Type', 'text/html; charset=utf-8')
    response.end(
      `<!doctype html><title>app</title>${position}<div id="map" style="width: 600px; height: 400px"></div>${pages[name]}`,
    )
  })
  await new Promise<void>((resolve) => pageServer.listen(0, '127.0.0.1', resolve))
  t.teardown(() => pageServer.close())
  return `http://localhost:${(pageServer.address() as AddressInfo).port}`
}
