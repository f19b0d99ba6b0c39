/**
 * The public web SDK from npm, directed to a real server only by its host option. For native SDKs see native.test.ts.
 * Node lacks what a browser has. The test therefore gives the SDK a window, storage, a position, and a fetch that
 * follows the cross-origin rules: it sends a preflight request first, and shows only the response headers that it
 * may.
 */
import Radar from 'radar-sdk-js'
import t from 'tap'
import { KEYS } from '../kit/server.ts'
import { briefly, north, startApi, type Json } from './contract.ts'
import { until } from '../kit/waiting.ts'

const { testPublishable, livePublishable, liveSecret } = KEYS
const ORIGIN = 'https://app.example'
const SAFE_HEADERS = new Set([
  'cache-control',
  'content-language',
  'content-length',
  'content-type',
  'expires',
])

const plainFetch = globalThis.fetch
/** What the SDK has sent, newest last. */
const sent: { method: string; url: URL; body: Json; status: number }[] = []

/** The IP address of the browser; `''`: that of this test. */
let requester = ''

/** A cross-origin fetch like that of browsers (fetch.spec.whatwg.org, CORS protocol), for calls without credentials. */
async function browserFetch(url: string, init: Json): Promise<Response> {
  const names = Object.keys(init.headers).map((name) => name.toLowerCase())
  const preflight = await plainFetch(url, {
    method: 'OPTIONS',
    headers: {
      origin: ORIGIN,
      'access-control-request-method': init.method,
      'access-control-request-headers': names.sort().join(','),
    },
  })
  const list = (name: string) =>
    (preflight.headers.get(name) ?? '').split(',').map((text) => text.trim().toLowerCase())
  if (!preflight.ok) throw new TypeError(`preflight: ${preflight.status}`)
  if (!['*', ORIGIN].includes(preflight.headers.get('access-control-allow-origin') ?? ''))
    throw new TypeError('preflight: origin not allowed')
  if (!list('access-control-allow-methods').includes(init.method.toLowerCase()))
    throw new TypeError(`preflight: ${init.method} not allowed`)
  for (const name of names)
    if (!list('access-control-allow-headers').includes(name))
      throw new TypeError(`preflight: ${name} not allowed`)
  if (!(Number(preflight.headers.get('access-control-max-age')) > 0))
    throw new TypeError('preflight: not cacheable')

  // As a reverse proxy adds it.
  const headersOfProxy = requester === '' ? {} : { 'x-forwarded-for': requester }
  const answer = await plainFetch(url, {
    ...init,
    headers: { ...init.headers, ...headersOfProxy, origin: ORIGIN },
  })
  if (!['*', ORIGIN].includes(answer.headers.get('access-control-allow-origin') ?? ''))
    throw new TypeError('origin not allowed')
  const exposed = (answer.headers.get('access-control-expose-headers') ?? '').toLowerCase()
  const headers = new Headers()
  for (const [name, value] of answer.headers)
    if (SAFE_HEADERS.has(name) || exposed.includes(name)) headers.set(name, value)
  const body = init.body === undefined ? undefined : JSON.parse(init.body)
  sent.push({ method: init.method, url: new URL(url), body, status: answer.status })
  return new Response(await answer.text(), { status: answer.status, headers })
}

const stored = new Map<string, string>()
const position = { latitude: 0, longitude: 0, accuracy: 0 }
Object.assign(globalThis, {
  window: {
    localStorage: {
      getItem: (key: string) => stored.get(key) ?? null,
      setItem: (key: string, value: string) => stored.set(key, String(value)),
      removeItem: (key: string) => stored.delete(key),
      clear: () => stored.clear(),
    },
  },
  fetch: (url: string, init: Json = {}) =>
    init.headers?.['X-Radar-Device-Type'] === 'Web' ? browserFetch(url, init) : plainFetch(url, init),
})
Object.defineProperty(globalThis.navigator, 'geolocation', {
  value: { getCurrentPosition: (done: (found: Json) => void) => done({ coords: position }) },
})

const api = await startApi(t, { env: { RINGFENCE_TRUSTED_PROXIES: '127.0.0.1' } })
const here: [number, number] = [10, 50]
const shop = await api.circle('shops/1', here, 100, { metadata: { floor: 2 } })
await api.circle('cafes/1', here, 200)

/** A browser that has never visited the page. */
function start(key: string = testPublishable, host: string = api.server.url): void {
  stored.clear()
  Radar.initialize(key, { host, debug: false, logLevel: 'none' } as Json)
}

const trackOnce = (params: Json = {}) => Radar.trackOnce(params) as Promise<Json>
const lastTrack = () => sent.findLast(({ url }) => url.pathname === '/v1/track')!

t.test('trackOnce with a given location', async (t) => {
  start()
  const { user, events, location } = await trackOnce({ latitude: here[1], longitude: here[0], accuracy: 5 })
  t.strictSame(briefly(events).sort(), ['entered cafes/1 3', 'entered shops/1 3'])
  t.strictSame(location, { latitude: here[1], longitude: here[0], accuracy: 5 })
  t.equal(user.deviceId, stored.get('radar-deviceId'))
  t.match(user, { foreground: true, stopped: true, deviceType: 'Web', live: false, locationAccuracy: 5 })
  t.equal(user.geofences.length, 2)
  const { body } = lastTrack()
  t.match(
    body,
    { userId: null, description: null, metadata: null, sdkVersion: /^\d/ },
    'nulls that mean absent',
  )
  for (const name of ['userId', 'description', 'metadata']) t.notOk(name in user, name)

  const out = await trackOnce({ latitude: north(here[1], 1000), longitude: here[0], accuracy: 5 })
  t.strictSame(briefly(out.events).sort(), ['exited cafes/1 3', 'exited shops/1 3'])
  t.equal(out.user._id, user._id)
})

t.test('trackOnce where the browser is', async (t) => {
  start()
  Object.assign(position, { latitude: here[1], longitude: here[0], accuracy: 30 })
  const { events, user } = await trackOnce()
  t.equal(events.length, 2)
  t.equal(user.locationAccuracy, 30)
})

t.test('trackOnce without accuracy', async (t) => {
  start()
  const { events, user } = await trackOnce({ latitude: here[1], longitude: here[0] })
  t.strictSame(briefly(events).sort(), ['entered cafes/1 1', 'entered shops/1 1'])
  t.notOk('locationAccuracy' in user)
})

t.test('a user logs in, with metadata and a trip', async (t) => {
  start()
  const location = { latitude: here[1], longitude: here[0], accuracy: 5 }
  const anonymous = await trackOnce(location)
  Radar.setUserId('web-user')
  Radar.setDescription('A user')
  Radar.setMetadata({ plan: 'gold', age: 3, beta: true })
  const known = await trackOnce(location)
  t.equal(known.user._id, anonymous.user._id)
  t.strictSame(known.events, [])
  t.match(known.user, {
    userId: 'web-user',
    description: 'A user',
    metadata: { plan: 'gold', age: 3, beta: true },
  })
  const trip = {
    externalId: 'trip-1',
    destinationGeofenceTag: 'shops',
    destinationGeofenceExternalId: '1',
    mode: 'car',
  }
  t.equal((await trackOnce({ ...location, tripOptions: trip })).user._id, known.user._id, 'the same user')
  t.equal((await api.call('GET', '/v1/users/web-user')).body.user._id, known.user._id)
  const events = (await api.call('GET', `/v1/events?deviceId=${known.user.deviceId}`)).body.events
  const ofTrips = events.filter((event: Json) => event.trip !== undefined)
  t.strictSame(
    events
      .filter((event: Json) => !ofTrips.includes(event))
      .map((event: Json) => event._id)
      .sort(),
    anonymous.events.map((event: Json) => event._id).sort(),
    'the events arrived',
  )
  t.strictSame(
    ofTrips.map(({ type, trip: { externalId } }: Json) => [type, externalId]).sort(),
    [
      ['user.arrived_at_trip_destination', 'trip-1'],
      ['user.started_trip', 'trip-1'],
    ],
    'the device is at the destination when the trip begins',
  )
})

t.test('a live key', async (t) => {
  await api.circle('shops/live', here, 100, {}, liveSecret)
  start(livePublishable)
  const { events } = await trackOnce({ latitude: here[1], longitude: here[0], accuracy: 5 })
  t.strictSame(briefly(events), ['entered shops/live 3'])
  t.equal(events[0].live, true)
})

t.test('searchGeofences', async (t) => {
  start()
  const near = { latitude: here[1], longitude: here[0] }
  const search = async (params: Json) => ((await Radar.searchGeofences(params)) as Json).geofences
  const [found, ...others] = await search({ near, radius: 500, tags: ['shops'], limit: 5 })
  t.equal(others.length, 0)
  t.equal(found._id, shop._id)
  t.equal(found.geometry.coordinates[0].length, 33)
  t.equal((await search({ near })).length, 2)
  t.equal(
    (await search({ near, metadata: { floor: 2 } })).length,
    2,
    'its metadata arrives as [object Object]',
  )
  t.match(sent.at(-1)!.url.search, /metadata=%5Bobject%20Object%5D/)
  t.equal((await search({ near, includeGeometry: false }))[0].geometry, undefined)
})

t.test('errors are the SDK’s own', async (t) => {
  const location = { latitude: here[1], longitude: here[0], accuracy: 5 }
  const failure = async (params: Json): Promise<Json> => {
    try {
      await trackOnce(params)
    } catch (error) {
      return error
    }
    throw new Error('it should have failed')
  }
  start()
  const bad = await failure({ ...location, latitude: 91 })
  t.equal(bad.name, 'RadarBadRequestError')
  t.match(bad.response.meta, { code: 400, param: 'latitude', message: /\[-90, 90\]/, requestId: /./ })
  start(`prj_test_pk_${'a'.repeat(40)}`)
  t.equal((await failure(location)).name, 'RadarUnauthorizedError')

  const limited = await startApi(t, { env: { RINGFENCE_RATE_LIMITS: 'on' } })
  start(testPublishable, limited.server.url)
  await trackOnce(location)
  const second = await failure(location)
  t.equal(second.name, 'RadarRateLimitError')
  t.equal(second.response.meta.type, 'second')
  await limited.server.stop()
  t.equal((await failure(location)).name, 'RadarNetworkError')
})

t.test('getContext', async (t) => {
  start()
  const context = (await Radar.getContext({
    latitude: here[1],
    longitude: here[0],
    accuracy: 5,
  } as Json)) as Json
  t.strictSame(
    context.geofences.map(({ tag }: Json) => tag),
    ['shops', 'cafes'],
  )
  t.equal(context.geofences[0]._id, shop._id)
  t.equal(sent.at(-1)!.url.searchParams.get('accuracy'), '5')
  const nowhere = (await Radar.getContext({ latitude: 51, longitude: 10 } as Json)) as Json
  t.strictSame(nowhere.geofences, [])
  t.equal(nowhere.place, undefined)
})

t.test('logConversion', async (t) => {
  start()
  const { user } = await trackOnce({ latitude: here[1], longitude: here[0], accuracy: 5 })
  const log = async (params: Json) => ((await Radar.logConversion(params)) as Json).event
  const bought = await log({ name: 'bought', metadata: { sku: 'a-1' }, revenue: 12.5 })
  t.match(bought, {
    type: 'bought',
    live: false,
    user: { deviceId: user.deviceId },
    metadata: { sku: 'a-1', revenue: 12.5 },
  })
  const earlier = new Date(Date.now() - 60_000)
  t.equal((await log({ name: 'viewed', createdAt: earlier })).createdAt, earlier.toISOString())
  const { events } = (await api.call('GET', `/v1/events?deviceId=${user.deviceId}`)).body
  t.match(events[0], { ...bought, user: { _id: user._id }, location: { type: 'Point', coordinates: here } })
  t.equal(events.length, 4)
  const refused = await log({ name: 'user.entered_geofence' }).catch((error: Json) => error)
  t.equal(refused.name, 'RadarBadRequestError')
})

t.test('the configuration, which it requests by itself', async (t) => {
  sent.length = 0
  start()
  const isConfig = ({ url }: { url: URL }) => url.pathname === '/v1/config'
  await until(() => sent.some(isConfig))
  const { status, url } = sent.find(isConfig)!
  t.equal(status, 200)
  for (const name of ['deviceId', 'installId', 'sessionId']) t.ok(url.searchParams.get(name), name)
})

t.test('beacons that a page ranges by itself are sent along', async (t) => {
  const till = { type: 'ibeacon', uuid: '7f5e8a3c-0a4e-4b6e-9b1f-2f1f7e0d9a01', major: '1', minor: '2' }
  const definition = { ...till, description: 'Till', coordinates: here, tag: 'tills', externalId: '1' }
  const created = (await api.call('PUT', '/v1/beacons/tills/1', definition)).body.beacon
  start()
  const location = { latitude: 51, longitude: here[0], accuracy: 5 }
  const { user, events } = await trackOnce({ ...location, beacons: [till] })
  t.strictSame(
    events.map(({ type, beacon }: Json) => [type, beacon._id]),
    [['user.entered_beacon', created._id]],
  )
  t.match(user.beacons, [{ _id: created._id, ...till, description: 'Till', enabled: true }])
  const out = await trackOnce({ ...location, beacons: [] })
  t.equal(out.events[0].type, 'user.exited_beacon')
})

t.test('ipGeocode', async (t) => {
  t.match(await Radar.ipGeocode(), { ip: '127.0.0.1', proxy: false })
  requester = '72.229.28.185'
  const { address, ip, proxy } = (await Radar.ipGeocode()) as Json
  requester = ''
  t.strictSame([ip, proxy], ['72.229.28.185', false])
  t.match(address, { city: 'New York', state: 'New York', countryCode: 'US', countryFlag: '🇺🇸' })
})

t.test('searchPlaces', async (t) => {
  start()
  const { places } = await Radar.searchPlaces({
    near: { latitude: 40.64, longitude: -73.78 },
    groups: ['airport', 'unknown'],
    categories: ['airport'],
    radius: 5000,
    limit: 1,
  })
  t.match(places, [{ _id: /^[0-9a-f]{24}$/, name: /Kennedy/, group: 'major-us-airport' }])
})

t.test('a preflight of every path that SDKs call, with any X-Radar header', async (t) => {
  for (const path of [
    '/v1/track',
    '/v1/track/replay',
    '/v1/search/geofences',
    '/v1/config',
    '/v1/context',
    '/v1/events',
    '/v1/search/beacons',
    '/v1/search/autocomplete/click',
    '/v1/geocode/ip',
    '/v1/trips/x/update',
  ]) {
    const answer = await plainFetch(api.server.url + path, {
      method: 'OPTIONS',
      headers: {
        origin: ORIGIN,
        'access-control-request-method': 'PATCH',
        'access-control-request-headers': 'authorization,content-type,x-radar-anything-new,x-radar-product',
      },
    })
    t.equal(answer.status, 204, path)
    t.equal(answer.headers.get('access-control-allow-origin'), '*')
    for (const name of ['authorization', 'content-type', 'x-radar-anything-new', 'x-radar-product'])
      t.match(answer.headers.get('access-control-allow-headers'), new RegExp(name, 'i'))
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
      t.match(answer.headers.get('access-control-allow-methods'), method)
    t.ok(answer.headers.get('x-radar-request-id'))
  }
})
