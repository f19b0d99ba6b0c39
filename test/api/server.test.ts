/** The API machinery from outside: real sockets against a server with toy routes. */
import t from 'tap'
import { createServer } from '../../src/api/server.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { ApiError } from '../../src/runtime/errors.ts'
import { eventually, RawConnection, toyServer, type Toy } from './toy.ts'

const GOOD = { deviceId: 'd', latitude: 1, longitude: 2 }
const MEBIBYTE = 1024 * 1024

t.test('every answer is JSON with a request id and CORS headers', async (t) => {
  const toy = await toyServer(t)
  const ids = new Set<string>()
  const answers = [
    await toy.call('/v1/track', { key: 'pk', json: GOOD }),
    await toy.call('/v1/track', { json: GOOD }),
    await toy.call('/nowhere'),
    await toy.call('/v1/track'),
    await toy.call('/outcome/throws'),
    await toy.call('/v1/things/a'),
  ]
  t.strictSame(
    answers.map((answer) => answer.status),
    [200, 401, 404, 405, 500, 200],
  )
  for (const { headers, body, status } of answers) {
    t.equal(headers.get('content-type'), 'application/json; charset=utf-8')
    t.equal(headers.get('access-control-allow-origin'), '*')
    t.match(headers.get('access-control-expose-headers'), /X-Radar-Request-Id/)
    t.equal(body.meta.code, status)
    ids.add(headers.get('x-radar-request-id')!)
  }
  t.equal(ids.size, answers.length, 'request ids differ')
  t.notOk(ids.has(null as never))
})

t.test('answers of handlers', async (t) => {
  const toy = await toyServer(t)
  t.strictSame((await toy.call('/v1/things/a')).body, { meta: { code: 200, hasMore: false }, id: 'a' })
  t.equal((await toy.call('/outcome/promise')).text, '{"meta":{"code":200},"a":1,"b":[]}')
  const accepted = await toy.call('/outcome/accepted')
  t.strictSame([accepted.status, accepted.body], [202, { meta: { code: 202, message: 'Later.' }, a: 1 }])
  const plain = await toy.call('/outcome/plain')
  t.strictSame([plain.text, plain.headers.get('content-type')], ['plain', 'text/plain'])
  const later = await toy.call('/outcome/unavailable')
  t.strictSame([later.status, later.headers.get('retry-after')], [503, '60'])
  const error = await toy.call('/outcome/api-error')
  t.strictSame(error.body, { meta: { code: 409, param: 'tag', message: 'tag: Exists already.' } })

  for (const kind of ['throws', 'rejects']) {
    const { body, text, headers } = await toy.call(`/outcome/${kind}`)
    t.strictSame(body, { meta: { code: 500, message: 'Internal server error.' } })
    t.notMatch(text, /secret|at /, 'nothing of the error leaks')
    const entry = toy.logged.at(-1)!
    t.equal(entry.fields.requestId, headers.get('x-radar-request-id'), 'logged under the request id')
    t.match((entry.fields.err as Error).message, 'secret detail')
  }

  for (const kind of ['no-json', 'no-json-later', 'nothing']) {
    t.equal((await toy.call(`/outcome/${kind}`)).status, 500, `${kind}: an answer all the same`)
  }

  t.strictSame((await toy.call('/outcome/twice')).body, { meta: { code: 200 }, first: true })
  t.equal(toy.logged.at(-1)!.fields.route, 'GET /outcome/:kind', 'an error after the answer is logged')
  t.equal(toy.server.inFlight, 0)
})

t.test('a large answer arrives whole, however slowly it is read', async (t) => {
  const toy = await toyServer(t)
  const { body } = await toy.call('/outcome/large')
  t.equal(body.letters.length, 4_000_000)

  const slow = await RawConnection.open(t, toy.port)
  slow.socket.pause()
  slow.write('GET /outcome/large HTTP/1.1\r\nHost: x\r\n\r\n')
  await eventually(() => toy.server.inFlight === 1)
  t.ok(true, 'not settled while its reader does not read')
  slow.socket.resume()
  await slow.until(() => slow.received.endsWith('"}'))
  await eventually(() => toy.server.inFlight === 0)

  const gone = await RawConnection.open(t, toy.port)
  gone.socket.pause()
  gone.write('GET /outcome/large HTTP/1.1\r\nHost: x\r\n\r\n')
  await eventually(() => toy.server.inFlight === 1)
  gone.socket.resetAndDestroy()
  await eventually(() => toy.server.inFlight === 0)
})

t.test('routing', async (t) => {
  const toy = await toyServer(t)
  const id = async (path: string): Promise<unknown> => (await toy.call(path)).body.id
  t.equal(await id('/v1/things/a'), 'a')
  t.equal(await id('/v1/things/a%20%C3%A4%2Fb'), 'a ä/b')
  t.equal(await id('/v1/th%69ngs/a'), 'a', 'an escaped fixed segment')
  t.equal(await id('/v1/things/__proto__'), '__proto__')
  t.equal(await id('/api/v1/things/a'), 'a', 'the documented second form of the path')
  t.equal((await toy.call('/v1/things/special')).body.special, true, 'fixed before parameter')

  for (const path of [
    '/',
    '/v1',
    '/v1/track/',
    '/v1/things/',
    '/v1/things/a/b/c',
    '//v1/track',
    '/apiv1/track',
    '/v1/trackx',
  ]) {
    t.equal((await toy.call(path)).status, 404, path)
  }
  for (const bad of ['%', '%zz', '%ff', '%ed%a0%80', '%00', 'a%00b']) {
    const { status, body } = await toy.call(`/v1/things/${bad}`)
    t.strictSame([status, body.meta.param], [400, 'id'], bad)
  }
  const long = await toy.call('/v1/things/x/12345678901', { method: 'PUT', key: 'sk', json: {} })
  t.strictSame(long.body.meta, {
    code: 400,
    param: 'externalId',
    message: 'externalId: Must be at most 10 characters.',
  })

  const users = await toy.call('/v1/things/a/users', { key: 'sk' })
  t.strictSame(users.body.params, { id: 'a' })
  const put = await toy.call('/v1/things/t/users', { method: 'PUT', key: 'sk', json: {} })
  t.strictSame(put.body.params, { tag: 't', externalId: 'users' }, 'a fixed segment hides no other method')

  for (const [method, path, allow] of [
    ['GET', '/v1/track', 'POST, OPTIONS'],
    ['DELETE', '/v1/things/a', 'GET, HEAD, OPTIONS'],
    ['PROPFIND', '/v1/things/a/users', 'GET, PUT, HEAD, OPTIONS'],
  ] as const) {
    const { status, headers, body } = await toy.call(path, { method })
    t.strictSame([status, headers.get('allow'), body.meta.code], [405, allow, 405])
  }
})

t.test('HEAD is GET without the content', async (t) => {
  const toy = await toyServer(t)
  for (const path of ['/v1/things/a', '/nowhere', '/v1/things/special', '/outcome/large']) {
    const get = await toy.call(path)
    const head = await toy.call(path, { method: 'HEAD' })
    t.strictSame([head.status, head.text], [get.status, ''], path)
    t.equal(head.headers.get('content-length'), get.headers.get('content-length'), path)
  }
  t.equal((await toy.call('/v1/track', { method: 'HEAD' })).status, 405)
  const two = await RawConnection.open(t, toy.port)
  two.write('HEAD /v1/things/a HTTP/1.1\r\nHost: x\r\n\r\nGET /v1/things/b HTTP/1.1\r\nHost: x\r\n\r\n')
  await two.until(() => two.received.endsWith('"id":"b"}'))
  t.notMatch(two.received, '"id":"a"')
})

t.test('keys come before limits, limits before parameters', async (t) => {
  const toy = await toyServer(t)
  const status = async (path: string, authorization?: string, init: RequestInit = {}): Promise<number> =>
    (await toy.call(path, { ...init, headers: authorization === undefined ? {} : { authorization } })).status
  const BAD_BODY = { method: 'POST', body: '{' }
  t.equal(await status('/v1/track', undefined, BAD_BODY), 401)
  t.equal(await status('/v1/track', '', BAD_BODY), 401)
  for (const wrong of [
    'nope',
    'Basic pk',
    'Bearer',
    'Bearer  ',
    'Bearer nope',
    'pk pk',
    '__proto__',
    'toString',
  ]) {
    t.equal(await status('/v1/track', wrong, BAD_BODY), 401, wrong)
  }
  for (const right of ['pk', 'Bearer pk', 'bearer pk', 'BEARER  pk', 'sk', 'Bearer sk']) {
    t.equal(await status('/v1/limited?must=1', right), 200, right)
    toy.clock.advance(1000)
  }
  t.equal(await status('/v1/things/a/users', 'pk'), 403)
  t.equal(await status('/v1/things/a/users', 'sk'), 200)
  t.equal(await status('/v1/things/a', 'nope'), 200, 'no key is asked for, none is looked at')
  const { body } = await toy.call('/v1/things/a/users', { key: 'pk' })
  t.equal(body.meta.code, 403)
})

t.test('rate limits', async (t) => {
  const toy = await toyServer(t)
  const hit = (key: string, query = ''): ReturnType<Toy['call']> => toy.call(`/v1/limited${query}`, { key })
  t.equal((await hit('pk')).status, 400, 'a refused request counts too')
  t.equal((await hit('pk', '?must=1')).status, 200)
  const { status, body, headers } = await hit('pk')
  t.strictSame([status, body.meta], [429, { code: 429, message: 'Rate limit exceeded.', type: 'second' }])
  t.equal(headers.get('retry-after'), '1')
  t.equal((await hit('sk', '?must=1')).status, 200, 'another key has a bucket of its own')
  toy.clock.advance(500)
  t.equal((await hit('pk', '?must=1')).status, 200)
  t.equal((await hit('pk', '?must=1')).status, 429)

  t.equal((await toy.call('/v1/limited-by-address')).status, 200)
  t.equal((await toy.call('/v1/limited-by-address')).status, 429)
})

t.test('quotas count what is done for a key', async (t) => {
  let used = 0
  const toy = await toyServer(t, {
    quotas: {
      take(scope) {
        t.equal(scope, 0)
        if (used === 4) throw new ApiError(402, 'Payment required: so it is.')
        used++
      },
      giveBack: () => void used--,
    },
  })
  const status = async (path: string, key?: string): Promise<number> =>
    (await toy.call(path, key === undefined ? {} : { key })).status
  for (const path of ['/v1/things/a', '/v1/openapi.json', '/nowhere']) await status(path, 'pk')
  await status('/v1/limited')
  await status('/v1/limited', 'nope')
  await status('/v1/things/a/users', 'pk')
  t.equal(used, 0, 'not what needs no key, or has no right one')
  t.equal(await status('/v1/limited?must=1', 'pk'), 200)
  t.equal(await status('/v1/limited', 'pk'), 400)
  t.equal(used, 2, 'bad requests count')
  t.equal(await status('/v1/limited?must=1', 'pk'), 429)
  t.equal(used, 2, 'requests over a limit do not')
  t.equal(await status('/fails', 'pk'), 500)
  t.equal(used, 2, 'nor do our failures')
  for (let i = 0; i < 2; i++) t.equal(await status('/v1/things/a/users', 'sk'), 200)
  const refused = await toy.call('/v1/track', { key: 'pk', method: 'POST', body: '{' })
  t.strictSame(
    [refused.status, refused.body.meta],
    [402, { code: 402, message: 'Payment required: so it is.' }],
  )
  t.equal(await status('/v1/limited', 'nope'), 401, 'keys come first')
})

t.test('parameters are named, first in the order of the schema', async (t) => {
  const toy = await toyServer(t)
  const cases: readonly (readonly [body: unknown, param: string, sentence: string])[] = [
    [{}, 'deviceId', 'Required.'],
    [{ latitude: 'x', longitude: 'y' }, 'deviceId', 'Required.'],
    [{ deviceId: 'd', longitude: 999 }, 'latitude', 'Required.'],
    [{ ...GOOD, deviceId: null }, 'deviceId', 'Required.'],
    [{ ...GOOD, deviceId: 1 }, 'deviceId', 'Must be a string.'],
    [{ ...GOOD, deviceId: '' }, 'deviceId', 'Must not be empty.'],
    [{ ...GOOD, deviceId: 'd'.repeat(257) }, 'deviceId', 'Must be at most 256 characters.'],
    [{ ...GOOD, latitude: '1' }, 'latitude', 'Must be a number.'],
    [{ ...GOOD, latitude: {} }, 'latitude', 'Must be a number.'],
    [{ ...GOOD, latitude: 90.1 }, 'latitude', 'Invalid latitude. Valid range: [-90, 90].'],
    [{ ...GOOD, longitude: -181 }, 'longitude', 'Invalid longitude. Valid range: [-180, 180].'],
    [{ ...GOOD, accuracy: 0 }, 'accuracy', 'Invalid accuracy. Must be greater than 0.'],
    [{ ...GOOD, accuracy: -1 }, 'accuracy', 'Invalid accuracy. Must be greater than 0.'],
    [{ ...GOOD, foreground: 'yes' }, 'foreground', 'Must be a boolean.'],
    [{ ...GOOD, deviceType: 'Symbian' }, 'deviceType', 'Must be one of iOS, Android, Web.'],
    [{ ...GOOD, floor: 1.5 }, 'floor', 'Must be a whole number.'],
    [{ ...GOOD, floor: -11 }, 'floor', 'Invalid floor. Must be at least -10.'],
    [{ ...GOOD, share: 1 }, 'share', 'Invalid share. Valid range: [0, 1).'],
    [{ ...GOOD, metadata: [] }, 'metadata', 'Must be an object.'],
    [{ ...GOOD, metadata: { k: {} } }, 'metadata.k', 'Must be a string, a number or a boolean.'],
    [{ ...GOOD, metadata: { a: 1, b: 1, c: 1, d: 1, e: 1 } }, 'metadata', 'Must have at most 4 keys.'],
    [{ ...GOOD, items: {} }, 'items', 'Must be an array.'],
    [{ ...GOOD, items: [{ name: 'a' }, {}] }, 'items.1.name', 'Required.'],
    [
      { ...GOOD, items: [{ name: 'a', weight: 6 }] },
      'items.0.weight',
      'Invalid items.0.weight. Must be at most 5.',
    ],
    [{ ...GOOD, items: [1, 2, 3, 4] }, 'items', 'Must have at most 3 items.'],
    [{ ...GOOD, coordinates: 7 }, 'coordinates', 'Must be an array or a string.'],
  ]
  for (const [json, param, sentence] of cases) {
    const { status, body } = await toy.call('/v1/track', { key: 'pk', json })
    const message = `${param}: ${sentence}`
    t.strictSame([status, body.meta], [400, { code: 400, param, message }], JSON.stringify(json).slice(0, 80))
  }
  const huge = await toy.call('/v1/track', {
    key: 'pk',
    body: '{"deviceId":"d","latitude":1e999,"longitude":1,"accuracy":1e999}',
    headers: { 'content-type': 'application/json' },
  })
  t.match(huge.body.meta.message, 'latitude: Invalid latitude.')

  const fine = await toy.call('/v1/track', {
    key: 'pk',
    json: {
      ...GOOD,
      accuracy: null,
      metadata: { a: null, b: 1 },
      items: [{ name: 'a', weight: null }],
      extra: { x: 1 },
      threshold: null,
    },
    headers: { 'X-Radar-Whatever': '1' },
  })
  t.strictSame(
    fine.body.got,
    { ...GOOD, metadata: { b: 1 }, items: [{ name: 'a' }], extra: { x: 1 }, threshold: null },
    'null is absent except where the schema knows null; unknown fields and headers are no error',
  )
  t.equal(fine.body.at, toy.clock.now())
})

t.test('the requests of SDKs are told apart', async (t) => {
  const toy = await toyServer(t)
  const fromSdk = async (headers: Record<string, string>, json: object): Promise<unknown> =>
    (await toy.call('/v1/track', { key: 'pk', headers, json })).body.fromSdk
  t.equal(await fromSdk({}, GOOD), false)
  t.equal(await fromSdk({ 'X-Radar-SDK-Version': '5.2.0' }, GOOD), true)
  t.equal(await fromSdk({}, { ...GOOD, sdkVersion: '3.0' }), true)
})

t.test('what a body may be', async (t) => {
  const toy = await toyServer(t)
  const post = async (
    body: string | Uint8Array<ArrayBuffer>,
    type: string | undefined = 'application/json',
  ): Promise<readonly [number, string | undefined, string]> => {
    // A Uint8Array gets no content type from fetch.
    const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
    const headers: Record<string, string> = type === '' ? {} : { 'content-type': type }
    const answer = await toy.call('/v1/track', { key: 'pk', method: 'POST', body: bytes, headers })
    return [answer.status, answer.body.meta.param, answer.body.meta.message]
  }
  const good = JSON.stringify(GOOD)
  for (const type of [
    '',
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON;charset="x"',
    'application/json ;',
  ]) {
    t.strictSame(await post(good, type), [200, undefined, undefined], type)
  }
  for (const type of [
    'text/plain',
    'application/jsonp',
    'multipart/form-data; boundary=x',
    'application/xml',
    ';',
  ]) {
    t.equal((await post(good, type))[0], 415, type)
  }
  t.strictSame(await post(`\u{FEFF}${good}`), [200, undefined, undefined], 'a byte order mark')
  t.strictSame(await post(`\r\n ${good}\n`), [200, undefined, undefined], 'white space around')
  for (const empty of ['', ' ', '\n']) t.strictSame(await post(empty), [400, 'body', 'body: Required.'])
  for (const broken of [
    '{',
    good.slice(0, -1),
    `${good}}`,
    "{'a':1}",
    '{"a":NaN}',
    '{"a":1,}',
    '{"a":"\n"}',
    '{"a":"\0"}',
    'a=1',
  ]) {
    t.strictSame(await post(broken), [400, 'body', 'body: Invalid JSON.'], broken)
  }
  for (const other of ['[]', '1', 'null', '"x"', 'true', `[${good}]`]) {
    t.strictSame(await post(other), [400, 'body', 'body: Must be a JSON object.'], other)
  }
  for (const bytes of [
    [0xff],
    [0x7b, 0x22, 0xc3, 0x22],
    [0x22, 0xed, 0xa0, 0x80, 0x22],
    [0xf8, 0x88],
    [0xc0, 0x80],
  ]) {
    t.strictSame(await post(new Uint8Array(bytes)), [400, 'body', 'body: Must be valid UTF-8.'], bytes.join())
  }

  const textCases: readonly (readonly [string, string, string])[] = [
    [String.raw`{"deviceId":"a\u0000b"}`, 'deviceId', 'Must not contain NUL characters.'],
    [String.raw`{"deviceId":"\ud800"}`, 'deviceId', 'Must be valid Unicode.'],
    [String.raw`{"deviceId":"\udc00\ud800"}`, 'deviceId', 'Must be valid Unicode.'],
    [String.raw`{"metadata":{"a":[{"b":"\ud83d"}]}}`, 'metadata.a.0.b', 'Must be valid Unicode.'],
    [String.raw`{"metadata":{"\u0000":1}}`, 'metadata.\u{FFFD}', 'Must not contain NUL characters.'],
    [String.raw`{"metadata":{"\udead":1}}`, 'metadata.\u{FFFD}', 'Must be valid Unicode.'],
    ['{"__proto__":{"polluted":1}}', '__proto__', 'Key not allowed.'],
    [String.raw`{"\u005f_proto__":1}`, '__proto__', 'Key not allowed.'],
    ['{"metadata":{"constructor":{"prototype":{"polluted":1}}}}', 'metadata.constructor', 'Key not allowed.'],
    ['{"items":[{"prototype":1}]}', 'items.0.prototype', 'Key not allowed.'],
    [`{"a":${'['.repeat(70)}${']'.repeat(70)}}`, 'a', 'Must not be nested deeper than 64 levels.'],
    [`{"${'k'.repeat(100_000)}":{"__proto__":1}}`, `${'k'.repeat(64)}….__proto__`, 'Key not allowed.'],
  ]
  for (const [body, param, sentence] of textCases) {
    t.strictSame(await post(body), [400, param, `${param}: ${sentence}`], body.slice(0, 60))
  }
  t.notOk('polluted' in {}, 'no prototype was touched')
  t.strictSame(await post(String.raw`{"deviceId":"\ud83d\ude00","latitude":1,"longitude":2}`), [
    200,
    undefined,
    undefined,
  ])

  const half = MEBIBYTE / 2 - 8
  t.strictSame(await post('['.repeat(MEBIBYTE)), [400, 'body', 'body: Invalid JSON.'], '1 MB of [')
  t.strictSame(
    await post('{"a":'.repeat(MEBIBYTE / 5)),
    [400, 'body', 'body: Invalid JSON.'],
    '1 MB of {"a":',
  )
  t.strictSame(await post('['.repeat(half) + ']'.repeat(half)), [400, 'body', 'body: Must be a JSON object.'])
  t.equal((await post(`{"a":${'['.repeat(half)}${']'.repeat(half)}}`))[1], 'a', '1 MB that closes')
  t.equal((await toy.call('/v1/track', { key: 'pk', json: GOOD })).status, 200, 'still serving')
})

t.test('a body may be empty where nothing is required; without a schema it is not looked at', async (t) => {
  const toy = await toyServer(t)
  const put = await toy.call('/v1/things/a/b', { method: 'PUT', key: 'sk' })
  t.strictSame([put.status, put.body.note], [200, undefined])
  const get = await toy.call('/v1/things/a', { headers: { 'content-type': 'application/json' } })
  t.equal(get.status, 200, 'GET with a content type, as browsers send it')
})

t.test('a route may read the usual body itself', async (t) => {
  const toy = await toyServer(t)
  const post = async (body: string, type = 'application/json'): Promise<unknown> => {
    const answer = await toy.call('/v1/scanned', { method: 'POST', body, headers: { 'content-type': type } })
    return answer.body.n ?? answer.body.meta.message
  }
  t.equal(await post('A'), 65, 'its own reading')
  t.equal(await post('{"n":2}'), 2, 'left to JSON and schema')
  t.equal(await post('{"n":0.5}'), 'n: Must be a whole number.')
  t.equal(await post('n=3', 'application/x-www-form-urlencoded'), 3, 'forms are not for it')
})

t.test('forms', async (t) => {
  const toy = await toyServer(t)
  const post = async (body: string): Promise<unknown> => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded; charset=UTF-8' }
    const answer = await toy.call('/v1/track', { key: 'pk', body, headers })
    return answer.status === 200 ? answer.body.got : answer.body.meta.message
  }
  const at = 'latitude=1&longitude=-2.5e0'
  const got = { latitude: 1, longitude: -2.5 }
  t.strictSame(await post(`deviceId=12&${at}&foreground=true`), { deviceId: '12', ...got, foreground: true })
  t.strictSame(await post(`deviceId=a%20b+c%26&${at}\r\n`), { deviceId: 'a b c&', ...got })
  t.strictSame(await post(`deviceId=a&deviceId=b&${at}`), { deviceId: 'b', ...got }, 'the last wins')
  t.strictSame(await post(`deviceId=a&${at}&accuracy=&unknown=1&&=&x`), {
    deviceId: 'a',
    ...got,
    unknown: '1',
  })
  t.strictSame(await post(`deviceId=a&${at}&metadata[n]=5&metadata%5Bs%5D=x&metadata[b]=false`), {
    deviceId: 'a',
    ...got,
    metadata: { n: 5, s: 'x', b: false },
  })
  t.strictSame(await post(`deviceId=a&${at}&coordinates[]=-73.9&coordinates[]=40`), {
    deviceId: 'a',
    ...got,
    coordinates: [-73.9, 40],
  })
  t.strictSame(await post(`deviceId=a&${at}&coordinates=[-73.9,40]&metadata={"a":1,"b":null}`), {
    deviceId: 'a',
    ...got,
    coordinates: [-73.9, 40],
    metadata: { a: 1 },
  })
  const cut = await post(`deviceId=a&${at}&coordinates=[-73.9`)
  t.strictSame(cut, { deviceId: 'a', ...got, coordinates: '[-73.9' }, 'what is not JSON stays text')
  t.equal(await post(''), 'body: Required.')
  t.equal(await post('{"deviceId": "a"}'), 'body: This is JSON. Send it with Content-Type: application/json.')
  t.equal(await post(`deviceId=a&latitude=north&longitude=1`), 'latitude: Must be a number.')
  t.equal(await post(`deviceId=a&latitude=NaN&longitude=1`), 'latitude: Must be a number.')
  t.equal(await post(`deviceId=a&latitude=Infinity&longitude=1`), 'latitude: Must be a number.')
  t.equal(await post(`deviceId=a&latitude=0x10&longitude=1`), 'latitude: Must be a number.')
  t.equal(await post(`deviceId=%zz&${at}`), 'deviceId: Invalid escape sequence.')
  t.equal(await post(`deviceId=%00&${at}`), 'deviceId: Must not contain NUL characters.')
  t.equal(await post(`deviceId=a&${at}&metadata[__proto__]=1`), 'metadata.__proto__: Key not allowed.')
  t.equal(
    await post(`deviceId=a&${at}&metadata={"a":{"constructor":1}}`),
    'metadata.a.constructor: Key not allowed.',
  )
  t.equal(
    await post(`deviceId=a&${at}&metadata[a][b]=1`),
    'metadata.a: Must be a string, a number or a boolean.',
  )
  t.strictSame(
    await post(`__proto__=1&constructor[a]=1&deviceId=a&${at}`),
    { deviceId: 'a', ...got, 'constructor[a]': '1' },
    'what is unknown is a text under its whole name, as far as that is harmless',
  )
  t.equal(await post('a&'.repeat(500_000)), 'Too many parameters.')
  t.notOk('a' in {})
})

t.test('queries', async (t) => {
  const toy = await toyServer(t)
  const get = async (query: string): Promise<unknown> => {
    const { status, body } = await toy.call(`/v1/search${query}`)
    return status === 200 ? body.query : body.meta.message
  }
  t.strictSame(await get(''), { limit: 10 })
  t.strictSame(await get('?limit=7&radius=1e3&includeGeometry=false&tags=a,b'), {
    limit: 7,
    radius: 1000,
    includeGeometry: false,
    tags: 'a,b',
  })
  t.strictSame(await get('?limit=1&limit=2&tags=1&other=x&toString=1&__proto__=1'), { limit: 2, tags: '1' })
  t.strictSame(await get('?metadata[open]=true&metadata[floor]=2&metadata[name]=x'), {
    limit: 10,
    metadata: { open: true, floor: 2, name: 'x' },
  })
  t.strictSame(await get('?metadata=[object%20Object]&radius='), { limit: 10 }, 'what careless clients send')
  t.equal(await get('?limit=0'), 'limit: Invalid limit. Valid range: [1, 100].')
  t.equal(await get('?limit=2.5'), 'limit: Must be a whole number.')
  t.equal(await get('?limit=NaN'), 'limit: Must be a number.')
  t.equal(await get('?radius=1e999'), 'radius: Invalid radius. Valid range: [100, 10000].')
  t.equal(await get('?includeGeometry=maybe'), 'includeGeometry: Must be a boolean.')
  t.equal(await get('?metadata=x'), 'metadata: Must be an object.')
  t.equal(await get('?tags=%00'), 'tags: Must not contain NUL characters.')
  t.equal(await get('?tags=%ed%a0%80'), 'tags: Invalid escape sequence.')
  t.equal(await get('?tags%=1'), 'tags%: Invalid escape sequence.')
  const near = await toy.call('/v1/search?near=40.7,-73.9')
  t.strictSame(near.body.at, { latitude: 40.7, longitude: -73.9 })
  t.equal(await get('?near=91,0'), 'near: Invalid latitude. Valid range: [-90, 90].')
})

t.test('a body over the limit is refused, whatever its length was said to be', async (t) => {
  const toy = await toyServer(t, { maxBodyBytes: 10_000 })
  const head = 'POST /v1/track HTTP/1.1\r\nHost: x\r\nAuthorization: pk\r\n'
  const exact = JSON.stringify({
    ...GOOD,
    pad: 'x'.repeat(10_000 - JSON.stringify({ ...GOOD, pad: '' }).length),
  })
  t.equal((await toy.call('/v1/track', { key: 'pk', body: new TextEncoder().encode(exact) })).status, 200)
  const over = await toy.call('/v1/track', { key: 'pk', body: new TextEncoder().encode(`${exact} `) })
  t.strictSame(over.body.meta, { code: 413, message: 'The body must be at most 10000 bytes.' })

  const honest = await RawConnection.open(t, toy.port)
  honest.write(`${head}Content-Length: 50000000\r\n\r\n${'x'.repeat(10_001)}`)
  await honest.answers(1)
  t.match(honest.received, /^HTTP\/1.1 413 /, 'refused before the rest has come')

  const chunked = await RawConnection.open(t, toy.port)
  chunked.write(`${head}Transfer-Encoding: chunked\r\n\r\n`)
  const chunk = `400\r\n${' '.repeat(1024)}\r\n`
  for (let i = 0; i < 9; i++) chunked.write(chunk)
  await eventually(() => toy.server.heldBytes > 9000)
  t.ok(toy.server.heldBytes <= 10_000, 'no more is held than the limit')
  chunked.write(chunk)
  await chunked.end()
  t.match(chunked.received, /^HTTP\/1.1 413 /)
  t.match(chunked.received, /Connection: close/i)

  const small = await RawConnection.open(t, toy.port)
  const text = JSON.stringify(GOOD)
  small.write(`${head}Transfer-Encoding: chunked\r\n\r\n`)
  for (const letter of text) small.write(`1\r\n${letter}\r\n`)
  small.write('0\r\n\r\n')
  await small.answers(1)
  t.match(small.received, /^HTTP\/1.1 200 /, 'many small pieces make a body')

  await eventually(() => toy.server.inFlight === 0)
  t.equal(toy.server.heldBytes, 0)
})

t.test('the bodies of all uploads together are bounded', async (t) => {
  const toy = await toyServer(t, { maxHeldBytes: 100_000 })
  const start = async (): Promise<RawConnection> => {
    const upload = await RawConnection.open(t, toy.port)
    upload.write(
      `POST /v1/track HTTP/1.1\r\nHost: x\r\nAuthorization: pk\r\nContent-Length: 50000\r\n\r\n${' '.repeat(40_000)}`,
    )
    return upload
  }
  const first = await start()
  const second = await start()
  await eventually(() => toy.server.heldBytes >= 80_000)
  const third = await start()
  await third.answers(1)
  t.match(third.received, /^HTTP\/1.1 503 /)
  t.match(third.received, /Retry-After: 1\r\n/)
  t.match(third.received, '"code":503')
  first.socket.destroy()
  await eventually(() => toy.server.heldBytes < 80_000)
  const fourth = await start()
  fourth.write(JSON.stringify(GOOD).padEnd(10_000))
  second.write(JSON.stringify(GOOD).padEnd(10_000))
  await Promise.all([fourth.answers(1), second.answers(1)])
  t.match(fourth.received, /^HTTP\/1.1 200 /, 'room is given back')
  t.match(second.received, /^HTTP\/1.1 200 /)
  await eventually(() => toy.server.inFlight === 0)
  t.equal(toy.server.heldBytes, 0)
})

t.test('pipelined requests', async (t) => {
  const toy = await toyServer(t)
  const several = await RawConnection.open(t, toy.port)
  const body = JSON.stringify(GOOD)
  const post = `POST /v1/track HTTP/1.1\r\nHost: x\r\nAuthorization: pk\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  several.write(
    `GET /v1/things/1 HTTP/1.1\r\nHost: x\r\n\r\n${post}POST /v1/track HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcGET /v1/things/2 HTTP/1.1\r\nHost: x\r\n\r\n`,
  )
  await several.until(() => several.received.endsWith('"id":"2"}'))
  t.strictSame(
    [...several.received.matchAll(/HTTP\/1.1 (\d+)/g)].map((match) => match[1]),
    ['200', '200', '401', '200'],
    'answered in order, a refused body in between is skipped',
  )

  const both = await RawConnection.open(t, toy.port)
  both.write('GET /pending HTTP/1.1\r\nHost: x\r\n\r\nGET /v1/things/3 HTTP/1.1\r\nHost: x\r\n\r\n')
  await both.end()
  t.equal(both.received, '', 'a request behind one that is still awaited ends the connection')
  t.equal(toy.pending.pop()!.aborted, true)
  t.equal(toy.server.inFlight, 0)
})

t.test('aborted requests leave nothing behind', async (t) => {
  const toy = await toyServer(t)
  const upload = await RawConnection.open(t, toy.port)
  upload.write('POST /v1/track HTTP/1.1\r\nHost: x\r\nAuthorization: pk\r\nContent-Length: 1000\r\n\r\n{"dev')
  await eventually(() => toy.server.heldBytes > 0)
  t.equal(toy.server.inFlight, 1)
  upload.socket.resetAndDestroy()
  await eventually(() => toy.server.inFlight === 0)
  t.equal(toy.server.heldBytes, 0)
  t.strictSame(toy.observed, [{ path: '/v1/track', status: 499 }])

  const waiting = await RawConnection.open(t, toy.port)
  waiting.write('GET /pending HTTP/1.1\r\nHost: x\r\n\r\n')
  await eventually(() => toy.pending.length === 1)
  waiting.socket.resetAndDestroy()
  await eventually(() => toy.server.inFlight === 0)
  const reply = toy.pending[0]!
  t.equal(reply.aborted, true)
  reply.send({ body: { late: true } })
  reply.fail(new Error('late'))
  t.equal(toy.server.inFlight, 0, 'counted down once')
  t.strictSame(toy.observed.length, 2)
  t.equal(toy.logged.length, 1, 'an error is logged though nobody waits for it')
})

t.test('a drain finishes what has arrived and refuses the rest', async (t) => {
  const toy = await toyServer(t)
  const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`
  const idle = await RawConnection.open(t, toy.port)
  idle.write(get('/v1/things/a'))
  await idle.answers(1)
  const waiting = await RawConnection.open(t, toy.port)
  waiting.write(get('/pending'))
  const upload = await RawConnection.open(t, toy.port)
  upload.write('POST /v1/track HTTP/1.1\r\nHost: x\r\nAuthorization: pk\r\nContent-Length: 1000\r\n\r\n{"dev')
  await eventually(() => toy.pending.length === 1 && toy.server.heldBytes > 0)

  let closed = false
  const closing = toy.server.close().then(() => (closed = true))
  await upload.end()
  t.match(upload.received, /^HTTP\/1.1 503 [^]*Retry-After: 1\r\n/, 'an upload is refused')
  idle.received = ''
  idle.write(get('/v1/things/a'))
  await idle.end()
  t.match(
    idle.received,
    /^HTTP\/1.1 503 [^]*Retry-After: 1\r\n/,
    'a request on an open connection is refused',
  )
  await t.rejects(fetch(toy.base), 'no new connection is accepted')
  t.equal(closed, false, 'waits for what it has accepted')
  toy.pending[0]!.send({ body: { done: true } })
  await waiting.end()
  t.match(waiting.received, '"done":true')
  await closing
  t.equal(toy.server.inFlight, 0)
})

t.test('a drain waits for no idle connection, and not for ever', async (t) => {
  const toy = await toyServer(t)
  const idle = await RawConnection.open(t, toy.port)
  idle.write('GET /v1/things/a HTTP/1.1\r\nHost: x\r\n\r\n')
  await idle.answers(1)
  const headers = await RawConnection.open(t, toy.port)
  headers.write('POST /v1/track HTTP/1.1\r\nHost: x\r\nAuthorization: pk\r\nContent-Length: 10\r\n\r\n')
  await eventually(() => toy.server.inFlight === 1)
  await toy.server.close()
  await Promise.all([idle.end(), headers.end()])
  t.equal(toy.server.inFlight, 0)

  const stuck = await toyServer(t)
  const waiting = await RawConnection.open(t, stuck.port)
  waiting.write('GET /pending HTTP/1.1\r\nHost: x\r\n\r\n')
  await eventually(() => stuck.pending.length === 1)
  await stuck.server.close(20)
  await waiting.end()
  t.equal(stuck.pending[0]!.aborted, true, 'cut off when its time is over')
})

t.test('a port is never shared', async (t) => {
  const toy = await toyServer(t)
  const other = createServer({
    routes: [],
    authenticate: () => undefined,
    trustedProxies: [],
    clock: new ManualClock(),
  })
  await t.rejects(other.listen('127.0.0.1', toy.port), { message: new RegExp(`127.0.0.1:${toy.port}`) })
  await other.close()
  t.throws(
    () =>
      createServer({
        routes: [],
        authenticate: () => undefined,
        trustedProxies: ['nonsense'],
        clock: new ManualClock(),
      }),
    /"nonsense" is neither/,
  )
})

t.test('CORS preflight, as browsers send it', async (t) => {
  const toy = await toyServer(t)
  for (const path of ['/v1/track', '/v1/things/a', '/nowhere/at/all']) {
    const connection = await RawConnection.open(t, toy.port)
    connection.write(
      `OPTIONS ${path} HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\nAccept: */*\r\nAccess-Control-Request-Method: POST\r\n` +
        'Access-Control-Request-Headers: authorization,content-type,x-radar-device-type,x-radar-product,x-radar-sdk-version\r\n' +
        'Origin: https://app.example\r\nSec-Fetch-Mode: cors\r\n\r\n',
    )
    await connection.until(() => connection.received.endsWith('\r\n\r\n'))
    const [status, ...lines] = connection.received.trim().split('\r\n')
    const headers = new Headers(lines.map((line) => line.split(': ', 2) as [string, string]))
    t.equal(status, 'HTTP/1.1 204 No Content')
    t.equal(headers.get('access-control-allow-origin'), '*')
    t.equal(headers.get('access-control-allow-methods'), 'GET, POST, PUT, PATCH, DELETE, OPTIONS')
    t.equal(
      headers.get('access-control-allow-headers'),
      'authorization, content-type, x-radar-device-type, x-radar-product, x-radar-sdk-version',
    )
    t.equal(headers.get('access-control-max-age'), '86400')
    t.ok(headers.get('x-radar-request-id'))
    connection.write('GET /v1/things/a HTTP/1.1\r\nHost: x\r\n\r\n')
    await connection.until(() => connection.received.endsWith('"id":"a"}'))
  }
  const odd = await toy.call('/v1/track', {
    method: 'OPTIONS',
    headers: { 'access-control-request-headers': 'X-Radar-A, Cookie, x-radar-\u00e9, , X-Evil' },
  })
  t.equal(odd.headers.get('access-control-allow-headers'), 'X-Radar-A')
})

t.test('the requester behind trusted proxies', async (t) => {
  const ipOf = async (toy: Toy, forwardedFor?: string): Promise<unknown> => {
    const headers: Record<string, string> =
      forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor }
    return (await toy.call('/v1/track', { key: 'pk', json: GOOD, headers })).body.ip
  }
  const direct = await toyServer(t)
  t.equal(await ipOf(direct), '127.0.0.1')
  t.equal(await ipOf(direct, '8.8.8.8'), '127.0.0.1', 'nobody is believed by default')
  const proxied = await toyServer(t, { trustedProxies: ['127.0.0.0/8', '10.0.0.1'] })
  t.equal(await ipOf(proxied), '127.0.0.1')
  t.equal(await ipOf(proxied, '8.8.8.8'), '8.8.8.8')
  t.equal(await ipOf(proxied, '6.6.6.6, 8.8.8.8, 10.0.0.1'), '8.8.8.8', 'the rightmost that is not trusted')
  const added = await RawConnection.open(t, proxied.port)
  added.write(
    'GET /v1/limited-by-address HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 6.6.6.6\r\nX-Forwarded-For: 8.8.8.8\r\n\r\n',
  )
  await added.until(() => added.received.endsWith('}'))
  t.match(added.received, '"ip":"8.8.8.8"', 'the line that the proxy added, not the one that it was sent')

  const body = JSON.stringify(GOOD)
  const smuggled = `${body}GET /v1/things/smuggled HTTP/1.1\r\nHost: x\r\n\r\n`
  const post = (lengths: readonly number[]): string =>
    `POST /v1/track HTTP/1.1\r\nHost: x\r\nAuthorization: pk\r\n${lengths
      .map((length) => `Content-Length: ${length}\r\n`)
      .join('')}\r\n${smuggled}`
  const differ = await RawConnection.open(t, proxied.port)
  differ.write(post([body.length, smuggled.length]))
  await differ.end()
  t.equal(differ.received, '', 'what follows makes it two requests: neither is answered')
  const alone = await RawConnection.open(t, proxied.port)
  alone.write(post([body.length, body.length + 1]).replace(/}GET .*/s, '}'))
  await alone.end()
  t.match(alone.received, /^HTTP\/1.1 400 [^]*Content-Length headers that differ/)
  const same = await RawConnection.open(t, proxied.port)
  same.write(post([body.length, body.length]))
  await same.until(() => same.received.endsWith('"id":"smuggled"}'))
  t.match(same.received, /^HTTP\/1.1 200 /, 'said twice is said once')
  const both = await RawConnection.open(t, proxied.port)
  both.write(post([body.length]).replace('Host', 'Transfer-Encoding: chunked\r\nHost'))
  await both.end()
  t.match(both.received, /^HTTP\/1.1 400 /, 'a length and chunks: refused by the transport')
})

const OTHER_LOOPBACK = process.platform === 'linux' ? false : 'only Linux has more than one loopback address'

t.test('each connection is known by its own address', { skip: OTHER_LOOPBACK }, async (t) => {
  const toy = await toyServer(t)
  const get = 'GET /v1/address HTTP/1.1\r\nHost: x\r\n\r\n'
  const one = await RawConnection.open(t, toy.port)
  one.write(get)
  await one.until(() => one.received.endsWith('"ip":"127.0.0.1"}'))
  const two = await RawConnection.open(t, toy.port, '127.0.0.2')
  for (const [connection, ip] of [
    [two, '127.0.0.2'],
    [one, '127.0.0.1'],
    [two, '127.0.0.2'],
  ] as const) {
    connection.received = ''
    connection.write(get)
    await connection.until(() => connection.received.endsWith(`"ip":"${ip}"}`))
  }
  one.socket.destroy()
  const three = await RawConnection.open(t, toy.port, '127.0.0.3')
  for (const [connection, ip] of [
    [three, '127.0.0.3'],
    [two, '127.0.0.2'],
  ] as const) {
    connection.received = ''
    connection.write(get)
    await connection.until(() => connection.received.endsWith(`"ip":"${ip}"}`))
  }
})
