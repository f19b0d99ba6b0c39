/**
 * Request smuggling: requests of which two readers would see different ends, on sockets, against the real server.
 *
 * Each attack is sent alone, to see its answer, and with a whole request behind it that must never be answered. Where
 * there are proxies they differ from us in one of these; docs/operating.md says what a proxy in front must refuse itself.
 */
import t from 'tap'
import { Connection } from '../fuzz/wire.ts'
import { KEYS, startServer } from '../kit/server.ts'

t.setTimeout(180_000)
const server = await startServer(t)

/** How long the server lets a head be incomplete: ten seconds, four of its timer, and a busy machine. */
const MAX_LINGER_MS = 45_000
const BODY = '{"deviceId":"x","latitude":1,"longitude":2,"accuracy":5}'
const CHUNKS = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`
const SMUGGLED = 'GET /healthz HTTP/1.1\r\nHost: smuggled\r\n\r\n'

const auth = `Authorization: ${KEYS.testPublishable}\r\nContent-Type: application/json\r\n`
/** Request lines and headers, for each way in which the server answers. */
const TARGETS: Readonly<Record<string, string>> = {
  'an update': `POST /v1/track HTTP/1.1\r\nHost: x\r\n${auth}`,
  '401': 'POST /v1/track HTTP/1.1\r\nHost: x\r\n',
  '404': 'POST /v1/nowhere HTTP/1.1\r\nHost: x\r\n',
  '404 of a GET': 'GET /v1/nowhere HTTP/1.1\r\nHost: x\r\n',
  '405': 'POST /healthz HTTP/1.1\r\nHost: x\r\n',
  OPTIONS: 'OPTIONS /v1/track HTTP/1.1\r\nHost: x\r\n',
  GET: 'GET /healthz HTTP/1.1\r\nHost: x\r\n',
  'a path with parameters': `GET /v1/geofences/a/b HTTP/1.1\r\nHost: x\r\n${auth}`,
  DELETE: `DELETE /v1/geofences/a/b HTTP/1.1\r\nHost: x\r\n${auth}`,
  'an upload': `POST /v1/imports/geofences HTTP/1.1\r\nHost: x\r\nAuthorization: ${KEYS.testSecret}\r\nContent-Type: text/csv\r\n`,
  'a WebSocket without handshake': `GET /v1/stream HTTP/1.1\r\nHost: x\r\n${auth}`,
  'a WebSocket':
    `GET /v1/stream HTTP/1.1\r\nHost: x\r\n${auth}Upgrade: websocket\r\nConnection: Upgrade\r\n` +
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n',
  HEAD: 'HEAD /healthz HTTP/1.1\r\nHost: x\r\n',
}

/** All that the server sends in answer to these bytes until it closes. */
async function exchange(text: string, milliseconds = 10_000): Promise<{ received: string; closed: boolean }> {
  const connection = await Connection.open(server.port)
  connection.write(Buffer.from(text, 'latin1'))
  const closed = await connection.closes(milliseconds)
  connection.destroy()
  return { received: connection.received.toString('latin1'), closed }
}

const statusesOf = (received: string): number[] =>
  [...received.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => Number(status))

/** Headers that are refused wherever they come, and what stands where a body would. */
const HEADERS: readonly (readonly [name: string, lines: string, body: string])[] = [
  ['lengths that differ', `Content-Length: ${BODY.length}\r\nContent-Length: ${BODY.length + 1}`, BODY],
  ['the longer one first', `Content-Length: ${BODY.length}\r\nContent-Length: 0`, BODY],
  ['lengths that agree', `Content-Length: ${BODY.length}\r\nContent-Length: ${BODY.length}`, BODY],
  ['an empty length, then one', `Content-Length:\r\nContent-Length: ${BODY.length}`, BODY],
  ['lengths as a list', `Content-Length: ${BODY.length}, ${BODY.length}`, BODY],
  ['an empty length', 'Content-Length:', ''],
  ['a length with a plus', `Content-Length: +${BODY.length}`, BODY],
  ['a negative length', 'Content-Length: -1', ''],
  ['a hexadecimal length', 'Content-Length: 0x10', ''],
  ['a length with a fraction', `Content-Length: ${BODY.length}.0`, BODY],
  ['a length with a letter', `Content-Length: ${BODY.length}a`, BODY],
  ['a length over 64 bits', `Content-Length: ${2n ** 64n + BigInt(BODY.length)}`, BODY],
  ['a length and chunks', `Content-Length: ${BODY.length}\r\nTransfer-Encoding: chunked`, CHUNKS],
  ['chunks and a length', 'Transfer-Encoding: chunked\r\nContent-Length: 4', CHUNKS],
  ['an empty length and chunks', 'Content-Length:\r\nTransfer-Encoding: chunked', CHUNKS],
  ['an empty encoding and a length', `Transfer-Encoding:\r\nContent-Length: ${BODY.length}`, BODY],
  ['chunked, identity', 'Transfer-Encoding: chunked, identity', CHUNKS],
  ['identity, chunked', 'Transfer-Encoding: identity, chunked', CHUNKS],
  ['identity', 'Transfer-Encoding: identity', CHUNKS],
  ['gzip', 'Transfer-Encoding: gzip', CHUNKS],
  ['xchunked', 'Transfer-Encoding: xchunked', CHUNKS],
  ['"chunked"', 'Transfer-Encoding: "chunked"', CHUNKS],
  ['chunked twice', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked', CHUNKS],
  ['chunked, then identity', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity', CHUNKS],
  ['an empty encoding', 'Transfer-Encoding:', CHUNKS],
  ['two hosts', 'Host: y', ''],
]

t.test(
  'headers that say two things are answered 400 on every path, and the connection is closed',
  async (t) => {
    for (const [name, lines, body] of HEADERS) {
      await Promise.all(
        Object.entries(TARGETS).map(async ([target, head]) => {
          const alone = await exchange(`${head}${lines}\r\n\r\n${body}`)
          t.strictSame([statusesOf(alone.received), alone.closed], [[400], true], `${name}: ${target}`)
          const followed = await exchange(`${head}${lines}\r\n\r\n${body}${SMUGGLED}`)
          t.ok(followed.closed, `${name}: ${target}, with another request behind it: closed`)
          t.ok(
            statusesOf(followed.received).every((status) => status === 400),
            `and that one is not answered: ${followed.received.slice(0, 100)}`,
          )
        }),
      )
    }
  },
)

t.test('a method without a body may not have one in chunks', async (t) => {
  for (const target of ['OPTIONS', 'GET', 'HEAD', 'a WebSocket', '404 of a GET']) {
    const { received, closed } = await exchange(
      `${TARGETS[target]}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
    )
    t.ok(closed, target)
    t.ok(statusesOf(received).every((status) => status === 400))
  }
})

const size = BODY.length.toString(16)
/** Bodies in chunks whose framing others read otherwise. */
const FRAMINGS: readonly (readonly [name: string, body: string])[] = [
  ['nothing wrong', CHUNKS],
  ['bare LF behind a size', `${size}\n${BODY}\r\n0\r\n\r\n`],
  ['bare LF everywhere', `${size}\n${BODY}\n0\n\n`],
  ['bare LF behind the data', `${size}\r\n${BODY}\n0\r\n\r\n`],
  ['other bytes behind the data', `${size}\r\n${BODY}XX0\r\n\r\n`],
  ['bare CR behind a size', `${size}\rX${BODY}\r\n0\r\n\r\n`],
  ['an extension', `${size};a=b\r\n${BODY}\r\n0\r\n\r\n`],
  ['an extension with a bare LF', `${size};a\nb\r\n${BODY}\r\n0\r\n\r\n`],
  ['a plus', `+${size}\r\n${BODY}\r\n0\r\n\r\n`],
  ['a minus', `-${size}\r\n${BODY}\r\n0\r\n\r\n`],
  ['0x', `0x${size}\r\n${BODY}\r\n0\r\n\r\n`],
  ['a space behind a size', `${size} \r\n${BODY}\r\n0\r\n\r\n`],
  ['a space before a size', ` ${size}\r\n${BODY}\r\n0\r\n\r\n`],
  ['no size', `\r\n${BODY}\r\n0\r\n\r\n`],
  ['a size over 64 bits', `1000000000000000${size}\r\n${BODY}\r\n0\r\n\r\n`],
  ['a size over 32 bits', `1000000${size}\r\n${BODY}\r\n0\r\n\r\n`],
  ['an underscore', `${size}_\r\n${BODY}\r\n0\r\n\r\n`],
  ['other bytes behind the last chunk', `${size}\r\n${BODY}\r\n0\r\nXX`],
  ['bare LF behind the last chunk', `${size}\r\n${BODY}\r\n0\n\n`],
  ['a trailer', `${size}\r\n${BODY}\r\n0\r\nA: b\r\n\r\n`],
  ['a request as a trailer', `${size}\r\n${BODY}\r\n0\r\n${SMUGGLED}`],
]

t.test('nothing that follows a body in chunks on its connection is taken for a request', async (t) => {
  const targets = ['an update', '401', '404', '405', 'DELETE', 'an upload'] as const
  await Promise.all(
    FRAMINGS.flatMap(([name, body]) =>
      targets.map(async (target) => {
        const head = `${TARGETS[target]}Transfer-Encoding: chunked\r\n\r\n`
        const alone = await exchange(head + body, MAX_LINGER_MS)
        t.ok(alone.closed, `${name}: ${target}`)
        // What the transport finds wrong is answered by it, though the request may have been answered by us.
        const statuses = statusesOf(alone.received).filter((status) => status !== 400)
        t.ok(statuses.length <= 1, `${name}: ${target}: ${statuses.join()}`)
        const followed = await exchange(head + body + SMUGGLED, MAX_LINGER_MS)
        t.ok(followed.closed, 'with another request behind it')
        t.notMatch(followed.received, /"status":|"ok"/, 'which is not answered')
        t.ok(statusesOf(followed.received).filter((status) => status !== 400).length <= 1)
      }),
    ),
  )
  const good = await exchange(`${TARGETS['an update']}Transfer-Encoding: chunked\r\n\r\n${CHUNKS}`)
  t.strictSame(statusesOf(good.received), [200], 'a client that sends chunks as it should is served')
  t.match(good.received, /\r\nConnection: close\r\n/i)
  const later = await Connection.open(server.port)
  later.write(`${TARGETS['404']}Transfer-Encoding: chunked\r\n\r\n`)
  t.ok(await later.closes(10_000), 'nor is what comes later read')
})

/** Requests that the transport refuses by itself: what it answers, if it answers. */
const HEADS: readonly (readonly [name: string, head: string, status?: number])[] = [
  [
    'HTTP/1.0 with chunks',
    'POST /v1/track HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    505,
  ],
  ['HTTP/2.0', 'GET /healthz HTTP/2.0\r\nHost: x\r\n\r\n', 505],
  ['an absolute target', 'GET http://x/healthz HTTP/1.1\r\nHost: x\r\n\r\n', 505],
  ['an authority as target', 'CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n', 505],
  ['two spaces', 'GET  /healthz  HTTP/1.1\r\nHost: x\r\n\r\n', 505],
  ['a space in the target', 'GET /healthz x HTTP/1.1\r\nHost: x\r\n\r\n', 505],
  ['NUL in the target', 'GET /healthz\0 HTTP/1.1\r\nHost: x\r\n\r\n', 505],
  ['bare LF in the head', 'GET /healthz HTTP/1.1\nHost: x\n\n', 505],
  ['bare LF behind a header', 'GET /healthz HTTP/1.1\r\nHost: x\nContent-Length: 3\r\n\r\nabc'],
  ['bare LF in a value', 'GET /healthz HTTP/1.1\r\nHost: x\r\nA: a\nContent-Length: 3\r\n\r\nabc'],
  ['bare CR in a value', 'GET /healthz HTTP/1.1\r\nHost: x\r\nA: a\rContent-Length: 3\r\n\r\nabc'],
  ['NUL in a value', 'GET /healthz HTTP/1.1\r\nHost: x\r\nA: a\0b\r\n\r\n'],
  ['NUL in a name', 'GET /healthz HTTP/1.1\r\nHost: x\r\nA\0: a\r\n\r\n'],
  ['a control character', 'GET /healthz HTTP/1.1\r\nHost: x\r\nA: a\x01b\r\n\r\n'],
  ['a space before the colon', 'POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length : 3\r\n\r\nabc'],
  ['a space in a name', 'GET /healthz HTTP/1.1\r\nHost: x\r\nA b: c\r\n\r\n'],
  ['a bracket in a name', 'GET /healthz HTTP/1.1\r\nHost: x\r\nA(b): c\r\n\r\n'],
  ['a byte over 127 in a name', 'GET /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding\xa0: chunked\r\n\r\n'],
  ['a line without colon', 'GET /healthz HTTP/1.1\r\nHost: x\r\nabc\r\n\r\n'],
  ['a folded header', 'POST /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n'],
  ['a folded first header', 'GET /healthz HTTP/1.1\r\n Host: x\r\n\r\n'],
  ['a vertical tab', 'POST /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n'],
  ['no host', 'GET /healthz HTTP/1.1\r\n\r\n'],
]

t.test('heads that are no HTTP/1.1 are not handled, nor is what follows them', async (t) => {
  await Promise.all(
    HEADS.map(async ([name, head, status]) => {
      const { received, closed } = await exchange(head + SMUGGLED, MAX_LINGER_MS)
      t.ok(closed, `${name}: closed`)
      t.strictSame(statusesOf(received), status === undefined ? [] : [status], name)
    }),
  )
})

// The pages with which the transport itself refuses what is no HTTP name it in their text; that cannot be changed from here.
t.test('no answer has a header that names the server or what it is made of', async (t) => {
  const get = (path: string, more = '') =>
    `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${more}\r\n`
  const requests = [
    get('/healthz'),
    get('/nowhere'),
    get('/docs'),
    get('/v1/stream'),
    get('/metrics'),
    get('/healthz').replace('GET', 'HEAD'),
    get('/nowhere').replace('GET', 'HEAD'),
    get('/v1/track').replace('GET', 'OPTIONS'),
    get('/v1/geofences/export', `Authorization: ${KEYS.testSecret}\r\n`),
    TARGETS['a WebSocket'] + '\r\n',
    TARGETS.GET + 'Content-Length: x\r\n\r\n',
    HEADS[0]![1],
    `GET /healthz HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(40_000)}\r\n\r\n`,
    'GET /healthz HTTP/1.1\r\nA: b\r\n\r\n',
  ]
  for (const request of requests) {
    const { received } = await exchange(request, 2000)
    t.match(received, /^HTTP\/1\.1 \d/, request.slice(0, 40))
    const [head = ''] = received.split('\r\n\r\n')
    t.notMatch(head, /^(?:uwebsockets|server|x-powered-by):/im, request.slice(0, 40))
  }
})
