/** Requests to addresses that users enter reach only public addresses, and end in time. */
import { createServer } from 'node:http'
import { once } from 'node:events'
import { createServer as createTcpServer, type AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { Outgoing, publicReason, type Lookup } from '../../src/runtime/outgoing.ts'

const REQUEST = { method: 'POST', headers: {}, body: '{}', timeoutMs: 2000, keepBytes: 10 } as const

/** Returns the addresses of its table. A second query gets those of the next row, as from a rebinding name server. */
function resolver(table: Record<string, string[][]>): Lookup {
  return (host, _, callback) => {
    const rows = table[host]
    const addresses = rows === undefined ? [] : rows.length > 1 ? rows.shift()! : rows[0]!
    callback(
      rows === undefined ? Object.assign(new Error(`no such host ${host}`), { code: 'ENOTFOUND' }) : null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
  }
}

async function listen(t: Test, answer: Parameters<typeof createServer>[1]) {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

t.test('addresses that are not public are refused, however they are written', async (t) => {
  const outgoing = new Outgoing([])
  t.teardown(() => outgoing.close())
  const PRIVATE = [
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f000001',
    '0177.0.0.1',
    '0',
    '0.0.0.0',
    '10.1.2.3',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '169.254.169.254',
    '0xa9fea9fe',
    '100.64.0.1',
    '100.100.100.200',
    '168.63.129.16',
    '192.0.0.192',
    '198.18.0.1',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '[::]',
    '[::1]',
    '[::127.0.0.1]',
    '[fe80::1]',
    '[fec0::1]',
    '[fc00::1]',
    '[fd00:ec2::254]',
    '[ff02::1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:8.8.8.8]',
    '[::ffff:0:127.0.0.1]',
    '[64:ff9b::127.0.0.1]',
    '[64:ff9b:1::1]',
    '[2002:7f00:1::]',
    '[2001::1]',
    '[2001:db8::1]',
    '①②⑦.⓪.⓪.①',
  ]
  for (const host of PRIVATE) {
    const url = `http://${host}:9/`
    t.ok(outgoing.refusal(new URL(url).hostname), `${host}, before`)
    await t.rejects(outgoing.request(url, REQUEST), { name: 'AddressRefused' }, `${host}, on the way`)
  }
  for (const host of [
    '8.8.8.8',
    '172.32.0.1',
    '100.128.0.1',
    '[2606:4700::1111]',
    'localhost',
    'receiver.example',
  ])
    t.equal(outgoing.refusal(new URL(`http://${host}/`).hostname), undefined, host)
})

t.test('all addresses of a name are checked, and looked up once for each connection', async (t) => {
  let hits = 0
  const port = await listen(t, (_, response) => {
    hits++
    response.end('secret')
  })
  const table = () => ({
    localhost: [['127.0.0.1']],
    mapped: [['::ffff:7f00:1']],
    mixed: [['203.0.113.7', '127.0.0.1']],
    // Public when checked, but this machine in the second query.
    rebinding: [['192.0.2.1', '10.0.0.1'], ['127.0.0.1']],
  })
  const outgoing = new Outgoing([], resolver(table()))
  t.teardown(() => outgoing.close())
  for (const host of Object.keys(table()))
    for (let i = 0; i < 2; i++)
      await t.rejects(
        outgoing.request(`http://${host}:${port}/`, REQUEST),
        { name: 'AddressRefused', message: 'The address is not on the public internet' },
        host,
      )
  await t.rejects(outgoing.request(`http://nowhere:${port}/`, REQUEST), /no such host/)
  t.equal(hits, 0)

  t.test('the connection goes to an address that was checked', async (t) => {
    let lookups = 0
    const moving: Lookup = (_, __, callback) =>
      callback(null, [{ address: lookups++ === 0 ? '127.0.0.1' : '10.0.0.1', family: 4 }])
    const allowing = new Outgoing(['127.0.0.0/8'], moving)
    t.teardown(() => allowing.close())
    t.match(await allowing.request(`http://rebinding:${port}/`, REQUEST), { status: 200 })
    t.equal(lookups, 1)
  })
})

t.test('failure messages for users reveal nothing about the internal network', async (t) => {
  const outgoing = new Outgoing(
    ['127.0.0.1'],
    resolver({ 'intranet.example': [['10.1.2.3']], six: [['fd00::7']], allowed: [['127.0.0.1']] }),
  )
  t.teardown(() => outgoing.close())
  const tcp = async (bytes: string) => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => undefined)
      socket.once('data', () => socket.end(bytes))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => server.close())
    return (server.address() as AddressInfo).port
  }
  const closed = createTcpServer().listen(0, '127.0.0.1')
  await once(closed, 'listening')
  const { port } = closed.address() as AddressInfo
  await new Promise((resolve) => closed.close(resolve))
  const silent = await listen(t, () => undefined)
  const noAddress = 'there is no such host, or it is not on the public internet'
  const cases: readonly (readonly [url: string, reason: string | RegExp])[] = [
    ['http://intranet.example/', noAddress],
    ['http://six/', noAddress],
    ['http://nowhere/', noAddress],
    ['http://10.1.2.3/', noAddress],
    ['http://[fd00::7]/', noAddress],
    [`http://allowed:${port}/`, 'the connection was refused'],
    [`http://allowed:${await tcp('')}/`, 'the connection was closed'],
    [`http://allowed:${await tcp('SSH-2.0-OpenSSH_9.2\r\n')}/`, 'the answer is no HTTP'],
    [`https://allowed:${await tcp('HTTP/1.1 400 Bad Request\r\n\r\n')}/`, /^TLS failed \(\w+\)$/],
    [`http://allowed:${silent}/`, 'no answer within 0.5 s'],
  ]
  for (const [url, reason] of cases) {
    const error = await outgoing.request(url, { ...REQUEST, timeoutMs: 500 }).then(
      () => undefined,
      (cause: unknown) => cause,
    )
    t.ok(error, url)
    const told = publicReason(error)
    t.match(told, reason, url)
    t.notMatch(told, /\d\.\d+\.\d|::|:\d|intranet|allowed/, told)
  }
  const both = new AggregateError([
    Object.assign(new Error('connect ECONNREFUSED ::1:9'), { code: 'ECONNREFUSED' }),
    Object.assign(new Error('connect ETIMEDOUT 127.0.0.1:9'), { code: 'ETIMEDOUT' }),
  ])
  t.equal(publicReason(both), 'the connection was refused')
  t.equal(publicReason(new Error('/etc/passwd')), 'the request failed')
})

t.test('allowed addresses are reached, and their redirects are not followed', async (t) => {
  const port = await listen(t, (request, response) => {
    if (request.url === '/moved')
      response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data' })
    response.end('0123456789abcdef')
  })
  const outgoing = new Outgoing(['10.0.0.0/8', '127.0.0.1'])
  t.teardown(() => outgoing.close())
  const answer = await outgoing.request(`http://127.0.0.1:${port}/`, REQUEST)
  t.match({ ...answer, body: String(answer.body) }, { status: 200, body: '0123456789' }, 'so much is kept')
  t.match(await outgoing.request(`http://127.0.0.1:${port}/moved`, REQUEST), { status: 302 })
  t.match(await outgoing.request(`http://2130706433:${port}/`, REQUEST), { status: 200 })
  await t.rejects(outgoing.request(`http://127.0.0.2:${port}/`, REQUEST), { name: 'AddressRefused' })
  await t.rejects(outgoing.request(`http://[::1]:${port}/`, REQUEST), { name: 'AddressRefused' })
})

t.test('an answer is limited in time and size', async (t) => {
  const closed = new Set<string>()
  const port = await listen(t, (request, response) => {
    response.on('close', () => closed.add(request.url!))
    const endless = () => {
      while (response.write('x'.repeat(65_536)));
    }
    if (request.url === '/endless') {
      response.on('drain', endless)
      endless()
    }
    if (request.url === '/headers') response.writeHead(200, { 'x-large': 'x'.repeat(20_000) }).end()
    if (request.url === '/dribble') {
      response.write('a')
      const timer = setInterval(() => response.write('b'), 20)
      response.on('close', () => clearInterval(timer))
    }
  })
  const outgoing = new Outgoing(['127.0.0.1'])
  t.teardown(() => outgoing.close())
  const ask = (path: string, timeoutMs: number) =>
    outgoing.request(`http://127.0.0.1:${port}${path}`, { ...REQUEST, timeoutMs })
  t.match(await ask('/endless', 60_000), { status: 200, body: Buffer.from('x'.repeat(10)) })
  await t.rejects(ask('/hang', 200), { name: 'RequestTimedOut', message: 'no answer within 0.2 s' })
  await t.rejects(ask('/headers', 60_000), { code: 'UND_ERR_HEADERS_OVERFLOW' })
  const dribbled = await ask('/dribble', 500)
  t.match(dribbled, { status: 200 }, 'the status counts, and what came')
  t.match(String(dribbled.body), /^ab*$/)
  const ended = new AbortController()
  const given = outgoing.request(`http://127.0.0.1:${port}/never`, {
    ...REQUEST,
    timeoutMs: 60_000,
    signal: ended.signal,
  })
  ended.abort(new Error('given up'))
  await t.rejects(given, /given up/)
  while (closed.size < 4) await new Promise((resolve) => setTimeout(resolve, 10))
  t.same(closed, new Set(['/endless', '/hang', '/headers', '/dribble']), 'connections are closed')
})

t.test(
  'a server that ends the connection while nobody reads ends no process, and the whole answer is there',
  async (t) => {
    const body = 'x'.repeat(64 * 1024)
    const server = createTcpServer((socket) => {
      socket.once('data', () =>
        socket.end(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`),
      )
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => server.close())
    const outgoing = new Outgoing(['127.0.0.1'])
    t.teardown(() => outgoing.close())
    const { port } = server.address() as AddressInfo
    const answer = await outgoing.stream(`http://127.0.0.1:${port}/`, {}, new AbortController().signal)
    await new Promise((resolve) => setTimeout(resolve, 200))
    let length = 0
    for await (const chunk of answer.body) {
      length += chunk.length
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    t.equal(length, body.length)
  },
)
