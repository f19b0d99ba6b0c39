/** Geofences, settings and keys over real HTTP: every rule of the field tables, good and bad. */
import t from 'tap'
import { DEFAULT_FRAUD } from '../../src/model/fraud.ts'
import type { Test } from 'tap'
import { openApiDocument } from '../../src/http/openapi.ts'
import type { Route } from '../../src/http/route.ts'
import { createServer } from '../../src/http/server.ts'
import { geofenceRoutes } from '../../src/registry/geofences/geofenceRoutes.ts'
import { keyRoutes } from '../../src/registry/projects/keyRoutes.ts'
import type { AreaFinder } from '../../src/registry/geofences/areaFinder.ts'
import type { KeySet } from '../../src/registry/projects/keys.ts'
import type { Registry } from '../../src/registry/registry.ts'
import { openRegistry } from '../../src/registry/registry.ts'
import { settingsRoutes } from '../../src/registry/settings/settingsRoutes.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'
import { NO_AREAS } from './areaFinders.ts'
import fc from '../kit/fastCheck.ts'

const RUNS = 60 * Number(process.env['RINGFENCE_TEST_RUNS'] ?? 1)
const START = Date.UTC(2026, 0, 1)

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any

/** Deeply nested lists. */
const DEEP = '['.repeat(5000) + ']'.repeat(5000)

interface Answered {
  readonly status: number
  readonly body: Json
}

interface Api {
  readonly registry: Registry
  readonly clock: ManualClock
  readonly keys: KeySet
  readonly routes: readonly Route[]
  /** Uses the test secret key unless another is given. A string body is a form. */
  call(method: string, path: string, body?: unknown, key?: string): Promise<Answered>
}

async function serve(t: Test, finder: AreaFinder = NO_AREAS): Promise<Api> {
  const clock = new ManualClock(START)
  const registry = openRegistry({ folder: t.testdir({}), clock, createIndex: createGeofenceIndex })
  const keys = registry.createFirstProject()!
  const routes = [
    ...geofenceRoutes(registry.geofences, finder),
    ...settingsRoutes(registry.settings),
    ...keyRoutes(registry),
  ]
  const server = createServer({
    routes,
    authenticate: (key) => registry.keys.authenticate(key),
    trustedProxies: [],
    clock,
  })
  const port = await server.listen('127.0.0.1', 0)
  t.teardown(async () => {
    await server.close()
    registry.close()
  })
  return {
    registry,
    clock,
    keys,
    routes,
    call: async (method, path, body, key = keys.testSecret) => {
      const form = typeof body === 'string'
      const response = await fetch(`http://127.0.0.1:${port}${path}`, {
        method,
        headers: {
          authorization: key,
          'content-type': form ? 'application/x-www-form-urlencoded' : 'application/json',
        },
        ...(body === undefined ? {} : { body: form ? body : JSON.stringify(body) }),
      })
      return { status: response.status, body: await response.json() }
    },
  }
}

const CIRCLE = {
  description: 'Shop',
  type: 'circle',
  tag: 'store',
  externalId: '1',
  coordinates: [-73.99, 40.73],
  radius: 100,
}
const RING = [
  [0, 0],
  [1, 0],
  [1, 1],
  [0, 1],
  [0, 0],
]

/** A regular ring with that many positions, including the closing one. */
function ringOf(positions: number): number[][] {
  const ring = Array.from({ length: positions - 1 }, (_, i) => {
    const angle = (2 * Math.PI * i) / (positions - 1)
    return [Math.cos(angle), Math.sin(angle)]
  })
  return [...ring, ring[0]!]
}

t.test('a geofence is created, read, replaced and deleted', async (t) => {
  const { call, clock } = await serve(t)
  const created = await call('POST', '/v1/geofences', CIRCLE)
  t.equal(created.status, 200)
  t.equal(created.body.meta.code, 200)
  const { geofence } = created.body
  t.match(geofence, {
    _id: /^[0-9a-f]{24}$/,
    createdAt: '2026-01-01T00:00:00.000Z',
    updatedAt: '2026-01-01T00:00:00.000Z',
    live: false,
    tag: 'store',
    externalId: '1',
    description: 'Shop',
    type: 'circle',
    geometryCenter: { type: 'Point', coordinates: [-73.99, 40.73] },
    geometryRadius: 100,
    enabled: true,
  })
  t.equal(geofence.geometry.type, 'Polygon')
  t.equal(geofence.geometry.coordinates.length, 1, 'one ring')
  t.equal(geofence.geometry.coordinates[0].length, 33)
  t.strictSame(geofence.geometry.coordinates[0][0], geofence.geometry.coordinates[0][32], 'closed')
  for (const absent of [
    'metadata',
    'userIds',
    'ip',
    'operatingHours',
    'disableAfter',
    'mode',
    'stopDetection',
  ]) {
    t.notOk(absent in geofence, `${absent} is left out`)
  }
  t.strictSame((await call('GET', `/v1/geofences/${geofence._id}`)).body, created.body)
  t.strictSame((await call('GET', '/v1/geofences/store/1')).body, created.body)

  const conflict = await call('POST', '/v1/geofences', CIRCLE)
  t.match(conflict, { status: 409, body: { meta: { code: 409, message: /already exists/ } } })

  clock.advance(1500)
  const put = await call('PUT', '/v1/geofences/store/1', {
    description: 'Hall',
    type: 'polygon',
    coordinates: RING,
    metadata: { a: 1 },
  })
  t.match(put, {
    status: 200,
    body: {
      geofence: {
        _id: geofence._id,
        createdAt: geofence.createdAt,
        updatedAt: '2026-01-01T00:00:01.500Z',
        type: 'polygon',
        geometry: { coordinates: [RING] },
        metadata: { a: 1 },
      },
    },
  })
  t.ok(Math.abs(put.body.geofence.geometryRadius - 78_400) < 1000, 'a circle around the polygon')
  const back = await call('PUT', '/v1/geofences/store/1', { ...CIRCLE, metadata: null, ip: '' })
  t.notOk('metadata' in back.body.geofence, 'null and empty are the default')

  const byId = await call('PUT', `/v1/geofences/${geofence._id}`, {
    ...CIRCLE,
    tag: '',
    externalId: null,
    radius: 50,
  })
  t.match(byId.body.geofence, { _id: geofence._id, tag: 'store', externalId: '1', geometryRadius: 50 })
  const renamed = await call('PUT', `/v1/geofences/${geofence._id}`, { ...CIRCLE, externalId: '2' })
  t.match(renamed.body.geofence, { _id: geofence._id, externalId: '2' })
  t.equal((await call('GET', '/v1/geofences/store/1')).status, 404)
  t.equal((await call('PUT', '/v1/geofences/store/1', CIRCLE)).status, 200, 'an upsert creates')
  t.equal((await call('PUT', `/v1/geofences/${geofence._id}`, CIRCLE)).status, 409)
  t.equal((await call('PUT', `/v1/geofences/${'f'.repeat(24)}`, CIRCLE)).status, 404)

  const deleted = await call('DELETE', `/v1/geofences/${geofence._id}`)
  t.match(deleted, { status: 200, body: { meta: { code: 200 } } })
  t.equal((await call('DELETE', `/v1/geofences/${geofence._id}`)).status, 404)
  t.equal((await call('DELETE', '/v1/geofences/store/1')).status, 200)
  t.equal((await call('DELETE', '/v1/geofences/store/1')).status, 404)
  t.strictSame((await call('GET', '/v1/geofences')).body, {
    meta: { code: 200, hasMore: false },
    geofences: [],
  })
})

t.test('every field: what is accepted, and how it comes back', async (t) => {
  const { call } = await serve(t)
  const hours = {
    Sunday: [['9:00 AM', '5:00 PM']],
    mon: [
      ['22:00', '02:00'],
      ['08:00', '24:00'],
    ],
    TUE: [],
  }
  const CASES: readonly (readonly [fields: object, record: object])[] = [
    [{ radius: 10 }, { geometryRadius: 10 }],
    [{ radius: 10_000 }, { geometryRadius: 10_000 }],
    [{ radius: ' 55.5 ' }, { geometryRadius: 55.5 }],
    [{ coordinates: '[-73.99, 40.73]' }, { geometryCenter: { coordinates: [-73.99, 40.73] } }],
    [{ coordinates: [180, 90] }, { geometryCenter: { coordinates: [180, 90] } }],
    [{ coordinates: [-180, -90] }, { geometryCenter: { coordinates: [-180, -90] } }],
    [{ address: 'Somewhere 1' }, { geometryCenter: { coordinates: [-73.99, 40.73] } }],
    [{ type: 'polygon', coordinates: RING, radius: 'ignored' }, { geometry: { coordinates: [RING] } }],
    [{ type: 'polygon', coordinates: [RING], address: 'x' }, { geometry: { coordinates: [RING] } }],
    [{ type: 'polygon', coordinates: JSON.stringify(RING) }, { geometry: { coordinates: [RING] } }],
    [{ type: 'polygon', coordinates: RING.toReversed() }, { geometry: { coordinates: [RING.toReversed()] } }],
    [{ type: 'polygon', coordinates: ringOf(4) }, { type: 'polygon' }],
    [{ type: 'polygon', coordinates: ringOf(2000) }, { type: 'polygon' }],
    [{ enabled: false }, { enabled: false }],
    [{ enabled: 'false' }, { enabled: false }],
    [{ enabled: 'TRUE' }, { enabled: true }],
    [{ stopDetection: true }, { stopDetection: true }],
    [{ stopDetection: 'false' }, { stopDetection: false }],
    [{ mode: 'motorbike' }, { mode: 'motorbike' }],
    [{ metadata: { s: 'x', b: false, n: -1.5 } }, { metadata: { s: 'x', b: false, n: -1.5 } }],
    [{ metadata: '{"a":1}' }, { metadata: { a: 1 } }],
    [
      { metadata: Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`k${i}`, i])) },
      { metadata: { k15: 15 } },
    ],
    [{ operatingHours: hours }, { operatingHours: hours }],
    [{ operatingHours: JSON.stringify(hours) }, { operatingHours: hours }],
    [{ disableAfter: '2030-05-01' }, { disableAfter: '2030-05-01T00:00:00.000Z' }],
    [
      { disableAfter: 'Fri Nov 01 2030 04:21:00 GMT+0100 (Central European Standard Time)' },
      { disableAfter: '2030-11-01T03:21:00.000Z' },
    ],
    [{ deleteAfter: '2030-05-01T10:00:00+02:00' }, { deleteAfter: '2030-05-01T08:00:00.000Z' }],
    [{ userId: 'u' }, { userId: 'u' }],
    [{ userIds: 'a, b,,a' }, { userIds: ['a', 'b'] }],
    [{ userIds: ['a', 'b'] }, { userIds: ['a', 'b'] }],
    [{ ip: '10.0.0.0/8, 192.168.1.*,2001:db8::1' }, { ip: '10.0.0.0/8,192.168.1.*,2001:db8::1' }],
    [{ dwellThreshold: 0.5 }, { dwellThreshold: 0.5 }],
    [{ dwellThreshold: '10' }, { dwellThreshold: 10 }],
    [{ tripApproachingThreshold: 5 }, { tripApproachingThreshold: 5 }],
    [{ description: 'd'.repeat(1000) }, { description: 'd'.repeat(1000) }],
    [{ unknownField: { deep: [1] } }, { description: 'Shop' }],
  ]
  for (const [fields, record] of CASES) {
    const { status, body } = await call('PUT', '/v1/geofences/store/1', { ...CIRCLE, ...fields })
    t.equal(status, 200, JSON.stringify(fields).slice(0, 80))
    t.match(body.geofence, record)
    t.match((await call('GET', '/v1/geofences/store/1')).body.geofence, record)
  }
  for (const empty of [null, '']) {
    const { body } = await call('PUT', '/v1/geofences/store/1', {
      ...CIRCLE,
      ...Object.fromEntries(
        [
          'enabled',
          'metadata',
          'operatingHours',
          'stopDetection',
          'disableAfter',
          'userIds',
          'ip',
          'dwellThreshold',
        ]
          .concat(['mode', 'userId', 'placeId', 'address'])
          .map((name) => [name, empty]),
      ),
    })
    t.match(body.geofence, { enabled: true }, JSON.stringify(empty))
    t.notOk('dwellThreshold' in body.geofence)
  }
  const pair = `${encodeURIComponent('a/b ü')}/${encodeURIComponent('#?%')}`
  const { body } = await call('PUT', `/v1/geofences/${pair}`, {
    ...CIRCLE,
    tag: undefined,
    externalId: undefined,
  })
  t.match(body.geofence, { tag: 'a/b ü', externalId: '#?%' })
  t.equal((await call('GET', `/v1/geofences/${pair}`)).status, 200)
})

// What is required, and values of another type, too long or out of range: test/e2e/requiredFields.test.ts.
t.test('every rule broken: 400 that names the field, and nothing changes', async (t) => {
  const { call, registry, keys } = await serve(t)
  await call('POST', '/v1/geofences', CIRCLE)
  const scope = registry.keys.authenticate(keys.testSecret)!.scope
  const { revision } = registry.scope(scope)
  const polygon = (coordinates: unknown) => ({ type: 'polygon', coordinates })
  const CASES: readonly (readonly [param: string, fields: object, message?: RegExp])[] = [
    ['type', { type: 'square' }, /circle, polygon, isochrone/],
    ['coordinates', { coordinates: undefined }, /One of coordinates, address and placeId/],
    ['coordinates', { coordinates: [] }],
    ['coordinates', { coordinates: [1] }],
    ['coordinates', { coordinates: [1, 2, 3] }],
    ['coordinates', { coordinates: 'here' }, /JSON/],
    ['coordinates', { coordinates: '1,2' }],
    ['coordinates', { coordinates: '{"a":1}' }],
    ['coordinates', { coordinates: [181, 0] }, /longitude.*\[-180, 180\]/],
    ['coordinates', { coordinates: [0, 90.1] }, /latitude.*\[-90, 90\]/],
    ['coordinates', { coordinates: ['x', 0] }],
    ['coordinates', { coordinates: [null, 0] }],
    ['coordinates', { coordinates: '[1e999, 0]' }],
    ['coordinates', { coordinates: RING }],
    ['radius', { radius: undefined }, /^radius: One of radius and placeId is required for a circle\.$/],
    ['radius', { radius: 9.99 }, /Valid range: \[10, 10000\]/],
    ['radius', { radius: 10_001 }, /Valid range: \[10, 10000\]/],
    ['radius', { radius: '0x20' }],
    [
      'coordinates',
      polygon(undefined),
      /^coordinates: One of coordinates and placeId is required for a polygon\.$/,
    ],
    ['coordinates', { ...polygon(undefined), address: 'Ignored for polygons 1' }],
    ['coordinates', polygon([0, 0])],
    ['coordinates', polygon(RING.slice(0, 4)), /closed/],
    ['coordinates', polygon([RING[0], RING[1], RING[0]]), /between 4 and 2,000/],
    ['coordinates', polygon(ringOf(2001)), /between 4 and 2,000/],
    ['coordinates', polygon([RING, RING]), /One ring is allowed; there are 2/],
    [
      'coordinates',
      polygon([
        [0, 0],
        [1, 1],
        [1, 0],
        [0, 1],
        [0, 0],
      ]),
      /cross/,
    ],
    [
      'coordinates',
      polygon([
        [0, 0],
        [1, 0],
        [2, 0],
        [0, 0],
      ]),
      /overlap/,
    ],
    [
      'coordinates',
      polygon([
        [0, 0],
        [1, 0],
        [1, 91],
        [0, 0],
      ]),
      /latitude/,
    ],
    ['coordinates', polygon([[0, 0], [1, 0], [1], [0, 0]])],
    ['coordinates', polygon([[0, 0], [1, 0], 'x', [0, 0]])],
    ['coordinates', polygon([[]])],
    ['coordinates', polygon([[[]]])],
    ['coordinates', polygon(JSON.parse('['.repeat(50) + ']'.repeat(50)))],
    ['radius', { type: 'isochrone', mode: 'car', radius: undefined }, /isochrone/],
    ['radius', { type: 'isochrone', mode: 'car', radius: 0 }],
    ['radius', { type: 'isochrone', mode: 'car', radius: 121 }, /\[1, 120\]/],
    ['mode', { type: 'isochrone', mode: undefined }, /isochrone/],
    ['mode', { mode: 'rocket' }, /car, truck, foot, bike, motorbike/],
    ['metadata', { metadata: 'x' }],
    ['metadata', { metadata: '[1]' }],
    ['metadata', { metadata: { a: {} } }, /strings, booleans or numbers/],
    ['metadata', { metadata: { a: [1] } }],
    ['metadata', { metadata: '{"a":1e999}' }],
    ['metadata', { metadata: { '': 1 } }],
    ['metadata', { metadata: { a: 'x'.repeat(4097) } }],
    ['metadata', { metadata: { ['k'.repeat(257)]: 1 } }],
    ['metadata', { metadata: '{"__proto__":1}' }],
    [
      'metadata',
      { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`k${i}`, i])) },
      /at most 16 keys/,
    ],
    ['operatingHours', { operatingHours: '{' }],
    ['operatingHours', { operatingHours: `{"Sun":${DEEP}}` }, /nested deeper than 64/],
    ['metadata', { metadata: DEEP }, /nested deeper than 64/],
    ['metadata.constructor', { metadata: { constructor: 1 } }, /Key not allowed/],
    ['metadata.constructor', { metadata: '{"constructor":1}' }, /Key not allowed/],
    ['operatingHours', { operatingHours: { Someday: [] } }, /is not a day/],
    ['operatingHours', { operatingHours: { Sun: [], Sunday: [] } }, /same day/],
    ['operatingHours', { operatingHours: { Sun: [['9', '17']] } }, /not a time/],
    ['userIds', { userIds: [5] }],
    ['ip', { ip: '10.0.0' }, /"10\.0\.0" is not an IP address/],
    ['ip', { ip: '10.0.0.0/33' }],
    ['ip', { ip: '10.*.0.1' }],
    ['dwellThreshold', { dwellThreshold: 0 }, /greater than 0/],
  ]
  for (const [param, fields, message] of CASES) {
    const { status, body } = await call('POST', '/v1/geofences', { ...CIRCLE, externalId: 'new', ...fields })
    const shown = JSON.stringify(fields).slice(0, 100)
    t.equal(status, 400, shown)
    t.equal(body.meta.code, 400)
    t.match(body.meta.param, new RegExp(`^${param}\\b`), shown)
    t.ok(body.meta.message.startsWith(`${body.meta.param}: `), body.meta.message)
    if (message !== undefined) t.match(body.meta.message, message)
  }
  for (const [param, fields] of [
    ['tag', { tag: 'x' }],
    ['externalId', { externalId: 'x' }],
  ] as const) {
    const { status, body } = await call('PUT', '/v1/geofences/store/1', { ...CIRCLE, ...fields })
    t.match(
      { status, body },
      { status: 400, body: { meta: { param, message: /differs/ } } },
      `${param} of the path wins`,
    )
  }
  t.equal((await call('PUT', `/v1/geofences/${'t'.repeat(257)}/1`, CIRCLE)).body.meta.param, 'tag')
  t.equal(registry.scope(scope).revision, revision, 'nothing changed')
})

t.test('geometry that needs an engine is answered with 503, after everything else was checked', async (t) => {
  const { call } = await serve(t)
  const without = { ...CIRCLE, coordinates: undefined }
  const CASES: readonly (readonly [fields: object, param: string, message: RegExp])[] = [
    [{ ...without, address: 'Main Street 1' }, 'address', /^address: The package any is not installed\.$/],
    [{ ...without, placeId: 'p' }, 'placeId', /^placeId: The package/],
    [{ ...CIRCLE, placeId: 'p' }, 'placeId', /^placeId: The package/],
    [{ ...without, type: 'polygon', placeId: 'p' }, 'placeId', /^placeId: The package/],
    [{ ...without, type: 'isochrone', mode: 'car', radius: 9, address: 'x' }, 'address', /package/],
  ]
  for (const [fields, param, message] of CASES) {
    const { status, body } = await call('POST', '/v1/geofences', fields)
    t.match({ status, body }, { status: 503, body: { meta: { code: 503, param, message } } })
    const bad = await call('POST', '/v1/geofences', { ...fields, dwellThreshold: -1 })
    t.match(bad, { status: 400, body: { meta: { param: 'dwellThreshold' } } })
  }
})

t.test('lists by text: in the description, tag or externalId, in any case', async (t) => {
  const { call } = await serve(t)
  for (const [externalId, description] of [
    ['1', 'Depot Spandau'],
    ['spandau-2', 'Yard'],
    ['3', 'Depot Mitte'],
  ])
    await call('POST', '/v1/geofences', { ...CIRCLE, externalId, description })
  const found = async (query: string) =>
    (await call('GET', `/v1/geofences?${query}`)).body.geofences.map((one: Json) => one.externalId)
  t.strictSame(await found('text=SPANDAU'), ['spandau-2', '1'])
  t.strictSame(await found('text=depot'), ['3', '1'])
  t.strictSame(await found('text=store&limit=1'), ['3'])
  t.strictSame(await found('text=depot&externalId=1'), ['1'])
  t.strictSame(await found('text=nowhere'), [])
  t.strictSame(await found('text=%25'), [], 'it is a text, not a pattern')
})

t.test('every setting has a sentence in the document', async (t) => {
  const { schemas } = (openApiDocument((await serve(t)).routes, '1') as Json).components
  for (const name of ['Settings', 'SettingsChange'])
    for (const [setting, schema] of Object.entries<Json>(schemas[name].properties))
      t.match(schema.description, /^\w.*\.$/s, `${name}.${setting}`)
})

t.test('forms have the same effect as JSON', async (t) => {
  const { call } = await serve(t)
  const form = new URLSearchParams({
    description: 'Form & more',
    type: 'circle',
    coordinates: '[-73.99,40.73]',
    radius: '120',
    enabled: 'false',
    'metadata[size]': '5',
    'metadata[open]': 'true',
    'metadata[name]': 'x y',
    operatingHours: '{"Sun":[["9:00","10:00"]]}',
    userIds: 'a,b',
    dwellThreshold: '',
  }).toString()
  const { status, body } = await call('PUT', '/v1/geofences/form/1', form)
  t.equal(status, 200)
  t.match(body.geofence, {
    description: 'Form & more',
    geometryRadius: 120,
    enabled: false,
    metadata: { size: 5, open: true, name: 'x y' },
    operatingHours: { Sun: [['9:00', '10:00']] },
    userIds: ['a', 'b'],
  })
  t.match(await call('PUT', '/v1/geofences/form/1', form.replace('radius=120', 'radius=5')), {
    status: 400,
    body: { meta: { param: 'radius' } },
  })
})

t.test('lists: filters, pages, bounds', async (t) => {
  const { call, clock } = await serve(t)
  for (let i = 0; i < 12; i++) {
    await call('PUT', `/v1/geofences/${i % 2 ? 'odd' : 'even'}/${i}`, {
      ...CIRCLE,
      tag: null,
      externalId: null,
      metadata: { index: i, label: `n${i}`, big: i > 5 },
    })
    clock.advance(1000)
  }
  const ids = async (query: string) => {
    const { body } = await call('GET', `/v1/geofences?${query}`)
    return `${body.geofences.map((one: Json) => one.externalId)} ${body.meta.hasMore}`
  }
  const iso = (second: number) => new Date(START + second * 1000).toISOString()
  t.equal(await ids(''), '11,10,9,8,7,6,5,4,3,2,1,0 false')
  t.equal(await ids('limit=3'), '11,10,9 true')
  t.equal(await ids('tag=odd&limit=6'), '11,9,7,5,3,1 false')
  t.equal(await ids('tag=odd&externalId=3'), '3 false')
  t.equal(await ids('externalId=3&tag='), '3 false')
  t.equal(await ids('metadata[index]=7'), '7 false')
  t.equal(await ids('metadata%5Bbig%5D=true&metadata[label]=n8'), '8 false')
  t.equal(await ids('metadata[missing]=1'), ' false')
  t.equal(await ids('metadata=[object Object]&limit=1'), '11 true')
  t.equal(await ids(`createdBefore=${iso(3)}`), '2,1,0 false')
  t.equal(await ids(`createdAfter=${iso(8)}&limit=2`), '11,10 true')
  const { body: page } = await call('GET', '/v1/geofences?limit=3')
  const last = page.geofences[2]._id
  t.equal(await ids(`before=${last}&limit=2`), '8,7 true')
  t.equal(await ids(`before=${last}&tag=even`), '8,6,4,2,0 false', 'one that the filter leaves out')
  t.equal(await ids(`before=${last}&createdBefore=${iso(2)}`), '1,0 false')
  await call('PUT', '/v1/geofences/even/0', { ...CIRCLE, tag: null, externalId: null })
  t.equal(await ids(`updatedAfter=${iso(11)}`), '0 false')
  t.equal(await ids(`updatedBefore=${iso(2)}`), '1 false')
})

for (const path of ['/v1/geofences', '/v1/search/geofences'])
  t.test(`${path}: large geofences are written in turns, without those deleted meanwhile`, async (t) => {
    const { call, keys, clock, registry, routes } = await serve(t)
    const { scope } = registry.keys.authenticate(keys.testSecret)!
    const ids: string[] = []
    for (let i = 0; i < 50; i++) {
      const large = { description: 'Large', type: 'polygon', coordinates: ringOf(2000) }
      ids.unshift((await call('PUT', `/v1/geofences/large/${i}`, large)).body.geofence._id)
    }
    const list = routes.find((route) => route.method === 'GET' && route.path === path)!
    const query = path === '/v1/geofences' ? { limit: 1000 } : { near: '0,0', limit: 100 }
    // Of records at the same distance, the newest comes last.
    const last = path === '/v1/geofences' ? ids.at(-1)! : ids[0]!
    let turns = 0
    let counting = setImmediate(function count() {
      if (turns++ === 0) registry.geofences.delete(scope, last)
      counting = setImmediate(count)
    })
    const answer: Json = await list.handler!(
      { query, credentials: { scope }, receivedAt: clock.now() } as Json,
      {} as Json,
    )
    clearImmediate(counting)
    t.ok(turns > 3, `${turns} turns`)
    const { geofences } = JSON.parse(`{${answer.pieces.join('')}}`)
    t.same(geofences.map(({ _id }: Json) => _id).toSorted(), ids.filter((id) => id !== last).toSorted())
  })

t.test('search: nearest first by the boundary, filters, limits', async (t) => {
  const { call, keys, clock, registry } = await serve(t)
  const put = (externalId: string, longitude: number, more: object = {}) =>
    call('PUT', `/v1/geofences/a/${externalId}`, {
      ...CIRCLE,
      tag: null,
      externalId,
      coordinates: [longitude, 0],
      ...more,
    })
  await put('inside', 0, { radius: 500 })
  await put('big', 0.02, { radius: 2000, metadata: { kind: 'shop', floor: 2 } })
  await put('near', 0.01)
  await put('far', 1)
  await put('off', 0, { enabled: false })
  await put('late', 0, { disableAfter: new Date(START + 500).toISOString() })
  await put('gone', 0, { deleteAfter: new Date(START + 500).toISOString() })
  await call('PUT', '/v1/geofences/b/other', {
    ...CIRCLE,
    tag: 'b',
    externalId: 'other',
    coordinates: [0.03, 0],
  })
  clock.advance(500)
  const search = async (query: string, key = keys.testPublishable) => {
    const { status, body } = await call('GET', `/v1/search/geofences?${query}`, undefined, key)
    return status === 200
      ? body.geofences.map((one: Json) => one.externalId).join()
      : `${status} ${body.meta.param}`
  }
  t.equal(await search('near=0,0'), 'inside,big,near,other,far')
  t.equal(await search('near=0,0', keys.testSecret), 'inside,big,near,other,far')
  t.equal(await search('near=0,0', keys.livePublishable), '', 'G8: nothing of test')
  t.equal(await search('near=0,0&limit=2'), 'inside,big')
  t.equal(await search('near=0,0&radius=300'), 'inside,big', 'metres to the boundary')
  t.equal(await search('near=0,0&radius=0.001'), 'inside')
  t.equal(await search('near=0,0&tags=b,%20c'), 'other')
  t.equal(await search('near=0,0&tags=a,b&limit=1'), 'inside')
  t.equal(await search('near=0,0&metadata[kind]=shop&metadata[floor]=2'), 'big')
  t.equal(await search('near=0,0&metadata[kind]=bar'), '')
  t.equal(await search('near=0,0&metadata=[object%20Object]&limit=1'), 'inside')
  t.equal(await search('near=0,0&limit=1000&includeGeometry=false&tags=b'), 'other')
  t.equal(await search('near=0,0&limit=100&tags=b'), 'other')

  const { body } = await call('GET', '/v1/search/geofences?near=0,0&limit=2&includeGeometry=false')
  t.equal(body.geofences[0].distance, 0)
  t.ok(Math.abs(body.geofences[1].distance - 226.4) < 1, `${body.geofences[1].distance}`)
  t.notOk('geometry' in body.geofences[0])
  t.match(body.geofences[1], {
    live: false,
    geometryCenter: { coordinates: [0.02, 0] },
    geometryRadius: 2000,
  })
  const withGeometry = await call('GET', '/v1/search/geofences?near=0,0&limit=1')
  t.equal(withGeometry.body.geofences[0].geometry.coordinates[0].length, 33)

  t.equal(await search('near=0,0&limit=101&includeGeometry=true'), '400 limit')
  registry.geofences.sweep()
  t.equal(await search('near=0,0'), 'inside,big,near,other,far', 'the same after the sweep')
})

t.test('keys: levels, environments, rotation', async (t) => {
  const { call, keys } = await serve(t)
  const { geofence } = (await call('POST', '/v1/geofences', CIRCLE)).body
  const MANAGEMENT: readonly (readonly [method: string, path: string, body?: object])[] = [
    ['POST', '/v1/geofences', CIRCLE],
    ['PUT', '/v1/geofences/store/1', CIRCLE],
    ['PUT', `/v1/geofences/${geofence._id}`, CIRCLE],
    ['GET', '/v1/geofences'],
    ['GET', '/v1/geofences/store/1'],
    ['GET', `/v1/geofences/${geofence._id}`],
    ['DELETE', '/v1/geofences/store/1'],
    ['DELETE', `/v1/geofences/${geofence._id}`],
    ['GET', '/v1/settings'],
    ['PATCH', '/v1/settings', {}],
    ['GET', '/v1/keys'],
    ['POST', '/v1/keys/secret/rotate'],
  ]
  for (const [method, path, body] of MANAGEMENT) {
    t.equal((await call(method, path, body, keys.testPublishable)).status, 403, `${method} ${path}`)
    t.equal((await call(method, path, body, 'prj_test_sk_unknown')).status, 401, `${method} ${path}`)
  }
  for (const path of ['/v1/geofences/store/1', `/v1/geofences/${geofence._id}`]) {
    t.equal((await call('GET', path, undefined, keys.liveSecret)).status, 404, 'G8: live does not see test')
    t.equal((await call('DELETE', path, undefined, keys.liveSecret)).status, 404)
  }
  t.equal((await call('PUT', `/v1/geofences/${geofence._id}`, CIRCLE, keys.liveSecret)).status, 404)
  const live = (await call('POST', '/v1/geofences', CIRCLE, keys.liveSecret)).body.geofence
  t.match(live, { live: true, tag: 'store', externalId: '1' })
  t.not(live._id, geofence._id)

  const list = await call('GET', '/v1/keys')
  t.strictSame(
    list.body.keys.map((one: Json) => [one.kind, one.live, one.lastFour]),
    [
      ['publishable', false, keys.testPublishable.slice(-4)],
      ['secret', false, keys.testSecret.slice(-4)],
    ],
  )
  t.notOk(JSON.stringify(list.body).includes(keys.testSecret.slice(0, 30)))
  t.match(
    list.body.keys,
    [{ key: keys.testPublishable }, { key: undefined }],
    'a publishable key is no secret',
  )
  const rotated = await call('POST', '/v1/keys/publishable/rotate')
  t.match(rotated.body.key, { kind: 'publishable', live: false, key: /^prj_test_pk_[0-9a-f]{40}$/ })
  const search = '/v1/search/geofences?near=0,0'
  t.equal((await call('GET', search, undefined, keys.testPublishable)).status, 401)
  t.equal((await call('GET', search, undefined, rotated.body.key.key)).status, 200)
  t.equal(
    (await call('GET', search, undefined, keys.livePublishable)).status,
    200,
    'the other environment stays',
  )
  const secret = (await call('POST', '/v1/keys/secret/rotate')).body.key
  t.equal((await call('GET', '/v1/keys')).status, 401, 'the caller itself')
  t.equal((await call('GET', '/v1/keys', undefined, secret.key)).status, 200)
})

t.test('a key that is replaced stays valid until a date', async (t) => {
  const { call, clock, keys } = await serve(t)
  const rotate = '/v1/keys/secret/rotate'
  const day = 86_400_000
  const at = (days: number) => new Date(clock.now() + days * day).toISOString()
  for (const [body, param, message] of [
    [{ oldKeyValidUntil: at(0) }, 'oldKeyValidUntil', /must be in the future/],
    [{ oldKeyValidUntil: at(90.01) }, 'oldKeyValidUntil', /at most 90 days from now/],
    [{ oldKeyValidUntil: 'tomorrow' }, 'oldKeyValidUntil', /date/],
    [{ validUntil: at(1) }, 'validUntil', /No such field/],
  ] as const) {
    t.match(
      await call('POST', rotate, body),
      { status: 400, body: { meta: { param, message } } },
      JSON.stringify(body),
    )
  }
  t.equal((await call('GET', '/v1/keys')).body.keys.length, 2, 'a refusal replaces nothing')

  const rotated = await call('POST', rotate, `oldKeyValidUntil=${at(1)}`)
  t.match(rotated, {
    status: 200,
    body: {
      key: { kind: 'secret', live: false, key: /^prj_test_sk_/, validUntil: undefined },
      oldKey: { kind: 'secret', lastFour: keys.testSecret.slice(-4), validUntil: at(1), key: undefined },
    },
  })
  const fresh = rotated.body.key.key as string
  const list = await call('GET', '/v1/keys', undefined, fresh)
  t.strictSame(
    list.body.keys.map(({ kind, lastFour, validUntil }: Json) => [kind, lastFour, validUntil]),
    [
      ['publishable', keys.testPublishable.slice(-4), undefined],
      ['secret', fresh.slice(-4), undefined],
      ['secret', keys.testSecret.slice(-4), at(1)],
    ],
  )
  t.equal(JSON.stringify(list.body).includes('_sk_'), false)
  t.equal((await call('GET', '/v1/keys', undefined, keys.liveSecret)).body.keys.length, 2, 'G8')
  clock.advance(day - 1)
  t.equal((await call('GET', '/v1/keys')).status, 200, 'both are valid')
  clock.advance(1)
  t.equal((await call('GET', '/v1/keys')).status, 401, 'the old one has expired')
  t.equal((await call('GET', '/v1/keys', undefined, fresh)).body.keys.length, 2)
})

t.test('the reference describes all of it', async (t) => {
  const { routes } = await serve(t)
  const { paths, components } = openApiDocument(routes, '1.0.0') as Json
  t.strictSame(Object.keys(paths).toSorted(), [
    '/v1/geofences',
    '/v1/geofences/{id}',
    '/v1/geofences/{tag}/{externalId}',
    '/v1/keys',
    '/v1/keys/{kind}/rotate',
    '/v1/search/geofences',
    '/v1/settings',
  ])
  t.strictSame(Object.keys(components.schemas).toSorted(), [
    'Error',
    'Geofence',
    'GeofenceChanges',
    'GeofenceDefinition',
    'NewGeofence',
    'Settings',
    'SettingsChange',
  ])
  t.ok(components.schemas.Settings.required.includes('maxGapSeconds'))
  t.notOk('required' in components.schemas.SettingsChange)
  t.strictSame(components.schemas.GeofenceDefinition.required, ['description', 'type'])
  t.strictSame(components.schemas.NewGeofence.required, ['description', 'type', 'tag', 'externalId'])
  t.match(paths['/v1/geofences'].post.responses['409'], { description: /Conflict/ })
})

const UUID = 'e2c56db5-dffb-48d2-b060-d0f5a71096e0'
const OTHER_UUID = 'f7826da6-4fa2-4e98-8024-bc5b71e0893e'

const NO_PLACES = { chainMappings: {}, chainMetadata: {}, placeFilters: { chain: [], category: [] } }

t.test('settings: defaults, partial changes, every rule', async (t) => {
  const { call, keys, registry } = await serve(t)
  const defaults = {
    stopDetection: false,
    bufferEntries: false,
    bufferExits: false,
    restrictToOperatingHours: false,
    dwellEvents: false,
    dwellThreshold: null,
    beaconUuids: [],
    beaconUids: [],
    minimumConfidence: 1,
    entryDelaySeconds: 0,
    exitDelaySeconds: 0,
    maxAccuracyMeters: null,
    detectCrossings: false,
    maxGapSeconds: 300,
    regions: false,
    regionEvents: ['country', 'state', 'dma', 'postalCode'],
    blockedCountries: [],
    allowedCountries: [],
    fraud: DEFAULT_FRAUD,
    ...NO_PLACES,
    places: false,
    placeMinimumStaySeconds: 300,
    nearbyPlaceChains: [],
    nearbyPlaceChainMeters: 1000,
    segments: [],
    notificationEmails: [],
    tripApproachingThreshold: 5,
    tripExpirationMinutes: 1440,
    tripDelayThreshold: null,
    tripWrongDestinationEvents: false,
    tripUpdateSeconds: 30,
    tripEtaSeconds: 30,
  }
  t.strictSame((await call('GET', '/v1/settings')).body, {
    meta: { code: 200 },
    settings: defaults,
    ...NO_PLACES,
  })
  const change = {
    stopDetection: true,
    dwellThreshold: 5,
    beaconUuids: [UUID, OTHER_UUID.replaceAll('-', ''), UUID],
    maxAccuracyMeters: 50,
  }
  const changed = {
    ...defaults,
    stopDetection: true,
    dwellThreshold: 5,
    beaconUuids: [UUID, OTHER_UUID],
    maxAccuracyMeters: 50,
  }
  t.strictSame((await call('PATCH', '/v1/settings', change)).body.settings, changed)
  t.strictSame((await call('GET', '/v1/settings')).body.settings, changed)
  t.strictSame((await call('GET', '/v1/settings', undefined, keys.liveSecret)).body.settings, defaults, 'G8')
  const reset = { dwellThreshold: null, maxAccuracyMeters: null, stopDetection: null, beaconUuids: [] }
  const expected = { ...defaults, stopDetection: true }
  t.strictSame(
    (await call('PATCH', '/v1/settings', reset)).body.settings,
    expected,
    'null resets what can be none',
  )
  const form = await call('PATCH', '/v1/settings', 'dwellEvents=true&minimumConfidence=2')
  t.strictSame(form.body.settings, { ...expected, dwellEvents: true, minimumConfidence: 2 })
  const texts = { maxAccuracyMeters: '50', dwellEvents: 'false', beaconUuids: `${UUID}, ${OTHER_UUID}` }
  const asTexts = {
    ...expected,
    minimumConfidence: 2,
    maxAccuracyMeters: 50,
    beaconUuids: [UUID, OTHER_UUID],
  }
  for (const sent of [texts, new URLSearchParams(texts).toString()])
    t.strictSame(
      (await call('PATCH', '/v1/settings', sent)).body.settings,
      asTexts,
      'texts as geofences take them',
    )
  for (const empty of [
    'beaconUuids=&maxAccuracyMeters=&stopDetection=&maxGapSeconds=',
    { beaconUuids: '', maxAccuracyMeters: '', stopDetection: '' },
    { beaconUuids: null, maxAccuracyMeters: null, maxGapSeconds: null },
    'beaconUuids[]=&maxAccuracyMeters=',
  ]) {
    await call('PATCH', '/v1/settings', texts)
    t.strictSame(
      (await call('PATCH', '/v1/settings', empty)).body.settings,
      { ...expected, minimumConfidence: 2 },
      'empty takes away what can be none, and leaves the rest',
    )
  }
  await call('PATCH', '/v1/settings', 'dwellEvents=true')
  const { revision } = registry
  t.equal((await call('PATCH', '/v1/settings', {})).status, 200)

  const CASES: readonly (readonly [param: string, values: readonly unknown[]])[] = [
    ['beaconUuids', ['a', ['xyz'], [5], ['x'.repeat(65)], Array.from({ length: 101 }, (_, i) => `${i}`), {}]],
    ['beaconUids', [7, [null], [UUID], `${'0'.repeat(20)},1`]],
    ['stopDetections', [true]],
    ['constructor', [1]],
  ]
  for (const [param, values] of CASES) {
    for (const value of values) {
      const { status, body } = await call('PATCH', '/v1/settings', { bufferExits: true, [param]: value })
      t.equal(status, 400, `${param} ${JSON.stringify(value).slice(0, 40)}`)
      t.equal(body.meta.param.split('.')[0], param)
    }
  }
  const { body } = await call('PATCH', '/v1/settings', { minimumConfidence: 4 })
  t.equal(body.meta.message, 'minimumConfidence: Invalid minimumConfidence. Valid range: [1, 3].')
  t.equal(registry.revision, revision, 'a refused change changes nothing')
})

t.test('settings of places: in settings and at the root, each replaced as a whole, every rule', async (t) => {
  const { call, keys, registry } = await serve(t)
  const change = async (body: unknown) => {
    const { status, body: answer } = await call('PATCH', '/v1/settings', body)
    t.equal(status, 200)
    const { chainMappings, chainMetadata, placeFilters } = answer
    t.match(answer.settings, { chainMappings, chainMetadata, placeFilters })
    t.strictSame((await call('GET', '/v1/settings')).body, answer)
    return { chainMappings, chainMetadata, placeFilters }
  }
  const all = {
    chainMappings: { 'burger-king': '17', mcdonalds: 'mc' },
    chainMetadata: { mcdonalds: { tier: 1, isOpen: true, note: 'a' } },
    placeFilters: { chain: ['burger-king'], category: ['cafe'] },
  }
  t.strictSame(await change(all), all)
  t.match((await call('GET', '/v1/settings', undefined, keys.liveSecret)).body, NO_PLACES, 'G8')
  const fewer = { mcdonalds: '1' }
  t.strictSame(await change({ chainMappings: fewer }), { ...all, chainMappings: fewer }, 'replaced')
  t.strictSame(await change({ placeFilters: { chain: 'kfc, KFC, subway' } }), {
    ...all,
    chainMappings: fewer,
    placeFilters: { chain: ['kfc', 'subway'], category: [] },
  })
  for (const none of [null, '', {}])
    t.strictSame(await change({ chainMappings: none, chainMetadata: none, placeFilters: none }), NO_PLACES)
  const form = new URLSearchParams()
  for (const [name, value] of Object.entries(all)) form.set(name, JSON.stringify(value))
  t.strictSame(await change(form.toString()), all, 'JSON text in a form')
  t.strictSame(
    await change('chainMappings[kfc]=9'),
    { ...all, chainMappings: { kfc: '9' } },
    'members in a form',
  )
  const removed = { chainMappings: { kfc: null, subway: '5' }, chainMetadata: { kfc: null } }
  t.match(await change(removed), { chainMappings: { subway: '5' }, chainMetadata: {} }, 'null is absent')

  const { revision } = registry
  const many = (count: number, of: (i: number) => unknown) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`chain-${i}`, of(i)]))
  const CASES: readonly (readonly [param: string, values: readonly unknown[]])[] = [
    [
      'chainMappings',
      [
        [],
        5,
        'x',
        { 'Burger King': '1' },
        { 'kfc-': '1' },
        { kfc: 1 },
        { kfc: '' },
        { kfc: 'a,b' },
        { kfc: 'x'.repeat(257) },
        { ['x'.repeat(257)]: '1' },
        { kfc: 'a\0' },
        many(4001, String),
        many(2100, () => 'é'.repeat(128)),
        '{"__proto__": "1"}',
      ],
    ],
    [
      'chainMetadata',
      [
        [],
        true,
        { kfc: {} },
        { kfc: 'a' },
        { kfc: [] },
        { kfc: { a: { b: 1 } } },
        { 'K F C': { a: 1 } },
        { kfc: many(17, String) },
        many(4000, () => ({ a: 'x'.repeat(130) })),
      ],
    ],
    [
      'placeFilters',
      [
        [],
        'cafe',
        { chains: [] },
        { chain: [5] },
        { chain: ['K F C'] },
        { category: {} },
        { category: Array.from({ length: 1001 }, (_, i) => `c${i}`) },
      ],
    ],
  ]
  for (const [param, values] of CASES) {
    for (const value of values) {
      const { status, body } = await call('PATCH', '/v1/settings', { bufferExits: true, [param]: value })
      t.equal(status, 400, `${param} ${JSON.stringify(value).slice(0, 40)}`)
      t.equal(body.meta.param.split('.')[0], param)
    }
  }
  t.equal(registry.revision, revision, 'a refused change changes nothing')
})

t.test('property: every body is answered with 200, 400, 409 or 503', async (t) => {
  const { call } = await serve(t)
  const names = [
    ...Object.keys(CIRCLE),
    'address',
    'placeId',
    'mode',
    'enabled',
    'metadata',
    'operatingHours',
  ]
    .concat(['stopDetection', 'disableAfter', 'deleteAfter', 'userId', 'userIds', 'ip', 'dwellThreshold'])
    .concat(['tripApproachingThreshold', '__proto__', 'constructor', 'x'])
  const value = fc.oneof(
    { weight: 3, arbitrary: fc.jsonValue() },
    fc.constantFrom(
      '',
      null,
      '2026-01-01',
      '[]',
      '{}',
      '[[]]',
      'null',
      '1e400',
      [[[]]],
      [null],
      1e308,
      -0,
      '\ud800',
    ),
    fc.string({ unit: 'binary' }),
    fc.double(),
  )
  await fc.assert(
    fc.asyncProperty(fc.dictionary(fc.constantFrom(...names), value), fc.boolean(), async (fields, onTop) => {
      const { status, body } = await call('POST', '/v1/geofences', onTop ? { ...CIRCLE, ...fields } : fields)
      return (
        [200, 400, 409, 503].includes(status) &&
        body.meta.code === status &&
        (status !== 400 || typeof body.meta.param === 'string')
      )
    }),
    { numRuns: RUNS },
  )
  t.pass('held')
})
