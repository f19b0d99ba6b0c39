/**
 * Request smuggling: requests whose end two readers would see in different places, sent over sockets to the real
 * server.
 *
 * Each attack is sent alone, to see its answer, and again with a complete request behind it that must never be
 * answered. Proxies differ from Ringfence in one of these; docs/operating.md says what a proxy in front of it must
 * refuse itself.
 */
import t from 'tap'
import { Connection } from '../fuzz/wire.ts'
import { CHUNKS, FRAMINGS, HEADERS, HEADS, SMUGGLED } from '../kit/framings.ts'
import { KEYS, startServer } from '../kit/server.ts'

t.setTimeout(180_000)
// Most of the time is spent in waiting until the server gives up on heads that never end: all at once.
t.jobs = 4
const server = await startServer(t)

/**
 * How long the server accepts an incomplete request head: ten seconds, four for its timer, and the rest for a busy
 * machine.
 */
const MAX_LINGER_MS = 45_000

const auth = `Authorization: ${KEYS.testPublishable}\r\nContent-Type: application/json\r\n`
/** Request lines and headers for each way in which the server answers. */
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

/** Everything that the server sends in answer to these bytes until it closes the connection. */
async function exchange(text: string, milliseconds = 10_000): Promise<{ received: string; closed: boolean }> {
  const connection = await Connection.open(server.port)
  connection.write(Buffer.from(text, 'latin1'))
  const closed = await connection.closes(milliseconds)
  connection.destroy()
  return { received: connection.received.toString('latin1'), closed }
}

const statusesOf = (received: string): number[] =>
  [...received.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => Number(status))

t.test(
  'contradictory headers are answered with 400 on every path, and the connection is closed',
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

t.test('a method without a body must not have a chunked one', async (t) => {
  for (const target of ['OPTIONS', 'GET', 'HEAD', 'a WebSocket', '404 of a GET']) {
    const { received, closed } = await exchange(
      `${TARGETS[target]}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
    )
    t.ok(closed, target)
    t.ok(statusesOf(received).every((status) => status === 400))
  }
})

t.test(
  'nothing that follows a chunked body on its connection is processed as a request',
  { buffered: true },
  async (t) => {
    const targets = ['an update', '401', '404', '405', 'DELETE', 'an upload'] as const
    await Promise.all(
      FRAMINGS.flatMap(([name, body]) =>
        targets.map(async (target) => {
          const head = `${TARGETS[target]}Transfer-Encoding: chunked\r\n\r\n`
          const [alone, followed] = await Promise.all(
            [head + body, head + body + SMUGGLED].map((text) => exchange(text, MAX_LINGER_MS)),
          )
          t.ok(alone!.closed, `${name}: ${target}`)
          // The transport itself answers errors that it finds, even if Ringfence has already answered the request.
          const statuses = statusesOf(alone!.received).filter((status) => status !== 400)
          t.ok(statuses.length <= 1, `${name}: ${target}: ${statuses.join()}`)
          t.ok(followed!.closed, 'with another request behind it')
          t.notMatch(followed!.received, /"status":|"ok"/, 'which is not answered')
          t.ok(statusesOf(followed!.received).filter((status) => status !== 400).length <= 1)
        }),
      ),
    )
    const good = await exchange(`${TARGETS['an update']}Transfer-Encoding: chunked\r\n\r\n${CHUNKS}`)
    t.strictSame(statusesOf(good.received), [200], 'a client that sends chunks as it should is served')
    t.match(good.received, /\r\nConnection: close\r\n/i)
    const later = await Connection.open(server.port)
    later.write(`${TARGETS['404']}Transfer-Encoding: chunked\r\n\r\n`)
    t.ok(await later.closes(10_000), 'nor is what comes later read')
  },
)

t.test(
  'a large answer to a chunked body arrives complete, and ends its connection',
  { buffered: true },
  async (t) => {
    const ring = Array.from({ length: 1999 }, (_, i) => {
      const angle = (2 * Math.PI * i) / 1999
      return [80 + 0.1 * Math.cos(angle), 40 + 0.1 * Math.sin(angle)]
    })
    const polygon = { description: 'x', type: 'polygon', coordinates: [...ring, ring[0]] }
    for (let i = 0; i < 40; i++) await server.api('PUT', `/v1/geofences/large/${i}`, polygon)
    const body = JSON.stringify({
      deviceId: 'amid-large',
      latitude: 40,
      longitude: 80,
      accuracy: 5,
      nearbyGeofences: true,
      nearbyGeofencesLimit: 40,
    })
    const connection = await Connection.open(server.port)
    connection.write(
      `${TARGETS['an update']}Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
    )
    const answer = await connection.answer(MAX_LINGER_MS)
    t.equal(answer?.status, 200)
    t.equal(JSON.parse(answer!.text).nearbyGeofences.length, 40)
    t.equal(answer!.headers.get('connection'), 'close')
    connection.write(SMUGGLED)
    t.ok(await connection.closes(MAX_LINGER_MS), 'it is closed')
    t.equal(
      await connection.answer(0).catch(() => undefined),
      undefined,
      'and a request behind is not answered',
    )
  },
)

t.test(
  'heads that are not HTTP/1.1 are not processed, nor is anything that follows them',
  { buffered: true },
  async (t) => {
    await Promise.all(
      HEADS.map(async ([name, head, status]) => {
        const { received, closed } = await exchange(head + SMUGGLED, MAX_LINGER_MS)
        t.ok(closed, `${name}: closed`)
        t.strictSame(statusesOf(received), status === undefined ? [] : [status], name)
      }),
    )
  },
)

// When the transport refuses something that is not HTTP, the text of its page contains its name. Ringfence cannot
// change that.
t.test('no answer has a header that names the server or its software', async (t) => {
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

t.test('chunked requests that are answered at the same time each get their own answer', async (t) => {
  const wrong: string[] = []
  const one = async (deviceId: string) => {
    const body = JSON.stringify({ deviceId, latitude: 0, longitude: 0, accuracy: 5 })
    const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
    const { received } = await exchange(
      `POST /v1/track HTTP/1.1\r\nHost: x\r\n${auth}Transfer-Encoding: chunked\r\n\r\n${chunks}`,
    )
    if (!received.includes(`"deviceId":"${deviceId}"`))
      wrong.push(`${deviceId}: ${received.split('\r\n\r\n')[1]}`)
  }
  for (let round = 0; round < 10; round++)
    await Promise.all(Array.from({ length: 30 }, (_, i) => one(`own-${round}-${'x'.repeat(i)}`)))
  t.strictSame(wrong, [])
})
