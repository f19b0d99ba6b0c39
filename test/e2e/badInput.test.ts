/**
 * Bad input against a real process (issue 2, "Bad input"): every route of the document with every parameter in every
 * wrong shape, hostile bodies, wrong methods and types. Every answer must be one that the interface's table and the
 * document allow, never a 500, and no request may hang. At the end the server must be in the same state as before.
 */
import t from 'tap'
import { KEYS } from '../kit/server.ts'
import { startApi, type Json, type Operation } from './contract.ts'
import { all, MIB, strictCall, unharmed } from './strict.ts'

const { testPublishable, testSecret, liveSecret } = KEYS

const api = await startApi(t)
const { server } = api
const call = strictCall(api)

const UPDATE = { deviceId: 'bad', latitude: 50, longitude: 10, accuracy: 5 }
const GEOFENCE = {
  description: 'x',
  type: 'circle',
  tag: 'bad',
  externalId: '1',
  coordinates: [10, 50],
  radius: 100,
}
const BEACON = {
  description: 'x',
  type: 'eddystone',
  uid: 'edd1ebeac04e5defa017',
  instance: '0bdb87539b67',
  coordinates: [10, 50],
}
const { _id } = await api.circle('kept/1', [10, 50], 100)
const { beacon } = (await call('PUT', '/v1/beacons/kept/1', BEACON)).body
// Its types match no event, so that nothing is sent.
const WEBHOOK = { url: 'https://receiver.example/', types: ['nothing'] }
const { webhook } = (await call('POST', '/v1/webhooks', WEBHOOK)).body
// Disabled, so that nothing is sent.
const HOOK = {
  tag: 'bad',
  externalId: '1',
  enabled: false,
  geofence: { tag: 'bad' },
  endpoint: { url: 'https://receiver.example/' },
}
const { hook } = (await call('PUT', '/v1/hooks/kept/1', { ...HOOK, tag: 'kept' })).body
const { event } = (await call('POST', '/v1/events', { name: 'kept', deviceId: 'bad' })).body

/** A valid request for each route: its address and body. */
const GOOD: Record<string, { path?: string; query?: string; body?: Json }> = {
  'PATCH /v1/geofences': { query: 'tag=nothing-has-it&expectedCount=0' },
  'PATCH /v1/beacons': { query: 'tag=nothing-has-it&expectedCount=0' },
  'POST /v1/track': { body: UPDATE },
  'POST /v1/track/replay': { body: { replays: [UPDATE] } },
  'GET /v1/context': { query: 'coordinates=50,10' },
  'POST /v1/events': { body: { name: 'x', deviceId: 'bad' } },
  'PUT /v1/events/{id}/verification': {
    path: `/v1/events/${event._id}/verification`,
    body: { verification: 1 },
  },
  'POST /v1/sync/region': { body: { latitude: 50, longitude: 10 } },
  'GET /v1/search/beacons': { query: 'near=50,10' },
  'POST /v1/beacons': { body: BEACON },
  'PUT /v1/beacons/{tag}/{externalId}': {
    path: '/v1/beacons/bad/1',
    body: BEACON,
  },
  'PUT /v1/beacons/{id}': {
    path: `/v1/beacons/${beacon._id}`,
    body: BEACON,
  },
  'GET /v1/search/users': { query: 'near=50,10' },
  'GET /v1/search/geofences': { query: 'near=50,10' },
  'POST /v1/geofences': {
    body: GEOFENCE,
  },
  'PUT /v1/geofences/{tag}/{externalId}': {
    path: '/v1/geofences/bad/1',
    body: GEOFENCE,
  },
  'PUT /v1/geofences/{id}': {
    path: `/v1/geofences/${_id}`,
    body: { ...GEOFENCE, tag: 'kept' },
  },
  'PATCH /v1/settings': { body: {} },
  'POST /v1/webhooks': { body: WEBHOOK },
  'POST /v1/hooks': { body: HOOK },
  'PUT /v1/hooks/{tag}/{externalId}': { path: '/v1/hooks/bad/1', body: HOOK },
  'PUT /v1/hooks/{id}': { path: `/v1/hooks/${hook._id}`, body: { ...HOOK, tag: 'kept' } },
  'PATCH /v1/webhooks/{id}': { path: `/v1/webhooks/${webhook._id}`, body: {} },
  'GET /v1/webhooks/{id}/deliveries': { path: `/v1/webhooks/${webhook._id}/deliveries` },
  'POST /v1/webhooks/{id}/redeliver': {
    path: `/v1/webhooks/${webhook._id}/redeliver`,
    body: { from: '2026-01-01' },
  },
  'GET /v1/geofences/{id}/users': { path: `/v1/geofences/${_id}/users` },
  'GET /v1/geofences/{tag}/{externalId}/users': { path: '/v1/geofences/kept/1/users' },
}
const goodOf = (one: Operation) => {
  const good = GOOD[`${one.method} ${one.path}`] ?? {}
  return { query: '', path: one.path.replaceAll(/\{\w+\}/g, 'nobody'), ...good }
}

const schemaOf = (one: Operation): Json | undefined => {
  const schema = one.definition.requestBody?.content['application/json']?.schema
  if (schema?.$ref === undefined) return schema
  return api.resolve(schema)
}
/** Without file uploads and endless streams, which are tested with their readers. */
const jsonOperations = api.withoutPeople.filter(
  (one) =>
    (one.definition.requestBody === undefined || schemaOf(one) !== undefined) &&
    one.definition.responses[200]?.content['text/event-stream'] === undefined,
)

/**
 * Each hostile value for each parameter is a draw: one of five in the quick suite, by RINGFENCE_SEED, and all of them
 * where more is drawn. Whether wrong values are refused by name: requiredFields.test.ts.
 */
const SHARE = process.env['RINGFENCE_TEST_RUNS'] === undefined ? 5 : 1
/** The same for odd queries, of which one of three is drawn for each route. */
const ODD_SHARE = SHARE === 1 ? 1 : 3
/** The same for parameters whose definition was seen before. */
const SAMPLE = SHARE === 1 ? 9 : 14
const FIRST = Number(process.env['RINGFENCE_SEED'] ?? Date.now())

const nested = (depth: number, open: string, close: string) => open.repeat(depth) + '1' + close.repeat(depth)

/** JSON texts of values that are wrong for most parameters. */
const VALUES = [
  'null',
  'true',
  '0',
  '-1',
  '1.5',
  '1e999',
  '-1e308',
  '5e-324',
  '9'.repeat(400),
  '""',
  '"NaN"',
  '"Infinity"',
  '"text"',
  '"\\u0000"',
  '"a\\ud800b"',
  '"\\udc00"',
  `"${'x'.repeat(100_000)}"`,
  '[]',
  '[null]',
  '["\\u0000"]',
  '[1e999,1]',
  '{}',
  '{"a":null}',
  '{"\\u0000":1}',
  '{"\\ud800":1}',
  '{"__proto__":{"polluted":1}}',
  '{"constructor":{"prototype":{"polluted":1}}}',
  nested(60, '[', ']'),
  nested(200, '{"a":', '}'),
  'NaN',
  'undefined',
]

/** The same for queries, forms and paths, escaped. */
const TEXTS = [
  '',
  'NaN',
  'Infinity',
  '-Infinity',
  '1e999',
  '-1',
  '0',
  '1.5',
  '0x10',
  '9'.repeat(400),
  'true',
  'null',
  '[]',
  '{}',
  '[object%20Object]',
  '%7B%22__proto__%22:%7B%22polluted%22:1%7D%7D',
  '%00',
  'a%00b',
  '%ED%A0%80',
  '%FF',
  '%',
  '%zz',
  '%F0%9F%92%A9',
  'x'.repeat(2500),
  '50,10,5',
  ',',
]

const ODD_QUERIES = [
  '',
  '&&&',
  '=',
  '?',
  '__proto__=1',
  '__proto__[polluted]=1',
  'constructor[prototype][polluted]=1',
  '[]=1',
  '%=1',
  '%00=1',
  'a=1&'.repeat(700),
]

// Required fields and parameters are left out in requiredFields.test.ts.
t.test('bodies that are not objects', async (t) => {
  for (const one of jsonOperations) {
    const { path, query } = goodOf(one)
    const needed = (one.definition.parameters ?? [])
      .map((parameter: Json) => api.resolve(parameter))
      .filter((parameter: Json) => parameter.in === 'query' && parameter.required)
    if (one.definition.requestBody?.required !== true) continue
    // What is missing from the query would be named before the body.
    const place = needed.length > 0 ? `${path}?${query}` : path
    for (const empty of [
      undefined,
      '',
      ' ',
      '{}',
      'null',
      '5',
      '"x"',
      '[]',
      'true',
      '{',
      '{"a"}',
      '\u{FEFF}',
      '\xff',
      'NaN',
    ]) {
      const { status } = await call(one.method, place, empty)
      // An empty change of settings is valid; that of a leg must say its status, and that of many records what changes.
      const isNothing = ['', '{}'].includes((empty ?? '').trim())
      const mayBeEmpty = one.method === 'PATCH' && !one.path.includes('/legs/') && place === path
      t.equal(status, isNothing && mayBeEmpty ? 200 : 400, `${one.method} ${one.path} ${empty}`)
    }
    for (const bytes of [[0xff, 0xfe], [0x7b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x3a, 0x31, 0x7d], [0]])
      t.equal((await call(one.method, place, Uint8Array.from(bytes))).body.meta.param, 'body')
  }
})

t.test('each parameter of each body, in JSON and as a form', async (t) => {
  const requests: [Operation, string, string][] = []
  const seen = new Set<string>()
  for (const one of jsonOperations) {
    const schema = schemaOf(one)
    if (schema === undefined) continue
    const names = Object.keys(schema.properties)
    t.ok(names.length > 0, `${one.method} ${one.path} has parameters`)
    // The geofence that is replaced by its id must not be deleted.
    if (one.path === '/v1/geofences/{id}') names.splice(names.indexOf('deleteAfter'), 1)
    for (const name of [...names, 'unknown', '__proto__', 'constructor', 'prototype', 'toString']) {
      // Parameters with the same definition share its checks, so later ones are only sampled.
      const definition = `${name} ${JSON.stringify(schema.properties[name])}`
      const step = seen.has(definition) ? SAMPLE : SHARE
      seen.add(definition)
      for (let i = (FIRST + requests.length) % step; i < VALUES.length; i += step)
        requests.push([one, name, VALUES[i]!])
    }
  }
  const counts: Record<number, number> = {}
  await all(requests, async ([one, name, value]) => {
    const { path, body } = goodOf(one)
    const members = Object.entries({ ...body, [name]: undefined }).map(([key, held]) =>
      key === name ? `"${name}":${value}` : `${JSON.stringify(key)}:${JSON.stringify(held)}`,
    )
    if (name === '__proto__') members.push(`"__proto__":${value}`)
    const { status } = await call(one.method, path, `{${members.join()}}`)
    counts[status] = (counts[status] ?? 0) + 1
  })
  const everyThird = requests.filter((_, i) => i % 3 === 0)
  await all(everyThird, async ([one, name, value]) => {
    const { path, body } = goodOf(one)
    const form = new URLSearchParams()
    for (const [key, held] of Object.entries({ ...body, [name]: value }))
      form.append(key, key === name || typeof held === 'string' ? String(held) : JSON.stringify(held))
    for (const odd of ['[]', '[__proto__]', '[constructor]', '[a][b]', '[', ']'])
      if (value.length % 3 === 0) form.append(name + odd, value)
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const { status } = await call(one.method, path, form.toString(), testSecret, headers)
    counts[status] = (counts[status] ?? 0) + 1
  })
  await api.settings((await call('GET', '/v1/settings', undefined, liveSecret)).body.settings)
  t.ok(counts[400]! > 1000, 'most are refused')
  t.comment(JSON.stringify(counts))
})

t.test('each parameter of each query and path', async (t) => {
  const requests: [string, string][] = []
  const seen = new Set<string>()
  for (const one of jsonOperations) {
    const { path, query } = goodOf(one)
    for (const { name, in: where } of one.definition.parameters ?? []) {
      // Parameters with the same name share a definition, so later ones are only sampled.
      const step = seen.has(`${where} ${name}`) ? SAMPLE : SHARE
      seen.add(`${where} ${name}`)
      for (const text of TEXTS.filter((_, i) => (FIRST + i + requests.length) % step === 0)) {
        if (where === 'path')
          requests.push([one.method, one.path.replace(`{${name}}`, text).replaceAll(/\{\w+\}/g, 'nobody')])
        else
          for (const form of [
            `${name}=`,
            `${name}[]=`,
            `${name}[a]=`,
            `${name}[__proto__]=`,
            `${name}[a][b]=`,
            `${name}=1&${name}=`,
          ])
            requests.push([one.method, `${path}?${query}&${form}${text}`])
      }
    }
    const first = FIRST + requests.length
    for (const odd of ODD_QUERIES.filter((_, i) => (first + i) % ODD_SHARE === 0))
      requests.push([one.method, `${path}?${query}&${odd}`])
  }
  // Leaves out requests whose fuzzed address could change something for the rest of the run.
  const harmless = requests.filter(
    ([method, path]) => !path.includes('/rotate') || path.includes('nobody') || method === 'GET',
  )
  const counts: Record<number, number> = {}
  await all(harmless, async ([method, path]) => {
    const { status } = await call(method, path, method === 'GET' || method === 'DELETE' ? undefined : '{}')
    counts[status] = (counts[status] ?? 0) + 1
  })
  t.ok(counts[400]! > 100 && counts[200]! > 100 && counts[404]! > 50, JSON.stringify(counts))
})

t.test('the kind of key to rotate', async () => {
  for (const kind of TEXTS) if (kind !== '') await call('POST', `/v1/keys/${kind}/rotate`)
})

t.test('a megabyte of nested JSON', async (t) => {
  const good = JSON.stringify(UPDATE).slice(1, -1)
  const half = MIB / 2 - 200
  const hostile = [
    '['.repeat(MIB),
    nested(half, '[', ']'),
    nested(Math.floor(MIB / 6) - 100, '{"a":', '}'),
    `{${good},"metadata":${nested(Math.floor(MIB / 6) - 100, '{"a":', '}')}}`,
    `{${good},"unknown":${nested(half - 100, '[', ']')}}`,
    `{${good},"metadata":{${Array.from({ length: 80_000 }, (_, i) => `"k${i}":1`).join()}}}`,
    `{"replays":${nested(half, '[', ']')}}`,
    `{"replays":[${Array.from({ length: 300_000 }, () => '{}').join()}]}`,
    `{${JSON.stringify(GEOFENCE).slice(1, -1)},"coordinates":[${'[10,50],'.repeat(120_000)}[10,50]]}`,
    `{${JSON.stringify(GEOFENCE).slice(1, -1)},"operatingHours":{"Mon":[${'["9:00","17:00"],'.repeat(50_000)}[]]}}`,
    `{${JSON.stringify(GEOFENCE).slice(1, -1)},"ip":"${Array.from({ length: 60_000 }, (_, i) => `10.${i >> 8}.1.${i & 255}`).join()}"}`,
    `{${JSON.stringify(GEOFENCE).slice(1, -1)},"userIds":"${Array.from({ length: 150_000 }, (_, i) => i).join()}"}`,
  ]
  for (const path of ['/v1/track', '/v1/track/replay', '/v1/geofences'])
    for (const body of hostile)
      t.equal((await call('POST', path, body)).status, 400, `${path} ${body.slice(0, 60)}`)
  t.equal((await call('PATCH', '/v1/settings', hostile[2])).status, 400)
  const junk = `{${good},"unknown":[${'1,'.repeat(MIB / 2 - 200)}1]}`
  t.equal((await call('POST', '/v1/track', junk)).status, 200, 'a megabyte of what is not known is ignored')
  const pairs = 'a=1&'.repeat(MIB / 4)
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  t.equal(
    (await server.api('POST', '/v1/track', pairs, testPublishable, headers)).status,
    400,
    'a megabyte of form',
  )
})

t.test('keys that reach into prototypes', async (t) => {
  const good = JSON.stringify(UPDATE).slice(1, -1)
  for (const key of ['__proto__', 'constructor', 'prototype']) {
    for (const body of [
      `{${good},"metadata":{"${key}":1}}`,
      `{${good},"metadata":{"${key}":{"polluted":1}}}`,
    ])
      t.equal((await call('POST', '/v1/track', body)).status, 400, body)
    await call('POST', '/v1/track', `{${good},"${key}":{"polluted":true,"deviceId":"evil"}}`)
    await call('PATCH', '/v1/settings', `{"${key}":{"polluted":true}}`)
    await call('GET', `/v1/search/geofences?near=50,10&metadata[${key}]=1`)
    await call('GET', `/v1/search/geofences?near=50,10&metadata[${key}][polluted]=1`)
    await call('GET', `/v1/users/${key}`)
    await api.track({ ...UPDATE, deviceId: key, userId: key, installId: key })
    t.equal((await call('GET', `/v1/users/${key}`)).body.user.deviceId, key, 'as a name it is a name')
    await api.circle(`${key}/${key}`, [20, 20], 100)
    t.equal((await call('GET', `/v1/geofences/${key}/${key}`)).body.geofence.tag, key)
    t.equal((await call('DELETE', `/v1/geofences/${key}/${key}`)).status, 200)
  }
  t.equal((await call('GET', '/v1/geofences/toString/valueOf')).status, 404)
  t.equal((await call('GET', '/v1/users/hasOwnProperty')).status, 404)
})

t.test('404, 405, 413, 415 and HEAD', async (t) => {
  for (const path of [
    '/v1',
    '/v1/',
    '/v2/track',
    '/v1/nothing',
    '/v1/track/',
    '/v1//track',
    '/%',
    '/%00',
    '/api/healthzz',
  ])
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD']) {
      const { status, body } = await call(
        method,
        path,
        method === 'GET' || method === 'HEAD' ? undefined : '{}',
      )
      t.equal(status, 404, `${method} ${path}`)
      if (method !== 'HEAD') t.equal(body.meta.code, 404)
    }
  const paths = Map.groupBy(jsonOperations, (one) => one.path)
  for (const [template, operations] of paths) {
    const path = template.replaceAll(/\{\w+\}/g, 'nobody')
    const known = new Set(operations.map((one) => one.method))
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'PROPFIND']) {
      if (known.has(method) || (method === 'HEAD' && known.has('GET'))) continue
      const answer = await call(method, path, method === 'GET' || method === 'HEAD' ? undefined : '{}')
      if (api.operationOf(method, path) !== undefined) continue
      t.equal(answer.status, 405, `${method} ${path}`)
      for (const one of known) t.match(answer.headers.get('allow'), one)
    }
    if (known.has('GET')) {
      const { query } = goodOf(operations.find((one) => one.method === 'GET')!)
      const get = await call('GET', `${path}?${query}`)
      const head = await call('HEAD', `${path}?${query}`)
      t.equal(head.status, get.status, `HEAD ${path}`)
      t.equal(
        head.body,
        head.headers.get('content-type')?.startsWith('application/json') ? head.body : '',
        'no body',
      )
      t.equal(head.headers.get('content-type'), get.headers.get('content-type'))
    }
  }
  for (const one of jsonOperations.filter((each) => each.definition.requestBody !== undefined)) {
    const { path: found, query, body } = goodOf(one)
    // A kind of key that exists, and the query; otherwise the request would be refused for that first.
    const path = found.replace('/keys/nobody/', '/keys/publishable/') + (query && `?${query}`)
    for (const type of [
      'text/plain',
      'application/xml',
      'multipart/form-data; boundary=x',
      'application/jsonp',
      'x',
      ';',
    ]) {
      const { status } = await call(one.method, path, JSON.stringify(body), testSecret, {
        'content-type': type,
      })
      t.equal(status, 415, `${one.method} ${path} ${type}`)
    }
    // The limit is higher for this route, because its path may have 16,000 points.
    const length = path === '/v1/route/match' ? 3 * MIB : MIB
    const large = await call(one.method, path, `{"a":"${'x'.repeat(length)}"}`)
    t.equal(large.status, 413, `${one.method} ${path}`)
  }
  for (const type of [
    'application/json;charset=utf-8',
    'APPLICATION/JSON',
    'application/json; charset=UTF-8; x=y',
  ])
    t.equal(
      (await call('POST', '/v1/track', JSON.stringify(UPDATE), testSecret, { 'content-type': type })).status,
      200,
    )
})

t.test('large headers', async (t) => {
  for (const size of [40_000, 100_000, 2 * MIB]) {
    const long = await server.api('GET', `/v1/search/geofences?near=50,10&a=${'x'.repeat(size)}`).then(
      ({ status }) => status,
      () => 'closed',
    )
    t.ok(long === 431 || long === 'closed', `${size} bytes: ${long}`)
  }
})

t.test('at the end the server is in the same state as before', (t) => unharmed(t, api))
