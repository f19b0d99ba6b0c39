/** The content of requests, tested from outside: parameters, bodies, forms and queries, valid and invalid. */
import t from 'tap'
import { eventually, RawConnection, toyServer } from './toy.ts'

const GOOD = { deviceId: 'd', latitude: 1, longitude: 2 }
const MEBIBYTE = 1024 * 1024

t.test('parameters are named, the first one in the order of the schema', async (t) => {
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

t.test('the requests of SDKs are recognised', async (t) => {
  const toy = await toyServer(t)
  const fromSdk = async (headers: Record<string, string>, json: object): Promise<unknown> =>
    (await toy.call('/v1/track', { key: 'pk', headers, json })).body.fromSdk
  t.equal(await fromSdk({}, GOOD), false)
  t.equal(await fromSdk({ 'X-Radar-SDK-Version': '5.2.0' }, GOOD), true)
  t.equal(await fromSdk({}, { ...GOOD, sdkVersion: '3.0' }), true)
})

t.test('forms that a body may have', async (t) => {
  const toy = await toyServer(t)
  const post = async (
    body: string | Uint8Array<ArrayBuffer>,
    type: string | undefined = 'application/json',
  ): Promise<readonly [number, string | undefined, string]> => {
    // fetch sets no content type for a Uint8Array.
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
  for (const [broken, where] of [
    ['{', /at line 1, column 2\. Expected property name or '}'\.$/],
    ['{"a":', /\. It ends too early\.$/],
    ['{"a":[', /\. It ends too early\.$/],
    [good.slice(0, -1), /at line 1, column 43\. Expected ',' or '}'/],
    [`${good}}`, /at line 1, column 44\. Unexpected/],
    ['{deviceId: x}', /at line 1, column 2\. Expected property name or '}'\.$/],
    ["{'a':1}", /at line 1, column 2\. /],
    ['{"a":NaN}', /at line 1, column 6\. Expected a value\.$/],
    ['{\n  "a": "]\\",[",\n  "b":  [[], {}, -1.5e3, ]\n}', /at line 3, column 26\. Expected a value\.$/],
    ['{"a": , "b": 1}', /at line 1, column 7\. Expected a value\.$/],
    ['{"a":[1,}', /at line 1, column 9\. Expected a value\.$/],
    ['{"a":[}', /at line 1, column 7\. Expected a value\.$/],
    ['{"a":tru}', /at line 1, column 6\. Expected a value\.$/],
    ['{"a":"é","b":x}', /at line 1, column 14\. Expected a value\.$/],
    [`{"a":"${'x'.repeat(200_000)}","b":<script>}`, /at line 1, column 200013\. Expected a value\.$/],
    ['{"a":1,}', /at line 1, column 8\. /],
    ['{"a":"\n"}', /at line 1, column 7\. /],
    ['{"a":"\0"}', /at line 1, column 7\. /],
    ['a=1', /at line 1, column 1\. Expected a value\.$/],
  ] as const) {
    const [status, param, message] = await post(broken)
    t.match([status, param, message], [400, 'body', /^body: Invalid JSON/], broken.slice(0, 60))
    t.match(message, where, broken.slice(0, 60))
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
    ['{"metadata":{"__proto__":{"polluted":1}}}', 'metadata.__proto__', 'Key not allowed.'],
    [String.raw`{"metadata":{"\u005f_proto__":1}}`, 'metadata.__proto__', 'Key not allowed.'],
    ['{"metadata":{"constructor":{"prototype":{"polluted":1}}}}', 'metadata.constructor', 'Key not allowed.'],
    ['{"metadata":{"a":[{"prototype":1}]}}', 'metadata.a.0.prototype', 'Key not allowed.'],
    [
      `{"metadata":{"a":${'['.repeat(70)}${']'.repeat(70)}}}`,
      'metadata',
      'Must not be nested deeper than 64 levels.',
    ],
    [
      `{"metadata":{"${'k'.repeat(100_000)}":{"__proto__":1}}}`,
      `metadata.${'k'.repeat(64)}….__proto__`,
      'Key not allowed.',
    ],
  ]
  for (const [body, param, sentence] of textCases) {
    t.strictSame(await post(body), [400, param, `${param}: ${sentence}`], body.slice(0, 60))
  }
  for (const unknown of [
    '"__proto__":{"polluted":1}',
    String.raw`"\u005f_proto__":1`,
    '"things":[{"prototype":1}]',
    `"a":${'['.repeat(70)}${']'.repeat(70)}`,
    String.raw`"a\u0000":"\ud800"`,
  ])
    t.equal((await post(`${JSON.stringify(GOOD).slice(0, -1)},${unknown}}`))[0], 200, unknown.slice(0, 60))
  t.notOk('polluted' in {}, 'no prototype was touched')
  t.strictSame(await post(String.raw`{"deviceId":"\ud83d\ude00","latitude":1,"longitude":2}`), [
    200,
    undefined,
    undefined,
  ])

  const half = MEBIBYTE / 2 - 8
  const deep = [400, 'body', 'body: Must not be nested deeper than 64 levels.']
  t.strictSame(await post('['.repeat(MEBIBYTE)), deep, '1 MB of [')
  t.strictSame(await post('{"a":'.repeat(MEBIBYTE / 5)), deep, '1 MB of {"a":')
  t.strictSame(await post('['.repeat(half) + ']'.repeat(half)), deep)
  t.strictSame(await post(`{"a":${'['.repeat(half)}${']'.repeat(half)}}`), deep, '1 MB that closes')
  t.equal((await toy.call('/v1/track', { key: 'pk', json: GOOD })).status, 200, 'still serving')
})

t.test('a body may be empty if nothing is required; without a schema it is not checked', async (t) => {
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
    { deviceId: 'a', ...got },
    'what is unknown is not read',
  )
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
  t.equal(await get('?tags=%ed%a0%80'), 'tags: Invalid escape sequence.')
  t.strictSame(await get('?tags%=1&other=%zz'), { limit: 10 }, 'unknown names are not read')
  const near = await toy.call('/v1/search?near=40.7,-73.9')
  t.strictSame(near.body.at, { latitude: 40.7, longitude: -73.9 })
})

t.test('a body over the limit is refused, whatever length was announced', async (t) => {
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
  // One address may hold a quarter of it.
  const toy = await toyServer(t, { maxHeldBytes: 400_000 })
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
  t.match(third.received, 'the bodies of one address may take 100000 bytes')
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

t.test('a body in very many small pieces is refused', async (t) => {
  const toy = await toyServer(t)
  const head = 'POST /v1/track HTTP/1.1\r\nHost: x\r\nAuthorization: pk\r\nTransfer-Encoding: chunked\r\n\r\n'
  const text = JSON.stringify(GOOD)
  const sent = async (piece: string, count: number) => {
    const connection = await RawConnection.open(t, toy.port)
    const chunk = (content: string) => `${content.length.toString(16)}\r\n${content}\r\n`
    connection.write(head + chunk(piece).repeat(count) + chunk(text) + '0\r\n\r\n')
    await connection.answers(1)
    return connection.received
  }
  t.match(await sent(' ', 9000), /^HTTP\/1.1 200 /)
  t.match(await sent(' '.repeat(20), 20_000), /^HTTP\/1.1 200 /, 'pieces of a usual length')
  const refused = await sent(' ', 10_001)
  t.match(refused, /^HTTP\/1.1 400 /)
  t.match(refused, /too many small pieces. Send at least 16 bytes in each/)
  t.match(refused, /Connection: close/i)
  const flood = await RawConnection.open(t, toy.port)
  flood.write(head + '1\r\n \r\n'.repeat(80_000))
  await flood.end()
  await eventually(() => toy.server.inFlight === 0)
  t.equal(toy.server.heldBytes, 0)
})

t.test('of very many small pieces that come at the same time, some bodies are refused', async (t) => {
  const toy = await toyServer(t)
  const head = 'POST /v1/track HTTP/1.1\r\nHost: x\r\nAuthorization: pk\r\n'
  const text = JSON.stringify(GOOD)
  const inPieces = (count: number) =>
    `${head}Transfer-Encoding: chunked\r\n\r\n${'1\r\n \r\n'.repeat(count)}${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`
  const open = (count: number) =>
    Promise.all(Array.from({ length: count }, () => RawConnection.open(t, toy.port)))
  const many = await open(12)
  const few = await open(12)
  const whole = await open(12)
  // All of it is there before the server reads any.
  for (const connection of many) connection.write(inPieces(9000))
  for (const connection of few) connection.write(inPieces(50))
  for (const connection of whole) connection.write(`${head}Content-Length: ${text.length}\r\n\r\n${text}`)
  await Promise.all(whole.map((connection) => connection.answers(1)))
  await Promise.all([...many, ...few].map((connection) => connection.end()))
  const isAnswered = ({ received }: RawConnection) => received.startsWith('HTTP/1.1 200 ')
  t.ok(whole.every(isAnswered) && few.every(isAnswered), 'others are not affected')
  const answered = many.filter(isAnswered).length
  t.ok(answered >= 1 && answered <= 3, `${answered} of the bodies in many pieces are read`)
  const [again] = await open(1)
  again!.write(inPieces(9000))
  await again!.answers(1)
  t.ok(isAnswered(again!), 'one that is sent again alone is read')
  await eventually(() => toy.server.inFlight === 0)
  t.equal(toy.server.heldBytes, 0)
})
