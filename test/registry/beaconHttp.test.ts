/** Beacons over real HTTP: every rule of the field table, lists, the search, who is in range, and a restart. */
import t from 'tap'
import type { Test } from 'tap'
import fc from '../kit/fastCheck.ts'
import { KEYS, type Server, startServer } from '../kit/server.ts'

const RUNS = 60 * Number(process.env['RINGFENCE_TEST_RUNS'] ?? 1)
const UUID = 'b9407f30-f5f8-466e-aff9-25556b57fe6d'

const IBEACON = {
  description: 'Store 123 - Register 1',
  tag: 'store-register',
  externalId: '123-1',
  type: 'ibeacon',
  uuid: UUID,
  major: '100',
  minor: '1',
  coordinates: [-73.9911, 40.7342],
  enabled: true,
}
const EDDYSTONE = {
  description: 'Store 123 - Aisle A',
  tag: 'store-aisle',
  externalId: '123-A',
  type: 'eddystone',
  uid: 'f7826da6bc5b71e0893e',
  instance: '4456384b726a',
  coordinates: [-73.9913, 40.7344],
}

/** One server for all tests. Each test starts without beacons. */
let server: Server
t.before(async () => {
  server = await startServer(t)
})

async function clear(t: Test): Promise<void> {
  for (const key of [KEYS.testSecret, KEYS.liveSecret]) {
    const { body } = await server.api('GET', '/v1/beacons?limit=1000', undefined, key)
    for (const { _id } of body.beacons) {
      const { status } = await server.api('DELETE', `/v1/beacons/${_id}`, undefined, key)
      if (status !== 200) t.fail(`deleting ${_id} answered ${status}`)
    }
  }
}

t.test('a beacon is created, read, replaced and deleted', async (t) => {
  await clear(t)
  const created = await server.api('POST', '/v1/beacons', { ...IBEACON, metadata: { floor: 2 } })
  t.equal(created.status, 200)
  const { beacon } = created.body
  t.match(beacon, {
    _id: /^[0-9a-f]{24}$/,
    createdAt: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
    live: false,
    description: IBEACON.description,
    tag: IBEACON.tag,
    externalId: IBEACON.externalId,
    type: 'ibeacon',
    uuid: UUID,
    major: '100',
    minor: '1',
    geometry: { type: 'Point', coordinates: IBEACON.coordinates },
    enabled: true,
    metadata: { floor: 2 },
  })
  t.notOk('uid' in beacon || 'instance' in beacon || 'distance' in beacon)

  const again = await server.api('POST', '/v1/beacons', IBEACON)
  t.match(again, { status: 409, body: { meta: { code: 409, param: 'externalId' } } })

  const pair = '/v1/beacons/store-register/123-1'
  for (const path of [`/v1/beacons/${beacon._id}`, pair, `/api${pair}`, `/api/v1/beacons/${beacon._id}`]) {
    t.strictSame((await server.api('GET', path)).body.beacon, beacon, path)
  }

  const { description: _description, ...rest } = IBEACON
  const replaced = await server.api('PUT', pair, {
    ...rest,
    description: 'Rotated',
    minor: 2,
    enabled: false,
  })
  t.match(replaced.body.beacon, {
    _id: beacon._id,
    createdAt: beacon.createdAt,
    description: 'Rotated',
    minor: '2',
    enabled: false,
  })
  t.notOk('metadata' in replaced.body.beacon, 'what is absent is at its default')

  const byId = await server.api('PUT', `/v1/beacons/${beacon._id}`, {
    ...EDDYSTONE,
    tag: null,
    externalId: undefined,
  })
  t.match(byId.body.beacon, {
    _id: beacon._id,
    tag: 'store-register',
    externalId: '123-1',
    uid: EDDYSTONE.uid,
  })
  t.notOk('uuid' in byId.body.beacon, 'another type has other identifiers')

  const other = await server.api('PUT', '/api/v1/beacons/x/y', {
    ...EDDYSTONE,
    tag: undefined,
    externalId: null,
  })
  t.match(other.body.beacon, { tag: 'x', externalId: 'y', enabled: true })
  t.match(await server.api('PUT', `/v1/beacons/${other.body.beacon._id}`, IBEACON), { status: 409 })
  t.match(await server.api('PUT', '/v1/beacons/x/y', IBEACON), {
    status: 400,
    body: { meta: { param: 'tag' } },
  })

  t.equal((await server.api('DELETE', `/v1/beacons/${beacon._id}`)).status, 200)
  t.equal((await server.api('DELETE', '/v1/beacons/x/y')).status, 200)
  for (const method of ['GET', 'DELETE', 'PUT']) {
    const path = `/v1/beacons/${beacon._id}`
    const gone = await server.api(method, path, method === 'PUT' ? IBEACON : undefined)
    t.match(gone, { status: 404, body: { meta: { message: 'Beacon not found.' } } }, method)
  }
  t.equal((await server.api('DELETE', '/v1/beacons/x/y')).status, 404)
  t.equal((await server.api('GET', '/v1/beacons/x/y')).status, 404)
})

t.test('every field: what is accepted, and how it comes back', async (t) => {
  await clear(t)
  const ACCEPTED: readonly (readonly [name: string, sent: object, back: object])[] = [
    ['major and minor as numbers', { major: 0, minor: 65_535 }, { major: '0', minor: '65535' }],
    ['as text with zeros', { major: '007', minor: ' 10 ' }, { major: '7', minor: '10' }],
    ['a UUID in capitals', { uuid: UUID.toUpperCase() }, { uuid: UUID.toUpperCase() }],
    ['a UUID without dashes', { uuid: UUID.replaceAll('-', '') }, { uuid: UUID }],
    ['coordinates as JSON text', { coordinates: '[13.4,52.5]' }, { geometry: { coordinates: [13.4, 52.5] } }],
    ['numbers as text', { coordinates: ['13.4', '52.5'] }, { geometry: { coordinates: [13.4, 52.5] } }],
    ['a pole', { coordinates: [180, -90] }, { geometry: { coordinates: [180, -90] } }],
    ['enabled as text', { enabled: 'false' }, { enabled: false }],
    ['enabled absent', { enabled: null }, { enabled: true }],
    ['metadata as JSON text', { metadata: '{"a":1,"b":true}' }, { metadata: { a: 1, b: true } }],
    ['unknown fields', { rssi: -60, uid: '7', colour: { x: [] } }, { type: 'ibeacon' }],
  ]
  for (const [name, sent, back] of ACCEPTED) {
    const { status, body } = await server.api('PUT', '/v1/beacons/store-register/123-1', {
      ...IBEACON,
      ...sent,
    })
    t.equal(status, 200, name)
    t.match(body.beacon, back, name)
  }
  const sixteen = Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`key${i}`, i]))
  const full = await server.api('PUT', '/v1/beacons/a/b', {
    ...EDDYSTONE,
    tag: '',
    externalId: '',
    metadata: sixteen,
  })
  t.strictSame(full.body.beacon.metadata, sixteen)

  // Without the pair, each request creates a new beacon.
  const { tag: _tag, externalId: _externalId, ...nameless } = IBEACON
  const ids = new Set<string>()
  for (const more of [{}, {}, { tag: 'only' }, { tag: 'only' }, { externalId: 'only' }]) {
    const { body } = await server.api('POST', '/v1/beacons', { ...nameless, ...more })
    ids.add(body.beacon._id)
    t.strictSame([body.beacon.tag, body.beacon.externalId], [more.tag, more.externalId])
  }
  t.equal(ids.size, 5)

  const form = new URLSearchParams({ ...IBEACON, coordinates: '[1,2]', enabled: 'false', uuid: UUID })
  form.set('metadata[floor]', '3')
  form.set('externalId', 'form')
  const answered = await server.api('POST', '/v1/beacons', form.toString(), KEYS.testSecret, {
    'content-type': 'application/x-www-form-urlencoded',
  })
  t.match(answered, {
    status: 200,
    body: { beacon: { externalId: 'form', enabled: false, major: '100', geometry: { coordinates: [1, 2] } } },
  })
  // Identifiers that look like numbers keep their zeros.
  const zeros = new URLSearchParams({ ...EDDYSTONE, coordinates: '[1,2]', instance: '000000000001' })
  const kept = await server.api('PUT', '/v1/beacons/store-aisle/123-A', zeros.toString(), KEYS.testSecret, {
    'content-type': 'application/x-www-form-urlencoded',
  })
  t.equal(kept.body.beacon?.instance, '000000000001')
})

t.test('every rule broken: 400 that names the field, and nothing changes', async (t) => {
  await clear(t)
  const BROKEN: readonly (readonly [param: string, change: object, sentence: RegExp])[] = [
    ['type', { type: 'iBeacon' }, /Valid values: ibeacon, eddystone/],
    ['uuid', { uuid: null }, /Required for an ibeacon/],
    [
      'uuid',
      { uuid: UUID.slice(1) },
      /A uuid is 32 hexadecimal digits, with or without dashes, like .*; ".*" is none\.$/,
    ],
    ['uuid', { uuid: 'e2' }, /^uuid: Invalid uuid\. .*; "e2" is none\.$/],
    ['uuid', { uuid: `g${UUID.slice(1)}` }, /32 hexadecimal digits/],
    ['major', { major: undefined }, /Required for an ibeacon/],
    ['major', { major: 65_536 }, /Invalid major\. Valid range: \[0, 65535\]\./],
    ['major', { major: '-1' }, /Valid range/],
    ['minor', { minor: 'x' }, /must be a number/],
    ['minor', { minor: 1.5 }, /whole number/],
    ['uid', { ...EDDYSTONE, uid: undefined }, /Required for an eddystone/],
    ['uid', { ...EDDYSTONE, uid: `${EDDYSTONE.uid}0` }, /A uid is 20 hexadecimal digits/],
    ['instance', { ...EDDYSTONE, instance: null }, /Required for an eddystone/],
    [
      'instance',
      { ...EDDYSTONE, instance: '4456384b72' },
      /An instance is 12 hexadecimal digits, .*; "4456384b72" is none\.$/,
    ],
    ['coordinates', { coordinates: undefined }, /Required/],
    ['coordinates', { coordinates: [1] }, /\[longitude, latitude\]/],
    ['coordinates', { coordinates: [1, 2, 3] }, /\[longitude, latitude\]/],
    ['coordinates', { coordinates: [181, 0] }, /Invalid longitude\. Valid range: \[-180, 180\]\./],
    [
      'coordinates',
      { coordinates: [0, 90.1] },
      /Invalid latitude\. Valid range: \[-90, 90\]\. A position is \[longitude, latitude\]\./,
    ],
    ['coordinates', { coordinates: '1,2' }, /valid JSON/],
    ['metadata', { metadata: { a: {} } }, /strings, booleans or numbers/],
    [
      'metadata',
      { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [i, i])) },
      /at most 16/,
    ],
    ['metadata', { metadata: '[1]' }, /dictionary/],
  ]
  for (const [param, change, sentence] of BROKEN) {
    const name = `${param}: ${JSON.stringify(change).slice(0, 80)}`
    const { status, body } = await server.api('POST', '/v1/beacons', { ...IBEACON, ...change })
    t.equal(status, 400, name)
    t.equal(body.meta.param, param, name)
    t.match(body.meta.message, sentence, name)
  }
  const { body } = await server.api('GET', '/v1/beacons')
  t.strictSame(body.beacons, [])
  t.equal((await server.api('POST', '/v1/beacons', IBEACON, KEYS.testPublishable)).status, 403)
  t.equal((await server.api('GET', '/v1/beacons', undefined, KEYS.testPublishable)).status, 403)
  t.equal((await server.api('GET', '/v1/search/beacons?near=0,0', undefined, null)).status, 401)
})

t.test('property: every body is answered with 200, 400 or 409', async (t) => {
  await clear(t)
  const value = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom(
      '',
      null,
      '[]',
      '{}',
      '[[]]',
      'null',
      '1e400',
      [null],
      1e308,
      -0,
      '\ud800',
      '1',
      'ibeacon',
    ),
    fc.string({ unit: 'binary' }),
  )
  const names = [...Object.keys({ ...IBEACON, ...EDDYSTONE }), 'metadata', '__proto__', 'constructor', 'x']
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(fc.constantFrom(...names), value),
      fc.constantFrom({}, IBEACON, EDDYSTONE),
      async (fields, base) => {
        const { status, body } = await server.api('POST', '/v1/beacons', { ...base, ...fields })
        return (
          [200, 400, 409].includes(status) &&
          body.meta.code === status &&
          (status !== 400 || typeof body.meta.param === 'string')
        )
      },
    ),
    { numRuns: RUNS },
  )
  t.pass('held')
})

t.test('lists: filters, dates, pages', async (t) => {
  await clear(t)
  for (let i = 0; i < 7; i++) {
    // A different creation time.
    await new Promise((resolve) => setTimeout(resolve, 2))
    const metadata = { floor: i % 2, open: i === 3 }
    await server.api('PUT', `/v1/beacons/${i < 4 ? 'low' : 'high'}/${i}`, {
      ...IBEACON,
      tag: undefined,
      externalId: undefined,
      metadata,
    })
  }
  const ask = async (query: string) => {
    const { status, body } = await server.api('GET', `/v1/beacons?${query}`)
    t.equal(status, 200, query)
    return body
  }
  const names = (body: { beacons: { externalId: string }[] }) => body.beacons.map((one) => one.externalId)
  t.strictSame(names(await ask('')), ['6', '5', '4', '3', '2', '1', '0'], 'newest first')
  t.strictSame(names(await ask('tag=low')), ['3', '2', '1', '0'])
  t.strictSame(names(await ask('tag=low&externalId=2')), ['2'])
  t.strictSame(names(await ask('metadata[floor]=1')), ['5', '3', '1'])
  t.strictSame(names(await ask('metadata[floor]=1&metadata[open]=true')), ['3'])
  const seen: string[] = []
  for (let before = ''; ;) {
    const page = await ask(`limit=3${before}`)
    seen.push(...names(page))
    if (!page.meta.hasMore) break
    before = `&before=${page.beacons.at(-1)._id}`
  }
  t.strictSame(seen, ['6', '5', '4', '3', '2', '1', '0'], 'pages lose none')
  const middle = (await ask('externalId=3')).beacons[0]
  t.strictSame(names(await ask(`createdAfter=${middle.createdAt}`)), ['6', '5', '4'])
  t.strictSame(names(await ask(`updatedBefore=${middle.updatedAt}`)), ['2', '1', '0'])
})

t.test(
  'search: enabled ones within the radius, nearest first, with what clients range in all places',
  async (t) => {
    await clear(t)
    // A degree of latitude is 111,054 m here.
    const at = (meters: number) => [-73.99, 40.74 + meters / 111_054]
    const DISTANCES = [0, 5, 50, 500, 990, 1010, 20_000, 99_000, 101_000]
    for (const meters of DISTANCES.toReversed()) {
      await server.api('PUT', `/v1/beacons/${meters < 100 ? 'near' : 'far'}/${meters}`, {
        ...IBEACON,
        tag: undefined,
        externalId: undefined,
        coordinates: at(meters),
        enabled: meters !== 5,
        metadata: { even: meters % 20 === 0 },
      })
    }
    await server.api('POST', '/v1/beacons', { ...IBEACON, coordinates: at(10) }, KEYS.liveSecret)
    const settings = { beaconUuids: [UUID], beaconUids: ['f7826da6bc5b71e0893e'] }
    t.equal((await server.api('PATCH', '/v1/settings', settings)).status, 200)
    const ask = async (query: string, key: string = KEYS.testPublishable) => {
      const { status, body } = await server.api(
        'GET',
        `/v1/search/beacons?near=40.74,-73.99${query}`,
        undefined,
        key,
      )
      t.equal(status, 200, query)
      return body
    }
    const meters = (body: { beacons: { externalId: string }[] }) =>
      body.beacons.map((one) => Number(one.externalId))
    const found = await ask('')
    t.strictSame(meters(found), [0, 50, 500, 990], '1 km by default')
    t.strictSame(found.meta, {
      code: 200,
      settings: { beacons: { uuids: [UUID], uids: ['f7826da6bc5b71e0893e'] } },
    })
    t.match(found.beacons[2], { type: 'ibeacon', geometry: { type: 'Point' }, _id: /^[0-9a-f]{24}$/ })
    t.ok(Math.abs(found.beacons[2].distance - 500) < 1)
    t.strictSame(meters(await ask('&limit=2')), [0, 50])
    t.strictSame(meters(await ask('&radius=100000')), [0, 50, 500, 990, 1010, 20_000, 99_000])
    t.strictSame(meters(await ask('&tags=far,other')), [500, 990])
    t.strictSame(meters(await ask('&metadata[even]=true')), [0, 500])
    t.strictSame(meters(await ask('&metadata=[object%20Object]&installId=x')), [0, 50, 500, 990])
    const live = await ask('', KEYS.livePublishable)
    t.equal(live.beacons.length, 1)
    t.strictSame(live.meta.settings.beacons, { uuids: [], uids: [] }, 'of its own environment')
    t.equal(live.beacons[0].live, true)
  },
)

t.test('who is in range; beacons and stays survive kill -9', async (t) => {
  await clear(t)
  const register = (await server.api('POST', '/v1/beacons', IBEACON)).body.beacon
  const aisle = (await server.api('POST', '/v1/beacons', EDDYSTONE)).body.beacon
  const track = async (deviceId: string, beacons: unknown) => {
    const { status, body } = await server.api(
      'POST',
      '/v1/track',
      { deviceId, latitude: 40.7343, longitude: -73.9912, accuracy: 10, beacons },
      KEYS.testPublishable,
    )
    t.equal(status, 200)
    return body
  }
  const { type, uuid, major, minor } = IBEACON
  const heard = { type, uuid: uuid.toUpperCase(), major: Number(major), minor, rssi: -70 }
  const entered = await track('phone-1', [heard])
  t.match(entered.events, [{ type: 'user.entered_beacon', beacon: { _id: register._id }, confidence: 3 }])
  t.match(entered.user.beacons, [
    { _id: register._id, type: 'ibeacon', uuid: UUID, major: '100', minor: '1' },
  ])
  t.strictSame(
    entered.nearbyBeacons.map((one: { _id: string }) => one._id).toSorted(),
    [register._id, aisle._id].toSorted(),
  )
  await track('phone-2', [heard, { type: 'eddystone', uid: EDDYSTONE.uid, instance: EDDYSTONE.instance }])
  await track('phone-3', [])
  const inRange = async (of: string) => {
    const { status, body } = await server.api('GET', `/v1/beacons/${of}/users`)
    t.equal(status, 200, of)
    return body.users.map((user: { deviceId: string }) => user.deviceId)
  }
  t.strictSame(await inRange(register._id), ['phone-2', 'phone-1'])
  t.strictSame(await inRange('store-aisle/123-A'), ['phone-2'])
  const first = await server.api('GET', '/v1/beacons/store-register/123-1/users?limit=1')
  t.match(first.body, { meta: { hasMore: true }, users: [{ deviceId: 'phone-2' }] })
  t.equal((await server.api('GET', `/v1/beacons/${'0'.repeat(24)}/users`)).status, 404)
  for (const [kind, body] of [
    ['beacons', { ...EDDYSTONE, instance: '4456384b726b', externalId: 'users' }],
    ['geofences', { description: 'x', type: 'circle', coordinates: [1, 2], radius: 100 }],
  ] as const) {
    t.equal((await server.api('PUT', `/v1/${kind}/store-aisle/users`, body)).status, 200)
    const named = await server.api('GET', `/v1/${kind}/store-aisle/users`)
    t.match(named.body, { [kind.slice(0, -1)]: { externalId: 'users' } }, `${kind}: a name like any other`)
    const inside = await server.api('GET', `/v1/${kind}/store-aisle/users/users`)
    t.strictSame(inside.body, { meta: { code: 200, hasMore: false }, users: [] })
    t.equal((await server.api('DELETE', `/v1/${kind}/store-aisle/users`)).status, 200)
  }

  const before = (await server.api('GET', '/v1/beacons')).body.beacons
  await server.kill9()
  await server.restart()
  t.strictSame((await server.api('GET', '/v1/beacons')).body.beacons, before)
  t.strictSame(await inRange('store-register/123-1'), ['phone-2', 'phone-1'])

  await server.api('PUT', '/v1/beacons/store-register/123-1', { ...IBEACON, enabled: false })
  t.strictSame(await inRange('store-register/123-1'), [], 'nobody is in range of a disabled one')
  const left = await track('phone-2', [])
  t.match(left.events, [{ type: 'user.exited_beacon', beacon: { _id: aisle._id } }], 'it is left silently')
  t.equal(left.events.length, 1)
  t.strictSame(
    left.nearbyBeacons.map((one: { _id: string }) => one._id),
    [aisle._id],
  )
})

t.test('the reference names every call', async (t) => {
  const { body } = await server.api('GET', '/v1/openapi.json', undefined, null)
  const CALLS: readonly (readonly [path: string, methods: readonly string[]])[] = [
    ['/v1/beacons', ['get', 'post']],
    ['/v1/beacons/{id}', ['get', 'put', 'delete']],
    ['/v1/beacons/{tag}/{externalId}', ['get', 'put', 'delete']],
    ['/v1/beacons/{id}/users', ['get']],
    ['/v1/beacons/{tag}/{externalId}/users', ['get']],
    ['/v1/search/beacons', ['get']],
  ]
  for (const [path, methods] of CALLS)
    for (const method of methods) t.ok(body.paths[path]?.[method]?.responses['200'], `${method} ${path}`)
})
