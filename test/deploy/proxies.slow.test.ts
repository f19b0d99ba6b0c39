/**
 * Runs the real proxies of deploy/proxy: what they pass on of hostile requests is strict HTTP/1.1, and the API works
 * behind them. With RINGFENCE_REQUIRE_PROXIES=1 a missing program is a failure.
 */
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { request } from 'node:https'
import { createServer, type AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from 'node:tls'
import t from 'tap'
import { WebSocket } from 'ws'
import { BODY, CHUNKS, FRAMINGS, HEADERS, HEADS, SMUGGLED } from '../kit/framings.ts'
import { KEYS, startServer } from '../kit/server.ts'
import { PROXIES, skipWithoutProxy, startProxy } from './proxyKit.ts'

t.setTimeout(240_000)

/** Sends bytes, and resolves to the answer when the proxy closes the connection or after a while. */
async function send(port: number, bytes: string): Promise<string> {
  const socket = connect({
    port,
    host: '127.0.0.1',
    rejectUnauthorized: false,
    ALPNProtocols: ['http/1.1'],
  })
  let received = ''
  socket.setEncoding('latin1').on('data', (piece: string) => (received += piece))
  socket.on('error', () => undefined)
  await once(socket, 'secureConnect')
  socket.write(Buffer.from(bytes, 'latin1'))
  await Promise.race([once(socket, 'close'), sleep(700)])
  socket.destroy()
  return received
}

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
const REQUEST_LINE = new RegExp(`^${TOKEN} /[\\x21-\\x7e]* HTTP/1\\.1$`)
/** Other control characters do not end a line; Ringfence refuses them. */
const HEADER = new RegExp(`^${TOKEN}: ?[^\\r\\n]*$`)

/**
 * Reads requests as the strictest reader would.
 * @returns how many are complete; an incomplete request at the end is allowed
 * @throws Error for anything that two readers could read differently
 */
function readStrictly(bytes: string): number {
  let rest = bytes
  for (let count = 0; ; count++) {
    const end = rest.indexOf('\r\n\r\n')
    if (end < 0) return count
    const [first = '', ...lines] = rest.slice(0, end).split('\r\n')
    if (!REQUEST_LINE.test(first)) throw new Error(`no request line: ${JSON.stringify(first)}`)
    const values = (name: string) => {
      const found = lines.filter((line) => line.toLowerCase().startsWith(`${name}:`))
      return found.map((line) => line.slice(name.length + 1).trim())
    }
    const wrong = lines.find((line) => !HEADER.test(line))
    if (wrong !== undefined) throw new Error(`no header: ${JSON.stringify(wrong)}`)
    const [hosts, lengths, encodings] = ['host', 'content-length', 'transfer-encoding'].map(values) as [
      string[],
      string[],
      string[],
    ]
    if (hosts.length !== 1) throw new Error(`${hosts.length} hosts`)
    if (lengths.length + encodings.length > 1) throw new Error(`framed twice: ${lines.join(' | ')}`)
    rest = rest.slice(end + 4)
    if (encodings.length === 1) {
      if (encodings[0]!.toLowerCase() !== 'chunked') throw new Error(`encoded as ${encodings[0]}`)
      const after = afterChunks(rest)
      if (after === undefined) return count
      rest = after
    } else if (lengths.length === 1) {
      if (!/^\d{1,15}$/.test(lengths[0]!)) throw new Error(`of length ${lengths[0]}`)
      if (rest.length < Number(lengths[0])) return count
      rest = rest.slice(Number(lengths[0]))
    }
  }
}

/** What follows a chunked body; undefined if the body is incomplete. */
function afterChunks(bytes: string): string | undefined {
  let rest = bytes
  for (;;) {
    const end = rest.indexOf('\r\n')
    if (end < 0) return undefined
    const line = rest.slice(0, end)
    if (!/^[0-9a-f]{1,12}$/i.test(line)) throw new Error(`no chunk size: ${JSON.stringify(line)}`)
    const size = Number.parseInt(line, 16)
    if (size === 0) return afterTrailers(rest.slice(end + 2))
    const behind = rest.slice(end + 2 + size, end + 4 + size)
    if (behind.length < 2) return undefined
    if (behind !== '\r\n') throw new Error(`no end of a chunk: ${JSON.stringify(behind)}`)
    rest = rest.slice(end + 4 + size)
  }
}

function afterTrailers(bytes: string): string | undefined {
  let rest = bytes
  for (;;) {
    const end = rest.indexOf('\r\n')
    if (end < 0) return undefined
    const line = rest.slice(0, end)
    rest = rest.slice(end + 2)
    if (line === '') return rest
    if (!HEADER.test(line)) throw new Error(`no trailer: ${JSON.stringify(line)}`)
  }
}

t.test('the strict reader', (t) => {
  const head = 'POST /t HTTP/1.1\r\nHost: x\r\n'
  t.equal(readStrictly(`${head}Transfer-Encoding: chunked\r\n\r\n${CHUNKS}${SMUGGLED}`), 2)
  t.equal(readStrictly(`${head}Content-Length: 3\r\n\r\nab`), 0)
  for (const [name, lines, body] of HEADERS)
    t.throws(() => readStrictly(`${head}${lines}\r\n\r\n${body}${SMUGGLED}`), name)
  let faults = 0
  for (const [, body] of FRAMINGS)
    try {
      readStrictly(`${head}Transfer-Encoding: chunked\r\n\r\n${body}`)
    } catch {
      faults++
    }
  t.ok(faults > 12, `${faults} of ${FRAMINGS.length}`)
  t.end()
})

for (const proxy of PROXIES) {
  const skip = skipWithoutProxy(proxy)

  t.test(`${proxy.name} passes on only strict HTTP`, { skip }, async (t) => {
    const connections: { bytes: string }[] = []
    const upstream = createServer((socket) => {
      const connection = { bytes: '' }
      connections.push(connection)
      let answered = 0
      socket.on('error', () => undefined)
      socket.setEncoding('latin1').on('data', (piece: string) => {
        connection.bytes += piece
        let whole = 0
        try {
          whole = readStrictly(connection.bytes)
        } catch {
          // The problem is found below.
        }
        for (; answered < whole; answered++) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
      })
    }).listen(0, '127.0.0.1')
    await once(upstream, 'listening')
    t.teardown(() => upstream.close())
    const port = await startProxy(t, proxy, [(upstream.address() as AddressInfo).port])

    const head = 'POST /v1/track HTTP/1.1\r\nHost: x\r\n'
    const attacks: (readonly [string, string])[] = [
      ...HEADERS.map(([name, lines, body]) => [name, `${head}${lines}\r\n\r\n${body}`] as const),
      ...FRAMINGS.map(([name, body]) => [name, `${head}Transfer-Encoding: chunked\r\n\r\n${body}`] as const),
      ...HEADS.map(([name, text]) => [name, text] as const),
      [
        'an empty name before a length',
        `GET /healthz HTTP/1.1\r\nHost: x\r\n: y\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`,
      ],
    ]
    await Promise.all(attacks.map(([, bytes]) => send(port, bytes)))
    await Promise.all(attacks.map(([, bytes]) => send(port, bytes + SMUGGLED)))
    let passed = 0
    for (const { bytes } of connections)
      t.doesNotThrow(
        () => {
          passed += readStrictly(bytes)
        },
        JSON.stringify(bytes.slice(0, 2000)),
      )
    t.ok(passed > 0, `${passed} requests of ${attacks.length * 2} exchanges were passed on`)
    for (const [name, bytes] of attacks.slice(0, 2))
      t.match(await send(port, bytes), /^HTTP\/1\.1 400 /, `${name}: refused by the proxy itself`)
  })

  t.test(`the API behind ${proxy.name}`, { skip }, async (t) => {
    const server = await startServer(t, { env: { RINGFENCE_TRUSTED_PROXIES: '127.0.0.1' } })
    const port = await startProxy(t, proxy, [server.port])
    const ask = (
      method: string,
      path: string,
      body?: Buffer | string,
      type = 'application/json',
      key: string = KEYS.testSecret,
    ) =>
      new Promise<{ status: number; text: string }>((resolve, reject) => {
        const headers = { authorization: key, 'content-type': type, 'x-forwarded-for': '6.6.6.6' }
        const out = request({ port, host: '127.0.0.1', method, path, headers, rejectUnauthorized: false })
        out.on('error', reject).on('response', (answer) => {
          let text = ''
          answer.setEncoding('utf8').on('data', (piece: string) => (text += piece))
          answer.on('end', () => resolve({ status: answer.statusCode!, text }))
        })
        // Without a length, the body is sent in chunks.
        if (body !== undefined) out.write(body)
        out.end()
      })
    const tracked = await ask('POST', '/v1/track', BODY, undefined, KEYS.testPublishable)
    t.equal(tracked.status, 200)
    t.equal(
      JSON.parse(tracked.text).user.ip,
      '127.0.0.1',
      'the address that the proxy saw, not what the client says',
    )
    const rows = Array.from({ length: 20_000 }, (_, i) => `many,${i},x,circle,"[1,2]",100`)
    const csv = `tag,externalId,description,type,coordinates,radius\n${rows.join('\n')}\n`
    const imported = await ask('POST', '/v1/imports/geofences', csv, 'text/csv')
    t.equal(imported.status, 200, imported.text.slice(0, 300))
    t.equal((await ask('GET', '/metrics')).status, 404, 'metrics are for the inside')

    const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false })
    t.teardown(() => session.destroy())
    const [answer] = await once(session.request({ ':path': '/healthz' }), 'response')
    t.equal(answer[':status'], 200, 'HTTP/2')
    session.close()

    const socket = new WebSocket(`wss://127.0.0.1:${port}/v1/stream`, {
      headers: { authorization: KEYS.testPublishable },
      rejectUnauthorized: false,
    })
    await once(socket, 'open')
    t.pass('a WebSocket opens')
    socket.terminate()
  })
}
