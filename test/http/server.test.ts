/** The API machinery from outside, over real sockets to a server with toy routes. */
import t from 'tap'
import { createServer } from '../../src/http/server.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { ApiError } from '../../src/runtime/errors.ts'
import { eventually, RawConnection, toyServer, type Toy } from './toy.ts'

const GOOD = { deviceId: 'd', latitude: 1, longitude: 2 }

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

t.test('a large answer arrives complete, however slowly it is read', async (t) => {
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

t.test('HEAD is GET without the body', async (t) => {
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

t.test('keys are checked before limits, and limits before parameters', async (t) => {
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

t.test('quotas count the requests of a key', async (t) => {
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
  t.equal(await status('/v1/maps/a.txt', 'pk'), 200)
  t.equal(used, 2, 'nor those of a free route')
  for (let i = 0; i < 2; i++) t.equal(await status('/v1/things/a/users', 'sk'), 200)
  const refused = await toy.call('/v1/track', { key: 'pk', method: 'POST', body: '{' })
  t.strictSame(
    [refused.status, refused.body.meta],
    [402, { code: 402, message: 'Payment required: so it is.' }],
  )
  t.equal(await status('/v1/limited', 'nope'), 401, 'keys come first')
})

t.test(
  'a key in the URL, a parameter with an ending, what proxies say, a path without its version',
  async (t) => {
    const toy = await toyServer(t)
    const { status, body } = await toy.call('/maps/map.txt?publishableKey=pk', {
      headers: { 'x-forwarded-host': 'elsewhere' },
    })
    t.equal(status, 200)
    t.match(body, { name: 'map', headers: { host: `127.0.0.1:${toy.port}` } })
    t.equal(body.headers['x-forwarded-host'], undefined, 'anybody can write that')
    const proxied = await toyServer(t, { trustedProxies: ['127.0.0.0/8'] })
    const forwarded = await proxied.call('/v1/maps/map.txt', {
      key: 'pk',
      headers: { 'x-forwarded-host': 'elsewhere' },
    })
    t.equal(forwarded.body.headers['x-forwarded-host'], 'elsewhere')

    for (const [path, code] of [
      ['/maps/map.txt', 401],
      ['/maps/map.txt?publishableKey=', 401],
      ['/maps/map.txt?publishableKey=nobody', 401],
      ['/maps/map.txt?publishableKey=prj_test_sk_1', 403],
      ['/v1/limited?must=1&publishableKey=pk', 401],
      ['/maps/map.png?publishableKey=pk', 404],
      ['/maps/map?publishableKey=pk', 404],
      ['/maps/longer-than-8.txt?publishableKey=pk', 400],
      ['/maps/?publishableKey=pk', 404],
    ] as const)
      t.equal((await toy.call(path)).status, code, path)
  },
)

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

t.test('a long pipeline does not occupy the event loop', async (t) => {
  const toy = await toyServer(t)
  const track = `POST /v1/track HTTP/1.1\r\nHost: x\r\nAuthorization: pk\r\nContent-Length: 2\r\n\r\n{}`
  const requests = [
    'GET /v1/things/1 HTTP/1.1\r\nHost: x\r\n\r\n',
    'HEAD /v1/things/1 HTTP/1.1\r\nHost: x\r\n\r\n',
    'GET /outcome/promise HTTP/1.1\r\nHost: x\r\n\r\n',
    'GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n',
    'PATCH /v1/track HTTP/1.1\r\nHost: x\r\n\r\n',
    'OPTIONS /v1/track HTTP/1.1\r\nHost: x\r\n\r\n',
    track,
  ]
  for (const request of requests) {
    const few = await RawConnection.open(t, toy.port)
    few.write(request.repeat(8))
    await few.until(() => answersOf(few) >= 8)
    few.socket.destroy()

    const COUNT = 30_000
    const many = await RawConnection.open(t, toy.port)
    many.socket.on('error', () => undefined)
    many.write(request.repeat(COUNT))
    await many.end()
    t.ok(answersOf(many) < COUNT, `${request.split('\r')[0]}: ${answersOf(many)} of ${COUNT} are answered`)
    t.equal((await toy.call('/v1/things/2')).status, 200)
  }
  t.equal(toy.server.inFlight, 0)
  t.equal(toy.server.heldBytes, 0)
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

  const cut = await toyServer(t)
  const chunks = await RawConnection.open(t, cut.port)
  chunks.write(
    'POST /v1/track HTTP/1.1\r\nHost: x\r\nAuthorization: pk\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"dev\r\n',
  )
  await eventually(() => cut.server.heldBytes > 0)
  await cut.server.close()
  await chunks.end()
  t.match(
    chunks.received,
    /^HTTP\/1.1 503 /,
    'half a body in chunks is refused, also where nothing else is waited for',
  )

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
  t.match(alone.received, /^HTTP\/1.1 400 [^]*Content-Length: Must be sent once/)
  const same = await RawConnection.open(t, proxied.port)
  same.write(post([body.length, body.length]))
  await same.end()
  t.equal(same.received, '', 'nor where they agree')
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

function answersOf({ received }: RawConnection): number {
  return [...received.matchAll(/HTTP\/1.1 \d+/g)].length
}
