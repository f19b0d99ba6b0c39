/** Clients in Python: radar-python as it is, and a client that a public generator makes of the OpenAPI document. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { skipUnless } from '../kit/goServers.ts'
import { KEYS, startServer } from '../kit/server.ts'
import { python, pythonPackages } from './python.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- answers of every shape
type Json = any

const program = (name: string) => fileURLToPath(new URL(name, import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'ringfence-python-'))
t.teardown(() => rmSync(folder, { recursive: true }))
const skip = await skipUnless(pythonPackages)
const packages = skip === false ? await pythonPackages() : ''
const server = await startServer(t)
const environment = { URL: server.url, SECRET: KEYS.testSecret, PUBLISHABLE: KEYS.testPublishable }

t.test('radar-python: every public call, and its error classes', { skip }, async (test) => {
  const circle = { description: 'Seen', type: 'circle', coordinates: [9.52, 47.14], radius: 100 }
  await server.api('PUT', '/v1/geofences/seen/1', circle)
  await server.api('POST', '/v1/track', {
    deviceId: 'phone',
    userId: 'ann',
    latitude: 47.14,
    longitude: 9.52,
    accuracy: 10,
  })
  const { answers: came, bodies } = (await python([program('radarPython.py')], packages, environment)) as Json
  const geofence = {
    class: 'Geofence',
    value: { tag: 'store', externalId: '1', geometryRadius: 100, enabled: true },
  }
  const user = { userId: 'ann', deviceId: 'phone', geofences: [{ tag: 'seen' }] }
  const expected = {
    'geofences.create': { ...geofence, shown: /Main Street/ },
    'geofences.create again': { error: 'HTTPError', code: 409 },
    'geofences.upsert': { ...geofence, shown: /Side Street/ },
    'geofences.upsert polygon': {
      class: 'Geofence',
      value: { type: 'polygon', geometry: { type: 'Polygon' } },
    },
    'geofences.upsert bad': { error: 'InvalidRequestError', code: 400 },
    'geofences.create incomplete': { error: 'RadarError', code: null },
    'geofences.list': { class: 'Geofence', value: [geofence.value] },
    'geofences.get': geofence,
    'geofences.get by id': geofence,
    'geofences.get nothing': { error: 'NotFoundError', code: 404 },
    'geofences.list_users': { value: [] },
    'geofences.list_users by id': { value: [] },
    'users.list': { class: 'User', value: [user] },
    'users.get': { class: 'User', value: user },
    'events.list': { class: 'Event', value: [{ type: 'user.entered_geofence', user: { userId: 'ann' } }] },
    'events.get': { class: 'Event', value: { type: 'user.entered_geofence' } },
    'events.verify': { value: { meta: { code: 200 } } },
    'context.get': { class: 'RadarContext', value: { geofences: [{ tag: String }] } },
    'geocode.forward': { class: 'Address', value: [{ city: 'Vaduz', countryCode: 'LI' }] },
    'geocode.reverse': { class: 'Address', value: [{ countryCode: 'LI' }] },
    'geocode.ip': { class: 'Address', value: { countryCode: 'US' } },
    'search.users': { class: 'User', value: [user] },
    'search.geofences': { class: 'Geofence', value: [geofence.value] },
    'search.places': { value: [] },
    'search.autocomplete': { class: 'Address', value: [{ city: 'Vaduz' }] },
    // There is no region here: the library has no class for 503.
    'route.distance': { error: 'HTTPError', code: 503 },
    'events.delete': { value: { meta: { code: 200 } } },
    'users.delete': { value: { meta: { code: 200 } } },
    'geofences.delete': { value: { meta: { code: 200 } } },
    'unknown key': { error: 'AuthenticationError', code: 401 },
    'publishable key': { error: 'ForbiddenError', code: 403 },
  }
  test.strictSame(Object.keys(came), Object.keys(expected))
  const circles = ['POST /v1/geofences', 'POST /v1/geofences', 'PUT /v1/geofences/store/1']
  test.match(
    bodies,
    {
      'application/x-www-form-urlencoded': [
        ...circles,
        'PUT /v1/geofences/area/p',
        'PUT /v1/geofences/store/1',
        /^PUT \/v1\/events\/[0-9a-f]{24}\/verification$/,
      ],
    },
    'the bodies are forms',
  )
  test.strictSame(Object.keys(bodies), ['application/x-www-form-urlencoded'])
  for (const [name, one] of Object.entries(expected)) test.match(came[name], one, name)
})

t.test(
  'a client that openapi-python-client generates: it loads, and it makes a round',
  { skip },
  async (test) => {
    const { body } = await server.api('GET', '/v1/openapi.json', undefined, null)
    const file = (name: string) => join(folder, name)
    writeFileSync(file('openapi.json'), JSON.stringify(body))
    // Enumerations whose texts differ by case alone are one name otherwise; and no formatter is installed.
    writeFileSync(file('config.yaml'), 'literal_enums: true\npost_hooks: []\n')
    const into = ['--path', file('openapi.json'), '--output-path', file('ringfence_client'), '--meta', 'none']
    await promisify(execFile)(
      'python3',
      ['-m', 'openapi_python_client', 'generate', '--config', file('config.yaml'), ...into],
      { env: { ...process.env, PYTHONPATH: packages }, maxBuffer: 16 * 1024 * 1024 },
    )
    const path = [folder, packages].join(delimiter)
    const came = (await python([program('generatedClient.py')], path, environment)) as Json
    test.ok(came.modules > 900, 'every module is loaded')
    const geofence = { tag: 'generated', externalId: 'one', userIds: ['ann'] }
    test.match(came.put, { meta: { code: 200 }, geofence })
    test.match(came.tracked, { user: { userId: 'ann', deviceId: 'phone' } })
    test.match(
      came.tracked.events.find(({ geofence: { tag } }: Json) => tag === 'generated'),
      {
        type: 'user.entered_geofence',
      },
    )
    test.ok(came.explained.explanation.candidates.some(({ geofence: { tag } }: Json) => tag === 'generated'))
    test.match(came.events, { meta: { hasMore: Boolean }, events: [{ type: 'user.entered_geofence' }] })
    test.match(came.near, { users: [{ userId: 'ann' }] })
    test.match(came.missing, [404, { meta: { code: 404 } }])
    test.match(came.bad, [400, { meta: { code: 400, param: 'coordinates' } }])
    test.match(came.unknown, [401, { meta: { code: 401 } }])
  },
)
