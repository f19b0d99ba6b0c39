/** Web servers that are slow, lie or lead elsewhere. The fetch is tried alone, with short limits, and over a server. */
import { createHash } from 'node:crypto'
import { createServer, type Socket } from 'node:net'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { Outgoing } from '../../src/runtime/outgoing.ts'
import { fetchSource } from '../../src/sync/fetchSource.ts'
import { startServer } from '../kit/server.ts'
import { folderOf } from '../registry/replicatedKit.ts'
import { until } from '../kit/waiting.ts'
import { ALLOWED, ended, FileServer, HEADER, ran, row, runOf, setUp } from './syncKit.ts'

const LIMITS = { maxBytes: 100_000, idleMs: 300, totalMs: 1500 }
const BODY = HEADER + row('h', 1)

/** A server that writes what it likes. */
async function rawServer(t: Test, answer: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('data', () => answer(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/a.csv`
}

/** Fetches an address, with a header that is a secret. */
function fetched(t: Test, url: string, allowed = ['127.0.0.1']) {
  const outgoing = new Outgoing(allowed)
  t.teardown(() => outgoing.close())
  const file = join(folderOf(t), 'file')
  const source = { id: '0', name: url, url, headers: async () => ({ 'x-secret': 'hush' }) }
  const signal = new AbortController().signal
  return fetchSource(outgoing, source, file, undefined, LIMITS, signal).then((result) => ({
    ...result,
    file,
  }))
}

t.test('a source that arrives', async (t) => {
  const url = await rawServer(t, (socket) =>
    socket.end(`HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n${BODY}`),
  )
  const { content, file, httpStatus } = await fetched(t, url)
  t.equal(readFileSync(file, 'utf8'), BODY)
  const sha256 = createHash('sha256').update(BODY).digest('hex')
  t.match([httpStatus, content], [200, { bytes: BODY.length, sha256 }])
})

t.test('a source that tells its length, after a hint', async (t) => {
  const hint = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'
  const url = await rawServer(t, (socket) =>
    socket.end(`${hint}HTTP/1.1 200 OK\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`),
  )
  t.equal((await fetched(t, url)).content?.bytes, BODY.length)
})

t.test('servers that stall, cut off, lie or send too much', async (t) => {
  const cases: [string, (socket: Socket) => void, object][] = [
    ['no answer', () => {}, { code: 'timeout', isPassing: true }],
    [
      'half an answer',
      (socket) => socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n${BODY}`),
      { code: 'timeout' },
    ],
    [
      'a byte now and then',
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n')
        const timer = setInterval(() => socket.write('x'), 50)
        socket.on('close', () => clearInterval(timer))
      },
      { code: 'timeout', message: /within 1.5 s/ },
    ],
    [
      'fewer bytes than told',
      (socket) => socket.end(`HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n${BODY}`),
      { code: 'length', isPassing: false },
    ],
    [
      'fewer bytes than told, with a connection that ends',
      (socket) => socket.end(`HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1000\r\n\r\n${BODY}`),
      { code: 'length', isPassing: false, message: `${BODY.length} bytes arrived, but 1000 were announced.` },
    ],
    [
      'fewer bytes than told, and a reset',
      (socket) =>
        socket.write(`HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1000\r\n\r\n${BODY}`, () =>
          setTimeout(() => socket.resetAndDestroy(), 50),
        ),
      { code: 'connection', isPassing: true, message: 'The connection was closed.' },
    ],
    [
      'more bytes than told',
      (socket) =>
        socket.end(`HTTP/1.1 200 OK\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}${row('h', 2)}`),
      { code: 'length', isPassing: false },
    ],
    [
      'more bytes than told, after a hint',
      (socket) =>
        socket.end(
          `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n${BODY}`,
        ),
      { code: 'length' },
    ],
    [
      'a cut chunk',
      (socket) => socket.end('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nabc'),
      { code: 'connection', isPassing: true },
    ],
    [
      'more than allowed, told',
      (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100001\r\n\r\n'),
      { code: 'tooLarge' },
    ],
    [
      'more than allowed',
      (socket) => socket.end(`HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(100_001)}`),
      { code: 'tooLarge', isPassing: false },
    ],
    [
      'a bomb',
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n')
        socket.end(gzipSync(Buffer.alloc(10_000_000)))
      },
      { code: 'tooLarge' },
    ],
    [
      'no gzip',
      (socket) => socket.end(`HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n${BODY}`),
      { code: 'gzip' },
    ],
    [
      'another encoding',
      (socket) => socket.end(`HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\n${BODY}`),
      { code: 'encoding' },
    ],
    ['no HTTP', (socket) => socket.end('SSH-2.0-x\r\n'), { code: 'connection' }],
    ['a reset', (socket) => socket.resetAndDestroy(), { code: 'connection', isPassing: true }],
    [
      'busy',
      (socket) => socket.end('HTTP/1.1 503 Busy\r\nRetry-After: 7\r\n\r\nhush'),
      { code: 'http503', isPassing: true, retryAfterMs: 7000 },
    ],
    [
      'a refusal',
      (socket) => socket.end('HTTP/1.1 403 No\r\nRetry-After: 7\r\n\r\nhush'),
      { code: 'http403', isPassing: false, retryAfterMs: undefined },
    ],
    ['304 without a question', (socket) => socket.end('HTTP/1.1 304 Same\r\n\r\n'), { code: 'http304' }],
  ]
  for (const [what, answer, expected] of cases)
    await t.rejects(fetched(t, await rawServer(t, answer)), { name: 'SourceFailed', ...expected }, what)
})

t.test(
  'redirects: five at most, secrets only to the same origin, and no private address on the way',
  async (t) => {
    const web = await FileServer.start(t)
    const other = await FileServer.start(t)
    const to = (location: string) => (_: unknown, response: import('node:http').ServerResponse) =>
      response.writeHead(302, { location }).end()
    other.files.set('/end.csv', BODY)
    web.files.set('/end.csv', BODY)
    for (let i = 1; i <= 6; i++) web.files.set(`/${i}`, to(i === 1 ? '/end.csv' : `${web.url}/${i - 1}`))
    web.files.set('/away', to(`${other.url}/end.csv`))
    t.match(await fetched(t, `${web.url}/5`), { httpStatus: 200 })
    t.equal(web.asked.at(-1)?.headers['x-secret'], 'hush')
    await t.rejects(fetched(t, `${web.url}/6`), { code: 'redirect' })
    t.match(await fetched(t, `${web.url}/away`), { httpStatus: 200 })
    t.equal(other.asked.at(-1)?.headers['x-secret'], undefined)
    for (const location of [
      'http://10.0.0.1/',
      'http://[::1]/',
      'http://169.254.169.254/latest',
      'http://2130706434/',
    ]) {
      web.files.set('/private', to(location))
      await t.rejects(fetched(t, `${web.url}/private`), { code: 'address', isPassing: false }, location)
    }
    for (const location of ['ftp://example.com/', '', 'http://u:p@127.0.0.1/']) {
      web.files.set('/odd', to(location))
      await t.rejects(fetched(t, `${web.url}/odd`), { code: 'redirect' }, location)
    }
    await t.rejects(fetched(t, `${web.url}/end.csv`, []), { code: 'address' }, 'the server itself')
    const failureOf = (url: string) =>
      fetched(t, url, []).catch(({ code, message, isPassing }) => ({ code, message, isPassing }))
    t.strictSame(
      await failureOf(web.url.replace('127.0.0.1', 'localhost')),
      await failureOf('http://no-such-host.invalid/'),
      'a name with a private address is like one that does not exist',
    )
  },
)

t.test('connections that are refused, TLS that fails, names that are not there', async (t) => {
  const closed = createServer()
  closed.listen(0, '127.0.0.1')
  await once(closed, 'listening')
  const refused = `127.0.0.1:${(closed.address() as AddressInfo).port}`
  closed.close()
  await once(closed, 'close')
  // Handshake failure, fatal.
  const alert = await rawServer(t, (socket) => socket.end(Buffer.from([0x15, 3, 3, 0, 2, 2, 40])))
  const plain = await rawServer(t, (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
  const gone = await rawServer(t, (socket) => socket.destroy())
  const urls = [
    `http://${refused}/a.csv`,
    `https://${refused}/a.csv`,
    alert.replace('http:', 'https:'),
    plain.replace('http:', 'https:'),
    gone,
    gone.replace('http:', 'https:'),
    'http://nothing.invalid/a.csv',
    'https://nothing.invalid/a.csv',
  ]
  for (const url of urls) await t.rejects(fetched(t, url), { name: 'SourceFailed', code: String }, url)

  const server = await startServer(t, { env: ALLOWED })
  await setUp(server, { protocol: 'http', http: { urls } })
  const { pid } = server
  const tried = await server.api('POST', '/v1/geofence-sync/test')
  t.equal(tried.status, 200, JSON.stringify(tried.body))
  // A run tries these again for minutes, so it is ended by hand.
  const { body } = await server.api('POST', '/v1/geofence-sync/runs')
  await until(async () => (await runOf(server, body.run._id)).status === 'running')
  t.equal((await server.api('POST', `/v1/geofence-sync/runs/${body.run._id}/cancel`)).status, 200)
  t.equal((await ended(server, body.run._id)).status, 'canceled')
  t.equal(server.pid, pid)
  t.equal((await server.api('GET', '/readyz')).status, 200, 'the process is there')
})

t.test('over a server: 1,000 bad rows and one more, a row of 10 MB, many rows', async (t) => {
  const server = await startServer(t, { env: ALLOWED })
  const web = await FileServer.start(t)
  const http = { urls: [`${web.url}/x.csv`] }
  await setUp(server, { protocol: 'http', http })
  web.files.set(
    '/x.csv',
    HEADER + Array.from({ length: 1001 }, (_, i) => row('bad', i, 'x')).join('') + row('bad', 'good'),
  )
  const bad = await ran(server)
  t.match(bad, { status: 'partial', refused: 1001, created: 1, moreErrors: 1 })
  t.equal(bad.errors.length, 1000)
  web.files.set('/x.csv', `${HEADER}"${'x'.repeat(10_000_000)}",circle,big,1,"[1,2]",100\n`)
  t.match(await ran(server), {
    status: 'failed',
    sources: [{ error: { code: 'notCsv', message: /longer than/ } }],
  })
  web.files.set('/x.csv', HEADER + Array.from({ length: 20_000 }, (_, i) => row('many', i)).join(''))
  t.match(await ran(server), { status: 'succeeded', rows: 20_000, created: 20_000 })
  t.match(await ran(server, { force: true }), {
    status: 'succeeded',
    unchanged: 20_000,
    created: 0,
    updated: 0,
  })
})
