/** Which server is used, how it is reached, and when it counts as lost. */
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { connect, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer } from 'node:tls'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { Tile38Connection } from '../../src/tile38/tile38Connection.ts'
import { Tile38File } from '../../src/tile38/tile38File.ts'
import { Tile38Refused, Tile38Unreachable } from '../../src/tile38/tile38Port.ts'
import { makeCertificates, withoutOpenssl } from '../kit/certificates.ts'
import { startServer, type Server } from '../kit/server.ts'
import { TILE38_NAME, tile38Server, WITHOUT_FOLLOWERS, type Tile38Server } from '../kit/tile38.ts'
import { until } from '../kit/waiting.ts'

async function track(server: Server, deviceId: string): Promise<void> {
  const update = { deviceId, latitude: 52.5, longitude: 13.4, accuracy: 5 }
  const { status } = await server.api('POST', '/v1/track', update)
  if (status !== 200) throw new Error(`${status}`)
}

/** The devices in the server, by name. */
async function devicesIn(tile38: Tile38Server): Promise<string> {
  const keys = (await tile38.ask('KEYS', 'ringfence:*:devices')) as string[]
  const ids: string[] = []
  for (const key of keys) {
    const [, found] = (await tile38.ask('SCAN', key, 'IDS')) as [unknown, string[]]
    ids.push(...found.map((id) => id.slice(id.indexOf(':') + 1)))
  }
  return ids.toSorted().join()
}

async function roleOf(tile38: Tile38Server): Promise<unknown> {
  return ((await tile38.ask('ROLE')) as unknown[])[0]
}

t.test(
  `${TILE38_NAME}: of a leader and its follower, the leader is used; after a promotion, the follower; and the first again`,
  { skip: WITHOUT_FOLLOWERS },
  async (t) => {
    const [leader, follower] = [await tile38Server(t), await tile38Server(t)]
    await follower.ask('FOLLOW', '127.0.0.1', `${leader.port}`)
    // Until it has what the leader has, it answers nothing else than that it is catching up.
    await until(() =>
      roleOf(follower).then(
        () => true,
        () => false,
      ),
    )
    t.equal(await roleOf(follower), 'slave')
    const server = await startServer(t, {
      env: { RINGFENCE_TILE38_URL: `${follower.url},${leader.url}` },
    })
    await track(server, 'anna')
    await until(async () => (await devicesIn(leader)) === 'anna')
    await until(async () => (await devicesIn(follower).catch(() => '')) === 'anna')
    t.pass('written at the leader, although the follower is the first of the list; the follower has it, too')

    await leader.kill9()
    const connected = async () =>
      /^ringfence_tile38_connected 1$/m.test((await server.api('GET', '/metrics', undefined, null)).body)
    await until(async () => !(await connected()))
    await track(server, 'bert')
    await until(() => server.output.includes('it follows another server'))
    t.equal(await roleOf(follower), 'slave', 'nobody but an operator promotes a follower')
    t.equal(await devicesIn(follower), 'anna')

    await follower.ask('FOLLOW', 'no', 'one')
    await until(async () => (await devicesIn(follower)) === 'anna,bert')
    await track(server, 'cleo')
    await until(async () => (await devicesIn(follower)) === 'anna,bert,cleo')
    t.pass('after the promotion, everything is written there')

    // The former leader comes back with what it had. It is not the first of the list, so it is not used.
    await leader.start()
    await track(server, 'dora')
    await until(async () => (await devicesIn(follower)) === 'anna,bert,cleo,dora')
    t.equal(await devicesIn(leader), 'anna')
    await leader.ask('FOLLOW', '127.0.0.1', `${follower.port}`)
    await until(async () => (await devicesIn(leader).catch(() => '')) === 'anna,bert,cleo,dora')
    t.pass('and may follow the new one')
    await server.stop()
  },
)

t.test(
  `${TILE38_NAME}: of two servers, the first that works is used, by all, without any follower`,
  async (t) => {
    const [first, second] = [await tile38Server(t), await tile38Server(t)]
    await first.kill9()
    const server = await startServer(t, { env: { RINGFENCE_TILE38_URL: `${first.url},${second.url}` } })
    await track(server, 'anna')
    await until(async () => (await devicesIn(second)) === 'anna')
    first.wipe()
    await first.start()
    await until(async () => (await devicesIn(first)) === 'anna')
    t.pass('back at the first, empty as it was')
    await server.stop()
  },
)

t.test(`${TILE38_NAME}: an emptied server is a lost one: what was there is made again`, async (t) => {
  const tile38 = await tile38Server(t)
  const seen: string[] = []
  const connections = [tile38.connect(t), tile38.connect(t)]
  for (const [i, connection] of connections.entries())
    connection.follow({
      connected: () => seen.push(`${i} connected`),
      disconnected: () => seen.push(`${i} lost`),
    })
  await until(() => seen.length >= 2)
  await tile38.ask('FLUSHDB')
  await until(() => seen.length >= 6)
  t.strictSame(
    seen.slice(2).toSorted(),
    ['0 connected', '0 lost', '1 connected', '1 lost'],
    'both notice it, whichever is the first to write there again',
  )
})

/** A proxy that speaks TLS in front of the server, which has none itself. */
async function tlsProxy(t: Test, tile38: Tile38Server, certificate: { cert: Buffer; key: Buffer }) {
  const proxy = createServer(certificate, (socket) => {
    const inner = connect(tile38.port, '127.0.0.1')
    socket.pipe(inner).pipe(socket)
    for (const one of [socket, inner]) one.on('error', () => socket.destroy(inner.destroy() as never))
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  t.teardown(() => proxy.close())
  return (proxy.address() as AddressInfo).port
}

t.test(
  `${TILE38_NAME}: through a proxy with TLS, whose authority a setting names`,
  { skip: withoutOpenssl() },
  async (t) => {
    const tile38 = await tile38Server(t)
    const folder = mkdtempSync(join(tmpdir(), 'ringfence-tls-'))
    t.teardown(() => rmSync(folder, { recursive: true, force: true }))
    const files = await makeCertificates(folder)
    const port = await tlsProxy(t, tile38, {
      cert: readFileSync(files.certificate),
      key: readFileSync(files.key),
    })
    const env = { RINGFENCE_TILE38_URL: `tile38s://localhost:${port}`, RINGFENCE_TILE38_TLS_CA: files.ca }
    const server = await startServer(t, { env })
    await track(server, 'anna')
    await until(async () => (await devicesIn(tile38)) === 'anna')
    await server.stop()

    const reasons: string[] = []
    const logger = pino({}, { write: (line) => void reasons.push(JSON.parse(line).reason) })
    const open = (url: string, tlsCa: string) => {
      const connection = new Tile38Connection({ urls: [url], password: '', tlsCa }, logger)
      connection.start()
      t.teardown(() => connection.stop())
      return connection
    }
    const byAddress = open(`tile38s://127.0.0.1:${port}`, files.ca)
    await until(() => byAddress.isConnected)
    reasons.length = 0
    open(`tile38s://localhost:${port}`, '')
    await until(() => reasons.length > 0)
    t.match(reasons[0], /certificate/, 'an authority that nobody trusts')
    t.throws(() => open('tile38s://localhost:1', join(folder, 'absent')), {
      message: /^tile38TlsCa: .*absent cannot be read: there is no such file/,
      exitCode: 2,
    })
    t.throws(() => open('tile38://localhost:1', files.ca), {
      message: /tile38TlsCa is for tile38s:/,
      exitCode: 2,
    })
  },
)

t.test(`${TILE38_NAME}: subscriptions that begin in one turn all work, also after a restart`, async (t) => {
  const server = await tile38Server(t)
  const listening = server.connect(t)
  const writing = server.connect(t)
  const names = ['a', 'b', 'c']
  for (let life = 0; life < 2; life++) {
    await until(() => listening.isConnected && writing.isConnected)
    const told = new Set<string>()
    await Promise.all(names.map((name) => listening.subscribe(name, () => told.add(name))))
    const area = ['FENCE', 'DETECT', 'inside', 'BOUNDS', '52', '13', '53', '14']
    await writing.send(names.map((name) => ['SETCHAN', name, 'INTERSECTS', 'fleet', ...area]))
    await writing.send([['SET', 'fleet', 'bus', 'POINT', '52.5', '13.5']])
    await until(() => told.size === names.length)
    await server.kill9()
    await until(() => !listening.isConnected && !writing.isConnected)
    await server.start()
  }
})

t.test(`${TILE38_NAME}: with a password`, async (t) => {
  const server = await tile38Server(t, 'open sesame')
  const tile38 = server.connect(t)
  await until(() => tile38.isConnected)
  t.same(
    await tile38.send([
      ['SET', 'a', 'b', 'STRING', 'c'],
      ['GET', 'a', 'b'],
      ['GET', 'a', 'x'],
    ]),
    ['OK', 'c', null],
  )
  await t.rejects(tile38.send([['SET', 'a', 'b', 'NOTHING']]), Tile38Refused)
  t.same(await tile38.send([['GET', 'a', 'b']]), ['c'], 'what was refused ends no connection')
  for (const wrong of ['', 'open barley']) {
    const other = server.connect(t, wrong)
    t.notOk(other.isConnected)
    await t.rejects(other.send([['PING']]), Tile38Unreachable)
  }
})

t.test(
  `${TILE38_NAME}: its file is shrunk when it has grown; a follower continues`,
  { skip: WITHOUT_FOLLOWERS },
  async (t) => {
    const [leader, follower] = [await tile38Server(t), await tile38Server(t)]
    await follower.ask('FOLLOW', '127.0.0.1', `${leader.port}`)
    const tile38 = leader.connect(t)
    await until(() => tile38.isConnected)
    const least = 200_000
    const job = new Tile38File(tile38, least)
    const bytes = () => statSync(join(leader.folder, 'data', 'appendonly.aof')).size
    let moves = 0
    const move = (count: number) =>
      tile38.send(
        Array.from({ length: count }, () => [
          'SET',
          'fleet',
          `bus${moves % 10}`,
          'POINT',
          `${50 + moves++ * 1e-4}`,
          '8',
        ]),
      )
    await move(100)
    const before = bytes()
    await job.run()
    t.equal(bytes(), before, 'a small file is left alone')
    for (let round = 0; round < 3; round++) {
      while (bytes() < least) await move(1000)
      await job.run()
      await until(() => bytes() < least / 10)
      await job.run()
    }
    await move(10)
    const last = JSON.stringify(await leader.ask('SCAN', 'fleet'))
    await until(async () => JSON.stringify(await follower.ask('SCAN', 'fleet').catch(() => '')) === last)
    t.pass('the follower has what came after it, too')
  },
)
